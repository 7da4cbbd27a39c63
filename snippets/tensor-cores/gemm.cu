// arch: sm_90a
// Four products C = A * B^T of FP16 matrices with FP32 accumulators: one tile, one pipeline, four ways to multiply.
#include <cuda_fp16.h>
#include <mma.h>

constexpr int TILE_M = 128, TILE_N = 256, TILE_K = 64, STAGES = 4;  // 256 threads a block

#define KERNEL extern "C" __global__ void __launch_bounds__(256, 1)

__device__ void copy_16_bytes(unsigned shared, const half* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
}

// --8<-- [start:layout]
// A row of a tile is 128 bytes, eight pieces of 16. The descriptor is what wgmma has to know of a layout: bytes from eight rows to
// the next eight from bit 32 on, from a piece to the next from bit 16 on, both in sixteens, and the swizzle from bit 62 on.
struct Swizzled {  // XOR keeps any eight rows of one piece, and the eight pieces of one row, in different banks
  static constexpr int BYTES_A = TILE_M * TILE_K * 2, BYTES_B = TILE_N * TILE_K * 2, BYTES_K16 = 32;
  static constexpr unsigned long long DESCRIPTOR = 1ull << 62 | 1024ull / 16 << 32;
  static __device__ unsigned place(int row, int piece) { return row * 128 + (piece ^ row % 8) * 16; }
};

struct Cores {  // eight rows of one piece are 128 bytes without a gap, a core matrix; the pieces of one row share four banks
  static constexpr int BYTES_A = TILE_M * TILE_K * 2, BYTES_B = TILE_N * TILE_K * 2, BYTES_K16 = 256;
  static constexpr unsigned long long DESCRIPTOR = 1024ull / 16 << 32 | 128ull / 16 << 16;
  static __device__ unsigned place(int row, int piece) { return row / 8 * 1024 + piece * 128 + row % 8 * 16; }
};
// --8<-- [end:layout]

// wmma knows one pitch for all rows; 72 halves keep eight rows out of each other's banks.
struct Padded {
  static constexpr int PITCH = TILE_K + 8, BYTES_A = TILE_M * PITCH * 2, BYTES_B = TILE_N * PITCH * 2;
  static __device__ unsigned place(int row, int piece) { return row * PITCH * 2 + piece * 16; }
};

// --8<-- [start:pipeline]
template <class Rung> __device__ void gemm(const half* a, const half* b, half* c, int n, int k) {
  extern __shared__ __align__(1024) unsigned char shared[];
  constexpr int STAGE = Rung::BYTES_A + Rung::BYTES_B;
  const unsigned start = __cvta_generic_to_shared(shared);
  const int m0 = blockIdx.y * TILE_M, n0 = blockIdx.x * TILE_N, steps = k / TILE_K;
  // Eight neighbouring threads copy one row of 128 bytes; 256 threads copy 32 rows at a time.
  const int row = threadIdx.x / 8, piece = threadIdx.x % 8;
  const half *from_a = a + (m0 + row) * k + piece * 8, *from_b = b + (n0 + row) * k + piece * 8;
  auto load = [&](int step) {
    const unsigned stage = start + step % STAGES * STAGE;
    if (step < steps) {
      for (int i = 0; i < TILE_M; i += 32) copy_16_bytes(stage + Rung::place(row + i, piece), from_a + i * k + step * TILE_K);
      for (int i = 0; i < TILE_N; i += 32)
        copy_16_bytes(stage + Rung::BYTES_A + Rung::place(row + i, piece), from_b + i * k + step * TILE_K);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  Rung rung;
  for (int step = 0; step < STAGES - 2; ++step) load(step);
  for (int step = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 3) : "memory");  // this step's tile is here
    rung.arrived();
    __syncthreads();
    load(step + STAGES - 2);  // into the stage that was read two steps ago
    const int stage = step % STAGES * STAGE;
    rung.multiply(shared + stage, shared + stage + Rung::BYTES_A);
  }
  rung.store(c + m0 * n + n0, n, shared);
}
// --8<-- [end:pipeline]

// --8<-- [start:ffma]
// A warp has 64 x 64 elements, a thread 16 x 8 of them: rows 4 apart, columns 8 apart.
struct Ffma : Swizzled {
  float sums[16][8] = {};
  __device__ void arrived() {}
  __device__ void multiply(const unsigned char* a, const unsigned char* b) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll 4
    for (int k = 0; k < TILE_K; k += 2) {
      float2 x[16], y[8];
#pragma unroll
      for (int i = 0; i < 16; ++i)
        x[i] = __half22float2(*(const half2*)(a + place(warp / 4 * 64 + i * 4 + lane / 8, k / 8) + k % 8 * 2));
#pragma unroll
      for (int j = 0; j < 8; ++j)
        y[j] = __half22float2(*(const half2*)(b + place(warp % 4 * 64 + j * 8 + lane % 8, k / 8) + k % 8 * 2));
#pragma unroll
      for (int i = 0; i < 16; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sums[i][j] = fmaf(x[i].y, y[j].y, fmaf(x[i].x, y[j].x, sums[i][j]));
    }
  }
  // --8<-- [end:ffma]
  __device__ void store(half* c, int n, unsigned char*) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j) c[(warp / 4 * 64 + i * 4 + lane / 8) * n + warp % 4 * 64 + j * 8 + lane % 8] = __float2half(sums[i][j]);
  }
};

// --8<-- [start:wmma]
struct Wmma : Padded {
  using A = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major>;
  using B = nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, half, nvcuda::wmma::col_major>;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sums[4][4];
  __device__ Wmma() {
    for (auto& row : sums)
      for (auto& sum : row) nvcuda::wmma::fill_fragment(sum, 0);
  }
  __device__ void arrived() {}
  __device__ void multiply(const unsigned char* a, const unsigned char* b) {
    const int warp = threadIdx.x / 32;
#pragma unroll
    for (int k = 0; k < TILE_K; k += 16) {
      A x[4];
      B y;
#pragma unroll
      for (int i = 0; i < 4; ++i) nvcuda::wmma::load_matrix_sync(x[i], (const half*)(a + place(warp / 4 * 64 + i * 16, k / 8)), PITCH);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        nvcuda::wmma::load_matrix_sync(y, (const half*)(b + place(warp % 4 * 64 + j * 16, k / 8)), PITCH);
#pragma unroll
        for (int i = 0; i < 4; ++i) nvcuda::wmma::mma_sync(sums[i][j], x[i], y, sums[i][j]);
      }
    }
  }
  // --8<-- [end:wmma]
  // Which thread holds which element is not documented, so the sums pass through shared memory on their way to FP16.
  __device__ void store(half* c, int n, unsigned char* shared) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float* own = (float*)shared + warp * 256;
    __syncthreads();
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) {
        nvcuda::wmma::store_matrix_sync(own, sums[i][j], 16, nvcuda::wmma::mem_row_major);
        __syncwarp();
        half2* to = (half2*)(c + (warp / 4 * 64 + i * 16 + lane / 2) * n + warp % 4 * 64 + j * 16 + lane % 2 * 8);
        for (int pair = 0; pair < 4; ++pair) to[pair] = __float22half2_rn(((float2*)own)[lane * 4 + pair]);
        __syncwarp();
      }
  }
};

// --8<-- [start:mma]
// Lane l gives the address of one row of 16 bytes: row l % 8 of matrix l / 8. It gets, of each matrix, row l / 4, columns l % 4 * 2 and the next.
__device__ void ldmatrix(unsigned (&words)[4], const unsigned char* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"((unsigned)__cvta_generic_to_shared(row)));
}

__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

struct Mma : Swizzled {
  float sums[4][8][4] = {};
  __device__ void arrived() {}
  __device__ void multiply(const unsigned char* a, const unsigned char* b) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, matrix = lane / 8;
#pragma unroll
    for (int k = 0; k < TILE_K; k += 16) {
      unsigned x[4][4], y[4][4];  // 64 rows of A in fours of 8 x 8; 64 rows of B, two n8 blocks at a time
#pragma unroll
      for (int i = 0; i < 4; ++i) ldmatrix(x[i], a + place(warp / 4 * 64 + i * 16 + matrix % 2 * 8 + lane % 8, k / 8 + matrix / 2));
#pragma unroll
      for (int j = 0; j < 4; ++j) ldmatrix(y[j], b + place(warp % 4 * 64 + j * 16 + matrix / 2 * 8 + lane % 8, k / 8 + matrix % 2));
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) mma(sums[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
    }
  }
  // --8<-- [end:mma]
  __device__ void store(half* c, int n, unsigned char*) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 8; ++j)
        for (int half_tile = 0; half_tile < 2; ++half_tile) {
          half* to = c + (warp / 4 * 64 + i * 16 + half_tile * 8 + lane / 4) * n + warp % 4 * 64 + j * 8 + lane % 4 * 2;
          *(half2*)to = __floats2half2_rn(sums[i][j][half_tile * 2], sums[i][j][half_tile * 2 + 1]);
        }
  }
};

// The 128 accumulators as operands: %0 to %127, and sums[0] to sums[127].
#define TEN(t) "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "
#define OPERANDS TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11) \
  "%120, %121, %122, %123, %124, %125, %126, %127"
#define FOUR(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
#define SUMS SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48), SIXTEEN(64), SIXTEEN(80), SIXTEEN(96), SIXTEEN(112)

#ifndef WITHOUT_WGMMA
// --8<-- [start:wgmma]
// Two warpgroups of 128 threads; each multiplies 64 rows of A by all 256 rows of B.
template <class Layout> struct Wgmma : Layout {
  float sums[128] = {};
  static __device__ auto descriptor(const unsigned char* matrix) { return Layout::DESCRIPTOR | __cvta_generic_to_shared(matrix) >> 4; }
  // wgmma reads shared memory through another proxy than the copies that filled it.
  __device__ void arrived() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
  __device__ void multiply(const unsigned char* a, const unsigned char* b) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < TILE_K / 16; ++k) {
      const auto x = descriptor(a + threadIdx.x / 128 * 64 * 128 + k * Layout::BYTES_K16), y = descriptor(b + k * Layout::BYTES_K16);
      // OPERANDS is "%0, %1, ... %127", and SUMS names the 128 accumulators.
      asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" OPERANDS "}, %128, %129, 1, 1, 1, 0, 0;"
                   : SUMS
                   : "l"(x), "l"(y));
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");  // the step before this one is done, this one runs on
  }
  // --8<-- [end:wgmma]
  __device__ void store(half* c, int n, unsigned char*) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int i = 0; i < 128; ++i) asm volatile("" : "+f"(sums[i])::"memory");  // not to be read before the wait
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < 32; ++j)
#pragma unroll
      for (int half_tile = 0; half_tile < 2; ++half_tile) {
        half* to = c + (warp * 16 + half_tile * 8 + lane / 4) * n + j * 8 + lane % 4 * 2;
        *(half2*)to = __floats2half2_rn(sums[j * 4 + half_tile * 2], sums[j * 4 + half_tile * 2 + 1]);
      }
  }
};

KERNEL gemm_wgmma(const half* a, const half* b, half* c, int n, int k) { gemm<Wgmma<Swizzled>>(a, b, c, n, k); }
KERNEL gemm_wgmma_cores(const half* a, const half* b, half* c, int n, int k) { gemm<Wgmma<Cores>>(a, b, c, n, k); }
#endif

KERNEL gemm_ffma(const half* a, const half* b, half* c, int n, int k) { gemm<Ffma>(a, b, c, n, k); }
KERNEL gemm_wmma(const half* a, const half* b, half* c, int n, int k) { gemm<Wmma>(a, b, c, n, k); }
KERNEL gemm_mma(const half* a, const half* b, half* c, int n, int k) { gemm<Mma>(a, b, c, n, k); }
