"""Go from ncu's numbers of one kernel to the section to read next, as the decision tree on the page does.

Standard Python, no GPU. Put in the numbers of your own kernel and run it again.
"""

# --8<-- [start:tree]
from typing import NamedTuple


class Reading(NamedTuple):
    """What Speed of Light and the memory tables say of one kernel; all in percent but the last two."""

    compute: float  # sm__throughput.avg.pct_of_peak_sustained_elapsed
    memory: float  # gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed
    dram: float  # dram__throughput.avg.pct_of_peak_sustained_elapsed
    l1_hit: float  # l1tex__t_sector_hit_rate.pct
    occupancy: float  # sm__warps_active.avg.pct_of_peak_sustained_active
    local: float  # local sectors of all sectors that loads ask the L1 for
    shared: float  # shared loads of all shared and global loads
    sectors: float  # of a global load, as a multiple of what it takes with neighbouring lanes on neighbouring words
    wavefronts: float  # of a shared load, likewise


# Change these numbers.
KERNEL = Reading(compute=12, memory=91, dram=88, l1_hit=0, occupancy=95, local=0, shared=0, sectors=8, wavefronts=1)

BUSY = 60  # percent of the peak: below it on both sides, nothing is the limit but waiting
SECTIONS = {
    "compute": "ComputeWorkloadAnalysis: which pipe is full",
    "local": "MemoryWorkloadAnalysis_Tables, local rows; SourceCounters: LDL, STL",
    "bank-conflicts": "MemoryWorkloadAnalysis_Tables, shared rows; SourceCounters: LDS",
    "uncoalesced": "MemoryWorkloadAnalysis_Tables, L1 rows; SourceCounters: LDG",
    "dram": "MemoryWorkloadAnalysis_Chart: move fewer bytes",
    "l2": "MemoryWorkloadAnalysis_Chart: reuse in shared memory or registers",
    "l1": "MemoryWorkloadAnalysis_Chart: reuse in registers",
    "shared": "MemoryWorkloadAnalysis_Chart: reuse in registers",
    "occupancy": "LaunchStats, Occupancy: more warps, or more loads a thread",
    "latency": "WarpStateStats: the longest stall; SourceCounters: its line",
}


def diagnose(reading: Reading) -> str:
    """Give the key of the section to read next."""
    if reading.compute >= BUSY and reading.compute > reading.memory + 10:
        return "compute"
    if reading.local >= 10:
        return "local"
    if reading.shared >= 50 and reading.wavefronts > 1.5:
        return "bank-conflicts"
    if reading.shared < 50 and reading.sectors > 1.5:
        return "uncoalesced"
    if reading.memory >= BUSY:
        return busiest(reading)
    return "occupancy" if reading.occupancy < 30 else "latency"


def busiest(reading: Reading) -> str:
    """Tell which level a kernel without waste fills."""
    if reading.shared >= 50:
        return "shared"
    if reading.dram >= BUSY:
        return "dram"
    return "l2" if reading.l1_hit < 50 else "l1"


# --8<-- [end:tree]


def ratios(requests: int, sectors: int, useful_bytes: int) -> tuple[float, float]:
    """Give sectors per request, and the useful bytes in percent, from raw counters."""
    return sectors / requests, 100 * useful_bytes / (32 * sectors)


def main() -> None:
    """Print where the numbers lead, and two kernels' ratios from raw counters."""
    leaf = diagnose(KERNEL)
    print(f"{leaf} -> {SECTIONS[leaf]}\n")
    print("requests    sectors   bytes asked for   sectors/request   useful %")
    for requests, sectors, asked in ((2_097_152, 8_388_608, 268_435_456), (32_768, 1_048_576, 4_194_304)):
        each, useful = ratios(requests, sectors, asked)
        print(f"{requests:>9,}{sectors:>11,}{asked:>18,}{each:>18.1f}{useful:>11.1f}")


if __name__ == "__main__":
    main()
