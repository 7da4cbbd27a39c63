"""Time torch.matmul in FP16 on an H200 from 8 x 8 x 8 to 4,096 cubed, and where rows are not aligned: what runs, what it computes."""

import importlib
import itertools
import json
import math
import re
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import peak

import gpu

MARK = Path(__file__).with_name("fragments.cu")  # its kernel `pair` stands between two products
MARK_GRID, MARK_BLOCK = (3, 37), 32
SIDES = (8, 32, 128, 256, 512, 1024, 2048, 4096)
ALIGNMENTS = ((4096, 4096, 4095), (4096, 4096, 4092), (4096, 4096, 4088), (4096, 4095, 4096), (4096, 4092, 4096), (4095, 4096, 4096))
ROUNDS, COLD_BYTES, MOST_COPIES = 7, 256e6, 40  # copies of A and B, so that products in a row find nothing in the L2 of 60 MiB
METRICS = {
    "grid": "launch__grid_size",
    "block": "launch__block_size",
    "flop": "sm__ops_path_tensor_src_fp16.sum",
    "gmma": "sm__inst_executed_pipe_tensor_op_gmma.sum",
}
TABLES = {
    "sizes": {
        "m": ("M", "M"),
        "n": ("N", "N"),
        "k": ("K", "K"),
        "predicted_floor_us": ("预测下限（µs）", "Predicted floor (µs)"),
        "measured_time_us": ("FP16（µs）", "FP16 (µs)"),
        "measured_fp32_time_us": ("FP32（µs）", "FP32 (µs)"),
        "measured_speedup": ("快几倍", "Speedup"),
        "counted_work_ratio": ("Tensor Core 运算 / 2MNK", "Tensor Core operations / 2MNK"),
    },
    "alignment": {
        "m": ("M", "M"),
        "n": ("N", "N"),
        "k": ("K", "K"),
        "predicted_alignment": ("预测：行首对齐（元素）", "Predicted alignment (elements)"),
        "counted_hopper_instructions": ("用 wgmma", "Uses wgmma"),
        "measured_time_us": ("时间（µs）", "Time (µs)"),
        "measured_slowdown": ("慢几倍", "Slowdown"),
        "measured_kernel": ("kernel", "Kernel"),
    },
}


def inputs() -> dict[str, dict[str, Any]]:
    """Give the rows' names and inputs."""
    sizes = [(side, side, side) for side in SIDES] + [(16, 4096, 4096), *ALIGNMENTS]
    return {f"{m}_{n}_{k}": {"m": m, "n": n, "k": k} for m, n, k in sizes}


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Predict the time that no kernel beats and how many elements every row start is aligned to."""
    m, n, k = row["m"], row["n"], row["k"]
    return {"predicted_floor_us": float(f"{peak.floor_us(m, n, k):.4g}"), "predicted_alignment": peak.alignment(n, k)}


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name, row in rows.items():
        assert row["measured_time_us"] > row["predicted_floor_us"], (name, row)
        assert row["measured_error"] < 1e-3, (name, row)
    slowdowns = {1: (4.5, 6), 4: (2.4, 3.2), 8: (0.95, 1.08)}
    for m, n, k in ALIGNMENTS:
        row = rows[f"{m}_{n}_{k}"]
        lowest, highest = slowdowns[row["predicted_alignment"]]
        assert row["counted_hopper_instructions"] == (row["predicted_alignment"] == 8), row
        assert lowest < row["measured_slowdown"] < highest, row
    squares = {side: rows[f"{side}_{side}_{side}"] for side in SIDES}
    assert squares[256]["measured_time_us"] < 1.4 * squares[8]["measured_time_us"], squares
    assert 0.7 < squares[8]["measured_speedup"] < 1.3, squares[8]
    assert all(squares[side]["measured_speedup"] < 3.5 for side in (32, 128, 256, 512)), squares
    assert squares[4096]["measured_speedup"] > 13, squares[4096]
    assert squares[8]["counted_work_ratio"] == 64, squares[8]
    shares = {name: row["predicted_floor_us"] / row["measured_time_us"] for name, row in rows.items()}
    assert shares["256_256_256"] < 0.03, shares
    assert 0.65 < shares["4096_4096_4096"] < 0.85, shares
    assert 0.3 < shares["16_4096_4096"] < 0.6, shares


def main() -> None:
    """Launch under ncu, or check, time, name, count, and print the rows."""
    if gpu.launching():
        mark()
        for row in inputs().values():
            product(row, host=True)()
            mark()
        return
    rows = inputs()
    for row in rows.values():
        row.update(predict(row) | {"measured_error": error(row)})
    for name, row in rows.items():
        row["measured_kernel"] = kernels(row)
        gpu.say(f"{name}: {row['measured_kernel']}")
    timed(rows)
    base = rows["4096_4096_4096"]["measured_time_us"]
    for m, n, k in ((4096, 4096, 4096), *ALIGNMENTS):
        row = rows[f"{m}_{n}_{k}"]
        row["measured_slowdown"] = round(row["measured_time_us"] / base, 3)
    for row, (flop, gmma) in zip(rows.values(), counts(len(rows)), strict=True):
        row["counted_tensor_flop"] = int(flop)
        row["counted_work_ratio"] = round(flop / peak.flop(row["m"], row["n"], row["k"]), 3)
        row["counted_hopper_instructions"] = gmma > 0
    for name, row in rows.items():
        gpu.say(f"{name}: {row}")
    check(rows)
    print(json.dumps({"rows": rows}))


def mark() -> None:
    """Launch a kernel that is known by its grid and block, between two products."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too

    gpu.kernel(MARK, "pair")(MARK_GRID, (MARK_BLOCK,), (cupy.empty(MARK_GRID[0] * MARK_GRID[1] * 128, cupy.float32),))


def matrices(row: dict[str, Any], dtype: str, *, host: bool = False) -> tuple[Any, Any, Any]:
    """Make random A and B, and C; from the host where only the products' kernels may run."""
    torch: Any = importlib.import_module("torch")
    kind = getattr(torch, dtype)
    shapes = ((row["m"], row["k"]), (row["k"], row["n"]))
    if host:
        a, b = (torch.ones(shape, dtype=kind).cuda() for shape in shapes)
    else:
        a, b = (torch.randn(shape, device="cuda", dtype=kind) for shape in shapes)
    return a, b, torch.empty(row["m"], row["n"], device="cuda", dtype=kind)


def product(row: dict[str, Any], *, host: bool = False) -> Callable[[], object]:
    """Give one product in FP16."""
    torch: Any = importlib.import_module("torch")
    a, b, c = matrices(row, "float16", host=host)
    return lambda: torch.matmul(a, b, out=c)


def error(row: dict[str, Any]) -> float:
    """Give the error of one product against FP64, relative in the Frobenius norm."""
    torch: Any = importlib.import_module("torch")
    a, b, c = matrices(row, "float16")
    c.fill_(float("nan"))
    torch.matmul(a, b, out=c)
    exact = torch.matmul(a.double(), b.double())
    return float(f"{float((c.double() - exact).norm() / exact.norm()):.3g}")


def kernels(row: dict[str, Any]) -> str:
    """Name the kernels that run for a product."""
    torch: Any = importlib.import_module("torch")
    run = product(row)
    run()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run()
        torch.cuda.synchronize()
    events = [event for event in profile.events() if str(event.device_type).endswith("CUDA") and not str(event.name).startswith("Mem")]
    return " + ".join(short(str(event.name)) for event in sorted(events, key=lambda event: event.time_range.start))


def short(name: str) -> str:
    """Give the telling part of a kernel's name."""
    found = re.search(r"(?:nvjet|cutlass|sm\d+_xmma|ampere|hopper|volta|turing)_\w+|\w*(?:gemv|gemm|dot|split|reduce)\w*", name)
    return found[0] if found else name[:60]


def between(items: list[Any], is_mark: Callable[[Any], bool]) -> Iterator[list[Any]]:
    """Split a list at its marks, which stand before, between and behind the groups."""
    places = [number for number, item in enumerate(items) if is_mark(item)]
    for first, last in itertools.pairwise(places):
        yield items[first + 1 : last]


def timed(rows: dict[str, dict[str, Any]]) -> None:
    """Time each product in FP16 and in FP32, many in a CUDA graph, both in turns; put the medians into the rows.

    PyTorch uses TF32 for FP32 products only where it is asked to. What the alignment is about needs no FP32 beside it.
    """
    kinds = {"float16": "measured_time_us", "float32": "measured_fp32_time_us"}
    for name, row in rows.items():
        sizes = (row["m"], row["n"], row["k"])
        graphs = {dtype: graph(row, dtype) for dtype in kinds if dtype == "float16" or sizes not in ALIGNMENTS}
        times: dict[str, list[float]] = {dtype: [] for dtype in graphs}
        for _ in range(ROUNDS):
            for dtype, (replay, copies) in graphs.items():
                times[dtype].append(gpu.milliseconds(replay, repeat=1, warmup=1) * 1e3 / copies)
        row.update({kinds[dtype]: float(f"{statistics.median(values):.4g}") for dtype, values in times.items()})
        if "float32" in graphs:
            row["measured_speedup"] = round(row["measured_fp32_time_us"] / row["measured_time_us"], 2)
        gpu.say(f"{name}: {row}")


def graph(row: dict[str, Any], dtype: str) -> tuple[Callable[[], object], int]:
    """Capture products of different matrices of one size in a CUDA graph; give its replay and their number."""
    torch: Any = importlib.import_module("torch")
    moved = peak.moved_bytes(row["m"], row["n"], row["k"]) * (2 if dtype == "float32" else 1)
    copies = min(MOST_COPIES, math.ceil(COLD_BYTES / moved))
    sets = [matrices(row, dtype) for _ in range(copies)]

    def run() -> None:
        for a, b, c in sets:
            torch.matmul(a, b, out=c)

    run()
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        run()

    def replay() -> int:
        captured.replay()
        return len(sets)  # which keeps the matrices alive

    return replay, copies


def counts(number: int) -> list[tuple[float, float]]:
    """Read for each product, in order, the Tensor Core operations and wgmma instructions of all its kernels."""
    read = gpu.counters(list(METRICS.values()), ".*")
    grid = MARK_GRID[0] * MARK_GRID[1]
    groups = list(between(read, lambda row: (row[METRICS["grid"]], row[METRICS["block"]]) == (grid, MARK_BLOCK)))
    assert len(groups) == number, f"{len(groups)} products were counted"
    return [(sum(row[METRICS["flop"]] for row in group), sum(row[METRICS["gmma"]] for row in group)) for group in groups]


if __name__ == "__main__":
    main()
