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
        "predicted_load_instructions": ("共享内存读指令", "Shared load instructions"),
        "predicted_load_wavefronts": ("预测 wavefront", "Predicted wavefronts"),
        "counted_load_wavefronts_by_instruction": ("实测：按指令", "Counted, by instruction"),
        "counted_load_wavefronts": ("实测：按流水线", "Counted, by pipe"),
        "predicted_load_conflicts": ("预测冲突", "Predicted conflicts"),
        "counted_load_conflicts": ("实测冲突", "Counted conflicts"),
        "counted_store_conflicts": ("写：实测冲突", "Store: counted conflicts"),
        "counted_mio_throttle_ratio": ("mio_throttle", "mio_throttle"),
    },
    "time": {
        "kernel": ("kernel", "Kernel"),
        "matrix_side": ("边长", "Side"),
        "measured_time_ms": ("时间（ms）", "Time (ms)"),
        "measured_bandwidth_gb_s": ("带宽（GB/s）", "Bandwidth (GB/s)"),
        "measured_copy_share": ("占拷贝带宽", "Share of the copy"),
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
COPIES = ("copy", "naive")  # these use no shared memory
TILES = {"tile_plain": (0, False), "tile_padded": (1, False), "tile_swizzled": (0, True)}  # padding in words, swizzle


def inputs() -> dict[str, dict[str, Any]]:
    """Give the rows' names and inputs."""
    return {name: {"kernel": name, "matrix_side": SIDE} for name in (*COPIES, *TILES)}


def predict(row: Mapping[str, Any]) -> dict[str, int]:
    """Give what a kernel's shared loads of tile columns need, a warp taking each column of each tile once."""
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
        for what in ("instructions", "wavefronts"):
            key = f"counted_load_{what}" + ("_by_instruction" if what == "wavefronts" else "")
            assert row[key] == row[f"predicted_load_{what}"], f"{name}: {row[key]} {what} counted, {row[f'predicted_load_{what}']} predicted"
        # The pipe's own counters also hold the cycles in which it waited for other traffic: never fewer, and some more.
        noise = row["counted_load_conflicts"] - row["predicted_load_conflicts"]
        assert 0 <= noise <= 0.25 * row["predicted_load_wavefronts"], f"{name}: {noise} conflicts more than predicted"
    share = {name: row["measured_copy_share"] for name, row in rows.items()}
    assert 0.85 < share["tile_padded"] < 1.1, f"the shares of the copy are {share}"
    assert abs(share["tile_padded"] / share["tile_swizzled"] - 1) < 0.05, f"padded and swizzled differ: {share}"
    assert share["naive"] < share["tile_padded"] / 1.5, f"the shares of the copy are {share}"
    gain = rows["tile_plain"]["measured_time_ms"] / rows["tile_padded"]["measured_time_ms"]
    assert 2 < gain < 2.5, f"padding makes it {gain:.2f} times as fast"


def main() -> None:
    """Launch each kernel once under ncu; else check the results, count, time, and print the rows."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too

    matrix = cupy.random.default_rng(0).random((SIDE, SIDE), cupy.float32)
    result = cupy.empty_like(matrix)
    kernels = {name: launcher(name, matrix, result) for name in inputs()}
    if gpu.launching():
        for run in kernels.values():
            run()
        return
    for name, run in kernels.items():
        result.fill(cupy.nan)
        run()
        assert (result == (matrix if name == "copy" else matrix.T)).all(), f"{name} is wrong"
    read = gpu.counters(list(METRICS.values()), "^(copy|naive|tile_plain|tile_padded|tile_swizzled)$")
    assert len(read) == len(kernels), f"{len(read)} launches were counted, {len(kernels)} made"
    times = interleaved(kernels)
    rows = {}
    for (name, row), metrics in zip(inputs().items(), read, strict=True):
        counted = {f"counted_{what}": metrics[metric] for what, metric in METRICS.items()}
        whole = {key: round(value, 1) if key.endswith("ratio") else int(value) for key, value in counted.items()}
        measured = {
            "measured_time_ms": round(times[name], 4),
            "measured_bandwidth_gb_s": round(2 * matrix.nbytes / times[name] / 1e6, 1),
            "measured_copy_share": round(times["copy"] / times[name], 3),
        }
        rows[name] = row | predict(row) | whole | measured
        gpu.say(f"{name}: {rows[name]}")
    check(rows)
    print(json.dumps({"rows": rows}))


def launcher(name: str, matrix: Any, result: Any) -> Callable[[], None]:
    """Give a function that launches a kernel over the whole matrix."""
    import cupy  # noqa: PLC0415 - as above

    kernel, grid = gpu.kernel(SOURCE, name), (SIDE // TILE, SIDE // TILE)
    return lambda: kernel(grid, (TILE, ROWS), (matrix, result, cupy.int32(SIDE)))


def interleaved(kernels: Mapping[str, Callable[[], None]]) -> dict[str, float]:
    """Time the kernels in turn, REPEAT times around, so that all see the same clocks; give medians in milliseconds."""
    import cupy  # noqa: PLC0415 - as above

    measured: dict[str, list[float]] = {name: [] for name in kernels}
    for _ in range(REPEAT):
        for name, run in kernels.items():
            start, stop = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            run()
            stop.record()
            stop.synchronize()
            measured[name].append(cupy.cuda.get_elapsed_time(start, stop))
    return {name: statistics.median(times[1:]) for name, times in measured.items()}


if __name__ == "__main__":
    main()
