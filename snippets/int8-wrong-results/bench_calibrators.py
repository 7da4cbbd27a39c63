"""Compare the models of the calibrators with TensorRT's and ONNX Runtime's own on a network's activations, and test what each is worth."""

import contextlib
import importlib
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import bench_causes
import calibrators

import digits
import gpu
import trt

Row = dict[str, Any]
Part = Callable[[trt.Worker], Iterator[tuple[str, Row]]]

# images -> the tensors whose ranges are compared
TENSORS = {"clean": ("conv1", "relu1", "relu3", "conv4", "scores"), "one corrupt": ("image", "relu1", "relu3")}
CORRUPT = 10  # the image in which one pixel is
IMAGES = 64  # in one batch
SAMPLE = 20_000  # values of a tensor that the slower models look at, evenly chosen, and the largest
FIGURES = 4
TABLES = {
    "ranges": {
        "shown": ("校准图片", "Calibration images"),
        "tensor": ("张量", "Tensor"),
        "counted_largest": ("最大值", "Largest"),
        "predicted_tensorrt": ("模型：TensorRT", "Model: TensorRT"),
        "counted_tensorrt": ("TensorRT 熵校准器", "TensorRT's entropy calibrator"),
        "predicted_onnxruntime": ("模型：ONNX Runtime", "Model: ONNX Runtime"),
        "counted_onnxruntime": ("ONNX Runtime 熵校准器", "ONNX Runtime's entropy collector"),
    },
    "worth": {
        "images": ("校准图片", "Calibration images"),
        "way": ("校准方法", "Calibrator"),
        "relu1": ("`relu1`", "`relu1`"),
        "measured_accuracy": ("准确率", "Accuracy"),
        "measured_noise_db": ("信噪比（dB）", "Signal to noise (dB)"),
    },
}


def predict(inputs: Row) -> Row:
    """Give both entropy thresholds from a tensor's histograms; an accuracy is measured."""
    if "way" in inputs:
        return {}
    largest = inputs["largest"]
    low, high = calibrators.entropy(inputs["two_sided"], largest)
    ends = (max(low, inputs["least"]), min(high, inputs["most"]))
    return {
        "predicted_tensorrt": shortened(calibrators.tensorrt_entropy(inputs["one_sided"], largest)),
        "predicted_onnxruntime": shortened(max(-ends[0], ends[1])),
    }


def check(rows: dict[str, Row]) -> None:
    """Assert that the models' thresholds are those of the real calibrators, how far entropy can clip, and which way survives a corrupt image."""
    for name, row in rows.items():
        for key in ("tensorrt", "onnxruntime"):
            if f"predicted_{key}" in row:
                predicted, counted = row[f"predicted_{key}"], row[f"counted_{key}"]
                assert predicted == counted, f"{name}: {key} chose {counted}, the model {predicted}"
    image, relu1 = (rows[f"ranges_one_corrupt_{tensor}"] for tensor in ("image", "relu1"))
    assert image["counted_tensorrt"] >= image["counted_largest"], f"one corrupt: the pixel is clipped: {image['counted_tensorrt']}"
    assert 1 / 16 <= relu1["counted_tensorrt"] / relu1["counted_largest"] < 1 / 12, f"one corrupt: relu1 {relu1['counted_tensorrt']}"
    clean, corrupt = ({row["way"]: row["measured_noise_db"] for row in rows.values() if row.get("images") == images} for images in TENSORS)
    accuracies = [row["measured_accuracy"] for row in rows.values() if row.get("images") == "clean"]
    assert max(accuracies) - min(accuracies) <= 0.005, f"clean: accuracies {accuracies}"
    assert max(clean.values()) - min(clean.values()) > 10, f"clean: {clean}"
    assert corrupt.pop("99.9 %") > 25, "one corrupt: 99.9 % does not mend it"
    assert rows["worth_one_corrupt_99.9_%"]["measured_accuracy"] == max(accuracies), "one corrupt: 99.9 % costs accuracy"
    assert max(corrupt.values()) < 20, f"one corrupt: {corrupt}"


def main() -> None:
    """Run all parts, check, and print the record's rows."""
    if gpu.launching():
        return
    rows: dict[str, Row] = {}
    with trt.Worker() as worker:
        for part in PARTS.values():
            for name, row in part(worker):
                rows[name] = row
                gpu.say(f"{name} {str(row)[-300:]}")
        conditions = worker.conditions()
    check(rows)
    print(json.dumps({"rows": rows, "conditions": conditions}))


def ranges(worker: trt.Worker) -> Iterator[tuple[str, Row]]:
    """Calibrate on one batch, of clean images and of images of which one is corrupt, and compare the thresholds."""
    bench = bench_causes.Bench()
    for shown, images in batches(bench).items():
        activations = digits.cnn_activations(bench.weights, images)
        found = {}
        for kind in ("entropy2", "minmax"):
            calibrator = {"kind": kind, "data": worker.save(image=images), "batch": IMAGES}
            options: dict[str, Any] = {"flags": bench_causes.INT8, "pins": bench_causes.CONVOLUTIONS, "level": 0, "calibrator": calibrator}
            found[kind] = worker.build("engine", digits.cnn(bench.weights, IMAGES), **options)["calibration"]["ranges"]
        yield from compared(shown, activations, found)


def batches(bench: bench_causes.Bench) -> dict[str, Any]:
    """Give the calibration batch, clean and with one pixel that no camera gives."""
    corrupt = bench.raw[:IMAGES].copy()
    corrupt[CORRUPT, 3, 3] = bench_causes.PIXEL
    return {"clean": bench.calibration[:IMAGES], "one corrupt": digits.prepare(corrupt)}


def compared(shown: str, activations: dict[str, Any], found: dict[str, dict[str, float]]) -> Iterator[tuple[str, Row]]:
    """Give a row a tensor: its histograms, the models' thresholds, the real ones."""
    for tensor in TENSORS[shown]:
        values = [float(value) for value in activations[tensor].ravel()]
        largest = calibrators.maximum(values)
        inputs = {
            "shown": shown,
            "tensor": tensor,
            "largest": largest,
            "least": min(values),
            "most": max(values),
            "one_sided": calibrators.magnitudes(values, calibrators.TRT_BINS, largest),
            "two_sided": calibrators.histogram(values, calibrators.BINS, largest),
        }
        counted = {
            "counted_largest": shortened(found["minmax"][tensor]),
            "counted_tensorrt": shortened(found["entropy2"][tensor]),
            "counted_onnxruntime": shortened(onnxruntime_entropy(activations[tensor])),
        }
        yield f"ranges_{shown}_{tensor}".replace(" ", "_"), inputs | predict(inputs) | counted


def worth(worker: trt.Worker) -> Iterator[tuple[str, Row]]:
    """Give TensorRT the ranges of each model, on clean images and on images of which one is corrupt, and test the network."""
    bench = bench_causes.Bench()
    model = digits.cnn(bench.weights, IMAGES)
    for images, batch in batches(bench).items():
        activations = digits.cnn_activations(bench.weights, batch)
        activations["flattened"], activations["fc"] = activations["relu4"], activations["scores"]
        for way, choose in WAYS.items():
            chosen = {name: choose(sampled(array)) for name, array in activations.items()}
            row = bench.engine(worker, model, flags=bench_causes.INT8, pins=bench_causes.CONVOLUTIONS, ranges=chosen | {"*": chosen["scores"]})
            yield f"worth_{images}_{way}".replace(" ", "_"), {"images": images, "way": way, "relu1": shortened(chosen["relu1"])} | row


WAYS: dict[str, Callable[[list[float]], float]] = {
    "max": calibrators.maximum,
    "99.99 %": lambda values: calibrators.percentile(values, 99.99),
    "99.9 %": lambda values: calibrators.percentile(values, 99.9),
    "TRT entropy": lambda values: calibrators.tensorrt_entropy(
        calibrators.magnitudes(values, calibrators.TRT_BINS, calibrators.maximum(values)), calibrators.maximum(values)
    ),
    "ORT entropy": lambda values: calibrators.one_scale(
        calibrators.entropy(calibrators.histogram(values, calibrators.BINS, calibrators.maximum(values)), calibrators.maximum(values)), values
    ),
    "mean square": lambda values: calibrators.least_squares([*values[::8], values[-1]]),
}
PARTS: dict[str, Part] = {"ranges": ranges, "worth": worth}


def sampled(array: Any) -> list[float]:
    """Give evenly chosen values of a tensor, and its largest."""
    flat = array.ravel()
    values = [float(value) for value in flat[:: max(1, len(flat) // SAMPLE)]]
    return [*values, float(flat[abs(flat).argmax()])]


def onnxruntime_entropy(array: Any) -> float:
    """Give the threshold of ONNX Runtime's collector."""
    calibrate: Any = importlib.import_module("onnxruntime.quantization.calibrate")
    collector = calibrate.HistogramCollector("entropy", True, calibrators.BINS, calibrators.LEVELS, 99.99, "same")  # noqa: FBT003 - its own order
    with contextlib.redirect_stdout(io.StringIO()):
        collector.collect({"tensor": array})
        low, high, *_ = collector.compute_collection_result()["tensor"]
    return max(-float(low), float(high))


def shortened(value: float) -> float:
    """Round to the figures that are compared."""
    return float(f"{value:.{FIGURES}g}")


if __name__ == "__main__":
    main()
