"""Time one matrix product in FP16, INT8 and FP8 through PyTorch, with and without quantising around it, over the number of rows."""

import functools
import importlib
import json
import statistics
from collections.abc import Callable
from typing import Any

import gpu

Row = dict[str, Any]

SHAPES = ((32, 4096), (128, 4096), (512, 4096), (2048, 4096), (8192, 4096), (8192, 8192))  # rows, and columns of the square weights
ROUNDS, INSIDE = 9, 10
TABLES = {
    "products": {
        "m": ("行数 M", "Rows M"),
        "width": ("N = K", "N = K"),
        "measured_fp16_us": ("FP16（µs）", "FP16 (µs)"),
        "measured_int8_us": ("INT8（µs）", "INT8 (µs)"),
        "measured_int8_unfused_us": ("INT8，Q/DQ 未融合（µs）", "INT8, Q/DQ unfused (µs)"),
        "measured_fp8_us": ("FP8（µs）", "FP8 (µs)"),
        "measured_fp8_unfused_us": ("FP8，Q/DQ 未融合（µs）", "FP8, Q/DQ unfused (µs)"),
    },
}


def predict(inputs: Row) -> Row:  # noqa: ARG001 - see below
    """Give nothing yet."""
    return {}


def check(rows: dict[str, Row]) -> None:
    """Assert what the pages claim."""
    # each time over FP16's, for weights of 4,096 and of 8,192
    bounds = {
        4096: {"int8": (0.84, 1.075), "int8_unfused": (2.1, 2.6), "fp8": (0.55, 0.615), "fp8_unfused": (0.98, 1.12)},
        8192: {"int8": (0.955, 0.965), "int8_unfused": (1.6, 1.62), "fp8": (0.505, 0.515), "fp8_unfused": (0.71, 0.725)},
    }
    for name, row in rows.items():
        assert row["measured_int8_error"] < 0.05, f"{name}: INT8's product is off: {row}"
        assert row["measured_fp8_error"] < 0.1, f"{name}: FP8's product is off: {row}"
        for key, (low, high) in bounds[row["width"]].items():
            ratio = row[f"measured_{key}_us"] / row["measured_fp16_us"]
            assert low <= ratio <= high, f"{name}: {key} over FP16 is {ratio:.3f}"
        assert "cutlass_80" in row["kernels"]["int8"], f"{name}: INT8's kernel is {row['kernels']['int8']}"
        for key in ("fp16", "fp8"):
            assert row["kernels"][key].startswith("nvjet_sm90"), f"{name}: {key}'s kernel is {row['kernels'][key]}"
    m_512 = rows["m_512"]
    assert 1.065 < m_512["measured_int8_us"] / m_512["measured_fp16_us"] < 1.075, f"m_512: {m_512}"


def main() -> None:
    """Measure, check, and print the record's rows."""
    if gpu.launching():
        return
    rows = {}
    for m, width in SHAPES:
        name = f"m_{m}" if width == SHAPES[0][1] else f"m_{m}_{width}"
        rows[name] = measure(m, width)
        gpu.say(f"{name} {rows[name]}")
    check(rows)
    print(json.dumps({"rows": rows, "conditions": conditions()}))


def measure(m: int, width: int) -> Row:
    """Time the products of one size in turn, and compare their results with FP32's."""
    torch: Any = importlib.import_module("torch")
    random = torch.Generator("cuda").manual_seed(m)
    a = torch.randn(m, width, generator=random, device="cuda").half()
    b = torch.randn(width, width, generator=random, device="cuda").half()
    scale_a, scale_b = a.abs().max().float() / 127, b.abs().max().float() / 127
    a8, b8 = (a / scale_a).round().to(torch.int8), (b / scale_b).round().to(torch.int8).t().contiguous().t()
    eight, one = torch.float8_e4m3fn, torch.ones((), device="cuda")
    fa, fb = a.to(eight), b.t().contiguous().to(eight).t()
    functions: dict[str, Callable[[], Any]] = {
        "fp16": functools.partial(torch.mm, a, b),
        "int8": functools.partial(torch._int_mm, a8, b8),  # noqa: SLF001 - PyTorch has no public name for it
        "int8_unfused": lambda: (torch._int_mm((a / scale_a).round().clamp(-128, 127).to(torch.int8), b8) * (scale_a * scale_b)).to(torch.float16),  # noqa: SLF001
        "fp8": lambda: torch._scaled_mm(fa, fb, one, one, out_dtype=torch.float16),  # noqa: SLF001
        "fp8_unfused": lambda: torch._scaled_mm((a / one).to(eight), fb, one, one, out_dtype=torch.float16),  # noqa: SLF001
    }
    exact = a.float() @ b.float()
    worth = {
        "int8": functions["int8_unfused"]().float(),
        "fp8": functions["fp8"]().float(),
    }
    errors = {f"measured_{name}_error": round(float((value - exact).norm() / exact.norm()), 5) for name, value in worth.items()}
    times = in_turn(functions)
    return (
        {"m": m, "width": width}
        | {f"measured_{name}_us": round(value, 3) for name, value in times.items()}
        | errors
        | {"kernels": kernels(functions)}
    )


def kernels(functions: dict[str, Callable[[], Any]]) -> dict[str, str]:
    """Give the name of the kernel that takes longest in each function."""
    torch: Any = importlib.import_module("torch")
    profiler: Any = importlib.import_module("torch.profiler")
    found = {}
    for name, function in functions.items():
        with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as profile:
            function()
            torch.cuda.synchronize()
        events = [event for event in profile.events() if event.device_time_total]
        found[name] = str(max(events, key=lambda event: event.device_time_total).name)[:120] if events else ""
    return found


def in_turn(functions: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Time functions as CUDA graphs of several calls, round by round in turn, and give each one's median in microseconds."""
    torch: Any = importlib.import_module("torch")
    graphs = {}
    for name, function in functions.items():
        for _ in range(3):
            function()
        torch.cuda.synchronize()
        graphs[name] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[name]):
            for _ in range(INSIDE):
                function()
    times: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(ROUNDS + 2):
        for name, graph in graphs.items():
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            if turn >= 2:
                times[name].append(start.elapsed_time(end) * 1e3 / INSIDE)
    return {name: statistics.median(values) for name, values in times.items()}


def conditions() -> dict[str, str]:
    """Name PyTorch's version."""
    torch: Any = importlib.import_module("torch")
    return {"torch": f"PyTorch {torch.__version__}"}


if __name__ == "__main__":
    main()
