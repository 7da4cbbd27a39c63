// arch: sm_80 sm_90a
// The sum of a warp's 32 numbers, round after round, each of what the last round left; every lane gets the sum.

constexpr unsigned ALL = 0xffffffff;

// --8<-- [start:sums]
// 5 instructions, each of which reads a register of another lane.
__device__ unsigned by_shuffle(unsigned mine, volatile unsigned*, unsigned) {
  for (int other = 16; other; other /= 2) mine += __shfl_xor_sync(ALL, mine, other);
  return mine;
}
// The same exchange through memory: 5 stores and 5 loads, with barriers between.
__device__ unsigned by_shared(unsigned mine, volatile unsigned* words, unsigned lane) {
  for (int other = 16; other; other /= 2) {
    words[lane] = mine;
    __syncwarp();
    mine += words[lane ^ other];
    __syncwarp();
  }
  return mine;
}
// One instruction, for integers only, from compute capability 8.0 on.
__device__ unsigned by_reduce(unsigned mine, volatile unsigned*, unsigned) {
  return __reduce_add_sync(ALL, mine);
}
// --8<-- [end:sums]

constexpr int UNROLL = 4;

#define KERNEL(HOW)                                                                                        \
  extern "C" __global__ void HOW##_sum(const unsigned* in, unsigned* out, long long* cycles, int rounds) { \
    __shared__ unsigned words[1024];                                                                       \
    const unsigned lane = threadIdx.x % 32;                                                                \
    unsigned value = in[threadIdx.x];                                                                      \
    const long long start = clock64();                                                                     \
    _Pragma("unroll 1") for (int round = 0; round < rounds; round += UNROLL)                               \
      _Pragma("unroll") for (int i = 0; i < UNROLL; ++i)                                                   \
        value = by_##HOW(value, words + threadIdx.x - lane, lane) ^ lane;                                  \
    cycles[blockIdx.x * blockDim.x + threadIdx.x] = clock64() - start;                                     \
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;                                                    \
  }
KERNEL(shuffle)
KERNEL(shared)
KERNEL(reduce)
