"""Measure attention written three ways on an H200, beside PyTorch's: time, memory, DRAM bytes; batch 1, 8 heads of 64."""

import importlib
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attention
import bench_flash

import gpu

SOURCE = Path(__file__).with_name("online.cu")
HEADS, HEAD, LENGTHS = 8, 64, (1024, 4096, 16384)
WAYS = ("naive", "online", "flash", "sdpa")
COUNTED_LENGTH, MARKER_BLOCKS = 4096, 7777
THREADS, ROUNDS = 128, 11
TABLES = {
    "ways": {
        "length": ("长度", "Length"),
        "way": ("做法", "Way"),
        "measured_time_ms": ("时间（ms）", "Time (ms)"),
        "measured_tflop_s": ("TFLOP/s", "TFLOP/s"),
        "predicted_memory_mib": ("预测显存（MiB）", "Predicted memory (MiB)"),
        "measured_memory_mib": ("实测", "Measured"),
    },
    "bytes": {
        "way": ("做法", "Way"),
        "counted_kernels": ("kernel", "Kernels"),
        "predicted_dram_mb": ("预测 DRAM（MB）", "Predicted DRAM (MB)"),
        "counted_dram_mb": ("实测", "Counted"),
        "counted_tensor_gflop": ("Tensor Core（GFLOP）", "Tensor Cores (GFLOP)"),
    },
}
METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum", "sm__ops_path_tensor_src_fp16.sum", "launch__grid_size")


def inputs() -> dict[str, dict[str, Any]]:
    """Give the rows' names and inputs."""
    return {f"{way}_{length}": {"way": way, "heads": HEADS, "length": length, "head": HEAD} for length in LENGTHS for way in WAYS}


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Predict the memory beyond the inputs, and the DRAM bytes where they are counted: K and V once, their later reads are the L2's."""
    sizes = (1, row["heads"], row["length"], row["head"])
    kept = attention.kept_bytes("naive" if row["way"] == "naive" else "online", *sizes)
    result: dict[str, Any] = {"predicted_memory_mib": round(kept / 2**20, 2)}
    if row["length"] == COUNTED_LENGTH:
        once = 4 * attention.kept_bytes("online", *sizes)  # Q, K, V and the result have one size
        result["predicted_dram_mb"] = round((attention.moved_bytes("naive", *sizes) if row["way"] == "naive" else once) / 1e6, 1)
    return result


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name, row in rows.items():
        assert row["measured_error"] < 6e-4, (name, row)
        if row["way"] != "sdpa":
            assert row["measured_memory_mib"] == row["predicted_memory_mib"], (name, row)
    flop = attention.flop(1, HEADS, COUNTED_LENGTH, HEAD, causal=False) / 1e9
    for way in WAYS:
        row = rows[f"{way}_{COUNTED_LENGTH}"]
        assert row["counted_kernels"] == (3 if way == "naive" else 1), row
        assert row["counted_tensor_gflop"] == (0 if way == "online" else round(flop, 2)), row
        # What is written last stays in the L2 when a kernel ends; for the others that is the whole result.
        assert (0.85 if way == "naive" else 0.7) < row["counted_dram_mb"] / row["predicted_dram_mb"] < 1.05, row
    for length in LENGTHS:
        assert rows[f"flash_{length}"]["measured_error"] < 0.65 * rows[f"naive_{length}"]["measured_error"], rows[f"naive_{length}"]
    assert rows["sdpa_1024"]["measured_longest_kernel"].startswith("pytorch_flash::flash_fwd_splitkv_kernel"), rows["sdpa_1024"]
    time = {name: row["measured_time_ms"] for name, row in rows.items()}
    for length in (4096, 16384):
        assert 1.5 < time[f"online_{length}"] / time[f"naive_{length}"] < 5, time
        assert 4 < time[f"naive_{length}"] / time[f"flash_{length}"] < 9, time
        assert 10 < time[f"online_{length}"] / time[f"flash_{length}"] < 20, time


def main() -> None:
    """Launch under ncu, or check the results, measure memory and time, count, and print the rows."""
    torch: Any = importlib.import_module("torch")
    if gpu.launching():
        runs = launches(COUNTED_LENGTH)
        for run in runs.values():
            marker()
            run()
        torch.cuda.synchronize()
        return
    rows = inputs()
    for length in LENGTHS:
        runs = launches(length)
        q, k, v = KEPT[length]
        for way, run in runs.items():
            row = rows[f"{way}_{length}"]
            row["measured_longest_kernel"] = bench_flash.short(bench_flash.kernel_of(run))
            row |= predict(row) | {"measured_error": bench_flash.error(run(), q, k, v, causal=False), "measured_memory_mib": memory(run)}
        times: dict[str, list[float]] = {way: [] for way in runs}
        turns = 10 if length < LENGTHS[-1] else 1
        graphs = {way: captured(run, turns) for way, run in runs.items()}
        for _ in range(ROUNDS):
            for way, graph in graphs.items():
                times[way].append(bench_flash.time_ms(graph.replay, 1) / turns)
        for way in runs:
            row, time = rows[f"{way}_{length}"], statistics.median(times[way])
            rate = attention.flop(1, HEADS, length, HEAD, causal=False) / time / 1e9
            row |= {"measured_time_ms": round(time, 4), "measured_tflop_s": round(rate, 1)}
            gpu.say(f"{way} {length}: {row}")
        del runs, graphs, q, k, v, KEPT[length]
        torch.cuda.empty_cache()
    count(rows)
    check(rows)
    print(json.dumps({"rows": rows, "conditions": {"library": f"PyTorch {torch.__version__}"}}))


KEPT: dict[int, list[Any]] = {}


def launches(length: int) -> dict[str, Callable[[], Any]]:
    """Give each way as a launch that returns its result."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too

    torch: Any = importlib.import_module("torch")
    q, k, v = KEPT[length] = bench_flash.draw(1, HEADS, length, HEAD)
    online_kernel = gpu.kernel(SOURCE, "online")
    scale = HEAD**-0.5

    scaled = q * scale

    # --8<-- [start:naive]
    def naive() -> Any:
        scores = torch.matmul(scaled, k.transpose(-1, -2))
        return torch.matmul(torch.softmax(scores, -1), v)

    # --8<-- [end:naive]
    def online() -> Any:
        out = torch.empty_like(q)
        tensors = [cupy.uint64(tensor.data_ptr()) for tensor in (q, k, v, out)]
        grid = (-(-length // THREADS), HEADS)
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            online_kernel(grid, (THREADS,), (*tensors, cupy.uint32(length), cupy.float32(scale * bench_flash.LOG2_E)))
        return out

    def flash() -> Any:
        return bench_flash.ours(q, k, v, causal=False, poison=False)()

    return {"naive": naive, "online": online, "flash": flash, "sdpa": bench_flash.library("flash", q, k, v, causal=False)}


def captured(run: Callable[[], Any], turns: int) -> Any:
    """Capture a run, several times in a row, in a CUDA graph, so that launches by the host do not count."""
    torch: Any = importlib.import_module("torch")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(turns):
            run()
    graph.replay()
    return graph


def memory(run: Callable[[], Any]) -> float:
    """Give the most memory that PyTorch had allocated during a run, in MiB beyond what it had before."""
    torch: Any = importlib.import_module("torch")
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    torch.cuda.synchronize()
    return round(int(torch.cuda.max_memory_allocated() - before) / 2**20, 2)


def marker() -> None:
    """Launch a kernel whose grid tells the counts of one way from those of the next."""
    gpu.kernel(SOURCE, "marker")((MARKER_BLOCKS,), (1,), ())


def count(rows: dict[str, dict[str, Any]]) -> None:
    """Count each way's kernels, DRAM bytes and Tensor Core operations: what was launched between two markers."""
    launched = gpu.counters(METRICS, ".")
    places = [place for place, launch in enumerate(launched) if launch["launch__grid_size"] == MARKER_BLOCKS]
    assert len(places) == len(WAYS), f"{len(places)} markers"
    for way, begin, end in zip(WAYS, places, [*places[1:], len(launched)], strict=True):
        own = launched[begin + 1 : end]
        rows[f"{way}_{COUNTED_LENGTH}"] |= {
            "counted_kernels": len(own),
            "counted_dram_mb": round(sum(launch[metric] for launch in own for metric in METRICS[:2]) / 1e6, 1),
            "counted_tensor_gflop": round(sum(launch[METRICS[2]] for launch in own) / 1e9, 2),
        }
        gpu.say(f"{way}: {own}")


if __name__ == "__main__":
    main()
