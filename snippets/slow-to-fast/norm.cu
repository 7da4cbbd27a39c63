// arch: sm_80 sm_90a
// LayerNorm over the channels of every pixel, without scale and shift; seven kernels, each a change of one before it.
// x is [image][channel][pixel], y is [image][pixel][channel]; the grid has a row of blocks an image.

constexpr unsigned CHANNELS = 256, PIXELS = 64 * 64;
constexpr unsigned TILE = 32;  // pixels of a block, from tiled on
constexpr float EPSILON = 1e-5f;

// A thread a pixel.
extern "C" __global__ void three_passes(const float *__restrict__ x, float *__restrict__ y)
{
    unsigned pixel = blockIdx.x * blockDim.x + threadIdx.x;
    const float *in = x + blockIdx.y * CHANNELS * PIXELS + pixel;
    float *out = y + (blockIdx.y * PIXELS + pixel) * CHANNELS;

    float sum = 0, squares = 0;
    for (unsigned c = 0; c < CHANNELS; c++)
        sum += in[c * PIXELS];
    float mean = sum / CHANNELS;
    for (unsigned c = 0; c < CHANNELS; c++) {
        float distance = in[c * PIXELS] - mean;
        squares += distance * distance;
    }
    float scale = rsqrtf(squares / CHANNELS + EPSILON);
    for (unsigned c = 0; c < CHANNELS; c++)
        out[c] = (in[c * PIXELS] - mean) * scale;
}

// Mean and variance from one pass.
extern "C" __global__ void two_passes(const float *__restrict__ x, float *__restrict__ y)
{
    unsigned pixel = blockIdx.x * blockDim.x + threadIdx.x;
    const float *in = x + blockIdx.y * CHANNELS * PIXELS + pixel;
    float *out = y + (blockIdx.y * PIXELS + pixel) * CHANNELS;

    float sum = 0, squares = 0;
    for (unsigned c = 0; c < CHANNELS; c++) {
        float value = in[c * PIXELS];
        sum += value;
        squares += value * value;
    }
    float mean = sum / CHANNELS;
    float scale = rsqrtf(squares / CHANNELS - mean * mean + EPSILON);
    for (unsigned c = 0; c < CHANNELS; c++)
        out[c] = (in[c * PIXELS] - mean) * scale;
}

// A block 32 pixels: read once, pixel by pixel; written from shared memory, channel by channel.
extern "C" __global__ void tiled(const float *__restrict__ x, float *__restrict__ y)
{
    constexpr unsigned WARPS = 8;
    __shared__ float tile[CHANNELS][TILE];
    __shared__ float sums[WARPS][TILE], squares[WARPS][TILE];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float *in = x + blockIdx.y * CHANNELS * PIXELS + blockIdx.x * TILE + lane;
    float *out = y + (blockIdx.y * PIXELS + blockIdx.x * TILE) * CHANNELS;

    float sum = 0, square = 0;
    #pragma unroll 1
    for (unsigned c = warp; c < CHANNELS; c += WARPS) {
        float value = in[c * PIXELS];
        tile[c][lane] = value;
        sum += value;
        square += value * value;
    }
    sums[warp][lane] = sum;
    squares[warp][lane] = square;
    __syncthreads();

    sum = square = 0;
    for (unsigned w = 0; w < WARPS; w++) {
        sum += sums[w][lane];
        square += squares[w][lane];
    }
    float mean = sum / CHANNELS;
    float scale = rsqrtf(square / CHANNELS - mean * mean + EPSILON);
    for (unsigned p = warp; p < TILE; p += WARPS) {
        float its_mean = __shfl_sync(~0u, mean, p), its_scale = __shfl_sync(~0u, scale, p);
        for (unsigned c = lane; c < CHANNELS; c += 32)
            out[p * CHANNELS + c] = (tile[c][p] - its_mean) * its_scale;
    }
}

// A row of the tile is one word longer.
extern "C" __global__ void padded(const float *__restrict__ x, float *__restrict__ y)
{
    constexpr unsigned WARPS = 8;
    __shared__ float tile[CHANNELS][TILE + 1];
    __shared__ float sums[WARPS][TILE], squares[WARPS][TILE];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float *in = x + blockIdx.y * CHANNELS * PIXELS + blockIdx.x * TILE + lane;
    float *out = y + (blockIdx.y * PIXELS + blockIdx.x * TILE) * CHANNELS;

    float sum = 0, square = 0;
    #pragma unroll 1
    for (unsigned c = warp; c < CHANNELS; c += WARPS) {
        float value = in[c * PIXELS];
        tile[c][lane] = value;
        sum += value;
        square += value * value;
    }
    sums[warp][lane] = sum;
    squares[warp][lane] = square;
    __syncthreads();

    sum = square = 0;
    for (unsigned w = 0; w < WARPS; w++) {
        sum += sums[w][lane];
        square += squares[w][lane];
    }
    float mean = sum / CHANNELS;
    float scale = rsqrtf(square / CHANNELS - mean * mean + EPSILON);
    for (unsigned p = warp; p < TILE; p += WARPS) {
        float its_mean = __shfl_sync(~0u, mean, p), its_scale = __shfl_sync(~0u, scale, p);
        for (unsigned c = lane; c < CHANNELS; c += 32)
            out[p * CHANNELS + c] = (tile[c][p] - its_mean) * its_scale;
    }
}

// Twice the warps for the same tile.
extern "C" __global__ void more_warps(const float *__restrict__ x, float *__restrict__ y)
{
    constexpr unsigned WARPS = 16;
    __shared__ float tile[CHANNELS][TILE + 1];
    __shared__ float sums[WARPS][TILE], squares[WARPS][TILE];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float *in = x + blockIdx.y * CHANNELS * PIXELS + blockIdx.x * TILE + lane;
    float *out = y + (blockIdx.y * PIXELS + blockIdx.x * TILE) * CHANNELS;

    float sum = 0, square = 0;
    #pragma unroll 1
    for (unsigned c = warp; c < CHANNELS; c += WARPS) {
        float value = in[c * PIXELS];
        tile[c][lane] = value;
        sum += value;
        square += value * value;
    }
    sums[warp][lane] = sum;
    squares[warp][lane] = square;
    __syncthreads();

    sum = square = 0;
    for (unsigned w = 0; w < WARPS; w++) {
        sum += sums[w][lane];
        square += squares[w][lane];
    }
    float mean = sum / CHANNELS;
    float scale = rsqrtf(square / CHANNELS - mean * mean + EPSILON);
    for (unsigned p = warp; p < TILE; p += WARPS) {
        float its_mean = __shfl_sync(~0u, mean, p), its_scale = __shfl_sync(~0u, scale, p);
        for (unsigned c = lane; c < CHANNELS; c += 32)
            out[p * CHANNELS + c] = (tile[c][p] - its_mean) * its_scale;
    }
}

// All loads of a thread before the first value is used.
extern "C" __global__ void batched(const float *__restrict__ x, float *__restrict__ y)
{
    constexpr unsigned WARPS = 16;
    __shared__ float tile[CHANNELS][TILE + 1];
    __shared__ float sums[WARPS][TILE], squares[WARPS][TILE];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float *in = x + blockIdx.y * CHANNELS * PIXELS + blockIdx.x * TILE + lane;
    float *out = y + (blockIdx.y * PIXELS + blockIdx.x * TILE) * CHANNELS;

    float sum = 0, square = 0;
    float values[CHANNELS / WARPS];
    #pragma unroll
    for (unsigned i = 0; i < CHANNELS / WARPS; i++)
        values[i] = in[(i * WARPS + warp) * PIXELS];
    #pragma unroll
    for (unsigned i = 0; i < CHANNELS / WARPS; i++) {
        tile[i * WARPS + warp][lane] = values[i];
        sum += values[i];
        square += values[i] * values[i];
    }
    sums[warp][lane] = sum;
    squares[warp][lane] = square;
    __syncthreads();

    sum = square = 0;
    for (unsigned w = 0; w < WARPS; w++) {
        sum += sums[w][lane];
        square += squares[w][lane];
    }
    float mean = sum / CHANNELS;
    float scale = rsqrtf(square / CHANNELS - mean * mean + EPSILON);
    for (unsigned p = warp; p < TILE; p += WARPS) {
        float its_mean = __shfl_sync(~0u, mean, p), its_scale = __shfl_sync(~0u, scale, p);
        for (unsigned c = lane; c < CHANNELS; c += 32)
            out[p * CHANNELS + c] = (tile[c][p] - its_mean) * its_scale;
    }
}

// Four pixels a load, four channels a store: 8 lanes cover 128 bytes, and a warp four such rows.
extern "C" __global__ void wide(const float *__restrict__ x, float *__restrict__ y)
{
    constexpr unsigned WARPS = 16;
    __shared__ float tile[CHANNELS][TILE + 1];
    __shared__ float sums[WARPS][TILE], squares[WARPS][TILE];
    unsigned warp = threadIdx.x / 32, quad = threadIdx.x % 8, row = threadIdx.x % 32 / 8;
    const float *in = x + blockIdx.y * CHANNELS * PIXELS + blockIdx.x * TILE + 4 * quad;
    float *out = y + (blockIdx.y * PIXELS + blockIdx.x * TILE) * CHANNELS;

    float sum[4] = {}, square[4] = {};
    float4 fours[CHANNELS / WARPS / 4];
    #pragma unroll
    for (unsigned i = 0; i < CHANNELS / WARPS / 4; i++)
        fours[i] = *(const float4 *)(in + ((i * WARPS + warp) * 4 + row) * PIXELS);
    #pragma unroll
    for (unsigned i = 0; i < CHANNELS / WARPS / 4; i++) {
        float values[4] = {fours[i].x, fours[i].y, fours[i].z, fours[i].w};
        #pragma unroll
        for (unsigned j = 0; j < 4; j++) {
            tile[(i * WARPS + warp) * 4 + row][4 * quad + j] = values[j];
            sum[j] += values[j];
            square[j] += values[j] * values[j];
        }
    }
    // The four rows of a warp hold the same pixels.
    #pragma unroll
    for (unsigned j = 0; j < 4; j++) {
        for (unsigned distance = 8; distance < 32; distance *= 2) {
            sum[j] += __shfl_xor_sync(~0u, sum[j], distance);
            square[j] += __shfl_xor_sync(~0u, square[j], distance);
        }
        if (row == 0) {
            sums[warp][4 * quad + j] = sum[j];
            squares[warp][4 * quad + j] = square[j];
        }
    }
    __syncthreads();

    // Eight warps take the first half of the channels, eight the second.
    unsigned p = 4 * (warp % 8) + row, first = warp / 8 * (CHANNELS / 2) + 4 * quad;
    float its_sum = 0, its_square = 0;
    #pragma unroll
    for (unsigned w = 0; w < WARPS; w++) {
        its_sum += sums[w][p];
        its_square += squares[w][p];
    }
    float mean = its_sum / CHANNELS;
    float scale = rsqrtf(its_square / CHANNELS - mean * mean + EPSILON);
    #pragma unroll
    for (unsigned i = 0; i < CHANNELS / 2 / 32; i++) {
        unsigned c = first + 32 * i;
        float values[4];
        #pragma unroll
        for (unsigned j = 0; j < 4; j++)
            values[j] = (tile[c + j][p] - mean) * scale;
        *(float4 *)(out + p * CHANNELS + c) = make_float4(values[0], values[1], values[2], values[3]);
    }
}

// Two roofs: a copy of as many bytes, and stores of which each lane's goes to a line of its own, within what the L2 holds.
extern "C" __global__ void copy(const float4 *__restrict__ x, float4 *__restrict__ y)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];
}

extern "C" __global__ void scatter(float *y, unsigned turns)
{
    volatile float *line = y + (blockIdx.x * blockDim.x + threadIdx.x) * 32;
    for (unsigned t = 0; t < turns; t++)
        #pragma unroll
        for (unsigned word = 0; word < 32; word++)
            line[word] = t;
}
