"""Draw host and GPU while a chain of kernels is launched, as calls and as a graph, and the time per kernel over a kernel's length."""

import json
from collections.abc import Iterator
from itertools import pairwise
from math import log10
from pathlib import Path
from typing import Any

from launches import H200, KERNELS, Costs, graph_us, host_bound_below_us, stream_us

RECORD = Path(__file__).with_name("launches.h200.json")
WIDTH, HEIGHT = 720, 500
LEFT, RIGHT = 92, 700
ROWS = {"stream": 34, "graph": 104}  # the top of each pair of rows
PLOT_TOP, PLOT_BOTTOM = 212, 452
SHORTEST, LONGEST, LEAST, MOST = 0.5, 100.0, 0.7, 130.0  # microseconds: across, and up
INK, MUTED, LINE = "var(--figure-ink, #222222)", "var(--figure-muted, #666666)", "var(--figure-line, #cccccc)"
DASHES = ' stroke-dasharray="9 4"'  # the model's curve for graphs
SERIES = {"stream": ("var(--figure-a, #7aa6d8)", "M-6 -6h12v12h-12z"), "graph": ("var(--figure-c, #e0b060)", "M0 -8l8 8l-8 8l-8 -8z")}


def main() -> None:
    """Print the figure."""
    rows: dict[str, dict[str, Any]] = json.loads(RECORD.read_text("utf-8"))["rows"] if RECORD.is_file() else {}
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="launches-caption" data-search-exclude '
        'font-family="var(--figure-font, monospace)" font-size="13">'
    )
    print("\n".join([*traces(rows), *axes(), *curves(rows), *marks(rows)]))
    print("</svg>")


def traces(rows: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Draw when the host called and when kernels ran, both ways on one scale."""
    found = {name: rows[f"trace_{name}"] for name in ROWS if f"trace_{name}" in rows}
    last = max((row["measured_kernels"][-1][1] for row in found.values()), default=1.0)
    scale = (RIGHT - LEFT) / last
    for name, top in ROWS.items():
        yield text(8, top - 8, name)
        yield text(LEFT - 8, top + 13, "host", "end", MUTED)
        yield text(LEFT - 8, top + 37, "GPU", "end", MUTED)
        yield f'<path d="M{LEFT} {top + 18}H{RIGHT}M{LEFT} {top + 42}H{RIGHT}" stroke="{LINE}"/>'
        if name not in found:
            continue
        calls, fill = found[name]["measured_calls"], SERIES[name][0]
        for bars, y in ((list(pairwise(calls)), top), (found[name]["measured_kernels"], top + 24)):
            path = "".join(f"M{LEFT + begin * scale:.1f} {y}h{(end - begin) * scale:.1f}v18h-{(end - begin) * scale:.1f}z" for begin, end in bars)
            yield f'<path d="{path}" fill="{fill}" stroke="{INK}" stroke-width="0.8"/>'
    step = next(step for step in (5, 10, 20, 50, 100) if last / step <= 8)
    for number in range(int(last / step) + 1):
        yield text(LEFT + number * step * scale, 164, f"{number * step}", "middle", MUTED)
    yield text(RIGHT, 180, "us", "end", MUTED)


def across(kernel_us: float) -> float:
    """Place a kernel's length, on a logarithmic scale."""
    return LEFT + (RIGHT - LEFT) * log10(kernel_us / SHORTEST) / log10(LONGEST / SHORTEST)


def up(us: float) -> float:
    """Place a time per kernel, on a logarithmic scale."""
    return PLOT_BOTTOM - (PLOT_BOTTOM - PLOT_TOP) * log10(us / LEAST) / log10(MOST / LEAST)


def axes() -> Iterator[str]:
    """Draw the grid with its numbers."""
    for us in (1, 2, 5, 10, 20, 50, 100):
        yield f'<path d="M{LEFT} {up(us):.1f}H{RIGHT}M{across(us):.1f} {PLOT_TOP}V{PLOT_BOTTOM}" stroke="{LINE}"/>'
        yield text(LEFT - 8, round(up(us)) + 4, str(us), "end", MUTED)
        yield text(across(us), PLOT_BOTTOM + 18, str(us), "middle", MUTED)
    yield text(8, PLOT_TOP - 8, "us / kernel", colour=MUTED)
    yield text(RIGHT, PLOT_BOTTOM + 38, "kernel_us", "end", MUTED)


def curves(rows: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Draw the model's two curves, and the kernel alone, dashed."""
    measured = rows.get("costs")
    costs = Costs(*(measured[f"measured_{key}"] for key in Costs._fields)) if measured else H200
    bend = max(SHORTEST, host_bound_below_us(costs))
    lengths = sorted([bend, *(SHORTEST * (LONGEST / SHORTEST) ** (step / 20) for step in range(21))])
    for name, model in (("stream", stream_us), ("graph", graph_us)):
        points = " ".join(f"{across(length):.1f},{up(model(KERNELS, length, costs) / KERNELS):.1f}" for length in lengths)
        yield f'<polyline points="{points}" fill="none" stroke="{INK}" stroke-width="1.6"{"" if name == "stream" else DASHES}/>'
    yield f'<path d="M{across(LEAST):.1f} {up(LEAST):.1f}L{RIGHT} {up(LONGEST):.1f}" stroke="{MUTED}" stroke-dasharray="2 5" fill="none"/>'


def marks(rows: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Draw the measured points and name the marks."""
    for number, name in enumerate(SERIES):
        yield mark(name, LEFT + 26 + 110 * number, PLOT_TOP + 16)
        yield text(LEFT + 40 + 110 * number, PLOT_TOP + 21, name)
    for row in rows.values():
        if "measured_speed_up" in row and row["kernels"] == KERNELS and row["kernel_us"] >= SHORTEST:
            for name in SERIES:
                yield mark(name, across(row["kernel_us"]), up(row[f"measured_{name}_us"] / KERNELS))


def mark(name: str, x: float, y: float) -> str:
    """Draw the mark of a series around a point."""
    fill, outline = SERIES[name]
    return f'<path d="{outline}" transform="translate({x:.1f} {y:.1f})" fill="{fill}" stroke="{INK}" stroke-width="1.1"/>'


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = INK) -> str:
    """Write one line of text."""
    size = 12 if colour == MUTED else 13
    return f'<text x="{x:.1f}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


if __name__ == "__main__":
    main()
