"""Draw the roofline of an H200 with the parts of a Llama 3.1 8B layer on it: where decode and prefill stand, and what was measured."""

import json
from collections.abc import Iterator
from html import escape
from math import log10
from pathlib import Path
from typing import Any

from block import BANDWIDTH_TB_S, MODELS, PEAK_TFLOP_S, layer, whole

RECORD = Path(__file__).with_name("layer.h200.json")
PHASES = {  # shown: sequences, new tokens, tokens in the cache; the colour of the mark
    "decode_1": (1, 1, 2048, "--figure-a", "#7aa6d8"), "decode_16": (16, 1, 2048, "--figure-b", "#8cc28c"),
    "decode_256": (256, 1, 2048, "--figure-c", "#e0b060"), "prefill_512": (1, 512, 0, "--figure-d", "#b49ad6"),
    "prefill_2048": (1, 2048, 0, "--figure-hot", "#e08a7a"),
}  # fmt: skip
WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 24, 50
FIRST, LAST, LOWEST, HIGHEST = 0.5, 5000.0, 1.0, 2000.0  # FLOP/byte, TFLOP/s
INK, MUTED, LINE = "var(--figure-ink, #222222)", "var(--figure-muted, #666666)", "var(--figure-line, #cccccc)"


def main() -> None:
    """Print the figure."""
    rows: dict[str, dict[str, Any]] = json.loads(RECORD.read_text("utf-8"))["rows"] if RECORD.is_file() else {}
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="roofline-caption" '
        'font-family="var(--figure-font, monospace)" data-search-exclude>'
    )
    print("\n".join(axes()))
    ridge = PEAK_TFLOP_S / BANDWIDTH_TB_S
    points = " ".join(f"{across(x):.1f},{up(min(PEAK_TFLOP_S, x * BANDWIDTH_TB_S)):.1f}" for x in (FIRST, ridge, LAST))
    print(f'<polyline points="{points}" fill="none" stroke="{INK}" stroke-width="2"/>')
    print(text(across(ridge) + 6, up(PEAK_TFLOP_S) - 8, f"{PEAK_TFLOP_S} TFLOP/s"))
    print(text(across(1.3), up(20), f"{BANDWIDTH_TB_S} TB/s", "middle"))
    print(text(across(ridge), HEIGHT - BOTTOM - 8, f"{ridge:.0f}", "end", MUTED))
    print(f'<path d="M{across(ridge):.1f} {up(PEAK_TFLOP_S):.1f}V{HEIGHT - BOTTOM}" stroke="{LINE}" stroke-dasharray="4 4"/>')
    for place, (phase, (batch, new, past, colour, fallback)) in enumerate(PHASES.items()):
        parts = layer(MODELS["Llama 3.1 8B"], batch, new, past)
        flop, moved, floor = whole(parts)
        fill = f"var({colour}, {fallback})"
        x = across(flop / moved)
        print(f'<circle cx="{x:.1f}" cy="{up(flop / floor / 1e6):.1f}" r="7" fill="none" stroke="{INK}" stroke-width="1.2"/>')
        if phase in rows:
            print(mark(x, up(flop / rows[phase]["measured_parts_us"] / 1e6), fill))
        if f"{phase}_attention" in rows:
            part = parts["attention"]
            print(square(across(part.flop / part.moved_bytes), up(part.flop / rows[f"{phase}_attention"]["measured_us"] / 1e6), fill))
        print(mark(WIDTH - 164, HEIGHT - 190 + 22 * place, fill))
        print(text(WIDTH - 150, HEIGHT - 185 + 22 * place, phase))
    print("</svg>")


def across(flop_per_byte: float) -> float:
    """Place an intensity on the horizontal axis, which is logarithmic."""
    return LEFT + (WIDTH - LEFT - RIGHT) * log10(flop_per_byte / FIRST) / log10(LAST / FIRST)


def up(tflop_s: float) -> float:
    """Place a rate on the vertical axis, which is logarithmic."""
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * log10(tflop_s / LOWEST) / log10(HIGHEST / LOWEST)


def axes() -> Iterator[str]:
    """Draw the grid with its numbers."""
    for rate in (1, 10, 100, 1000):
        yield f'<path d="M{LEFT} {up(rate):.1f}H{WIDTH - RIGHT}" stroke="{LINE}"/>'
        yield text(LEFT - 8, up(rate) + 4, str(rate), "end", MUTED)
    for intensity in (1, 10, 100, 1000):
        yield f'<path d="M{across(intensity):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="{LINE}"/>'
        yield text(across(intensity), HEIGHT - BOTTOM + 18, str(intensity), "middle", MUTED)
    yield text(LEFT - 56, TOP - 8, "TFLOP/s", colour=MUTED)
    yield text(WIDTH - RIGHT, HEIGHT - 10, "FLOP / byte", "end", MUTED)


def mark(x: float, y: float, fill: str) -> str:
    """Draw the mark of a whole layer."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{fill}" stroke="{INK}" stroke-width="1.2"/>'


def square(x: float, y: float, fill: str) -> str:
    """Draw the mark of attention alone."""
    return f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" fill="{fill}" stroke="{INK}" stroke-width="1.2"/>'


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = INK) -> str:
    """Write one line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="14" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


if __name__ == "__main__":
    main()
