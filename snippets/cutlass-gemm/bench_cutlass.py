"""Compare hopper.cu and GEMMs of CUTLASS, compiled from its headers, with cuBLAS; cut the work of odd products three ways.

CUTLASS's headers come from the wheel nvidia-cutlass 4.2.0, installed or unpacked where the variable CUTLASS points; nvcc
compiles collective.cu. `python bench_cutlass.py --build` compiles alone, without a GPU.
"""

import ctypes
import hashlib
import importlib
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from math import ceil
from pathlib import Path
from typing import Any

import bench_hopper
import ladder
import tiles

import gpu

SOURCE = Path(__file__).with_name("collective.cu")
SIZE, PAIRS, LAUNCHES = 4096, 10, 20
COOPERATIVE = {"SCHEDULE": "KernelTmaWarpSpecializedCooperative", "EPILOGUE": "TmaWarpSpecializedCooperative"}
PING_PONG = {"SCHEDULE": "KernelTmaWarpSpecializedPingpong", "EPILOGUE": "TmaWarpSpecialized"}
# name: tile of a CTA, macros, swizzle and raster order (0: along M, 1: along N)
BUILDS: dict[str, tuple[tuple[int, int], dict[str, str], tuple[int, int]]] = {
    "cooperative": ((128, 256), COOPERATIVE, (4, 0)),
    "cooperative_128": ((128, 128), COOPERATIVE, (2, 1)),
    "ping_pong_64": ((64, 256), PING_PONG, (8, 1)),
    "ping_pong_128": ((128, 128), PING_PONG, (8, 1)),
    "stream_k": ((128, 256), COOPERATIVE | {"SCHEDULER": "StreamKScheduler", "STREAM_K": "1"}, (1, 1)),
}
HAND = {"tma": ["-DCLUSTER=1"], "cluster": [], "fenced": ['-DARRIVE="mbarrier.arrive.release.cluster"']}
ODD = ((4096, 4096, 4096), (4095, 4088, 4104), (1000, 1000, 1000), (129, 264, 72), (300, 520, 200), (5, 8, 8))
CUTS = ((4096, 4096, 4096, 2), (1536, 1536, 4096, 3), (512, 512, 32768, 16))  # M, N, K, parts of split-K
WAYS = {"whole_tiles": 1, "split_k": 2, "stream_k": 3}
TABLES = {
    "pairs": {
        "kernel": ("kernel", "Kernel"),
        "tile": ("CTA 的 tile", "Tile of a CTA"),
        "measured_tflop_s": ("TFLOP/s", "TFLOP/s"),
        "measured_share_of_cublas": ("对 cuBLAS", "Against cuBLAS"),
        "measured_lowest_share": ("最低的一对", "Lowest pair"),
        "counted_tensor_active_percent": ("Tensor 管线活跃（%）", "Tensor pipe active (%)"),
    },
    "sizes": {
        "m": ("M", "M"),
        "n": ("N", "N"),
        "k": ("K", "K"),
        "measured_error_of_hand": ("误差：手写", "Error: by hand"),
        "measured_error_of_cutlass": ("误差：CUTLASS", "Error: CUTLASS"),
    },
    "cuts": {
        "product": ("M x N x K", "M x N x K"),
        "way": ("切法", "Way"),
        "predicted_steps": ("预测：最长步数", "Predicted longest (steps)"),
        "predicted_speedup": ("预测：加速", "Predicted speed-up"),
        "measured_speedup": ("实测", "Measured"),
        "measured_time_ms": ("时间（ms）", "Time (ms)"),
    },
}
METRIC = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"


def inputs() -> dict[str, dict[str, Any]]:
    """Give the rows' names and inputs."""
    rows: dict[str, dict[str, Any]] = {}
    for name in (*HAND, *(build for build in BUILDS if build != "stream_k"), "cublas"):
        tile_m, tile_n = BUILDS[name][0] if name in BUILDS else (128, 256)
        kind = "cuBLAS" if name == "cublas" else f"hopper {name}" if name in HAND else f"CUTLASS {name}"
        rows[name] = {"kernel": kind, "tile": None if name == "cublas" else f"{tile_m} x {tile_n}", "size": SIZE}
    rows |= {f"size_{m}_{n}_{k}": {"m": m, "n": n, "k": k} for m, n, k in ODD}
    for m, n, k, parts in CUTS:
        for way in WAYS:
            row = {"product": f"{m} x {n} x {k}", "way": way, "cut_m": m, "cut_n": n, "cut_k": k}
            rows[f"{way}_{m}_{n}_{k}"] = row | ({"parts": parts} if way == "split_k" else {})
    return rows


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Predict by tiles.py the steps of the busiest cluster of two CTAs; the other rows compare kernels with each other."""
    if "way" not in row:
        return {"predicted_floor_ms": round(2 * row["size"] ** 3 / ladder.TENSOR_TFLOP_S / 1e9, 3)} if "size" in row else {}
    count, steps = tiles.tiles_of(row["cut_m"], row["cut_n"], 256, 256), ceil(row["cut_k"] / tiles.TILE_K)
    workers = tiles.SMS // 2
    longest = {
        "whole_tiles": tiles.whole_tiles(count, steps, workers),
        "split_k": tiles.split_k(count, steps, row.get("parts", 1), workers),
        "stream_k": tiles.stream_k(count, steps, workers),
    }
    return {
        "predicted_steps": longest[row["way"]],
        "predicted_speedup": round(longest["whole_tiles"] / longest[row["way"]], 2),
    }


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    share = {name: row["measured_share_of_cublas"] for name, row in rows.items() if "kernel" in row}
    assert share["cluster"] >= 0.95, share
    assert all(share[name] >= 0.93 for name in BUILDS if name != "stream_k"), share
    assert share["fenced"] < 0.88 * share["cluster"], share
    active = {name: row["counted_tensor_active_percent"] for name, row in rows.items() if "kernel" in row}
    assert active["fenced"] < 75, active
    assert min(value for name, value in active.items() if name != "fenced") > 92, active
    for name, row in rows.items():
        for key in ("measured_error", "measured_error_of_hand", "measured_error_of_cutlass"):
            assert row.get(key, 0) < 4e-4, (name, row)
    speedup = {name: row["measured_speedup"] for name, row in rows.items() if "way" in row}
    assert 0.75 < speedup["split_k_4096_4096_4096"] < 0.9, speedup
    assert 0.9 < speedup["stream_k_4096_4096_4096"] < 1.03, speedup
    assert speedup["split_k_1536_1536_4096"] < 1.1, speedup
    assert 1.1 < speedup["stream_k_1536_1536_4096"] < 1.4, speedup
    assert 3.3 < speedup["stream_k_512_512_32768"] < speedup["split_k_512_512_32768"] < 5, speedup


def claims(rows: dict[str, dict[str, Any]]) -> str:
    """Say whether the rows show what the page claims; the tests decide, so that a claim that is wrong does not cost the measurement."""
    try:
        check(rows)
    except (AssertionError, KeyError) as error:
        return f"the rows do not show what check claims: {error!r}"
    return "the rows show what check claims"


def main() -> None:
    """Compile alone, launch under ncu, or check the results, time in pairs, count, and print the rows."""
    if "--build" in sys.argv:
        build_all()
        return
    if "--cuts" in sys.argv:
        cut_and_tell()
        return
    if gpu.launching():
        for run, _ in contestants().values():
            run()
        return
    rows = inputs()
    build_all()
    for row in rows.values():
        row.update(predict(row))
    correct(rows)
    race(rows)
    cut_all(rows)
    count(rows)
    gpu.say(json.dumps(rows))
    gpu.say(claims(rows))
    conditions = {
        "cutlass": {"zh": "CUTLASS 4.2.0 由 nvcc 13.0 编译", "en": "CUTLASS 4.2.0 compiled by nvcc 13.0"},
    }
    print(json.dumps({"rows": rows, "conditions": conditions}))


def correct(rows: dict[str, dict[str, Any]]) -> None:
    """Compare products of odd sizes with FP64."""
    collective = Collective("cooperative")
    for row in rows.values():
        if "m" not in row:
            continue
        for name, make in (("hand", bench_hopper.product), ("cutlass", collective.product)):
            a, b, c = matrices(row["m"], row["n"], row["k"])
            row[f"measured_error_of_{name}"] = error(make(a, b, c), a, b, c)
        gpu.say(str(row))


def race(rows: dict[str, dict[str, Any]]) -> None:
    """Time each kernel in turns with cuBLAS: twenty launches in a row, and single ones after a rest."""
    runs = contestants()
    cublas, _ = runs["cublas"]
    for name, (run, (a, b, c)) in runs.items():
        row = rows[name]
        row["measured_error"] = error(run, a, b, c)
        pairs = [(many(cublas), many(run)) for _ in range(PAIRS)]
        single = [(rested(cublas), rested(run)) for _ in range(PAIRS)]
        mine, other = (statistics.median(pair[index] for pair in pairs) for index in (1, 0))
        shares = [pair[0] / pair[1] for pair in pairs]
        row |= {
            "measured_time_ms": round(mine, 4),
            "measured_cublas_time_ms": round(other, 4),
            "measured_tflop_s": round(2 * SIZE**3 / mine / 1e9, 1),
            "measured_share_of_cublas": round(statistics.median(shares), 3),
            "measured_lowest_share": round(min(shares), 3),
            "measured_rested_tflop_s": round(2 * SIZE**3 / statistics.median(pair[1] for pair in single) / 1e9, 1),
            "measured_rested_share": round(statistics.median(pair[0] / pair[1] for pair in single), 3),
        }
        gpu.say(f"{name}: {row}")


def count(rows: dict[str, dict[str, Any]]) -> None:
    """Count how long each kernel's Tensor Cores were active."""
    names = [name for name, row in rows.items() if "kernel" in row]
    read = gpu.counters([METRIC], "hopper|device_kernel|nvjet")
    if len(read) != len(names):
        gpu.say(f"{len(read)} launches were counted, not {len(names)}")
        return
    for name, launch in zip(names, read, strict=True):
        rows[name]["counted_tensor_active_percent"] = round(launch[METRIC], 1)


def many(run: Callable[[], object]) -> float:
    """Time launches in a row, in ms a launch."""
    return gpu.milliseconds(bench_hopper.in_a_row(run, LAUNCHES), repeat=1, warmup=0) / LAUNCHES


def rested(run: Callable[[], object]) -> float:
    """Time one launch after 10 ms without work, behind a kernel that only waits, so that no launch delay counts; in ms."""
    torch: Any = importlib.import_module("torch")
    torch.cuda.synchronize()
    time.sleep(0.01)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(200_000)  # noqa: SLF001 - there is no public way to keep the GPU waiting
    begin.record()
    run()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end))


def contestants() -> dict[str, tuple[Callable[[], object], tuple[Any, Any, Any]]]:
    """Give each kernel's launch with its matrices; cuBLAS stands last."""
    torch: Any = importlib.import_module("torch")
    runs: dict[str, tuple[Callable[[], object], tuple[Any, Any, Any]]] = {}
    for name, options in HAND.items():
        a, b, c = matrices(SIZE, SIZE, SIZE)
        runs[name] = bench_hopper.product(a, b, c, *options), (a, b, c)
    for name in BUILDS:
        if name != "stream_k":
            a, b, c = matrices(SIZE, SIZE, SIZE)
            runs[name] = Collective(name).product(a, b, c), (a, b, c)
    a, b, c = matrices(SIZE, SIZE, SIZE)
    runs["cublas"] = (lambda: torch.matmul(a, b, out=c)), (a, b, c)
    return runs


def cut_all(rows: dict[str, dict[str, Any]]) -> None:
    """Time the products that are cut, in a process of their own: blocks that wait for each other may wait for ever."""
    process = subprocess.Popen([sys.executable, sys.argv[0], "--cuts"], stdout=subprocess.PIPE, text=True)
    try:
        output, _ = process.communicate(timeout=40)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        gpu.say("a way to cut the work did not come to its end")
    for line in output.splitlines():
        for name, measured in json.loads(line).items():
            rows[name].update(measured)
    for name in [name for name, row in rows.items() if "way" in row and "measured_time_ms" not in row]:
        del rows[name]
    whole = {row["product"]: row["measured_time_ms"] for row in rows.values() if row.get("way") == "whole_tiles"}
    for row in rows.values():
        if row.get("product") in whole:
            row["measured_speedup"] = round(whole[row["product"]] / row["measured_time_ms"], 2)


def cut_and_tell() -> None:
    """Time the products that are cut and print a row a line."""
    for name, row in inputs().items():
        if "way" in row:
            print(json.dumps({name: cut(row)}), flush=True)


def cut(row: dict[str, Any]) -> dict[str, float]:
    """Time one product cut one way; the workspace is made ready before each launch, as CUTLASS demands."""
    a, b, c = matrices(row["cut_m"], row["cut_n"], row["cut_k"])
    run = Collective("stream_k").product(a, b, c, parts=row.get("parts", 1), way=WAYS[row["way"]])
    measured = {"measured_error": error(run, a, b, c)}
    return measured | {"measured_time_ms": round(gpu.milliseconds(bench_hopper.in_a_row(run, 10), 7, 1) / 10, 4)}


class Collective:
    """One GEMM of CUTLASS, as a shared library."""

    def __init__(self, name: str) -> None:
        """Load it, and take a workspace."""
        torch: Any = importlib.import_module("torch")
        bench_hopper.cuda()
        self.library = ctypes.CDLL(str(compiled(name)))
        self.swizzle, self.along_n = BUILDS[name][2]
        self.again = name == "stream_k"
        self.workspace = torch.empty(256 << 20 if self.again else 1 << 20, dtype=torch.uint8, device="cuda")

    def product(self, a: Any, b: Any, c: Any, *, parts: int = 1, way: int = 0) -> Callable[[], None]:
        """Give a launch for these matrices."""
        (m, k), n, address = a.shape, b.shape[1], ctypes.c_void_p
        places = [address(matrix.data_ptr()) for matrix in (a, b, c)]
        arguments = (*places, m, n, k, self.swizzle, self.along_n, parts, way, address(self.workspace.data_ptr()))

        def prepare() -> None:
            status = self.library.prepare(*arguments)
            assert not status, f"CUTLASS gives status {status} for {m} x {n} x {k}"

        def launch() -> None:
            if self.again:
                prepare()
            status = self.library.run(address(0))
            assert not status, f"CUTLASS gives status {status}"

        prepare()
        return launch


def build_all() -> None:
    """Compile what is not yet there, all at once."""
    running = {name: compiler(name) for name in BUILDS if not compiled(name).is_file()}
    for name, process in running.items():
        output, _ = process.communicate()
        assert not process.returncode, f"nvcc refuses {name}:\n{output[-3000:]}"
        compiled(name).with_suffix(".part").rename(compiled(name))


def compiler(name: str) -> subprocess.Popen[str]:
    """Start nvcc on collective.cu."""
    (tile_m, tile_n), macros, _ = BUILDS[name]
    defined = {"TILE_M": tile_m, "TILE_N": tile_n, "CLUSTER_M": 2, "CLUSTER_N": 1, "SCHEDULER": "PersistentScheduler"} | macros
    folder = headers()
    compiled(name).parent.mkdir(exist_ok=True)
    command = [
        shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc", "-gencode=arch=compute_90a,code=sm_90a", "-std=c++17", "-O3",
        "--expt-relaxed-constexpr", "-DNDEBUG", "-Xcompiler", "-fPIC", "-shared", f"-I{folder / 'include'}",
        f"-I{folder / 'tools' / 'util' / 'include'}", *(f"-D{macro}={value}" for macro, value in defined.items()),
        "-o", str(compiled(name).with_suffix(".part")), str(SOURCE),
    ]  # fmt: skip
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def compiled(name: str) -> Path:
    """Name the library of a build of this source."""
    mark = hashlib.sha256(SOURCE.read_bytes() + repr(BUILDS[name]).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / "warpwise-cutlass" / f"{name}-{mark}.so"


def headers() -> Path:
    """Find CUTLASS's headers.

    Raises SystemExit where there are none.
    """
    if "CUTLASS" in os.environ:
        return Path(os.environ["CUTLASS"])
    found = importlib.util.find_spec("cutlass_library")
    if not found or not found.origin:
        raise SystemExit("CUTLASS's headers are missing: pip install nvidia-cutlass==4.2.0")
    return Path(found.origin).with_name("source")


def matrices(m: int, n: int, k: int) -> tuple[Any, Any, Any]:
    """Give random A and B, and a C full of poison."""
    torch: Any = importlib.import_module("torch")
    return bench_hopper.random(m, k), bench_hopper.random(k, n), torch.full((m, n), float("nan"), device="cuda", dtype=torch.float16)


def error(run: Callable[[], object], a: Any, b: Any, c: Any) -> float:
    """Run over poison and give the error against FP64, relative in the Frobenius norm."""
    c.fill_(float("nan"))
    run()
    exact = a.double() @ b.double()
    return float(f"{float((c.double() - exact).norm() / exact.norm()):.3g}")


if __name__ == "__main__":
    main()
