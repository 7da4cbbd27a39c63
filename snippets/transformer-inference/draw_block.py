"""Draw one layer of Llama 3.1 8B: its operations with the shapes of their weights, and what a token costs in each."""

from collections.abc import Iterator
from html import escape

from block import BYTES, MODELS, Part, layer

MODEL = "Llama 3.1 8B"
PAST = 2048
WIDTH, ROW, TOP = 720, 44, 40
LEFT, BOX = 60, 300  # of the boxes: from the left, and their width
FLOP_AT, BYTES_AT = 500, 700  # the columns' right ends
INK, MUTED, LINE = "var(--figure-ink, #222222)", "var(--figure-muted, #666666)", "var(--figure-line, #cccccc)"
COLOURS = {"norm": "var(--figure-d, #b49ad6)", "product": "var(--figure-a, #7aa6d8)", "attention": "var(--figure-b, #8cc28c)", "add": "none"}


def main() -> None:
    """Print the figure."""
    model = MODELS[MODEL]
    parts = layer(model, 1, 1, PAST)
    qkv = f"{model.heads} Q + {model.kv_heads} K + {model.kv_heads} V"
    rows: list[tuple[str, str, Part | None]] = [
        ("norm", "RMSNorm", None),
        ("product", f"qkv   {shape(parts['qkv'])}", parts["qkv"]),
        ("attention", f"attention   {qkv}", parts["attention"]),
        ("product", f"out   {shape(parts['out'])}", parts["out"]),
        ("add", "+", None),
        ("norm", "RMSNorm", None),
        ("product", f"gate, up   {shape(parts['up'])}", parts["up"]),
        ("norm", f"SiLU(gate) × up   {model.inner}", None),
        ("product", f"down   {shape(parts['down'])}", parts["down"]),
        ("add", "+", None),
    ]
    height = TOP + ROW * len(rows) + 34
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="block-caption" '
        'font-family="var(--figure-font, monospace)" data-search-exclude>'
    )
    print(text(LEFT + BOX / 2, 18, f"x   {model.width}", "middle"))
    print(text(FLOP_AT, 18, "MFLOP", "end", MUTED))
    print(text(BYTES_AT, 18, "MB", "end", MUTED))
    for number, (kind, words, part) in enumerate(rows):
        print("\n".join(operation(TOP + ROW * number, kind, words, part)))
    # Each + adds what came in before the norm.
    for number, end in ((0, 4), (5, 9)):
        print(f'<path d="{bypass(TOP + ROW * number - 8, TOP + ROW * end + 14)}" fill="none" stroke="{INK}" stroke-width="1.5"/>')
    bottom = TOP + ROW * len(rows)
    print(f'<path d="M{LEFT + BOX / 2:g} {bottom - 16}v16" stroke="{INK}" stroke-width="1.5"/>')
    print(text(LEFT + BOX / 2, bottom + 18, f"x   {model.width}   × {model.layers}", "middle"))
    print("</svg>")


def shape(part: Part) -> str:
    """Write the shape of a part's weights."""
    return f"{part.shape[0]} × {part.shape[1]}"


def operation(y: int, kind: str, words: str, part: Part | None) -> Iterator[str]:
    """Draw one operation, the line that leads to it, and its numbers."""
    middle = LEFT + BOX / 2
    yield f'<path d="M{middle:g} {y - 16}v16" stroke="{INK}" stroke-width="1.5"/>'
    if kind == "add":
        yield f'<circle cx="{middle:g}" cy="{y + 14}" r="13" fill="none" stroke="{INK}" stroke-width="1.5"/>'
    else:
        yield f'<rect x="{LEFT}" y="{y}" width="{BOX}" height="28" rx="4" fill="{COLOURS[kind]}" stroke="{LINE}"/>'
    yield text(middle, y + 19, words, "middle")
    if part:
        yield text(FLOP_AT, y + 19, f"{part.flop / 1e6:.1f}", "end")
        yield text(BYTES_AT, y + 19, f"{part.moved_bytes / 1e6:.1f}", "end")
        # A bar to scale: the bytes, of which nearly all are weights or the cache.
        yield f'<rect x="{FLOP_AT + 20}" y="{y + 8}" width="{part.moved_bytes / 1e6 / 2:.1f}" height="12" fill="var(--figure-c, #e0b060)"/>'


def bypass(top: int, end: int) -> str:
    """Give the path of a residual around the boxes, to the left side of its +."""
    middle = LEFT + BOX // 2
    return f"M{middle} {top}H{LEFT - 24}V{end}H{middle - 13}"


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = INK) -> str:
    """Write one line of text."""
    return f'<text x="{x:g}" y="{y:g}" font-size="14" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


if __name__ == "__main__":
    assert BYTES == 2, "the figure is of FP16"
    main()
