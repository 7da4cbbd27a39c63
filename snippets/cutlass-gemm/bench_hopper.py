"""Time hopper.cu over numbers of tiles, orders of tiles and epilogues, and count what the L2 and the DRAM do."""

import ctypes
import functools
import importlib
import json
from collections.abc import Callable
from math import ceil
from pathlib import Path
from typing import Any

import tiles

import gpu

SOURCE = Path(__file__).with_name("hopper.cu")
SHARED_BYTES = 4 * 49152 + 4 * 8192 + 64  # stages, what the epilogue writes from, barriers
CLUSTERS, SIDE = tiles.SMS // 2, 256  # two CTAs of 128 x 256 compute 256 x 256
WAVES = (1024, 1280, 2048, 2304, 3072, 3328, 4096)
GROUPS = (1, 2, 4, 8, 16, 32)
TABLES = {
    "waves": {
        "m": ("M", "M"),
        "tiles": ("cluster 的 tile 数", "Tiles of a cluster"),
        "predicted_waves": ("预测：波数", "Predicted waves"),
        "predicted_busy_percent": ("预测：忙碌（%）", "Predicted busy (%)"),
        "measured_time_ms": ("时间（ms）", "Time (ms)"),
        "measured_time_of_a_wave_ms": ("每一波（ms）", "Time of a wave (ms)"),
        "measured_tflop_s": ("TFLOP/s", "TFLOP/s"),
    },
    "order": {
        "group": ("每组的行数", "Rows in a group"),
        "predicted_dram_read_mb": ("预测：DRAM 读（MB）", "Predicted DRAM reads (MB)"),
        "counted_dram_read_mb": ("实测", "Counted"),
        "counted_l2_hit_percent": ("L2 命中率（%）", "L2 hit rate (%)"),
        "measured_time_ms": ("时间（ms）", "Time (ms)"),
    },
    "epilogue": {
        "epilogue": ("做法", "Way"),
        "kernels": ("kernel 数", "Kernels"),
        "predicted_dram_mb": ("预测：DRAM 读写（MB）", "Predicted DRAM traffic (MB)"),
        "counted_dram_mb": ("实测", "Counted"),
        "measured_time_ms": ("时间（ms）", "Time (ms)"),
    },
}
METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_sector_hit_rate.pct")


def inputs() -> dict[str, dict[str, Any]]:
    """Give the rows' names and inputs."""
    rows: dict[str, dict[str, Any]] = {f"waves_{m}": {"m": m, "n": 4096, "k": 4096, "tiles": tiles.tiles_of(m, 4096, SIDE, SIDE)} for m in WAVES}
    rows |= {f"order_{group}": {"size": 8192, "group": group} for group in GROUPS}
    for name, kernels in (("product", 1), ("fused", 1), ("apart", 2)):
        rows[f"epilogue_{name}"] = {"epilogue": name, "kernels": kernels, "m": 8192, "n": 8192, "k": 1024}
    return rows


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Predict a row by tiles.py; an epilogue of its own reads and writes C once more."""
    if "group" in row:
        return {"predicted_dram_read_mb": round(tiles.fetched(row["size"], row["group"]) / 1e6)}
    if "tiles" in row:
        waves = tiles.whole_tiles(row["tiles"], 1, CLUSTERS)
        return {"predicted_waves": waves, "predicted_busy_percent": round(tiles.busy(row["tiles"], 1, waves, CLUSTERS), 1)}
    m, n, k = row["m"], row["n"], row["k"]
    once = (m * k + k * n + m * n) * tiles.BYTES
    return {"predicted_dram_mb": round((once + (row["kernels"] - 1) * 2 * m * n * tiles.BYTES) / 1e6)}


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name, row in rows.items():
        assert row["measured_error"] < 4e-4, (name, row)
    of_a_wave = [rows[f"waves_{m}"]["measured_time_of_a_wave_ms"] for m in WAVES]
    assert max(of_a_wave) < 1.25 * min(of_a_wave), of_a_wave
    rate = {m: rows[f"waves_{m}"]["measured_tflop_s"] for m in WAVES}
    assert rate[1280] < 0.75 * rate[1024], rate
    for group in GROUPS:
        row = rows[f"order_{group}"]
        assert 0.8 < row["counted_dram_read_mb"] / row["predicted_dram_read_mb"] < 1.25, row
    best = min(GROUPS, key=lambda group: rows[f"order_{group}"]["counted_dram_read_mb"])
    assert best in {4, 8, 16}, best
    fused, apart = rows["epilogue_fused"], rows["epilogue_apart"]
    assert fused["measured_time_ms"] < 1.05 * rows["epilogue_product"]["measured_time_ms"], rows
    assert apart["measured_time_ms"] > 1.2 * fused["measured_time_ms"], rows
    assert apart["counted_dram_mb"] > 1.4 * fused["counted_dram_mb"], rows


def claims(rows: dict[str, dict[str, Any]]) -> str:
    """Say whether the rows show what the page claims; the tests decide, so that a claim that is wrong does not cost the measurement."""
    try:
        check(rows)
    except (AssertionError, KeyError) as error:
        return f"the rows do not show what check claims: {error!r}"
    return "the rows show what check claims"


def main() -> None:
    """Launch under ncu, or check the results, time, count, and print the rows."""
    rows = inputs()
    if gpu.launching():
        for row in rows.values():
            launches(row)[0]()
        return
    for name, row in rows.items():
        run, error = launches(row)
        row.update(predict(row) | {"measured_error": error(), "measured_time_ms": round(gpu.milliseconds(in_a_row(run, 10), 7, 1) / 10, 4)})
        if "tiles" in row:
            row["measured_time_of_a_wave_ms"] = round(row["measured_time_ms"] / row["predicted_waves"], 4)
            row["measured_tflop_s"] = round(2 * row["m"] * row["n"] * row["k"] / row["measured_time_ms"] / 1e9, 1)
        gpu.say(f"{name}: {row}")
        forget()
    read = gpu.counters(METRICS, "hopper|bias_relu")
    if len(read) != sum(row.get("kernels", 1) for row in rows.values()):
        gpu.say(f"{len(read)} launches were counted, not one a kernel")
        read = []
    for row in rows.values() if read else ():
        counted = [read.pop(0) for _ in range(row.get("kernels", 1))]
        reads, writes = (sum(launch[metric] for launch in counted) / 1e6 for metric in METRICS[:2])
        if "group" in row:
            row.update({"counted_dram_read_mb": round(reads), "counted_l2_hit_percent": round(counted[0][METRICS[2]], 1)})
        elif "kernels" in row:
            row.update({"counted_dram_mb": round(reads + writes)})
    gpu.say(json.dumps(rows))
    gpu.say(claims(rows))
    print(json.dumps({"rows": rows}))


def launches(row: dict[str, Any]) -> tuple[Callable[[], None], Callable[[], float]]:
    """Give the launch of a row, and a function that checks its result."""
    torch: Any = importlib.import_module("torch")
    m, n, k = (row.get(key, row.get("size")) for key in "mnk")
    a, b = random(m, k), random(k, n)
    c = torch.full((m, n), float("nan"), device="cuda", dtype=torch.float16)
    bias = torch.linspace(-50, 50, n, device="cuda")
    fused = row.get("epilogue") == "fused"
    run = product(a, b, c, *(["-DEPILOGUE=1"] if fused else []), bias=bias, group=row.get("group", 4))
    if row.get("epilogue") == "apart":
        run = both(run, add_bias(c, bias))

    def error() -> float:
        run()
        exact = torch.matmul(a[:1024].double(), b.double())
        if row.get("epilogue") in {"fused", "apart"}:
            exact = torch.relu(exact + bias.double())
        assert not torch.isnan(c).any(), row
        return float(f"{float((c[:1024].double() - exact).norm() / exact.norm()):.3g}")

    return run, error


def product(a: Any, b: Any, c: Any, *options: str, bias: Any = None, group: int = 4) -> Callable[[], None]:
    """Give a launch of hopper.cu's kernel for these matrices; what it needs lives as long as the launch."""
    kernel = gpu.kernel(SOURCE, "hopper", *options)
    kernel.max_dynamic_shared_size_bytes = SHARED_BYTES
    address = 0 if bias is None else bias.data_ptr()
    sizes = [ctypes.c_int(number) for number in (*a.shape, b.shape[1], group)]
    m, k, n, rows = sizes
    maps = [tensor_map(a, 128), tensor_map(b, 64), tensor_map(c, 64)]
    arguments = [*maps, ctypes.c_void_p(address), m, n, k, rows]
    pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(argument) for argument in arguments])
    kept = (kernel, a, b, c, bias, arguments)

    def launch() -> None:
        status = cuda().cuLaunchKernel(
            ctypes.c_void_p(kept[0].kernel.ptr), tiles.SMS, 1, 1, 384, 1, 1, SHARED_BYTES, ctypes.c_void_p(0), pointers, None
        )
        assert not status, f"cuLaunchKernel gives {status}"

    return launch


def add_bias(c: Any, bias: Any) -> Callable[[], None]:
    """Give a launch of the kernel that adds a bias and applies ReLU, in place."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too

    kernel, pieces = gpu.kernel(SOURCE, "bias_relu"), c.numel() // 8
    arguments = (cupy.from_dlpack(c), cupy.from_dlpack(bias), cupy.int32(c.shape[1]), cupy.int32(pieces))
    return lambda: kernel((ceil(pieces / 256),), (256,), arguments)


# --8<-- [start:map]
def tensor_map(matrix: Any, rows: int) -> Any:
    """Describe an FP16 matrix by rows to TMA: boxes of so many rows and 64 columns, swizzled by 128 bytes, zeros outside."""
    raw = (ctypes.c_ubyte * 256)()
    aligned = -(-ctypes.addressof(raw) // 128) * 128
    height, width = matrix.shape
    half, swizzle, promotion = 6, 3, 3  # CU_TENSOR_MAP_DATA_TYPE_FLOAT16, _SWIZZLE_128B, _L2_PROMOTION_L2_256B
    status = cuda().cuTensorMapEncodeTiled(
        ctypes.c_void_p(aligned), half, 2, ctypes.c_void_p(matrix.data_ptr()), (ctypes.c_uint64 * 2)(width, height),
        (ctypes.c_uint64 * 1)(width * 2), (ctypes.c_uint32 * 2)(64, rows), (ctypes.c_uint32 * 2)(1, 1), 0, swizzle, promotion, 0,
    )  # fmt: skip
    assert not status, f"cuTensorMapEncodeTiled gives {status}: rows must begin at multiples of 16 bytes"
    return (ctypes.c_ubyte * 128).from_buffer_copy((ctypes.c_ubyte * 128).from_address(aligned))


# --8<-- [end:map]


@functools.cache
def cuda() -> ctypes.CDLL:
    """Load the driver; what else is loaded may use it."""
    return ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)


@functools.cache
def random(rows: int, columns: int) -> Any:
    """Give a matrix of normal random numbers in FP16."""
    torch: Any = importlib.import_module("torch")
    numbers = torch.Generator(device="cuda").manual_seed(rows * 131 + columns)
    return torch.randn(rows, columns, device="cuda", dtype=torch.float16, generator=numbers)


def forget() -> None:
    """Free the matrices."""
    random.cache_clear()


def both(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    """Give one launch after the other."""

    def launch() -> None:
        first()
        second()

    return launch


def in_a_row(run: Callable[[], object], count: int) -> Callable[[], None]:
    """Give several launches of one run, so that what lies between two events is the kernels and not their launch."""

    def launches_in_a_row() -> None:
        for _ in range(count):
            run()

    return launches_in_a_row


if __name__ == "__main__":
    main()
