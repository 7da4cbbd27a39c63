"""Predict what Tensor Cores can do for a product of given size: the peak, the time that no kernel beats, the alignment.

Standard Python, no GPU. Change the three sizes and run it again.
"""

# --8<-- [start:model]
M, N, K = 4096, 4096, 4095

SMS, CORES = 132, 4  # H200: SMs, and Tensor Cores of each
FMA_A_CLOCK = {"FP16": 512, "BF16": 512, "TF32": 256, "FP8": 1024, "INT8": 1024}  # of one Tensor Core; Hopper, dense
PEAK_TFLOP_S = 2 * SMS * CORES * FMA_A_CLOCK["FP16"] * 1.83 / 1e3  # at 1.83 GHz: 989.4, as NVIDIA states
FP32_TFLOP_S = 2 * SMS * 128 * 1.98 / 1e3  # 128 FP32 lanes an SM, at 1.98 GHz: 66.9, as NVIDIA states
BANDWIDTH_TB_S = 4.8


def flop(m: int, n: int, k: int) -> int:
    """Count a product's operations: a multiplication and an addition for each element of each dot product."""
    return 2 * m * n * k


def moved_bytes(m: int, n: int, k: int) -> int:
    """Count the bytes of A, B and C in FP16, each once: the least that memory moves."""
    return 2 * (m * k + k * n + m * n)


def floor_us(m: int, n: int, k: int) -> float:
    """Give the microseconds that neither arithmetic at the peak nor memory at full bandwidth can beat."""
    return max(flop(m, n, k) / PEAK_TFLOP_S, moved_bytes(m, n, k) / BANDWIDTH_TB_S) / 1e6


def alignment(n: int, k: int) -> int:
    """Give how many FP16 elements every row start is aligned to, at most 8: 16 bytes, what TMA and cp.async.cg need.

    Rows of A have k elements, rows of B and C have n, all without a gap; m is not in an address.
    """
    return next(elements for elements in (8, 4, 2, 1) if not k % elements and not n % elements)


# --8<-- [end:model]


def fma_a_clock_an_sm(unit: str) -> int:
    """Give the multiply-adds that an SM does a clock in "FP16" and so on, or in "FFMA" on its 128 FP32 lanes."""
    return 128 if unit == "FFMA" else CORES * FMA_A_CLOCK[unit]


def main() -> None:
    """Print squares from 8 to 8,192 and the parameters' product."""
    print(f"peak {PEAK_TFLOP_S:.1f} TFLOP/s; ridge {PEAK_TFLOP_S / BANDWIDTH_TB_S:.0f} FLOP per byte\n")
    print(f"{'M':>6}{'N':>6}{'K':>6}{'GFLOP':>11}{'MB':>9}{'FLOP/byte':>11}{'floor (us)':>12}{'limit':>12}{'aligned':>9}")
    for m, n, k in [(2**power,) * 3 for power in range(3, 14, 2)] + [(16, 4096, 4096), (M, N, K)]:
        intensity = flop(m, n, k) / moved_bytes(m, n, k)
        limit = "arithmetic" if intensity > PEAK_TFLOP_S / BANDWIDTH_TB_S else "memory"
        sizes = f"{m:>6}{n:>6}{k:>6}{flop(m, n, k) / 1e9:>11.4g}{moved_bytes(m, n, k) / 1e6:>9.3g}"
        print(f"{sizes}{intensity:>11.1f}{floor_us(m, n, k):>12.4g}{limit:>12}{alignment(n, k):>9}")


if __name__ == "__main__":
    main()
