"""Compare occupancy.py with NVIDIA's own cuda_occupancy.h, over random launches for each compute capability.

The header comes with the wheel nvidia-cuda-runtime; a C++ compiler makes a program of it that reads launches and
prints limits. Where either is missing, the exit status is 77: not compared here.
"""

import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import occupancy

LAUNCHES = 5000  # for each compute capability
HARNESS = """
#include <cstdio>
#include "cuda_occupancy.h"

// Reads one launch a line; prints what the header allows: blocks, then by warps, registers, shared memory, blocks, barriers.
int main() {
    cudaOccDeviceProp sm;
    sm.warpSize = 32, sm.regsPerBlock = sm.regsPerMultiprocessor = 65536, sm.maxThreadsPerBlock = 1024, sm.numSms = 1;
    sm.sharedMemPerBlock = 48 * 1024;
    int threads, opted_in;
    size_t fixed, dynamic;
    for (;;) {
        cudaOccFuncAttributes kernel;
        cudaOccDeviceState state;
        kernel.maxThreadsPerBlock = 1024;
        if (std::scanf("%d %d %d %zu %zu %zu %d %d %zu %zu %d %d %d", &sm.computeMajor, &sm.computeMinor, &sm.maxThreadsPerMultiprocessor,
                       &sm.sharedMemPerMultiprocessor, &sm.sharedMemPerBlockOptin, &sm.reservedSharedMemPerBlock, &threads, &kernel.numRegs,
                       &fixed, &dynamic, &kernel.numBlockBarriers, &state.carveoutConfig, &opted_in) != 13) return 0;
        kernel.sharedSizeBytes = fixed;
        kernel.maxDynamicSharedSizeBytes = dynamic;
        kernel.shmemLimitConfig = opted_in ? FUNC_SHMEM_LIMIT_OPTIN : FUNC_SHMEM_LIMIT_DEFAULT;
        cudaOccResult result;
        if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &sm, &kernel, &state, threads, dynamic)) return 1;
        std::printf("%d %d %d %d %d %d\\n", result.activeBlocksPerMultiprocessor, result.blockLimitWarps, result.blockLimitRegs,
                    result.blockLimitSharedMem, result.blockLimitBlocks, result.blockLimitBarriers);
    }
}
"""


def main() -> None:
    """Compare, assert that nothing differs, and print which resource decided how often."""
    names = ("warps", "registers", "shared", "blocks", "barriers")
    print(f"{'cc':<5}{'launches':>9}{'differ':>8}{'refused':>9}   decided by, alone or with others")
    print(" " * 31 + "".join(f"{name:>9}" if name != "registers" else f"{name:>10}" for name in names))
    total, different = 0, list[str]()
    launches = {name: launches_of(name) for name in occupancy.SMS}
    answers = iter(ask([line for each in launches.values() for line, _ in each]))
    for name, each in launches.items():
        sm, found, before = occupancy.SMS[name], Counter[str](), len(different)
        for line, launch in each:
            ours, theirs = occupancy.limits(sm, launch), next(answers)
            if theirs != [min(ours.values()), *ours.values()]:
                different.append(f"compute capability {name}, {line}: the header says {theirs}, the model {ours}")
            found.update(["refused"] if not theirs[0] else occupancy.deciding(sm, launch).split("+"))
            found["compared"] += 1 + len(ours)
        total += found["compared"]
        counts = "".join(f"{found[limit]:>9,}" if limit != "registers" else f"{found[limit]:>10,}" for limit in names)
        print(f"{name:<5}{len(each):>9,}{len(different) - before:>8}{found['refused']:>9,}{counts}")
    print(f"{total:,} numbers compared, {len(different)} differ")
    assert not different, different[0]


def launches_of(name: str) -> list[tuple[str, occupancy.Launch]]:
    """Draw launches for a compute capability, each with the line that the program reads: its share of edge cases among them."""
    draw = random.Random(name)  # noqa: S311 - reproducible, no secret
    sm, result = occupancy.SMS[name], []
    major, minor = name.split(".")
    for _ in range(LAUNCHES):
        threads = draw.choice((draw.randint(1, 1024), 32 * draw.randint(1, 32), 32 * draw.randint(1, 3)))
        registers = draw.choice((draw.randint(1, 255), 8 * draw.randint(2, 31), draw.randint(16, 64)))
        most = draw.choice((sm.block_kib, sm.block_kib, 48, 16, 4, 0)) * occupancy.KIB
        shared = draw.choice((draw.randint(0, most), sm.unit_bytes * draw.randint(0, most // sm.unit_bytes)))
        if not draw.randrange(20):
            shared = sm.block_kib * occupancy.KIB + draw.randint(-2, 2)
        fixed = draw.choice((0, draw.randint(0, min(shared, 48 * occupancy.KIB))))
        barriers, carveout = draw.choice((1, 1, 1, draw.randint(2, 16))), draw.choice((-1, -1, 100, 50, 0, draw.randint(0, 100)))
        opted_in = draw.random() < 0.8
        launch = occupancy.Launch(threads, registers, shared, barriers, carveout if carveout >= 0 else 100, opted_in)
        device = f"{major} {minor} {32 * sm.warps} {sm.settings_kib[-1] * 1024} {sm.block_kib * 1024} {sm.reserved_bytes}"
        result.append((f"{device} {threads} {registers} {fixed} {shared - fixed} {barriers} {carveout} {int(opted_in)}", launch))
    return result


def ask(lines: list[str]) -> list[list[int]]:
    """Give the header's answers to the launches, as the program prints them."""
    compiler = next(filter(None, map(shutil.which, ("g++", "c++", "clang++"))), None)
    headers = [folder for folder in (Path(place) / "nvidia" / "cu13" / "include" for place in sys.path) if (folder / "cuda_occupancy.h").is_file()]
    if not compiler or not headers:
        print(f"not compared: no {'cuda_occupancy.h' if compiler else 'C++ compiler'} here", file=sys.stderr)
        raise SystemExit(77)
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "ask.cpp", Path(folder) / "ask.exe"
        source.write_text(HARNESS, "utf-8")
        subprocess.run([compiler, "-std=c++17", "-O1", f"-I{headers[0]}", source, "-o", program], check=True)
        done = subprocess.run([program], input="\n".join(lines), capture_output=True, text=True, check=True)
    return [[int(number) for number in line.split()] for line in done.stdout.splitlines()]


if __name__ == "__main__":
    main()
