// arch: sm_80 sm_90a
// Copies that differ only in how a thread asks for its bytes; count is in elements of the kernel's own type.

// --8<-- [start:copy]
template <typename Element>
__device__ void copy(const Element* in, Element* out, unsigned count) {
    // The compiler must not unroll this loop: one load in flight a thread is what is compared.
#pragma unroll 1
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) out[i] = in[i];
}

extern "C" __global__ void copy_float(const float* in, float* out, unsigned count) { copy(in, out, count); }
extern "C" __global__ void copy_float2(const float2* in, float2* out, unsigned count) { copy(in, out, count); }
extern "C" __global__ void copy_float4(const float4* in, float4* out, unsigned count) { copy(in, out, count); }
// --8<-- [end:copy]

extern "C" __global__ void copy_float3(const float3* in, float3* out, unsigned count) { copy(in, out, count); }

// --8<-- [start:unrolled]
template <typename Element>
__device__ void copy_by_four(const Element* in, Element* out, unsigned count) {
    const unsigned step = gridDim.x * blockDim.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (; i + 3 * step < count; i += 4 * step) {
        // Four loads first, then four stores: the loads wait together.
        const Element a = in[i], b = in[i + step], c = in[i + 2 * step], d = in[i + 3 * step];
        out[i] = a, out[i + step] = b, out[i + 2 * step] = c, out[i + 3 * step] = d;
    }
#pragma unroll 1
    for (; i < count; i += step) out[i] = in[i];
}

extern "C" __global__ void copy_float_by_four(const float* in, float* out, unsigned count) { copy_by_four(in, out, count); }
extern "C" __global__ void copy_float4_by_four(const float4* in, float4* out, unsigned count) { copy_by_four(in, out, count); }
// --8<-- [end:unrolled]

// --8<-- [start:strided]
extern "C" __global__ void copy_strided(const float* in, float* out, unsigned count, unsigned stride, unsigned offset) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = in[i * stride + offset];
}
// --8<-- [end:strided]

// Four neighbours a thread, one by one: the addresses are those of a float4, the instructions are not.
extern "C" __global__ void copy_neighbours(const float* in, float* out, unsigned count) {
    const unsigned i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= count) return;
    const float a = in[i], b = in[i + 1], c = in[i + 2], d = in[i + 3];
    out[i] = a, out[i + 1] = b, out[i + 2] = c, out[i + 3] = d;
}

// The same with a promise that the pointers are aligned to 16 bytes.
extern "C" __global__ void copy_promised(const float* in, float* out, unsigned count) {
    const float* from = static_cast<const float*>(__builtin_assume_aligned(in, 16));
    float* to = static_cast<float*>(__builtin_assume_aligned(out, 16));
    const unsigned i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= count) return;
    const float a = from[i], b = from[i + 1], c = from[i + 2], d = from[i + 3];
    to[i] = a, to[i + 1] = b, to[i + 2] = c, to[i + 3] = d;
}

// --8<-- [start:structs]
struct Loose { float x, y, z, w; };
struct __align__(16) Aligned { float x, y, z, w; };

extern "C" __global__ void copy_loose(const Loose* in, Loose* out, unsigned count) { copy(in, out, count); }
extern "C" __global__ void copy_aligned(const Aligned* in, Aligned* out, unsigned count) { copy(in, out, count); }
// --8<-- [end:structs]

// Eight halves or sixteen bytes travel in the same 16-byte access.
struct __align__(16) EightHalves { unsigned short values[8]; };
extern "C" __global__ void copy_eight_halves(const EightHalves* in, EightHalves* out, unsigned count) { copy(in, out, count); }

// --8<-- [start:tail]
// Both pointers must be aligned to 16 bytes; count, in floats, may be any.
extern "C" __global__ void copy_any(const float* in, float* out, unsigned count) {
    const unsigned first = blockIdx.x * blockDim.x + threadIdx.x;
    copy(reinterpret_cast<const float4*>(in), reinterpret_cast<float4*>(out), count / 4);
    const unsigned tail = count % 4;
    if (first < tail) out[count - tail + first] = in[count - tail + first];
}
// --8<-- [end:tail]
