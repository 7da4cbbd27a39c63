"""Run seven versions of one kernel on a GPU: check each result, count what norm.py predicts, time all in turns beside a copy."""

import json
import statistics
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import norm

import gpu

SOURCE = Path(__file__).with_name("norm.cu")
ROUNDS, REPEAT = 9, 3
COPY_BLOCK = 256
SCATTER_BLOCKS_AN_SM, SCATTER_BLOCK, SCATTER_TURNS, WORDS = 8, 256, 16, 32  # a line of 32 words a thread: 35 MB, and the L2 holds 60
CLOCK_RATE, MULTIPROCESSORS, MEMORY_CLOCK_RATE, BUS_WIDTH = 13, 16, 36, 37  # cudaDeviceAttr; clocks in kHz
EPSILON, LARGEST_ERROR = 1e-5, 1e-5
Row = dict[str, Any]

TABLES: dict[str, dict[str, tuple[str, str]]] = {}  # a lab makes its own from the record

ELAPSED = "avg.pct_of_peak_sustained_elapsed"
STALLS = (
    *("barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle", "long_scoreboard", "math_pipe_throttle"),
    *("membar", "mio_throttle", "misc", "no_instruction", "not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait"),
)
# What becomes of a counter: a key of the row, whole numbers as such, percentages with one decimal.
WHOLE = {
    "load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "store_sectors": "l1tex__m_l1tex2xbar_write_sectors_mem_lg_op_st.sum",
    "shared_load_requests": "smsp__inst_executed_op_shared_ld.sum",
    "shared_load_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "instructions": "smsp__inst_executed.sum",
    "registers": "launch__registers_per_thread",
}
PERCENT = {
    "memory_percent": f"gpu__compute_memory_throughput.{ELAPSED}",
    "compute_percent": f"sm__throughput.{ELAPSED}",
    "dram_percent": f"dram__throughput.{ELAPSED}",
    "l2_percent": f"lts__throughput.{ELAPSED}",
    "l1_percent": f"l1tex__throughput.{ELAPSED.replace('elapsed', 'active')}",
    "occupancy_percent": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "issue_percent": "smsp__issue_active.avg.pct_of_peak_sustained_active",
}
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
# That many warps wait, for each instruction issued; what stands here is shown, the others are summed.
WAITS = ("long_scoreboard", "short_scoreboard", "lg_throttle", "mio_throttle", "barrier")
METRICS = [*WHOLE.values(), *PERCENT.values(), *(STALL.format(reason) for reason in STALLS)]
EQUAL = (
    *("load_requests", "load_sectors", "store_requests", "store_sectors"),
    *("shared_load_requests", "shared_load_wavefronts", "shared_store_wavefronts"),
)


def predict(inputs: Row) -> Row:
    """Give the predicted values of a row from its inputs."""
    if "kernel" not in inputs:
        return {"predicted_peak_gb_s": round(inputs["bus_bits"] / 8 * 2 * inputs["memory_mhz"] / 1e3, 1)}
    name, rates = inputs["kernel"], norm.Rates(**{field.name: inputs[field.name] for field in fields(norm.Rates)})
    limit = norm.limits(name, rates, inputs["images"])
    least, most = norm.bounds(limit)
    return {
        **{f"predicted_{key}": value for key, value in norm.counts(name, inputs["images"]).items()},
        "predicted_occupancy_percent": round(100 * norm.resident_threads(name) / norm.THREADS_AN_SM, 1),
        "predicted_in_flight_bytes_an_sm": norm.in_flight_bytes(name),
        **{f"predicted_{key}_ms": round(value, 4) for key, value in limit.items()},
        "predicted_least_ms": round(least, 4),
        "predicted_most_ms": round(most, 4),
    }


def check(rows: dict[str, Row]) -> None:
    """Assert that the counters are those of the model; what the lab says of times stands in tests/test_labs.py."""
    for name in norm.KERNELS:
        row = rows[name]
        for key in EQUAL:
            assert row[f"counted_{key}"] == row[f"predicted_{key}"], f"{name}: {key} is {row[f'counted_{key}']}, not {row[f'predicted_{key}']}"
        # A tile is read once, exactly; what lies in the L2 at the end is not yet written. By pixel, some lines come and go twice.
        read = row["counted_dram_read_bytes"] / row["predicted_dram_read_bytes"]
        written = row["counted_dram_write_bytes"] / row["predicted_dram_write_bytes"]
        if name.endswith("_passes"):
            assert 1 < read < 1.3, (name, read)
            assert 1 < written < 1.5, (name, written)
        else:
            assert abs(read - 1) < 0.01, (name, read)
            assert 0.9 < written < 1, (name, written)


def main() -> None:
    """Launch under ncu, or measure everything and print the record's rows."""
    if gpu.launching():
        x, y = arrays()
        for run in kernels(x, y).values():
            run()
        copying(x, y)()
    else:
        rows = measure()
        gpu.say(json.dumps(rows))  # to be read where a check fails
        check(rows)
        print(json.dumps({"rows": rows}))


def measure() -> dict[str, Row]:
    """Check every result, time all in turns, predict from the two roofs, then count."""
    x, y = arrays()
    runs = kernels(x, y)
    for name, run in runs.items():
        right(name, run, x, y)
    device = _device()
    scatter, stored = scattering(device["sms"])
    times = in_turns({**runs, "copy": copying(x, y), "scatter": scatter})
    roofs = device | {"images": norm.IMAGES}
    roofs |= predict(roofs) | {
        "measured_copy_time_ms": round(times["copy"], 4),
        "measured_copy_gb_s": round(8 * x.size / times["copy"] / 1e6, 1),
        "measured_scatter_time_ms": round(times["scatter"], 4),
        "measured_scattered_lines_ns": round(stored / times["scatter"] / 1e6, 2),
    }
    given = {
        "images": norm.IMAGES,
        "sms": device["sms"],
        "clock_mhz": device["clock_mhz"],
        "peak_gb_s": roofs["predicted_peak_gb_s"],
        "copy_gb_s": roofs["measured_copy_gb_s"],
        "scattered_lines_ns": roofs["measured_scattered_lines_ns"],
    }
    rows = {}
    for name in runs:
        inputs = {"kernel": name} | given
        rows[name] = inputs | predict(inputs) | {"measured_time_ms": round(times[name], 4)}
    gpu.say("ncu counts ...")
    *counted, of_copy = gpu.counters(METRICS, f"^({'|'.join(runs)}|copy)$")
    for name, metrics in zip(rows, counted, strict=True):
        rows[name] |= readings(metrics)
    kept = readings(of_copy)
    roofs |= {f"counted_copy_{key}": kept[f"counted_{key}"] for key in ("dram_percent", "l2_percent", "dram_read_bytes", "dram_write_bytes")}
    return {"roofs": roofs} | rows


def readings(metrics: dict[str, float]) -> Row:
    """Turn one launch's metrics into a row's keys."""
    stalls = {reason: metrics[STALL.format(reason)] for reason in STALLS}
    return {
        **{f"counted_{key}": int(metrics[metric]) for key, metric in WHOLE.items()},
        **{f"counted_{key}": round(metrics[metric], 1) for key, metric in PERCENT.items()},
        **{f"counted_stall_{reason}": round(stalls[reason], 2) for reason in WAITS},
        "counted_stall_other": round(sum(stalls.values()) - sum(stalls[reason] for reason in WAITS), 2),
    }


def arrays() -> tuple[Any, Any]:
    """Make the input, random from -0.25 to 0.75, and room for the output."""
    import cupy  # noqa: PLC0415

    numbers, image = cupy.random.default_rng(7), norm.CHANNELS * norm.PIXELS
    x = cupy.empty(norm.IMAGES * image, cupy.float32)
    for first in range(0, x.size, image):
        x[first : first + image] = numbers.random(image, dtype=cupy.float32) - cupy.float32(0.25)
    return x, cupy.empty_like(x)


def kernels(x: Any, y: Any) -> dict[str, Callable[[], object]]:
    """Give each version's launch, in the order of the steps."""
    runs: dict[str, Callable[[], object]] = {}
    for name, model in norm.KERNELS.items():
        kernel = gpu.kernel(SOURCE, name)
        pixels = norm.TILE if model.shared_bytes else model.threads
        grid = (norm.PIXELS // pixels, norm.IMAGES)
        runs[name] = launch(kernel, grid, (model.threads,), (x, y))
    return runs


def copying(x: Any, y: Any) -> Callable[[], object]:
    """Give the launch that copies x to y by float4."""
    return launch(gpu.kernel(SOURCE, "copy"), (x.size // 4 // COPY_BLOCK,), (COPY_BLOCK,), (x, y))


def launch(kernel: Any, grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[Any, ...]) -> Callable[[], object]:
    """Give a function without arguments that launches a kernel."""
    return lambda: kernel(grid, block, arguments)


def scattering(sms: int) -> tuple[Callable[[], object], int]:
    """Give the launch whose lanes store to lines of their own, and the stores of all lanes."""
    import cupy  # noqa: PLC0415

    kernel, threads = gpu.kernel(SOURCE, "scatter"), SCATTER_BLOCKS_AN_SM * sms * SCATTER_BLOCK
    room = cupy.empty(WORDS * threads, cupy.float32)
    run = launch(kernel, (SCATTER_BLOCKS_AN_SM * sms,), (SCATTER_BLOCK,), (room, cupy.uint32(SCATTER_TURNS)))
    run()
    assert bool((room == SCATTER_TURNS - 1).all()), "scatter is wrong"
    return run, threads * WORDS * SCATTER_TURNS


def right(name: str, run: Callable[[], object], x: Any, y: Any) -> None:
    """Compare a version's first and last image with double precision, and see that it writes everything."""
    import cupy  # noqa: PLC0415

    y.fill(float("nan"))
    run()
    assert bool(cupy.isfinite(y).all()), f"{name} leaves holes"
    image = norm.CHANNELS * norm.PIXELS
    for first in (0, x.size - image):
        values = x[first : first + image].reshape(norm.CHANNELS, norm.PIXELS).T.astype(cupy.float64)
        wanted = (values - values.mean(1, keepdims=True)) / cupy.sqrt(values.var(1, keepdims=True) + EPSILON)
        error = float(cupy.abs(y[first : first + image].reshape(norm.PIXELS, norm.CHANNELS) - wanted).max())
        assert error < LARGEST_ERROR, f"{name} is off by {error}"


def in_turns(runs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Time each run once a round, so that a clock that drifts meets all of them, and give the medians in milliseconds."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            times[name].append(gpu.milliseconds(run, repeat=REPEAT, warmup=1))
    return {name: statistics.median(values) for name, values in times.items()}


def _device() -> Row:
    import cupy  # noqa: PLC0415

    ask = cupy.cuda.runtime.deviceGetAttribute
    return {
        "sms": int(ask(MULTIPROCESSORS, 0)),
        "clock_mhz": ask(CLOCK_RATE, 0) / 1e3,
        "memory_mhz": ask(MEMORY_CLOCK_RATE, 0) / 1e3,
        "bus_bits": int(ask(BUS_WIDTH, 0)),
    }


if __name__ == "__main__":
    main()
