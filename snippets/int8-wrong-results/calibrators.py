"""Choose the largest value that INT8 shall still tell apart, in five ways, from what a tensor held.

"ORT entropy" is ONNX Runtime's (HistogramCollector, num_bins=512), "TRT entropy" that of IInt8EntropyCalibrator2 in TensorRT
8.6 for one batch: bench_calibrators.py compares both with the real ones, on the same activations.
"""

import itertools
import math
import random
import struct
from collections.abc import Callable, Sequence

SAMPLES = 8000  # 1000..20000: how many values calibration sees
TAIL = 1.0  # 0.5..3 by 0.25: 1 is a Laplace distribution, more has a heavier tail
OUTLIER = 0.0  # 0..200 by 10: one more value, 0 for none
BINS = 512  # 256 | 512 | 1024: of ONNX Runtime's histogram, on both sides of zero
TRT_BINS = 2048  # of TensorRT's, of magnitudes
LEVELS = 128  # that INT8 has on one side, as a calibrator counts them
KEPT = 99.9  # 99..100 by 0.1: percent that the percentile keeps


# --8<-- [start:histogram]
def histogram(values: Sequence[float], bins: int, largest: float) -> list[int]:
    """Count values into bins of equal width from -largest to largest, which belongs to the last bin; what lies outside is left out."""
    counts = [0] * bins
    for value in values:
        if -largest <= value <= largest:
            counts[min(int((value + largest) / (2 * largest) * bins), bins - 1)] += 1
    return counts


# --8<-- [end:histogram]


# --8<-- [start:entropy]
def divergence(p: Sequence[float], q: Sequence[float]) -> float:
    """Give the Kullback-Leibler divergence of q from p in nats; neither has a zero, neither need sum to one."""
    all_p, all_q = sum(p), sum(q)
    return sum(left / all_p * math.log(left / all_p * all_q / right) for left, right in zip(p, q, strict=True))


def smoothed(counts: Sequence[float], small: float = 1e-4) -> list[float]:
    """Put a little into every empty bin and take it from the others in equal parts."""
    empty = sum(count == 0 for count in counts)
    taken = small * empty / (len(counts) - empty)
    return [count - taken if count else small for count in counts]


def coarse(counts: Sequence[int], present: Sequence[int], levels: int) -> list[int]:
    """Merge bins into as many groups as there are levels and spread each group's sum over the bins in which p has anything."""
    width = len(counts) // levels
    spread = [0] * len(counts)
    for level in range(levels):
        group = slice(level * width, (level + 1) * width)
        held = sum(counts[group]) + (sum(counts[levels * width :]) if level == levels - 1 else 0)
        filled = sum(count != 0 for count in present[group])
        if filled:
            spread[group] = [held // filled] * width
    return spread


def entropy(counts: Sequence[int], largest: float, levels: int = LEVELS) -> tuple[float, float]:
    """Give the ends of the middle part of a histogram that loses least when it is merged into `levels` groups: ONNX Runtime's way.

    p is the part with what was cut off in its outermost bins; q is the part without that, coarse. ONNX Runtime sums in FP32,
    so that where two parts are as good to seven digits it may take the other one.
    """
    bins, centre = len(counts), len(counts) // 2
    best, ends = math.inf, (-largest, largest)
    for half in range(levels // 2, centre + 1):
        start, end = centre - half, min(centre + half + 1, bins)
        middle = list(counts[start:end])
        p = list(middle)
        p[0] += sum(counts[:start])
        p[-1] += sum(counts[end:])
        q = coarse(middle, p, levels)
        loss = divergence(smoothed(p), smoothed(q)) if any(q) else math.inf
        if loss < best:
            best, ends = loss, (start * 2 * largest / bins - largest, end * 2 * largest / bins - largest)
    return ends


def one_scale(ends: tuple[float, float], values: Sequence[float]) -> float:
    """Give one threshold for both ends, of which none reaches beyond what was seen."""
    return max(-max(ends[0], min(values)), min(ends[1], max(values)))


# --8<-- [end:entropy]


# --8<-- [start:tensorrt]
def tensorrt_entropy(counts: Sequence[int], largest: float, levels: int = LEVELS) -> float:
    """Give the threshold of TensorRT 8.6 from counts of magnitudes, in bins from zero to the largest.

    The loss is the same, taken exactly: a kept bin that would have to hold what was cut off, but is empty, is no candidate.
    The first bin counts as much as the second, groups may differ by one bin, and of equal losses the widest range is taken.
    """
    counts = [counts[1], *counts[1:]]
    total, below, filled, spread = sum(counts), [0], [0], [0.0]
    for count in counts:
        below.append(below[-1] + count)
        filled.append(filled[-1] + (count > 0))
        spread.append(spread[-1] + (count * math.log(count) if count else 0.0))
    best, chosen = math.inf, len(counts)
    for kept in range(levels, len(counts) + 1):
        inside, outside, last = below[kept], total - below[kept], counts[kept - 1]
        if not inside or (outside and not last):
            continue
        loss = spread[kept] + ((last + outside) * math.log(last + outside) - last * math.log(last) if outside else 0.0)
        edges = [-(-kept * level // levels) for level in range(levels + 1)]
        for start, end in itertools.pairwise(edges):
            if held := below[end] - below[start]:
                loss -= (held + (outside if end == kept else 0)) * math.log(held / (filled[end] - filled[start]))
        if (loss := round(loss / total + math.log(inside / total), 12)) <= best:
            best, chosen = loss, kept
    return (chosen + 0.5) * largest / len(counts)


def magnitudes(values: Sequence[float], bins: int, largest: float) -> list[int]:
    """Count magnitudes into bins of equal width from zero to the largest."""
    counts = [0] * bins
    for value in values:
        counts[min(int(abs(value) / largest * bins), bins - 1)] += 1
    return counts


# --8<-- [end:tensorrt]


# --8<-- [start:others]
def maximum(values: Sequence[float]) -> float:
    """Give the largest magnitude: nothing is clipped."""
    return max(map(abs, values))


def percentile(values: Sequence[float], kept: float = KEPT) -> float:
    """Give the magnitude that a share of the values, in percent, does not exceed."""
    ordered = sorted(map(abs, values))
    return ordered[min(math.ceil(len(ordered) * kept / 100), len(ordered)) - 1]


def least_squares(values: Sequence[float], steps: int = 100) -> float:
    """Give the threshold with the least squared error, of `steps` shares of the largest value."""
    largest = maximum(values)
    return min((largest * step / steps for step in range(1, steps + 1)), key=lambda threshold: error(values, threshold))


def quantised(value: float, threshold: float) -> float:
    """Give what is left of a value: rounded to the nearest of 255 levels, ties to even, clipped."""
    scale = threshold / 127
    return max(-127, min(127, round(value / scale))) * scale


def error(values: Sequence[float], threshold: float) -> float:
    """Give the mean squared error of quantising."""
    return sum((value - quantised(value, threshold)) ** 2 for value in values) / len(values)


# --8<-- [end:others]


def drawn(count: int, tail: float, outlier: float) -> list[float]:
    """Draw values from a two-sided exponential distribution to a power, in FP32, and add an outlier."""
    source, values = random.Random(1), []  # noqa: S311 - samples, not secrets
    for _ in range(count):
        u = source.random()
        value = math.copysign((-math.log(1 - abs(2 * u - 1))) ** tail, u - 0.5)
        values.append(float(struct.unpack("<f", struct.pack("<f", value))[0]))
    return values + [outlier] * (outlier > 0)


def main() -> None:
    """Print each calibrator's threshold and what it costs: what is clipped, what is rounded."""
    values = drawn(SAMPLES, TAIL, OUTLIER)
    largest = maximum(values)
    ways: dict[str, Callable[[], float]] = {
        "max": lambda: largest,
        f"{KEPT} %": lambda: percentile(values),
        "ORT entropy": lambda: one_scale(entropy(histogram(values, BINS, largest), largest), values),
        "TRT entropy": lambda: tensorrt_entropy(magnitudes(values, TRT_BINS, largest), largest),
        "mean square": lambda: least_squares(values),
    }
    print(f"{len(values)} values, mean magnitude {sum(map(abs, values)) / len(values):.3f}, largest {largest:.3f}\n")
    print(f"{'calibrator':12}{'threshold':>10}{'step':>9}{'clipped':>9}{'error of the clipped':>22}{'of the rest':>13}")
    for name, way in ways.items():
        threshold = way()
        outside = [value for value in values if abs(value) > threshold]
        inside = [value for value in values if abs(value) <= threshold]
        lost = error(outside, threshold) * len(outside) / len(values) if outside else 0.0
        rounded = error(inside, threshold) * len(inside) / len(values)
        print(f"{name:12}{threshold:>10.3f}{threshold / 127:>9.4f}{len(outside):>9}{lost:>22.2e}{rounded:>13.2e}")


if __name__ == "__main__":
    main()
