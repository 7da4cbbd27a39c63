"""Draw the bandwidth of a copy over the bytes of loads in flight: the model's two curves, and what the H200 reached."""

import json
from collections.abc import Iterator
from html import escape
from math import log2
from pathlib import Path
from typing import Any

from bandwidth import LATENCY_NS, PEAK_GB_S, SMS, bound_gb_s, estimate_gb_s

RECORD = Path(__file__).with_name("bandwidth.h200.json")
WIDTH, HEIGHT = 720, 430
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 88, 56
FIRST, LAST, HIGHEST = 0.5, 256, 5000  # KiB an SM, KiB an SM, GB/s
INK, MUTED = "var(--figure-ink, #222222)", "var(--figure-muted, #666666)"
SERIES = {
    # copy: colour, its fallback, the outline of its mark around its centre
    "float": ("--figure-a", "#7aa6d8", "M-6 -6h12v12h-12z"),
    "float2": ("--figure-b", "#8cc28c", "M0 -8l8 8l-8 8l-8 -8z"),
    "float4": ("--figure-c", "#e0b060", "M-7 0a7 7 0 1 0 14 0a7 7 0 1 0 -14 0z"),
    "float x 4": ("--figure-d", "#b49ad6", "M0 -8l8 14h-16z"),
    "float4 x 4": ("--figure-hot", "#e08a7a", "M0 8l8 -14h-16z"),
}


def main() -> None:
    """Print the figure."""
    rows: list[dict[str, Any]] = [row for row in json.loads(RECORD.read_text("utf-8"))["rows"].values() if "copy" in row] if RECORD.is_file() else []
    latency_ns, peak_gb_s = (rows[0]["latency_ns"], rows[0]["peak_gb_s"]) if rows else (LATENCY_NS, PEAK_GB_S)
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="bandwidth-caption" '
        'font-family="var(--figure-font, monospace)" data-search-exclude>'
    )
    print("\n".join([*axes(), *curves(latency_ns, peak_gb_s), *legend()]))
    for row in rows:
        print(mark(row["copy"], across(row["predicted_in_flight_bytes_an_sm"] / 1024), up(row["measured_bandwidth_gb_s"])))
    print("</svg>")


def across(kib_an_sm: float) -> float:
    """Place a number of KiB on the horizontal axis, which is logarithmic."""
    return LEFT + (WIDTH - LEFT - RIGHT) * log2(kib_an_sm / FIRST) / log2(LAST / FIRST)


def up(gb_s: float) -> float:
    """Place a bandwidth on the vertical axis."""
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * gb_s / HIGHEST


def axes() -> Iterator[str]:
    """Draw the grid with its numbers."""
    for gb_s in range(0, HIGHEST + 1, 1000):
        yield f'<path d="M{LEFT} {up(gb_s):.1f}H{WIDTH - RIGHT}" stroke="var(--figure-line, #cccccc)" stroke-width="1"/>'
        yield text(LEFT - 8, up(gb_s) + 4, str(gb_s), "end", MUTED)
    for power in range(round(log2(LAST / FIRST)) + 1):
        kib = FIRST * 2**power
        yield f'<path d="M{across(kib):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="var(--figure-line, #cccccc)" stroke-width="1"/>'
        yield text(across(kib), HEIGHT - BOTTOM + 18, f"{kib:g}", "middle", MUTED)
    yield text(LEFT - 56, TOP - 12, "GB/s", colour=MUTED)
    yield text(WIDTH - RIGHT, HEIGHT - 12, "KiB / SM", "end", MUTED)


def curves(latency_ns: float, peak_gb_s: float) -> Iterator[str]:
    """Draw the bound, dashed, and the estimate."""
    for model, dash in ((bound_gb_s, ' stroke-dasharray="7 5"'), (estimate_gb_s, "")):
        steps = [FIRST * 2 ** (step / 8) for step in range(round(8 * log2(LAST / FIRST)) + 1)]
        if model is bound_gb_s:
            # The corner, exactly: where bytes per latency reach the peak.
            steps = sorted([*steps, peak_gb_s * latency_ns / 2 / SMS / 1024])
        points = " ".join(f"{across(kib):.1f},{up(model(round(kib * 1024 * SMS), latency_ns, peak_gb_s)):.1f}" for kib in steps)
        yield f'<polyline points="{points}" fill="none" stroke="{INK}" stroke-width="2"{dash}/>'


def legend() -> Iterator[str]:
    """Name the marks and the curves."""
    for number, copy in enumerate(SERIES):
        x = LEFT + 8 + 132 * number
        yield mark(copy, x, 18)
        yield text(x + 14, 23, copy)
    for number, (formula, dash) in enumerate((("min(peak, 2*B/latency)", ' stroke-dasharray="7 5"'), ("2*B/(latency + 2*B/peak)", ""))):
        x = LEFT + 330 * number
        yield f'<path d="M{x} 48h40" stroke="{INK}" stroke-width="2"{dash}/>'
        yield text(x + 48, 53, formula)


def mark(copy: str, x: float, y: float) -> str:
    """Draw the mark of one copy around a point."""
    colour, fallback, outline = SERIES[copy]
    return (
        f'<path d="{outline}" transform="translate({x:.1f} {y:.1f})" fill="var({colour}, {fallback})" '
        'stroke="var(--figure-ink, #222222)" stroke-width="1.2"/>'
    )


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = INK) -> str:
    """Write one line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="14" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


if __name__ == "__main__":
    main()
