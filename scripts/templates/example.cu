// arch: sm_80 sm_90a

// --8<-- [start:read]
// Each thread reads one element: what the question asks comes here.
extern "C" __global__ void read_one(const float* a, float* out, int elements) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < elements) out[i] = 2 * a[i];
}
// --8<-- [end:read]
