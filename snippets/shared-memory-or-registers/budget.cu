// arch: sm_80 sm_90a
// Threads that hold a known number of registers while they wait for the L2, one load after the other.

// --8<-- [start:hold]
// The values only cost registers: loaded before the wait, needed after it.
template <int VALUES>
__device__ __forceinline__ void hold(unsigned long long place, unsigned* out, int loads) {
  extern __shared__ unsigned zero[];
  const unsigned word = static_cast<unsigned>(__cvta_generic_to_shared(zero));
  asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(word), "r"(0) : "memory");
  unsigned values[VALUES], sum = 0;
#pragma unroll
  for (int i = 0; i < VALUES; ++i)
    asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(values[i]) : "r"(word) : "memory");
  place += (blockIdx.x * blockDim.x + threadIdx.x) / 32 % 8192 * 256;  // another for each warp
#pragma unroll 1
  for (int i = 0; i < loads; ++i)  // a word holds its own address: each load waits for the last
    asm volatile("ld.volatile.global.u64 %0, [%0];" : "+l"(place)::"memory");
#pragma unroll
  for (int i = 0; i < VALUES; ++i)
    asm volatile("mad.lo.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(values[i]), "r"(static_cast<unsigned>(place)));
  if (sum) out[threadIdx.x] = sum;  // never
}
// --8<-- [end:hold]

#define HOLD(REGISTERS) \
  extern "C" __global__ void __maxnreg__(REGISTERS) hold_##REGISTERS(unsigned long long place, unsigned* out, int loads) { \
    hold<REGISTERS - 8>(place, out, loads); \
  }
HOLD(32) HOLD(40) HOLD(48) HOLD(64) HOLD(80) HOLD(96) HOLD(128) HOLD(168) HOLD(254)
