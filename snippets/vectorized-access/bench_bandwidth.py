"""Time copies of each width and unrolling over the number of blocks, beside cudaMemcpy, the L2 and shared memory."""

import json
import statistics
from collections.abc import Callable
from itertools import count
from math import inf
from pathlib import Path
from typing import Any

import bandwidth

import gpu

COPY = Path(__file__).with_name("copy.cu")
LEVELS = Path(__file__).with_name("levels.cu")
FLOATS = 2**29  # 2 GiB read and 2 GiB written: thirty-four times the L2 of an H200, and as much again
THREADS = 256
ROUNDS, REPEAT = 7, 3  # each round times every case, three calls each: drift meets all alike
POISON_BYTE = 0xFF  # four of them are a NaN, and no random number
CLOCK_RATE, MULTIPROCESSORS, MEMORY_CLOCK_RATE, BUS_WIDTH = 13, 16, 36, 37  # cudaDeviceAttr; clocks in kHz
DEVICE_TO_DEVICE = 3  # cudaMemcpyKind
HOPS, HOP_BYTES = 2**16, 16_896  # each hop on another DRAM row
L2_HOPS, L2_HOP_BYTES = 2**13, 256  # 2 MiB: stays in the L2
RESIDENT_PASSES = 64
SHARED_BLOCKS_AN_SM, SHARED_THREADS, SHARED_TURNS, SHARED_LOADS = 2, 1024, 4096, 8

KERNELS = {
    # loads in flight: kernel, bytes of an access, loads that a thread issues before it waits
    "float": ("copy_float", 4, 1),
    "float2": ("copy_float2", 8, 1),
    "float4": ("copy_float4", 16, 1),
    "float x 4": ("copy_float_by_four", 4, 4),
    "float4 x 4": ("copy_float4_by_four", 16, 4),
}
BLOCKS_AN_SM = (1, 2, 4, 8)
GAINS = (("float4", "float"), ("float4", "float x 4"), ("float4 x 4", "float4"))

TABLES = {
    "bandwidth": {
        "blocks": ("block 数", "Blocks"),
        "copy": ("每线程一次等待的读取", "Loads a thread waits for"),
        "predicted_in_flight_bytes_an_sm": ("每 SM 在途读取（字节）", "Loads in flight an SM (bytes)"),
        "predicted_bound_gb_s": ("上界（GB/s）", "Bound (GB/s)"),
        "predicted_estimate_gb_s": ("估计（GB/s）", "Estimate (GB/s)"),
        "measured_bandwidth_gb_s": ("实测（GB/s）", "Measured (GB/s)"),
    },
    "whole": {
        "whole_copy": ("4 GiB 流量", "4 GiB of traffic"),
        "measured_time_ms": ("时间（ms）", "Time (ms)"),
        "measured_bandwidth_gb_s": ("带宽（GB/s）", "Bandwidth (GB/s)"),
        "measured_of_peak_percent": ("占理论峰值（%）", "Of the peak (%)"),
    },
    "limits": {
        "blocks": ("block 数", "Blocks"),
        "faster": ("比较", "Compared"),
        "slower": ("相对于", "With"),
        "predicted_gain": ("预测倍数", "Predicted gain"),
        "measured_gain": ("实测倍数", "Measured gain"),
    },
    "resident": {
        "blocks": ("block 数", "Blocks"),
        "resident_copy": ("数据留在 L2", "Data stays in the L2"),
        "predicted_little_gb_s": ("Little 上界（GB/s）", "Little's bound (GB/s)"),
        "measured_bandwidth_gb_s": ("实测（GB/s）", "Measured (GB/s)"),
    },
    "shared": {
        "shared_load": ("共享内存读取", "Shared-memory load"),
        "predicted_load_instructions": ("预测读指令", "Predicted load instructions"),
        "predicted_peak_gb_s": ("理论峰值（GB/s）", "Peak (GB/s)"),
        "measured_bandwidth_gb_s": ("实测（GB/s）", "Measured (GB/s)"),
    },
    "latency": {
        "memory": ("存储", "Memory"),
        "measured_latency_ns": ("一次相关读取（ns）", "One dependent load (ns)"),
    },
}


def predict(inputs: dict[str, Any]) -> dict[str, Any]:
    """Give the predicted values of a row from its inputs."""
    if "copy" in inputs:
        waiting = _in_flight(inputs, inputs["copy"])
        return {
            "predicted_in_flight_bytes_an_sm": waiting // inputs["sms"],
            "predicted_bound_gb_s": round(bandwidth.bound_gb_s(waiting, inputs["latency_ns"], inputs["peak_gb_s"]), 1),
            "predicted_estimate_gb_s": round(bandwidth.estimate_gb_s(waiting, inputs["latency_ns"], inputs["peak_gb_s"]), 1),
        }
    if "faster" in inputs:
        fast, slow = (
            bandwidth.estimate_gb_s(_in_flight(inputs, inputs[name]), inputs["latency_ns"], inputs["peak_gb_s"]) for name in ("faster", "slower")
        )
        return {"predicted_gain": round(fast / slow, 2)}
    if "resident_copy" in inputs:
        return {"predicted_little_gb_s": round(bandwidth.bound_gb_s(_in_flight(inputs, inputs["resident_copy"]), inputs["latency_ns"], inf), 1)}
    if "shared_load" in inputs:
        return {
            "predicted_load_instructions": bandwidth.load_instructions(inputs["read_bytes"], inputs["access_bytes"]),
            "predicted_peak_gb_s": round(bandwidth.shared_peak_gb_s(inputs["sms"], inputs["clock_mhz"]), 1),
        }
    if "bus_bits" in inputs:
        return {"predicted_peak_gb_s": round(bandwidth.dram_peak_gb_s(inputs["bus_bits"], inputs["memory_mhz"]), 1)}
    return {}


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    grid = {(row["copy"], row["blocks"] // row["sms"]): row for row in rows.values() if "copy" in row}
    for key, row in grid.items():
        assert row["measured_bandwidth_gb_s"] <= 1.02 * row["predicted_bound_gb_s"], ("above the bound", key, row)
        assert abs(row["measured_bandwidth_gb_s"] / row["predicted_estimate_gb_s"] - 1) < 0.25, ("not within a quarter of the estimate", key, row)
    speed = {key: row["measured_bandwidth_gb_s"] for key, row in grid.items()}
    # The same bytes in flight give the same bandwidth, whichever way they came there.
    same = [speed["float", 4], speed["float2", 2], speed["float4", 1], speed["float x 4", 1]]
    assert max(same) / min(same) < 1.35, ("four ways to 4 KiB an SM", same)
    assert 2.6 < speed["float4", 1] / speed["float", 1] < 3.3, "few blocks: float4 gains most"
    assert 1.2 < speed["float4", 8] / speed["float", 8] < 1.45, "all warps resident: a third is left"
    for place in BLOCKS_AN_SM:
        assert 1.05 < speed["float4", place] / speed["float x 4", place] < 1.2, ("four scalar loads at once do nearly as well", place)
    assert 1.6 < speed["float4 x 4", 1] / speed["float4", 1] < 2, "few blocks: unrolling float4 gains as well"
    for place in (4, 8):
        assert 0.95 < speed["float4 x 4", place] / speed["float4", place] < 1.06, ("saturated: unrolling float4 gains nothing", place)
    for name, row in rows.items():
        if "faster" in row:
            wanted = speed[row["faster"], row["blocks"] // row["sms"]] / speed[row["slower"], row["blocks"] // row["sms"]]
            assert abs(row["measured_gain"] - wanted) < 0.011, (name, row, wanted)
    whole = {row["whole_copy"]: row["measured_bandwidth_gb_s"] for row in rows.values() if "whole_copy" in row}
    assert 1.45 < whole["float4"] / whole["float"] < 1.75, whole
    assert 0.92 < whole["float x 4"] / whole["float4"] < 1.01, whole
    assert abs(whole["float4"] / whole["cudaMemcpy"] - 1) < 0.05, whole
    assert 82 < rows["float4_whole"]["measured_of_peak_percent"] < 92, rows["float4_whole"]
    resident = {(row["resident_copy"], row["blocks"] // row["sms"]): row for row in rows.values() if "resident_copy" in row}
    for key, row in resident.items():
        assert row["measured_bandwidth_gb_s"] <= 1.1 * row["predicted_little_gb_s"], (key, row)
    gains = {place: resident["float4", place]["measured_bandwidth_gb_s"] / resident["float", place]["measured_bandwidth_gb_s"] for place in (1, 8)}
    assert 2.6 < gains[1] < 3.7, ("L2, few blocks", gains)
    assert 1 < gains[8] < 1.25, ("L2, all warps resident", gains)
    narrow, wide = rows["shared_float"], rows["shared_float4"]
    assert abs(wide["measured_bandwidth_gb_s"] / narrow["measured_bandwidth_gb_s"] - 1) < 0.06, (narrow, wide)
    assert narrow["predicted_load_instructions"] == 4 * wide["predicted_load_instructions"], (narrow, wide)
    for row in (narrow, wide):
        assert 0.85 < row["measured_bandwidth_gb_s"] / row["predicted_peak_gb_s"] < 1.02, row
    assert abs(rows["latency_dram"]["measured_latency_ns"] / bandwidth.LATENCY_NS - 1) < 0.15, rows["latency_dram"]
    assert 2 < rows["latency_dram"]["measured_latency_ns"] / rows["latency_l2"]["measured_latency_ns"] < 3, "DRAM is two to three times the L2"


def main() -> None:
    """Measure everything and print the record's rows."""
    rows = measure()
    gpu.say(json.dumps(rows))  # to be read where a check fails
    check(rows)
    print(json.dumps({"rows": rows}))


def measure() -> dict[str, dict[str, Any]]:
    """Time latency, then the copies of DRAM in turns, then the L2 and shared memory."""
    import cupy  # noqa: PLC0415

    source = cupy.random.default_rng(6).random(FLOATS, dtype=cupy.float32)
    target = cupy.empty(FLOATS, cupy.float32)
    device = _device()
    sms, peak = device["sms"], round(bandwidth.dram_peak_gb_s(device["bus_bits"], device["memory_mhz"]), 1)
    dram_ns, l2_ns = latencies(target)
    dram = {"memory": "DRAM", "bus_bits": device["bus_bits"], "memory_mhz": device["memory_mhz"]}
    rows: dict[str, dict[str, Any]] = {
        "latency_dram": dram | predict(dram) | {"measured_latency_ns": dram_ns},
        "latency_l2": {"memory": "L2", "measured_latency_ns": l2_ns},
    }

    runs: dict[str, Callable[[], object]] = {}
    for blocks_an_sm in BLOCKS_AN_SM:
        blocks = blocks_an_sm * sms
        for copy, (kernel, access_bytes, _) in KERNELS.items():
            name = f"{copy.replace(' ', '_')}_blocks_{blocks}"
            runs[name] = launcher(gpu.kernel(COPY, kernel), (blocks,), (THREADS,), (source, target, cupy.uint32(FLOATS * 4 // access_bytes)))
            rows[name] = {"copy": copy, "blocks": blocks, "threads": THREADS, "sms": sms, "latency_ns": dram_ns, "peak_gb_s": peak}
    for copy, (kernel, access_bytes, loads) in KERNELS.items():
        blocks = FLOATS * 4 // access_bytes // loads // THREADS
        name = f"{copy.replace(' ', '_')}_whole"
        runs[name] = launcher(gpu.kernel(COPY, kernel), (blocks,), (THREADS,), (source, target, cupy.uint32(FLOATS * 4 // access_bytes)))
        rows[name] = {"whole_copy": copy, "grid_blocks": blocks, "peak_gb_s": peak}
    places = (target.data.ptr, source.data.ptr, source.nbytes, DEVICE_TO_DEVICE)
    runs["memcpy_whole"] = lambda: cupy.cuda.runtime.memcpyAsync(*places, cupy.cuda.get_current_stream().ptr)
    rows["memcpy_whole"] = {"whole_copy": "cudaMemcpy", "peak_gb_s": peak}
    for name, run in runs.items():
        target.view(cupy.uint8).fill(POISON_BYTE)
        run()
        assert bool((target == source).all()), f"{name} copies wrongly"
    for name, time_ms in in_turns(runs).items():
        reached = 2 * source.nbytes / time_ms / 1e6
        rows[name] |= predict(rows[name]) | {"measured_time_ms": round(time_ms, 4), "measured_bandwidth_gb_s": round(reached, 1)}
        if "whole_copy" in rows[name]:
            rows[name]["measured_of_peak_percent"] = round(100 * reached / peak, 1)
    rows |= gains(rows)
    rows |= resident(source, target, sms, l2_ns)
    return rows | shared(sms, device["clock_mhz"])


def launcher(kernel: Any, *arguments: Any) -> Callable[[], object]:
    """Give a function that launches a kernel with these arguments: grid, block, the kernel's own."""
    return lambda: kernel(*arguments)


def in_turns(runs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Time each run once a round, so that a clock that drifts meets all of them, and give the medians in milliseconds."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(ROUNDS):
        gpu.say(f"round {number + 1} of {ROUNDS} ...")
        for name, run in runs.items():
            times[name].append(gpu.milliseconds(run, repeat=REPEAT, warmup=1))
    return {name: statistics.median(values) for name, values in times.items()}


def latencies(words: Any) -> tuple[float, float]:
    """Give the time of one dependent load from DRAM and from the L2, in nanoseconds; words is at least 1.1 GB."""
    import cupy  # noqa: PLC0415

    chase, last = gpu.kernel(LEVELS, "chase"), cupy.zeros(1, cupy.uint64)
    places = words.view(cupy.uint64)
    addresses = cupy.arange(places.size, dtype=cupy.uint64) * cupy.uint64(8) + cupy.uint64(places.data.ptr)
    places[:] = addresses + cupy.uint64(HOP_BYTES)
    # Each chase starts on sectors of its own, 256 bytes further on: none of its loads was read before.
    start = count(step=32)
    dram = gpu.milliseconds(lambda: chase((1,), (1,), (places[next(start) :], last, cupy.uint32(HOPS))), repeat=7, warmup=1)
    assert int(last[0]) - places.data.ptr - HOPS * HOP_BYTES in range(0, HOP_BYTES, 256), "the chase went elsewhere"
    places[:] = addresses + cupy.uint64(L2_HOP_BYTES)
    near = gpu.milliseconds(lambda: chase((1,), (1,), (places, last, cupy.uint32(L2_HOPS))), repeat=7, warmup=2)
    assert int(last[0]) == places.data.ptr + L2_HOPS * L2_HOP_BYTES, "the chase went elsewhere"
    return round(dram / HOPS * 1e6, 1), round(near / L2_HOPS * 1e6, 1)


def gains(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Compare the copies of the grid by pairs."""
    speed = {(row["copy"], row["blocks"]): row for row in rows.values() if "copy" in row}
    found: dict[str, dict[str, Any]] = {}
    for fast, slow in GAINS:
        for (copy, blocks), row in speed.items():
            if copy == fast:
                inputs = {"faster": fast, "slower": slow} | {key: row[key] for key in ("blocks", "threads", "sms", "latency_ns", "peak_gb_s")}
                gain = row["measured_bandwidth_gb_s"] / speed[slow, blocks]["measured_bandwidth_gb_s"]
                found[f"gain_{fast}_over_{slow}_blocks_{blocks}".replace(" ", "_")] = inputs | predict(inputs) | {"measured_gain": round(gain, 2)}
    return found


def resident(source: Any, target: Any, sms: int, latency_ns: float) -> dict[str, dict[str, Any]]:
    """Copy 8 floats for each resident thread of the GPU again and again: 17 MB on an H200, which stay in the L2."""
    import cupy  # noqa: PLC0415

    floats = 8 * BLOCKS_AN_SM[-1] * sms * THREADS
    runs: dict[str, Callable[[], object]] = {}
    rows: dict[str, dict[str, Any]] = {}
    for blocks_an_sm in (BLOCKS_AN_SM[0], BLOCKS_AN_SM[-1]):
        blocks = blocks_an_sm * sms
        for copy in ("float", "float4"):
            name = f"resident_{copy}_blocks_{blocks}"
            kernel, access_bytes = gpu.kernel(LEVELS, f"resident_{copy}"), KERNELS[copy][1]
            arguments = (source, target, cupy.uint32(floats * 4 // access_bytes), cupy.uint32(RESIDENT_PASSES))
            runs[name] = launcher(kernel, (blocks,), (THREADS,), arguments)
            rows[name] = {"resident_copy": copy, "blocks": blocks, "threads": THREADS, "sms": sms, "floats": floats, "latency_ns": latency_ns}
            target.view(cupy.uint8)[: 8 * floats].fill(POISON_BYTE)
            runs[name]()
            assert bool((target[:floats] == source[:floats]).all()), f"{name} copies wrongly"
            assert bool(cupy.isnan(target[floats : 2 * floats]).all()), f"{name} writes beyond its end"
    for name, time_ms in in_turns(runs).items():
        reached = 2 * 4 * floats * RESIDENT_PASSES / time_ms / 1e6
        rows[name] |= predict(rows[name]) | {"measured_time_ms": round(time_ms, 4), "measured_bandwidth_gb_s": round(reached, 1)}
    return rows


def shared(sms: int, clock_mhz: float) -> dict[str, dict[str, Any]]:
    """Read shared memory on all SMs, without conflicts, one word or four a lane."""
    import cupy  # noqa: PLC0415

    blocks = SHARED_BLOCKS_AN_SM * sms
    sums = cupy.empty(blocks * SHARED_THREADS, cupy.float32)
    runs: dict[str, Callable[[], object]] = {}
    rows: dict[str, dict[str, Any]] = {}
    read_bytes = sums.size * SHARED_TURNS * SHARED_LOADS * 16
    for load, access_bytes in (("float", 4), ("float4", 16)):
        turns = SHARED_TURNS * 16 // access_bytes
        name = f"shared_{load}"
        runs[name] = launcher(gpu.kernel(LEVELS, name), (blocks,), (SHARED_THREADS,), (sums, cupy.uint32(turns)))
        rows[name] = {"shared_load": load, "access_bytes": access_bytes, "read_bytes": read_bytes, "sms": sms, "clock_mhz": clock_mhz}
        sums.fill(0)
        runs[name]()
        assert bool((sums == read_bytes // sums.size // 4).all()), f"{name} misses a load"
    for name, time_ms in in_turns(runs).items():
        rows[name] |= predict(rows[name]) | {"measured_time_ms": round(time_ms, 4), "measured_bandwidth_gb_s": round(read_bytes / time_ms / 1e6, 1)}
    return rows


def _device() -> dict[str, Any]:
    import cupy  # noqa: PLC0415

    ask = cupy.cuda.runtime.deviceGetAttribute
    return {
        "sms": int(ask(MULTIPROCESSORS, 0)),
        "clock_mhz": ask(CLOCK_RATE, 0) / 1e3,
        "memory_mhz": ask(MEMORY_CLOCK_RATE, 0) / 1e3,
        "bus_bits": int(ask(BUS_WIDTH, 0)),
    }


def _in_flight(inputs: dict[str, Any], copy: str) -> int:
    _, access_bytes, loads = KERNELS[copy]
    return bandwidth.in_flight_bytes(inputs["blocks"], inputs["threads"], access_bytes, loads, inputs["sms"])


if __name__ == "__main__":
    main()
