"""Predict what a kernel can reach from its arithmetic intensity: the roofline; and what a strided copy wastes of it.

Standard Python, no GPU. The model is that of Williams, Waterman and Patterson (doi:10.1145/1498765.1498785).
"""

# --8<-- [start:model]
FMAS = 16  # multiply-adds for each float that is read and written back
STRIDE = 2  # floats from one element that a copy reads to the next; it writes them without gaps

PEAK_GFLOP_S = 66_908.0  # H200: 132 SMs x 128 lanes x 2 x 1.98 GHz, float without Tensor Cores
BANDWIDTH_GB_S = 4_814.3  # H200: 6,016 bits x 2 x 3,201 MHz / 8
GRANULARITY_BYTES = 64  # H200: the least that the L2 fetches from DRAM, two sectors


def intensity(fmas: int, moved_bytes: int = 8) -> float:
    """Give the FLOP per byte of a kernel that does this many FMAs, two FLOP each, for the bytes that it moves."""
    return 2 * fmas / moved_bytes


def attainable_gflop_s(flop_per_byte: float, peak_gflop_s: float, bandwidth_gb_s: float) -> float:
    """Give the lower of the two roofs: arithmetic, and what memory can feed."""
    return min(peak_gflop_s, flop_per_byte * bandwidth_gb_s)


def moved_bytes(stride: int, granularity_bytes: int = GRANULARITY_BYTES) -> int:
    """Give the bytes that one copied float moves: a granule or the gap to the next float, and 4 bytes written."""
    return min(4 * stride, granularity_bytes) + 4


def useful_gb_s(stride: int, bandwidth_gb_s: float, granularity_bytes: int = GRANULARITY_BYTES) -> float:
    """Give the bandwidth of a strided copy in useful bytes, 4 read and 4 written for each float."""
    return bandwidth_gb_s * 8 / moved_bytes(stride, granularity_bytes)


# --8<-- [end:model]


def arithmetic_peak_gflop_s(sms: int, lanes: int, clock_mhz: float) -> float:
    """Give the peak of FMA instructions: each lane does one, two FLOP, a clock."""
    return sms * lanes * 2 * clock_mhz / 1e3


def main() -> None:
    """Print the roofline for several numbers of FMAs and the useful bandwidth for several strides, the parameters' last."""
    print(f"ridge: {PEAK_GFLOP_S / BANDWIDTH_GB_S:.1f} FLOP per byte\n")
    print(f"{'FMAs a float':>12}{'FLOP / byte':>13}{'GFLOP/s':>10}{'limit':>12}")
    for fmas in (1, 4, 16, 64, 256, FMAS):
        reached = attainable_gflop_s(intensity(fmas), PEAK_GFLOP_S, BANDWIDTH_GB_S)
        print(f"{fmas:>12}{intensity(fmas):>13.2f}{reached:>10,.0f}{'arithmetic' if reached == PEAK_GFLOP_S else 'memory':>12}")
    print(f"\n{'stride':>12}{'bytes moved':>13}{'useful':>10}{'GB/s':>12}")
    for stride in (1, 2, 4, 8, 32, STRIDE):
        print(f"{stride:>12}{moved_bytes(stride):>13}{8 / moved_bytes(stride):>10.1%}{useful_gb_s(stride, BANDWIDTH_GB_S):>12,.0f}")


if __name__ == "__main__":
    main()
