"""Make the numbers that calibration is shown: 64 rows of 256 values in eight distributions, the same on every machine.

What a row holds depends on its number and the distribution's name alone, so that any order and any batch shows the same rows.
"""

import math
import random
import struct

ROWS = 64
WIDTH = 256
DISTRIBUTIONS = ("laplace", "normal", "relu", "uniform", "heavy", "outlier", "growing", "late")
SEEDS = {name: number for number, name in enumerate(DISTRIBUTIONS)}


def single(value: float) -> float:
    """Round to FP32, in which calibration sees its data."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def row(distribution: str, number: int) -> list[float]:
    """Give one row of a distribution.

    laplace and heavy have tails, relu is never negative and half zero, outlier holds one value of 40 in row 5, growing has
    rows from 0.5 to 2 times as wide, and the last row of late alone goes beyond the others, to 1.1 times their largest.
    """
    source = random.Random(1000 * SEEDS[distribution] + number)  # noqa: S311 - samples, not secrets
    values = []
    for _ in range(WIDTH):
        u = source.random()
        normal = math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * source.random())
        laplace = math.copysign(math.log(1 - abs(2 * u - 1)), 0.5 - u)
        values.append(
            {
                "laplace": laplace,
                "normal": normal,
                "relu": max(normal, 0.0),
                "uniform": 2 * u - 1,
                "heavy": laplace**3,
                "outlier": normal,
                "growing": normal * (0.5 + 1.5 * number / ROWS),
                "late": min(abs(normal), 2.0) / 2 * (1.1 if number == ROWS - 1 else 1.0),
            }[distribution]
        )
    if distribution == "outlier" and number == 5:
        values[100] = 40.0
    if distribution == "late":
        values[0] = 1.1 if number == ROWS - 1 else 1.0
    return [single(value) for value in values]


def main() -> None:
    """Print what each distribution holds."""
    print("distribution   mean |x|   largest   largest of the first row")
    for name in DISTRIBUTIONS:
        rows = [[abs(value) for value in row(name, number)] for number in range(ROWS)]
        mean = sum(map(sum, rows)) / (len(rows) * WIDTH)
        print(f"{name:12} {mean:10.4f} {max(map(max, rows)):9.4f} {max(rows[0]):9.4f}")


if __name__ == "__main__":
    main()
