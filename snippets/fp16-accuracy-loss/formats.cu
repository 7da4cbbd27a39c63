// arch: sm_90a
// Conversions and sums, one thread a value, for the comparison with the model bit for bit.
#include <cuda_fp16.h>

// --8<-- [start:convert]
extern "C" __global__ void convert(const unsigned *in, unsigned *half_, unsigned *bfloat, unsigned *tf32, unsigned *e4m3, unsigned *e5m2, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float x = __uint_as_float(in[i]);
    unsigned short h, b, pair;
    unsigned t;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b) : "f"(x));
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(t) : "f"(x));
    half_[i] = h;
    bfloat[i] = b;
    tf32[i] = t;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
    e4m3[i] = pair;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
    e5m2[i] = pair;
}
// --8<-- [end:convert]

extern "C" __global__ void widen(float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((unsigned short)i));
    out[i] = x;
}

// --8<-- [start:sums]
extern "C" __global__ void sums(const float *term, float *half_sum, float *single_sum, int count) {
    __half h = __float2half_rn(0.0f), t = __float2half_rn(*term);
    float s = 0.0f;
    for (int i = 0; i < count; ++i) {
        h = __hadd_rn(h, t);
        s += __half2float(t);
    }
    *half_sum = __half2float(h);
    *single_sum = s;
}
// --8<-- [end:sums]

// --8<-- [start:normalise]
// One row's normalisation, every step rounded to FP16: y = (x - mean) / sqrt(mean((x - mean)^2) + epsilon).
extern "C" __global__ void normalise(const float *x, float epsilon, int width, float *steps, float *out) {
    __half sum = __float2half_rn(0.0f), width_ = __float2half_rn((float)width);
    for (int i = 0; i < width; ++i) sum = __hadd_rn(sum, __float2half_rn(x[i]));
    __half mean = __float2half_rn(__half2float(sum) / __half2float(width_));
    __half squares = __float2half_rn(0.0f);
    for (int i = 0; i < width; ++i) {
        __half centred = __hsub_rn(__float2half_rn(x[i]), mean);
        squares = __hadd_rn(squares, __hmul_rn(centred, centred));
    }
    __half variance = __float2half_rn(__half2float(squares) / __half2float(width_));
    __half guarded = __hadd_rn(variance, __float2half_rn(epsilon));
    __half root = __float2half_rn(sqrtf(__half2float(guarded)));
    steps[0] = __half2float(mean);
    steps[1] = __half2float(squares);
    steps[2] = __half2float(variance);
    steps[3] = __half2float(guarded);
    steps[4] = __half2float(root);
    for (int i = 0; i < width; ++i) {
        __half centred = __hsub_rn(__float2half_rn(x[i]), mean);
        out[i] = __half2float(__float2half_rn(__half2float(centred) / __half2float(root)));
    }
}
// --8<-- [end:normalise]
