"""Build networks in which INT8 is slower than FP16 for one reason each, with TensorRT, and look at their layers; find where INT8 wins."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import cost

import gpu
import graphs
import trt

Row = dict[str, Any]
Part = Callable[[trt.Worker], Iterator[tuple[str, Row]]]
Way = tuple[bytes, dict[str, Any]]

LARGEST = 4.0  # of every activation, for all scales: speed does not depend on it
RANGES = {"*": LARGEST}
FREE: dict[str, Any] = {"flags": ["int8", "fp16"], "ranges": RANGES}  # INT8 where it is faster
ALONE: dict[str, Any] = {"flags": ["int8"], "ranges": RANGES}  # without FP16
FORCED: dict[str, Any] = {"flags": ["int8", "fp16", "obey"], "ranges": RANGES, "pins": {"conv*": "int8"}}
HALF: dict[str, Any] = {"flags": ["fp16"]}
EXPLICIT: dict[str, Any] = {"flags": ["int8", "fp16"]}
SIZES_BATCH, SIZES_CHANNELS, SIZES_SIDE, SIZES_DEPTH = (1, 8, 64), (16, 32, 64, 128, 256), 28, 4
# (slower, faster): rows
SLOWER = (
    ("residual_Q/DQ_skip", "residual_FP16"),
    ("residual_Q/DQ_skip", "residual_Q/DQ_good"),
    ("alternating_Q/DQ_every_other", "alternating_FP16"),
    ("alternating_FP16", "alternating_Q/DQ_all"),
    ("separable_Q/DQ_pointwise", "separable_FP16"),
    ("separable_FP16", "separable_Q/DQ_all"),
    ("swish_Q/DQ_everywhere", "swish_FP16"),
    ("swish_FP16", "swish_Q/DQ_inputs"),
    ("attention_Q/DQ_dense", "attention_FP16"),
    ("attention_INT8_free", "attention_FP16"),
    ("attention_INT8_alone", "attention_INT8_free"),
    ("norm_FP32", "norm_INT8_alone"),
    ("first_FP16", "first_INT8_Q/DQ"),
)
LARGE = 2048  # batch times channels from which INT8 wins at every size
MISSED = 4  # of the 15 sizes, that the cost model may put on the wrong side of 1
# which table a network stands in: what stands between the convolutions, what has no INT8 kernel, what the shapes are
GROUPS = {
    "case": ("residual", "alternating", "swish"),
    "kind": ("depthwise_norm", "norm", "attention"),
    "shape": ("good", "small", "first", "separable", "depthwise"),
}
WAYS = {
    "way": ("做法", "Built as"),
    "measured_time_ms": ("时间（ms）", "Time (ms)"),
    "measured_to_fp16": ("与 FP16 之比", "To FP16"),
    "counted_layers": ("层数", "Layers"),
    "counted_reformats": ("reformat 层", "Reformat layers"),
    "counted_int8_layers": ("INT8 层", "INT8 layers"),
}
TABLES = {
    "causes": {"case": ("网络", "Network"), **WAYS},
    "kinds": {"kind": ("网络", "Network"), **WAYS},
    "shapes": {"shape": ("网络", "Network"), **WAYS},
    "sizes": {
        "batch": ("batch", "Batch"),
        "channels": ("通道", "Channels"),
        "measured_fp16_time_ms": ("FP16（ms）", "FP16 (ms)"),
        "measured_int8_time_ms": ("INT8（ms）", "INT8 (ms)"),
        "predicted_ratio": ("预测：INT8 / FP16", "Predicted: INT8 / FP16"),
        "measured_ratio": ("实测：INT8 / FP16", "Measured: INT8 / FP16"),
    },
}


def predict(inputs: Row) -> Row:
    """Give both times for a chain of convolutions, and INT8's over FP16's, by the cost model; the other networks are measured."""
    if "depth" not in inputs:
        return {}
    chain_ = cost.Chain(inputs["batch"], inputs["channels"], inputs["side"], inputs["depth"])
    half, integer = chain_.microseconds("FP16"), chain_.microseconds("INT8")
    return {
        "predicted_fp16_time_ms": round(half / 1e3, 4),
        "predicted_int8_time_ms": round(integer / 1e3, 4),
        "predicted_ratio": round(integer / half, 2),
    }


def check(rows: dict[str, Row]) -> None:
    """Assert each ratio that the page states: what is slower than what, and on which side of 1 the sizes are."""
    for slow, fast in SLOWER:
        slower, faster = rows[slow]["measured_time_ms"], rows[fast]["measured_time_ms"]
        assert slower > faster, f"{slow} takes {slower} ms, {fast} {faster} ms"
    for way in ("INT8_free", "INT8_Q/DQ"):
        gain = 1 / rows[f"good_{way}"]["measured_to_fp16"]
        assert 1.4 <= gain <= 1.6, f"good_{way} is {gain} times as fast as FP16"
        assert rows[f"good_{way}"]["counted_reformats"] == 1, f"good_{way}: {rows[f'good_{way}']['counted_reformats']} reformats"
    assert rows["alternating_Q/DQ_every_other"]["counted_reformats"] > rows["alternating_Q/DQ_all"]["counted_reformats"], "alternating: no reformats"
    for way in ("FP32", "FP16", "INT8_alone", "INT8_free"):
        row = rows[f"depthwise_norm_{way}"]
        assert row["counted_int8_layers"] == 0, f"depthwise_norm: INT8 layers: {row}"
        assert abs(row["measured_to_fp16"] - 1) < 0.05, f"depthwise_norm: not all alike: {row}"
    sizes_ = {name: row for name, row in rows.items() if name.startswith("size_")}
    for name in ("size_1_16", "size_8_16", "size_64_16"):
        assert sizes_[name]["measured_ratio"] > 1, f"{name}: {sizes_[name]['measured_ratio']}"
    for name, row in sizes_.items():
        assert abs(row["predicted_int8_time_ms"] / row["measured_int8_time_ms"] - 1) < 0.25, f"{name}: {row['predicted_int8_time_ms']}"
        if row["batch"] * row["channels"] >= LARGE:
            assert row["measured_ratio"] < 0.9, f"{name}: {row['measured_ratio']}"
    missed = [name for name, row in sizes_.items() if (row["measured_ratio"] > 1) != (row["predicted_ratio"] > 1)]
    assert len(missed) <= MISSED, f"predicted on the wrong side of 1: {missed}"


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


class Network(graphs.Graph):
    """A graph with random weights, whose layers take Q/DQ pairs where they are told to."""

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__()
        import numpy as np  # noqa: PLC0415 - a bench is imported without it too

        self.random = np.random.default_rng(0)
        self.number = 0

    def name(self, kind: str) -> str:
        """Give a fresh name."""
        self.number += 1
        return f"{kind}{self.number}"

    def q(self, tensor: str, *, wanted: bool = True) -> str:
        """Put a Q/DQ pair behind a tensor, one pair a tensor."""
        if not wanted:
            return tensor
        if any(node.name == tensor + ".dq" for node in self.nodes):
            return tensor + ".dq"
        return self.quantised(tensor, LARGEST)

    def conv(  # noqa: PLR0913 - what a convolution can be given
        self, tensor: str, inputs: int, outputs: int, kernel: int = 3, *, stride: int = 1, groups: int = 1, quantised: bool = False
    ) -> str:
        """Add a convolution, its input and weights quantised or not."""
        import numpy as np  # noqa: PLC0415 - as above

        name = self.name("conv")
        array = self.random.standard_normal((outputs, inputs // groups, kernel, kernel)) * (2 / (inputs // groups * kernel * kernel)) ** 0.5
        weight = self.constant(name + ".w", array)
        bias = self.constant(name + ".b", self.random.standard_normal(outputs) * 0.1)
        if quantised:
            weight = self.quantised(weight, np.abs(array).max((1, 2, 3)), axis=0)
        pads = [kernel // 2] * 4
        return self.node(
            "Conv",
            [self.q(tensor, wanted=quantised), weight, bias],
            name,
            pads=pads,
            kernel_shape=[kernel, kernel],
            strides=[stride, stride],
            group=groups,
        )

    def relu(self, tensor: str) -> str:
        """Add a ReLU."""
        return self.node("Relu", [tensor], self.name("relu"))

    def swish(self, tensor: str, *, quantised: bool = False) -> str:
        """Add x times sigmoid(x), with pairs on all its inputs or none."""
        source = self.q(tensor, wanted=quantised)
        gate = self.q(self.node("Sigmoid", [source], self.name("sigmoid")), wanted=quantised)
        return self.node("Mul", [source, gate], self.name("swish"))

    def dense(self, tensor: str, inputs: int, outputs: int, *, quantised: bool = False) -> str:
        """Add a matrix product with weights, and a bias."""
        import numpy as np  # noqa: PLC0415 - as above

        name = self.name("dense")
        array = self.random.standard_normal((inputs, outputs)) * inputs**-0.5
        weight = self.constant(name + ".w", array)
        if quantised:
            weight = self.quantised(weight, np.abs(array).max(0), axis=1)
        product = self.node("MatMul", [self.q(tensor, wanted=quantised), weight], name)
        return self.node("Add", [product, self.constant(name + ".b", self.random.standard_normal(outputs) * 0.1)], name + ".sum")


def chain(batch: int, channels: int, side: int, depth: int, quantised: Callable[[int], bool] = lambda _: False) -> bytes:
    """Give a chain of 3 x 3 convolutions with ReLU."""
    net, x = Network(), "x"
    for index in range(depth):
        x = net.relu(net.conv(x, channels, channels, quantised=quantised(index)))
    return net.model({"x": [batch, channels, side, side]}, {x: [batch, channels, side, side]})


def residual(batch: int, channels: int, side: int, blocks: int, way: str = "") -> bytes:
    """Give residual blocks of two convolutions; way: "" FP16, "good" Q/DQ at every input, "skip" all but the residual's."""
    net, x, on = Network(), "x", bool(way)
    for _ in range(blocks):
        y = net.relu(net.conv(x, channels, channels, quantised=on))
        y = net.conv(y, channels, channels, quantised=on)
        shortcut = net.q(x, wanted=way == "good")
        x = net.relu(net.node("Add", [y, shortcut], net.name("add")))
    return net.model({"x": [batch, channels, side, side]}, {x: [batch, channels, side, side]})


def swish(batch: int, channels: int, side: int, depth: int, way: str = "") -> bytes:
    """Give convolutions with Swish; way: "" FP16, "inputs" Q/DQ at convolutions' inputs, "everywhere" inside Swish too."""
    net, x = Network(), "x"
    for _ in range(depth):
        x = net.swish(net.conv(x, channels, channels, quantised=bool(way)), quantised=way == "everywhere")
    return net.model({"x": [batch, channels, side, side]}, {x: [batch, channels, side, side]})


def separable(batch: int, channels: int, side: int, depth: int, way: str = "") -> bytes:
    """Give depthwise and pointwise convolutions with ReLU; way: "" FP16, "all" quantised, "pointwise" those alone."""
    net, x = Network(), "x"
    for _ in range(depth):
        x = net.relu(net.conv(x, channels, channels, groups=channels, quantised=way == "all"))
        x = net.relu(net.conv(x, channels, channels, 1, quantised=bool(way)))
    return net.model({"x": [batch, channels, side, side]}, {x: [batch, channels, side, side]})


def depthwise(batch: int, channels: int, side: int, depth: int, *, quantised: bool = False) -> bytes:
    """Give depthwise convolutions with ReLU."""
    net, x = Network(), "x"
    for _ in range(depth):
        x = net.relu(net.conv(x, channels, channels, groups=channels, quantised=quantised))
    return net.model({"x": [batch, channels, side, side]}, {x: [batch, channels, side, side]})


def normalised(batch: int, channels: int, side: int, depth: int) -> bytes:
    """Give convolutions with InstanceNormalization and Swish, which have no INT8 kernels."""
    net, x = Network(), "x"
    scale, bias = net.constant("scale", [1.0] * channels), net.constant("bias", [0.0] * channels)
    for _ in range(depth):
        y = net.node("InstanceNormalization", [net.conv(x, channels, channels), scale, bias], net.name("norm"))
        x = net.swish(y)
    return net.model({"x": [batch, channels, side, side]}, {x: [batch, channels, side, side]})


def depthwise_normalised(batch: int, channels: int, side: int, depth: int) -> bytes:
    """Give depthwise convolutions with InstanceNormalization and Swish: no layer that gains from INT8."""
    net, x = Network(), "x"
    scale, bias = net.constant("scale", [1.0] * channels), net.constant("bias", [0.0] * channels)
    for _ in range(depth):
        y = net.node("InstanceNormalization", [net.conv(x, channels, channels, groups=channels), scale, bias], net.name("norm"))
        x = net.swish(y)
    return net.model({"x": [batch, channels, side, side]}, {x: [batch, channels, side, side]})


def first(batch: int, side: int, *, quantised: bool = False) -> bytes:
    """Give the first layer of an image network: 3 channels to 64, 7 x 7, stride 2."""
    net = Network()
    x = net.relu(net.conv("x", 3, 64, 7, stride=2, quantised=quantised))
    return net.model({"x": [batch, 3, side, side]}, {x: [batch, 64, side // 2, side // 2]})


def attention(batch: int, tokens: int, width: int, heads: int, way: str = "") -> bytes:
    """Give one attention layer; way: "" FP16, "dense" Q/DQ at the projections, "all" at the products inside too."""
    net, on, inside = Network(), bool(way), way == "all"
    net.constant("shape", [batch, tokens, heads, width // heads], "int64")
    net.constant("back", [batch, tokens, width], "int64")
    net.constant("root", (width // heads) ** -0.5)
    parts = {}
    for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
        y = net.node("Reshape", [net.dense("x", width, width, quantised=on), "shape"], part + ".heads")
        parts[part] = net.node(
            "Transpose",
            [
                y,
            ],
            part,
            perm=order,
        )
    scores = net.node("MatMul", [net.q(parts["query"], wanted=inside), net.q(parts["key"], wanted=inside)], "scores")
    weights = net.node("Softmax", [net.node("Mul", [scores, "root"], "scaled")], "softmax", axis=-1)
    mixed = net.node("MatMul", [net.q(weights, wanted=inside), net.q(parts["value"], wanted=inside)], "mixed")
    joined = net.node("Reshape", [net.node("Transpose", [mixed], "turned", perm=[0, 2, 1, 3]), "back"], "joined")
    x = net.dense(joined, width, width, quantised=on)
    return net.model({"x": [batch, tokens, width]}, {x: [batch, tokens, width]})


def ways_of(case: str) -> dict[str, Way]:
    """Give a case's engines: a name -> its model and options."""
    cases: dict[str, Callable[[], dict[str, Way]]] = {
        "good": lambda: {
            "FP16": (chain(32, 128, 56, 4), HALF),
            "INT8 free": (chain(32, 128, 56, 4), FREE),
            "INT8 Q/DQ": (chain(32, 128, 56, 4, lambda _: True), EXPLICIT),
        },
        "small": lambda: {
            "FP16": (chain(1, 32, 14, 4), HALF),
            "INT8 free": (chain(1, 32, 14, 4), FREE),
            "INT8 forced": (chain(1, 32, 14, 4), FORCED),
            "INT8 Q/DQ": (chain(1, 32, 14, 4, lambda _: True), EXPLICIT),
        },
        "norm": lambda: {
            "FP32": (normalised(8, 64, 56, 3), {}),
            "FP16": (normalised(8, 64, 56, 3), HALF),
            "INT8 alone": (normalised(8, 64, 56, 3), ALONE),
            "INT8 free": (normalised(8, 64, 56, 3), FREE),
        },
        "swish": lambda: {
            "FP16": (swish(8, 128, 28, 4), HALF),
            "Q/DQ inputs": (swish(8, 128, 28, 4, "inputs"), EXPLICIT),
            "Q/DQ everywhere": (swish(8, 128, 28, 4, "everywhere"), EXPLICIT),
            "INT8 free": (swish(8, 128, 28, 4), FREE),
            "INT8 alone": (swish(8, 128, 28, 4), ALONE),
        },
        "residual": lambda: {
            "FP16": (residual(8, 128, 28, 3), HALF),
            "Q/DQ good": (residual(8, 128, 28, 3, "good"), EXPLICIT),
            "Q/DQ skip": (residual(8, 128, 28, 3, "skip"), EXPLICIT),
        },
        "alternating": lambda: {
            "FP16": (chain(8, 128, 28, 6), HALF),
            "Q/DQ all": (chain(8, 128, 28, 6, lambda _: True), EXPLICIT),
            "Q/DQ every other": (chain(8, 128, 28, 6, lambda index: index % 2 == 0), EXPLICIT),
        },
        "separable": lambda: {
            "FP16": (separable(8, 128, 56, 3), HALF),
            "INT8 free": (separable(8, 128, 56, 3), FREE),
            "Q/DQ all": (separable(8, 128, 56, 3, "all"), EXPLICIT),
            "Q/DQ pointwise": (separable(8, 128, 56, 3, "pointwise"), EXPLICIT),
        },
        "depthwise": lambda: {
            "FP16": (depthwise(8, 128, 56, 4), HALF),
            "INT8 free": (depthwise(8, 128, 56, 4), FREE),
            "Q/DQ": (depthwise(8, 128, 56, 4, quantised=True), EXPLICIT),
        },
        "depthwise_norm": lambda: {
            "FP32": (depthwise_normalised(8, 64, 56, 3), {}),
            "FP16": (depthwise_normalised(8, 64, 56, 3), HALF),
            "INT8 alone": (depthwise_normalised(8, 64, 56, 3), ALONE),
            "INT8 free": (depthwise_normalised(8, 64, 56, 3), FREE),
        },
        "first": lambda: {
            "FP16": (first(32, 224), HALF),
            "INT8 Q/DQ": (first(32, 224, quantised=True), EXPLICIT),
        },
        "attention": lambda: {
            "FP16": (attention(8, 256, 512, 8), HALF),
            "Q/DQ dense": (attention(8, 256, 512, 8, "dense"), EXPLICIT),
            "Q/DQ all": (attention(8, 256, 512, 8, "all"), EXPLICIT),
            "INT8 free": (attention(8, 256, 512, 8), FREE),
            "INT8 alone": (attention(8, 256, 512, 8), ALONE),
        },
    }
    return cases[case]()


CASES = ("residual", "separable", "depthwise", "depthwise_norm", "alternating", "norm", "good", "small", "first", "attention", "swish")


def causes(worker: trt.Worker) -> Iterator[tuple[str, Row]]:
    """Build each case in its ways, time them in turn, then layer by layer."""
    for case in CASES:
        rows: dict[str, Row] = {}
        for way, (model, options) in ways_of(case).items():
            try:
                found = worker.build(f"{case} {way}", model, **options)
            except trt.TensorRTError as error:
                yield f"{case}_{way}".replace(" ", "_"), {"refused": str(error)[:500], "said": error.log[-5:]}
                continue
            gpu.say(f"{case} {way}: built in {found['seconds']:.1f} s, {len(found['layers'])} layers")
            rows[way] = {
                "way": way, "counted_layers": len(found["layers"]), "counted_reformats": reformats(found),
                "counted_int8_layers": integer_layers(found), "measured_build_s": round(found["seconds"], 2), "warnings": found["log"][:4],
                "layers": [shown(layer) for layer in found["layers"]],
            }  # fmt: skip
        if not rows:
            continue
        times = worker.time([f"{case} {way}" for way in rows])
        group = next(name for name, cases in GROUPS.items() if case in cases)
        for way, row in rows.items():
            row[group] = case
            row["measured_time_ms"] = round(times[f"{case} {way}"], 5)
            row["measured_to_fp16"] = round(times[f"{case} {way}"] / times[f"{case} FP16"], 3)
            row["profile"] = worker.profile(f"{case} {way}")
            yield f"{case}_{way}".replace(" ", "_"), row
        worker.free()


def sizes(worker: trt.Worker) -> Iterator[tuple[str, Row]]:
    """Time chains of convolutions in FP16 and forced INT8 over batches and channels."""
    for batch in SIZES_BATCH:
        for channels in SIZES_CHANNELS:
            model = chain(batch, channels, SIZES_SIDE, SIZES_DEPTH)
            row: Row = {"batch": batch, "channels": channels, "side": SIZES_SIDE, "depth": SIZES_DEPTH}
            for way, options in (("fp16", HALF), ("int8", FORCED)):
                found = worker.build(way, model, **options)
                row |= {f"counted_{way}_layers": len(found["layers"]), f"measured_{way}_build_s": round(found["seconds"], 2)}
                row[f"{way}_tactics"] = [layer.get("tacticname") for layer in found["layers"]]
            times = worker.time(["fp16", "int8"])
            row |= {f"measured_{way}_time_ms": round(value, 5) for way, value in times.items()}
            row["measured_ratio"] = round(times["int8"] / times["fp16"], 3)
            row |= predict(row)
            yield f"size_{batch}_{channels}", row
    worker.free()


PARTS: dict[str, Part] = {"sizes": sizes, "causes": causes}


def shown(layer: dict[str, Any]) -> list[Any]:
    """Give of a layer its name, type and tactic, and the formats that it takes and gives."""
    return [layer["name"], layer["type"], layer.get("tacticname"), *([tensor["format"] for tensor in layer[key]] for key in ("inputs", "outputs"))]


def reformats(found: dict[str, Any]) -> int:
    """Count the layers that only change type or layout."""
    return sum("reformat" in layer["type"].lower() or "reformat" in layer["name"].lower() for layer in found["layers"])


def integer_layers(found: dict[str, Any]) -> int:
    """Count the layers of an engine that take INT8."""
    return sum(any("int8" in tensor["format"].lower() for tensor in layer["inputs"]) for layer in found["layers"])


if __name__ == "__main__":
    main()
