// arch: sm_80 sm_90a
// The same question one level nearer: latency of one dependent load, data that stays in the L2, shared memory.

// Each load gives the address of the next, so that one load is in flight; __ldcg reads the L2 and leaves the L1 out.
extern "C" __global__ void chase(const unsigned long long* start, unsigned long long* last, unsigned hops) {
    const unsigned long long* place = start;
#pragma unroll 1
    for (unsigned hop = 0; hop < hops; ++hop) place = reinterpret_cast<const unsigned long long*>(__ldcg(place));
    *last = reinterpret_cast<unsigned long long>(place);
}

template <typename Element>
__device__ void copy_resident(const Element* in, Element* out, unsigned count, unsigned passes) {
    const unsigned first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    for (unsigned pass = 0; pass < passes; ++pass)
#pragma unroll 1
        for (unsigned i = first; i < count; i += step) __stcg(out + i, __ldcg(in + i));
}

extern "C" __global__ void resident_float(const float* in, float* out, unsigned count, unsigned passes) {
    copy_resident(in, out, count, passes);
}
extern "C" __global__ void resident_float4(const float4* in, float4* out, unsigned count, unsigned passes) {
    copy_resident(in, out, count, passes);
}

// ld.volatile, or the compiler would load once: the addresses do not change from turn to turn, and "asm volatile" is not enough.
extern "C" __global__ void shared_float(float* out, unsigned turns) {
    __shared__ float words[8 * 32];
    for (unsigned i = threadIdx.x; i < 8 * 32; i += blockDim.x) words[i] = 1;
    __syncthreads();
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(words + threadIdx.x % 32));
    float sum = 0;
#pragma unroll 1
    for (unsigned turn = 0; turn < turns; ++turn)
#pragma unroll
        for (unsigned part = 0; part < 8; ++part) {
            float x;
            asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(x) : "r"(address + part * 128));
            sum += x;
        }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void shared_float4(float* out, unsigned turns) {
    __shared__ float4 words[8 * 32];
    for (unsigned i = threadIdx.x; i < 8 * 32; i += blockDim.x) words[i] = make_float4(1, 1, 1, 1);
    __syncthreads();
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(words + threadIdx.x % 32));
    float sum = 0;
#pragma unroll 1
    for (unsigned turn = 0; turn < turns; ++turn)
#pragma unroll
        for (unsigned part = 0; part < 8; ++part) {
            float4 x;
            asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "r"(address + part * 512));
            sum += (x.x + x.y) + (x.z + x.w);
        }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
