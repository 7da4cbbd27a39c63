// arch: sm_80 sm_90a
// Every loop ends: after a number of clock cycles that the host gives, or of turns.

__device__ unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

__device__ void wait(long long begin, long long cycles) {
    while (clock64() - begin < cycles) {
    }
}

// --8<-- [start:spin]
// Stands in for any kernel of a known length.
extern "C" __global__ void spin(long long cycles) { wait(clock64(), cycles); }

// Adds 1 to each number of a chunk, and takes at least so many cycles.
extern "C" __global__ void work(unsigned *chunk, unsigned count, long long cycles) {
    long long begin = clock64();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        chunk[i] += 1;
    wait(begin, cycles);
}
// --8<-- [end:spin]

// What a program may put into the default stream without a thought.
extern "C" __global__ void tiny(long long cycles) { wait(clock64(), cycles); }

// Writes when it began and ended, on the clock of the whole GPU.
extern "C" __global__ void stamped(unsigned long long *stamps, long long cycles, unsigned slot) {
    long long begin = clock64();
    stamps[2 * slot] = nanoseconds();
    wait(begin, cycles);
    stamps[2 * slot + 1] = nanoseconds();
}

// Waits for the host's flag, then writes the GPU's time: the host's clock and the GPU's meet.
extern "C" __global__ void meet(volatile unsigned *flag, volatile unsigned long long *stamp, long long cycles) {
    long long begin = clock64();
    while (!*flag && clock64() - begin < cycles) {
    }
    *stamp = nanoseconds();
}

// Collects the steps of the GPU's clock.
extern "C" __global__ void ticks(unsigned long long *steps, unsigned count) {
    unsigned long long last = nanoseconds();
    for (unsigned i = 0; i < count; ++i) {
        unsigned long long now = last;
        for (int turn = 0; turn < 1000000 && now == last; ++turn) now = nanoseconds();
        steps[i] = now - last;
        last = now;
    }
}

extern "C" __global__ void store(unsigned *out, unsigned value, unsigned index) { out[index] = value; }

// A step of an iteration that is over when *left is 0.
extern "C" __global__ void step(unsigned *left, unsigned *steps) {
    *steps += 1;
    *left -= 1;
}

#ifdef __CUDACC_RDC__  // cudaGraphSetConditional is linked from libcudadevrt
#include <cuda_device_runtime_api.h>

// --8<-- [start:conditional]
// The body of a WHILE node: the same step, and the condition for the next round.
extern "C" __global__ void step_while(cudaGraphConditionalHandle handle, unsigned *left, unsigned *steps) {
    *steps += 1;
    *left -= 1;
    cudaGraphSetConditional(handle, *left > 0);
}
// --8<-- [end:conditional]
#endif
