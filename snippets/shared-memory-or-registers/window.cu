// arch: sm_80 sm_90a
// The largest sum of 64 neighbouring samples: each thread keeps its own last 64 samples, in one of four places.

constexpr unsigned WINDOW = 64;
constexpr unsigned THREADS = 128;

// Samples are computed, so that the window is all the memory that the loop needs.
struct Samples {
  unsigned state;
  __device__ int next() {
    state = state * 1664525u + 1013904223u;
    return state >> 16;
  }
};

// --8<-- [start:local]
// The loop is not unrolled: `i % WINDOW` becomes a number at run time only.
// With `phase`, each lane begins at another element of its window.
extern "C" __global__ void run_time(const unsigned* seeds, int* largest, unsigned length, unsigned phase) {
  int window[WINDOW], sum = 0;
  Samples samples{seeds[threadIdx.x]};
  unsigned i = phase * threadIdx.x;
  const unsigned full = i + WINDOW, end = i + length;
#pragma unroll 1
  for (; i < full; ++i) sum += window[i % WINDOW] = samples.next();
  int most = sum;
#pragma unroll 1
  for (; i < end; ++i) {
    const int sample = samples.next();
    sum += sample - window[i % WINDOW];
    window[i % WINDOW] = sample;
    most = max(most, sum);
  }
  largest[blockIdx.x * THREADS + threadIdx.x] = most;
}
// --8<-- [end:local]

// --8<-- [start:registers]
// Unrolled, every index is a number: window[0] to window[63] are registers.
__device__ __forceinline__ void unrolled(const unsigned* seeds, int* largest, unsigned length) {
  int window[WINDOW], sum = 0;
  Samples samples{seeds[threadIdx.x]};
#pragma unroll
  for (unsigned i = 0; i < WINDOW; ++i) sum += window[i] = samples.next();
  int most = sum;
#pragma unroll 1
  for (unsigned begin = WINDOW; begin < length; begin += WINDOW)
#pragma unroll
    for (unsigned i = 0; i < WINDOW; ++i) {
      const int sample = samples.next();
      sum += sample - window[i];
      window[i] = sample;
      most = max(most, sum);
    }
  largest[blockIdx.x * THREADS + threadIdx.x] = most;
}
extern "C" __global__ void unroll_64(const unsigned* seeds, int* largest, unsigned length) {
  unrolled(seeds, largest, length);
}
// Ten blocks on an SM leave 48 registers a thread: some of the window is spilled.
extern "C" __global__ void __launch_bounds__(THREADS, 10)
spilled(const unsigned* seeds, int* largest, unsigned length) {
  unrolled(seeds, largest, length);
}
extern "C" __global__ void __launch_bounds__(THREADS, 10)
spilled_to_shared(const unsigned* seeds, int* largest, unsigned length) {
  asm volatile(".pragma \"enable_smem_spilling\";");  // CUDA 13
  unrolled(seeds, largest, length);
}
// --8<-- [end:registers]

// --8<-- [start:shared]
// Element i of thread t lies at [i][t], so a lane stays in its bank whatever the index.
extern "C" __global__ void in_shared(const unsigned* seeds, int* largest, unsigned length, unsigned phase) {
  __shared__ int window[WINDOW][THREADS];
  // ... the rest is run_time's, with window[i % WINDOW][threadIdx.x]
  // --8<-- [end:shared]
  int sum = 0;
  Samples samples{seeds[threadIdx.x]};
  unsigned i = phase * threadIdx.x;
  const unsigned full = i + WINDOW, end = i + length;
#pragma unroll 1
  for (; i < full; ++i) sum += window[i % WINDOW][threadIdx.x] = samples.next();
  int most = sum;
#pragma unroll 1
  for (; i < end; ++i) {
    const int sample = samples.next();
    sum += sample - window[i % WINDOW][threadIdx.x];
    window[i % WINDOW][threadIdx.x] = sample;
    most = max(most, sum);
  }
  largest[blockIdx.x * THREADS + threadIdx.x] = most;
}
