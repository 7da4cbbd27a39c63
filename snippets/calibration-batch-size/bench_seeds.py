"""Calibrate the network for digits in thirty orders, by the model's histogram and by ONNX Runtime's, in the smallest and the largest batch.

Thirty orders of the same images show what is noise; the two batches, image by image in the same orders, what is not. The
INT8 network runs in ONNX Runtime on the CPU, where calibration by its collector takes place too.
"""

import contextlib
import importlib
import io
import json
import math
import os
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import histogram

import digits
import gpu

DEVICE = "cpu"
Row = dict[str, Any]

SEEDS = 30
IMAGE = 0.0013  # one of 797
BATCHES = (1, 512)
BINS = {"model": 2048, "onnxruntime": 512, "onnxruntime_128": 128}  # 128 is ONNX Runtime's default
TABLES = {
    "seeds": {
        "calibrator": ("校准器", "Calibrator"),
        "batch": ("batch", "Batch"),
        "measured_accuracy_mean": ("准确率均值", "Mean accuracy"),
        "measured_accuracy_deviation": ("标准差", "Standard deviation"),
        "measured_accuracy_least": ("最低", "Least"),
        "measured_accuracy_most": ("最高", "Most"),
        "measured_noise_db": ("信噪比（dB）", "Signal to noise (dB)"),
    },
    "difference": {
        "calibrator": ("校准器", "Calibrator"),
        "measured_difference": ("大 batch 减小 batch：准确率", "Large batch less small: accuracy"),
        "measured_standard_error": ("标准误差", "Standard error"),
    },
}


def predict(inputs: Row) -> Row:  # noqa: ARG001 - an accuracy is not a number that a model of twenty lines knows
    """Give nothing."""
    return {}


def check(rows: dict[str, Row]) -> None:
    """Assert that one batch knows no order, that single images know it hardly, and which batch is nearer to FP32."""
    small, large = BATCHES
    for name, row in rows.items():
        assert row["orders"] == SEEDS, f"{name}: {row['orders']} orders"
    for kind in BINS:
        one_batch = rows[f"{kind}_{large}"]
        assert one_batch["measured_accuracy_least"] == one_batch["measured_accuracy_most"], f"{kind}: the order matters in one batch: {one_batch}"
    for kind in ("model", "onnxruntime"):
        row = rows[f"{kind}_{small}"]
        spread_ = row["measured_accuracy_most"] - row["measured_accuracy_least"]
        assert spread_ <= IMAGE, f"{kind}: the order moves more than one image: {row}"
        assert row["measured_noise_deviation_db"] > 0, f"{kind}: the order moves nothing: {row}"
    assert rows[f"model_{large}"]["measured_noise_db"] > rows[f"model_{small}"]["measured_noise_db"], "model: the large batch is no better"
    assert rows[f"onnxruntime_{large}"]["measured_noise_db"] < rows[f"onnxruntime_{small}"]["measured_noise_db"], (
        "onnxruntime: the large batch is no worse"
    )
    default = rows[f"onnxruntime_128_{large}"]["measured_ranges"]
    for name, largest in rows["minmax"]["measured_ranges"].items():
        assert default[name][1] == largest[1], f"ONNX Runtime's 128 bins in one batch give {default[name]} for {name}, the largest value is {largest}"


def main() -> None:
    """Calibrate in all orders, check, and print the record's rows."""
    jobs = [(kind, batch, seed) for kind in BINS for batch in BATCHES for seed in range(SEEDS)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(jobs, pool.map(one, jobs), strict=True))
    rows: dict[str, Row] = {}
    for kind in BINS:
        for batch in BATCHES:
            mine = [found[kind, batch, seed] for seed in range(SEEDS)]
            rows[f"{kind}_{batch}"] = {"calibrator": kind, "batch": batch, "orders": SEEDS} | summary(mine)
        pairs = [(found[kind, BATCHES[1], seed], found[kind, BATCHES[0], seed]) for seed in range(SEEDS)]
        rows[f"{kind}_difference"] = {"calibrator": kind, "orders": SEEDS} | difference(
            [large["accuracy"] - small["accuracy"] for large, small in pairs]
        )
    rows["minmax"] = largest_values()
    for name, row in rows.items():
        gpu.say(f"{name} {row}")
    check(rows)
    versions = {"ONNX Runtime": importlib.import_module("onnxruntime").__version__, "Python": sys.version.split()[0]}
    print(json.dumps({"rows": rows, "versions": versions}))


def one(job: tuple[str, int, int]) -> Row:
    """Calibrate in one order and one batch, and test the network that results."""
    import numpy as np  # noqa: PLC0415 - a bench is imported without it too

    kind, batch, seed = job
    onnxruntime: Any = importlib.import_module("onnxruntime")
    (images, _), (held, labels) = digits.data()
    weights = digits.weights("cnn")
    order = np.random.default_rng(seed).permutation(digits.CALIBRATION)
    activations = digits.cnn_activations(weights, digits.prepare(images[: digits.CALIBRATION][order]))
    ranges = {name: RANGES[kind](activations[name], batch, BINS[kind]) for name in digits.CNN_TENSORS}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    model = digits.cnn(weights, len(held), ranges=ranges)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    scores = session.run(None, {"image": digits.prepare(held)})[0]
    exact = digits.cnn_activations(weights, digits.prepare(held))["scores"]
    return {"accuracy": digits.accuracy(scores, labels), "noise": noise(scores, exact), "ranges": ranges}


def noise(scores: Any, exact: Any) -> float:
    """Give how far scores are from the exact ones, as a ratio of signal to noise in decibels."""
    import numpy as np  # noqa: PLC0415 - as above

    ratio = float((exact.astype(np.float64) ** 2).sum() / ((scores.astype(np.float64) - exact) ** 2).sum())
    return round(10 * math.log10(ratio), 2)


def largest_values() -> Row:
    """Give what MinMax calibrates, whatever the order and the batch."""
    (images, _), _ = digits.data()
    activations = digits.cnn_activations(digits.weights("cnn"), digits.prepare(images[: digits.CALIBRATION]))
    found = {name: spread([float(abs(activations[name]).max())]) for name in digits.CNN_TENSORS}
    return {"calibrator": "minmax", "orders": SEEDS, "measured_ranges": found}


def by_model(array: Any, batch: int, bins: int = BINS["model"]) -> float:
    """Give the model's threshold, its counting done by NumPy."""
    import numpy as np  # noqa: PLC0415 - as above

    class Counted(histogram.Histogram):
        """The model's histogram, filled faster."""

        def add(self, batch: Any) -> None:
            """Let the model set the range by the largest value, and count the others."""
            largest = float(np.abs(batch).max())
            super().add([largest])
            index = np.minimum((np.abs(batch) / self.range * len(self.counts)).astype(int), len(self.counts) - 1)
            counted = np.bincount(index.ravel(), minlength=len(self.counts))
            self.counts = [left + int(right) for left, right in zip(self.counts, counted, strict=True)]
            self.counts[min(int(largest / self.range * len(self.counts)), len(self.counts) - 1)] -= 1

    counted = Counted(bins)
    for start in range(0, len(array), batch):
        counted.add(array[start : start + batch])
    return histogram.threshold(counted)


def by_onnxruntime(array: Any, batch: int, bins: int) -> float:
    """Give the threshold of ONNX Runtime's entropy collector."""
    calibrate: Any = importlib.import_module("onnxruntime.quantization.calibrate")
    collector = calibrate.HistogramCollector("entropy", True, bins, 128, 99.99, "same")  # noqa: FBT003 - its own order
    with contextlib.redirect_stdout(io.StringIO()):
        for start in range(0, len(array), batch):
            collector.collect({"tensor": array[start : start + batch]})
        low, high, *_ = collector.compute_collection_result()["tensor"]
    return max(-float(low), float(high))


RANGES = {"model": by_model, "onnxruntime": by_onnxruntime, "onnxruntime_128": by_onnxruntime}


def summary(found: list[Row]) -> Row:
    """Give the mean, the spread and the ends of the accuracies, and the mean of the noise and of each range."""
    accuracies = [each["accuracy"] for each in found]
    return {
        "measured_accuracy_mean": round(statistics.mean(accuracies), 5),
        "measured_accuracy_deviation": round(statistics.stdev(accuracies), 5),
        "measured_accuracy_least": min(accuracies),
        "measured_accuracy_most": max(accuracies),
        "measured_noise_db": round(statistics.mean(each["noise"] for each in found), 2),
        "measured_noise_deviation_db": round(statistics.stdev(each["noise"] for each in found), 2),
        "measured_ranges": {name: spread([each["ranges"][name] for each in found]) for name in digits.CNN_TENSORS},
    }


def difference(differences: list[float]) -> Row:
    """Give the mean difference between the two batches and its standard error: an effect is more than two of them."""
    error = statistics.stdev(differences) / math.sqrt(len(differences))
    return {"measured_difference": round(statistics.mean(differences), 5), "measured_standard_error": round(error, 5)}


def spread(values: list[float]) -> list[float]:
    """Give the least, the mean and the largest of values."""
    return [round(value, 4) for value in (min(values), statistics.mean(values), max(values))]


if __name__ == "__main__":
    main()
