// arch: sm_80 sm_90a
// Kernels that need a known number of registers and stay on their SM while it counts how many blocks are there at once.

// --8<-- [start:count]
// A block counts itself in on its SM, waits, and counts itself out; `most` keeps the highest count that each SM saw.
__device__ void stay(unsigned* now, unsigned* most, unsigned cycles) {
    if (threadIdx.x == 0) {
        unsigned sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        atomicMax(most + sm, atomicAdd(now + sm, 1) + 1);
        const long long start = clock64();
        while (clock64() - start < cycles) {}
        atomicSub(now + sm, 1);
    }
    __syncthreads();  // no warp leaves before its block does
}
// --8<-- [end:count]

// The values are loaded before the wait and stored after it, so each thread holds all of them meanwhile.
template <int VALUES>
__device__ void hold(unsigned* now, unsigned* most, unsigned cycles, volatile unsigned* data) {
    unsigned values[VALUES];
#pragma unroll
    for (int i = 0; i < VALUES; ++i) values[i] = data[threadIdx.x + 1024 * i];
    stay(now, most, cycles);
#pragma unroll
    for (int i = 0; i < VALUES; ++i) data[threadIdx.x + 1024 * i] = values[i];
}

// A kernel that wants more registers than the bound gets exactly the bound.
#define HOLD(REGISTERS) \
    extern "C" __global__ void __maxnreg__(REGISTERS) \
        hold_##REGISTERS(unsigned* now, unsigned* most, unsigned cycles, volatile unsigned* data) { \
        hold<REGISTERS>(now, most, cycles, data); \
    }
HOLD(24) HOLD(32) HOLD(33) HOLD(37) HOLD(40) HOLD(43) HOLD(48) HOLD(56) HOLD(64) HOLD(65)
HOLD(72) HOLD(80) HOLD(96) HOLD(97) HOLD(104) HOLD(128) HOLD(129) HOLD(160) HOLD(168) HOLD(192) HOLD(200) HOLD(255)

// No bound here: the least that such a kernel needs.
extern "C" __global__ void hold_16(unsigned* now, unsigned* most, unsigned cycles, volatile unsigned* data) {
    hold<1>(now, most, cycles, data);
}

// bar.sync 15 makes the compiler reserve barriers 0 to 15.
extern "C" __global__ void hold_barriers(unsigned* now, unsigned* most, unsigned cycles, volatile unsigned* data) {
    hold<1>(now, most, cycles, data);
    asm volatile("bar.sync 15;");
}
