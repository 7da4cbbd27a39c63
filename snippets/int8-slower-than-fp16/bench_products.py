"""Time one matrix product in FP16, INT8 and FP8 through PyTorch, with and without quantising around it, over the number of rows."""

import functools
import importlib
import json
import statistics
from collections.abc import Callable
from typing import Any

import gpu

Row = dict[str, Any]

ROWS = (32, 128, 512, 2048, 8192)
WIDTH = 4096
ROUNDS, INSIDE = 9, 10
TABLES = {
    "products": {
        "m": ("行数 M", "Rows M"),
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
    for name, row in rows.items():
        assert row["measured_int8_error"] < 0.05, f"{name}: INT8's product is off: {row}"
        assert row["measured_fp8_error"] < 0.1, f"{name}: FP8's product is off: {row}"


def main() -> None:
    """Measure, check, and print the record's rows."""
    if gpu.launching():
        return
    rows = {}
    for m in ROWS:
        rows[f"m_{m}"] = measure(m)
        gpu.say(f"m_{m} {rows[f'm_{m}']}")
    check(rows)
    print(json.dumps({"rows": rows, "conditions": conditions()}))


def measure(m: int) -> Row:
    """Time the products of one size in turn, and compare their results with FP32's."""
    torch: Any = importlib.import_module("torch")
    random = torch.Generator("cuda").manual_seed(m)
    a = torch.randn(m, WIDTH, generator=random, device="cuda").half()
    b = torch.randn(WIDTH, WIDTH, generator=random, device="cuda").half()
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
    return {"m": m, "width": WIDTH} | {f"measured_{name}_us": round(value, 3) for name, value in times.items()} | errors


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
