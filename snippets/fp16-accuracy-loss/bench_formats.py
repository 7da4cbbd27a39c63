"""Convert on a GPU what formats.py converts, compare bit for bit, and let one GPU thread do the sums and normalisations of causes.py."""

import json
import struct
from pathlib import Path
from typing import Any

import causes
import formats

import gpu

Row = dict[str, Any]

SOURCE = Path(__file__).with_name("formats.cu")
RANDOM = 100_000
BLOCK = 256
SUMS = ((0.1, 10_000), (1.0, 4_096), (30.0, 4_096))
ROWS = ((1.0, 1e-5), (100.0, 1e-5), (50.0, 1e-5), (300.0, 1e-5), (0.0, 1e-5), (0.0, 1e-12))
STEPS = ("variance", "root")
TABLES = {
    "conversions": {
        "format": ("格式", "Format"),
        "values": ("数值个数", "Values"),
        "predicted_infinite": ("预测：变成 Inf", "Predicted: to infinity"),
        "counted_infinite": ("实测：变成 Inf", "Counted: to infinity"),
        "predicted_vanished": ("预测：变成 0", "Predicted: to zero"),
        "counted_vanished": ("实测：变成 0", "Counted: to zero"),
        "counted_mismatches": ("与模型不同", "Unlike the model"),
    },
    "sums": {
        "term": ("加数", "Term"),
        "terms": ("个数", "Terms"),
        "predicted_half_sum": ("预测：FP16 累加", "Predicted: FP16 sum"),
        "counted_half_sum": ("实测：FP16 累加", "Counted: FP16 sum"),
        "predicted_single_sum": ("预测：FP32 累加", "Predicted: FP32 sum"),
        "counted_single_sum": ("实测：FP32 累加", "Counted: FP32 sum"),
    },
    "rows": {
        "scale": ("倍数", "Scale"),
        "epsilon": ("epsilon", "Epsilon"),
        "predicted_variance": ("预测：方差", "Predicted: variance"),
        "counted_variance": ("实测：方差", "Counted: variance"),
        "predicted_first": ("预测：首个结果", "Predicted: first result"),
        "counted_first": ("实测：首个结果", "Counted: first result"),
    },
}


def predict(inputs: Row) -> Row:
    """Give the counts of a format, or one sum, or one normalisation, by the models."""
    if "format" in inputs:
        each = next(each for each in formats.FORMATS if each.name == inputs["format"])
        pairs = [(value, each.round(value)) for value in map(value_of, formats.samples(inputs["random"]))]
        return {
            "predicted_infinite": sum(abs(rounded) == float("inf") != abs(value) for value, rounded in pairs),
            "predicted_vanished": sum(rounded == 0 != value for value, rounded in pairs),
        }
    if "term" in inputs:
        term = formats.FP16.round(inputs["term"])
        half = causes.accumulate([term] * inputs["terms"], formats.FP16.round)
        return {"predicted_half_sum": text(half), "predicted_single_sum": text(causes.accumulate([term] * inputs["terms"], formats.single))}
    if "scale" not in inputs:  # every FP16 value widened: the model is what the check compares with
        return {}
    trace = causes.normalisation([inputs["scale"] * value for value in causes.ROW], inputs["epsilon"], formats.FP16.round)
    return {"predicted_variance": text(trace["variance"][0]), "predicted_root": text(trace["root"][0]), "predicted_first": text(trace["unit"][0])}


def check(rows: dict[str, Row]) -> None:
    """Assert that the GPU did what the models say, to the bit."""
    for name, row in rows.items():
        for key, value in row.items():
            if key.startswith("predicted_"):
                counted = row[key.replace("predicted_", "counted_")]
                assert value == counted, f"{name}: {key} is {value}, counted {counted}"
        assert row.get("counted_mismatches", 0) == 0, (
            f"{name}: {row['counted_mismatches']} values unlike the model's, such as {row.get('counted_example')}"
        )


def main() -> None:
    """Convert, sum and normalise; check, and print the record's rows."""
    if gpu.launching():
        return
    rows = conversions() | sums() | normalisations()
    for name, row in rows.items():
        gpu.say(f"{name} {row}")
    check(rows)
    print(json.dumps({"rows": rows}))


def conversions() -> dict[str, Row]:
    """Convert every sample into every format, and read every FP16 value back."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too

    patterns = formats.samples(RANDOM)
    given = cupy.asarray(patterns, cupy.uint32)
    found = {each.name: cupy.full(len(patterns), 0xFFFFFFFF, cupy.uint32) for each in formats.FORMATS}
    blocks = -(-len(patterns) // BLOCK)
    gpu.kernel(SOURCE, "convert")((blocks,), (BLOCK,), (given, *found.values(), len(patterns)))
    rows: dict[str, Row] = {}
    for each in formats.FORMATS:
        inputs = {"format": each.name, "random": RANDOM, "values": len(patterns)}
        values = [decode(each.name, int(bits)) for bits in found[each.name].tolist()]
        pairs = list(zip(map(value_of, patterns), values, strict=True))
        wrong = [(value, got, each.round(value)) for value, got in pairs if not same(got, each.round(value))]
        rows[each.name.lower()] = inputs | predict(inputs) | {
            "counted_infinite": sum(abs(got) == float("inf") != abs(value) for value, got in pairs),
            "counted_vanished": sum(got == 0 != value for value, got in pairs),
            "counted_mismatches": len(wrong),
        } | ({"counted_example": [text(number) for number in wrong[0]]} if wrong else {})  # fmt: skip
    widened = cupy.empty(0x10000, cupy.float32)
    gpu.kernel(SOURCE, "widen")((0x10000 // BLOCK,), (BLOCK,), (widened,))
    unlike = sum(not same(got, formats.half_of(bits)) for bits, got in enumerate(widened.tolist()))
    rows["widened"] = {"all_halves": 0x10000, "counted_mismatches": unlike}
    return rows


def sums() -> dict[str, Row]:
    """Add one term many times, in FP16 and in FP32."""
    import cupy  # noqa: PLC0415 - as above

    rows = {}
    for term, terms in SUMS:
        results = cupy.full(2, cupy.nan, cupy.float32)
        gpu.kernel(SOURCE, "sums")((1,), (1,), (cupy.asarray([term], cupy.float32), results[:1], results[1:], terms))
        inputs = {"term": term, "terms": terms}
        rows[f"sum_{term:g}"] = (
            inputs | predict(inputs) | {"counted_half_sum": text(float(results[0])), "counted_single_sum": text(float(results[1]))}
        )
    return rows


def normalisations() -> dict[str, Row]:
    """Normalise the model's row at several scales, every step in FP16."""
    import cupy  # noqa: PLC0415 - as above

    rows = {}
    for scale, epsilon in ROWS:
        row = cupy.asarray([scale * value for value in causes.ROW], cupy.float32)
        steps, out = cupy.full(5, -1, cupy.float32), cupy.full(len(causes.ROW), -1, cupy.float32)
        gpu.kernel(SOURCE, "normalise")((1,), (1,), (row, cupy.float32(epsilon), len(causes.ROW), steps, out))
        inputs = {"scale": scale, "epsilon": epsilon}
        trace = causes.normalisation([scale * value for value in causes.ROW], epsilon, formats.FP16.round)
        unlike = sum(not same(got, right) for got, right in zip(out.tolist(), trace["unit"], strict=True))
        rows[f"row_{scale:g}_{epsilon:g}"] = inputs | predict(inputs) | {
            "counted_variance": text(float(steps[2])), "counted_root": text(float(steps[4])), "counted_first": text(float(out[0])),
            "counted_mismatches": unlike,
        }  # fmt: skip
    return rows


def value_of(pattern: int) -> float:
    """Read 32 bits as an FP32 number."""
    return float(struct.unpack("<f", struct.pack("<I", pattern))[0])


def decode(name: str, bits: int) -> float:
    """Read what a conversion left in a register as a number."""
    if name == "FP16":
        return formats.half_of(bits & 0xFFFF)
    if name == "BF16":
        return value_of((bits & 0xFFFF) << 16)
    if name == "TF32":
        return value_of(bits & 0xFFFFE000)
    if name == "E5M2":
        return formats.half_of((bits & 0xFF) << 8)
    sign, exponent, mantissa = -1.0 if bits & 0x80 else 1.0, (bits >> 3) & 15, bits & 7
    return sign * (mantissa * 2.0**-9 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7))


def same(left: float, right: float) -> bool:
    """Tell whether two numbers have the same bits; one NaN is as good as another."""
    return (left != left and right != right) or struct.pack("<d", left) == struct.pack("<d", right)  # noqa: PLR0124 - NaN


def text(value: float) -> str:
    """Print a number so that a table can hold infinities too."""
    return f"{value:.6g}"


if __name__ == "__main__":
    main()
