"""Count kernels, DRAM bytes and time of bias + residual + LayerNorm on an H200: three kernels, PyTorch's, and one."""

import importlib
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpu

SOURCE = Path(__file__).with_name("norm.cu")
WIDTH, THREADS = 4096, 256
ROWS = {"large": 65536, "small": 16}  # 537 MB a tensor, far more than the L2 holds; 131 KB, as in decode with 16 sequences
ROUNDS, LAUNCHES = 11, 20
# The tensors that each way's kernels read and write; the three vectors of WIDTH elements are a thousandth of one or less.
WAYS = {
    "three_kernels": (("norm_bias", 1, 1), ("norm_residual", 2, 1), ("norm_layer", 1, 1)),
    "torch": (("add", 1, 1), ("add", 2, 1), ("layer_norm", 1, 1)),
    "fused": (("norm_fused", 2, 2),),
}
TABLES = {
    "fusion": {
        "way": ("做法", "Way"),
        "rows": ("行数", "Rows"),
        "predicted_kernels": ("预测 kernel", "Predicted kernels"),
        "counted_kernels": ("实测", "Counted"),
        "predicted_dram_mb": ("预测 DRAM（MB）", "Predicted DRAM (MB)"),
        "counted_dram_mb": ("实测", "Counted"),
        "measured_time_us": ("时间（µs）", "Time (µs)"),
        "measured_bandwidth_gb_s": ("GB/s", "GB/s"),
    },
}
METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum", "launch__grid_size")
MARKER_BLOCKS = 7777


def inputs() -> dict[str, dict[str, Any]]:
    """Give the rows' names and inputs."""
    return {f"{way}_{size}": {"way": way, "rows": rows, "width": WIDTH} for size, rows in ROWS.items() for way in WAYS}


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Predict the kernels and the bytes that they move, as if nothing stayed in the L2 between them."""
    tensors = sum(read + written for _, read, written in WAYS[row["way"]])
    return {"predicted_kernels": len(WAYS[row["way"]]), "predicted_dram_mb": round(tensors * 2 * row["rows"] * row["width"] / 1e6, 2)}


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name, row in rows.items():
        assert row["counted_kernels"] == row["predicted_kernels"], (name, row)
        assert row["measured_error"] < 2e-3, (name, row)
        if "large" in name:
            assert 0.93 < row["counted_dram_mb"] / row["predicted_dram_mb"] < 1.05, (name, row)
        else:
            assert row["counted_dram_mb"] < row["predicted_dram_mb"], (name, row)
    time = {name: row["measured_time_us"] for name, row in rows.items()}
    assert 1.65 < time["three_kernels_large"] / time["fused_large"] < 1.85, time
    assert 1.5 < time["three_kernels_small"] / time["fused_small"] < 2.5, time
    assert 1.3 < time["torch_large"] / time["three_kernels_large"] < 1.9, time
    for name in ("three_kernels_large", "fused_large"):
        assert rows[name]["measured_bandwidth_gb_s"] > 4000, (name, rows[name])


def main() -> None:
    """Launch under ncu, or check the results, time in turns inside CUDA graphs, count, and print the rows."""
    torch: Any = importlib.import_module("torch")
    rows = inputs()
    runs: dict[str, Callable[[], Any]] = {}
    for size in ROWS:
        runs |= launches(size)
    if gpu.launching():
        for run in runs.values():
            gpu.kernel(SOURCE, "marker")((MARKER_BLOCKS,), (1,), ())
            run()
        torch.cuda.synchronize()
        return
    for name, row in rows.items():
        row.update(predict(row) | {"measured_error": error(runs[name], name)})
    gpu.say("results are right; timing")
    graphs = {name: captured(run, LAUNCHES if "small" in name else 1) for name, run in runs.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, graph in graphs.items():
            times[name].append(gpu.milliseconds(graph, repeat=1, warmup=1) / (LAUNCHES if "small" in name else 1))
    for name, row in rows.items():
        time = statistics.median(times[name])
        row |= {"measured_time_us": round(time * 1e3, 2), "measured_bandwidth_gb_s": round(row["predicted_dram_mb"] / time, 1)}
    count(rows)
    check(rows)
    print(json.dumps({"rows": rows, "conditions": {"library": f"PyTorch {torch.__version__}"}}))


def count(rows: dict[str, dict[str, Any]]) -> None:
    """Count each way's kernels and DRAM bytes: what was launched between two markers."""
    launched = gpu.counters(METRICS, ".")
    places = [place for place, launch in enumerate(launched) if launch["launch__grid_size"] == MARKER_BLOCKS]
    assert len(places) == len(rows), f"{len(places)} markers"
    for (name, row), begin, end in zip(rows.items(), places, [*places[1:], len(launched)], strict=True):
        own = launched[begin + 1 : end]
        row.update({"counted_kernels": len(own), "counted_dram_mb": round(sum(launch[metric] for launch in own for metric in METRICS[:2]) / 1e6, 2)})
        gpu.say(f"{name}: {row} {own}")


KEPT: dict[str, Any] = {}  # tensors by size, and what each way wrote


def launches(size: str) -> dict[str, Callable[[], Any]]:
    """Give each way as a launch on random data of one size; each returns the normalised rows."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too

    torch: Any = importlib.import_module("torch")
    numbers = torch.Generator(device="cuda").manual_seed(10)

    def draw(*shape: int) -> Any:
        return torch.randn(*shape, device="cuda", dtype=torch.float16, generator=numbers)

    x, residual, bias, scale, shift = draw(ROWS[size], WIDTH), draw(ROWS[size], WIDTH), draw(WIDTH), draw(WIDTH), draw(WIDTH)
    first, total, out = (torch.empty_like(x) for _ in range(3))
    KEPT[size] = (x, residual, bias, scale, shift, first, total, out)
    see = {id(tensor): cupy.from_dlpack(tensor) for tensor in KEPT[size]}

    def launch(name: str, *arguments: Any) -> None:
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            gpu.kernel(SOURCE, name)((ROWS[size],), (THREADS,), tuple(see[id(argument)] for argument in arguments))

    def three_kernels() -> Any:
        launch("norm_bias", x, bias, first)
        launch("norm_residual", first, residual, total)
        launch("norm_layer", total, scale, shift, out)
        return out

    def with_torch() -> Any:
        torch.add(x, bias, out=first)
        torch.add(first, residual, out=total)
        return torch.nn.functional.layer_norm(total, (WIDTH,), scale, shift)

    def fused() -> Any:
        launch("norm_fused", x, bias, residual, scale, shift, total, out)
        return out

    return {f"three_kernels_{size}": three_kernels, f"torch_{size}": with_torch, f"fused_{size}": fused}


def captured(run: Callable[[], Any], times: int) -> Callable[[], None]:
    """Capture a run, several times in a row, in a CUDA graph, so that launches by the host do not count."""
    torch: Any = importlib.import_module("torch")
    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            run()
    KEPT.setdefault("graphs", []).append(graph)
    replay: Callable[[], None] = graph.replay
    return replay


def error(run: Callable[[], Any], name: str) -> float:
    """Run over poison and give the error against FP64, relative in the Frobenius norm, on the first and last rows."""
    torch: Any = importlib.import_module("torch")
    x, residual, bias, scale, shift, first, total, out = KEPT[name.rpartition("_")[2]]
    for tensor in (first, total, out):
        tensor.fill_(float("nan"))
    result = run()
    torch.cuda.synchronize()
    assert torch.isfinite(result).all(), name
    ends = torch.cat([torch.arange(8), torch.arange(len(x) - 8, len(x))]).cuda()
    exact = torch.nn.functional.layer_norm(
        x[ends].double() + bias.double() + residual[ends].double(), (WIDTH,), scale.double(), shift.double()
    )  # fmt: skip
    return float(f"{float((result[ends].double() - exact).norm() / exact.norm()):.3g}")


if __name__ == "__main__":
    main()
