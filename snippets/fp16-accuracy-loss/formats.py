"""Round numbers to FP16, BF16, TF32 and FP8 as the hardware does, and say where each format ends.

A format is described by the bits of its exponent and its mantissa. Python's own FP16 (struct's "e") agrees with it on all
65,536 values; the GPU's conversions agree with it bit for bit (bench_formats.py).
"""

import math
import struct
from dataclasses import dataclass

VALUE = 70000.0  # -100000..100000: a number to put into every format


# --8<-- [start:model]
@dataclass(frozen=True)
class Format:
    """A binary floating-point format. PTX ISA, 9.7.9 `cvt`, says how each is rounded to and what lies beyond the largest."""

    name: str
    exponent: int  # bits
    mantissa: int  # bits, without the leading one
    largest: float
    saturates: bool = False  # beyond the largest: that one (cvt.satfinite), else infinity
    ties: str = "even"  # or "away": what halfway between two values becomes

    @property
    def smallest_normal(self) -> float:
        """Give the smallest number that has all its mantissa bits."""
        return math.ldexp(1, 2 - 2 ** (self.exponent - 1))

    @property
    def smallest(self) -> float:
        """Give the smallest number above zero, a subnormal one."""
        return math.ldexp(self.smallest_normal, -self.mantissa)

    def round(self, value: float) -> float:
        """Give the number of this format that a value becomes."""
        if not math.isfinite(value):
            return math.copysign(self.largest, value) if self.saturates and not math.isnan(value) else value
        exponent = max(math.frexp(value)[1] - 1, 2 - 2 ** (self.exponent - 1))  # below the normals, steps stay as they are
        step = math.ldexp(1, exponent - self.mantissa)
        whole = round(abs(value) / step) if self.ties == "even" else math.floor(abs(value) / step + 0.5)
        rounded = whole * step
        if rounded > self.largest:
            rounded = self.largest if self.saturates else math.inf
        return math.copysign(rounded, value)


FP16 = Format("FP16", 5, 10, 65504.0)
BF16 = Format("BF16", 8, 7, 3.3895313892515355e38)
TF32 = Format("TF32", 8, 10, 3.4011621342146535e38, ties="away")
E4M3 = Format("E4M3", 4, 3, 448.0, saturates=True)
E5M2 = Format("E5M2", 5, 2, 57344.0, saturates=True)
# --8<-- [end:model]
FORMATS = (FP16, BF16, TF32, E4M3, E5M2)


def single(value: float) -> float:
    """Round to FP32; beyond its largest, infinity."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def half_bits(value: float) -> int:
    """Give the 16 bits of a value that is rounded to FP16 by Python itself, which refuses to overflow (from 65,520 on)."""
    try:
        return int(struct.unpack("<H", struct.pack("<e", value))[0])
    except OverflowError:
        return 0x7C00 | (0x8000 if value < 0 else 0)


def half_of(bits: int) -> float:
    """Give the value of 16 bits read as FP16."""
    return float(struct.unpack("<e", struct.pack("<H", bits))[0])


def samples(count: int) -> list[int]:
    """Give bit patterns of FP32 numbers: every FP16 value, the halfway points above them and their neighbours, and random ones."""
    patterns = []
    for bits in range(0x7C01):  # zero to infinity; the negative ones below
        value = half_of(bits)
        above = half_of(bits + 1) if bits < 0x7BFF else 65536.0
        middle = (value + above) / 2 if bits < 0x7C00 else math.inf
        pattern = struct.unpack("<I", struct.pack("<f", middle))[0]
        patterns += [struct.unpack("<I", struct.pack("<f", value))[0], pattern]
        if bits < 0x7C00:
            patterns += [pattern - 1, pattern + 1]
    patterns += [pattern | 0x80000000 for pattern in patterns]
    state = 1
    for _ in range(count):
        state = (1664525 * state + 1013904223) % 2**32  # the generator of Numerical Recipes
        if (state >> 23) & 0xFF != 0xFF:  # infinities and NaNs are not what is asked for
            patterns.append(state)
    return patterns


def main() -> None:
    """Print the formats, what the value becomes, and that FP16 is Python's."""
    print(f"{'':6}{'largest':>12}{'smallest normal':>17}{'smallest':>11}{'above 1':>10}{f'{VALUE:g}':>12}")
    for each in FORMATS:
        spacing = each.round(1) * 2.0**-each.mantissa
        print(f"{each.name:6}{each.largest:>12.6g}{each.smallest_normal:>17.3g}{each.smallest:>11.3g}{spacing:>10.3g}{each.round(VALUE):>12.6g}")
    agree = sum(FP16.round(half_of(bits)) == half_of(bits) for bits in range(0x10000) if not math.isnan(half_of(bits)))
    print(f"\nFP16 keeps {agree:,} of the 65,536 patterns; the other {0x10000 - agree:,} are NaN")
    print("\nwritten          in FP16")
    for value in (65519.0, 65520.0, 2049.0, 1e-8, 3e-8, 0.1):
        print(f"{value:<16g} {FP16.round(value):.8g}")


if __name__ == "__main__":
    main()
