// arch: sm_80 sm_90a

// --8<-- [start:pipeline]
extern "C" __global__ void scale(const float *in, float *out, unsigned count, float factor) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        out[i] = factor * in[i];
}

// A recursive filter along each row, one thread a row: neighbouring lanes read addresses a whole row apart.
extern "C" __global__ void row_filter(const float *in, float *out, unsigned rows, unsigned columns, unsigned rounds) {
    unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    float state = 0;
    for (unsigned round = 0; round < rounds; ++round)
        for (unsigned column = 0; column < columns; ++column)
            state = 0.5f * state + in[row * columns + column];
    out[row] = state;
}

// One sum a thread; each thread waits for one load before it makes the next.
extern "C" __global__ void total(const float *in, float *out, unsigned count) {
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (unsigned i = thread; i < count; i += gridDim.x * blockDim.x)
        sum += in[i];
    out[thread] = sum;
}
// --8<-- [end:pipeline]

// --8<-- [start:fixed]
// The same filter over the transposed matrix: neighbouring lanes read neighbouring addresses.
extern "C" __global__ void column_filter(const float *in, float *out, unsigned rows, unsigned columns, unsigned rounds) {
    unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    float state = 0;
    for (unsigned round = 0; round < rounds; ++round)
        for (unsigned column = 0; column < columns; ++column)
            state = 0.5f * state + in[column * rows + row];
    out[row] = state;
}
// --8<-- [end:fixed]

// --8<-- [start:grow]
// Changes its own input, so that a second run gives another result.
extern "C" __global__ void grow(unsigned *data, unsigned long long count) {
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        data[i] += 1;
}
// --8<-- [end:grow]
