// arch: sm_80 sm_90a
// One warp a block, to see which lane holds which element: fragments.py predicts it and bench_fragments.py compares.

__device__ void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Give a register that is 0 but for an FP16 one in the half whose number in the warp is set: 2 * words halves a lane.
__device__ unsigned one_at(int set, int words, int word) {
  const int first = (threadIdx.x * words + word) * 2;
  return set == first ? 0x3C00u : set == first + 1 ? 0x3C000000u : 0;
}

// Each block sets one half of A, number blockIdx.x, and one of B, number blockIdx.y, and multiplies.
extern "C" __global__ void pair(float4* d) {
  float sums[4] = {};
  unsigned a[4], b[2];
  for (int word = 0; word < 4; ++word) a[word] = one_at(blockIdx.x, 4, word);
  for (int word = 0; word < 2; ++word) b[word] = one_at(blockIdx.y, 2, word);
  mma(sums, a, b);
  d[(blockIdx.x * gridDim.y + blockIdx.y) * 32 + threadIdx.x] = make_float4(sums[0], sums[1], sums[2], sums[3]);
}

// Each block has its own fragments, as they lie in the registers.
extern "C" __global__ void multiply(const uint4* a, const uint2* b, const float4* c, float4* d) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  float sums[4] = {c[i].x, c[i].y, c[i].z, c[i].w};
  const unsigned x[4] = {a[i].x, a[i].y, a[i].z, a[i].w}, y[2] = {b[i].x, b[i].y};
  mma(sums, x, y);
  d[i] = make_float4(sums[0], sums[1], sums[2], sums[3]);
}

// Copies 256 halves to shared memory and loads matrices from them; each lane passes the address, in halves, that it was given.
#define LOADER(name, instruction)                                                                             \
  extern "C" __global__ void name(const unsigned* halves, const int* address, uint4* words) {                 \
    __shared__ __align__(16) unsigned tile[128];                                                              \
    for (int i = threadIdx.x; i < 128; i += 32) tile[i] = halves[i];                                          \
    __syncwarp();                                                                                             \
    const unsigned row = __cvta_generic_to_shared((unsigned short*)tile + address[threadIdx.x]);              \
    uint4 w = make_uint4(0, 0, 0, 0);                                                                         \
    asm volatile(instruction : "=r"(w.x), "=r"(w.y), "+r"(w.z), "+r"(w.w) : "r"(row) : "memory");             \
    words[threadIdx.x] = w;                                                                                   \
  }
LOADER(load_a, "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];")
LOADER(load_b, "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%4];")
LOADER(load_b_trans, "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%4];")
