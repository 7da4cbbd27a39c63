"""Calibrate one tensor batch by batch: a histogram whose range doubles when a larger value comes, and the threshold that it gives.

This is what IInt8EntropyCalibrator2 of TensorRT 8.6 does, found by comparing: bench_batches.py asserts that the two agree.
What moves with the batches is the width of the bins. The largest value, which MinMax takes, does not move.
"""

import itertools
import math
from collections.abc import Sequence

import samples

DISTRIBUTION = "laplace"  # "laplace" | "normal" | "relu" | "uniform" | "heavy" | "outlier" | "growing" | "late": of samples.py
BATCH = 8  # 1 | 2 | 4 | 8 | 16 | 32 | 64: rows in a batch
REVERSED = False  # the last row first
BINS = 2048  # 512 | 1024 | 2048: of the histogram
LEVELS = 128  # of INT8, on one side


# --8<-- [start:histogram]
class Histogram:
    """Counts of magnitudes in bins of equal width, from zero to a range that only doubles."""

    def __init__(self, bins: int) -> None:
        """Begin without a range."""
        self.counts, self.range, self.doublings = [0] * bins, 0.0, 0

    def add(self, batch: Sequence[float]) -> None:
        """Count a batch. The first one sets the range to its largest value; a larger one later doubles it until it fits."""
        largest = max(map(abs, batch))
        self.range = self.range or largest
        while largest > self.range:  # neighbours are merged, and the upper half begins empty
            half = len(self.counts) // 2
            self.counts = [self.counts[2 * bin_] + self.counts[2 * bin_ + 1] for bin_ in range(half)] + [0] * half
            self.range, self.doublings = self.range * 2, self.doublings + 1
        for value in batch:
            self.counts[min(int(abs(value) / self.range * len(self.counts)), len(self.counts) - 1)] += 1


# --8<-- [end:histogram]


# --8<-- [start:entropy]
def losses(counts: Sequence[int], levels: int = LEVELS) -> dict[int, float]:
    """Give, for each number of bins that may be kept, the Kullback-Leibler divergence of what INT8 leaves of them, in nats.

    p is the kept part, with what is cut off in its last bin. q is the kept part in `levels` groups, each group's count spread
    evenly over those of its bins that are not empty. The first bin, which holds the zeros, counts as much as the second.
    """
    counts = [counts[1], *counts[1:]]
    total, below, filled, spread = sum(counts), [0], [0], [0.0]
    for count in counts:
        below.append(below[-1] + count)
        filled.append(filled[-1] + (count > 0))
        spread.append(spread[-1] + (count * math.log(count) if count else 0.0))
    found = {}
    for kept in range(levels, len(counts) + 1):
        inside, outside, last = below[kept], total - below[kept], counts[kept - 1]
        if not inside or (outside and not last):
            continue  # q would be zero where p is not
        loss = spread[kept]
        if outside:
            loss += (last + outside) * math.log(last + outside) - last * math.log(last)
        edges = [-(-kept * level // levels) for level in range(levels + 1)]
        for start, end in itertools.pairwise(edges):
            if held := below[end] - below[start]:
                loss -= (held + (outside if end == kept else 0)) * math.log(held / (filled[end] - filled[start]))
        found[kept] = loss / total + math.log(inside / total)
    return found


def threshold(histogram: Histogram) -> float:
    """Give the range that loses least, the widest of equals, to the middle of the bin behind it."""
    loss = losses(histogram.counts)
    kept = min(loss, key=lambda bins: (round(loss[bins], 12), -bins))
    return (kept + 0.5) * histogram.range / len(histogram.counts)


# --8<-- [end:entropy]


def calibrated(rows: Sequence[Sequence[float]], batch: int, bins: int = BINS) -> Histogram:
    """Show all rows to a histogram in batches."""
    histogram = Histogram(bins)
    for start in range(0, len(rows), batch):
        histogram.add([value for row in rows[start : start + batch] for value in row])
    return histogram


def main() -> None:
    """Print, for the chosen batch and for others, the range, the doublings and the threshold."""
    rows = [samples.row(DISTRIBUTION, number) for number in range(samples.ROWS)]
    rows = rows[::-1] if REVERSED else rows
    largest = max(abs(value) for row in rows for value in row)
    print(f"{DISTRIBUTION}, {len(rows)} rows of {samples.WIDTH}; MinMax gives {largest:.4f} whatever the batch\n")
    print(f"{'batch':>5}{'doublings':>11}{'range':>11}{'bin width':>11}{'bins in use':>13}{'threshold':>11}")
    for batch in sorted({1, 8, len(rows), BATCH}):
        histogram = calibrated(rows, batch)
        used = max(index for index, count in enumerate(histogram.counts) if count) + 1
        width = histogram.range / BINS
        print(f"{batch:>5}{histogram.doublings:>11}{histogram.range:>11.4f}{width:>11.6f}{used:>13}{threshold(histogram):>11.4f}")


if __name__ == "__main__":
    main()
