"""Calibrate with TensorRT's own calibrators in batches of every size and in several orders, and compare each range with the model's."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import bench_seeds
import histogram
import samples

import digits
import gpu
import graphs
import trt

Row = dict[str, Any]
Part = Callable[[trt.Worker], Iterator[tuple[str, Row]]]

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
SEEDS = 3
SIDE = 16  # a row of samples is an image of 16 x 16
# calibrator, order, batch
KNOWN = (
    *(("entropy2", "forward", batch) for batch in (1, 2, 4, 8, 16, 64)),
    *(("entropy2", order, batch) for order in ("backward", "shuffled") for batch in (1, 4)),
    ("entropy", "forward", 1),
    *(("minmax", "forward", batch) for batch in (1, 8, 64)),
)
IMAGE = 0.0013  # one of 797
DIGITS = 6  # significant ones, to which ranges are compared
NETWORK_DIGITS = 4  # the model's activations are NumPy's
INT8: dict[str, Any] = {"flags": ["int8", "fp16", "obey"], "pins": {"conv*": "int8"}, "level": 0}
TABLES = {
    "known": {
        "calibrator": ("校准器", "Calibrator"),
        "order": ("顺序", "Order"),
        "batch": ("batch", "Batch"),
        **{f"counted_{name}": (f"`{name}`", f"`{name}`") for name in ("laplace", "relu", "growing", "late")},
    },
    "network": {
        "calibrator": ("校准器", "Calibrator"),
        "order": ("顺序", "Order"),
        "batch": ("batch", "Batch"),
        "counted_relu1": ("`relu1`", "`relu1`"),
        "counted_relu3": ("`relu3`", "`relu3`"),
        "measured_accuracy": ("准确率", "Accuracy"),
        "measured_noise_db": ("信噪比（dB）", "Signal to noise (dB)"),
        "measured_calibration_s": ("校准用时（s）", "Calibration (s)"),
    },
    "orders": {
        "arranged": ("顺序", "Order"),
        "batch": ("batch", "Batch"),
        "counted_relu1": ("`relu1`", "`relu1`"),
        "counted_relu3": ("`relu3`", "`relu3`"),
        "measured_accuracy": ("准确率", "Accuracy"),
        "measured_noise_db": ("信噪比（dB）", "Signal to noise (dB)"),
    },
}


def predict(inputs: Row) -> Row:
    """Give the range of each distribution by the model: the largest value for MinMax, the threshold of the histogram for entropy."""
    if "accuracy_of" in inputs:
        return {}
    order = order_of(inputs["order"])
    found = {}
    for name in samples.DISTRIBUTIONS:
        rows = [samples.row(name, number) for number in order]
        if inputs["calibrator"] == "minmax":
            value = max(abs(value) for row in rows for value in row)
        else:
            value = histogram.threshold(histogram.calibrated(rows, inputs["batch"]))
        found[f"predicted_{name}"] = shortened(value, DIGITS)
    return found


def check(rows: dict[str, Row]) -> None:
    """Assert that TensorRT's ranges are the model's, that MinMax's do not move, and that entropy's do."""
    for name, row in rows.items():
        for key, value in row.items():
            if key.startswith("predicted_"):
                counted = row[key.replace("predicted_", "counted_")]
                assert value == counted, f"{name}: {key} is {value}, TensorRT's {counted}"
        assert row.get("counted_unlike_model", 0) == 0, f"{name}: {row['counted_unlike_model']} ranges are not the model's"
    for part in ("known", "network"):
        for calibrator, moves in (("minmax", False), ("entropy2", True)):
            mine = [row for name, row in rows.items() if name.startswith(f"{part}_{calibrator}_")]
            ranges = {tuple(value for key, value in row.items() if key.startswith("counted_") and isinstance(value, float)) for row in mine}
            assert (len(ranges) > 1) == moves, f"{part}: {calibrator} gave {len(ranges)} sets of ranges in {len(mine)} rows"
    calibrated = {name: row for name, row in rows.items() if name.startswith("network_")}
    assert {row["counted_tensors"] for row in calibrated.values()} == {11}, "network: not all tensors are compared"
    entropy = [row for name, row in calibrated.items() if name.startswith("network_entropy2_")]
    given = {batch: rows[f"network_entropy2_given_{batch}"] for batch in BATCHES}
    relu1 = [row["counted_relu1"] for row in given.values()]
    assert (min(relu1), max(relu1)) == (5.09, 5.97), f"network: relu1 moves between {min(relu1)} and {max(relu1)}"
    largest = rows["network_minmax_given_1"]["counted_relu3"]
    for row in entropy:
        assert 13.7 < row["counted_relu3"] < 13.8 or largest < 15.5 < row["counted_relu3"] < 15.7, f"network: relu3 is {row['counted_relu3']}"
    for row in (rows[f"network_entropy2_seed_{seed}_512"] for seed in range(SEEDS)):
        moved = {key for key, value in row.items() if key.startswith("counted_") and not close(value, given[BATCHES[-1]][key])}
        assert not moved, f"network: the order moves {moved} of one batch: {row}"
    assert max(row["measured_accuracy"] for row in calibrated.values()) - min(row["measured_accuracy"] for row in calibrated.values()) < IMAGE / 2
    noises = [row["measured_noise_db"] for row in entropy]
    assert 0.5 < max(noises) - min(noises) < 0.6, f"network: the noise is from {min(noises)} to {max(noises)} dB"
    noise = {batch: row["measured_noise_db"] for batch, row in given.items()}
    assert noise[32] < noise[1] < noise[512] == max(noise.values()), f"network: {noise} dB"
    for key, value in rows["known_entropy_forward_1"].items():
        assert key == "calibrator" or value == rows["known_entropy2_forward_1"][key], f"known: the entropy calibrators differ in {key}"
    late = rows["known_entropy2_forward_1"]["counted_late"] / rows["known_entropy2_forward_64"]["counted_late"]
    assert 1.07 < late < 1.09, f"known: late is {late} times as wide in batches of one"
    back, whole = (rows[f"known_entropy2_{name}"]["counted_late"] for name in ("backward_1", "forward_64"))
    assert back == whole, f"known: late backward gives {back}, one batch {whole}"
    seconds = {batch: row["measured_calibration_s"] for batch, row in given.items()}
    assert seconds[1] > 10 * seconds[512], f"network: {seconds} s"
    several = [value for batch, value in seconds.items() if batch >= 32]
    assert max(several) > 20 * min(several), f"network: the times from 32 on do not scatter: {several}"


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


def known(worker: trt.Worker) -> Iterator[tuple[str, Row]]:
    """Calibrate on the distributions of samples.py, which the model knows to the bit."""
    import numpy as np  # noqa: PLC0415 - a bench is imported without it too

    arrays = {
        name: np.array([samples.row(name, number) for number in range(samples.ROWS)], np.float32).reshape(-1, 1, SIDE, SIDE)
        for name in samples.DISTRIBUTIONS
    }
    model, data = branches(), worker.save(**arrays)
    for calibrator, order, batch in KNOWN:
        asked = {"kind": calibrator, "data": data, "batch": batch, "order": order_of(order)}
        found = worker.build("known", model, flags=["int8"], level=0, calibrator=asked, profile=[1, 8, 64])["calibration"]
        inputs = {"calibrator": calibrator, "order": order, "batch": batch}
        counted = {f"counted_{name}": shortened(found["ranges"][name], DIGITS) for name in samples.DISTRIBUTIONS}
        yield f"known_{calibrator}_{order}_{batch}", inputs | predict(inputs) | counted | {"counted_batches": found["batches"]}


def network(worker: trt.Worker) -> Iterator[tuple[str, Row]]:
    """Calibrate the network for digits on the same images, over batch sizes and orders, and test what comes out."""
    import numpy as np  # noqa: PLC0415 - as above

    (images, _), (held, labels) = digits.data()
    calibration, test = digits.prepare(images[: digits.CALIBRATION]), digits.prepare(held)
    weights = digits.weights("cnn")
    activations, exact = digits.cnn_activations(weights, calibration), digits.cnn_activations(weights, test)["scores"]
    data, model = worker.save(image=calibration), digits.cnn(weights, "N")
    given = list(range(digits.CALIBRATION))
    rising = [int(number) for number in np.argsort(np.abs(calibration).sum((1, 2, 3)), kind="stable")]
    orders = {"given": given, "rising": rising, "falling": rising[::-1]}
    for seed in range(SEEDS):
        orders[f"seed {seed}"] = [int(number) for number in np.random.default_rng(seed).permutation(digits.CALIBRATION)]
    cases = [("entropy2", "given", batch) for batch in BATCHES]
    cases += [("minmax", "given", batch) for batch in (1, 64, 512)]
    cases += [("entropy2", order, batch) for order in orders if order != "given" for batch in (1, 512 if order.startswith("seed") else 64)]
    for calibrator, order, batch in cases:
        asked = {"kind": calibrator, "data": data, "batch": batch, "order": orders[order]}
        found = worker.build("net", model, calibrator=asked, profile=[1, 64, 64], **INT8)["calibration"]
        scores = worker.run("net", chunk=64, image=test)["scores"]
        ranges = {name: shortened(value, NETWORK_DIGITS) for name, value in found["ranges"].items() if name in activations}
        ours = {name: bench_seeds.by_model(activations[name][orders[order]], batch) for name in ranges}
        if calibrator == "minmax":
            ours = {name: float(np.abs(activations[name]).max()) for name in ranges}
        unlike = {name: [ranges[name], shortened(value, NETWORK_DIGITS)] for name, value in ours.items() if not close(ranges[name], value)}
        yield f"network_{calibrator}_{order}_{batch}".replace(" ", "_"), {
            "accuracy_of": "digits", "calibrator": calibrator, "order" if order == "given" else "arranged": order, "batch": batch,
            "counted_batches": found["batches"],
            "measured_accuracy": digits.accuracy(scores, labels), "measured_noise_db": bench_seeds.noise(scores, exact),
            "measured_calibration_s": round(found["seconds"], 4), "counted_tensors": len(ranges), "counted_unlike_model": len(unlike),
            "unlike": unlike,
        } | {f"counted_{name}": value for name, value in ranges.items()}  # fmt: skip


PARTS: dict[str, Part] = {"network": network, "known": known}


def order_of(name: str) -> list[int]:
    """Give the rows of samples.py in an order."""
    forward = list(range(samples.ROWS))
    return {"forward": forward, "backward": forward[::-1], "shuffled": [number * 37 % samples.ROWS for number in forward]}[name]


def shortened(value: float, figures: int) -> float:
    """Round to significant figures."""
    return float(f"{value:.{figures}g}")


def close(left: float, right: float) -> bool:
    """Tell whether two ranges are the same to the figures that are compared."""
    return abs(left - right) <= 10.0 ** (1 - NETWORK_DIGITS) * abs(right)


def branches() -> bytes:
    """Give a network with an input a distribution, each into a convolution of its own: its inputs' ranges are what is read."""
    import numpy as np  # noqa: PLC0415 - as above

    graph = graphs.Graph()
    inputs: dict[str, list[Any]] = {}
    outputs: dict[str, list[Any]] = {}
    for index, name in enumerate(samples.DISTRIBUTIONS):
        inputs[name] = ["N", 1, SIDE, SIDE]
        graph.constant(name + ".w", np.random.default_rng(index).standard_normal((4, 1, 3, 3)))
        graph.node("Conv", [name, name + ".w"], name + ".out", pads=[1, 1, 1, 1], kernel_shape=[3, 3])
        outputs[name + ".out"] = ["N", 4, SIDE, SIDE]
    return graph.model(inputs, outputs)


if __name__ == "__main__":
    main()
