// arch: sm_80 sm_90a
// Four transpositions of an n x n matrix, n a multiple of 32, and a copy; all with blocks of 32 x 8 threads for 32 x 32 elements.
// __restrict__ lets a thread have its four loads under way together; without it each waits for the store before it.

constexpr int TILE = 32;
constexpr int ROWS = 8;
using In = const float* __restrict__;
using Out = float* __restrict__;

extern "C" __global__ void copy(In in, Out out, int n) {
  const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int i = 0; i < TILE; i += ROWS) out[(y + i) * n + x] = in[(y + i) * n + x];
}

// A warp reads 128 contiguous bytes and writes to 32 rows of the result.
extern "C" __global__ void naive(In in, Out out, int n) {
  const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int i = 0; i < TILE; i += ROWS) out[x * n + y + i] = in[(y + i) * n + x];
}

// --8<-- [start:tile]
// Global memory is read and written 128 contiguous bytes a warp. In shared memory
// a warp stores a row of the tile and loads a column.
template <int PITCH, bool SWIZZLE> __device__ void transpose(In in, Out out, int n) {
  __shared__ float tile[TILE][PITCH];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int i = 0; i < TILE; i += ROWS) {
    const int row = threadIdx.y + i, column = threadIdx.x;
    tile[row][SWIZZLE ? column ^ row : column] = in[(y + i) * n + x];
  }
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
  for (int i = 0; i < TILE; i += ROWS) {
    const int row = threadIdx.x, column = threadIdx.y + i;
    out[(y + i) * n + x] = tile[row][SWIZZLE ? column ^ row : column];
  }
}
extern "C" __global__ void tile_plain(In in, Out out, int n) {
  transpose<TILE, false>(in, out, n);
}
extern "C" __global__ void tile_padded(In in, Out out, int n) {
  transpose<TILE + 1, false>(in, out, n);
}
extern "C" __global__ void tile_swizzled(In in, Out out, int n) {
  transpose<TILE, true>(in, out, n);
}
// --8<-- [end:tile]
