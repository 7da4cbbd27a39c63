"""Pin layers to FP32 in three networks whose sums or constants leave FP16, with TensorRT: what is asked of the other layers decides what comes."""

import json
from typing import Any

import digits
import gpu
import graphs
import trt

Row = dict[str, Any]

LEVEL = 1  # of the builder's optimisation: these engines are asked for answers, not for speed
RIGHT, NEAR = 0.9486, 0.005
# variant -> how the network is made, and the nodes that stay FP32
VARIANTS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "stream": ({"stream": 30000.0, "norm": "layer"}, ("norm1*", "norm2*", "norm3*", "stream*", "embed*", "o", "o.product", "down*")),
    "subnormal": ({"shift": 20}, ("down*",)),
    "vanishing": ({"shift": 28}, ("down*",)),
}
# what else is pinned, to FP16: every other layer; all but constants and layers that only move numbers; none, FP16 is allowed
OTHERS: dict[str, bool | None] = {"all others": True, "computing layers": False, "none": None}
TABLES = {
    "pins": {
        "mended": ("网络", "Network"),
        "others": ("另外钉到 FP16 的", "Pinned to FP16 besides"),
        "measured_accuracy": ("准确率", "Accuracy"),
        "counted_lost": ("含 NaN/Inf 的图片", "Images with NaN or Inf"),
        "counted_half_layers": ("输出 FP16 的层", "Layers giving FP16"),
    },
}


def predict(inputs: Row) -> Row:  # noqa: ARG001 - an accuracy is measured
    """Give nothing."""
    return {}


def check(rows: dict[str, Row]) -> None:
    """Assert that FP32 for the named layers mends nothing when FP16 is demanded of the rest, and that allowing it leaves all in FP32."""
    for variant in VARIANTS:
        for others in ("all_others", "computing_layers"):
            row = rows[f"{variant}_{others}"]
            assert row["measured_accuracy"] < RIGHT - NEAR, f"{variant} is mended: {row}"
        row = rows[f"{variant}_none"]
        assert abs(row["measured_accuracy"] - RIGHT) < NEAR, f"{variant}: {row}"
        assert row["counted_half_layers"] == 0, f"{variant}: {row}"


def main() -> None:
    """Build, score, check, and print the record's rows."""
    import numpy as np  # noqa: PLC0415 - a bench is imported without it too

    if gpu.launching():
        return
    _, (held, labels) = digits.data()
    test, weights = digits.prepare(held), digits.weights("attention")
    rows: dict[str, Row] = {}
    with trt.Worker() as worker:
        for variant, (made, kept) in VARIANTS.items():
            model = graphs.halved(digits.attention(weights, len(test), **made), kept)
            for others, moving in OTHERS.items():
                options: dict[str, Any] = {"flags": ["fp16"]}
                if moving is not None:
                    options = {"flags": ["fp16", "obey"], "pins": {"*": "float16"} | dict.fromkeys(kept, "float32"), "moving": moving}
                row: Row = {"mended": variant, "kept": " ".join(kept), "others": others}
                rows[f"{variant}_{others}".replace(" ", "_")] = row
                try:
                    found = worker.build("engine", model, level=LEVEL, **options)
                except trt.TensorRTError as error:
                    row["counted_refusal"] = str(error)[-300:]
                    gpu.say(f"{row}")
                    continue
                answer = worker.run("engine", image=test)["answer"]
                row["measured_accuracy"] = digits.accuracy(answer, labels)
                row["counted_lost"] = int((~np.isfinite(answer)).any(1).sum())
                row["counted_half_layers"] = half_layers(found)
                row["moved"] = [layer["name"] for layer in found["network"] if layer["type"] in {"SHUFFLE", "CONSTANT"}]
                gpu.say(f"{row}")
        conditions = worker.conditions()
    check(rows)
    print(json.dumps({"rows": rows, "conditions": conditions}))


def half_layers(found: dict[str, Any]) -> int:
    """Count the layers of an engine that give FP16."""
    return sum(
        any("half" in tensor["format"].lower() or "fp16" in tensor["format"].lower() for tensor in layer["outputs"]) for layer in found["layers"]
    )


if __name__ == "__main__":
    main()
