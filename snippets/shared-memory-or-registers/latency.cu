// arch: sm_80 sm_90a
// One warp in which every step waits for the one before, in each place where a number can be: the cycles of a step.

constexpr int UNROLL = 16;
constexpr unsigned ALL = 0xffffffff;
using Address = unsigned long long;

// --8<-- [start:chain]
// A word holds the address of the next word, or its own: a step is the access and nothing else.
template <class Step> __device__ void chain(Address place, Address* result, int warm, int steps, Step step) {
  for (int i = 0; i < warm; ++i) place = step(place);
  const long long start = clock64();
#pragma unroll 1
  for (int i = 0; i < steps; i += UNROLL)
#pragma unroll
    for (int j = 0; j < UNROLL; ++j) place = step(place);
  result[2 * threadIdx.x] = clock64() - start;
  result[2 * threadIdx.x + 1] = place;
}
#define STEP(TYPE, CONSTRAINT, INSTRUCTION)                             \
  [](Address place) -> Address {                                        \
    auto x = static_cast<TYPE>(place);                                  \
    asm volatile(INSTRUCTION : "+" CONSTRAINT(x)::"memory");            \
    return x;                                                           \
  }
// --8<-- [end:chain]

#define KERNEL(NAME) extern "C" __global__ void NAME([[maybe_unused]] Address start, Address* result, int warm, int steps)

// A multiply-add that needs the result of the one before: operands in registers, no access at all.
KERNEL(chain_register) {
  chain(0x3f000000, result, warm, steps, [](Address place) -> Address {  // the bits of 0.5
    float x = __uint_as_float(static_cast<unsigned>(place));
    asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x) : "f"(.5f), "f"(.25f));
    return __float_as_uint(x);
  });
}

// A lane reads the register of the lane that the last shuffle named: itself.
KERNEL(chain_shuffle) {
  chain(threadIdx.x, result, warm, steps, [](Address place) -> Address {
    return __shfl_sync(ALL, static_cast<unsigned>(place), static_cast<unsigned>(place));
  });
}

KERNEL(chain_shared) {
  __shared__ unsigned words[32];
  const unsigned place = __cvta_generic_to_shared(words + threadIdx.x);
  words[threadIdx.x] = place;
  __syncthreads();
  chain(place, result, warm, steps, STEP(unsigned, "r", "ld.shared.u32 %0, [%0];"));
}

KERNEL(chain_local) {
  unsigned words[32];
  const unsigned place = __cvta_generic_to_local(words + start);
  asm volatile("st.local.u32 [%0], %0;" ::"r"(place), "l"(words) : "memory");
  chain(place, result, warm, steps, STEP(unsigned, "r", "ld.local.u32 %0, [%0];"));
}

// In global memory the host has laid out the addresses; .cg passes the L1 by.
KERNEL(chain_l1) { chain(start, result, warm, steps, STEP(Address, "l", "ld.global.ca.u64 %0, [%0];")); }
KERNEL(chain_l2) { chain(start, result, warm, steps, STEP(Address, "l", "ld.global.cg.u64 %0, [%0];")); }

// Each word of the table holds its own place in it. start 0: all lanes load one word; start 4: each its own.
__constant__ unsigned table[32] = {0,  4,  8,  12, 16, 20, 24, 28, 32, 36, 40,  44,  48,  52,  56,  60,
                                   64, 68, 72, 76, 80, 84, 88, 92, 96, 100, 104, 108, 112, 116, 120, 124};
KERNEL(chain_constant) {
  chain(start * threadIdx.x, result, warm, steps, [](Address place) -> Address {
    return *reinterpret_cast<const unsigned*>(reinterpret_cast<const char*>(table) + static_cast<unsigned>(place));
  });
}

#if __CUDA_ARCH__ >= 900
// The shared memory of the other block of a cluster of two: its word gets its own address, as seen from here.
__device__ void meet() { asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory"); }
extern "C" __global__ void __cluster_dims__(2, 1, 1) chain_cluster(Address, Address* result, int warm, int steps) {
  __shared__ Address words[32];
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  Address place;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(place) : "l"(words + threadIdx.x), "r"(rank ^ 1));
  meet();
  asm volatile("st.u64 [%0], %0;" ::"l"(place) : "memory");
  meet();
  if (rank == 0) chain(place, result, warm, steps, STEP(Address, "l", "ld.u64 %0, [%0];"));
  meet();  // no block leaves while the other reads its memory
}
#endif
