"""Round to the formats that Tensor Cores take, and add as a Hopper Tensor Core adds: all products of an instruction at once.

Standard Python, no GPU. NVIDIA leaves order and rounding open (PTX ISA, mma); the rule is the one that Xie and others
found by tests (MMA-Sim, arXiv:2511.10909), and bench_accumulate.py compares it with an H200 bit by bit.
"""

# --8<-- [start:model]
import math

VALUE, TERMS = 0.1, 10_000  # the sum of this many products VALUE * 1

FORMATS = {  # bits of exponent and of mantissa
    "FP32": (8, 23), "TF32": (8, 10), "FP16": (5, 10), "BF16": (8, 7), "FP8 E4M3": (4, 3), "FP8 E5M2": (5, 2),
}  # fmt: skip


def largest(name: str) -> float:
    """Give a format's largest finite number; E4M3 has no infinity and gives up one code only, for NaN."""
    exponent_bits, mantissa = FORMATS[name]
    return 448.0 if name == "FP8 E4M3" else (2 - 2.0**-mantissa) * 2.0 ** (2 ** (exponent_bits - 1) - 1)


def rounded(x: float, name: str) -> float:
    """Round to the nearest number of a format, ties to even; beyond the largest lies inf (NaN in E4M3)."""
    if not math.isfinite(x):
        return x
    step = 2.0 ** (exponent(x, name) - FORMATS[name][1])
    y = round(x / step) * step
    over = math.nan if name == "FP8 E4M3" else math.copysign(math.inf, x)
    return y if abs(y) <= largest(name) else over


def tensor_core(a: list[float], b: list[float], c: float, inputs: str = "FP16", accumulator: str = "FP32") -> float:
    """Add all products to c as one Hopper instruction does, and give the accumulator.

    Each term is cut off, toward zero, `bits` bits below the largest exponent; then all are added exactly. The sum is
    cut off again at FP32's mantissa, or rounded to the nearest FP16. wgmma with FP8 inputs keeps 13 bits in both places.
    """
    bits, kept = (13, 13) if inputs.startswith("FP8") else (25, 23)
    terms = [(x * y, exponent(x, inputs) + exponent(y, inputs)) for x, y in zip(a, b, strict=True) if x * y]
    if c:
        terms.append((c, exponent(c, accumulator)))
    unit = 2.0 ** (max((power for _, power in terms), default=0) - bits)
    total = unit * sum(math.trunc(term / unit) for term, _ in terms)
    return cut_off(total, kept) if accumulator == "FP32" else rounded(total, "FP16")


def exponent(x: float, name: str) -> int:
    """Give the power of two of a number's leading bit, at least that of its format's smallest normal number."""
    return max(math.frexp(x)[1] - 1, 2 - (1 << FORMATS[name][0] - 1))


def cut_off(x: float, bits: int) -> float:
    """Cut a number off behind this many bits of its mantissa, toward zero."""
    scale = 2.0 ** (math.frexp(x)[1] - 1 - bits)
    return math.trunc(x / scale) * scale


# --8<-- [end:model]


def chain(a: list[float], b: list[float], c: float, accumulator: str) -> float:
    """Add up along K, 16 products an instruction, as mma.m16n8k16 and wgmma do, in an accumulator "FP32" or "FP16"."""
    for k in range(0, len(a), 16):
        c = tensor_core(a[k : k + 16], b[k : k + 16], c, "FP16", accumulator)
    return c


def one_by_one(a: list[float], b: list[float], c: float, accumulator: str) -> float:
    """Add up one product at a time, each sum rounded to the nearest: what a loop of FMAs does."""
    for x, y in zip(a, b, strict=True):
        c = rounded(c + x * y, accumulator)
    return c


def main() -> None:
    """Print the formats, then the sums of the parameters and of ones in both accumulators and both orders."""
    print(f"{'':10}{'exponent':>9}{'mantissa':>9}{'largest':>12}{'least normal':>14}{'epsilon':>10}{'0.1 becomes':>14}")
    for name, (exponent_bits, mantissa) in FORMATS.items():
        least, epsilon = 2.0 ** (2 - 2 ** (exponent_bits - 1)), 2.0**-mantissa
        print(f"{name:10}{exponent_bits:>9}{mantissa:>9}{largest(name):>12.6g}{least:>14.3g}{epsilon:>10.3g}{rounded(0.1, name):>14.9g}")
    print(f"\n{'sum':26}{'FP16 one by one':>16}{'FP16 mma':>11}{'FP32 mma':>13}{'exact':>12}")
    for value, terms in ((1.0, 4_096), (1.0, 65_536), (VALUE, TERMS)):
        a, b = [rounded(value, "FP16")] * terms, [1.0] * terms
        sums = one_by_one(a, b, 0.0, "FP16"), chain(a, b, 0.0, "FP16"), chain(a, b, 0.0, "FP32"), math.fsum(a)
        print(f"{f'{value:g} x 1, {terms:,} times':26}{sums[0]:>16g}{sums[1]:>11g}{sums[2]:>13.7g}{sums[3]:>12.7g}")


if __name__ == "__main__":
    main()
