"""Compute five pieces of networks in FP16, every step rounded, beside FP32, and find the first tensor that leaves FP16's range."""

import math
from collections.abc import Callable

from formats import FP16, single

SCALE = 300.0  # 1..1000: how large the residual stream is
EPSILON = 1e-12  # of the normalisation
MASK = -60000.0  # added to a score once for the key, once for the query
TERMS = 10000  # of 0.1, to sum
SHIFT = 20  # 0..30: weights are 2**-SHIFT of what they were
ROW = (0.9, -1.7, 0.3, 1.1, -0.2, 2.1, -0.8, 0.4)

Round = Callable[[float], float]
Trace = dict[str, list[float]]


# --8<-- [start:model]
def normalisation(row: list[float], epsilon: float, to: Round) -> Trace:
    """Give every tensor of a normalisation that is made of single operators, each result rounded by `to`."""
    x = [to(value) for value in row]
    mean = to(accumulate(x, to) / len(x))
    centred = [to(value - mean) for value in x]
    squares = [to(value * value) for value in centred]
    variance = to(accumulate(squares, to) / len(x))
    root = to(math.sqrt(to(variance + to(epsilon))))
    unit = [quotient(value, root, to) for value in centred]
    small = {"epsilon": [to(epsilon)]}
    return {"x": x, "centred": centred, "square": squares, "variance": [variance]} | small | {"root": [root], "unit": unit}


def attention(scores: list[float], masks: list[list[float]], to: Round) -> Trace:
    """Give every tensor of a softmax over scores to which masks were added one after the other."""
    trace = {"scores": [to(score) for score in scores]}
    for number, mask in enumerate(masks, 1):
        last = list(trace.values())[-1]
        trace[f"masked {number}"] = [to(score + to(value)) for score, value in zip(last, mask, strict=True)]
    masked = list(trace.values())[-1]
    shifted = [to(score - max(masked)) for score in masked]
    powers = [value if math.isnan(value) else to(math.exp(value)) for value in shifted]
    total = accumulate(powers, to)
    return trace | {"shifted": shifted, "softmax": [quotient(power, total, to) for power in powers]}


def accumulate(terms: list[float], to: Round) -> float:
    """Sum from the first to the last, each partial sum rounded."""
    total = 0.0
    for term in terms:
        total = to(total + term)
    return total


def scaled_weights(weights: list[float], shift: int, to: Round) -> Trace:
    """Give weights that were made 2**shift smaller, and what they are worth after being made as much larger again."""
    small = [to(math.ldexp(weight, -shift)) for weight in weights]
    return {"weights": small, "product": [math.ldexp(value, shift) for value in small]}


def first_lost(half: Trace, exact: Trace) -> str:
    """Name the first tensor with a value that is infinite, no number, or zero where it should not be; what FP32 has too is not FP16's."""
    for name, values in half.items():
        for value, right in zip(values, exact[name], strict=True):
            if not math.isfinite(value) and math.isfinite(right):
                return f"{name}: {'overflow' if math.isinf(value) else 'not a number'}"
            if value == 0 and right != 0:
                return f"{name}: vanished"
    return "none"


# --8<-- [end:model]


def quotient(above: float, below: float, to: Round) -> float:
    """Divide as IEEE 754 does: by zero to infinity, zero by zero to no number."""
    if below == 0:
        return math.nan if above == 0 or math.isnan(above) else math.copysign(math.inf, above)
    return to(above / below)


def cases() -> dict[str, tuple[Trace, Trace]]:
    """Give each cause's tensors in FP16 and in FP32."""
    row, found = list(ROW), {}
    computations: dict[str, Callable[[Round], Trace]] = {
        "normalisation": lambda to: normalisation([SCALE * value for value in row], 1e-5, to),
        "epsilon": lambda to: normalisation([0.0] * 8, EPSILON, to),
        "mask": lambda to: attention([1.0, 2.0, 0.5, 1.5], [[MASK] * 4] * 2, to),
        "accumulation": lambda to: {"sum": [accumulate([to(0.1)] * TERMS, to)]},
        "subnormal": lambda to: scaled_weights(row, SHIFT, to),
    }
    for name, compute in computations.items():
        found[name] = (compute(FP16.round), compute(single))
    return found


def main() -> None:
    """Print, for each cause, the first tensor that is lost and the last one in both precisions."""
    print(f"{'cause':15}{'first lost':26}{'last tensor, FP16':>18}{'FP32':>12}")
    for name, (half, exact) in cases().items():
        last = list(half)[-1]
        print(f"{name:15}{first_lost(half, exact):26}{half[last][0]:>18.6g}{exact[last][0]:>12.6g}")


if __name__ == "__main__":
    main()
