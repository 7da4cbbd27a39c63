"""Serve one list of requests on a GPU under several ways to give memory to K and V, and compare with the model's count and time.

A step is what a model of Llama 3.1 8B's shape multiplies and reads to decode one token of each sequence: the matrix products of 32
layers and of the vocabulary with random weights, the new K and V into the cache, and attention over it (attention.cu). There are no
norms, activations, positions or sampling. Prompts are not computed in the loop: their K and V are random numbers that lie there.
"""

import importlib
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import blocks
import decode
import lengths
import serving

import gpu

Rows = dict[str, dict[str, Any]]

SOURCE = Path(__file__).with_name("attention.cu")
LAYERS, HIDDEN, KV_HEADS, GROUP, DIM, INNER, VOCABULARY = 32, 4096, 8, 4, 128, 14336, 128256
QUERY_HEADS, MOST = KV_HEADS * GROUP, 128
PIECES = MOST * lengths.LONGEST // 512 + MOST  # at most, of all contexts
QKV = (QUERY_HEADS + 2 * KV_HEADS) * DIM
WARPS, STAGES, GRID = decode.WARPS, decode.STAGES, decode.RESIDENT
PADDED = (8, 16, 32, 48, 64, 80, 96, 112, 128)  # a CUDA graph for each: batches are padded to the next one
REQUESTS, SEED, POOL_TOKENS, SHARED = 160, 3, 98304, 1024
CALIBRATED = (64, 1408)  # sequences and their context in the step from which the rate of reading is taken
STEPS = ((12, 1400), (40, 1400), (56, 1600), (112, 800), (128, 512))
# block size, percent of the pool that stays free when a request starts, prefix
WAYS = {"reserve_longest": (lengths.LONGEST, 1, "none"), "blocks_256": (256, 1, "none"), "blocks_16": (16, 1, "none")}
WAYS |= {"no_spare": (16, 0, "none"), "private_prefix": (16, 1, "private"), "shared_prefix": (16, 1, "shared")}
PREFILL, CHECK_EVERY, ROUNDS = 1155, 150, 9
WEIGHTS_GB = 2 * (LAYERS * (HIDDEN * (QKV + HIDDEN + 2 * INNER) + INNER * HIDDEN) + HIDDEN * VOCABULARY) / 1e9
TABLES = {
    "step": {
        "sequences": ("序列数", "Sequences"),
        "context": ("上下文（token）", "Context (tokens)"),
        "padded": ("补齐到", "Padded to"),
        "products_ms": ("矩阵乘（ms）", "Products (ms)"),
        "predicted_step_ms": ("预测：一步（ms）", "Predicted step (ms)"),
        "measured_step_ms": ("实测：一步（ms）", "Measured step (ms)"),
    },
    "serving": {
        "way": ("分配方式", "Memory given"),
        "predicted_running": ("同时运行：预测", "Running, predicted"),
        "counted_running": ("同时运行：实测", "Running, counted"),
        "counted_steps": ("步数", "Steps"),
        "predicted_tokens_s": ("token/s：预测", "Tokens/s, predicted"),
        "measured_tokens_s": ("token/s：实测", "Tokens/s, measured"),
        "measured_whole_tokens_s": ("算上 prefill", "With prefill"),
    },
}


def requests_of(prefix: str, number: int, seed: int) -> list[serving.Request]:
    """Draw the requests: with a prefix, every prompt begins with 1,024 more tokens, the same ones or each its own."""
    drawn = serving.draw(number, seed, 0 if prefix == "none" else SHARED)
    if prefix != "private":
        return drawn
    return [serving.Request([token + (name + 1) * 10**6 for token in request.prompt], request.answer) for name, request in enumerate(drawn)]


def predict(inputs: dict[str, Any]) -> dict[str, Any]:
    """Predict a step's time, or a whole run, by the model."""
    if "products" not in inputs:
        return {"predicted_floor_ms": round(inputs["weights_gb"] / inputs["peak_gb_s"] * 1e3, 2)} if "peak_gb_s" in inputs else {}
    machine = serving.Machine(tuple((rows, ms) for rows, ms in inputs["products"]), inputs["read_gb_s"])
    if "sequences" in inputs:
        return {"predicted_step_ms": round(machine.step_ms(inputs["sequences"], inputs["sequences"] * inputs["context"]), 3)}
    requests = requests_of(inputs["prefix"], inputs["requests"], inputs["seed"])
    served = serving.serve(requests, serving.Paged(inputs["pool_tokens"], inputs["block_size"], inputs.get("spare_percent", 1)), MOST)
    seconds = serving.seconds(served, machine)
    tokens = sum(request.answer for request in requests)
    return {
        "predicted_running": round(serving.mean_while_crowded(served.batches, served), 1),
        "predicted_peak": max(served.batches),
        "predicted_steps": len(served.batches),
        "predicted_tokens": tokens,
        "predicted_preempted": served.preempted,
        "predicted_computed": served.computed,
        "predicted_s": round(seconds, 3),
        "predicted_tokens_s": round(tokens / seconds),
    }


def check(rows: Rows) -> None:
    """Assert that predictions come true, and what the page says of the rows."""
    for name, row in rows.items():
        if "predicted_step_ms" in row:
            assert abs(row["measured_step_ms"] / row["predicted_step_ms"] - 1) < 0.08, (name, row)
        if "predicted_tokens_s" in row:
            for what in ("steps", "tokens", "running", "peak", "preempted"):
                assert row[f"counted_{what}"] == row[f"predicted_{what}"], (name, what, row)
            assert row["counted_wrong_slots"] == 0 < row["counted_checked_slots"], (name, row)
            assert 0.95 < row["measured_tokens_s"] / row["predicted_tokens_s"] < 1.1, (name, row)
    assert rows["products_96"]["measured_products_ms"] < 1.2 * rows["products_8"]["measured_products_ms"], rows["products_96"]
    assert (rows["no_spare"]["counted_preempted"], rows["blocks_16"]["counted_preempted"]) == (15, 1), rows["no_spare"]
    # the rates of two ways, without and with the prompts' computation, and between what their ratios lie
    for first, second, bounds, whole_bounds in (
        ("blocks_16", "reserve_longest", (3.1, 3.4), (2.1, 2.4)),
        ("blocks_256", "blocks_16", (0.96, 1.0), (0.96, 1.0)),
        ("no_spare", "blocks_16", (0.98, 1.02), (0.98, 1.02)),
        ("shared_prefix", "private_prefix", (1.3, 1.5), (1.5, 1.7)),
    ):
        for what, (least, most) in (("measured_tokens_s", bounds), ("measured_whole_tokens_s", whole_bounds)):
            assert least < rows[first][what] / rows[second][what] < most, (first, second, what, rows[first], rows[second])


def main() -> None:
    """Measure single steps, then serve, check and print the rows."""
    model = Model()
    gpu.say(f"weights {WEIGHTS_GB:.2f} GB; cache {2 * model.keys.nbytes / 2**30:.1f} GiB")
    loop = Loop(model, 16, MOST)
    products = [(padded, round(loop.milliseconds(padded, [1] * padded), 4)) for padded in PADDED]
    rows: Rows = {
        f"products_{padded}": {"padded": padded, "weights_gb": round(WEIGHTS_GB, 3), "peak_gb_s": 4800, "measured_products_ms": ms}
        for padded, ms in products
    }
    fixed = dict(products)
    sequences, context = CALIBRATED
    reading = loop.milliseconds(sequences, [context] * sequences) - fixed[sequences]
    read_gb_s = round(sequences * context * serving.TOKEN_BYTES / reading / 1e6, 1)
    gpu.say(f"products {products}; reading K and V {read_gb_s} GB/s")
    machine = {"products": [list(pair) for pair in products], "read_gb_s": read_gb_s}
    for sequences, context in STEPS:
        padded = next(size for size in PADDED if size >= sequences)
        row: dict[str, Any] = {"sequences": sequences, "context": context, "padded": padded, "products_ms": fixed[padded], **machine}
        rows[f"step_{sequences}_{context}"] = row | {"measured_step_ms": round(loop.milliseconds(padded, [context] * sequences), 3)}
    prefill = model.prefill_ms(PREFILL)
    loop.serve(requests_of("none", 4, SEED), 1)  # so that CuPy's own kernels are compiled before anything is timed
    rows["prefill"] = {"prompt": PREFILL, "measured_prefill_ms": round(prefill, 2)}
    for name, (size, spare, prefix) in WAYS.items():
        row = {
            "way": name,
            "block_size": size,
            "spare_percent": spare,
            "prefix": prefix,
            "requests": REQUESTS,
            "seed": SEED,
            "pool_tokens": POOL_TOKENS,
            **machine,
        }
        row |= predict(row)
        way = loop if size == loop.size else Loop(model, size, row["predicted_peak"])
        row |= way.serve(requests_of(prefix, REQUESTS, SEED), spare)
        whole = row["measured_s"] + row["predicted_computed"] * prefill / PREFILL / 1e3
        rows[name] = row | {"measured_whole_tokens_s": round(row["predicted_tokens"] / whole)}
        gpu.say(f"{name}: { {key: value for key, value in rows[name].items() if key != 'products'} }")
    for row in rows.values():
        row.update(predict({key: value for key, value in row.items() if not key.startswith(("predicted_", "counted_", "measured_"))}))
    for name, row in rows.items():
        if "products" not in row or "sequences" in row:
            gpu.say(f"{name}: { {key: value for key, value in row.items() if key != 'products'} }")
    check(rows)
    limits = {
        "zh": "循环里只有解码步：权重随机，没有归一化、激活、位置编码和采样，prompt 的 K 和 V 是预先放好的随机数",
        "en": "The loop holds decode steps alone: random weights, no norms, activations, positions or sampling; "
        "the K and V of prompts are random numbers already there",
    }
    print(json.dumps({"rows": rows, "conditions": {"step": limits}}))


class Model:
    """Random weights, the cache, and the buffers of a step."""

    def __init__(self) -> None:
        """Fill the memory."""
        self.torch: Any = importlib.import_module("torch")
        cupy: Any = importlib.import_module("cupy")
        self.torch.manual_seed(7)
        self.layers = [
            [
                self.random(rows, columns, scale=rows**-0.5)
                for rows, columns in ((HIDDEN, QKV), (HIDDEN, HIDDEN), (HIDDEN, 2 * INNER), (INNER, HIDDEN))
            ]
            for _ in range(LAYERS)
        ]
        self.vocabulary = self.random(HIDDEN, VOCABULARY, scale=HIDDEN**-0.5)
        self.keys, self.values = (self.random(LAYERS, POOL_TOKENS * KV_HEADS, DIM) for _ in range(2))
        widths = {"state": HIDDEN, "qkv": QKV, "attended": HIDDEN, "hidden": HIDDEN, "inner": 2 * INNER, "logits": VOCABULARY}
        self.buffers = {name: self.random(MOST, width) for name, width in widths.items()}
        self.shared_bytes = WARPS * STAGES * 2 * 16 * 2 * DIM
        options = [f"-DKV_HEADS={KV_HEADS}", f"-DGROUP={GROUP}", f"-DWARPS={WARPS}", f"-DSTAGES={STAGES}"]
        self.kernels = {name: gpu.kernel(SOURCE, name, *options) for name in ("append", "attend_paged", "combine")}
        self.kernels["attend_paged"].max_dynamic_shared_size_bytes = self.shared_bytes
        rows = PIECES * QUERY_HEADS
        self.partial, self.statistics = cupy.zeros((rows, DIM), cupy.float32), cupy.zeros((rows, 2), cupy.float32)

    def random(self, *shape: int, scale: float = 1.0) -> Any:
        """Make random FP16 numbers."""
        return self.torch.empty(*shape, device="cuda", dtype=self.torch.float16).normal_(0, scale)

    def prefill_ms(self, tokens: int) -> float:
        """Time what a prompt costs: the same products, and causal attention by PyTorch."""
        torch = self.torch
        prompt = self.random(tokens, HIDDEN)

        def run() -> None:
            state = prompt
            for qkv, out, up, down in self.layers:
                heads = (state @ qkv).view(tokens, -1, DIM).transpose(0, 1)[None]
                parts = heads[:, :QUERY_HEADS], heads[:, QUERY_HEADS : QUERY_HEADS + KV_HEADS], heads[:, QUERY_HEADS + KV_HEADS :]
                attended = torch.nn.functional.scaled_dot_product_attention(*parts, is_causal=True, enable_gqa=True)
                state = (attended[0].transpose(0, 1).reshape(tokens, HIDDEN) @ out @ up)[:, :INNER] @ down

        return gpu.milliseconds(run, repeat=5, warmup=2)


class Loop:
    """One way to give memory: its tables on the GPU, and a CUDA graph of a step for each padded batch."""

    def __init__(self, model: Model, size: int, most: int) -> None:
        """Capture the graphs for batches up to most."""
        self.torch, self.model, self.size = model.torch, model, size
        cupy: Any = importlib.import_module("cupy")
        self.cupy = cupy
        self.pitch, self.shift = lengths.LONGEST // size, size.bit_length() - 1
        sizes = {
            "table": MOST * self.pitch,
            "positions": MOST,
            "tokens": MOST,
            "first": MOST + 1,
            "count": 1,
            "items": 3 * PIECES,
        }
        self.places: dict[str, slice] = {}
        end = 0
        for name, length in sizes.items():
            self.places[name] = slice(end, end + length)
            end += length
        self.hosts = [self.torch.zeros(end, dtype=self.torch.int32).pin_memory() for _ in range(2)]
        self.device = cupy.zeros(end, cupy.int32)
        self.written, self.appended = cupy.full(POOL_TOKENS, -1, cupy.int32), cupy.zeros(1, cupy.int32)
        self.stream = self.torch.cuda.Stream()
        self.turn = 0
        self.done = [self.torch.cuda.Event() for _ in range(2)]  # the step that was prepared in a host memory has run
        self.graphs = {padded: self.capture(padded) for padded in PADDED if padded < most or padded == next(size for size in PADDED if size >= most)}

    def part(self, name: str) -> Any:
        """Give one array of what is uploaded."""
        return self.device[self.places[name]]

    def capture(self, padded: int) -> Any:
        """Capture a step of so many rows."""
        torch = self.torch
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self.stream), self.cupy.cuda.ExternalStream(self.stream.cuda_stream):
            launch = self.step(padded)
            self.prepare_idle()
            launch()
            self.stream.synchronize()
            with torch.cuda.graph(graph, stream=self.stream):
                launch()
        return graph

    def step(self, padded: int) -> Callable[[], None]:
        """Give one step of so many rows as a function that only launches."""
        model, torch, cupy = self.model, self.torch, self.cupy
        rows = {name: buffer[:padded] for name, buffer in model.buffers.items()}
        qkv, attended = cupy.from_dlpack(rows["qkv"]), cupy.from_dlpack(rows["attended"])
        caches = [(cupy.from_dlpack(model.keys[layer]), cupy.from_dlpack(model.values[layer])) for layer in range(LAYERS)]
        where = (self.part("table"), cupy.int32(self.pitch), cupy.int32(self.shift))
        width, scale = cupy.int32(QKV), cupy.float32(math.log2(math.e) / math.sqrt(DIM))
        nothing = cupy.uint64(0)

        def launch() -> None:
            for layer, ((first, second, third, fourth), (keys, values)) in enumerate(zip(model.layers, caches, strict=True)):
                torch.matmul(rows["state"], first, out=rows["qkv"])
                notes = (self.part("tokens"), self.written, self.appended) if layer == 0 else (nothing, nothing, nothing)
                model.kernels["append"]((padded,), (KV_HEADS * 16,), (*where, qkv, width, self.part("positions"), keys, values, *notes))
                pieces = (self.part("items"), self.part("count"), model.partial, model.statistics)
                arguments = (*where, qkv, width, keys, values, *pieces, scale)
                model.kernels["attend_paged"]((GRID,), (WARPS * 32,), arguments, shared_mem=model.shared_bytes)
                model.kernels["combine"]((padded, QUERY_HEADS // 4), (128,), (model.partial, model.statistics, self.part("first"), attended))
                torch.matmul(rows["attended"], second, out=rows["hidden"])
                torch.matmul(rows["hidden"], third, out=rows["inner"])
                torch.matmul(rows["inner"][:, :INNER], fourth, out=rows["state"])
            torch.matmul(rows["state"], model.vocabulary, out=rows["logits"])

        return launch

    def prepare_idle(self) -> None:
        """Upload a step without a sequence."""
        host = self.hosts[self.turn].numpy()
        host[:] = 0
        host[self.places["positions"]] = -1
        self.upload()

    def prepare(self, tables: list[list[int]], contexts: list[int], tokens: list[int]) -> None:
        """Write a step's tables into the host memory whose turn it is: the last token of each context is the new one."""
        numpy: Any = importlib.import_module("numpy")
        host = self.hosts[self.turn].numpy()
        table = host[self.places["table"]].reshape(MOST, self.pitch)
        for number, blocks_of in enumerate(tables):
            table[number, : len(blocks_of)] = blocks_of
        host[self.places["positions"]] = -1
        host[self.places["positions"]][: len(contexts)] = numpy.array(contexts, numpy.int32) - 1
        host[self.places["tokens"]][: len(tokens)] = tokens
        length = decode.piece_tokens(contexts, KV_HEADS)
        pieces = -(-numpy.array(contexts, numpy.int32) // length)
        first = numpy.concatenate([[0], numpy.cumsum(pieces)])
        host[self.places["first"]] = first[-1]
        host[self.places["first"]][: len(first)] = first
        host[self.places["count"]] = first[-1]
        items = host[self.places["items"]].reshape(-1, 3)[: first[-1]]
        items[:, 0] = numpy.repeat(numpy.arange(len(contexts)), pieces)
        items[:, 1] = length * (numpy.arange(first[-1]) - numpy.repeat(first[:-1], pieces))
        items[:, 2] = numpy.minimum(items[:, 1] + length, numpy.array(contexts)[items[:, 0]])

    def upload(self) -> None:
        """Start the copy of what was prepared, and turn to the other host memory."""
        host = self.hosts[self.turn]
        self.device.data.copy_from_host_async(host.data_ptr(), self.device.nbytes, self.cupy.cuda.ExternalStream(self.stream.cuda_stream))
        self.turn = 1 - self.turn

    def milliseconds(self, padded: int, contexts: list[int]) -> float:
        """Time one step with these contexts, in blocks in random order."""
        numpy: Any = importlib.import_module("numpy")
        order = iter(numpy.random.default_rng(1).permutation(POOL_TOKENS // self.size).tolist())
        with self.torch.cuda.stream(self.stream):
            self.prepare([[next(order) for _ in range(lengths.blocks(context, self.size))] for context in contexts], contexts, [0] * len(contexts))
            self.upload()
            times: list[float] = []
            for _ in range(ROUNDS):
                begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                self.graphs[padded].replay()
                end.record()
                end.synchronize()
                times.append(begin.elapsed_time(end))
        return statistics.median(times)

    def serve(self, requests: list[serving.Request], spare_percent: int) -> dict[str, Any]:
        """Run all requests: the host prepares and launches a step while the GPU works on the one before."""
        served, memory = serving.Served(), serving.Paged(POOL_TOKENS, self.size, spare_percent)
        pool = memory.pool
        self.appended.fill(0)
        self.written.fill(-1)
        self.cupy.cuda.Device().synchronize()
        wrong, checked, launched, paused, tables = 0, 0, 0, 0.0, dict[int, list[int]]()
        with self.torch.cuda.stream(self.stream), self.cupy.cuda.ExternalStream(self.stream.cuda_stream):
            begin = time.perf_counter()
            for running in self.stepping(serving.steps(requests, memory, MOST, served), pool):
                started = [name for name in running if tables.get(name) is not pool.tables[name]]
                self.note_prompts(pool, started)
                tables = {name: pool.tables[name] for name in running}
                turn = self.turn
                self.upload()
                self.graphs[next(size for size in PADDED if size >= len(running))].replay()
                self.done[turn].record(self.stream)
                launched += 1
                if launched % CHECK_EVERY == 1:
                    self.stream.synchronize()
                    stop = time.perf_counter()
                    wrong += self.wrong_slots(pool, running)
                    checked += sum(len(pool.tokens[name]) for name in running)
                    paused += time.perf_counter() - stop
            self.stream.synchronize()
            seconds = time.perf_counter() - begin - paused
        tokens = int(self.appended.get()[0])
        return {
            "counted_running": round(serving.mean_while_crowded(served.batches, served), 1),
            "counted_peak": max(served.batches),
            "counted_steps": launched,
            "counted_tokens": tokens,
            "counted_preempted": served.preempted,
            "counted_checked_slots": checked,
            "counted_wrong_slots": wrong,
            "measured_s": round(seconds, 3),
            "measured_tokens_s": round(tokens / seconds),
        }

    def stepping(self, steps: Iterator[list[int]], pool: blocks.Pool) -> Iterator[list[int]]:
        """Prepare each step, then let it be launched."""
        for running in steps:
            tables, tokens = [pool.tables[name] for name in running], [pool.tokens[name] for name in running]
            self.done[self.turn].synchronize()  # the copy from this host memory, two steps ago, is over
            self.prepare(tables, [len(sequence) for sequence in tokens], [sequence[-1] for sequence in tokens])
            yield running

    def note_prompts(self, pool: blocks.Pool, started: list[int]) -> None:
        """Note which token each slot of a new prompt holds, as append does for the tokens that follow."""
        for name in started:
            tokens = self.cupy.asarray(pool.tokens[name][:-1], self.cupy.int32)
            self.written[self.slots(pool, name)[:-1]] = tokens

    def slots(self, pool: blocks.Pool, name: int) -> Any:
        """Give the slot of each token of a sequence."""
        position = self.cupy.arange(len(pool.tokens[name]))
        return self.cupy.asarray(pool.tables[name])[position // self.size] * self.size + position % self.size

    def wrong_slots(self, pool: blocks.Pool, running: list[int]) -> int:
        """Count the slots that do not hold the token that their sequence's table says."""
        return sum(int((self.written[self.slots(pool, name)] != self.cupy.asarray(pool.tokens[name], self.cupy.int32)).sum()) for name in running)


if __name__ == "__main__":
    main()
