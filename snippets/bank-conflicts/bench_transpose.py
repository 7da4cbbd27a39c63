"""Transpose an 8192 x 8192 matrix of floats on a GPU in four ways, count their shared-memory wavefronts, time them against a copy."""

import json
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import stride

import gpu

SOURCE = Path(__file__).with_name("transpose.cu")
TABLES = {
    "counts": {
        "kernel": ("kernel", "Kernel"),
        "counted_load_instructions": ("读指令", "Loads"),
        "predicted_load_wavefronts": ("预测", "Predicted"),
        "counted_load_wavefronts_by_instruction": ("按指令计", "By instruction"),
        "counted_load_wavefronts": ("按流水线计", "By pipe"),
        "counted_load_conflicts": ("冲突", "Conflicts"),
        "counted_mio_throttle_ratio": ("mio_throttle", "mio_throttle"),
    },
    "time": {
        "kernel": ("kernel", "Kernel"),
        "measured_time_ms": ("时间（ms）", "Time (ms)"),
        "measured_bandwidth_gb_s": ("带宽（GB/s）", "Bandwidth (GB/s)"),
        "measured_copy_share": ("占 cudaMemcpy 带宽", "Share of cudaMemcpy"),
    },
}

METRICS = {
    "load_instructions": "smsp__inst_executed_op_shared_ld.sum",
    "load_wavefronts_by_instruction": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "mio_throttle_ratio": "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio",
}

SIDE = 8192
TILE, ROWS = 32, 8
REPEAT = 30
CUDA_MEMCPY = "cudaMemcpy"  # the ceiling: what the driver's own copy of the matrix takes
COPIES = ("copy", "naive")  # these kernels use no shared memory
TILES = {"tile_plain": (0, False), "tile_padded": (1, False), "tile_swizzled": (0, True)}  # padding in words, swizzle


def inputs() -> dict[str, dict[str, Any]]:
    """Give the rows' names and inputs."""
    return {name: {"kernel": name, "matrix_side": SIDE} for name in (CUDA_MEMCPY, *COPIES, *TILES)}


def predict(row: Mapping[str, Any]) -> dict[str, int]:
    """Give what a kernel's shared loads of tile columns need, a warp taking each column of each tile once."""
    if row["kernel"] == CUDA_MEMCPY:
        return {}
    if row["kernel"] in COPIES:
        return dict.fromkeys(("predicted_load_instructions", "predicted_load_wavefronts", "predicted_load_conflicts"), 0)
    padding, swizzle = TILES[row["kernel"]]
    columns = [stride.lane_addresses(TILE, 4, padding, swizzle=swizzle, column=column) for column in range(TILE)]
    counts = [stride.wavefronts_and_conflicts(column, 4) for column in columns]
    tiles = (row["matrix_side"] // TILE) ** 2
    return {
        "predicted_load_instructions": tiles * TILE,
        "predicted_load_wavefronts": tiles * sum(wavefronts for wavefronts, _ in counts),
        "predicted_load_conflicts": tiles * sum(conflicts for _, conflicts in counts),
    }


def check(rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name, row in rows.items():
        if name == CUDA_MEMCPY:
            continue
        for what, counted in (("instructions", "instructions"), ("wavefronts", "wavefronts_by_instruction")):
            assert row[f"counted_load_{counted}"] == row[f"predicted_load_{what}"], f"{name}: {row}"
        # The pipe's own counters also hold the cycles in which it waited for other traffic: never fewer, and a few per cent more.
        noise = row["counted_load_conflicts"] - row["predicted_load_conflicts"]
        assert 0 <= noise <= 0.1 * row["predicted_load_wavefronts"], f"{name}: {noise} conflicts more than predicted"
        if name in TILES:
            assert noise, f"{name}: no conflict more than predicted"
    time = {name: row["measured_time_ms"] for name, row in rows.items()}
    share = {name: row["measured_copy_share"] for name, row in rows.items()}
    assert 0.85 < share["tile_padded"] < 1, f"the shares of cudaMemcpy are {share}"
    assert abs(share["tile_padded"] / share["tile_swizzled"] - 1) < 0.05, f"padded and swizzled differ: {share}"
    assert 2.0 < time["tile_plain"] / time["tile_padded"] < 2.4, f"the times are {time}"
    assert 2 < time["naive"] / time["tile_plain"] < 4, f"the times are {time}"
    stalls = {name: row["counted_mio_throttle_ratio"] for name, row in rows.items() if name != CUDA_MEMCPY}
    assert min(stalls["tile_plain"], stalls["naive"]) > 20 * max(stalls["tile_padded"], stalls["tile_swizzled"], 1), f"the stalls are {stalls}"


def main() -> None:
    """Launch each kernel once under ncu; else check the results, count, time, and print the rows."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too

    matrix = cupy.random.default_rng(0).random((SIDE, SIDE), cupy.float32)
    result = cupy.empty_like(matrix)
    runs = {name: launcher(name, matrix, result) for name in inputs()}
    if gpu.launching():
        for run in runs.values():
            run()
        return
    for name, run in runs.items():
        result.fill(cupy.nan)
        run()
        assert (result == (matrix if name in {CUDA_MEMCPY, "copy"} else matrix.T)).all(), f"{name} is wrong"
    counted = gpu.counters(list(METRICS.values()), f"^({'|'.join([*COPIES, *TILES])})$")
    read = dict(zip([*COPIES, *TILES], counted, strict=True))
    times = interleaved(runs)
    rows = {}
    for name, row in inputs().items():
        metrics = {f"counted_{what}": read[name][metric] for what, metric in METRICS.items()} if name in read else {}
        whole = {key: round(value, 1) if key.endswith("ratio") else int(value) for key, value in metrics.items()}
        measured = {
            "measured_time_ms": round(times[name], 4),
            "measured_bandwidth_gb_s": round(2 * matrix.nbytes / times[name] / 1e6, 1),
            "measured_copy_share": round(times[CUDA_MEMCPY] / times[name], 3),
        }
        rows[name] = row | predict(row) | whole | measured
        gpu.say(f"{name}: {rows[name]}")
    check(rows)
    print(json.dumps({"rows": rows}))


def launcher(name: str, matrix: Any, result: Any) -> Callable[[], None]:
    """Give a function that launches a kernel over the whole matrix, or the driver's copy."""
    import cupy  # noqa: PLC0415 - as above

    if name == CUDA_MEMCPY:
        runtime = cupy.cuda.runtime
        return lambda: runtime.memcpyAsync(
            result.data.ptr, matrix.data.ptr, matrix.nbytes, runtime.memcpyDeviceToDevice, cupy.cuda.get_current_stream().ptr
        )
    kernel, grid = gpu.kernel(SOURCE, name), (SIDE // TILE, SIDE // TILE)
    return lambda: kernel(grid, (TILE, ROWS), (matrix, result, cupy.int32(SIDE)))


def interleaved(runs: Mapping[str, Callable[[], None]]) -> dict[str, float]:
    """Time the runs in turn, REPEAT times around, so that all see the same clocks; give medians in milliseconds."""
    import cupy  # noqa: PLC0415 - as above

    measured: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(REPEAT):
        for name, run in runs.items():
            start, stop = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            run()
            stop.record()
            stop.synchronize()
            measured[name].append(cupy.cuda.get_elapsed_time(start, stop))
    return {name: statistics.median(times[1:]) for name, times in measured.items()}


if __name__ == "__main__":
    main()
