// arch: sm_80 sm_90a
// A block of 256 threads sums 256 x 64 numbers. Where a thread keeps its running sum, and how threads pass partial
// sums on, varies from kernel to kernel; the numbers and the order in which they are loaded do not.

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int EACH = 64;  // numbers that a thread sums
constexpr unsigned ALL = 0xffffffff;

// Explicit instructions: given `*sum += x`, the compiler would mend the mistake and use a register all the same.
struct Shared {
  unsigned base;
  __device__ explicit Shared(float* place) : base(__cvta_generic_to_shared(place)) {}
  __device__ float load(int i) const {
    float x;
    asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(x) : "r"(base + 4 * i) : "memory");
    return x;
  }
  __device__ void store(int i, float x) { asm volatile("st.volatile.shared.f32 [%0], %1;" ::"r"(base + 4 * i), "f"(x) : "memory"); }
};
struct Global {
  float* base;
  __device__ explicit Global(float* place) : base(place) {}
  __device__ float load(int i) const {
    float x;
    asm volatile("ld.relaxed.cta.global.f32 %0, [%1];" : "=f"(x) : "l"(base + i) : "memory");
    return x;
  }
  __device__ void store(int i, float x) { asm volatile("st.relaxed.cta.global.f32 [%0], %1;" ::"l"(base + i), "f"(x) : "memory"); }
};

// --8<-- [start:running]
// The running sum of a thread, in four places; `add` is called 64 times.
struct InRegister {
  float sum = 0;
  __device__ void add(int, float x) { sum += x; }
};
struct InLocal {  // `index` is 0, but the compiler does not know
  float sums[8];
  __device__ InLocal() { sums[0] = 0; }
  __device__ void add(int index, float x) { sums[index] += x; }
};
template <class Memory> struct InMemory {  // Shared or Global: a word a thread
  Memory sums;
  __device__ void add(int, float x) {
    sums.store(threadIdx.x, sums.load(threadIdx.x) + x);
  }
};
// --8<-- [end:running]

using In = const float* __restrict__;
template <class Running> __device__ __forceinline__ void accumulate(Running& running, In in, int zero) {
#pragma unroll 8
  for (int i = 0; i < EACH; ++i) running.add(zero * i, in[i * THREADS + threadIdx.x]);
}

// --8<-- [start:shuffle]
// Each warp adds up its 32 sums in registers; shared memory carries one number a warp.
__device__ __forceinline__ float by_shuffle(float mine) {
  __shared__ float partial[WARPS];
  for (int lane = 16; lane; lane /= 2) mine += __shfl_xor_sync(ALL, mine, lane);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  mine = partial[threadIdx.x % WARPS];
  for (int lane = WARPS / 2; lane; lane /= 2) mine += __shfl_xor_sync(ALL, mine, lane);
  return mine;
}
// --8<-- [end:shuffle]

// --8<-- [start:memory]
// All 256 sums lie in memory. The first warp loads 8 a lane, then its lanes
// exchange what they have through the same memory.
template <class Memory> __device__ __forceinline__ float by_memory(Memory sums) {
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  float mine = 0;
  for (int warp = 0; warp < WARPS; ++warp) mine += sums.load(32 * warp + threadIdx.x);
  for (int lane = 16; lane; lane /= 2) {
    __syncwarp();
    sums.store(threadIdx.x, mine);
    __syncwarp();
    mine += sums.load(threadIdx.x ^ lane);
  }
  return mine;
}
// --8<-- [end:memory]

#define KERNEL(NAME) \
  extern "C" __global__ void NAME(In in, long long step, float* out, [[maybe_unused]] float* scratch, int zero)

KERNEL(register_shuffle) {
  InRegister running;
  accumulate(running, in + blockIdx.x * step, zero);
  const float sum = by_shuffle(running.sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
KERNEL(register_shared) {
  __shared__ float words[THREADS];
  InRegister running;
  accumulate(running, in + blockIdx.x * step, zero);
  Shared sums{words};
  sums.store(threadIdx.x, running.sum);
  const float sum = by_memory(sums);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
KERNEL(shared_shared) {
  __shared__ float words[THREADS];
  InMemory<Shared> running{Shared{words}};
  running.sums.store(threadIdx.x, 0);
  accumulate(running, in + blockIdx.x * step, zero);
  const float sum = by_memory(running.sums);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
KERNEL(local_shuffle) {
  InLocal running;
  accumulate(running, in + blockIdx.x * step, zero);
  const float sum = by_shuffle(running.sums[0]);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
KERNEL(global_global) {
  InMemory<Global> running{Global{scratch + blockIdx.x * THREADS}};
  running.sums.store(threadIdx.x, 0);
  accumulate(running, in + blockIdx.x * step, zero);
  const float sum = by_memory(running.sums);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
