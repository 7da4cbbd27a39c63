// arch: sm_80 sm_90a

// --8<-- [start:walk]
// One path: dependent FMAs, 32 a trip. Other constants make another path.
__device__ __forceinline__ float walk(float x, float scale, float shift,
                                      int steps) {
#pragma unroll 1
    for (int done = 0; done < steps; done += 32) {
#pragma unroll
        for (int i = 0; i < 32; ++i)
            x = fmaf(x, scale, shift);
    }
    return x;
}
// --8<-- [end:walk]

// --8<-- [start:branch]
// Bit l of a mask sends lane l into the if; even and odd warps have a mask each.
extern "C" __global__ void branch(float* data, unsigned even, unsigned odd,
                                  int steps_if, int steps_else) {
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    float x = data[index];
    if ((warp % 2 ? odd : even) >> lane & 1)
        x = walk(x, 0.5f, 1.0f, steps_if);
    else
        x = walk(x, 0.75f, 3.0f, steps_else);
    data[index] = x;
}
// --8<-- [end:branch]

// --8<-- [start:ways]
#define PATH(k) \
    case k: x = walk(x, 0.5f + (k) / 128.0f, 1.0f + (k), steps); break;
#define FOUR_PATHS(k) PATH(k) PATH(k + 1) PATH(k + 2) PATH(k + 3)

extern "C" __global__ void ways(float* data, unsigned paths, int steps) {
    unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    float x = data[index];
    switch (threadIdx.x % 32 % paths) {
        FOUR_PATHS(0) FOUR_PATHS(4) FOUR_PATHS(8) FOUR_PATHS(12)
        FOUR_PATHS(16) FOUR_PATHS(20) FOUR_PATHS(24) FOUR_PATHS(28)
    }
    data[index] = x;
}
// --8<-- [end:ways]

// --8<-- [start:trips]
// Lane l repeats the same loop body first + l * more times.
extern "C" __global__ void trips(float* data, int first, int more) {
    unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32;
    data[index] = walk(data[index], 0.5f, 1.0f, 32 * (first + lane * more));
}
// --8<-- [end:trips]

// --8<-- [start:short]
// The same question with a short body: the compiler predicates it.
extern "C" __global__ void predicated(float* data, unsigned mask, int steps) {
    unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    float x = data[index];
    bool then = mask >> threadIdx.x % 32 & 1;
#pragma unroll 1
    for (int done = 0; done < steps; done += 32) {
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            if (then) x = fmaf(x, 0.5f, 1.0f);
            else x = x * x;
        }
    }
    data[index] = x;
}
// --8<-- [end:short]

// --8<-- [start:chase]
// Loads that depend on each other, an array a side.
extern "C" __global__ void chase(const unsigned* one, const unsigned* other,
                                 unsigned* out, unsigned mask, int steps) {
    unsigned at = 0;
    if (mask >> threadIdx.x & 1) {
#pragma unroll 1
        for (int i = 0; i < steps; ++i) at = __ldcg(one + at);
    } else {
#pragma unroll 1
        for (int i = 0; i < steps; ++i) at = __ldcg(other + at);
    }
    out[threadIdx.x] = at;
}
// --8<-- [end:chase]

// --8<-- [start:relay]
// One warp: each lane waits in a loop for the lane before it.
// Patience bounds the loop, so that it cannot hang.
extern "C" __global__ void relay(volatile unsigned* turn, unsigned* polls,
                                 unsigned patience) {
    unsigned failed = 0;
    while (*turn != threadIdx.x && failed < patience) ++failed;
    if (failed < patience) *turn = threadIdx.x + 1;
    polls[threadIdx.x] = failed;
}
// --8<-- [end:relay]

// --8<-- [start:lock]
// One warp: all lanes want the same lock.
extern "C" __global__ void take_turns(unsigned* lock, volatile unsigned* counter,
                                      unsigned* polls, unsigned patience) {
    unsigned failed = 0;
    while (failed < patience && atomicCAS(lock, 0u, 1u) != 0u) ++failed;
    if (failed < patience) {
        *counter = *counter + 1;
        __threadfence();
        atomicExch(lock, 0u);
    }
    polls[threadIdx.x] = failed;
}
// --8<-- [end:lock]
