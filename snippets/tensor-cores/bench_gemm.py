"""Time and count one FP16 product on an H200 in four ways, FFMA to wgmma, beside cuBLAS: gemm.cu."""

import importlib
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import peak

import gpu

SOURCE = Path(__file__).with_name("gemm.cu")
M = N = K = 4096
TILE_M, TILE_N, TILE_K, THREADS, STAGES = 128, 256, 64, 256, 4
ROUNDS, LAUNCHES = 15, 5  # launches in a row between two events
HFMA2_A_WARP = 1  # of gemm_ffma: the compiler sets a register to 0 by HFMA2.MMA; asm_gemm.py asserts where
# name: the unit, the shape of its instruction, the warps that execute it together, bytes from a row of a tile to the next
RUNGS: dict[str, tuple[str, tuple[int, int, int] | None, int, int]] = {
    "ffma": ("FFMA", None, 1, 128),
    "wmma": ("FP16", (16, 8, 16), 1, 144),
    "mma": ("FP16", (16, 8, 16), 1, 128),
    "wgmma_cores": ("FP16", (64, 256, 16), 4, 128),
    "wgmma": ("FP16", (64, 256, 16), 4, 128),
}
TABLES = {
    "time": {
        "rung": ("做法", "Rung"),
        "measured_time_ms": ("时间（ms）", "Time (ms)"),
        "measured_tflop_s": ("TFLOP/s", "TFLOP/s"),
        "peak_tflop_s": ("单元峰值", "Peak of its unit"),
        "measured_share_of_peak_percent": ("占峰值（%）", "Of its peak (%)"),
        "measured_share_of_cublas_percent": ("占 cuBLAS（%）", "Of cuBLAS (%)"),
    },
    "counts": {
        "rung": ("做法", "Rung"),
        "predicted_tensor_flop": ("预测：Tensor Core 运算", "Predicted Tensor Core operations"),
        "counted_tensor_flop": ("实测", "Counted"),
        "predicted_hmma_instructions": ("预测：hmma 指令", "Predicted hmma instructions"),
        "counted_hmma_instructions": ("实测", "Counted"),
        "counted_gmma_instructions": ("gmma 指令", "gmma instructions"),
        "counted_tensor_active_percent": ("Tensor 管线活跃（%）", "Tensor pipe active (%)"),
        "counted_shared_load_wavefronts": ("共享内存读 wavefront", "Shared load wavefronts"),
    },
}
METRICS = {
    "tensor_flop": "sm__ops_path_tensor_src_fp16.sum",
    "hmma_instructions": "sm__inst_executed_pipe_tensor_op_hmma.sum",
    "gmma_instructions": "sm__inst_executed_pipe_tensor_op_gmma.sum",
    "tensor_active_percent": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
}


def inputs() -> dict[str, dict[str, Any]]:
    """Give the rows' names and inputs."""
    rows: dict[str, dict[str, Any]] = {}
    for rung in (*RUNGS, "cublas"):
        unit = RUNGS[rung][0] if rung in RUNGS else "FP16"
        limit = peak.FP32_TFLOP_S if unit == "FFMA" else peak.PEAK_TFLOP_S
        rows[rung] = {"rung": rung, "m": M, "n": N, "k": K, "peak_tflop_s": round(limit, 1)}
    return rows


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Predict what Tensor Cores compute, the instructions of it that warps execute, and what ldmatrix reads."""
    m, n, k = row["m"], row["n"], row["k"]
    work = peak.flop(m, n, k)
    if row["rung"] == "cublas":
        return {"predicted_tensor_flop": work, "predicted_hmma_instructions": None}
    _unit, shape, warps, _pitch = RUNGS[row["rung"]]
    if shape is None:
        return {"predicted_tensor_flop": 0, "predicted_hmma_instructions": m // TILE_M * (n // TILE_N) * THREADS // 32 * HFMA2_A_WARP}
    # A warpgroup's instruction counts for each of its warps, and what the counter calls hmma includes gmma.
    result = {"predicted_tensor_flop": work, "predicted_hmma_instructions": work // peak.flop(*shape) * warps}
    # A warp of 64 x 64 loads 8 x 4 matrices of 8 x 8 a step of 16; each is 128 bytes, one wavefront. wgmma reads by itself.
    loads = m // 64 * (n // 64) * (k // 16) * 32 if row["rung"] in {"mma", "wmma"} else 0
    return result | {"predicted_ldmatrix_wavefronts": loads}


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name, row in rows.items():
        assert row["counted_tensor_flop"] == row["predicted_tensor_flop"], (name, row)
        assert row["measured_error"] < 4e-4, (name, row)
    for name in RUNGS:
        row = rows[name]
        assert row["counted_hmma_instructions"] == row["predicted_hmma_instructions"], (name, row)
        assert row["counted_gmma_instructions"] == (row["predicted_hmma_instructions"] if "wgmma" in name else 0), (name, row)
    for name in ("wmma", "mma"):
        assert 1 <= rows[name]["counted_shared_load_wavefronts"] / rows[name]["predicted_ldmatrix_wavefronts"] < 1.1, (name, rows[name])
    assert rows["wgmma"]["counted_shared_load_wavefronts"] == rows["wgmma_cores"]["counted_shared_load_wavefronts"] == 0, rows
    shares = {"ffma": (55, 65), "wmma": (26, 36), "mma": (34, 43), "wgmma": (55, 68), "cublas": (65, 80)}
    for name, (lowest, highest) in shares.items():
        assert lowest < rows[name]["measured_share_of_peak_percent"] < highest, (name, rows[name])
    rate = {name: row["measured_tflop_s"] for name, row in rows.items()}
    assert 8 < rate["mma"] / rate["ffma"] < 11, rate
    assert 0.7 < rate["wmma"] / rate["mma"] < 0.9, rate
    assert 1.4 < rate["wgmma"] / rate["mma"] < 1.9, rate
    assert 0.8 < rate["wgmma"] / rate["cublas"] < 1, rate
    assert 2.7 < rate["wgmma"] / rate["wgmma_cores"] < 3.7, rate
    assert rows["ffma"]["counted_hmma_instructions"] == 4096, rows["ffma"]


def main() -> None:
    """Launch under ncu, or check the results, time in turns, count, and print the rows."""
    runs, products = launches()
    if gpu.launching():
        for run in runs.values():
            run()
        return
    rows = inputs()
    for name, row in rows.items():
        row.update(predict(row) | {"measured_error": error(runs[name], products[name], products["inputs"])})
    gpu.say("results are right; timing")
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            times[name].append(gpu.milliseconds(in_a_row(run), repeat=1, warmup=1) / LAUNCHES)
    best = statistics.median(times["cublas"])
    for name, row in rows.items():
        time = statistics.median(times[name])
        rate = peak.flop(M, N, K) / time / 1e9
        row |= {"measured_time_ms": round(time, 4), "measured_tflop_s": round(rate, 1)}
        row["measured_share_of_peak_percent"] = round(100 * rate / row["peak_tflop_s"], 1)
        row["measured_share_of_cublas_percent"] = round(100 * best / time, 1)
        gpu.say(f"{name}: {row}; all times {[round(value, 4) for value in times[name]]}")
    read = gpu.counters(list(METRICS.values()), "gemm|nvjet|Kernel2")
    assert len(read) == len(rows), f"{len(read)} launches were counted"
    for (name, row), counted in zip(rows.items(), read, strict=True):
        row.update({f"counted_{what}": whole(counted[metric]) for what, metric in METRICS.items()})
        gpu.say(f"{name}: {row}")
    check(rows)
    print(json.dumps({"rows": rows}))


def in_a_row(run: Callable[[], object]) -> Callable[[], None]:
    """Give several launches of one run, so that what lies between two events is the kernels and not their launch."""

    def launches_in_a_row() -> None:
        for _ in range(LAUNCHES):
            run()

    return launches_in_a_row


def whole(value: float) -> int | float:
    """Give a count as an integer, a percentage with two digits."""
    return int(value) if value == int(value) else round(value, 2)


def launches() -> tuple[dict[str, Callable[[], object]], dict[str, Any]]:
    """Give each rung and cuBLAS as a launch, and what they write; A is M x K and B is N x K, both by rows."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too

    torch: Any = importlib.import_module("torch")
    numbers = torch.Generator(device="cuda").manual_seed(5)
    a, b = (torch.randn(rows, K, device="cuda", dtype=torch.float16, generator=numbers) for rows in (M, N))
    products: dict[str, Any] = {"inputs": (a, b)}
    runs: dict[str, Callable[[], object]] = {}
    for rung, (_unit, _shape, _warps, pitch) in RUNGS.items():
        products[rung] = torch.empty(M, N, device="cuda", dtype=torch.float16)
        kernel = gpu.kernel(SOURCE, f"gemm_{rung}")
        shared = STAGES * (TILE_M + TILE_N) * pitch
        kernel.max_dynamic_shared_size_bytes = shared
        arguments = (*(cupy.from_dlpack(matrix) for matrix in (a, b, products[rung])), cupy.int32(N), cupy.int32(K))
        runs[rung] = launch(kernel, shared, arguments)
    products["cublas"] = torch.empty(M, N, device="cuda", dtype=torch.float16)
    runs["cublas"] = lambda: torch.matmul(a, b.t(), out=products["cublas"])
    return runs, products


def launch(kernel: Any, shared: int, arguments: tuple[Any, ...]) -> Callable[[], object]:
    """Give the launch of one kernel of gemm.cu."""
    return lambda: kernel((N // TILE_N, M // TILE_M), (THREADS,), arguments, shared_mem=shared)


def error(run: Callable[[], object], product: Any, factors: tuple[Any, Any]) -> float:
    """Run over poison and give the error against FP64, relative in the Frobenius norm."""
    torch: Any = importlib.import_module("torch")
    product.fill_(float("nan"))
    run()
    torch.cuda.synchronize()
    exact = torch.matmul(factors[0].double(), factors[1].double().t())
    return float(f"{float((product.double() - exact).norm() / exact.norm()):.3g}")


if __name__ == "__main__":
    main()
