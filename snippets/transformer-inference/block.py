"""Compute a Transformer layer's shapes, operations and bytes for published models, and the time that no kernel beats on an H200.

Standard Python, no GPU. Change the parameters and run it again.
"""

from typing import NamedTuple

# --8<-- [start:model]
MODEL = "Llama 3.1 8B"  # "OPT 13B" | "Llama 3.1 8B" | "Llama 3.1 70B" | "Llama 3.1 405B"
BATCH = 1  # 1..1024: sequences
NEW = 1  # 1..8192: new tokens of each, 1 in decode
PAST = 2048  # 0..32768 by 1024: tokens that the KV cache holds already, of each


class Model(NamedTuple):
    """A published configuration; matrices counts the FFN's: 2, or 3 with a gate (SwiGLU)."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head: int
    inner: int
    matrices: int


MODELS = {
    "OPT 13B": Model(40, 5120, 40, 40, 128, 20480, 2),  # MHA: each query head has its own K and V
    "Llama 3.1 8B": Model(32, 4096, 32, 8, 128, 14336, 3),  # GQA: 4 query heads share a K and a V
    "Llama 3.1 70B": Model(80, 8192, 64, 8, 128, 28672, 3),
    "Llama 3.1 405B": Model(126, 16384, 128, 8, 128, 53248, 3),
}
PEAK_TFLOP_S, BANDWIDTH_TB_S = 989.4, 4.8  # H200: FP16 dense, HBM; as NVIDIA states
BYTES = 2  # of an element, FP16


class Part(NamedTuple):
    """One operation of a layer: its weights' shape, operations, and the bytes that memory moves at least, each once."""

    shape: tuple[int, int]
    flop: int
    moved_bytes: int

    def floor_us(self) -> float:
        """Give the microseconds that neither arithmetic at the peak nor memory at full bandwidth can beat."""
        return max(self.flop / PEAK_TFLOP_S, self.moved_bytes / BANDWIDTH_TB_S) / 1e6


def product(rows: int, width: int, out: int) -> Part:
    """Multiply rows by a weight matrix: 2 operations a weight and row; read the rows and the weights, write the result."""
    return Part((width, out), 2 * rows * width * out, BYTES * (rows * width + width * out + rows * out))


def layer(model: Model, batch: int, new: int, past: int) -> dict[str, Part]:
    """Give the parts of one layer when each of batch sequences adds new tokens to past ones; attention in one kernel, causal."""
    rows, queries, kv = batch * new, model.heads * model.head, model.kv_heads * model.head
    pairs = new * past + new * (new + 1) // 2  # a token sees those before it and itself
    attention = 4 * batch * model.heads * pairs * model.head  # QK and PV, 2 operations each
    attention_bytes = BYTES * (2 * rows * queries + 2 * batch * (past + new) * kv)  # Q and the result; K and V
    return {
        "qkv": product(rows, model.width, queries + 2 * kv),
        "attention": Part((model.heads, model.kv_heads), attention, attention_bytes),
        "out": product(rows, queries, model.width),
        "up": product(rows, model.width, (model.matrices - 1) * model.inner),
        "down": product(rows, model.inner, model.width),
    }


def whole(parts: dict[str, Part]) -> tuple[int, int, float]:
    """Give a layer's operations, bytes and the microseconds of its floor, part by part."""
    return sum(p.flop for p in parts.values()), sum(p.moved_bytes for p in parts.values()), sum(p.floor_us() for p in parts.values())


def kv_bytes_a_token(model: Model) -> int:
    """Give what one token costs in the KV cache, all layers: a K and a V for each KV head."""
    return 2 * model.layers * model.kv_heads * model.head * BYTES


# --8<-- [end:model]


def weights(model: Model) -> int:
    """Count the weights of a layer's matrices."""
    return sum(part.shape[0] * part.shape[1] for name, part in layer(model, 1, 1, 0).items() if name != "attention")


def limit(part: Part) -> str:
    """Tell which roof is the lower one."""
    return "arithmetic" if part.flop / PEAK_TFLOP_S > part.moved_bytes / BANDWIDTH_TB_S else "memory"


def main() -> None:
    """Print the models, the parts of one layer, and how the floor moves from decode to prefill."""
    print(f"{'model':<16}{'layers':>7}{'heads':>7}{'KV':>5}{'weights/layer':>15}{'KV cache/token':>16}")
    for name, model in MODELS.items():
        cache = f"{kv_bytes_a_token(model) // 1024:,} KiB"
        print(f"{name:<16}{model.layers:>7}{model.heads:>7}{model.kv_heads:>5}{weights(model) / 1e6:>13.1f} M{cache:>16}")
    model = MODELS[MODEL]
    print(f"\n{MODEL}, one layer, batch {BATCH}, {NEW} new after {PAST}")
    print(f"{'part':<11}{'weights':>15}{'MFLOP':>10}{'MB':>8}{'FLOP/byte':>11}{'floor (us)':>12}  limit")
    for name, part in layer(model, BATCH, NEW, PAST).items():
        shape = "-" if name == "attention" else f"{part.shape[0]} x {part.shape[1]}"
        numbers = f"{part.flop / 1e6:>10.4g}{part.moved_bytes / 1e6:>8.3g}{part.flop / part.moved_bytes:>11.3g}{part.floor_us():>12.3g}"
        print(f"{name:<11}{shape:>15}{numbers}  {limit(part)}")
    print(f"\n{'batch':>5}{'new':>6}{'past':>6}{'FLOP/byte':>11}{'us/layer':>10}{'us/token':>10}")
    for batch, new, past in ((1, 1, 2048), (16, 1, 2048), (256, 1, 2048), (1, 512, 0), (1, 2048, 0), (1, 8192, 0)):
        flop, moved, floor = whole(layer(model, batch, new, past))
        print(f"{batch:>5}{new:>6}{past:>6}{flop / moved:>11.4g}{floor:>10.4g}{floor / batch / new:>10.3g}")


if __name__ == "__main__":
    main()
