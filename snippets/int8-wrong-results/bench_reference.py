"""Run the models with Q/DQ in ONNX Runtime, and the network in the arithmetics that TF32 and FP16 may mean, to judge TensorRT's answers by."""

import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

import bench_causes

import digits
import gpu

DEVICE = "cpu"
Row = dict[str, Any]
Change = Callable[[Any], Any]

DEPTH = 16  # products that an instruction of the Tensor Cores adds up before FP16 sums are rounded: m16n8k16
PLACED: dict[str, Row] = {
    "placed_inputs": {},
    "placed_outputs": {"placement": "outputs"},
    "placed_skip": {"placement": "skip"},
    "placed_shared": {"placement": "shared"},
    "asymmetric_uint8_zero": {"zero": 0, "kind": "uint8"},
}
TABLES = {
    "placed": {
        "placed": ("做法", "Case"),
        "measured_noise_db": ("ONNX Runtime：信噪比（dB）", "ONNX Runtime: signal to noise (dB)"),
    },
    "arithmetic": {
        "type": ("类型", "Type"),
        "operands": ("操作数", "Operands"),
        "sums": ("累加", "Sums"),
        "measured_noise_db": ("NumPy：信噪比（dB）", "NumPy: signal to noise (dB)"),
    },
}


def predict(inputs: Row) -> Row:  # noqa: ARG001 - these rows are themselves what TensorRT is compared with
    """Give nothing."""
    return {}


def check(rows: dict[str, Row]) -> None:
    """Assert what a residual sum with the range of one branch costs, that UINT8 cuts off what is negative, and what rounding costs."""
    noise = {name: row["measured_noise_db"] for name, row in rows.items()}
    assert 9 < noise["placed_inputs"] - noise["placed_shared"] < 12, f"placed_shared: {noise}"
    assert rows["placed_shared"]["measured_accuracy"] == rows["placed_inputs"]["measured_accuracy"], f"placed_shared: {rows['placed_shared']}"
    for name in ("placed_outputs", "placed_skip"):
        assert abs(noise["placed_inputs"] - noise[name]) < 2, f"{name}: {noise}"
    assert noise["asymmetric_uint8_zero"] < 10, f"asymmetric_uint8_zero: {noise}"
    assert abs(noise["tf32_rounded"] - noise["fp16_wide"]) < 1, f"the same mantissa: {noise}"
    assert noise["tf32_truncated"] < noise["tf32_mixed"] < noise["tf32_rounded"] - 10, f"truncating costs nothing: {noise}"
    assert 8 < noise["fp16_wide"] - noise["fp16_narrow"] < 12, f"FP16 sums: {noise}"


def main() -> None:
    """Run all models, check, and print the record's rows."""
    bench = bench_causes.Bench()
    ranges = bench_causes.largest(digits.cnn_activations(bench.weights, bench.calibration))
    rows: dict[str, Row] = {}
    for name, options in PLACED.items():
        model = digits.cnn(bench.weights, 64, ranges=ranges, **options)
        rows[name] = {"placed": name} | bench.score(bench_causes.run_ort(model, bench.test, 64))
    for name, (inputs, arithmetic) in ARITHMETICS.items():
        rows[name] = inputs | bench.score(scores(bench, *arithmetic))
    for name, row in rows.items():
        gpu.say(f"{name} {row}")
    check(rows)
    versions = {name: importlib.import_module(name.lower().replace(" ", "")).__version__ for name in ("ONNX Runtime", "NumPy")}
    print(json.dumps({"rows": rows, "versions": versions | {"Python": sys.version.split()[0]}}))


def scores(bench: bench_causes.Bench, images: Change, weights: Change, keep: Change, depth: int) -> Any:
    """Give the network's scores.

    images, weights: what an operand becomes before it is multiplied. keep: what a tensor becomes between layers. depth:
    products that are added up exactly before the sum is rounded to FP16, 0 for sums in FP32.
    """
    import numpy as np  # noqa: PLC0415 - a bench is imported without it too

    values = bench.weights

    def product(left: Any, right: Any) -> Any:
        left, right = images(left), weights(right)
        if not depth:
            return left @ right
        total = np.zeros((len(left), right.shape[1]), np.float16)
        for start in range(0, left.shape[1], depth):
            part = left[:, start : start + depth].astype(np.float64) @ right[start : start + depth]
            total = (total + part).astype(np.float16)
        return total.astype(np.float32)

    def conv(x: Any, name: str, stride: int = 1) -> Any:
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::stride, ::stride]
        count, _, height, width = windows.shape[:4]
        rows = windows.transpose(0, 2, 3, 4, 5, 1).reshape(count * height * width, -1)  # channels last, as Tensor Cores take them
        columns = values[name + ".w"].transpose(2, 3, 1, 0).reshape(rows.shape[1], -1)
        return (product(rows, columns) + values[name + ".b"]).reshape(count, height, width, -1).transpose(0, 3, 1, 2)

    x = keep(np.maximum(conv(bench.test, "conv1"), 0))
    x = keep(np.maximum(conv(x, "conv2"), 0))
    x = keep(np.maximum(conv(x, "conv3") + x, 0))
    x = keep(np.maximum(conv(x, "conv4", 2), 0))
    return product(x.reshape(len(x), -1), values["fc.w"]) + values["fc.b"]


def same(array: Any) -> Any:
    """Give an array as it is."""
    return array


def truncated(array: Any, half: int = 0) -> Any:
    """Give FP32 numbers without the 13 lowest bits, which TF32 does not have; half a step is added first to round to nearest."""
    import numpy as np  # noqa: PLC0415 - as above

    bits = np.ascontiguousarray(array, np.float32).view(np.uint32) + np.uint32(half)
    return (bits & np.uint32(0xFFFFE000)).view(np.float32)


def rounded(array: Any) -> Any:
    """Give FP32 numbers rounded to TF32's 10 bits, ties away from zero."""
    return truncated(array, 0x1000)


def narrowed(array: Any) -> Any:
    """Give FP32 numbers rounded to FP16."""
    import numpy as np  # noqa: PLC0415 - as above

    return array.astype(np.float16).astype(np.float32)


# row: what the table says of it; what becomes of images, of weights, and of what lies between layers; the depth of the sums
ARITHMETICS: dict[str, tuple[Row, tuple[Change, Change, Change, int]]] = {
    "tf32_rounded": ({"type": "TF32", "operands": "round", "sums": "FP32"}, (rounded, rounded, same, 0)),
    "tf32_mixed": ({"type": "TF32", "operands": "truncate x, round w", "sums": "FP32"}, (truncated, rounded, same, 0)),
    "tf32_truncated": ({"type": "TF32", "operands": "truncate", "sums": "FP32"}, (truncated, truncated, same, 0)),
    "fp16_wide": ({"type": "FP16", "operands": "round", "sums": "FP32"}, (narrowed, narrowed, narrowed, 0)),
    "fp16_narrow": ({"type": "FP16", "operands": "round", "sums": "FP16"}, (narrowed, narrowed, narrowed, DEPTH)),
}


if __name__ == "__main__":
    main()
