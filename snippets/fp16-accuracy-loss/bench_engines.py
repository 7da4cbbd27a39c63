"""Build the attention network for digits with TensorRT in FP32, TF32 and FP16, break FP16 in six ways, and mend it by pinning layers."""

import json
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import scan

import digits
import gpu
import graphs
import trt

Row = dict[str, Any]


class Way(NamedTuple):
    """A way to ask TensorRT for a precision: its name, the builder's options, and what stays FP32 in a graph with casts (None: no casts)."""

    name: str
    options: dict[str, Any]
    kept: tuple[str, ...] | None = None


Part = Callable[[trt.Worker], Iterator[tuple[str, Row]]]

LEVEL = 1  # of the builder's optimisation: these engines are asked for answers, not for speed
DEMANDED = {"*": "float16"}  # FP16 as a flag is a permission, which a builder that finds FP32 as fast does not use
ALLOWED = ("plain", "normalisation", "mask_times", "epsilon", "vanishing")  # variants that are built with the permission alone, too
TF32 = ALLOWED
STAGES = ["columns", "norm0", "norm0.unit", "stream1", "norm1.square", "norm1.variance", "norm1.root", "norm1", "scores.keys", "scores.masked",
          "softmax", "stream2", "norm2", "stream3", "norm3", "pooled"]  # fmt: skip
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
# variant -> the accuracy that FP16 does not exceed; and whether some of its images come out as NaN or Inf
BROKEN = {"normalisation": 0.15, "stream": 0.5, "mask_twice": 0.1, "exponentials": 0.5}
LOST = {"normalisation": False, "mask_twice": True, "epsilon": False, "exponentials": True}
MARKED = ("plain", "normalisation", "mask_twice")
LENGTH, COLUMNS, TERM = 8192, 128, 0.1  # of the sum whose accumulator is asked for
TABLES = {
    "engines": {
        "network": ("网络", "Network"),
        "measured_fp32_accuracy": ("FP32：准确率", "FP32: accuracy"),
        "measured_fp16_accuracy": ("FP16：准确率", "FP16: accuracy"),
        "counted_fp16_lost": ("FP16：含 NaN/Inf 的图片", "FP16: images with NaN or Inf"),
        "pinned": ("钉回 FP32 的层", "Pinned to FP32"),
        "measured_pinned_accuracy": ("钉住后：准确率", "Pinned: accuracy"),
    },
    "flags": {
        "allowing": ("网络", "Network"),
        "measured_tf32_accuracy": ("TF32：准确率", "TF32: accuracy"),
        "measured_allowed_accuracy": ("只许可 FP16：准确率", "FP16 allowed: accuracy"),
        "counted_allowed_half_layers": ("输出 FP16 的层", "Layers giving FP16"),
        "measured_graph_accuracy": ("图里是 FP16：准确率", "FP16 in the graph: accuracy"),
        "counted_graph_lost": ("图里是 FP16：含 NaN/Inf 的图片", "FP16 in the graph: images with NaN or Inf"),
    },
    "marked": {
        "marking": ("网络", "Network"),
        "precision": ("精度", "Precision"),
        "marked": ("标记为输出的张量", "Tensors marked as outputs"),
        "counted_layers": ("引擎的层数", "Engine layers"),
        "measured_time_ms": ("时间（ms）", "Time (ms)"),
        "measured_accuracy": ("准确率", "Accuracy"),
    },
    "first": {
        "scanned": ("网络", "Network"),
        "predicted_first_lost": ("扫描器：先丢失的", "Scanner: lost first"),
        "counted_first_broken": ("引擎：先坏的张量", "Engine: broken first"),
    },
    "accumulators": {
        "operation": ("做法", "Operation"),
        "precision": ("精度", "Precision"),
        "terms": ("加数", "Terms"),
        "measured_least": ("最小的结果", "Least result"),
        "measured_most": ("最大的结果", "Largest result"),
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
    """Assert that FP32 answers as it should whatever the numbers inside, what FP16 breaks and pins mend, and what marking changes."""
    right = rows["plain_fp32"]["measured_accuracy"]
    constants = {"stream", "subnormal", "vanishing"}  # what is broken there is a constant, which pins do not reach: bench_pins.py
    for variant in VARIANTS:
        row = rows[f"network_{variant}"]
        assert near(row["measured_fp32_accuracy"], right), f"{variant}: FP32 is not the same function: {row}"
        assert variant in constants or near(row["measured_pinned_accuracy"], right), f"{variant}: pinned layers do not mend it: {row}"
    for variant in ("plain", "normalisation_layer", "mask_times", "epsilon"):
        assert near(rows[f"{variant}_fp16"]["measured_accuracy"], right), f"{variant}: FP16 breaks it: {rows[f'{variant}_fp16']}"
    for variant, most in (BROKEN | {"vanishing": 0.15}).items():
        assert rows[f"{variant}_fp16"]["measured_accuracy"] <= most, f"{variant}: FP16 breaks nothing: {rows[f'{variant}_fp16']}"
    assert rows["subnormal_fp16"]["measured_accuracy"] < right, f"subnormal: FP16 loses nothing: {rows['subnormal_fp16']}"
    for variant, lost in LOST.items():
        counted = rows[f"{variant}_fp16"]["counted_lost"]
        assert (counted > 0) == lost, f"{variant}: {counted} images with NaN or Inf"
    for variant in TF32:
        assert near(rows[f"{variant}_tf32"]["measured_accuracy"], right), f"{variant}: TF32 breaks it"
        assert rows[f"{variant}_fp16_allowed"]["counted_half_layers"] == 0, f"{variant}: FP16 was used where it was only allowed"
    for variant, most in (("epsilon", 0.01), ("vanishing", 0.6)):
        assert rows[f"{variant}_fp16_in_the_graph"]["measured_accuracy"] < most, f"{variant}: a constant that left the range breaks nothing"
    for variant in MARKED:
        few, many = rows[f"marked_{variant}_fp32_none"], rows[f"marked_{variant}_fp32_all"]
        assert 2 * few["measured_time_ms"] < many["measured_time_ms"], f"marked: {few} {many}"
        assert "counted_refusal" in rows[f"marked_{variant}_fp16_all"], f"{variant}: FP16 with every tensor marked was built"
        first = rows[f"first_{variant}"]
        assert first["predicted_first_lost"].partition(":")[0] == first["counted_first_broken"], f"{variant}: {first}"
    for operation in ("product", "convolution"):
        row = rows[f"sum_{operation}_fp16_0.1"]
        assert 820 < row["measured_least"] < 825, f"{operation} accumulates in FP32 (819), or term by term (256): {row}"


def near(accuracy: float, right: float) -> bool:
    """Tell whether an accuracy is within half a percentage point of the right one."""
    return abs(accuracy - right) <= 0.005


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
    rows |= abreast(rows)
    check(rows)
    print(json.dumps({"rows": rows, "conditions": conditions}))


def abreast(rows: dict[str, Row]) -> dict[str, Row]:
    """Put each variant's precisions into one row."""
    made: dict[str, Row] = {}
    for variant in VARIANTS:
        single, half, pinned = (rows[f"{variant}_{key}"] for key in ("fp32", "fp16", "fp16_pinned"))
        made[f"network_{variant}"] = {
            "network": variant,
            "pinned": " ".join(PINS[variant]),
            "measured_fp32_accuracy": single["measured_accuracy"],
            "measured_fp16_accuracy": half["measured_accuracy"],
            "counted_fp16_lost": half["counted_lost"],
            "measured_pinned_accuracy": pinned["measured_accuracy"],
        }
        if allowed := rows.get(f"{variant}_fp16_allowed"):
            made[f"allowing_{variant}"] = {
                "allowing": variant,
                "measured_tf32_accuracy": rows[f"{variant}_tf32"]["measured_accuracy"],
                "measured_allowed_accuracy": allowed["measured_accuracy"],
                "counted_allowed_half_layers": allowed["counted_half_layers"],
                "measured_graph_accuracy": rows[f"{variant}_fp16_in_the_graph"]["measured_accuracy"],
                "counted_graph_lost": rows[f"{variant}_fp16_in_the_graph"]["counted_lost"],
            }
    return made


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
        for precision, tries in ways(variant).items():
            found, asked = built(worker, model, tries)
            answer = worker.run("engine", **inputs)["answer"]
            yield f"{variant}_{precision}".lower().replace(",", "").replace(" ", "_"), {
                "variant": variant, "precision": precision, "measured_accuracy": digits.accuracy(answer, bench.labels),
                "counted_lost": int((~np.isfinite(answer)).any(1).sum()), "counted_layers": len(found["layers"]),
                "counted_half_layers": half_layers(found), "warnings": spoken(found["log"]), "measured_build_s": round(found["seconds"], 2), **asked,
            }  # fmt: skip


def ways(variant: str) -> dict[str, list[Way]]:
    """Give the precisions that a variant is built in: for each the ways to ask for it, the strictest first; the first that builds is taken."""
    made: dict[str, list[Way]] = {"FP32": [Way("", {})]}
    if variant in TF32:
        made["TF32"] = [Way("", {"flags": ["tf32"]})]
    if variant in ALLOWED:
        made["FP16 allowed"] = [Way("", {"flags": ["fp16"]})]
        made["FP16 in the graph"] = [Way("", {"flags": ["fp16"]}, ())]
    made["FP16"] = demanded(())
    made["FP16, pinned"] = [*demanded(tuple(PINS[variant])), Way("FP32 demanded, FP16 allowed", pinned(dict.fromkeys(PINS[variant], "float32")))]
    return made


def demanded(kept: tuple[str, ...]) -> list[Way]:
    """Give the ways to demand FP16 of every layer but those that are kept in FP32."""
    pins = DEMANDED | dict.fromkeys(kept, "float32")
    return [
        Way("precision and types", pinned(pins)),
        Way("precision", pinned(pins, typed=False)),
        Way("casts in the graph", pinned(pins), kept),
        Way("casts in the graph, precision", pinned(pins, typed=False), kept),
    ]


def pinned(pins: dict[str, str], *, typed: bool = True) -> dict[str, Any]:
    """Give the options that pin layers and hold the builder to it."""
    return {"flags": ["fp16", "obey"], "pins": pins, "typed": typed}


def built(worker: trt.Worker, model: bytes, tries: list[Way], **options: Any) -> tuple[dict[str, Any], Row]:
    """Build an engine in the first way that TensorRT takes; give what it says of it, and for the row which way that was and what it refused.

    Raises trt.TensorRTError when it takes none.
    """
    refused: dict[str, str] = {}
    for way in tries:
        try:
            found = worker.build("engine", model if way.kept is None else graphs.halved(model, way.kept), level=LEVEL, **way.options, **options)
        except trt.TensorRTError as error:
            refused[way.name] = last_error(error)
            if worker.process.poll() is not None:
                raise
            continue
        return found, ({"asked_by": way.name} if way.name else {}) | ({"refused": refused} if refused else {})
    raise trt.TensorRTError(f"no way to build it: {refused}", [])


def last_error(error: trt.TensorRTError) -> str:
    """Give the last thing that TensorRT called an error, without the place in its sources."""
    said = [line for line in str(error).split("; ") if line.startswith("ERROR")]
    return (said or [str(error)])[-1][-200:]


def spoken(log: list[str]) -> list[str]:
    """Give what TensorRT warned of, without what it says of every model."""
    return [line for line in log if "INT64" not in line]


def marked(worker: trt.Worker) -> Iterator[tuple[str, Row]]:
    """Mark every tensor as an output: how many layers remain, what is answered, how long it takes, which tensor breaks first."""
    import numpy as np  # noqa: PLC0415 - as above

    bench = Bench()
    for variant in MARKED:
        model, inputs = bench.model(variant), bench.inputs(variant)
        kept: dict[str, dict[str, Any]] = {}
        made: dict[str, list[Way]] = {"FP32": [Way("", {})], "FP16": demanded(())[:2]}
        for precision, tries in made.items():
            for what, names in (("none", []), ("stages", STAGES), ("all", ["*"])):
                row: Row = {"marking": variant, "precision": precision, "marked": what}
                try:
                    found, asked = built(worker, model, tries, outputs=names)
                except trt.TensorRTError as error:
                    yield f"marked_{variant}_{precision}_{what}".lower(), row | {"counted_refusal": str(error)[:300]}
                    continue
                outputs = worker.run("engine", **inputs)
                if what == "none":
                    whole = outputs["answer"]
                kept[precision] = outputs
                order = [name for layer in found["network"] for name in layer["outputs"]]
                yield f"marked_{variant}_{precision}_{what}".lower(), row | {
                    "measured_accuracy": digits.accuracy(outputs["answer"], bench.labels), "counted_outputs": len(outputs),
                    "counted_layers": len(found["layers"]), "measured_time_ms": round(worker.time(["engine"])["engine"], 5),
                    "measured_difference": figures(farthest(outputs["answer"], whole)), **asked,
                }  # fmt: skip
        broken = [name for name in order if name in kept["FP16"] and name in kept["FP32"]]
        broken = [name for name in broken if not np.isfinite(kept["FP16"][name]).all() and np.isfinite(kept["FP32"][name]).all()]
        seen = {"scanned": variant, "magnitudes": magnitudes(worker, model, inputs)}
        yield f"first_{variant}", seen | predict(seen) | {
            "counted_first_broken": broken[0] if broken else "none", "counted_broken": len(broken), "counted_outputs": len(kept["FP16"]),
        }  # fmt: skip


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
    built: dict[str, dict[str, Any]] = {"FP32": {}, "FP16": {"flags": ["fp16", "obey"], "pins": DEMANDED}}
    for precision, options in built.items():
        found = worker.build("sum", model, **options)
        for case, values in terms.items():
            for what, result in worker.run("sum", x=values.astype(np.float32)).items():
                inside = next((layer.get("tacticname") for layer in found["layers"] if what in layer["name"]), None)
                yield f"sum_{what}_{precision}_{case}".lower().replace(" ", "_"), {
                    "operation": what, "precision": precision, "terms": case, "tactic": inside,
                    "measured_least": figures(result.min()), "measured_most": figures(result.max()),
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
            "build": number, "counted_layers": len(found["layers"]), "measured_difference": figures(np.abs(answer.astype(np.float64) - first).max()),
            "tactics": [layer.get("tacticname") for layer in found["layers"]], "measured_build_s": round(found["seconds"], 2),
        }  # fmt: skip


def farthest(left: Any, right: Any) -> float:
    """Give the largest difference of two arrays, where both are finite."""
    import numpy as np  # noqa: PLC0415 - as above

    apart = np.abs(left.astype(np.float64) - right.astype(np.float64))
    return float(apart[np.isfinite(apart)].max(initial=0))


PARTS: dict[str, Part] = {"accumulators": accumulators, "marked": marked, "engines": engines, "repeated": repeated}


def figures(value: Any) -> float | str:
    """Give six significant figures, or the name of what is no number, which JSON cannot hold."""
    written = f"{float(value):.6g}"
    return float(written) if math.isfinite(float(value)) else written


def half_layers(found: dict[str, Any]) -> int:
    """Count the layers of an engine that give FP16."""
    return sum(
        any("half" in tensor["format"].lower() or "fp16" in tensor["format"].lower() for tensor in layer["outputs"]) for layer in found["layers"]
    )


if __name__ == "__main__":
    main()
