// arch: sm_90a
// D = A * B^T + C for 64 rows of A and 8 of B, all K, by mma.sync (a warp has 16 rows) and by wgmma (a warpgroup has 64).
// Rows hold bytes_k bytes; an instruction takes 32 of them: 16 FP16 or 32 FP8. What it is comes in as macros;
// bench_accumulate.py names them, and these stand for FP16 with FP32 accumulators. C and D are raw fragments.
#ifndef MMA
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
#define WGMMA "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
#endif

extern "C" __global__ void mma_tile(const unsigned char* a, const unsigned char* b, const uint4* c, uint4* d, int bytes_k) {
  const int lane = threadIdx.x % 32, i = blockIdx.x * 128 + threadIdx.x;
  const unsigned char* row = a + (blockIdx.x * 64 + threadIdx.x / 32 * 16 + lane / 4) * bytes_k + lane % 4 * 4;
  const unsigned char* column = b + (blockIdx.x * 8 + lane / 4) * bytes_k + lane % 4 * 4;
  uint4 w = c[i];
  for (int k = 0; k < bytes_k; k += 32) {
    unsigned x[4], y[2];
    for (int word = 0; word < 4; ++word) x[word] = *(const unsigned*)(row + word % 2 * 8 * bytes_k + k + word / 2 * 16);
    for (int word = 0; word < 2; ++word) y[word] = *(const unsigned*)(column + k + word * 16);
    asm volatile(MMA : "+r"(w.x), "+r"(w.y), "+r"(w.z), "+r"(w.w) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  }
  d[i] = w;
}

extern "C" __global__ void wgmma_tile(const unsigned char* a, const unsigned char* b, const uint4* c, uint4* d, int bytes_k) {
  __shared__ __align__(128) uint4 x[64 * 2], y[8 * 2];  // core matrices of 8 rows x 16 bytes; two along K, then the next rows
  const int i = blockIdx.x * 128 + threadIdx.x, row = threadIdx.x / 2, piece = threadIdx.x % 2, place = row / 8 * 16 + piece * 8 + row % 8;
  const unsigned long long strides = (128ull >> 4) << 16 | (256ull >> 4) << 32;
  const unsigned long long of_x = __cvta_generic_to_shared(x) >> 4 | strides, of_y = __cvta_generic_to_shared(y) >> 4 | strides;
  uint4 w = c[i];
  for (int k = 0; k < bytes_k; k += 32) {
    x[place] = *(const uint4*)(a + (blockIdx.x * 64 + row) * bytes_k + k + piece * 16);
    if (row < 8) y[place] = *(const uint4*)(b + (blockIdx.x * 8 + row) * bytes_k + k + piece * 16);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile(WGMMA : "+r"(w.x), "+r"(w.y), "+r"(w.z), "+r"(w.w) : "l"(of_x), "l"(of_y));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" : "+r"(w.x), "+r"(w.y), "+r"(w.z), "+r"(w.w)::"memory");
    __syncthreads();
  }
  d[i] = w;
}
