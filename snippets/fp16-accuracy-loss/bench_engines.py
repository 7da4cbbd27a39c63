"""Build the attention network for digits with TensorRT in FP32, TF32 and FP16, break FP16 in six ways, and mend it by pinning layers."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import scan

import digits
import gpu
import graphs
import trt

Row = dict[str, Any]
Part = Callable[[trt.Worker], Iterator[tuple[str, Row]]]

LEVEL = 1  # of the builder's optimisation: these engines are asked for answers, not for speed
DEMANDED = {"*": "float16"}  # FP16 as a flag is a permission, which a builder that finds FP32 as fast does not use
ALLOWED = ("plain", "normalisation", "mask_times", "epsilon")  # variants that are built with the permission alone, too
TF32 = ("plain", "normalisation")
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "normalisation": {"stream": 300.0},
    "normalisation_layer": {"stream": 300.0, "norm": "layer"},
    "stream": {"stream": 30000.0, "norm": "layer"},
    "mask_times": {"mask": "times"},
    "mask_twice": {"mask": "twice"},
    "epsilon": {"epsilon": 1e-12},
    "subnormal": {"shift": 20},
    "vanishing": {"shift": 28},
    "exponentials": {"softmax": "exponentials"},
}
PINS = {
    "plain": ["norm*"],
    "normalisation": ["norm1*", "norm2*", "norm3*"],
    "normalisation_layer": ["norm1*", "norm2*", "norm3*"],
    "stream": ["norm1*", "norm2*", "norm3*", "stream*", "embed*", "o", "o.product", "down*"],
    "mask_times": ["hidden", "mask", "scores*", "softmax"],
    "mask_twice": ["mask*", "scores*", "softmax"],
    "epsilon": ["norm0*"],
    "subnormal": ["down*"],
    "vanishing": ["down*"],
    "exponentials": ["softmax*"],
}
MARKED = ("plain", "normalisation", "mask_twice", "epsilon")
LENGTH, COLUMNS, TERM = 8192, 128, 0.1  # of the sum whose accumulator is asked for
TABLES: dict[str, dict[str, tuple[str, str]]] = {
    "engines": {
        "variant": ("网络", "Network"),
        "precision": ("精度", "Precision"),
        "measured_accuracy": ("准确率", "Accuracy"),
        "counted_lost": ("含 NaN/Inf 的图片", "Images with NaN or Inf"),
    },
}


def predict(inputs: Row) -> Row:
    """Give the first tensor or constant that FP16 loses, by the scanner; an accuracy is measured."""
    if "magnitudes" not in inputs:
        return {}
    found = scan.scan(scan.Magnitudes(name, largest, largest) for name, largest in inputs["magnitudes"].items())
    lost = [f"{name}: {what.partition(':')[0]}" for name, what in found if what.startswith(("overflows", "vanishes"))]
    return {"predicted_first_lost": lost[0] if lost else "none", "predicted_lost": len(lost)}


def check(rows: dict[str, Row]) -> None:
    """Assert that FP32 answers as it should whatever the numbers inside, and what FP16 breaks and mends."""
    right = rows["plain_fp32"]["measured_accuracy"]
    for variant in VARIANTS:
        assert rows[f"{variant}_fp32"]["measured_accuracy"] == right, f"{variant}: FP32 is not the same function: {rows[f'{variant}_fp32']}"
    assert rows["plain_fp16"]["measured_accuracy"] >= right - 0.005, f"plain: FP16 alone breaks it: {rows['plain_fp16']}"
    assert rows["normalisation_fp16"]["measured_accuracy"] < 0.2, f"normalisation: {rows['normalisation_fp16']}"
    for name in ("normalisation_fp16_pinned", "normalisation_layer_fp16"):
        assert rows[name]["measured_accuracy"] >= right - 0.005, f"{name} is no cure: {rows[name]}"


def main() -> None:
    """Run all parts, check, and print the record's rows."""
    if gpu.launching():
        return
    rows: dict[str, Row] = {}
    with trt.Worker() as worker:
        for part in PARTS.values():
            for name, row in part(worker):
                rows[name] = row
                gpu.say(f"{name} {row}")
        conditions = worker.conditions()
    check(rows)
    print(json.dumps({"rows": rows, "conditions": conditions}))


class Bench:
    """The test images and labels, and the weights."""

    def __init__(self) -> None:
        """Load them."""
        _, (held, self.labels) = digits.data()
        self.test = digits.prepare(held)
        self.weights = digits.weights("attention")

    def model(self, variant: str) -> bytes:
        """Give a variant's model for all test images in one batch."""
        return digits.attention(self.weights, len(self.test), **VARIANTS[variant])

    def inputs(self, variant: str) -> dict[str, Any]:
        """Give what a variant takes."""
        import numpy as np  # noqa: PLC0415 - a bench is imported without it too

        seen = {"seen": np.ones((len(self.test), 1, 8), np.float32)} if VARIANTS[variant].get("mask") == "times" else {}
        return {"image": self.test} | seen


def engines(worker: trt.Worker) -> Iterator[tuple[str, Row]]:
    """Score every variant in every precision."""
    import numpy as np  # noqa: PLC0415 - as above

    bench = Bench()
    for variant in VARIANTS:
        model, inputs = bench.model(variant), bench.inputs(variant)
        for precision, options in ways(variant).items():
            found = worker.build("engine", model, level=LEVEL, **options)
            answer = worker.run("engine", **inputs)["answer"]
            yield f"{variant}_{precision}".lower().replace(", ", "_"), {
                "variant": variant, "precision": precision, "measured_accuracy": digits.accuracy(answer, bench.labels),
                "counted_lost": int((~np.isfinite(answer)).any(1).sum()), "counted_layers": len(found["layers"]),
                "counted_half_layers": half_layers(found), "warnings": spoken(found["log"]), "measured_build_s": round(found["seconds"], 2),
            }  # fmt: skip


def ways(variant: str) -> dict[str, dict[str, Any]]:
    """Give the precisions that a variant is built in, with their options."""
    made: dict[str, dict[str, Any]] = {"FP32": {}}
    if variant in TF32:
        made["TF32"] = {"flags": ["tf32"]}
    if variant in ALLOWED:
        made["FP16 allowed"] = {"flags": ["fp16"]}
    made["FP16"] = {"flags": ["fp16", "obey"], "pins": DEMANDED}
    made["FP16, pinned"] = {"flags": ["fp16", "obey"], "pins": DEMANDED | dict.fromkeys(PINS[variant], "float32")}
    return made


def spoken(log: list[str]) -> list[str]:
    """Give what TensorRT warned of, without what it says of every model."""
    return [line for line in log if "INT64" not in line]


def marked(worker: trt.Worker) -> Iterator[tuple[str, Row]]:
    """Mark every tensor as an output: how many layers remain, what is answered, how long it takes, which tensor breaks first."""
    import numpy as np  # noqa: PLC0415 - as above

    bench = Bench()
    for variant in MARKED:
        model, inputs = bench.model(variant), bench.inputs(variant)
        kept: dict[tuple[str, bool], dict[str, Any]] = {}
        made: dict[str, dict[str, Any]] = {"FP32": {}, "FP16": {"flags": ["fp16", "obey"], "pins": DEMANDED}}
        for precision, options in made.items():
            for every in (False, True):
                found = worker.build("engine", model, level=LEVEL, outputs=["*"] if every else [], **options)
                kept[precision, every] = worker.run("engine", **inputs)
                answer = kept[precision, every]["answer"]
                whole = kept[precision, False]["answer"]
                yield f"marked_{variant}_{precision}_{every}".lower(), {
                    "variant": variant, "precision": precision, "marked": every, "measured_accuracy": digits.accuracy(answer, bench.labels),
                    "counted_outputs": len(kept[precision, every]), "counted_layers": len(found["layers"]),
                    "measured_time_ms": round(worker.time(["engine"])["engine"], 5), "measured_difference": text(farthest(answer, whole)),
                }  # fmt: skip
        order = [name for layer in found["network"] for name in layer["outputs"] if name in kept["FP32", True]]
        broken = [name for name in order if not np.isfinite(kept["FP16", True][name]).all() and np.isfinite(kept["FP32", True][name]).all()]
        seen = {"variant": variant, "magnitudes": magnitudes(worker, model, inputs)}
        yield f"first_{variant}", seen | predict(seen) | {"counted_first_broken": broken[0] if broken else "none", "counted_broken": len(broken)}


def magnitudes(worker: trt.Worker, model: bytes, inputs: dict[str, Any]) -> dict[str, float]:
    """Give the largest magnitude of each tensor and constant, as scan.py finds them with ONNX Runtime."""
    path = worker.file(".onnx")
    path.write_bytes(model)
    return {each.name: float(f"{each.largest:.4g}") for each in scan.of_model(str(path), worker.save(**inputs))}


def accumulators(worker: trt.Worker) -> Iterator[tuple[str, Row]]:
    """Sum 8,192 times 0.1 by a matrix product, a convolution and a reduction: what comes out says what was accumulated in."""
    import numpy as np  # noqa: PLC0415 - as above

    graph = graphs.Graph()
    graph.constant("ones", np.ones((LENGTH, COLUMNS)))
    graph.constant("kernel", np.ones((COLUMNS, LENGTH, 1, 1)))
    graph.constant("four", [COLUMNS, LENGTH, 1, 1], "int64")
    graph.constant("axis", [1], "int64")
    graph.node("MatMul", ["x", "ones"], "product")
    graph.node("Conv", [graph.node("Reshape", ["x", "four"], "image"), "kernel"], "convolution", kernel_shape=[1, 1])
    graph.node("ReduceSum", ["x", "axis"], "reduction")
    outputs: dict[str, list[Any]] = {"product": [COLUMNS, COLUMNS], "convolution": [COLUMNS, COLUMNS, 1, 1], "reduction": [COLUMNS, 1]}
    model = graph.model({"x": [COLUMNS, LENGTH]}, outputs)
    terms = {"0.1": np.full((COLUMNS, LENGTH), TERM), "30 and -30": np.repeat([30.0, -30.0], LENGTH // 2)[None].repeat(COLUMNS, 0)}
    built: dict[str, dict[str, Any]] = {"FP32": {}, "FP16 allowed": {"flags": ["fp16"]}, "FP16": {"flags": ["fp16", "obey"], "pins": DEMANDED}}
    for precision, options in built.items():
        found = worker.build("sum", model, **options)
        for case, values in terms.items():
            for what, result in worker.run("sum", x=values.astype(np.float32)).items():
                inside = next((layer.get("tacticname") for layer in found["layers"] if what in layer["name"]), None)
                yield f"sum_{what}_{precision}_{case}".lower().replace(" ", "_"), {
                    "operation": what, "precision": precision, "terms": case, "tactic": inside,
                    "measured_least": text(result.min()), "measured_most": text(result.max()),
                }  # fmt: skip


def repeated(worker: trt.Worker) -> Iterator[tuple[str, Row]]:
    """Build the same engine three times, tactics chosen anew, and see whether its layers and answers stay."""
    import numpy as np  # noqa: PLC0415 - as above

    bench = Bench()
    model, inputs, first = bench.model("plain"), bench.inputs("plain"), None
    for number in range(3):
        found = worker.build("engine", model, flags=["fp16", "obey"], pins=DEMANDED, fresh=True)
        answer = worker.run("engine", **inputs)["answer"]
        first = answer if first is None else first
        yield f"repeated_{number}", {
            "build": number, "counted_layers": len(found["layers"]), "measured_difference": text(np.abs(answer.astype(np.float64) - first).max()),
            "tactics": [layer.get("tacticname") for layer in found["layers"]], "measured_build_s": round(found["seconds"], 2),
        }  # fmt: skip


def farthest(left: Any, right: Any) -> float:
    """Give the largest difference of two arrays, where both are finite."""
    import numpy as np  # noqa: PLC0415 - as above

    apart = np.abs(left.astype(np.float64) - right.astype(np.float64))
    return float(apart[np.isfinite(apart)].max(initial=0))


PARTS: dict[str, Part] = {"accumulators": accumulators, "marked": marked, "engines": engines, "repeated": repeated}


def text(value: Any) -> str:
    """Print a number so that JSON can hold infinities too."""
    return f"{float(value):.6g}"


def half_layers(found: dict[str, Any]) -> int:
    """Count the layers of an engine that give FP16."""
    return sum(
        any("half" in tensor["format"].lower() or "fp16" in tensor["format"].lower() for tensor in layer["outputs"]) for layer in found["layers"]
    )


if __name__ == "__main__":
    main()
