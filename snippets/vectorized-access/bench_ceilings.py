"""Measure the two roofs, five kernels between them, and copies with a stride: what a roofline is drawn from."""

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bandwidth
import roofline

import gpu

COPY = Path(__file__).with_name("copy.cu")
CEILINGS = Path(__file__).with_name("ceilings.cu")
FLOATS = 2**29  # 2 GiB read, 2 GiB written
STRIDED_FLOATS = 2**26  # written by a strided copy; with stride 32 it reads over 8 GiB
COUNTED_FLOATS = 2**24  # the same under ncu, which is slower: 64 MiB written
BLOCK = 256
ROUNDS, REPEAT = 7, 3
FMAS = (1, 4, 16, 64, 256)
STRIDES = (1, 2, 4, 8, 32)
TURNS, FMAS_A_TURN = 4096, 8 * 16  # of multiply_add
POISON_BYTE = 0xFF
CLOCK_RATE, MULTIPROCESSORS, MEMORY_CLOCK_RATE, BUS_WIDTH = 13, 16, 36, 37  # cudaDeviceAttr; clocks in kHz
L2_FETCH_GRANULARITY = 5  # cudaLimitMaxL2FetchGranularity
LANES = 128  # float lanes of an SM: compute capability 8.6, 8.9, 9.0 and later
FMA_BLOCKS_AN_SM = 8  # all 2,048 threads
METRICS = ("dram__bytes_read.sum",)
FACTOR, SUMMAND = 0.5, 0.25  # of the FMAs: exact in float for the first steps, and bounded for all

TABLES = {
    "ceilings": {
        "predicted_peak_gb_s": ("显存峰值（GB/s）", "Peak of DRAM (GB/s)"),
        "measured_bandwidth_gb_s": ("float4 拷贝（GB/s）", "Copy by float4 (GB/s)"),
        "predicted_peak_gflop_s": ("FMA 峰值（GFLOP/s）", "Peak of FMA (GFLOP/s)"),
        "measured_gflop_s": ("八链 FMA（GFLOP/s）", "FMA in eight chains (GFLOP/s)"),
    },
    "roofline": {
        "fmas": ("每个 float 的 FMA", "FMAs a float"),
        "predicted_flop_per_byte": ("算术强度（FLOP/B）", "Intensity (FLOP/B)"),
        "predicted_gflop_s": ("预测（GFLOP/s）", "Predicted (GFLOP/s)"),
        "measured_gflop_s": ("实测（GFLOP/s）", "Measured (GFLOP/s)"),
        "counted_read_bytes_a_float": ("DRAM 读（字节 / float）", "DRAM read, bytes a float"),
    },
    "strides": {
        "stride": ("步长（float）", "Stride (floats)"),
        "predicted_moved_bytes_a_float": ("预测搬运（字节 / float）", "Predicted bytes moved a float"),
        "counted_read_bytes_a_float": ("DRAM 读（字节 / float）", "DRAM read, bytes a float"),
        "predicted_useful_gb_s": ("预测有用带宽（GB/s）", "Predicted useful (GB/s)"),
        "measured_useful_gb_s": ("实测有用带宽（GB/s）", "Measured useful (GB/s)"),
    },
}


def predict(inputs: dict[str, Any]) -> dict[str, Any]:
    """Give the predicted values of a row from its inputs."""
    if "bus_bits" in inputs:
        return {
            "predicted_peak_gb_s": round(bandwidth.dram_peak_gb_s(inputs["bus_bits"], inputs["memory_mhz"]), 1),
            "predicted_peak_gflop_s": round(roofline.arithmetic_peak_gflop_s(inputs["sms"], inputs["lanes"], inputs["clock_mhz"]), 1),
        }
    if "fmas" in inputs:
        flop_per_byte = roofline.intensity(inputs["fmas"])
        reached = roofline.attainable_gflop_s(flop_per_byte, inputs["peak_gflop_s"], inputs["bandwidth_gb_s"])
        return {
            "predicted_flop_per_byte": flop_per_byte,
            "predicted_gflop_s": round(reached, 1),
            "predicted_flop": 2 * inputs["fmas"] * inputs["floats"],
        }
    granularity = inputs["l2_fetch_bytes"]
    return {
        "predicted_moved_bytes_a_float": roofline.moved_bytes(inputs["stride"], granularity),
        "predicted_useful_gb_s": round(roofline.useful_gb_s(inputs["stride"], inputs["bandwidth_gb_s"], granularity), 1),
    }


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    roofs = rows["roofs"]
    assert 0.8 < roofs["measured_bandwidth_gb_s"] / roofs["predicted_peak_gb_s"] < 0.97, roofs
    assert 0.8 < roofs["measured_gflop_s"] / roofs["predicted_peak_gflop_s"] < 1.02, roofs
    # On the roof away from the ridge; beside it both roofs are needed at once, and a fifth to two fifths are missing.
    shares = {1: (0.95, 1.05), 4: (0.95, 1.05), 16: (0.95, 1.05), 64: (0.6, 0.82), 256: (0.85, 1)}
    for fmas, (lowest, highest) in shares.items():
        row = rows[f"fmas_{fmas}"]
        assert lowest < row["measured_gflop_s"] / row["predicted_gflop_s"] < highest, (fmas, row)
        assert abs(row["counted_read_bytes_a_float"] / 4 - 1) < 0.02, row
    for stride in STRIDES:
        row = rows[f"stride_{stride}"]
        assert 0.8 < row["measured_useful_gb_s"] / row["predicted_useful_gb_s"] < 1.1, (stride, row)
        assert abs((row["counted_read_bytes_a_float"] + 4) / row["predicted_moved_bytes_a_float"] - 1) < 0.02, (stride, row)
    useful = [rows[f"stride_{stride}"]["measured_useful_gb_s"] for stride in STRIDES]
    assert useful == sorted(useful, reverse=True), useful
    assert 7 < useful[0] / useful[-1] < 10, useful


def main() -> None:
    """Launch under ncu, or measure everything and print the record's rows."""
    if gpu.launching():
        for launch in counted_launches():
            launch()
    else:
        rows = measure()
        gpu.say(json.dumps(rows))  # to be read where a check fails
        check(rows)
        print(json.dumps({"rows": rows}))


def measure() -> dict[str, dict[str, Any]]:
    """Check every kernel's result, time all in turns, predict from the two roofs, then count."""
    rows: dict[str, dict[str, Any]] = {"roofs": _device() | {"floats": FLOATS}}
    runs: dict[str, Callable[[], object]] = {}
    for part in (roofs(rows), polynomials(rows), strided(rows)):
        runs |= part
    times = in_turns(runs)
    roof = rows["roofs"]
    roof |= predict(roof) | {
        "measured_copy_time_ms": round(times["copy"], 4),
        "measured_bandwidth_gb_s": round(8 * FLOATS / times["copy"] / 1e6, 1),
        "measured_fma_time_ms": round(times["fma"], 4),
        "measured_gflop_s": round(2 * FMA_BLOCKS_AN_SM * roof["sms"] * BLOCK * TURNS * FMAS_A_TURN / times["fma"] / 1e6, 1),
    }
    measured = {"bandwidth_gb_s": roof["measured_bandwidth_gb_s"], "peak_gflop_s": roof["measured_gflop_s"]}
    for name, row in rows.items():
        if name == "roofs":
            continue
        row.update(measured)
        row.update(predict(row) | {"measured_time_ms": round(times[name], 4)})
        if "fmas" in row:
            row["measured_gflop_s"] = round(row["predicted_flop"] / times[name] / 1e6, 1)
            row["measured_bandwidth_gb_s"] = round(row["dram_bytes"] / times[name] / 1e6, 1)
        else:
            row["measured_useful_gb_s"] = round(row["useful_bytes"] / times[name] / 1e6, 1)
    gpu.say("ncu counts ...")
    names = [name for name in rows if name != "roofs"]
    for name, counted in zip(names, gpu.counters(METRICS, "^(polynomial|copy_strided_by_four)$"), strict=True):
        rows[name]["counted_read_bytes_a_float"] = round(counted[METRICS[0]] / COUNTED_FLOATS, 2)
    return rows


def roofs(rows: dict[str, dict[str, Any]]) -> dict[str, Callable[[], object]]:
    """Give the copy by float4 and the FMAs without memory, as launches."""
    import cupy  # noqa: PLC0415

    source, target = random_floats(FLOATS), cupy.empty(FLOATS, cupy.float32)
    blocks = FMA_BLOCKS_AN_SM * rows["roofs"]["sms"]
    sums = cupy.empty(blocks * BLOCK, cupy.float32)
    quarter = cupy.uint32(FLOATS // 4)
    copy, fma = gpu.kernel(COPY, "copy_float4"), gpu.kernel(CEILINGS, "multiply_add")
    runs: dict[str, Callable[[], object]] = {
        "copy": lambda: copy((FLOATS // 4 // BLOCK,), (BLOCK,), (source, target, quarter)),
        "fma": lambda: fma((blocks,), (BLOCK,), (sums, cupy.float32(FACTOR), cupy.float32(SUMMAND), cupy.uint32(TURNS))),
    }
    target.view(cupy.uint8).fill(POISON_BYTE)
    for run in runs.values():
        run()
    assert bool((target == source).all()), "the copy is wrong"
    # x = x / 2 + 1 / 4 goes to 1 / 2 from any start, so eight chains give 4.
    assert bool((sums == 8 * SUMMAND / (1 - FACTOR)).all()), "multiply_add is wrong"
    return runs


def polynomials(rows: dict[str, dict[str, Any]]) -> dict[str, Callable[[], object]]:
    """Give a copy that does FMAs on the way, for each number of them, and begin its rows."""
    import cupy  # noqa: PLC0415

    source, target = random_floats(FLOATS), cupy.empty(FLOATS, cupy.float32)
    runs: dict[str, Callable[[], object]] = {}
    for fmas in FMAS:
        name = f"fmas_{fmas}"
        runs[name] = polynomial(fmas, source, target)
        rows[name] = {"fmas": fmas, "floats": source.size, "dram_bytes": 8 * source.size}
        target.view(cupy.uint8).fill(POISON_BYTE)
        runs[name]()
        # The closed form of repeating x / 2 + 1 / 4: half way to 1 / 2, as many times as there are FMAs.
        wanted = (source - cupy.float32(0.5)) * cupy.float32(FACTOR**fmas) + cupy.float32(0.5)
        assert bool((cupy.abs(target - wanted) < 1e-6).all()), f"{name} is wrong"
    return runs


def strided(rows: dict[str, dict[str, Any]]) -> dict[str, Callable[[], object]]:
    """Give copies that read with a stride and write without, and begin their rows."""
    import cupy  # noqa: PLC0415

    source, target = random_floats(STRIDED_FLOATS * STRIDES[-1]), cupy.empty(STRIDED_FLOATS, cupy.float32)
    fetch = int(cupy.cuda.runtime.deviceGetLimit(L2_FETCH_GRANULARITY))
    runs: dict[str, Callable[[], object]] = {}
    for stride in STRIDES:
        name = f"stride_{stride}"
        runs[name] = strided_copy(stride, source, target)
        rows[name] = {"stride": stride, "floats": STRIDED_FLOATS, "useful_bytes": 8 * STRIDED_FLOATS, "l2_fetch_bytes": fetch}
        target.view(cupy.uint8).fill(POISON_BYTE)
        runs[name]()
        assert bool((target == source[: STRIDED_FLOATS * stride].reshape(-1, stride)[:, 0]).all()), f"{name} copies wrongly"
    return runs


def counted_launches() -> list[Callable[[], object]]:
    """Give the launches that ncu counts, in the order of their rows, on smaller arrays that still exceed the L2."""
    import cupy  # noqa: PLC0415

    source, target = random_floats(COUNTED_FLOATS * STRIDES[-1]), cupy.empty(COUNTED_FLOATS, cupy.float32)
    return [polynomial(fmas, source[:COUNTED_FLOATS], target) for fmas in FMAS] + [strided_copy(stride, source, target) for stride in STRIDES]


def polynomial(fmas: int, source: Any, target: Any) -> Callable[[], object]:
    """Give the launch of the kernel with this many FMAs, over all of source."""
    import cupy  # noqa: PLC0415

    kernel = gpu.kernel(CEILINGS, "polynomial", f"-DFMAS={fmas}")
    arguments = (source, target, cupy.uint32(source.size // 4), cupy.float32(FACTOR), cupy.float32(SUMMAND))
    return lambda: kernel((source.size // 4 // BLOCK,), (BLOCK,), arguments)


def strided_copy(stride: int, source: Any, target: Any) -> Callable[[], object]:
    """Give the launch of the copy with this stride that fills target."""
    import cupy  # noqa: PLC0415

    kernel = gpu.kernel(CEILINGS, "copy_strided_by_four")
    arguments = (source, target, cupy.uint32(target.size), cupy.uint32(stride))
    return lambda: kernel((target.size // 4 // BLOCK,), (BLOCK,), arguments)


def random_floats(count: int) -> Any:
    """Make an array of random floats from 0 to 1, in parts: cuRAND's calls stay small."""
    import cupy  # noqa: PLC0415

    numbers, part = cupy.random.default_rng(6), 2**26
    array = cupy.empty(count, cupy.float32)
    for first in range(0, count, part):
        length = min(part, count - first)
        array[first : first + length] = numbers.random(length, dtype=cupy.float32)
    return array


def in_turns(runs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Time each run once a round, so that a clock that drifts meets all of them, and give the medians in milliseconds."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            times[name].append(gpu.milliseconds(run, repeat=REPEAT, warmup=1))
    return {name: statistics.median(values) for name, values in times.items()}


def _device() -> dict[str, Any]:
    import cupy  # noqa: PLC0415

    ask = cupy.cuda.runtime.deviceGetAttribute
    return {
        "sms": int(ask(MULTIPROCESSORS, 0)),
        "clock_mhz": ask(CLOCK_RATE, 0) / 1e3,
        "memory_mhz": ask(MEMORY_CLOCK_RATE, 0) / 1e3,
        "bus_bits": int(ask(BUS_WIDTH, 0)),
        "lanes": LANES,
    }


if __name__ == "__main__":
    main()
