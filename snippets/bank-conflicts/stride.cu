// arch: sm_80 sm_90a
// A lane takes its byte address from a table, so one kernel for each access size and direction covers every pattern.
// ld.volatile, because the PTX assembler merges plain loads of one address and hoists them, asm volatile or not.

constexpr unsigned WORDS = 8192;  // 32 KiB of shared memory
constexpr unsigned LANES = 32;
constexpr int UNROLL = 8;

template <int BYTES> struct Element;
template <> struct Element<2> { unsigned short part[1]; };
template <> struct Element<4> { unsigned part[1]; };
template <> struct Element<8> { unsigned part[2]; };
template <> struct Element<16> { unsigned part[4]; };

// --8<-- [start:access]
__device__ void load(unsigned address, Element<2>& e) {
  asm volatile("ld.volatile.shared.u16 %0, [%1];"
               : "=h"(e.part[0]) : "r"(address) : "memory");
}
__device__ void load(unsigned address, Element<4>& e) {
  asm volatile("ld.volatile.shared.u32 %0, [%1];"
               : "=r"(e.part[0]) : "r"(address) : "memory");
}
__device__ void load(unsigned address, Element<8>& e) {
  asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];"
               : "=r"(e.part[0]), "=r"(e.part[1]) : "r"(address) : "memory");
}
__device__ void load(unsigned address, Element<16>& e) {
  asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(e.part[0]), "=r"(e.part[1]), "=r"(e.part[2]), "=r"(e.part[3])
               : "r"(address) : "memory");
}
// --8<-- [end:access]
__device__ void store(unsigned address, Element<2> e) {
  asm volatile("st.volatile.shared.u16 [%0], %1;" :: "r"(address), "h"(e.part[0]) : "memory");
}
__device__ void store(unsigned address, Element<4> e) {
  asm volatile("st.volatile.shared.u32 [%0], %1;" :: "r"(address), "r"(e.part[0]) : "memory");
}
__device__ void store(unsigned address, Element<8> e) {
  asm volatile("st.volatile.shared.v2.u32 [%0], {%1, %2};" :: "r"(address), "r"(e.part[0]), "r"(e.part[1]) : "memory");
}
__device__ void store(unsigned address, Element<16> e) {
  asm volatile("st.volatile.shared.v4.u32 [%0], {%1, %2, %3, %4};"
               :: "r"(address), "r"(e.part[0]), "r"(e.part[1]), "r"(e.part[2]), "r"(e.part[3]) : "memory");
}

// Its only shared loads are the counted ones; the stores that fill the memory have a counter of their own.
template <int BYTES> __device__ void loads(const unsigned* words, const unsigned* table, unsigned* sums, int rounds) {
  __shared__ __align__(1024) unsigned memory[WORDS];
  for (unsigned word = threadIdx.x; word < WORDS; word += blockDim.x) memory[word] = words[word];
  __syncthreads();
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(memory)) + table[threadIdx.x % LANES];
  unsigned sum = 0;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    Element<BYTES> element[UNROLL];
#pragma unroll
    for (int i = 0; i < UNROLL; ++i) load(address, element[i]);
#pragma unroll
    for (int i = 0; i < UNROLL; ++i)
      for (unsigned part : element[i].part) sum += part;
  }
  sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Its only shared stores are the counted ones; what they left is loaded once, which has a counter of its own.
template <int BYTES> __device__ void stores(const unsigned* table, unsigned* left, int rounds) {
  __shared__ __align__(1024) unsigned memory[WORDS];
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(memory)) + table[threadIdx.x % LANES];
  Element<BYTES> element;
  unsigned value = 16 * (threadIdx.x + 1);
  for (auto& part : element.part) part = value++;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int i = 0; i < UNROLL; ++i) store(address, element);
  __syncthreads();
  load(address, element);
  left += 4 * threadIdx.x;
  for (unsigned part : element.part) *left++ = part;
}

#define KERNELS(BYTES)                                                                                                          \
  extern "C" __global__ void load_##BYTES(const unsigned* words, const unsigned* table, unsigned* sums, int rounds) {          \
    loads<BYTES>(words, table, sums, rounds);                                                                                   \
  }                                                                                                                             \
  extern "C" __global__ void store_##BYTES(const unsigned* table, unsigned* left, int rounds) { stores<BYTES>(table, left, rounds); }
KERNELS(2)
KERNELS(4)
KERNELS(8)
KERNELS(16)

// --8<-- [start:chain]
// Each word holds its own address, so a load waits for the one before.
// MATHS dependent multiply-adds stand between two loads.
template <int MATHS>
__device__ void chain(const unsigned* table, unsigned* ends, long long* cycles,
                      int rounds, unsigned one, unsigned zero) {
  __shared__ __align__(1024) unsigned memory[WORDS];
  const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(memory));
  unsigned address = base + table[threadIdx.x];
  asm volatile("st.volatile.shared.u32 [%0], %0;" :: "r"(address) : "memory");
  __syncthreads();
  const long long start = clock64();
#pragma unroll 1
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int i = 0; i < UNROLL; ++i) {
      asm volatile("ld.volatile.shared.u32 %0, [%0];" : "+r"(address) :: "memory");
#pragma unroll
      for (int maths = 0; maths < MATHS; ++maths)
        asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(address) : "r"(one), "r"(zero));
    }
  cycles[threadIdx.x] = clock64() - start;
  ends[threadIdx.x] = address - base;
}
// --8<-- [end:chain]

#define CHAIN(MATHS)                                                                                                            \
  extern "C" __global__ void chain_##MATHS(const unsigned* table, unsigned* ends, long long* cycles, int rounds, unsigned one,  \
                                           unsigned zero) {                                                                     \
    chain<MATHS>(table, ends, cycles, rounds, one, zero);                                                                       \
  }
CHAIN(0)
CHAIN(1)
CHAIN(5)
