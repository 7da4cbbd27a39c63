"""Take digits through ONNX Runtime and TensorRT in FP32, FP16 and INT8, then break INT8 in one way after the other and mend it."""

import importlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import digits
import gpu
import trt

Row = dict[str, Any]
Part = Callable[[trt.Worker], Iterator[tuple[str, Row]]]

LEVEL = 2  # of the builder's optimisation: these engines are asked for answers, not for speed
CONVOLUTIONS = {"conv*": "int8"}  # as wide as this a network is slower in INT8, so INT8 has to be demanded
INT8 = ["int8", "fp16", "obey"]
OUTLIER = 300.0
PIXEL = 1000.0  # what the corrupt image holds, where others hold at most 16
STALE = 0.1
MENDED = ("activation_pinned_entropy2", "activation_pinned_minmax", "weight_channel", "without_conv2", "placed_inputs")
# row: the accuracy that it does not exceed
BROKEN = {
    "preprocess_255_entropy2": 0.9,
    "preprocess_255_minmax": 0.9,
    "corrupt_entropy2": 0.96,
    "corrupt_minmax": 0.96,
    "activation_entropy2": 0.97,
    "activation_minmax": 0.2,
    "weight_tensor": 0.5,
    "without_conv1": 0.2,
    "without_conv3": 0.2,
    "without_conv4": 0.2,
    "without_fc": 0.2,
    "stale_entropy2": 0.97,
}
TABLES = {
    "ladder": {
        "rung": ("一级", "Rung"),
        "measured_accuracy": ("准确率", "Accuracy"),
        "measured_noise_db": ("信噪比（dB）", "Signal to noise (dB)"),
        "counted_int8_layers": ("INT8 的层", "INT8 layers"),
    },
    "data": {
        "case": ("做法", "Case"),
        "measured_entropy_accuracy": ("熵：准确率", "Entropy: accuracy"),
        "measured_entropy_noise_db": ("熵：信噪比（dB）", "Entropy: signal to noise (dB)"),
        "measured_minmax_accuracy": ("最大值：准确率", "MinMax: accuracy"),
        "measured_minmax_noise_db": ("最大值：信噪比（dB）", "MinMax: signal to noise (dB)"),
    },
    "explicit": {
        "placed": ("做法", "Case"),
        "measured_ort_accuracy": ("ONNX Runtime（主机的 CPU）：准确率", "ONNX Runtime (the host's CPU): accuracy"),
        "measured_accuracy": ("TensorRT：准确率", "TensorRT: accuracy"),
        "measured_noise_db": ("TensorRT：信噪比（dB）", "TensorRT: signal to noise (dB)"),
    },
}


def predict(inputs: Row) -> Row:  # noqa: ARG001 - accuracies are measured; the model of ranges has a bench of its own
    """Give nothing: a network's accuracy is not a number that a model of twenty lines knows."""
    return {}


def check(rows: dict[str, Row]) -> None:  # noqa: PLR0915 - one sentence of the page after the other
    """Assert that each rung holds, what each cause costs and its cure brings back, and where TensorRT leaves the graph's letter."""
    accuracy = {name: row["measured_accuracy"] for name, row in rows.items() if "measured_accuracy" in row}
    noise = {name: row["measured_noise_db"] for name, row in rows.items() if "measured_noise_db" in row}
    layers = {name: (row["counted_int8_layers"], row["counted_layers"]) for name, row in rows.items() if "counted_layers" in row}
    right = accuracy["ort_fp32"]
    lost = {name: right - value for name, value in accuracy.items()}

    def all_of(what: dict[str, float], names: tuple[str, ...], least: float, most: float) -> None:
        for name in names:
            assert least <= what[name] <= most, f"{name}: {what[name]} is not between {least} and {most}: {rows[name]}"

    def both(*cases: str) -> tuple[str, ...]:
        return tuple(f"{case}_{kind}" for case in cases for kind in ("entropy2", "minmax"))

    for name, most in BROKEN.items():
        assert accuracy[name] <= most, f"{name} breaks nothing: {rows[name]}"
    correct = ("trt_int8", "trt_int8_minmax", "trt_int8_free", "trt_int8_qdq")
    all_of(lost, ("trt_fp32", "trt_tf32", "trt_fp16", *correct), 0, 0)
    all_of(noise, ("ort_fp32", "trt_fp32"), 100, 1000)
    all_of(noise, ("trt_fp16",), 60, 63)
    all_of(noise, ("trt_tf32",), 56, 59)
    all_of(noise, correct, 41, 43)
    assert layers["trt_int8_free"] == layers["trt_int8"], f"trt_int8_free: {layers['trt_int8_free']} layers"

    all_of(lost, both("preprocess_raw"), -0.003, 0.003)
    all_of(noise, both("preprocess_raw"), 24, 26)
    all_of(accuracy, both("preprocess_255"), 0, 0.82)
    all_of(lost, both("corrupt", "blank"), 0.035, 0.05)
    all_of(noise, both("corrupt", "blank"), 8, 11)
    assert noise["corrupt_entropy2"] < noise["corrupt_minmax"], f"a corrupt image hurts entropy less: {noise['corrupt_entropy2']}"
    image = {name: row["counted_ranges"]["image"] for name, row in rows.items() if row.get("counted_ranges")}
    assert image["corrupt_entropy2"] > image["corrupt_minmax"], f"entropy clips the pixel: {image['corrupt_entropy2']}"
    times = {name: range_ / image["trt_int8"] for name, range_ in image.items()}
    all_of(times, both("preprocess_raw"), 8.5, 9)
    all_of(times, both("preprocess_255"), 1 / 29.5, 1 / 28.5)
    few = both("class_0", "class_1", "few_4", "few_16")
    all_of(lost, (*few, "few_1_minmax"), 0, 0)
    all_of(lost, ("few_1_entropy2",), 0, 0.003)
    all_of(noise, few, 42, 45)
    all_of({name: noise[name.replace("1_", "16_")] - noise[name] for name in both("few_1")}, both("few_1"), 6, 16)
    for name in (*few, *both("few_1")):
        assert layers[name][0] < layers["trt_int8"][0], f"{name}: as many INT8 layers as in a batch of 64: {layers[name]}"
        assert abs(image[name] - image["trt_int8"]) < 0.001, f"{name}: {rows[name]}"
    all_of(lost, both("stale"), 0.03, 0.036)
    all_of(noise, both("stale"), 3, 5)
    for name in both("stale"):
        assert rows[name]["counted_batches"] == 0, f"{name}: the calibrator was asked for batches: {rows[name]}"
    all_of(lost, ("activation_entropy2",), 0.025, 0.035)
    all_of(accuracy, ("activation_minmax",), 0, 0.12)
    all_of(lost, MENDED, 0, 0)
    spread = rows["activation_minmax"]["counted_ranges"]["relu1"] / rows["trt_int8_minmax"]["counted_ranges"]["relu1"]
    assert 127 / spread < 0.5, f"a channel that is not the outlier keeps {127 / spread:.2f} of a step"

    all_of(accuracy, ("weight_tensor",), 0, 0.3)
    all_of(accuracy, ("without_conv1", "without_conv3", "without_conv4", "without_fc"), 0, 0.12)
    for name in ("weight_tensor", "weight_channel", *(f"without_{layer}" for layer in digits.CNN_LAYERS)):
        assert abs(accuracy[name] - rows[name]["measured_ort_accuracy"]) < 0.02, f"{name}: ONNX Runtime says otherwise: {rows[name]}"
    placed = ("placed_outputs", "placed_skip", "placed_shared", "asymmetric_uint8_zero")
    all_of(lost, placed, 0, 0)
    all_of({name: noise["placed_inputs"] - noise[name] for name in placed}, placed, -0.5, 1)
    for name in placed:
        same = name in ("placed_shared", "asymmetric_uint8_zero")
        assert (layers[name] == layers["placed_inputs"]) == same, f"{name}: {layers[name]} layers, {layers['placed_inputs']} where it is right"
    for name in ("asymmetric_zero_10", "asymmetric_uint8"):
        assert "must be all zeros" in rows[name].get("counted_refusal", ""), f"{name} was built: {rows[name]}"
    assert rows["asymmetric_uint8_zero"]["measured_ort_accuracy"] < right - 0.04, f"ONNX Runtime minds no UINT8: {rows['asymmetric_uint8_zero']}"


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
    """Put both calibrators of a case into one row, and name the rows that a table shows by themselves."""
    made: dict[str, Row] = {}
    sides = {"right_entropy2": rows["trt_int8"], "right_minmax": rows["trt_int8_minmax"]}
    for name, row in (sides | rows).items():
        case = name.removesuffix("_entropy2")
        other = (sides | rows).get(f"{case}_minmax")
        if case != name and other:
            made[f"case_{case}"] = {"case": case} | {
                f"measured_{kind}_{key}": each[f"measured_{key}"]
                for kind, each in (("entropy", row), ("minmax", other))
                for key in ("accuracy", "noise_db")
            }
        elif "rung" in row:
            made[name] = row | {"rung": name, "counted_int8_layers": row.get("counted_int8_layers", 0)}
        elif "measured_ort_accuracy" in row and "measured_accuracy" in row:
            made[name] = row | {"placed": name}
    return made


class Bench:
    """The test images, the calibration images, and FP32's scores to compare with."""

    def __init__(self) -> None:
        """Load the digits and compute the scores."""
        (images, self.digit_labels), (held, self.labels) = digits.data()
        self.raw = images[: digits.CALIBRATION]
        self.classes = self.digit_labels[: digits.CALIBRATION]
        self.calibration = digits.prepare(self.raw)
        self.test = digits.prepare(held)
        self.weights = digits.weights("cnn")
        self.scores = digits.cnn_activations(self.weights, self.test)["scores"]

    def score(self, scores: Any) -> Row:
        """Give the accuracy of scores, and how far they are from FP32's."""
        import numpy as np  # noqa: PLC0415 - a bench is imported without it too

        error = np.sum((scores.astype(np.float64) - self.scores) ** 2)
        noise = 10 * np.log10(np.sum(self.scores.astype(np.float64) ** 2) / max(float(error), 1e-30))
        return {"measured_accuracy": digits.accuracy(scores, self.labels), "measured_noise_db": round(float(noise), 1)}

    def engine(self, worker: trt.Worker, model: bytes, **options: Any) -> Row:
        """Build an engine, run the test images, and give its score, with what ran in INT8."""
        found = worker.build("engine", model, level=LEVEL, **options)
        scores = worker.run("engine", image=self.test)["scores"]
        row = self.score(scores) | {"counted_int8_layers": integer_layers(found), "counted_layers": len(found["layers"])}
        if "calibration" in found:
            row["counted_batches"] = found["calibration"]["batches"]
            ranges = found["calibration"]["ranges"]
            row["counted_ranges"] = {key: round(ranges[key], 4) for key in digits.CNN_TENSORS if key in ranges}
        worker.free("engine")
        return row

    def implicit(self, worker: trt.Worker, images: Any, kind: str, values: Any = None, **options: Any) -> Row:
        """Build an engine that a calibrator quantises, and score it; images come in one batch each, as many as there are."""
        batch = min(len(images), 64)
        model = digits.cnn(self.weights if values is None else values, batch)
        calibrator = {"kind": kind, "data": worker.save(image=images), "batch": batch} | options.pop("calibrator", {})
        return self.engine(worker, model, **({"flags": INT8, "pins": CONVOLUTIONS, "calibrator": calibrator} | options))

    def explicit(self, worker: trt.Worker, values: Any = None, ranges: Any = None, **options: Any) -> Row:
        """Build an engine from explicit Q/DQ pairs, and score it; ONNX Runtime runs the same model beside it."""
        values = self.weights if values is None else values
        if ranges is None:
            ranges = largest(digits.cnn_activations(values, self.calibration))
        model = digits.cnn(values, 64, ranges=ranges, **options)
        row = {"measured_ort_accuracy": self.score(run_ort(model, self.test, 64))["measured_accuracy"]}
        return row | self.engine(worker, model, flags=["int8", "fp16"])


def ladder(worker: trt.Worker) -> Iterator[tuple[str, Row]]:
    """Go down from ONNX Runtime's FP32 to INT8, one change at a time."""
    bench = Bench()
    model = digits.cnn(bench.weights, 64)
    yield "ort_fp32", {"rung": "ONNX Runtime FP32"} | bench.score(run_ort(model, bench.test, 64))
    for name, rung, flags in (("trt_fp32", "TensorRT FP32", []), ("trt_tf32", "TensorRT TF32", ["tf32"]), ("trt_fp16", "TensorRT FP16", ["fp16"])):
        yield name, {"rung": rung} | bench.engine(worker, model, flags=flags)
    for kind in ("entropy2", "minmax"):
        row = bench.implicit(worker, bench.calibration, kind)
        yield "trt_int8" if kind == "entropy2" else "trt_int8_minmax", {"rung": f"TensorRT INT8 {kind}"} | row
    yield (
        "trt_int8_free",
        {"rung": "TensorRT INT8 where it is faster"} | bench.implicit(worker, bench.calibration, "entropy2", pins={}, flags=["int8", "fp16"]),
    )
    yield "trt_int8_qdq", {"rung": "TensorRT INT8 Q/DQ"} | bench.explicit(worker)


def data(worker: trt.Worker) -> Iterator[tuple[str, Row]]:
    """Break the calibration data: preprocessing, a corrupt image, one class, too few."""
    import numpy as np  # noqa: PLC0415 - as above

    bench = Bench()
    corrupt = bench.raw.copy()
    corrupt[100, 3, 3] = PIXEL
    cases = {
        "preprocess_raw": ("preprocessing", "pixels 0 to 16", bench.raw[:, None]),
        "preprocess_255": ("preprocessing", "pixels / 255", bench.raw[:, None] / np.float32(255)),
        "corrupt": ("corrupt image", "one pixel 1000", digits.prepare(corrupt)),
        "blank": ("blank images", "all zero", digits.prepare(np.zeros_like(bench.raw))),
        "class_1": ("one class", "32 images of 1", bench.calibration[bench.classes == 1][:32]),
        "class_0": ("one class", "32 images of 0", bench.calibration[bench.classes == 0][:32]),
        "few_1": ("too few", "1 image", bench.calibration[:1]),
        "few_4": ("too few", "4 images", bench.calibration[:4]),
        "few_16": ("too few", "16 images", bench.calibration[:16]),
    }
    for name, (cause, variant, images) in cases.items():
        for kind in ("entropy2", "minmax"):
            yield f"{name}_{kind}", {"cause": cause, "variant": variant, "calibrator": kind} | bench.implicit(worker, images.astype(np.float32), kind)


def numbers(worker: trt.Worker) -> Iterator[tuple[str, Row]]:
    """Break the numbers inside: a channel that is larger than the rest in an activation or a weight; keep a layer in FP16, or equalise."""
    bench = Bench()
    wide = digits.outlier_activation(bench.weights, 3, OUTLIER)
    for kind in ("entropy2", "minmax"):
        broken = bench.implicit(worker, bench.calibration, kind, wide)
        yield f"activation_{kind}", {"cause": "outlier channel", "variant": "activation", "calibrator": kind} | broken
        pins = {"conv1": "float16", "conv2": "float16", "relu1": "float16", "conv3": "int8", "conv4": "int8"}
        mended = bench.implicit(worker, bench.calibration, kind, wide, pins=pins)
        yield f"activation_pinned_{kind}", {"cause": "outlier channel", "variant": "conv1 and conv2 in FP16", "calibrator": kind} | mended
    heavy = digits.outlier_weight(bench.weights, 5, OUTLIER)
    layers = digits.CNN_LAYERS[:4]
    for name, by_channel in (("tensor", False), ("channel", True)):
        row = bench.explicit(worker, heavy, layers=layers, by_channel=by_channel)
        yield f"weight_{name}", {"cause": "outlier weight", "variant": f"a scale a {name}"} | row
    for layer in digits.CNN_LAYERS:
        others = tuple(other for other in digits.CNN_LAYERS if other != layer)
        row = bench.explicit(worker, wide, layers=others)
        yield f"without_{layer}", {"cause": "sensitive layer", "variant": f"all but {layer}"} | row


def cache(worker: trt.Worker) -> Iterator[tuple[str, Row]]:
    """Use the calibration cache of a network with the same names and other numbers."""
    bench = Bench()
    old = digits.outlier_activation(bench.weights, slice(None), STALE)
    for kind in ("entropy2", "minmax"):
        model = digits.cnn(old, 64)
        data = worker.save(image=bench.calibration)
        calibrator = {"kind": kind, "data": data, "batch": 64}
        text = worker.build("old", model, level=LEVEL, flags=INT8, pins=CONVOLUTIONS, calibrator=calibrator)["calibration"]["cache"]
        worker.free("old")
        row = bench.implicit(worker, bench.calibration, kind, calibrator={"cache": text})
        yield f"stale_{kind}", {"cause": "stale cache", "variant": "relu1 was a tenth", "calibrator": kind} | row


def placement(worker: trt.Worker) -> Iterator[tuple[str, Row]]:
    """Place Q/DQ pairs where they do not belong, and give zero points that TensorRT does not take."""
    bench = Bench()
    ranges = largest(digits.cnn_activations(bench.weights, bench.calibration))
    for name, options in (
        ("inputs", {}),
        ("outputs", {"placement": "outputs"}),
        ("skip", {"placement": "skip"}),
        ("shared", {"placement": "shared"}),
    ):
        yield f"placed_{name}", {"cause": "placement", "variant": name} | bench.explicit(worker, ranges=ranges, **options)
    for name, zero, kind in (("zero_10", 10, "int8"), ("uint8", 128, "uint8"), ("uint8_zero", 0, "uint8")):
        try:
            row = bench.explicit(worker, ranges=ranges, zero=zero, kind=kind)
        except trt.TensorRTError as error:
            row = {"counted_refusal": str(error)[:300], "said": error.log[-5:]}
        yield f"asymmetric_{name}", {"cause": "zero point", "variant": f"{kind} {zero}"} | row


PARTS: dict[str, Part] = {"ladder": ladder, "placement": placement, "cache": cache, "numbers": numbers, "data": data}


def largest(activations: dict[str, Any]) -> dict[str, float]:
    """Give the largest magnitude of each tensor."""
    return {key: float(abs(value).max()) for key, value in activations.items()}


def run_ort(model: bytes, images: Any, batch: int) -> Any:
    """Give ONNX Runtime's scores on the CPU, a batch after the other, the last one filled up."""
    import numpy as np  # noqa: PLC0415 - as above

    onnxruntime: Any = importlib.import_module("onnxruntime")
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    padded = np.concatenate([images, np.repeat(images[-1:], -len(images) % batch, 0)])
    parts = [session.run(None, {"image": padded[start : start + batch]})[0] for start in range(0, len(padded), batch)]
    return np.concatenate(parts)[: len(images)]


def integer_layers(found: dict[str, Any]) -> int:
    """Count the layers of an engine that take INT8."""
    return sum(any("int8" in tensor["format"].lower() for tensor in layer["inputs"]) for layer in found["layers"])


if __name__ == "__main__":
    main()
