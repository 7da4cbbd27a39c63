"""Draw the measured latencies as a ladder: cycles on a logarithmic axis, one bar a level."""

import json
from math import log10
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("latency.h200.json")
LEFT, WIDTH, TOP, ROW, DECADES = 96, 560, 14, 30, 3
FILLS = {"register": "d", "shared": "b", "L1": "a", "L2": "a", "DRAM": "paper"}


def main() -> None:
    """Print the figure."""
    rows: dict[str, Any] = json.loads(RECORD.read_text("utf-8"))["rows"] if RECORD.is_file() else {}
    steps = [row for row in rows.values() if "level" in row]
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 196" role="img" aria-labelledby="ladder-caption" data-search-exclude '
    parts = [head + f'font-family="var(--figure-font, monospace)" font-size="13" fill="{colour("ink")}">']
    for decade in range(DECADES + 1):
        x = across(10**decade)
        parts.append(f'<path d="M{x:g} {TOP}v{ROW * len(FILLS) + 4}" stroke="{colour("line")}"/>')
        parts.append(f'<text x="{x:g}" y="{TOP + ROW * len(FILLS) + 22}" text-anchor="middle" fill="{colour("muted")}">{10**decade}</text>')
    for number, row in enumerate(steps):
        y, end = TOP + ROW * number + 4, across(row["measured_latency_cycles"])
        parts.append(f'<text x="{LEFT - 12}" y="{y + 16}" text-anchor="end">{row["level"]}</text>')
        parts.append(
            f'<rect x="{LEFT}" y="{y}" width="{end - LEFT:.1f}" height="22" fill="{colour(FILLS[row["level"]])}" stroke="{colour("line")}"/>'
        )
        parts.append(f'<text x="{end + 8:.1f}" y="{y + 16}">{row["measured_latency_cycles"]:.0f}</text>')
    print("\n".join([*parts, "</svg>"]))


def across(cycles: float) -> float:
    """Place a number of cycles on the axis."""
    return LEFT + WIDTH * log10(cycles) / DECADES


def colour(name: str) -> str:
    """Give a colour of the site's theme, with what stands in for it elsewhere."""
    elsewhere = {"ink": "#222", "muted": "#666", "line": "#bbb", "paper": "#fff", "a": "#a9c8ec", "b": "#f2c48e", "d": "#d3c3ee"}
    return f"var(--figure-{name}, {elsewhere[name]})"


if __name__ == "__main__":
    main()
