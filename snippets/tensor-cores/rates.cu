// arch: sm_90a
// How fast the Tensor Cores of one SM go, with operands that are already in registers (mma) or in shared memory (wgmma).
// What the instruction is comes in as macros: bench_rates.py names them, and these stand for FP16 with FP32 accumulators.
#ifndef MMA
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
#define WGMMA "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"
#define TAIL "1, 1, 1, 0, 0"
#define WORDS 128
#endif

// --8<-- [start:mma]
constexpr int CHAINS = 8;  // accumulators of a warp that do not wait for each other

extern "C" __global__ void __launch_bounds__(512, 1) mma_rate(const uint4* operands, unsigned* out, long long* cycles, int turns) {
  const uint4 a = operands[threadIdx.x], b = operands[blockDim.x + threadIdx.x];
  unsigned d[CHAINS][4] = {};
  __syncthreads();
  const long long start = clock64();
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn)
#pragma unroll
    for (int i = 0; i < CHAINS; ++i)
      asm volatile(MMA
                   : "+r"(d[i][0]), "+r"(d[i][1]), "+r"(d[i][2]), "+r"(d[i][3])
                   : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
  __syncthreads();
  if (!threadIdx.x) cycles[blockIdx.x] = clock64() - start;
  unsigned sum = 0;
  for (auto& chain : d)
    for (unsigned word : chain) sum ^= word;
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// --8<-- [end:mma]

#define TEN(t) "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "
#define FOUR(i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
#define SIXTY_FOUR(i) SIXTEEN(i), SIXTEEN(i + 16), SIXTEEN(i + 32), SIXTEEN(i + 48)
#if WORDS == 128
#define NAMES TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11) "%120, %121, %122, %123, %124, %125, %126, %127"
#define OPERANDS SIXTY_FOUR(0), SIXTY_FOUR(64)
#define DESCRIPTORS "%128, %129, "
#else
#define NAMES TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) "%60, %61, %62, %63"
#define OPERANDS SIXTY_FOUR(0)
#define DESCRIPTORS "%64, %65, "
#endif

// Two warpgroups; A is 64 rows and B 256 rows of 128 bytes, in core matrices, four steps of 32 bytes along K.
extern "C" __global__ void __launch_bounds__(256, 1) wgmma_rate(const uint4* operands, unsigned* out, long long* cycles, int turns) {
  extern __shared__ __align__(1024) unsigned char shared[];
  for (int i = threadIdx.x; i < (2 * 64 + 256) * 8; i += 256) ((uint4*)shared)[i] = operands[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  unsigned d[WORDS] = {};
  const unsigned address = __cvta_generic_to_shared(shared);
  const unsigned long long strides = (128ull >> 4) << 16 | (1024ull >> 4) << 32;
  const unsigned long long a = (address + threadIdx.x / 128 * 8192) >> 4 | strides, b = (address + 16384) >> 4 | strides;
  __syncthreads();
  const long long start = clock64();
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < 4; ++k)
      asm volatile(WGMMA " {" NAMES "}, " DESCRIPTORS TAIL ";" : OPERANDS : "l"(a + k * 16), "l"(b + k * 16));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (int i = 0; i < WORDS; ++i) asm volatile("" : "+r"(d[i])::"memory");
  __syncthreads();
  if (!threadIdx.x) cycles[blockIdx.x] = clock64() - start;
  unsigned sum = 0;
  for (unsigned word : d) sum ^= word;
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// --8<-- [start:ffma]
extern "C" __global__ void __launch_bounds__(512, 1) ffma_rate(float* out, long long* cycles, int turns, float x, float y) {
  float d[CHAINS];
  for (int i = 0; i < CHAINS; ++i) d[i] = threadIdx.x + i;
  __syncthreads();
  const long long start = clock64();
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn)
#pragma unroll
    for (int step = 0; step < 16; ++step)
#pragma unroll
      for (int i = 0; i < CHAINS; ++i) d[i] = fmaf(d[i], x, y);
  __syncthreads();
  if (!threadIdx.x) cycles[blockIdx.x] = clock64() - start;
  float sum = 0;
  for (float chain : d) sum += chain;
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// --8<-- [end:ffma]
