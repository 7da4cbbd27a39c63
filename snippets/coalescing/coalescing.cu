// arch: sm_80 sm_90a
// Reads and writes that differ only in where an element lies and which thread takes it; all numbers are in floats.
// A read is used where `keep` is set, to check it; else nothing is written, unless a value is the one that none has.

constexpr unsigned TILE = 32;
constexpr float NEVER = -1;

__device__ void use(float* out, unsigned i, float value, bool keep) {
  if (keep | (value == NEVER)) out[i] = value;
}

// --8<-- [start:structures]
// Where field f of structure i lies. AoS: per 1, jump the structure's size, field 1.
// SoA: per 1, jump 1, field their number. AoSoA: per 32, jump 32 structures, field 32.
__device__ unsigned place(unsigned i, unsigned f, unsigned log_per,
                          unsigned jump, unsigned field) {
  return (i >> log_per) * jump + (i & ((1u << log_per) - 1)) + f * field;
}

// A thread asks for FIELDS of EACH structures, and has all these loads in flight.
template <int FIELDS, int EACH>
__device__ void read(const float* a, float* out, unsigned log_per, unsigned jump,
                     unsigned field, bool keep) {
  const unsigned first = blockIdx.x * blockDim.x * EACH + threadIdx.x;
  float value[EACH][FIELDS];
#pragma unroll
  for (int j = 0; j < EACH; ++j)
#pragma unroll
    for (int f = 0; f < FIELDS; ++f)
      value[j][f] = a[place(first + j * blockDim.x, f, log_per, jump, field)];
#pragma unroll
  for (int j = 0; j < EACH; ++j) {
    float sum = 0;
    for (float one : value[j]) sum += one;
    use(out, first + j * blockDim.x, sum, keep);
  }
}
// --8<-- [end:structures]

using In = const float* __restrict__;
using Out = float* __restrict__;

extern "C" __global__ void read_1(In a, Out out, unsigned log_per, unsigned jump, unsigned field, bool keep) {
  read<1, 8>(a, out, log_per, jump, field, keep);
}
extern "C" __global__ void read_8(In a, Out out, unsigned log_per, unsigned jump, unsigned field, bool keep) {
  read<8, 1>(a, out, log_per, jump, field, keep);
}

template <int FIELDS, int EACH> __device__ void write(float* a, unsigned log_per, unsigned jump, unsigned field) {
  const unsigned first = blockIdx.x * blockDim.x * EACH + threadIdx.x;
#pragma unroll
  for (int j = 0; j < EACH; ++j)
#pragma unroll
    for (int f = 0; f < FIELDS; ++f) {
      const unsigned i = first + j * blockDim.x;
      a[place(i, f, log_per, jump, field)] = static_cast<float>((i + f) & 1023);
    }
}
extern "C" __global__ void write_1(float* a, unsigned log_per, unsigned jump, unsigned field) { write<1, 8>(a, log_per, jump, field); }
extern "C" __global__ void write_8(float* a, unsigned log_per, unsigned jump, unsigned field) { write<8, 1>(a, log_per, jump, field); }

// --8<-- [start:matrix]
// A thread a column: lanes take neighbouring floats of a row. Each block adds up 256 rows.
extern "C" __global__ void column_sums(
    In a, Out out, unsigned columns, unsigned pitch, bool keep) {
  const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned first = blockIdx.y * 256;
  float sum = 0;
#pragma unroll 8
  for (unsigned r = 0; r < 256; ++r) sum += a[(first + r) * pitch + column];
  use(out, blockIdx.y * columns + column, sum, keep);
}

// A thread a row: lanes are a pitch apart. One load at a time, so that a sector
// has to wait in a cache for its next float.
extern "C" __global__ void row_sums(
    In a, Out out, unsigned columns, unsigned pitch, bool keep) {
  const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
#pragma unroll 1
  for (unsigned column = 0; column < columns; ++column) sum += a[row * pitch + column];
  use(out, row, sum, keep);
}

// A thread a row, staged: a warp fetches its 32 rows by rows, 32 columns at a time,
// and reads the tile by columns.
extern "C" __global__ void row_sums_staged(
    In a, Out out, unsigned columns, unsigned pitch, bool keep) {
  __shared__ float tiles[4][TILE][TILE + 1];
  const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x % TILE;
  auto& tile = tiles[threadIdx.x / TILE];
  float sum = 0;
  for (unsigned first = 0; first < columns; first += TILE) {
#pragma unroll
    for (unsigned r = 0; r < TILE; ++r)
      tile[r][lane] = a[(row - lane + r) * pitch + first + lane];
    __syncwarp();
#pragma unroll
    for (unsigned c = 0; c < TILE; ++c) sum += tile[lane][c];
    __syncwarp();
  }
  use(out, row, sum, keep);
}
// --8<-- [end:matrix]

// Eight rows a block, a thread a column; the lanes beyond the last column wait.
extern "C" __global__ void read_rows(In a, Out out, unsigned columns, unsigned pitch, bool keep) {
  const unsigned column = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * 8;
  if (column >= columns) return;
  float value[8];
#pragma unroll
  for (unsigned j = 0; j < 8; ++j) value[j] = a[(first + j) * pitch + column];
  float sum = 0;
  for (float one : value) sum += one;
  use(out, blockIdx.y * columns + column, sum, keep);
}

// --8<-- [start:gather]
extern "C" __global__ void gather(
    In a, const unsigned* __restrict__ index, Out out, bool keep) {
  const unsigned first = blockIdx.x * blockDim.x * 8 + threadIdx.x;
  float value[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) value[j] = a[index[first + j * blockDim.x]];
#pragma unroll
  for (int j = 0; j < 8; ++j) use(out, first + j * blockDim.x, value[j], keep);
}
// --8<-- [end:gather]
