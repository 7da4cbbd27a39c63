"""Check and time attention.cu on a GPU: blocks of 1 to 256 tokens beside contiguous memory and a copy, split contexts, a shared prefix."""

import importlib
import json
import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import decode

import gpu

Rows = dict[str, dict[str, Any]]

SOURCE = Path(__file__).with_name("attention.cu")
DIM, KV_HEADS, GROUP, WARPS, STAGES = 128, 8, 4, decode.WARPS, decode.STAGES
MANY = 16  # pieces from which several warps put a head together
SEQUENCES, CONTEXT = 64, 8192
BLOCK_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
COUNTED = (1, 16, 256)
CONTEXTS = ((512, 1024), (256, 2048), (64, 8192), (16, 32768), (8, 65536), (1, 131072), (16, 4096))
LONG = ((64, 8192), (16, 32768), (8, 65536), (1, 131072))
PREFIXES = (0, 1024, 4096, 7168)
ROUNDS, LAUNCHES, COPIED_BYTES = 11, 4, 2**31  # launches in a row between two events
# query heads to a head of K and V, heads of K and V, block size; 0 is contiguous
CHECKED = ((4, 8, 0), (4, 8, 1), (4, 8, 2), (4, 8, 16), (4, 8, 256), (8, 8, 16), (1, 32, 16), (7, 4, 16))
RAGGED: dict[str, tuple[int, ...]] = {"1 ... 6000": (1, 2, 15, 16, 17, 31, 63, 64, 65, 255, 256, 257, 511, 512, 777, 1000, 3001, 4096, 6000)}
RAGGED["9000, 20000"] = (9000, 20000)  # many pieces, which several warps put together
METRICS = {
    "dram_read_bytes": "dram__bytes_read.sum",
    "instructions": "smsp__inst_executed.sum",
    "global_loads": "smsp__inst_executed_op_global_ld.sum",
}
TABLES = {
    "errors": {
        "group": ("每个 KV 头的 Q 头", "Q heads a KV head"),
        "kv_heads": ("KV 头", "KV heads"),
        "block_size": ("块大小", "Block size"),
        "contexts": ("上下文", "Contexts"),
        "measured_error": ("误差", "Error"),
    },
    "blocks": {
        "block_size": ("块大小（token）", "Block size (tokens)"),
        "measured_time_ms": ("分页（ms）", "Paged (ms)"),
        "measured_contiguous_ms": ("连续（ms）", "Contiguous (ms)"),
        "measured_gb_s": ("分页（GB/s）", "Paged (GB/s)"),
        "measured_copy_gb_s": ("拷贝（GB/s）", "Copy (GB/s)"),
        "measured_share_of_copy": ("占拷贝", "Of the copy"),
    },
    "counts": {
        "cache": ("缓存", "Cache"),
        "predicted_dram_read_mb": ("预测：从内存读（MB）", "Predicted DRAM reads (MB)"),
        "counted_dram_read_mb": ("实测", "Counted"),
        "predicted_lookups": ("预测：查表", "Predicted lookups"),
        "counted_lookups": ("实测", "Counted"),
        "counted_instructions": ("warp 指令", "Warp instructions"),
    },
    "contexts": {
        "sequences": ("序列数", "Sequences"),
        "context": ("上下文", "Context"),
        "piece": ("每段", "Piece"),
        "predicted_thread_blocks": ("thread block", "Thread blocks"),
        "measured_whole_gb_s": ("不切（GB/s）", "Not cut (GB/s)"),
        "measured_gb_s": ("切段，分页（GB/s）", "Cut, paged (GB/s)"),
        "measured_cudnn_gb_s": ("cuDNN，连续（GB/s）", "cuDNN, contiguous (GB/s)"),
        "measured_share_of_copy": ("占拷贝", "Of the copy"),
    },
    "sharing": {
        "shared_tokens": ("共同前缀", "Common prefix"),
        "predicted_saved_percent": ("预测：省内存（%）", "Predicted memory saved (%)"),
        "predicted_dram_read_mb": ("预测：从内存读（MB）", "Predicted DRAM reads (MB)"),
        "counted_dram_read_mb": ("实测", "Counted"),
        "measured_time_ms": ("时间（ms）", "Time (ms)"),
    },
}


def inputs() -> Rows:
    """Give the rows' names and inputs."""
    rows: Rows = {}
    for group, kv_heads, size in CHECKED:
        rows[f"check_{group}_{kv_heads}_{size}"] = {"group": group, "kv_heads": kv_heads, "block_size": size, "contexts": "1 ... 6000"}
    rows["check_long"] = {"group": 4, "kv_heads": 8, "block_size": 16, "contexts": "9000, 20000"}
    batch = {"sequences": SEQUENCES, "context": CONTEXT}
    for size in BLOCK_SIZES:
        rows[f"block_{size}"] = {"block_size": size, **batch}
    rows["count_contiguous"] = {"cache": "contiguous", "count_block_size": 0, **batch}
    for size in COUNTED:
        rows[f"count_{size}"] = {"cache": f"blocks of {size}", "count_block_size": size, **batch}
    for sequences, context in CONTEXTS:
        piece = decode.piece_tokens([context] * sequences, KV_HEADS)
        rows[f"context_{sequences}_{context}"] = {"sequences": sequences, "context": context, "piece": piece}
    for shared in PREFIXES:
        rows[f"shared_{shared}"] = {"shared_tokens": shared, **batch}
    return rows


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Predict what a row's kernel reads, looks up and launches."""
    if "group" in row:
        return {}
    contexts, size = [row["context"]] * row["sequences"], decode.token_bytes(KV_HEADS)
    cut = decode.pieces(contexts, decode.piece_tokens(contexts, KV_HEADS))
    if "cache" in row:
        lookups = decode.lookups(cut, KV_HEADS) if row["count_block_size"] else 0
        return {"predicted_dram_read_mb": round(sum(contexts) * size / 1e6), "predicted_lookups": lookups}
    if "shared_tokens" in row:
        different = sum(contexts) - row["shared_tokens"] * (row["sequences"] - 1)
        return {
            "predicted_saved_percent": round(100 * (1 - different / sum(contexts)), 1),
            "predicted_dram_read_mb": round(different * size / 1e6),
        }
    return {"predicted_thread_blocks": len(cut) * KV_HEADS, "predicted_floor_ms": round(decode.floor_us(contexts, KV_HEADS) / 1e3, 4)}


def check(rows: Rows) -> None:
    """Assert that predictions come true, and what the page says of the rows."""
    for name, row in rows.items():
        if "measured_error" in row:
            assert row["measured_error"] < 5e-4, (name, row)
        if "cache" in row:
            assert row["counted_lookups"] == row["predicted_lookups"], (name, row)
            assert abs(row["counted_dram_read_mb"] / row["predicted_dram_read_mb"] - 1) < 0.03, (name, row)
        if "block_size" in row and "measured_share_of_copy" in row:
            assert row["measured_share_of_copy"] > 0.9, (name, row)
            assert row["measured_slower_percent"] < (5 if row["block_size"] < 16 else 2), (name, row)
    instructions = {rows[f"count_{size}"]["counted_instructions"] for size in COUNTED}
    assert len(instructions) == 1, instructions
    assert 1.01 < instructions.pop() / rows["count_contiguous"]["counted_instructions"] < 1.05, rows["count_contiguous"]
    for sequences, context in LONG:
        row = rows[f"context_{sequences}_{context}"]
        assert row["measured_share_of_copy"] > 0.85, row
        assert row["measured_gb_s"] > 0.95 * row["measured_cudnn_gb_s"], row
    longest = rows["context_1_131072"]
    assert longest["measured_whole_gb_s"] < 0.15 * longest["measured_gb_s"], longest
    check_sharing({shared: rows[f"shared_{shared}"] for shared in PREFIXES})


def check_sharing(shared: dict[int, dict[str, Any]]) -> None:
    """Assert that most of what is shared is read from memory once, and that this takes less time."""
    whole = shared[0]["predicted_dram_read_mb"]
    for row in shared.values():
        read, least = row["counted_dram_read_mb"], row["predicted_dram_read_mb"]
        assert 0.99 * least < read, row
        assert whole - read > 0.75 * (whole - least) - 0.01 * whole, row
    times = [row["measured_time_ms"] for row in shared.values()]
    assert times == sorted(times, reverse=True), times
    assert times[-1] < 0.7 * times[0], times


def main() -> None:
    """Launch under ncu, or check, time, count, and print the rows."""
    rows = inputs()
    if gpu.launching():
        for row in counted(rows).values():
            cache = Attention(row, lengths_of(row), row.get("count_block_size", 16))
            cache.attend()
        return
    for row in rows.values():
        row.update(predict(row))
    for name, row in rows.items():
        if "group" in row:
            row["measured_error"] = Attention(row, RAGGED[row["contexts"]], row["block_size"]).error()
            gpu.say(f"{name}: {row}")
    timed(rows)
    read = gpu.counters(list(METRICS.values()), "attend_")
    assert len(read) == len(counted(rows)), f"{len(read)} launches were counted"
    plain = read[list(counted(rows)).index("count_contiguous")]
    for (name, row), found in zip(counted(rows).items(), read, strict=True):
        row["counted_dram_read_mb"] = round(found[METRICS["dram_read_bytes"]] / 1e6)
        if "cache" in row:
            row["counted_instructions"] = int(found[METRICS["instructions"]])
            row["counted_lookups"] = int(found[METRICS["global_loads"]] - plain[METRICS["global_loads"]])
        gpu.say(f"{name}: {row}")
    check(rows)
    print(json.dumps({"rows": rows}))


def counted(rows: Rows) -> Rows:
    """Choose the rows whose kernels are counted."""
    return {name: row for name, row in rows.items() if "cache" in row or "shared_tokens" in row}


def lengths_of(row: dict[str, Any]) -> tuple[int, ...]:
    """Give the contexts of a row."""
    context, sequences = int(row["context"]), int(row["sequences"])
    return (context,) * sequences


def timed(rows: Rows) -> None:
    """Time, in turns: a copy, the cache in blocks, the contiguous one, uncut contexts, cuDNN."""
    torch: Any = importlib.import_module("torch")
    source, target = (torch.empty(COPIED_BYTES, dtype=torch.uint8, device="cuda").random_() for _ in range(2))
    memory = tuple(torch.randn(SEQUENCES * CONTEXT * KV_HEADS, DIM, device="cuda", dtype=torch.float16) for _ in range(2))
    for name, row in rows.items():
        if "group" in row or "cache" in row:
            continue
        contexts, size = lengths_of(row), row.get("block_size", 16)
        paged = Attention(row, contexts, size, memory)
        runs: dict[str, Callable[[], object]] = {"copy": lambda: target.copy_(source), "paged": paged}
        if "block_size" in row:
            runs["contiguous"] = Attention(row, contexts, 0, memory)
        if "piece" in row:
            runs["whole"] = Attention(row, contexts, size, memory, piece=max(contexts))
            runs["cudnn"] = cudnn(memory, *((row[what]) for what in ("sequences", "context")))
        times: dict[str, list[float]] = {what: [] for what in runs}
        for _ in range(ROUNDS):
            for what, run in runs.items():
                times[what].append(gpu.milliseconds(in_a_row(run), repeat=1, warmup=1) / LAUNCHES)
        median = {what: statistics.median(values) for what, values in times.items()}
        read = sum(contexts) * decode.token_bytes(KV_HEADS) / 1e6
        copy = 2 * COPIED_BYTES / median["copy"] / 1e6
        row |= {"measured_time_ms": round(median["paged"], 4), "measured_gb_s": round(read / median["paged"]), "measured_copy_gb_s": round(copy)}
        row["measured_share_of_copy"] = round(read / median["paged"] / copy, 3)
        if "contiguous" in median:
            ratio = statistics.median(slow / fast for slow, fast in zip(times["paged"], times["contiguous"], strict=True))
            row |= {"measured_contiguous_ms": round(median["contiguous"], 4), "measured_slower_percent": round(100 * (ratio - 1), 1)}
        for what in ("whole", "cudnn"):
            if what in median:
                row[f"measured_{what}_gb_s"] = round(read / median[what])
        gpu.say(f"{name}: {row}")


def in_a_row(run: Callable[[], object]) -> Callable[[], None]:
    """Give several launches of one run, so that what lies between two events is the kernels and not their launch."""

    def launches_in_a_row() -> None:
        for _ in range(LAUNCHES):
            run()

    return launches_in_a_row


def cudnn(memory: tuple[Any, Any], sequences: int, context: int) -> Callable[[], object]:
    """Give PyTorch's attention over contiguous memory by cuDNN."""
    torch: Any = importlib.import_module("torch")
    attention: Any = importlib.import_module("torch.nn.attention")
    query = torch.randn(sequences, KV_HEADS * GROUP, 1, DIM, device="cuda", dtype=torch.float16)
    rows = sequences * context * KV_HEADS
    key, value = (part[:rows].view(sequences, KV_HEADS, context, DIM) for part in memory)

    def run() -> None:
        with attention.sdpa_kernel(attention.SDPBackend.CUDNN_ATTENTION):
            torch.nn.functional.scaled_dot_product_attention(query, key, value, enable_gqa=True)

    return run


class Attention:
    """One batch over a cache, contiguous or in blocks in random order."""

    def __init__(self, row: dict[str, Any], contexts: tuple[int, ...], size: int, memory: tuple[Any, Any] | None = None, piece: int = 0) -> None:
        """Make queries, tables and, where none is given, the cache."""
        shared = row.get("shared_tokens", 0)
        self.torch: Any = importlib.import_module("torch")
        numpy: Any = importlib.import_module("numpy")
        cupy: Any = importlib.import_module("cupy")
        group, self.kv_heads = row.get("group", GROUP), row.get("kv_heads", KV_HEADS)
        self.heads, self.contexts, self.size = self.kv_heads * group, contexts, size or max(contexts)
        options = [f"-DKV_HEADS={self.kv_heads}", f"-DGROUP={group}", f"-DWARPS={WARPS}", f"-DSTAGES={STAGES}"]
        self.kernel, self.combine = (gpu.kernel(SOURCE, name, *options) for name in ("attend_paged" if size else "attend_contiguous", "combine"))
        self.shared_bytes = WARPS * STAGES * 2 * 16 * 2 * DIM
        self.kernel.max_dynamic_shared_size_bytes = self.shared_bytes
        self.table = self.make_table(shared)
        slots = (int(self.table.max()) + 1) * self.size * self.kv_heads
        self.memory = memory or tuple(self.torch.randn(slots, DIM, device="cuda", dtype=self.torch.float16) for _ in range(2))
        assert len(self.memory[0]) >= slots, (len(self.memory[0]), slots)
        self.queries = self.torch.randn(len(contexts), self.heads, DIM, device="cuda", dtype=self.torch.float16)
        self.result = self.torch.empty_like(self.queries)
        cut = decode.pieces(list(contexts), piece or decode.piece_tokens(list(contexts), self.kv_heads))
        first = numpy.searchsorted([name for name, _, _ in cut], numpy.arange(len(contexts) + 1))
        self.partial, pairs = cupy.empty((len(cut) * self.heads, DIM), cupy.float32), cupy.empty((len(cut) * self.heads, 2), cupy.float32)
        self.grid, device = len(cut) * self.kv_heads, cupy.from_dlpack
        place = (cupy.asarray(self.table), cupy.int32(self.table.shape[1]), cupy.int32(size.bit_length() - 1)) if size else (cupy.int32(self.size),)
        items, count = cupy.asarray(cut, cupy.int32), cupy.asarray([len(cut)], cupy.int32)
        kv = device(self.memory[0]), device(self.memory[1])
        scale = cupy.float32(math.log2(math.e) / math.sqrt(DIM))
        self.arguments = (*place, device(self.queries), cupy.int32(self.heads * DIM), *kv, items, count, self.partial, pairs, scale)
        self.combined = (self.partial, pairs, cupy.asarray(first, cupy.int32), device(self.result))

    def make_table(self, shared: int) -> Any:
        """Give each sequence its blocks, in random order; the first of all sequences are the same where a prefix is shared."""
        numpy: Any = importlib.import_module("numpy")
        counts, common = [-(-context // self.size) for context in self.contexts], shared // self.size
        total = sum(counts) - common * (len(counts) - 1)
        order = numpy.arange(total) if self.size == max(self.contexts) else numpy.random.default_rng(11).permutation(total)
        table = numpy.full((len(counts), max(counts)), -(10**8), numpy.int32)  # an entry that nobody may read
        table[:, :common] = order[:common]
        end = common
        for number, count in enumerate(counts):
            table[number, common:count] = order[end : end + count - common]
            end += count - common
        return table

    def attend(self) -> None:
        """Launch the pieces."""
        self.kernel((self.grid,), (WARPS * 32,), self.arguments, shared_mem=self.shared_bytes)

    def __call__(self) -> None:
        """Launch the pieces, then put them together."""
        self.attend()
        rows, warps = (self.heads, 8) if self.grid >= MANY * len(self.contexts) * self.kv_heads else (self.heads // 4, 4)
        self.combine((len(self.contexts), rows), (32 * warps,), self.combined)

    def error(self) -> float:
        """Run over poison and give the error against FP64 over gathered rows, relative in the Frobenius norm; the worst sequence."""
        torch = self.torch
        self.result.fill_(float("nan"))
        self.partial.fill(float("nan"))
        self()
        torch.cuda.synchronize()
        errors = []
        for number, context in enumerate(self.contexts):
            token = torch.arange(context, device="cuda")
            block = torch.as_tensor(self.table[number], device="cuda").long()[token // self.size]
            head = torch.arange(self.kv_heads, device="cuda")[:, None]
            rows = (block[None] * self.kv_heads + head) * self.size + token % self.size
            key, value = (part[rows].double() for part in self.memory)
            query = self.queries[number].double().view(self.kv_heads, -1, DIM)
            weights = torch.softmax(query @ key.transpose(1, 2) / math.sqrt(DIM), -1)
            exact = (weights @ value).reshape(self.heads, DIM)
            errors.append(float((self.result[number].double() - exact).norm() / exact.norm()))
        return float(f"{max(errors):.3g}")


if __name__ == "__main__":
    main()
