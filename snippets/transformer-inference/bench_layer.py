"""Time one layer of Llama 3.1 8B on an H200 from decode to prefill, part by part, beside the floors of block.py."""

import functools
import importlib
import json
import statistics
from collections.abc import Callable
from typing import Any

import bench_flash
import block

import gpu

MODEL = "Llama 3.1 8B"
LAYERS = 4  # with weights of their own, 436 MB each, so that no weight is found in the L2
SPREAD_BYTES = 300e6  # of K and V that attention goes through before it sees the same again
ROUNDS = 11
# name: sequences, new tokens of each, tokens in the cache
PHASES = {
    "decode_1": (1, 1, 2048), "decode_16": (16, 1, 2048), "decode_64": (64, 1, 2048), "decode_256": (256, 1, 2048),
    "prefill_128": (1, 128, 0), "prefill_512": (1, 512, 0), "prefill_2048": (1, 2048, 0), "prefill_8192": (1, 8192, 0),
}  # fmt: skip
SHOWN = ("decode_1", "decode_64", "prefill_2048")  # whose parts the page shows
TABLES = {
    "phases": {
        "phase": ("阶段", "Phase"),
        "predicted_flop_per_byte": ("FLOP/字节", "FLOP/byte"),
        "predicted_floor_us": ("预测下限（µs）", "Predicted floor (µs)"),
        "measured_parts_us": ("各部分之和（µs）", "Sum of parts (µs)"),
        "measured_share_percent": ("下限 / 实测（%）", "Floor / measured (%)"),
        "measured_layer_us": ("整层（µs）", "Whole layer (µs)"),
    },
    "parts": {
        "of": ("阶段", "Phase"),
        "part": ("部分", "Part"),
        "predicted_flop_per_byte": ("FLOP/字节", "FLOP/byte"),
        "predicted_floor_us": ("预测下限（µs）", "Predicted floor (µs)"),
        "measured_us": ("实测（µs）", "Measured (µs)"),
        "measured_tflop_s": ("TFLOP/s", "TFLOP/s"),
        "measured_gb_s": ("GB/s", "GB/s"),
    },
}


def inputs() -> dict[str, dict[str, Any]]:
    """Give the rows' names and inputs: the phases, then the parts of each."""
    rows: dict[str, dict[str, Any]] = {}
    for phase, (batch, new, past) in PHASES.items():
        rows[phase] = {"phase": phase, "batch": batch, "new": new, "past": past}
    for phase, (batch, new, past) in PHASES.items():
        for part in block.layer(block.MODELS[MODEL], batch, new, past):
            # Parts that the page does not show keep their phase under another name.
            rows[f"{phase}_{part}"] = {"of" if phase in SHOWN else "phase_of_part": phase, "part": part}
    return rows


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Give the intensity and the floor of a phase or of a part."""
    if "phase" in row:
        flop, moved, floor = block.whole(block.layer(block.MODELS[MODEL], row["batch"], row["new"], row["past"]))
        return {"predicted_flop_per_byte": round(flop / moved, 2), "predicted_floor_us": round(floor, 2)}
    part = part_of(row)
    return {
        "predicted_flop_per_byte": round(part.flop / part.moved_bytes, 2),
        "predicted_limit": block.limit(part),
        "predicted_floor_us": round(part.floor_us(), 2),
    }


def part_of(row: dict[str, Any]) -> block.Part:
    """Give the model's part that a row stands for."""
    return block.layer(block.MODELS[MODEL], *PHASES[row.get("of") or row["phase_of_part"]])[row["part"]]


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name in PHASES:
        row = rows[name]
        assert row["measured_error"] < 5e-4, (name, row)
        assert 60 < row["measured_share_percent"] < 90, (name, row)
        assert 0.03 < 1 - row["measured_parts_us"] / row["measured_layer_us"] < 0.2, (name, row)
    layer = {name: rows[name]["measured_layer_us"] for name in PHASES}
    assert 1.1 < layer["decode_16"] / layer["decode_1"] < 1.35, layer
    assert 150 < layer["decode_1"] / (layer["prefill_2048"] / 2048) < 250, layer
    products = {name: sum(rows[f"{name}_{part}"]["measured_us"] for part in ("qkv", "out", "up", "down")) for name in PHASES}
    assert products["decode_64"] / products["decode_1"] < 1.15, products
    assert 0.65 < rows["decode_256_attention"]["measured_us"] / rows["decode_256"]["measured_parts_us"] < 0.8, rows["decode_256"]
    for part in ("qkv", "out", "up", "down"):
        assert 600 < rows[f"prefill_2048_{part}"]["measured_tflop_s"] < 800, (part, rows[f"prefill_2048_{part}"])
    assert rows["decode_1_up"]["measured_gb_s"] > 3800, rows["decode_1_up"]
    assert rows["decode_1_attention"]["measured_gb_s"] < 1000, rows["decode_1_attention"]
    assert rows["decode_64_attention"]["measured_gb_s"] > 4000, rows["decode_64_attention"]


def main() -> None:
    """Check attention and the products, time the parts and the whole layer in CUDA graphs, and print the rows."""
    if gpu.launching():
        return
    torch: Any = importlib.import_module("torch")
    rows = inputs()
    layers = [weights() for _ in range(LAYERS)]
    for phase, (batch, new, past) in PHASES.items():
        runs, caches = parts(layers, batch, new, past)
        rows[phase] |= predict(rows[phase]) | {"measured_error": error(layers, caches, batch, new, past)}
        rows[phase]["measured_attention_kernel"] = bench_flash.short(bench_flash.kernel_of(runs["attention"][0]))
        graphs = {name: captured(run) for name, run in runs.items()}
        times: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(ROUNDS):
            for name, (graph, turns) in graphs.items():
                times[name].append(gpu.milliseconds(graph.replay, repeat=1, warmup=1) * 1e3 / turns)
        middle = {name: statistics.median(values) for name, values in times.items()}
        for part in block.layer(block.MODELS[MODEL], batch, new, past):
            row = rows[f"{phase}_{part}"]
            model = part_of(row)
            row |= predict(row) | {
                "measured_us": round(middle[part], 2),
                "measured_tflop_s": round(model.flop / middle[part] / 1e6, 1),
                "measured_gb_s": round(model.moved_bytes / middle[part] / 1e3, 1),
            }
        total = sum(time for name, time in middle.items() if name != "layer")
        rows[phase] |= {"measured_parts_us": round(total, 2), "measured_layer_us": round(middle["layer"], 2)}
        rows[phase]["measured_share_percent"] = round(100 * rows[phase]["predicted_floor_us"] / total, 1)
        gpu.say(f"{phase}: {rows[phase]} { {name: round(time, 1) for name, time in middle.items()} }")
        del graphs, runs, caches
        torch.cuda.empty_cache()
    check(rows)
    print(json.dumps({"rows": rows, "conditions": {"library": f"PyTorch {torch.__version__}"}}))


def weights() -> dict[str, Any]:
    """Draw the weights of one layer, as PyTorch's linear takes them: out x in."""
    torch: Any = importlib.import_module("torch")
    drawn: dict[str, Any] = {}
    for name, part in block.layer(block.MODELS[MODEL], 1, 1, 0).items():
        if name != "attention":
            drawn[name] = torch.randn(part.shape[1], part.shape[0], device="cuda", dtype=torch.float16) * part.shape[0] ** -0.5
    drawn["norm"] = torch.ones(block.MODELS[MODEL].width, device="cuda", dtype=torch.float16)
    return drawn


def parts(layers: list[dict[str, Any]], batch: int, new: int, past: int) -> tuple[dict[str, list[Callable[[], Any]]], list[tuple[Any, Any]]]:
    """Give each part, and the whole layer, as runs over different weights or caches; and the caches."""
    torch: Any = importlib.import_module("torch")
    linear: Any = torch.nn.functional.linear
    model = block.MODELS[MODEL]
    size = 2 * 2 * batch * (past + new) * model.kv_heads * model.head
    shape = (batch, model.kv_heads, past + new, model.head)
    caches = [tuple(torch.randn(shape, device="cuda", dtype=torch.float16) for _ in range(2)) for _ in range(max(LAYERS, int(SPREAD_BYTES // size)))]
    rows = batch * new
    x = torch.randn(rows, model.width, device="cuda", dtype=torch.float16)
    inner = torch.randn(rows, model.inner, device="cuda", dtype=torch.float16)
    q = torch.randn(batch, model.heads, new, model.head, device="cuda", dtype=torch.float16)

    def layer(weight: dict[str, Any], cache: Any) -> Any:
        normal = torch.nn.functional.rms_norm(x, (model.width,), weight["norm"])
        query = linear(normal, weight["qkv"])[:, : model.width].view(batch, new, model.heads, model.head).transpose(1, 2)
        seen = attend(query, *cache, causal=new > 1).transpose(1, 2).reshape(rows, model.width)
        middle = x + linear(seen, weight["out"])
        normal = torch.nn.functional.rms_norm(middle, (model.width,), weight["norm"])
        gate, up = linear(normal, weight["up"]).chunk(2, -1)
        return middle + linear(torch.nn.functional.silu(gate) * up, weight["down"])

    def each(name: str, rows_in: Any) -> list[Callable[[], Any]]:
        return [functools.partial(linear, rows_in, weight[name]) for weight in layers]

    runs: dict[str, list[Callable[[], Any]]] = {name: each(name, x) for name in ("qkv", "out", "up")}
    runs["down"] = each("down", inner)
    runs["attention"] = [functools.partial(attend, q, *cache, causal=new > 1) for cache in caches]
    runs["layer"] = [functools.partial(layer, weight, cache) for weight, cache in zip(layers, caches, strict=False)]
    return runs, caches


def attend(q: Any, k: Any, v: Any, *, causal: bool) -> Any:
    """Give PyTorch's attention, whose K and V have fewer heads than Q."""
    torch: Any = importlib.import_module("torch")
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)


def captured(runs: list[Callable[[], Any]]) -> tuple[Any, int]:
    """Capture runs one after the other in a CUDA graph, so that launches by the host do not count; give it and how many they are."""
    torch: Any = importlib.import_module("torch")
    runs[0]()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for run in runs:
            run()
    return graph, len(runs)


def error(layers: list[dict[str, Any]], caches: list[tuple[Any, Any]], batch: int, new: int, past: int) -> float:
    """Give the larger error of a product and of attention's first query heads against FP64, relative in the Frobenius norm."""
    torch: Any = importlib.import_module("torch")
    model = block.MODELS[MODEL]
    x = torch.randn(batch * new, model.width, device="cuda", dtype=torch.float16)
    weight = layers[-1]["out"]
    exact = x.double() @ weight.double().t()
    found = float((torch.nn.functional.linear(x, weight).double() - exact).norm() / exact.norm())
    q = torch.randn(batch, model.heads, new, model.head, device="cuda", dtype=torch.float16)
    k, v = caches[0]
    result = attend(q, k, v, causal=new > 1)[0, :4].double()
    scores = q[0, :4].double() @ k[0, 0].double().t() / model.head**0.5
    if new > 1:
        scores.masked_fill_(torch.ones(new, past + new, dtype=torch.bool, device="cuda").triu_(1), float("-inf"))
    exact = torch.softmax(scores, -1) @ v[0, 0].double()
    return float(f"{max(found, float((result - exact).norm() / exact.norm())):.3g}")


if __name__ == "__main__":
    main()
