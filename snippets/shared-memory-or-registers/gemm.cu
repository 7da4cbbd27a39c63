// arch: sm_80 sm_90a
// C = A B for n x n matrices of floats, n a multiple of 64: the same product, with its parts in other places.
// A is stored column by column, so that tiles of A and B are loaded alike.

constexpr int TILE = 64;   // a block computes 64 x 64 elements of C
constexpr int DEPTH = 16;  // from 16 columns of A and 16 rows of B at a time
constexpr int EACH = 4;    // a thread computes 4 x 4 of them
constexpr int THREADS = 256;

// --8<-- [start:sums]
// The 4 x 4 sums of a thread, a row at a time.
struct InRegisters {
  float4 rows[EACH] = {};
  __device__ float4 load(int i) const { return rows[i]; }
  __device__ void store(int i, float4 row) { rows[i] = row; }
};
struct InLocal {  // larger than needed: a small array would still go into registers
  float4 rows[8];
  __device__ float4 load(int i) const { return rows[i]; }
  __device__ void store(int i, float4 row) { rows[i] = row; }
};
// --8<-- [end:sums]

// Explicit instructions: given plain assignments, the compiler would keep the sums in registers all the same.
struct InShared {  // row i of thread t lies at [i][t]
  unsigned base;
  __device__ explicit InShared(float4* place) : base(__cvta_generic_to_shared(place + threadIdx.x)) {}
  __device__ float4 load(int i) const {
    float4 row;
    asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(row.x), "=f"(row.y), "=f"(row.z), "=f"(row.w) : "r"(base + 16 * THREADS * i) : "memory");
    return row;
  }
  __device__ void store(int i, float4 row) {
    asm volatile("st.volatile.shared.v4.f32 [%0], {%1, %2, %3, %4};"
                 ::"r"(base + 16 * THREADS * i), "f"(row.x), "f"(row.y), "f"(row.z), "f"(row.w) : "memory");
  }
};
struct InGlobal {  // C itself
  float* base;
  int n;
  __device__ float4 load(int i) const {
    float4 row;
    asm volatile("ld.relaxed.cta.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(row.x), "=f"(row.y), "=f"(row.z), "=f"(row.w) : "l"(base + i * n) : "memory");
    return row;
  }
  __device__ void store(int i, float4 row) {
    asm volatile("st.relaxed.cta.global.v4.f32 [%0], {%1, %2, %3, %4};"
                 ::"l"(base + i * n), "f"(row.x), "f"(row.y), "f"(row.z), "f"(row.w) : "memory");
  }
};

// --8<-- [start:product]
using In = const float* __restrict__;
__device__ float4 four(In p) { return *reinterpret_cast<const float4*>(p); }

__device__ void add(float4& row, float a, float4 b) {
  row.x += a * b.x, row.y += a * b.y, row.z += a * b.z, row.w += a * b.w;
}

// `zero` is 0, but the compiler does not know. For sums in local memory it makes
// the index a run-time one: LOCAL ? i + zero * k : i.
template <bool STAGED, bool LOCAL, class Sums>
__device__ __forceinline__ void product(Sums& sums, In a, In b, int n, int zero) {
  __shared__ float4 tile_a[DEPTH][TILE / 4], tile_b[DEPTH][TILE / 4];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  a += blockIdx.y * TILE, b += blockIdx.x * TILE;
  for (int first = 0; first < n; first += DEPTH) {
    if (STAGED) {  // each thread carries 4 numbers of A and 4 of B into shared memory
      __syncthreads();
      tile_a[y][x] = four(a + (first + y) * n + 4 * x);
      tile_b[y][x] = four(b + (first + y) * n + 4 * x);
      __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < DEPTH; ++k) {
      const float4 of_a = STAGED ? tile_a[k][y] : four(a + (first + k) * n + 4 * y);
      const float4 of_b = STAGED ? tile_b[k][x] : four(b + (first + k) * n + 4 * x);
      const float column[EACH] = {of_a.x, of_a.y, of_a.z, of_a.w};
#pragma unroll
      for (int i = 0; i < EACH; ++i) {
        float4 row = sums.load(LOCAL ? i + zero * k : i);
        add(row, column[i], of_b);
        sums.store(LOCAL ? i + zero * k : i, row);
      }
    }
  }
}
// --8<-- [end:product]

template <class Sums> __device__ __forceinline__ void clear(Sums& sums) {
#pragma unroll
  for (int i = 0; i < EACH; ++i) sums.store(i, float4{});
}
template <class Sums> __device__ __forceinline__ void write(const Sums& sums, float* c, int n) {
#pragma unroll
  for (int i = 0; i < EACH; ++i) __stwb(reinterpret_cast<float4*>(c + i * n), sums.load(i));
}
__device__ __forceinline__ float* corner(float* c, int n) {
  return c + (blockIdx.y * TILE + threadIdx.x / 16 * EACH) * n + blockIdx.x * TILE + threadIdx.x % 16 * EACH;
}

#define KERNEL(NAME) extern "C" __global__ void __launch_bounds__(THREADS) NAME(In a, In b, float* c, int n, int zero)

KERNEL(shared_register) {
  InRegisters sums;
  product<true, false>(sums, a, b, n, zero);
  write(sums, corner(c, n), n);
}
KERNEL(global_register) {
  InRegisters sums;
  product<false, false>(sums, a, b, n, zero);
  write(sums, corner(c, n), n);
}
KERNEL(shared_local) {
  InLocal sums;
  clear(sums);
  product<true, true>(sums, a, b, n, zero);
  write(sums, corner(c, n), n);
}
KERNEL(shared_shared) {
  __shared__ float4 place[EACH * THREADS];
  InShared sums{place};
  clear(sums);
  product<true, false>(sums, a, b, n, zero);
  write(sums, corner(c, n), n);
}
KERNEL(shared_global) {
  InGlobal sums{corner(c, n), n};
  clear(sums);
  product<true, false>(sums, a, b, n, zero);
}
KERNEL(global_global) {
  InGlobal sums{corner(c, n), n};
  clear(sums);
  product<false, false>(sums, a, b, n, zero);
}

// --8<-- [start:single]
// One element of C a thread, 32 x 32 threads: each number from shared memory
// serves one multiply-add, where above 8 numbers serve 16.
extern "C" __global__ void __launch_bounds__(1024) shared_single(In a, In b, float* c, int n, int) {
  __shared__ float tile_a[32][32], tile_b[32][32];
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  float sum = 0;
  for (int first = 0; first < n; first += 32) {
    __syncthreads();
    tile_a[y][x] = a[(first + y) * n + blockIdx.y * 32 + x];
    tile_b[y][x] = b[(first + y) * n + blockIdx.x * 32 + x];
    __syncthreads();
    for (int k = 0; k < 32; ++k) sum += tile_a[k][y] * tile_b[k][x];
  }
  c[(blockIdx.y * 32 + y) * n + blockIdx.x * 32 + x] = sum;
}
// --8<-- [end:single]
