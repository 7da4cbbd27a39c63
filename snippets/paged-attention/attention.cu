// arch: sm_80 sm_90a
// Decode attention over a split context: one query a sequence, K and V in a cache that is contiguous or in blocks.
#include <cuda_fp16.h>

#ifndef KV_HEADS
#define KV_HEADS 8
#endif
#ifndef GROUP  // query heads that share a head of K and V, at most 8
#define GROUP 4
#endif
#ifndef STAGES
#define STAGES 3
#endif
#ifndef WARPS
#define WARPS 4
#endif

constexpr int DIM = 128, ROWS = 16, ROW_BYTES = 2 * DIM, TILE_BYTES = ROWS * ROW_BYTES;
constexpr unsigned ALL = 0xffffffffu;
#define NONE __int_as_float(0xff800000)  // minus infinity: the score of a token that is not there

// --8<-- [start:places]
// Which row of 128 halves in the cache is a token's K (and, in the other cache, its V)?
struct Contiguous {  // [sequence][head][reserved tokens][128]
    int reserved;
    __device__ int row(int sequence, int head, int token) const { return (sequence * KV_HEADS + head) * reserved + token; }
};

struct Paged {  // [block][head][block size][128]
    const int *table;  // [sequence][pitch]: physical blocks
    int pitch, shift;  // block size = 1 << shift
    __device__ int row(int sequence, int head, int token) const {
        int block = table[sequence * pitch + (token >> shift)];
        return ((block * KV_HEADS + head) << shift) + (token & ((1 << shift) - 1));
    }
};
// --8<-- [end:places]

struct Item {  // a piece of one sequence's context
    int sequence, begin, end;
};

__device__ void copy_16(unsigned to, const void *from, bool valid) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
}

// A tile's row r starts at r * 256 bytes; its piece c of 16 bytes lies at place c ^ (r mod 8): no bank conflicts.
__device__ unsigned place(int row, int piece) { return row * ROW_BYTES + ((piece ^ (row & 7)) << 4); }

__device__ void load_matrices(unsigned (&a)[4], unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from) : "memory");
}

__device__ void load_transposed(unsigned (&a)[4], unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from) : "memory");
}

__device__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ unsigned transposed(float left, float right) {
    __half2 pair = __floats2half2_rn(left, right);
    unsigned result;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(*reinterpret_cast<unsigned *>(&pair)));
    return result;
}

__device__ float over_rows(float value, bool add) {
    for (int lanes = 4; lanes < 32; lanes *= 2) {
        float other = __shfl_xor_sync(ALL, value, lanes);
        value = add ? value + other : fmaxf(value, other);
    }
    return value;
}

// --8<-- [start:load]
// Start the copies of 16 tokens' K and V; lane r < 16 brings the row of token r, or -1 past the end.
__device__ void load(unsigned tile, const __half *keys, const __half *values, int row, int lane) {
    for (int pair = 0; pair < ROWS / 2; ++pair) {
        int token = 2 * pair + lane / 16, piece = lane % 16;
        int from = __shfl_sync(ALL, row, token);
        size_t offset = static_cast<size_t>(max(from, 0)) * DIM + piece * 8;
        copy_16(tile + place(token, piece), keys + offset, from >= 0);
        copy_16(tile + TILE_BYTES + place(token, piece), values + offset, from >= 0);
    }
}
// --8<-- [end:load]

template <class Cache>
__device__ void attend(const Cache &cache, const __half *queries, int query_pitch, const __half *keys, const __half *values, const Item *items,
                       const int *item_count, float *partial, float2 *statistics, float scale_log2) {
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ float2 warp_statistics[WARPS][8];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, work_count = *item_count * KV_HEADS;
    unsigned tiles = static_cast<unsigned>(__cvta_generic_to_shared(memory)) + warp * STAGES * 2 * TILE_BYTES;
    for (int work = blockIdx.x; work < work_count; work += gridDim.x) {
        Item item = items[work / KV_HEADS];
        int head = work % KV_HEADS;
        unsigned query[16];  // 8 heads as columns; those past GROUP are 0
        const __half *from = queries + static_cast<size_t>(item.sequence) * query_pitch + (head * GROUP + lane / 4) * DIM + 2 * (lane % 4);
        for (int piece = 0; piece < 16; ++piece)
            query[piece] = lane / 4 < GROUP ? *reinterpret_cast<const unsigned *>(from + 8 * piece) : 0;

        int first = item.begin + warp * ROWS;  // this warp's tiles: every fourth, WARPS * ROWS tokens apart
        auto row_of = [&](int tile) {
            int token = first + tile * (WARPS * ROWS) + lane % 16;
            return token < item.end ? cache.row(item.sequence, head, token) : -1;
        };
        int count = max(0, (item.end - first + WARPS * ROWS - 1) / (WARPS * ROWS));
        int row = row_of(0);
        for (int stage = 0; stage < STAGES - 1; ++stage) {
            if (stage < count)
                load(tiles + stage * 2 * TILE_BYTES, keys, values, row, lane);
            asm volatile("cp.async.commit_group;" ::: "memory");
            row = row_of(stage + 1);
        }
        float output[8][4] = {}, most[2] = {NONE, NONE}, sum[2] = {};
        for (int tile = 0; tile < count; ++tile) {
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
            __syncwarp();
            if (tile + STAGES - 1 < count)
                load(tiles + (tile + STAGES - 1) % STAGES * 2 * TILE_BYTES, keys, values, row, lane);
            asm volatile("cp.async.commit_group;" ::: "memory");
            row = row_of(tile + STAGES);  // looked up one step before it is needed
            unsigned k = tiles + tile % STAGES * 2 * TILE_BYTES, v = k + TILE_BYTES, a[4];
            // --8<-- [start:tile]
            float score[4] = {}, more[4] = {};  // K (16 tokens x 128) times Q (128 x 8 heads)
#pragma unroll
            for (int step = 0; step < 8; step += 2) {
                load_matrices(a, k + place(lane % 16, 2 * step + lane / 16));
                multiply(score, a, query[2 * step], query[2 * step + 1]);
                load_matrices(a, k + place(lane % 16, 2 * step + 2 + lane / 16));
                multiply(more, a, query[2 * step + 2], query[2 * step + 3]);
            }
            int token = first + tile * (WARPS * ROWS) + lane / 4;
            float shrink[2];
            for (int column = 0; column < 2; ++column) {  // a lane holds two tokens of two heads
                float upper = token < item.end ? (score[column] + more[column]) * scale_log2 : NONE;
                float lower = token + 8 < item.end ? (score[column + 2] + more[column + 2]) * scale_log2 : NONE;
                float larger = fmaxf(most[column], over_rows(fmaxf(upper, lower), false));
                shrink[column] = exp2f(most[column] - larger);
                most[column] = larger;
                score[column] = exp2f(upper - larger);
                score[column + 2] = exp2f(lower - larger);
                sum[column] = sum[column] * shrink[column] + score[column] + score[column + 2];
            }
            unsigned p0 = transposed(score[0], score[1]), p1 = transposed(score[2], score[3]);
            bool rescale = __any_sync(ALL, shrink[0] != 1 || shrink[1] != 1);
#pragma unroll
            for (int part = 0; part < 8; ++part) {  // V transposed (16 of 128 x 16 tokens) times P (16 tokens x 8 heads)
                if (rescale)
                    for (int i = 0; i < 4; ++i)
                        output[part][i] *= shrink[i % 2];
                load_transposed(a, v + place(lane % 8 + lane / 16 * 8, 2 * part + lane / 8 % 2));
                multiply(output[part], a, p0, p1);
            }
            // --8<-- [end:tile]
            __syncwarp();
        }
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        for (int column = 0; column < 2; ++column)
            sum[column] = over_rows(sum[column], true);
        float *mine = reinterpret_cast<float *>(memory) + warp * STAGES * 2 * TILE_BYTES / 4;  // [8 heads][128], over this warp's own tiles
        __syncwarp();
        for (int part = 0; part < 8; ++part)
            for (int i = 0; i < 4; ++i)
                mine[(2 * (lane % 4) + i % 2) * DIM + 16 * part + lane / 4 + i / 2 * 8] = output[part][i];
        if (lane < 4)
            for (int column = 0; column < 2; ++column)
                warp_statistics[warp][2 * lane + column] = make_float2(most[column], sum[column]);
        __syncthreads();
        for (int index = threadIdx.x; index < GROUP * DIM; index += WARPS * 32) {
            int query_head = index / DIM, dim = index % DIM;
            float largest = NONE, total = 0, result = 0;
            for (int other = 0; other < WARPS; ++other)
                largest = fmaxf(largest, warp_statistics[other][query_head].x);
            for (int other = 0; other < WARPS; ++other) {
                float factor = exp2f(warp_statistics[other][query_head].x - largest);
                total += factor * warp_statistics[other][query_head].y;
                result += factor * reinterpret_cast<float *>(memory)[other * STAGES * 2 * TILE_BYTES / 4 + query_head * DIM + dim];
            }
            size_t to = static_cast<size_t>(work) * GROUP + query_head;
            partial[to * DIM + dim] = result;
            if (dim == 0)
                statistics[to] = make_float2(largest, total);
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(WARPS * 32) attend_contiguous(
    int reserved, const __half *queries, int query_pitch, const __half *keys, const __half *values, const Item *items, const int *item_count,
    float *partial, float2 *statistics, float scale_log2) {
    attend(Contiguous{reserved}, queries, query_pitch, keys, values, items, item_count, partial, statistics, scale_log2);
}

extern "C" __global__ void __launch_bounds__(WARPS * 32) attend_paged(
    const int *table, int pitch, int shift, const __half *queries, int query_pitch, const __half *keys, const __half *values, const Item *items,
    const int *item_count, float *partial, float2 *statistics, float scale_log2) {
    attend(Paged{table, pitch, shift}, queries, query_pitch, keys, values, items, item_count, partial, statistics, scale_log2);
}

// --8<-- [start:combine]
// One warp a query head, or several when there are many pieces: the pieces of a context become one result.
extern "C" __global__ void combine(const float *partial, const float2 *statistics, const int *first_item, __half *outputs) {
    __shared__ float totals[8][DIM], sums[8];
    int heads = KV_HEADS * GROUP, warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int team = warps * gridDim.y / heads, head = (blockIdx.y * warps + warp) / team, member = warp % team, sequence = blockIdx.x;
    int first = first_item[sequence], last = first_item[sequence + 1];  // items of a sequence are neighbours
    float most = NONE, sum = 0, result[4] = {};
    for (int item = first + lane; item < last; item += 32)
        most = fmaxf(most, statistics[item * heads + head].x);
    for (int lanes = 1; lanes < 32; lanes *= 2)
        most = fmaxf(most, __shfl_xor_sync(ALL, most, lanes));
#pragma unroll 4
    for (int item = first + member; item < last; item += team) {
        float2 piece = statistics[item * heads + head];
        float weight = exp2f(piece.x - most);
        float4 add = reinterpret_cast<const float4 *>(partial + static_cast<size_t>(item * heads + head) * DIM)[lane];
        sum += weight * piece.y;
        result[0] += weight * add.x, result[1] += weight * add.y, result[2] += weight * add.z, result[3] += weight * add.w;
    }
    for (int i = 0; i < 4; ++i)
        totals[warp][4 * lane + i] = result[i];
    sums[warp] = sum;
    __syncthreads();
    if (member)
        return;
    for (int other = 1; other < team; ++other) {
        sum += sums[warp + other];
        for (int i = 0; i < 4; ++i)
            result[i] += totals[warp + other][4 * lane + i];
    }
    __half *to = outputs + static_cast<size_t>(sequence * heads + head) * DIM + 4 * lane;
    for (int i = 0; i < 4; ++i)
        to[i] = __float2half(sum > 0 ? result[i] / sum : 0);
}
// --8<-- [end:combine]

// Write the new token's K and V of each sequence, 16 bytes a thread; query, key and value heads follow each other in a row.
// Where tokens are given, note in `written` which token each slot holds, and count.
extern "C" __global__ void append(
    const int *table, int pitch, int shift, const __half *rows, int row_pitch, const int *positions, __half *keys, __half *values, const int *tokens,
    int *written, int *count) {
    int sequence = blockIdx.x, head = threadIdx.x / 16, piece = threadIdx.x % 16, position = positions[sequence];
    if (position < 0)
        return;
    size_t to = static_cast<size_t>(Paged{table, pitch, shift}.row(sequence, head, position)) * DIM + 8 * piece;
    const __half *from = rows + static_cast<size_t>(sequence) * row_pitch + (KV_HEADS * GROUP + head) * DIM + 8 * piece;
    *reinterpret_cast<uint4 *>(keys + to) = *reinterpret_cast<const uint4 *>(from);
    *reinterpret_cast<uint4 *>(values + to) = *reinterpret_cast<const uint4 *>(from + KV_HEADS * DIM);
    if (tokens && threadIdx.x == 0) {
        written[(table[sequence * pitch + (position >> shift)] << shift) + (position & ((1 << shift) - 1))] = tokens[sequence];
        atomicAdd(count, 1);
    }
}
