"""Run the attention network with FP16 in its graph on a CPU: every step in FP16 by ONNX's reference, and as ONNX Runtime does it."""

import importlib
import json
import sys
from typing import Any

import digits
import gpu
import graphs

DEVICE = "cpu"
Row = dict[str, Any]

# network -> how it is made, and the nodes that a mended graph keeps in FP32
NETWORKS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "plain": ({}, ("norm*",)),
    "normalisation": ({"stream": 300.0}, ("norm1*", "norm2*", "norm3*")),
    "normalisation_layer": ({"stream": 300.0, "norm": "layer"}, ("norm1*", "norm2*", "norm3*")),
    "stream": ({"stream": 30000.0, "norm": "layer"}, ("norm1*", "norm2*", "norm3*", "stream*", "embed*", "o", "o.product", "down*")),
    "mask_times": ({"mask": "times"}, ("hidden", "mask", "scores*", "softmax")),
    "mask_twice": ({"mask": "twice"}, ("mask*", "scores*", "softmax")),
    "epsilon": ({"epsilon": 1e-12}, ("norm0*",)),
    "subnormal": ({"shift": 20}, ("down*",)),
    "vanishing": ({"shift": 28}, ("down*",)),
    "exponentials": ({"softmax": "exponentials"}, ("softmax*",)),
}
HIDDEN = ("normalisation", "normalisation_layer", "stream", "mask_twice", "exponentials")  # broken between the constants, not in them
TABLES = {
    "cpu": {
        "network": ("网络", "Network"),
        "measured_reference_accuracy": ("逐步 FP16：准确率", "Every step FP16: accuracy"),
        "counted_reference_lost": ("逐步 FP16：NaN/Inf", "Every step FP16: NaN or Inf"),
        "measured_mended_accuracy": ("列出的层留在 FP32：准确率", "The named layers in FP32: accuracy"),
        "measured_ort_accuracy": ("ONNX Runtime：准确率", "ONNX Runtime: accuracy"),
        "counted_ort_lost": ("ONNX Runtime：NaN/Inf", "ONNX Runtime: NaN or Inf"),
    },
}


def predict(inputs: Row) -> Row:  # noqa: ARG001 - these rows are themselves what TensorRT is compared with
    """Give nothing."""
    return {}


def check(rows: dict[str, Row]) -> None:
    """Assert that FP16 breaks what it should, that FP32 for some nodes mends it, and that ONNX Runtime shows only what constants lost."""
    right = rows["plain"]["measured_ort_accuracy"]
    for name, row in rows.items():
        assert row["measured_mended_accuracy"] > right - 0.01, f"{name}: FP32 for its nodes mends nothing: {row}"
    for name in HIDDEN:
        assert rows[name]["measured_reference_accuracy"] < 0.15, f"{name}: FP16 breaks nothing: {rows[name]}"
        assert rows[name]["measured_ort_accuracy"] == right, f"{name}: ONNX Runtime shows it: {rows[name]}"
    for name in ("stream", "mask_times", "mask_twice", "exponentials"):
        assert rows[name]["counted_reference_lost"] > rows["plain"]["images"] - 1, f"{name}: {rows[name]}"
    for name in ("normalisation", "normalisation_layer"):
        assert rows[name]["counted_reference_lost"] == 0, f"{name}: {rows[name]}"
    for name, most in (("epsilon", 0.01), ("mask_times", 0.01), ("vanishing", 0.6)):
        assert rows[name]["measured_ort_accuracy"] < most, f"{name}: ONNX Runtime hides it: {rows[name]}"


def main() -> None:
    """Run all networks, check, and print the record's rows."""
    import numpy as np  # noqa: PLC0415 - a bench is imported without it too

    _, (held, labels) = digits.data()
    test, weights = digits.prepare(held), digits.weights("attention")
    rows: dict[str, Row] = {}
    for name, (made, kept) in NETWORKS.items():
        inputs = {"image": test} | ({"seen": np.ones((len(test), 1, 8), np.float32)} if made.get("mask") == "times" else {})
        model = digits.attention(weights, len(test), **made)
        half, mended = graphs.halved(model), graphs.halved(model, kept)
        answers = {"reference": by_reference(half, inputs), "mended": by_reference(mended, inputs), "ort": by_runtime(half, inputs)}
        rows[name] = {"network": name, "kept": " ".join(kept), "images": len(test)}
        for key, answer in answers.items():
            rows[name][f"measured_{key}_accuracy"] = digits.accuracy(answer, labels)
            rows[name][f"counted_{key}_lost"] = int((~np.isfinite(answer)).any(1).sum())
        gpu.say(f"{rows[name]}")
    check(rows)
    versions = {name: importlib.import_module(name.lower().replace(" ", "")).__version__ for name in ("ONNX", "ONNX Runtime", "NumPy")}
    print(json.dumps({"rows": rows, "versions": versions | {"Python": sys.version.split()[0]}}))


def by_reference(model: bytes, inputs: dict[str, Any]) -> Any:
    """Give what ONNX's reference answers: it computes each node in the type of its tensors."""
    import numpy as np  # noqa: PLC0415 - as above

    reference: Any = importlib.import_module("onnx.reference")
    with np.errstate(all="ignore"):  # Inf and NaN are what is looked for
        return reference.ReferenceEvaluator(model).run(None, inputs)[0]


def by_runtime(model: bytes, inputs: dict[str, Any]) -> Any:
    """Give what ONNX Runtime answers on the CPU, its graph optimisations off, since one of them fails on a graph of two types."""
    runtime: Any = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]


if __name__ == "__main__":
    main()
