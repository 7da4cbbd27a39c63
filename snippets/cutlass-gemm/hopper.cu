// arch: sm_90a
// C = A * B in FP16 with FP32 sums: A is M x K, B is K x N, all by rows. A persistent kernel: one warpgroup has the tensor
// copy engine (TMA) load, two multiply with wgmma. K and N are multiples of 8, sizes are otherwise free.
#include <cuda_fp16.h>

#ifndef CLUSTER
#define CLUSTER 2  // CTAs, one below the other, that share tiles of B
#endif
#ifndef ARRIVE
#define ARRIVE "mbarrier.arrive"  // with ".release.cluster" behind it, a fence of all memory comes along
#endif
#ifndef EPILOGUE
#define EPILOGUE 0  // 1: add a bias and apply ReLU before the sums are rounded
#endif
constexpr int TILE_M = 128, TILE_N = 256, TILE_K = 64, STAGES = 4, CONSUMERS = 2;
constexpr int BYTES_A = TILE_M * TILE_K * 2, BYTES_B = TILE_N * TILE_K * 2, BYTES_STAGE = BYTES_A + BYTES_B;
constexpr int BYTES_C = 64 * 64 * 2;  // what one store takes; a warpgroup has two such places

struct alignas(64) TensorMap {  // cuTensorMapEncodeTiled fills it
  unsigned char bytes[128];
};

// --8<-- [start:barriers]
__device__ void wait(unsigned barrier, unsigned parity) {  // until the phase of this parity is over
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n}"
      ::"r"(barrier), "r"(parity) : "memory");
}
__device__ void expect(unsigned barrier, int bytes) {  // arrive, and have the phase wait for so many bytes too
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ void arrive(unsigned barrier, unsigned cta) {  // at the barrier of a CTA of this cluster
  asm volatile(
      "{\n.reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      ARRIVE ".shared::cluster.b64 _, [there];\n}"
      ::"r"(barrier), "r"(cta) : "memory");
}
// --8<-- [end:barriers]

__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// --8<-- [start:tma]
__device__ void load(unsigned shared, const TensorMap& map, int column, int row, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
               ::"r"(shared), "l"(&map), "r"(column), "r"(row), "r"(barrier) : "memory");
}
__device__ void load_for_all(unsigned shared, const TensorMap& map, int column, int row, unsigned barrier) {  // of the cluster
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
      ::"r"(shared), "l"(&map), "r"(column), "r"(row), "r"(barrier), "h"((unsigned short)((1 << CLUSTER) - 1)) : "memory");
}
__device__ void store(const TensorMap& map, int column, int row, unsigned shared) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];\ncp.async.bulk.commit_group;"
               ::"l"(&map), "r"(column), "r"(row), "r"(shared) : "memory");
}
// --8<-- [end:tma]

#define TEN(t) "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "
#define D_NAMES TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11) "%120, %121, %122, %123, %124, %125, %126, %127"
#define FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
#define D_OPERANDS SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48), SIXTEEN(64), SIXTEEN(80), SIXTEEN(96), SIXTEEN(112)

__device__ void multiply(float (&d)[128], unsigned long long a, unsigned long long b, int add) {
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" D_NAMES "}, %128, %129, add, 1, 1, 0, 1;\n}"
               : D_OPERANDS : "l"(a), "l"(b), "r"(add));
}
// --8<-- [start:descriptor]
// Both tiles are rows of 128 bytes, swizzled by 128 bytes. A's rows go along K; eight and the next eight are 1,024 bytes apart.
// B's rows are 64 columns of one k: eight k and the next eight are 1,024 bytes apart, 64 columns and the next 64 are 8,192.
__device__ unsigned long long descriptor(unsigned shared) {
  return 1ull << 62 | 1024ull / 16 << 32 | 8192ull / 16 << 16 | (shared & 0x3ffff) >> 4;
}
// --8<-- [end:descriptor]

// Tiles in the order in which clusters take them: down a group of `group` rows of tiles, then one column to the right.
struct Order {
  int rows, columns, group;
  __device__ void place(int tile, int& row, int& column) const {
    const int first = tile / (group * columns) * group, high = min(group, rows - first), rest = tile - first * columns;
    row = first + rest % high, column = rest / high;
  }
};

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(384, 1)
    hopper(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b, const __grid_constant__ TensorMap map_c,
           const float* bias, int m, int n, int k, int group) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned stages = __cvta_generic_to_shared(shared), places = stages + STAGES * BYTES_STAGE;
  const unsigned full = places + CONSUMERS * 2 * BYTES_C, empty = full + STAGES * 8;
  const int cta = blockIdx.x % CLUSTER, clusters = gridDim.x / CLUSTER, steps = (k + TILE_K - 1) / TILE_K;
  const Order order{(m + TILE_M * CLUSTER - 1) / (TILE_M * CLUSTER), (n + TILE_N - 1) / TILE_N, group};
  const int tiles = order.rows * order.columns;
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full + i * 8) : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(empty + i * 8), "r"(CONSUMERS * CLUSTER) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_sync();
  int stage = 0, phase = 0, row, column;
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0)
      // --8<-- [start:producer]
      for (int tile = blockIdx.x / CLUSTER; tile < tiles; tile += clusters) {
        order.place(tile, row, column);
        for (int step = 0; step < steps; ++step) {
          const unsigned a = stages + stage * BYTES_STAGE, b = a + BYTES_A;
          wait(empty + stage * 8, phase ^ 1);
          expect(full + stage * 8, BYTES_STAGE);
          load(a, map_a, step * TILE_K, (row * CLUSTER + cta) * TILE_M, full + stage * 8);
#pragma unroll
          for (int i = 0; i < TILE_N / 64; ++i)  // with two CTAs each loads one half of B, for both
            if (CLUSTER == 1) load(b + i * 8192, map_b, column * TILE_N + i * 64, step * TILE_K, full + stage * 8);
            else if (i / 2 == cta) load_for_all(b + i * 8192, map_b, column * TILE_N + i * 64, step * TILE_K, full + stage * 8);
          if (++stage == STAGES) stage = 0, phase ^= 1;
        }
      }
      // --8<-- [end:producer]
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const int thread = threadIdx.x % 128, mine = threadIdx.x / 128 - 1;  // which 64 rows
    const unsigned place = places + mine * 2 * BYTES_C;
    float d[128];
    for (int tile = blockIdx.x / CLUSTER; tile < tiles; tile += clusters) {
      order.place(tile, row, column);
      int last = 0;
      // --8<-- [start:consumer]
      for (int step = 0; step < steps; ++step) {
        const unsigned a = stages + stage * BYTES_STAGE + mine * 64 * TILE_K * 2, b = stages + stage * BYTES_STAGE + BYTES_A;
        wait(full + stage * 8, phase);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int i = 0; i < TILE_K / 16; ++i) multiply(d, descriptor(a) + i * 2, descriptor(b) + i * 128, step | i);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");  // the step before is done: its stage may be filled
        if (step && thread < CLUSTER) arrive(empty + last * 8, thread);
        last = stage;
        if (++stage == STAGES) stage = 0, phase ^= 1;
      }
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      if (thread < CLUSTER) arrive(empty + last * 8, thread);
      // --8<-- [end:consumer]
      // --8<-- [start:epilogue]
      // 64 x 64 sums at a time: through shared memory, so that TMA writes whole rows of 128 bytes.
      const int warp = thread / 32, lane = thread % 32, line = warp * 16 + lane % 16;
      const int first_row = (row * CLUSTER + cta) * TILE_M + mine * 64, first_column = column * TILE_N;
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        if (thread == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");  // the place is free again
        asm volatile("bar.sync %0, 128;" ::"r"(1 + mine) : "memory");
#pragma unroll
        for (int i = 0; i < 4; ++i) {  // 16 columns
          unsigned words[4];
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            float x = d[part * 32 + i * 8 + j * 2], y = d[part * 32 + i * 8 + j * 2 + 1];
            if (EPILOGUE) {
              const int c = first_column + part * 64 + i * 16 + j / 2 * 8 + lane % 4 * 2;
              x = fmaxf(x + (c < n ? bias[c] : 0), 0), y = fmaxf(y + (c < n ? bias[c + 1] : 0), 0);
            }
            const half2 pair = __floats2half2_rn(x, y);
            words[j] = *(const unsigned*)&pair;
          }
          const unsigned to = place + part % 2 * BYTES_C + line * 128 + ((i * 2 + lane / 16) ^ line % 8) * 16;
          asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                       ::"r"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // what was written, TMA reads
        asm volatile("bar.sync %0, 128;" ::"r"(1 + mine) : "memory");
        if (thread == 0) store(map_c, first_column + part * 64, first_row, place + part % 2 * BYTES_C);
      }
      // --8<-- [end:epilogue]
    }
    if (thread == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  cluster_sync();  // a CTA's shared memory lives until the other no longer writes to it
}

// The same as a kernel of its own, for comparison: eight elements a thread.
extern "C" __global__ void __launch_bounds__(256) bias_relu(uint4* c, const float* bias, int n, int pieces) {
  const int piece = blockIdx.x * 256 + threadIdx.x;
  if (piece >= pieces) return;
  uint4 eight = c[piece];
  half2* pairs = (half2*)&eight;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = __half22float2(pairs[i]);
    const float* add = bias + piece % (n / 8) * 8 + i * 2;
    pairs[i] = __floats2half2_rn(fmaxf(pair.x + add[0], 0), fmaxf(pair.y + add[1], 0));
  }
  c[piece] = eight;
}
