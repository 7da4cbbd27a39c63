// arch: sm_80 sm_90a
// C = A * B, all stored by rows: A is M x K, B is K x N. Each kernel changes one thing of the one before it.
// Sizes are multiples of the tiles: 32, then 128 x 128 x 8, then 128 x 256 x 64.
#include <cuda_fp16.h>

// --8<-- [start:naive]
template <class T> __device__ void dot(const T* a, const T* b, T* c, int n, int k, int row, int column) {
  float sum = 0;
#pragma unroll 4
  for (int i = 0; i < k; ++i) sum += float(a[row * k + i]) * float(b[i * n + column]);
  c[row * n + column] = T(sum);
}

// A warp's 32 threads have 32 rows of C.
template <class T> __device__ void naive(const T* a, const T* b, T* c, int n, int k) {
  dot(a, b, c, n, k, blockIdx.y * 32 + threadIdx.x % 32, blockIdx.x * 32 + threadIdx.x / 32);
}

// A warp's 32 threads have 32 columns of C.
template <class T> __device__ void coalesced(const T* a, const T* b, T* c, int n, int k) {
  dot(a, b, c, n, k, blockIdx.y * 32 + threadIdx.x / 32, blockIdx.x * 32 + threadIdx.x % 32);
}
// --8<-- [end:naive]

template <class T> __device__ void shared(const T* a, const T* b, T* c, int n, int k) {
  __shared__ T tile_a[32][32], tile_b[32][32];
  const int x = threadIdx.x % 32, y = threadIdx.x / 32, row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
  float sum = 0;
  // --8<-- [start:shared]
  for (int first = 0; first < k; first += 32) {
    tile_a[y][x] = a[row * k + first + x];  // read once, used by 32 threads
    tile_b[y][x] = b[(first + y) * n + column];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; ++i) sum += float(tile_a[y][i]) * float(tile_b[i][x]);
    __syncthreads();
  }
  // --8<-- [end:shared]
  c[row * n + column] = T(sum);
}

constexpr int TILE = 128, DEPTH = 8;  // 256 threads with 8 x 8 sums each; a warp has 32 rows and 64 columns

__device__ void add(float (&sums)[8][8], const float (&x)[8], const float (&y)[8]) {
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) sums[i][j] += x[i] * y[j];
}

template <class T> __device__ void in_registers(const T* a, const T* b, T* c, int n, int k) {
  __shared__ T tile_a[DEPTH][TILE], tile_b[DEPTH][TILE];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, m0 = blockIdx.y * TILE, n0 = blockIdx.x * TILE;
  // --8<-- [start:register]
  const int row = warp / 2 * 32 + lane / 8, column = warp % 2 * 64 + lane % 8;  // the first of eight rows, of eight columns
  float sums[8][8] = {}, x[8], y[8];
  for (int first = 0; first < k; first += DEPTH) {
#pragma unroll
    for (int i = 0; i < TILE * DEPTH; i += 256) {
      const int e = threadIdx.x + i;
      tile_a[e % DEPTH][e / DEPTH] = a[(m0 + e / DEPTH) * k + first + e % DEPTH];
      tile_b[e / TILE][e % TILE] = b[(first + e / TILE) * n + n0 + e % TILE];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < DEPTH; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) x[j] = float(tile_a[i][row + j * 4]), y[j] = float(tile_b[i][column + j * 8]);
      add(sums, x, y);  // 16 reads for 64 multiply-adds
    }
  // --8<-- [end:register]
    __syncthreads();
  }
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) c[(m0 + row + i * 4) * n + n0 + column + j * 8] = T(sums[i][j]);
}

// A thread's rows and columns lie in fours, so that they are read and written 16 bytes at a time. Lanes n and n ^ 1 have the same
// rows, n and n ^ 2 the same columns: then a read of 16 bytes a lane serves 16 lanes at once, not 8.
struct Fours {
  int row = threadIdx.x / 64 * 32 + (threadIdx.x / 2 % 2 + threadIdx.x / 16 % 2 * 2) * 4;
  int column = threadIdx.x / 32 % 2 * 64 + (threadIdx.x % 2 + threadIdx.x / 4 % 4 * 2) * 4;
  __device__ static void read(float (&to)[8], const float* from, const float* next) {
    const float4 one = *(const float4*)from, two = *(const float4*)next;
    to[0] = one.x, to[1] = one.y, to[2] = one.z, to[3] = one.w, to[4] = two.x, to[5] = two.y, to[6] = two.z, to[7] = two.w;
  }
  __device__ void write(const float (&sums)[8][8], float* c, int n) const {
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 8; j += 4)
        *(float4*)(c + (row + i / 4 * 16 + i % 4) * n + column + j * 8) =
            make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
  }
};

#define KERNEL(NAME, T, THREADS, BLOCKS) \
  extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int n, int k)

KERNEL(naive_fp32, float, 1024, 2) { naive(a, b, c, n, k); }
KERNEL(naive_fp16, half, 1024, 2) { naive(a, b, c, n, k); }
KERNEL(coalesced_fp32, float, 1024, 2) { coalesced(a, b, c, n, k); }
KERNEL(coalesced_fp16, half, 1024, 2) { coalesced(a, b, c, n, k); }
KERNEL(shared_fp32, float, 1024, 2) { shared(a, b, c, n, k); }
KERNEL(shared_fp16, half, 1024, 2) { shared(a, b, c, n, k); }
KERNEL(register_fp32, float, 256, 2) { in_registers(a, b, c, n, k); }
KERNEL(register_fp16, half, 256, 2) { in_registers(a, b, c, n, k); }

KERNEL(vector_fp32, float, 256, 2) {
  __shared__ float tile_a[DEPTH][TILE], tile_b[DEPTH][TILE];
  const int m0 = blockIdx.y * TILE, n0 = blockIdx.x * TILE, t = threadIdx.x;
  const Fours mine;
  float sums[8][8] = {}, x[8], y[8];
  for (int first = 0; first < k; first += DEPTH) {
    // --8<-- [start:vector]
    const float4 four = *(const float4*)(a + (m0 + t / 2) * k + first + t % 2 * 4);
    float* to = &tile_a[t % 2 * 4][t / 2];
    to[0] = four.x, to[TILE] = four.y, to[2 * TILE] = four.z, to[3 * TILE] = four.w;
    *(float4*)&tile_b[t / 32][t % 32 * 4] = *(const float4*)(b + (first + t / 32) * n + n0 + t % 32 * 4);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < DEPTH; ++i) {
      mine.read(x, &tile_a[i][mine.row], &tile_a[i][mine.row + 16]);
      mine.read(y, &tile_b[i][mine.column], &tile_b[i][mine.column + 32]);
      add(sums, x, y);  // 4 reads for 64 multiply-adds
    }
    // --8<-- [end:vector]
    __syncthreads();
  }
  mine.write(sums, c + m0 * n + n0, n);
}

template <int BYTES> __device__ void copy(void* shared, const void* global) {
  const unsigned to = __cvta_generic_to_shared(shared);
  if (BYTES == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(BYTES) : "memory");
}

// --8<-- [start:async]
template <bool SWIZZLE> __device__ int place(int k, int m) { return SWIZZLE ? m ^ k * 4 : m; }  // of A's tile

template <bool SWIZZLE> __device__ void doubled(const float* a, const float* b, float* c, int n, int k) {
  __shared__ float tile_a[2][DEPTH][TILE], tile_b[2][DEPTH][TILE];
  const int m0 = blockIdx.y * TILE, n0 = blockIdx.x * TILE, t = threadIdx.x;
  auto load = [&](int first, int buffer) {
#pragma unroll
    for (int i = 0; i < TILE; i += 256 / DEPTH)  // four bytes at a time: A is transposed on the way
      copy<4>(&tile_a[buffer][t % DEPTH][place<SWIZZLE>(t % DEPTH, i + t / DEPTH)], a + (m0 + i + t / DEPTH) * k + first + t % DEPTH);
    copy<16>(&tile_b[buffer][t / 32][t % 32 * 4], b + (first + t / 32) * n + n0 + t % 32 * 4);
  };
  const Fours mine;
  float sums[8][8] = {}, x[8], y[8];
  load(0, 0);
  for (int first = 0, buffer = 0; first < k; first += DEPTH, buffer ^= 1) {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();  // one a step: what is filled now was read in the step before
    if (first + DEPTH < k) load(first + DEPTH, buffer ^ 1);
    // --8<-- [end:async]
#pragma unroll
    for (int i = 0; i < DEPTH; ++i) {
      mine.read(x, &tile_a[buffer][i][place<SWIZZLE>(i, mine.row)], &tile_a[buffer][i][place<SWIZZLE>(i, mine.row + 16)]);
      mine.read(y, &tile_b[buffer][i][mine.column], &tile_b[buffer][i][mine.column + 32]);
      add(sums, x, y);
    }
  }
  mine.write(sums, c + m0 * n + n0, n);
}
KERNEL(async_fp32, float, 256, 2) { doubled<false>(a, b, c, n, k); }
KERNEL(swizzle_fp32, float, 256, 2) { doubled<true>(a, b, c, n, k); }

constexpr int TILE_M = 128, TILE_N = 256, TILE_K = 64;  // 256 threads; a warp has 64 x 64 sums

// --8<-- [start:mma_place]
// Where 16 bytes lie: `piece` of a row of A (8 pieces) or of B (32 pieces).
template <bool SWIZZLE> __device__ int place_a(int row, int piece) { return row * 128 + (SWIZZLE ? piece ^ row % 8 : piece) * 16; }
template <bool SWIZZLE> __device__ int place_b(int row, int piece) { return row * 512 + (SWIZZLE ? piece ^ row % 8 : piece) * 16; }
// --8<-- [end:mma_place]

template <bool SWIZZLE, int STAGES> __device__ void tensor(const half* a, const half* b, half* c, int n, int k) {
  extern __shared__ __align__(128) unsigned char shared[];
  constexpr int BYTES_A = TILE_M * TILE_K * 2, STAGE = BYTES_A + TILE_N * TILE_K * 2;
  const int t = threadIdx.x, warp = t / 32, lane = t % 32, m0 = blockIdx.y * TILE_M, n0 = blockIdx.x * TILE_N, steps = k / TILE_K;
  const int row0 = warp / 4 * 64, column0 = warp % 4 * 64;
  auto load = [&](int step) {
    unsigned char *to_a = shared + step % STAGES * STAGE, *to_b = to_a + BYTES_A;
    if (step < steps) {
      for (int i = 0; i < TILE_M; i += 32)
        copy<16>(to_a + place_a<SWIZZLE>(i + t / 8, t % 8), a + (m0 + i + t / 8) * k + step * TILE_K + t % 8 * 8);
      for (int i = 0; i < TILE_K; i += 8)
        copy<16>(to_b + place_b<SWIZZLE>(i + t / 32, t % 32), b + (step * TILE_K + i + t / 32) * n + n0 + t % 32 * 8);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  float sums[4][8][4] = {};
  for (int step = 0; step < STAGES - 1; ++step) load(step);
  for (int step = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    __syncthreads();
    load(step + STAGES - 1);
    const unsigned from_a = __cvta_generic_to_shared(shared + step % STAGES * STAGE), from_b = from_a + BYTES_A;
    // --8<-- [start:mma]
#pragma unroll
    for (int i = 0; i < TILE_K; i += 16) {
      unsigned x[4][4], y[4][4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {  // 16 rows of A, 16 columns of B
        const unsigned at_a = from_a + place_a<SWIZZLE>(row0 + j * 16 + lane % 16, i / 8 + lane / 16);
        const unsigned at_b = from_b + place_b<SWIZZLE>(i + lane % 16, column0 / 8 + j * 2 + lane / 16);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[j][0]), "=r"(x[j][1]), "=r"(x[j][2]), "=r"(x[j][3]) : "r"(at_a));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(y[j][0]), "=r"(y[j][1]), "=r"(y[j][2]), "=r"(y[j][3]) : "r"(at_b));
      }
#pragma unroll
      for (int p = 0; p < 4; ++p)
#pragma unroll
        for (int q = 0; q < 8; ++q)
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                       : "+f"(sums[p][q][0]), "+f"(sums[p][q][1]), "+f"(sums[p][q][2]), "+f"(sums[p][q][3])
                       : "r"(x[p][0]), "r"(x[p][1]), "r"(x[p][2]), "r"(x[p][3]), "r"(y[q / 2][q % 2 * 2]), "r"(y[q / 2][q % 2 * 2 + 1]));
    }
    // --8<-- [end:mma]
  }
#pragma unroll
  for (int p = 0; p < 4; ++p)
#pragma unroll
    for (int q = 0; q < 8; ++q) {
      half* to = c + (m0 + row0 + p * 16 + lane / 4) * n + n0 + column0 + q * 8 + lane % 4 * 2;
      *(half2*)to = __floats2half2_rn(sums[p][q][0], sums[p][q][1]);
      *(half2*)(to + 8 * n) = __floats2half2_rn(sums[p][q][2], sums[p][q][3]);
    }
}
KERNEL(mma_fp16, half, 256, 1) { tensor<false, 2>(a, b, c, n, k); }
KERNEL(swizzle_fp16, half, 256, 1) { tensor<true, 2>(a, b, c, n, k); }
KERNEL(stages_fp16, half, 256, 1) { tensor<true, 4>(a, b, c, n, k); }

// What the L2 gives: every block reads all the data, each from a place of its own on or, with apart = 0, all from the first.
extern "C" __global__ void __launch_bounds__(1024, 2) read_l2(const float4* data, float* out, int count, int apart) {
  const int first = (long long)count * blockIdx.x / gridDim.x * apart;
  float sum = 0;
#pragma unroll 4
  for (int i = threadIdx.x; i < count; i += 1024) {
    const int at = i + first < count ? i + first : i + first - count;
    const float4 four = __ldcg(data + at);
    sum += four.x + four.y + four.z + four.w;
  }
  if (sum == 1.5f) *out = sum;
}
