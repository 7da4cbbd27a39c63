// arch: sm_80 sm_90a
// Warps of one block that do nothing but arithmetic: which of them share a scheduler, how many keep it busy, what else holds it up.

// --8<-- [start:work]
// One step of a chain; each reads one register more than the one before.
struct AddOne { static __device__ void step(float& x, float, float) { asm volatile("add.rn.f32 %0, %0, 0f3F800000;" : "+f"(x)); } };
struct Add { static __device__ void step(float& x, float a, float) { asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(x) : "f"(a)); } };
struct Fma { static __device__ void step(float& x, float a, float b) { asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x) : "f"(a), "f"(b)); } };

// CHAINS independent chains a thread, STEPS steps in all. A warp works if its bit of the mask is set; the others leave at once.
template <typename Step, int CHAINS>
__device__ void work(long long* clocks, float* sums, unsigned mask, unsigned turns, const float2* operands) {
    constexpr int STEPS = 256;
    const unsigned warp = threadIdx.x / 32;
    if (!(mask >> warp & 1)) return;
    const float a = operands[threadIdx.x].x, b = operands[threadIdx.x].y;
    float x[CHAINS];
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) x[chain] = threadIdx.x + chain;
    const long long begin = clock64();
#pragma unroll 1
    for (unsigned turn = 0; turn < turns; ++turn)
#pragma unroll
        for (int step = 0; step < STEPS / CHAINS; ++step)
#pragma unroll
            for (int chain = 0; chain < CHAINS; ++chain) Step::step(x[chain], a, b);
    const long long end = clock64();
    float sum = 0;
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) sum += x[chain];
    sums[threadIdx.x] = sum;
    if (threadIdx.x % 32 == 0) clocks[2 * warp] = begin, clocks[2 * warp + 1] = end;
}
// --8<-- [end:work]

#define WORK(NAME, STEP, CHAINS) \
    extern "C" __global__ void NAME##_##CHAINS(long long* clocks, float* sums, unsigned mask, unsigned turns, const float2* operands) { \
        work<STEP, CHAINS>(clocks, sums, mask, turns, operands); \
    }
WORK(add_one, AddOne, 1) WORK(add_one, AddOne, 2) WORK(add_one, AddOne, 4)
WORK(add, Add, 1) WORK(fma, Fma, 1) WORK(fma, Fma, 2) WORK(fma, Fma, 4)
