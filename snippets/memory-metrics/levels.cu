// arch: sm_80 sm_90a
// Kernels that make one memory metric bad or good each. load_, store_: one warp, one pattern. The others fill the GPU.

constexpr unsigned LANES = 32;
constexpr int UNROLL = 8;            // loads that a thread has in flight
constexpr unsigned STEP_BYTES = 8192;  // from one counted access to the next, so that no load is of the address before

template <int BYTES> struct Element;
template <> struct Element<1> { unsigned short part[1]; };
template <> struct Element<2> { unsigned short part[1]; };
template <> struct Element<4> { unsigned part[1]; };
template <> struct Element<8> { unsigned part[2]; };
template <> struct Element<16> { unsigned part[4]; };

__device__ void load(const char* p, Element<1>& e) { asm volatile("ld.global.u8 %0, [%1];" : "=h"(e.part[0]) : "l"(p)); }
__device__ void load(const char* p, Element<2>& e) { asm volatile("ld.global.u16 %0, [%1];" : "=h"(e.part[0]) : "l"(p)); }
__device__ void load(const char* p, Element<4>& e) { asm volatile("ld.global.u32 %0, [%1];" : "=r"(e.part[0]) : "l"(p)); }
__device__ void load(const char* p, Element<8>& e) {
  asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(e.part[0]), "=r"(e.part[1]) : "l"(p));
}
__device__ void load(const char* p, Element<16>& e) {
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(e.part[0]), "=r"(e.part[1]), "=r"(e.part[2]), "=r"(e.part[3]) : "l"(p));
}
__device__ void store(char* p, Element<1> e) { asm volatile("st.global.u8 [%0], %1;" ::"l"(p), "h"(e.part[0]) : "memory"); }
__device__ void store(char* p, Element<2> e) { asm volatile("st.global.u16 [%0], %1;" ::"l"(p), "h"(e.part[0]) : "memory"); }
__device__ void store(char* p, Element<4> e) { asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(e.part[0]) : "memory"); }
__device__ void store(char* p, Element<8> e) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(p), "r"(e.part[0]), "r"(e.part[1]) : "memory");
}
__device__ void store(char* p, Element<16> e) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(e.part[0]), "r"(e.part[1]), "r"(e.part[2]), "r"(e.part[3]) : "memory");
}

// --8<-- [start:pattern]
// Where a lane's access begins: built from numbers, so that the only global loads of a launch are the counted ones.
__device__ unsigned place(unsigned order, unsigned width, unsigned inner_bytes, unsigned outer_bytes, unsigned offset_bytes) {
  const unsigned rank = threadIdx.x * order % LANES;
  return offset_bytes + rank % width * inner_bytes + rank / width * outer_bytes;
}
// --8<-- [end:pattern]

template <int BYTES>
__device__ void loads(const char* data, unsigned* sums, unsigned order, unsigned width, unsigned inner, unsigned outer, unsigned offset,
                      unsigned active, unsigned rounds) {
  const char* address = data + place(order, width, inner, outer, offset);
  unsigned sum = 0;
  if (threadIdx.x < active)
#pragma unroll 1
    for (unsigned round = 0; round < rounds; ++round, address += STEP_BYTES) {
      Element<BYTES> element;
      load(address, element);
      for (auto part : element.part) sum += part;
    }
  sums[threadIdx.x] = sum;
}

template <int BYTES>
__device__ void stores(char* data, unsigned order, unsigned width, unsigned inner, unsigned outer, unsigned offset, unsigned active,
                       unsigned rounds) {
  char* address = data + place(order, width, inner, outer, offset);
  if (threadIdx.x < active)
#pragma unroll 1
    for (unsigned round = 1; round <= rounds; ++round, address += STEP_BYTES) {
      Element<BYTES> element;
      for (auto& part : element.part) part = round * 0x01010101u;
      store(address, element);
    }
}

#define PATTERN(BYTES)                                                                                                           \
  extern "C" __global__ void load_##BYTES(const char* data, unsigned* sums, unsigned order, unsigned width, unsigned inner,    \
                                          unsigned outer, unsigned offset, unsigned active, unsigned rounds) {                  \
    loads<BYTES>(data, sums, order, width, inner, outer, offset, active, rounds);                                               \
  }                                                                                                                             \
  extern "C" __global__ void store_##BYTES(char* data, unsigned order, unsigned width, unsigned inner, unsigned outer,         \
                                           unsigned offset, unsigned active, unsigned rounds) {                                 \
    stores<BYTES>(data, order, width, inner, outer, offset, active, rounds);                                                    \
  }
PATTERN(1)
PATTERN(2)
PATTERN(4)
PATTERN(8)
PATTERN(16)

// --8<-- [start:read]
// Each thread sums 8 floats: `lane` floats from thread to thread, `next` floats from one of its loads to the following one.
extern "C" __global__ void read_global(const float* in, float* out, unsigned block, unsigned lane, unsigned next) {
  const float* from = in + static_cast<size_t>(blockIdx.x) * block + threadIdx.x * lane;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < UNROLL; ++i) sum += from[static_cast<size_t>(i) * next];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// --8<-- [end:read]

// Each block reads the same 16 KiB again and again, so that its SM's L1 serves it.
template <int LANE, int WARP, int NEXT> __device__ void reread(const float* in, float* out, unsigned turns) {
  const float* from = in + threadIdx.x % LANES * LANE + threadIdx.x / LANES * WARP;
  float sum = 0;
#pragma unroll 1
  for (unsigned turn = 0; turn < turns; ++turn) {
    const float* half = from + turn % 2 * 2048;
#pragma unroll
    for (int i = 0; i < UNROLL; ++i) sum += half[i * NEXT];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ void l1_coalesced(const float* in, float* out, unsigned turns) { reread<1, 32, 256>(in, out, turns); }
extern "C" __global__ void l1_strided(const float* in, float* out, unsigned turns) { reread<32, 1, 8>(in, out, turns); }

// All blocks together read `count` floats again and again; __ldcg leaves the L1 out.
extern "C" __global__ void l2_resident(const float* in, float* out, unsigned count, unsigned turns) {
  const unsigned threads = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
#pragma unroll 1
  for (unsigned turn = 0; turn < turns; ++turn)
#pragma unroll 1
    for (unsigned i = first; i < count; i += UNROLL * threads)
#pragma unroll
      for (unsigned part = 0; part < UNROLL; ++part) sum += __ldcg(in + i + part * threads);
  out[first] = sum;
}

// --8<-- [start:shared]
// 8 independent loads a turn from shared memory; the lanes are `stride` words apart. ld.volatile, or the compiler loads once.
extern "C" __global__ void shared_read(const float* in, float* out, unsigned stride, unsigned turns) {
  __shared__ float words[LANES * LANES + UNROLL];
  for (unsigned i = threadIdx.x; i < LANES * LANES + UNROLL; i += blockDim.x) words[i] = in[i];
  __syncthreads();
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(words + threadIdx.x % LANES * stride));
  float sum = 0;
#pragma unroll 1
  for (unsigned turn = 0; turn < turns; ++turn) {
    float x[UNROLL];
#pragma unroll
    for (unsigned i = 0; i < UNROLL; ++i) asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(x[i]) : "r"(address + 4 * i));
#pragma unroll
    for (float each : x) sum += each;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// --8<-- [end:shared]

// Each word holds its own address, so that a load waits for the one before.
extern "C" __global__ void shared_chase(const float* in, float* out, unsigned turns) {
  __shared__ unsigned words[128];
  unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(words + threadIdx.x % 128));
  asm volatile("st.volatile.shared.u32 [%0], %0;" ::"r"(address) : "memory");
  __syncthreads();
  const unsigned start = address;
#pragma unroll 1
  for (unsigned turn = 0; turn < turns; ++turn)
#pragma unroll
    for (int i = 0; i < UNROLL; ++i) asm volatile("ld.volatile.shared.u32 %0, [%0];" : "+r"(address)::"memory");
  out[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x] + static_cast<float>(address - start);
}

// --8<-- [start:local]
// The same sums twice. `step` is known at run time only, so the array has to have an address: local memory.
extern "C" __global__ void local_array(const unsigned* in, unsigned* out, unsigned step, unsigned rounds) {
  const unsigned seed = in[threadIdx.x];
  unsigned array[64], index = 0;
#pragma unroll 1
  for (unsigned i = 0; i < 64; ++i) array[i] = seed + i;
#pragma unroll 1
  for (unsigned round = 0; round < rounds; ++round)
    for (unsigned i = 0; i < 64; ++i, index = (index + step) % 64) array[index] = array[index] * 3 + round;
  out[blockIdx.x * blockDim.x + threadIdx.x] = array[index];
}

// With every index known at compile time the array lies in registers.
extern "C" __global__ void register_array(const unsigned* in, unsigned* out, unsigned rounds) {
  const unsigned seed = in[threadIdx.x];
  unsigned array[64];
#pragma unroll
  for (unsigned i = 0; i < 64; ++i) array[i] = seed + i;
#pragma unroll 1
  for (unsigned round = 0; round < rounds; ++round)
#pragma unroll
    for (unsigned i = 0; i < 64; ++i) array[i] = array[i] * 3 + round;
  unsigned sum = 0;
#pragma unroll
  for (unsigned i = 0; i < 64; ++i) sum ^= array[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// --8<-- [end:local]

// A thread's load gives the index of its next one: one load in flight a thread, coalesced, from the L2.
extern "C" __global__ void chase(const unsigned* next, unsigned* out, unsigned hops) {
  unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (unsigned hop = 0; hop < hops; ++hop) index = __ldcg(next + index);
  out[blockIdx.x * blockDim.x + threadIdx.x] = index;
}

// Arithmetic alone: 8 chains of multiply-adds.
extern "C" __global__ void multiply_add(const float* in, float* out, float factor, float summand, unsigned turns) {
  float x[UNROLL];
#pragma unroll
  for (int i = 0; i < UNROLL; ++i) x[i] = in[threadIdx.x] + static_cast<float>(i);
#pragma unroll 1
  for (unsigned turn = 0; turn < turns; ++turn)
#pragma unroll
    for (int i = 0; i < 4 * UNROLL; ++i) x[i % UNROLL] = x[i % UNROLL] * factor + summand;
  float sum = 0;
#pragma unroll
  for (float each : x) sum += each;
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
