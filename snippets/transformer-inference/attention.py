"""Compute attention with an online softmax, block by block, beside the plain way; count what each way keeps and moves.

Standard Python, no GPU. Change the parameters and run it again.
"""

import random
from math import ceil, exp, inf, sqrt

# --8<-- [start:model]
KEYS = 256  # 1..1024: keys of a row
HEAD = 64  # 16..256 by 16: elements of a head
BLOCK = 32  # 1..256: keys that are looked at together
CAUSAL_ROW = 200  # 0..255: with a causal mask this row sees the keys up to itself

Row = list[float]


def dot(a: Row, b: Row) -> float:
    """Add up the products of two rows."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def plain(q: Row, keys: list[Row], values: list[Row]) -> Row:
    """Give one row of softmax(QK/sqrt(d))V: all scores first, then their largest, then the sum, then the result."""
    scores = [dot(q, k) / sqrt(len(q)) for k in keys]
    top = max(scores)
    weights = [exp(score - top) for score in scores]
    total = sum(weights)
    return [sum(w * v[i] for w, v in zip(weights, values, strict=True)) / total for i in range(len(q))]


def online(q: Row, keys: list[Row], values: list[Row], block: int) -> Row:
    """Give the same row in one pass over blocks of keys; of what was seen stay the largest score, the sum and the result so far."""
    top, total, out = -inf, 0.0, [0.0] * len(q)
    for start in range(0, len(keys), block):
        scores = [dot(q, k) / sqrt(len(q)) for k in keys[start : start + block]]
        new_top = max(top, *scores)
        shrink = exp(top - new_top)  # all that was summed so far was relative to the old largest score
        weights = [exp(score - new_top) for score in scores]
        total = total * shrink + sum(weights)
        out = [old * shrink + sum(w * v[i] for w, v in zip(weights, values[start : start + block], strict=True)) for i, old in enumerate(out)]
        top = new_top
    return [x / total for x in out]


# --8<-- [end:model]
# --8<-- [start:count]
TILE_ROWS = 128  # queries of a block of threads; each such tile reads all of K and V


def flop(batch: int, heads: int, length: int, head: int, *, causal: bool) -> int:
    """Count both products: 2 operations a pair and element each; with a causal mask half of it, as FlashAttention counts."""
    return 4 * batch * heads * length * length * head // (2 if causal else 1)


def kept_bytes(way: str, batch: int, heads: int, length: int, head: int) -> int:
    """Give the memory beyond Q, K and V: the result, and for "naive" the scores and the weights, all in FP16."""
    result = 2 * batch * heads * length * head
    return result + (4 * batch * heads * length * length if way == "naive" else 0)


def moved_bytes(way: str, batch: int, heads: int, length: int, head: int) -> int:
    """Give the bytes between kernels and memory: "naive" writes and reads scores and weights; else K and V, again for each tile of rows.

    All reads of K and V but the first may come from the L2.
    """
    tensor, square = 2 * batch * heads * length * head, 2 * batch * heads * length * length
    if way == "naive":
        return 4 * tensor + 4 * square
    return 2 * tensor + 2 * tensor * ceil(length / TILE_ROWS)


TENSOR_FLOP_A_CLOCK, EXP_A_CLOCK = 4096, 16  # of an SM of compute capability 9.0: FP16 on Tensor Cores; exp2


def share_without_overlap(head: int) -> float:
    """Give the share of the Tensor Cores' peak that is left when they wait while the scores' exponentials are computed."""
    products, exponential = 4 * head / TENSOR_FLOP_A_CLOCK, 1 / EXP_A_CLOCK  # clocks a score
    return products / (products + exponential)


# --8<-- [end:count]


def main() -> None:
    """Print the error of the online softmax by block size, and both ways' memory and traffic by length."""
    numbers = random.Random(10)  # noqa: S311 - test data, no secret
    q = [numbers.gauss(0, 1) for _ in range(HEAD)]
    keys, values = ([[numbers.gauss(0, 1) for _ in range(HEAD)] for _ in range(KEYS)] for _ in range(2))
    print(f"{KEYS} keys, head size {HEAD}: largest difference from the plain way")
    for block in sorted({1, BLOCK, KEYS}):
        worst = max(abs(a - b) for a, b in zip(plain(q, keys, values), online(q, keys, values, block), strict=True))
        print(f"  blocks of {block:>4}: {'below 1e-12' if worst < 1e-12 else f'{worst:.1e}'}")
    seen = min(CAUSAL_ROW + 1, KEYS)
    masked = online(q, keys[:seen], values[:seen], BLOCK)
    worst = max(abs(a - b) for a, b in zip(plain(q, keys[:seen], values[:seen]), masked, strict=True))
    print(f"  causal, row {CAUSAL_ROW}: {'below 1e-12' if worst < 1e-12 else f'{worst:.1e}'}")
    shares = "; ".join(f"head size {head}: {100 * share_without_overlap(head):.0f}% of the peak" for head in (64, 128, 256))
    print(f"\nTensor Cores wait for exp: {shares}")
    print(f"\n1 sequence, 8 heads of 64, FP16; MiB\n{'length':>6}{'GFLOP':>8}{'naive: kept':>14}{'moved':>10}{'online: kept':>15}{'moved':>10}")
    for length in (1024, 4096, 16384):
        sizes = [f"{count(way, 1, 8, length, 64) / 2**20:,.0f}" for way in ("naive", "online") for count in (kept_bytes, moved_bytes)]
        print(f"{length:>6}{flop(1, 8, length, 64, causal=False) / 1e9:>8.1f}{sizes[0]:>14}{sizes[1]:>10}{sizes[2]:>15}{sizes[3]:>10}")


if __name__ == "__main__":
    main()
