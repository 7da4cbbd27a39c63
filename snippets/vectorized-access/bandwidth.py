"""Predict the bandwidth of a copy from the bytes that its threads keep in flight, by Little's law, and count its loads.

Standard Python, no GPU. Bandwidth counts both directions: a copy of n bytes moves 2 n.
"""

# --8<-- [start:model]
ACCESS_BYTES = 16  # of one load: float 4, float2 8, float4 16
LOADS = 1  # independent loads that a thread issues before it waits: the unrolling
BLOCKS = 132  # of the grid-stride copy: one on each SM
THREADS = 256  # of a block

SMS, THREADS_AN_SM = 132, 2048  # H200
PEAK_GB_S = 4814.3  # H200: 6,016 bits x 2 x 3,201 MHz / 8
LATENCY_NS = 345.0  # H200: one load from idle DRAM, about 683 cycles at 1,980 MHz


def in_flight_bytes(blocks: int, threads: int, access_bytes: int, loads: int, sms: int = SMS) -> int:
    """Give the bytes of loads in flight on the whole GPU while every resident thread waits for its loads."""
    return min(blocks * threads, sms * THREADS_AN_SM) * access_bytes * loads


def bound_gb_s(in_flight: int, latency_ns: float = LATENCY_NS, peak_gb_s: float = PEAK_GB_S) -> float:
    """Give the most that a copy can reach: reads arrive at in-flight bytes per latency, and writes double them."""
    return min(peak_gb_s, 2 * in_flight / latency_ns)


def estimate_gb_s(in_flight: int, latency_ns: float = LATENCY_NS, peak_gb_s: float = PEAK_GB_S) -> float:
    """Estimate the same when bytes first wait the latency and then queue for the bus: t = latency + bytes / peak."""
    moved = 2 * in_flight
    return moved / (latency_ns + moved / peak_gb_s)


def load_instructions(total_bytes: int, access_bytes: int) -> int:
    """Count the load instructions, of a whole warp each, that read total_bytes."""
    return total_bytes // (32 * access_bytes)


# --8<-- [end:model]


def needed_bytes(latency_ns: float = LATENCY_NS, peak_gb_s: float = PEAK_GB_S) -> float:
    """Give the bytes in flight, of both directions, that the peak asks for: bandwidth x latency."""
    return latency_ns * peak_gb_s


def dram_peak_gb_s(bus_bits: int, memory_mhz: float) -> float:
    """Give the peak of DRAM with two transfers a clock."""
    return bus_bits / 8 * 2 * memory_mhz / 1e3


def shared_peak_gb_s(sms: int, clock_mhz: float) -> float:
    """Give the peak of shared memory: 32 banks of 4 bytes a clock on each SM."""
    return sms * 32 * 4 * clock_mhz / 1e3


def main() -> None:
    """Print the copy of the parameters, then what each width and unrolling should reach, by blocks."""
    chosen = in_flight_bytes(BLOCKS, THREADS, ACCESS_BYTES, LOADS)
    print(f"{BLOCKS} blocks x {THREADS} threads x {ACCESS_BYTES} B x {LOADS} = {chosen / 1e3:,.0f} kB of loads in flight")
    print(f"bound {bound_gb_s(chosen):,.0f} GB/s, estimate {estimate_gb_s(chosen):,.0f} GB/s")
    print(f"at the peak {needed_bytes() / 1e6:.2f} MB wait, {needed_bytes() / SMS / 1e3:.1f} kB an SM, half of it loads")
    print(f"load instructions for 256 MiB: {load_instructions(2**28, ACCESS_BYTES):,}\n")
    print(f"{'loads in flight':<17}{'blocks':>9}{'B / SM':>9}{'bound GB/s':>12}{'estimate GB/s':>15}")
    for name, access_bytes, loads in (("float", 4, 1), ("float2", 8, 1), ("float4", 16, 1), ("float x 4", 4, 4)):
        for blocks in (132, 264, 528, 1056):
            waiting = in_flight_bytes(blocks, 256, access_bytes, loads)
            print(f"{name:<17}{blocks:>9}{waiting // SMS:>9,}{bound_gb_s(waiting):>12,.0f}{estimate_gb_s(waiting):>15,.0f}")


if __name__ == "__main__":
    main()
