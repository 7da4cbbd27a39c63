"""Time FlashAttention, written in Triton below, on an H200 beside PyTorch's flash and cuDNN backends, and check it against FP64."""

# ruff: noqa: ANN001, ANN202, PLR0913, PLR0917 - of the Triton kernel, whose arguments have Triton's types

import importlib
import json
import re
import statistics
from collections.abc import Callable
from typing import Any, no_type_check

import attention
import block

import gpu

TOKENS, WIDTH = 16384, 2048  # batch x length, heads x head size: as in the FlashAttention papers
HEADS, LENGTHS = (64, 128), (1024, 2048, 4096, 8192, 16384)
ODD_LENGTHS = (1, 17, 127, 129, 1000, 2049)
ROUNDS, LAUNCHES = 15, 5  # launches in a row between two events
LOG2_E = 1.4426950408889634
# (head size, causal): rows of a tile, keys of a tile, warps, stages of the pipeline, registers at most, heads that start together
TILES: dict[tuple[int, bool], tuple[int, int, int, int, int | None, int]] = {
    (64, False): (128, 128, 8, 3, 128, 1),
    (64, True): (64, 128, 4, 2, None, 4),
    (128, False): (128, 64, 4, 2, None, 1),
    (128, True): (128, 64, 4, 2, None, 4),
}
_COLUMNS = {
    "length": ("长度", "Length"),
    "causal": ("causal", "Causal"),
    "measured_tflop_s": ("本站（TFLOP/s）", "Ours (TFLOP/s)"),
    "measured_flash_tflop_s": ("PyTorch flash", "PyTorch flash"),
    "measured_cudnn_tflop_s": ("cuDNN", "cuDNN"),
    "measured_of_flash": ("本站 / flash", "Ours / flash"),
    "measured_of_cudnn": ("本站 / cuDNN", "Ours / cuDNN"),
    "measured_share_of_peak_percent": ("本站占峰值（%）", "Ours, of peak (%)"),
}
TABLES = {
    "head_64": {"head_64": ("头维度", "Head size")} | _COLUMNS,
    "head_128": {"head_128": ("头维度", "Head size")} | _COLUMNS,
    "odd": {
        "odd_length": ("长度", "Length"),
        "measured_error_64_1e4": ("64", "64"),
        "measured_error_64_causal_1e4": ("64，causal", "64, causal"),
        "measured_error_128_1e4": ("128", "128"),
        "measured_error_128_causal_1e4": ("128，causal", "128, causal"),
        "measured_error_of_flash_1e4": ("PyTorch flash，最大", "PyTorch flash, largest"),
    },
    "names": {
        "backend": ("后端", "Backend"),
        "name_head": ("头维度", "Head size"),
        "measured_kernel": ("kernel", "Kernel"),
    },
}


def kernel() -> Any:
    """Give the FlashAttention kernel; Triton compiles the inner function from its text, this one keeps the import inside."""
    triton: Any = importlib.import_module("triton")
    tl: Any = importlib.import_module("triton.language")

    @triton.jit
    @no_type_check
    def flash(
        q_tiles, k_tiles, v_tiles, out_tiles, scale, length,
        head_size: tl.constexpr, tile_rows: tl.constexpr, tile_keys: tl.constexpr, causal: tl.constexpr, together: tl.constexpr,
    ):  # fmt: skip
        # A program has a tile of rows of one head. Those with most keys start first; `together` heads take turns, so that K and V stay in the L2.
        tiles = tl.cdiv(length, tile_rows)
        place = tl.program_id(0) % (tiles * together)
        head = tl.program_id(0) // (tiles * together) * together + place % together
        first = (tiles - 1 - place // together) * tile_rows
        rows = first + tl.arange(0, tile_rows)
        q = q_tiles.load([head, first, 0]).reshape(tile_rows, head_size)
        top = tl.full([tile_rows], float("-inf"), tl.float32)
        total = tl.zeros([tile_rows], tl.float32)
        out = tl.zeros([tile_rows, head_size], tl.float32)
        end = tl.minimum(first + tile_rows, length) if causal else length
        whole = (first + 1 if causal else length) // tile_keys * tile_keys  # up to here every row sees every key
        # --8<-- [start:loop]
        for masked in tl.static_range(2):
            for start in tl.range(whole if masked else 0, end if masked else whole, tile_keys):
                k = k_tiles.load([head, start, 0]).reshape(tile_keys, head_size)
                scores = tl.dot(q, k.T)
                if masked:
                    keys = start + tl.arange(0, tile_keys)
                    seen = keys[None, :] <= rows[:, None] if causal else keys[None, :] < length
                    scores = tl.where(seen, scores, float("-inf"))
                new_top = tl.maximum(top, tl.max(scores, 1) * scale)
                shrink = tl.exp2(top - new_top)  # scale holds log2(e)
                weights = tl.exp2(scores * scale - new_top[:, None])
                total = total * shrink + tl.sum(weights, 1)
                v = v_tiles.load([head, start, 0]).reshape(tile_keys, head_size)
                out = tl.dot(weights.to(v.dtype), v, out * shrink[:, None])
                top = new_top
        # --8<-- [end:loop]
        out = out / total[:, None]
        out_tiles.store([head, first, 0], out.to(out_tiles.dtype).reshape(1, tile_rows, head_size))

    return flash


def inputs() -> dict[str, dict[str, Any]]:
    """Give the rows' names and inputs."""
    rows: dict[str, dict[str, Any]] = {}
    for head in HEADS:
        for causal in (False, True):
            for length in LENGTHS:
                tile_rows, tile_keys, *_ = TILES[head, causal]
                sizes = {"batch": TOKENS // length, "heads": WIDTH // head, "length": length, "causal": causal}
                sizes |= {"tile_rows": tile_rows, "tile_keys": tile_keys}
                rows[f"{head}{'_causal' if causal else ''}_{length}"] = {f"head_{head}": head} | sizes
    return rows


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Predict the operations, and the time at the Tensor Cores' peak."""
    if "length" not in row:
        return {}
    flop = attention.flop(row["batch"], row["heads"], row["length"], head_of(row), causal=row["causal"])
    return {"predicted_gflop": round(flop / 1e9, 1), "predicted_peak_time_ms": round(flop / block.PEAK_TFLOP_S / 1e9, 4)}


def head_of(row: dict[str, Any]) -> int:
    """Give a row's head size."""
    return int(row.get("head_64") or row["head_128"])


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name, row in rows.items():
        for key, value in row.items():
            assert "error" not in key or value < (3.5 if key.endswith("1e4") else 3.5e-4), (name, key, value)
        if "length" in row:
            head = head_of(row)
            assert 1.3 < row["measured_of_flash"] < 1.9, (name, row)
            assert (0.9 if head == 64 else 0.75) < row["measured_of_cudnn"] < (1.1 if head == 64 else 0.95), (name, row)
            assert row["measured_share_of_peak_percent"] < 100 * attention.share_without_overlap(head), (name, row)
        if row.get("backend") == "flash":
            assert row["measured_kernel"].startswith("pytorch_flash::flash_fwd_kernel"), (name, row)
        if "odd_length" in row:
            ours_worst = max(value for key, value in row.items() if key.endswith("1e4") and "of_flash" not in key)
            assert ours_worst <= 1.05 * row["measured_error_of_flash_1e4"], (name, row)


def main() -> None:
    """Check the results, time in turns, name the kernels, and print the rows."""
    torch: Any = importlib.import_module("torch")
    if gpu.launching():
        return
    rows = inputs()
    for name, row in rows.items():
        q, k, v = draw(row["batch"], row["heads"], row["length"], head_of(row))
        row.update(predict(row) | measured(q, k, v, causal=row["causal"]))
        row["measured_share_of_peak_percent"] = round(100 * row["measured_tflop_s"] / block.PEAK_TFLOP_S, 1)
        gpu.say(f"{name}: {row}")
    rows |= {f"odd_{length}": odd(length) for length in ODD_LENGTHS}
    rows |= names()
    for name, row in rows.items():
        if "length" not in row:
            gpu.say(f"{name}: {row}")
    check(rows)
    triton: Any = importlib.import_module("triton")
    library = f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, Triton {triton.__version__}"
    print(json.dumps({"rows": rows, "conditions": {"library": library}}))


def draw(batch: int, heads: int, length: int, head: int) -> list[Any]:
    """Draw Q, K and V."""
    torch: Any = importlib.import_module("torch")
    numbers = torch.Generator(device="cuda").manual_seed(length + head)
    return [torch.randn(batch, heads, length, head, device="cuda", dtype=torch.float16, generator=numbers) for _ in range(3)]


def measured(q: Any, k: Any, v: Any, *, causal: bool) -> dict[str, Any]:
    """Time the three in turns; give rates, the medians of the ratios of each round, and the error of ours."""
    torch: Any = importlib.import_module("torch")
    runs = {
        "ours": ours(q, k, v, causal=causal),
        "flash": library("flash", q, k, v, causal=causal),
        "cudnn": library("cudnn", q, k, v, causal=causal),
    }
    results = {name: run() for name, run in runs.items()}
    torch.cuda.synchronize()
    difference = float((results["ours"].float() - results["flash"].float()).norm() / results["flash"].float().norm())
    assert difference < 1e-3, f"all heads: {difference} from PyTorch's flash backend"
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            times[name].append(time_ms(run))
    batch, heads, length, head = q.shape
    flop = attention.flop(batch, heads, length, head, causal=causal)
    rates = {name: round(flop / statistics.median(values) / 1e9, 1) for name, values in times.items()}
    ratios = {name: round(statistics.median(b / a for a, b in zip(times["ours"], times[name], strict=True)), 2) for name in ("flash", "cudnn")}
    return {
        "measured_time_ms": round(statistics.median(times["ours"]), 4),
        "measured_tflop_s": rates["ours"],
        "measured_flash_tflop_s": rates["flash"],
        "measured_cudnn_tflop_s": rates["cudnn"],
        "measured_of_flash": ratios["flash"],
        "measured_of_cudnn": ratios["cudnn"],
        "measured_error": error(results["ours"], q, k, v, causal=causal),
    }


def ours(q: Any, k: Any, v: Any, *, causal: bool, poison: bool = True) -> Callable[[], Any]:
    """Give the launch of the kernel above; the first one writes over poison."""
    torch: Any = importlib.import_module("torch")
    descriptor: Any = importlib.import_module("triton.tools.tensor_descriptor").TensorDescriptor
    flash = _cached_kernel()
    batch, heads, length, head = q.shape
    rows, keys, warps, stages, registers, together = TILES[head, causal]
    out = torch.full_like(q, float("nan")) if poison else torch.empty_like(q)
    shape, strides = [batch * heads, length, head], [length * head, head, 1]
    tiles = [descriptor(tensor, shape, strides, [1, size, head]) for tensor, size in ((q, rows), (k, keys), (v, keys), (out, rows))]
    programs = -(-length // rows) * batch * heads
    options = {"num_warps": warps, "num_stages": stages} | ({"maxnreg": registers} if registers else {})
    together = together if batch * heads % together == 0 else 1

    def run() -> Any:
        flash[(programs,)](*tiles, LOG2_E / head**0.5, length, head, rows, keys, causal, together, **options)
        return out

    return run


_KERNELS: list[Any] = []


def _cached_kernel() -> Any:
    if not _KERNELS:
        _KERNELS.append(kernel())
    return _KERNELS[0]


def library(backend: str, q: Any, k: Any, v: Any, *, causal: bool) -> Callable[[], Any]:
    """Give PyTorch's attention by one backend, "flash" or "cudnn"."""
    torch: Any = importlib.import_module("torch")
    nn: Any = importlib.import_module("torch.nn.attention")
    which = {"flash": nn.SDPBackend.FLASH_ATTENTION, "cudnn": nn.SDPBackend.CUDNN_ATTENTION}[backend]

    def run() -> Any:
        with nn.sdpa_kernel(which):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return run


def time_ms(run: Callable[[], Any], launches: int = LAUNCHES) -> float:
    """Give the milliseconds of one launch, of several in a row."""
    torch: Any = importlib.import_module("torch")
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    for _ in range(launches):
        run()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / launches


def error(out: Any, q: Any, k: Any, v: Any, *, causal: bool) -> float:
    """Give the error of the first and the last head against FP64, relative in the Frobenius norm."""
    torch: Any = importlib.import_module("torch")
    wrong = right = 0.0
    for place in ((0, 0), (-1, -1)):
        scores = q[place].double() @ k[place].double().t() / q.shape[-1] ** 0.5
        if causal:
            scores.masked_fill_(torch.ones(scores.shape, dtype=torch.bool, device="cuda").triu_(1), float("-inf"))
        exact = torch.softmax(scores, -1) @ v[place].double()
        del scores
        wrong += float((out[place].double() - exact).square().sum())
        right += float(exact.square().sum())
    return float(f"{(wrong / right) ** 0.5:.3g}")


def odd(length: int) -> dict[str, Any]:
    """Give the errors at a length that is no multiple of a tile, of both head sizes, with and without a mask."""
    row: dict[str, Any] = {"odd_length": length}
    theirs = 0.0
    for head in HEADS:
        for causal in (False, True):
            q, k, v = draw(2, 4, length, head)
            found = error(ours(q, k, v, causal=causal)(), q, k, v, causal=causal)
            row[f"measured_error_{head}{'_causal' if causal else ''}_1e4"] = round(1e4 * found, 2)
            theirs = max(theirs, error(library("flash", q, k, v, causal=causal)(), q, k, v, causal=causal))
    return row | {"measured_error_of_flash_1e4": round(1e4 * theirs, 2)}


def names() -> dict[str, dict[str, Any]]:
    """Name the kernels that run, by the profiler."""
    rows: dict[str, dict[str, Any]] = {}
    for head in HEADS:
        q, k, v = draw(4, WIDTH // head, 1024, head)
        for backend in ("flash", "cudnn"):
            launched = kernel_of(library(backend, q, k, v, causal=False))
            rows[f"name_{backend}_{head}"] = {
                "backend": backend,
                "name_head": head,
                "measured_kernel": short(launched),
                "measured_full_name": launched[:300],
            }
    return rows


def kernel_of(run: Callable[[], Any]) -> str:
    """Name the longest kernel of a run, by the profiler."""
    torch: Any = importlib.import_module("torch")
    run()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run()
        torch.cuda.synchronize()
    return str(max(profile.events(), key=lambda event: event.device_time_total).name)


def short(name: str) -> str:
    """Give a kernel's name without its parameters, but with the sizes among them."""
    sizes = re.search(r"traits<([\d, ]+)", name)
    return re.sub(r"[<(].*|_knob.*", "", name.removeprefix("void ")) + (f"<{sizes[1].strip(' ,')}>" if sizes else "")


if __name__ == "__main__":
    main()
