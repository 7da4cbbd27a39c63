"""Time and count the kernels of ladder.cu and hopper.cu, from naive to TMA and wgmma, beside cuBLAS."""

import importlib
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench_hopper
import ladder

import gpu

SOURCE = Path(__file__).with_name("ladder.cu")
SIZE = 4096
PRECISIONS = ("fp32", "fp16")
SHARED = {"mma_fp16": 2 * 49152, "swizzle_fp16": 2 * 49152, "stages_fp16": 4 * 49152}
HOPPER = {"tma_fp16": "-DCLUSTER=1", "cluster_fp16": "-DCLUSTER=2"}
TIME = {
    "predicted_time_ms": ("预测下限（ms）", "Predicted floor (ms)"),
    "predicted_limit": ("限于", "Limit"),
    "measured_time_ms": ("实测（ms）", "Measured (ms)"),
    "measured_tflop_s": ("TFLOP/s", "TFLOP/s"),
    "measured_share_of_cublas_percent": ("占 cuBLAS（%）", "Of cuBLAS (%)"),
}
TRAFFIC = {
    "predicted_wavefronts_m": ("预测：L1 wavefront（M）", "Predicted L1 wavefronts (M)"),
    "counted_wavefronts_m": ("实测", "Counted"),
    "counted_conflicts_m": ("bank 冲突（M）", "Bank conflicts (M)"),
    "predicted_sm_mb": ("预测：L2 到 SM（MB）", "Predicted L2 to SM (MB)"),
    "counted_sm_mb": ("实测", "Counted"),
    "counted_l2_read_mb": ("L2 读（MB）", "L2 reads (MB)"),
    "counted_dram_read_mb": ("DRAM 读（MB）", "DRAM reads (MB)"),
    "counted_tensor_active_percent": ("Tensor 管线活跃（%）", "Tensor pipe active (%)"),
}
TABLES = {
    f"{what}_{precision}": {f"{precision}_rung": (precision.upper(), precision.upper())} | columns
    for what, columns in (("time", TIME), ("traffic", TRAFFIC))
    for precision in PRECISIONS
}
METRICS = {
    "sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "wavefronts": "l1tex__data_pipe_lsu_wavefronts.sum",
    "conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "sm_bytes": "l1tex__m_xbar2l1tex_read_bytes.sum",
    "multicast_bytes": "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld_dest_multicast.sum",
    "l2_read_sectors": "lts__t_sectors_srcunit_tex_op_read.sum",
    "dram_read": "dram__bytes_read.sum",
    "tensor_active_percent": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
}
COUNTED = "_fp32|_fp16|hopper|nvjet|gemm"


def inputs(l2_gb_s: int) -> dict[str, dict[str, Any]]:
    """Give the rows' names and inputs."""
    names = [*ladder.RUNGS, *(f"cublas_{precision}" for precision in PRECISIONS)]
    return {name: {f"{name[-4:]}_rung": name[:-5], "name": name, "size": SIZE, "l2_gb_s": l2_gb_s} for name in names}


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Predict traffic and the shortest time by ladder.py; cuBLAS is what a kernel is compared with."""
    if row["name"] not in ladder.RUNGS:
        return dict.fromkeys(("predicted_time_ms", "predicted_limit", "predicted_wavefronts_m", "predicted_sm_mb"))
    rung = ladder.RUNGS[row["name"]]
    moved, times = ladder.traffic(rung, row["size"]), ladder.limits(rung, row["size"], row["l2_gb_s"])
    longest = max(times, key=lambda limit: times[limit])
    return {
        "predicted_time_ms": round(times[longest], 3),
        "predicted_limit": longest,
        "predicted_sectors": moved["sectors"],
        "predicted_wavefronts_m": round(moved["wavefronts"] / 1e6, 1) if moved["wavefronts"] else None,
        "predicted_sm_mb": round(moved["reached"] / 1e6),
        "predicted_l2_read_mb": round(moved["read"] / 1e6),
    }


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name, row in rows.items():
        assert row["measured_error"] < (2e-6 if "fp32" in name else 4e-4), (name, row)
        if name not in ladder.RUNGS:
            continue
        assert row["counted_sectors"] == row["predicted_sectors"], (name, row)
        assert row["measured_time_ms"] > 0.97 * row["predicted_time_ms"], (name, row)
        assert 0.9 < row["counted_sm_mb"] / row["predicted_sm_mb"] < 1.02, (name, row)
        if row["predicted_wavefronts_m"]:
            highest = 1.4 if name in {"async_fp32", "swizzle_fp32"} else 1.12
            assert 0.99 < row["counted_wavefronts_m"] / row["predicted_wavefronts_m"] < highest, (name, row)
    check_times(rows)


def check_times(rows: dict[str, dict[str, Any]]) -> None:
    """Assert the ratios that the page states."""
    time = {name: row["measured_time_ms"] for name, row in rows.items()}
    assert 7 < time["naive_fp32"] / time["coalesced_fp32"] < 11, time
    assert 1.7 < time["coalesced_fp32"] / time["shared_fp32"] < 2.3, time
    assert 3 < time["shared_fp32"] / time["register_fp32"] < 4, time
    assert 2.8 < time["mma_fp16"] / time["swizzle_fp16"] < 4.2, time
    assert time["cluster_fp16"] < 0.6 * time["stages_fp16"], time
    share = {name: row["measured_share_of_cublas_percent"] for name, row in rows.items()}
    assert share["cluster_fp16"] >= 90, share
    assert share["tma_fp16"] >= 85, share
    assert share["swizzle_fp32"] >= 75, share
    assert rows["naive_fp32"]["measured_time_ms"] < 1.1 * rows["naive_fp32"]["predicted_time_ms"], rows["naive_fp32"]
    cluster, tma = rows["cluster_fp16"], rows["tma_fp16"]
    assert cluster["counted_multicast_mb"] == round(2 / 3 * cluster["predicted_sm_mb"], 0), cluster
    assert cluster["counted_l2_read_mb"] < 0.75 * tma["counted_l2_read_mb"], (cluster, tma)
    assert cluster["counted_tensor_active_percent"] > 90, cluster
    assert rows["mma_fp16"]["counted_conflicts_m"] > 230, rows["mma_fp16"]
    assert rows["swizzle_fp16"]["counted_conflicts_m"] < 0.1, rows["swizzle_fp16"]
    assert rows["swizzle_fp32"]["counted_conflicts_m"] < 0.5 * rows["async_fp32"]["counted_conflicts_m"], rows["async_fp32"]


def claims(rows: dict[str, dict[str, Any]]) -> str:
    """Say whether the rows show what the page claims; the tests decide, so that a claim that is wrong does not cost the measurement."""
    try:
        check(rows)
    except (AssertionError, KeyError) as error:
        return f"the rows do not show what check claims: {error!r}"
    return "the rows show what check claims"


def main() -> None:
    """Launch under ncu, or check the results, time in turns, count, and print the rows."""
    if gpu.launching():
        for run, _ in launches().values():
            run()
        return
    rows = inputs(l2_bandwidth())
    runs = launches()
    exact = exact_product()
    for name, row in rows.items():
        row.update(predict(row) | {"measured_error": error(*runs[name], exact)})
    del exact
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(10):
        for name, (run, _) in runs.items():
            slow = rows[name]["predicted_time_ms"] or 1
            if slow < 10 or turn < 3:
                count = 5 if slow < 1 else 1
                times[name].append(gpu.milliseconds(bench_hopper.in_a_row(run, count), repeat=1, warmup=1 if slow < 10 else 0) / count)
    for name, row in rows.items():
        time = statistics.median(times[name])
        best = statistics.median(times[f"cublas_{name[-4:]}"])
        row |= {"measured_time_ms": round(time, 4), "measured_tflop_s": round(2 * SIZE**3 / time / 1e9, 1)}
        row["measured_share_of_cublas_percent"] = round(100 * best / time, 1)
    read = gpu.counters(list(METRICS.values()), COUNTED)
    if len(read) != len(rows):
        gpu.say(f"{len(read)} launches were counted, not {len(rows)}")
    for row, launch in zip(rows.values(), read, strict=False):
        row.update(counted({what: launch[metric] for what, metric in METRICS.items()}))
    gpu.say(json.dumps(rows))
    gpu.say(claims(rows))
    print(json.dumps({"rows": rows}))


def counted(read: dict[str, float]) -> dict[str, Any]:
    """Give one launch's counters in the rows' units."""
    return {
        "counted_sectors": int(read["sectors"]),
        "counted_wavefronts_m": round(read["wavefronts"] / 1e6, 1),
        "counted_conflicts_m": round(read["conflicts"] / 1e6, 2),
        "counted_sm_mb": round(read["sm_bytes"] / 1e6),
        "counted_multicast_mb": round(read["multicast_bytes"] / 1e6),
        "counted_l2_read_mb": round(read["l2_read_sectors"] * 32 / 1e6),
        "counted_dram_read_mb": round(read["dram_read"] / 1e6),
        "counted_tensor_active_percent": round(read["tensor_active_percent"], 1),
    }


def launches() -> dict[str, tuple[Callable[[], object], Any]]:
    """Give each kernel's launch and what it writes."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too

    torch: Any = importlib.import_module("torch")
    torch.backends.cuda.matmul.allow_tf32 = False
    half = (bench_hopper.random(SIZE, SIZE), bench_hopper.random(SIZE, SIZE).t().contiguous())
    factors = {"fp32": tuple(matrix.float() for matrix in half), "fp16": half}
    runs: dict[str, tuple[Callable[[], object], Any]] = {}
    for name, rung in ladder.RUNGS.items():
        a, b = factors[name[-4:]]
        c = torch.empty_like(a)
        if name in HOPPER:
            runs[name] = bench_hopper.product(a, b, c, HOPPER[name]), c
            continue
        kernel = gpu.kernel(SOURCE, name)
        shared = SHARED.get(name, 0)
        if shared:
            kernel.max_dynamic_shared_size_bytes = shared
        arguments = (*(cupy.from_dlpack(matrix) for matrix in (a, b, c)), cupy.int32(SIZE), cupy.int32(SIZE))
        runs[name] = launch(kernel, (SIZE // rung.tile[1], SIZE // rung.tile[0]), rung.warps * 32, arguments, shared), c
    for precision in PRECISIONS:
        a, b = factors[precision]
        c = torch.empty_like(a)
        runs[f"cublas_{precision}"] = multiply(a, b, c), c
    return runs


def launch(kernel: Any, grid: tuple[int, int], threads: int, arguments: tuple[Any, ...], shared: int) -> Callable[[], object]:
    """Give the launch of one kernel of ladder.cu."""
    return lambda: kernel(grid, (threads,), arguments, shared_mem=shared)


def multiply(a: Any, b: Any, c: Any) -> Callable[[], object]:
    """Give PyTorch's product, which is cuBLAS's."""
    torch: Any = importlib.import_module("torch")
    return lambda: torch.matmul(a, b, out=c)


def exact_product() -> Any:
    """Give the product in FP64."""
    matrix = bench_hopper.random(SIZE, SIZE)
    return matrix.double() @ matrix.t().double()


def error(run: Callable[[], object], product: Any, exact: Any) -> float:
    """Run over poison and give the error against FP64, relative in the Frobenius norm."""
    product.fill_(float("nan"))
    run()
    return float(f"{float((product.double() - exact).norm() / exact.norm()):.3g}")


def l2_bandwidth() -> int:
    """Give what the L2 gives all SMs, in GB/s: 264 blocks read the same 16 MiB, from the same place or from places of their own."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too

    data, out = cupy.random.rand(4 << 20, dtype=cupy.float32), cupy.zeros(1, dtype=cupy.float32)
    kernel, count = gpu.kernel(SOURCE, "read_l2"), data.size // 4
    rates: list[float] = []
    for apart in (0, 1):
        time = gpu.milliseconds(lambda apart=apart: kernel((264,), (1024,), (data, out, cupy.int32(count), cupy.int32(apart))), 15, 3)  # type: ignore[misc]
        rates.append(264 * data.nbytes / time / 1e6)
        gpu.say(f"L2 reads, apart {apart}: {rates[-1]:.0f} GB/s")
    return round(max(rates))


if __name__ == "__main__":
    main()
