// arch: sm_80 sm_90a
// The two roofs and what lies between: FMA alone, FMAS multiply-adds for each float that is copied, copies with a stride.
#ifndef FMAS
#define FMAS 16
#endif

// Eight chains a thread that do not wait for each other; a and b are arguments, so that nothing can be computed before.
extern "C" __global__ void multiply_add(float* out, float a, float b, unsigned turns) {
    float chains[8];
#pragma unroll
    for (unsigned chain = 0; chain < 8; ++chain) chains[chain] = threadIdx.x + chain;
#pragma unroll 1
    for (unsigned turn = 0; turn < turns; ++turn)
#pragma unroll
        for (unsigned step = 0; step < 16; ++step)
#pragma unroll
            for (unsigned chain = 0; chain < 8; ++chain) chains[chain] = fmaf(chains[chain], a, b);
    float sum = 0;
#pragma unroll
    for (unsigned chain = 0; chain < 8; ++chain) sum += chains[chain];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// --8<-- [start:polynomial]
extern "C" __global__ void polynomial(const float4* in, float4* out, unsigned count, float a, float b) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float4 x = in[i];
    // FMAS is 1, 4, 16, 64, 256: longer chains are a loop of sixteen at a time.
#pragma unroll 16
    for (unsigned step = 0; step < FMAS; ++step) {
        x.x = fmaf(x.x, a, b), x.y = fmaf(x.y, a, b);
        x.z = fmaf(x.z, a, b), x.w = fmaf(x.w, a, b);
    }
    out[i] = x;
}
// --8<-- [end:polynomial]

// Four elements a thread, each a whole grid apart, so that enough loads are in flight at every stride.
extern "C" __global__ void copy_strided_by_four(const float* in, float* out, unsigned count, unsigned stride) {
    const unsigned step = gridDim.x * blockDim.x;
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 3 * step >= count) return;
    const float a = in[i * stride], b = in[(i + step) * stride], c = in[(i + 2 * step) * stride], d = in[(i + 3 * step) * stride];
    out[i] = a, out[i + step] = b, out[i + 2 * step] = c, out[i + 3 * step] = d;
}
