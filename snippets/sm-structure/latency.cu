// arch: sm_80 sm_90a
// One thread that needs each result before it can ask for the next: the time of a step is the latency.

// --8<-- [start:chase]
// Each word holds the address of the next one. A plain load may hit the L1; ld.cg passes it by and begins at the L2.
// They are volatile only so that they stay between the two reads of the clock.
struct ThroughL1 {
    static __device__ void hop(unsigned long long& place) { asm volatile("ld.global.u64 %0, [%0];" : "+l"(place)); }
};
struct PastL1 {
    static __device__ void hop(unsigned long long& place) { asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(place)); }
};

template <typename Level>
__device__ void chase(unsigned long long place, unsigned long long* result, unsigned warm, unsigned hops) {
    for (unsigned hop = 0; hop < warm; ++hop) Level::hop(place);
    const long long begin = clock64();
#pragma unroll 16
    for (unsigned hop = 0; hop < hops; ++hop) Level::hop(place);
    result[0] = clock64() - begin;
    result[1] = place;
}
// --8<-- [end:chase]

extern "C" __global__ void chase_l1(unsigned long long start, unsigned long long* result, unsigned warm, unsigned hops) {
    chase<ThroughL1>(start, result, warm, hops);
}
extern "C" __global__ void chase_l2(unsigned long long start, unsigned long long* result, unsigned warm, unsigned hops) {
    chase<PastL1>(start, result, warm, hops);
}

// The same in shared memory: word i holds the address of word i + 1.
extern "C" __global__ void chase_shared(unsigned long long* result, unsigned words, unsigned hops) {
    extern __shared__ unsigned next[];
    const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(next));
    for (unsigned i = 0; i < words; ++i) next[i] = base + (i + 1) % words * 4;
    unsigned place = base;
    const long long begin = clock64();
#pragma unroll 16
    for (unsigned hop = 0; hop < hops; ++hop) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(place)::"memory");
    result[0] = clock64() - begin;
    result[1] = (place - base) / 4;
}

// And in registers: each FMA needs the result of the one before.
extern "C" __global__ void chain_fma(unsigned long long* result, float a, float b, unsigned hops) {
    float x = 1;
    const long long begin = clock64();
#pragma unroll 128
    for (unsigned hop = 0; hop < hops; ++hop) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x) : "f"(a), "f"(b));
    result[0] = clock64() - begin;
    result[1] = __float_as_uint(x);
}
