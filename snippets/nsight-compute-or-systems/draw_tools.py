"""Draw one program three times to one scale: as the model predicts it, on the H200's timeline, and as ncu lists its kernels."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tools

RECORD = Path(__file__).with_name("tools.h200.json")
WIDTH, LEFT, RIGHT = 720, 34, 66
TOP, LANE, TITLE, AXIS = 34, 21, 24, 30
INK, MUTED, LINE = "var(--figure-ink, #222222)", "var(--figure-muted, #666666)", "var(--figure-line, #cccccc)"
FILLS = {
    "copy_in": "var(--figure-a, #7aa6d8)",
    "scale": "var(--figure-d, #b79ad6)",
    "row_filter": "var(--figure-b, #8cc28c)",
    "total": "var(--figure-hot, #e08a7a)",
    "copy_out": "var(--figure-c, #e0b060)",
}

Bar = tuple[str, str, float, float]  # name, lane, start and duration in microseconds


def main() -> None:
    """Print the figure."""
    rows: dict[str, dict[str, Any]] = json.loads(RECORD.read_text("utf-8"))["rows"] if RECORD.is_file() else {}
    panels = {"tools.py": predicted(rows), "H200, torch.profiler": measured(rows), "H200, ncu": listed(rows)}
    last = max(start + us for bars in panels.values() for _, _, start, us in bars)
    lines: list[str] = []
    y = TOP
    for title, bars in panels.items():
        lanes = sorted({bar[1] for bar in bars})
        lines += [text(LEFT - 24, y + 15, title), *panel(y, bars, lanes, last)]
        y += TITLE + LANE * len(lanes) + AXIS
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" role="img" aria-labelledby="tools-caption" data-search-exclude '
        'font-family="var(--figure-font, monospace)" font-size="13">'
    )
    print("\n".join([*legend(), *lines]))
    print("</svg>")


def predicted(rows: dict[str, dict[str, Any]]) -> list[Bar]:
    """Give the model's timeline."""
    row = rows.get("two_streams", {"stages": tools.STAGES, "launch_us": tools.LAUNCH_US})
    calls = tools.pipeline(row["stages"], 2)
    slots = tools.timeline(calls, row["launch_us"])
    return [(call.name, str(call.stream), start, end - start) for call, (start, end) in zip(calls, slots, strict=True)]


def measured(rows: dict[str, dict[str, Any]]) -> list[Bar]:
    """Give the timeline that torch.profiler recorded."""
    return [(name, str(stream), start, us) for name, stream, start, us in rows.get("timeline", {}).get("measured_timeline", [])]


def listed(rows: dict[str, dict[str, Any]]) -> list[Bar]:
    """Give the kernels as ncu lists them, end to end: their mean durations, in the order of submission."""
    bars: list[Bar] = []
    now = 0.0
    for call in tools.pipeline(tools.STAGES, 2):
        if call.name not in tools.COPY_ENGINES:
            us = rows.get(f"kernel_{call.name}", {}).get("measured_ncu_us", call.us)
            bars.append((call.name, "", now, us))
            now += us
    return bars


def panel(top: int, bars: list[Bar], lanes: list[str], last: float) -> Iterator[str]:
    """Draw one timeline: a lane a stream, a bar an operation, microseconds along the bottom."""
    scale = (WIDTH - LEFT - RIGHT) / last
    ends = max((start + us for _, _, start, us in bars), default=0.0)
    bottom = top + TITLE + LANE * len(lanes)
    step = next(step for step in (50, 100, 200, 500, 1000, 2000) if last / step <= 10)
    ticks = range(int(last / step) + 1)
    grid = "".join(f"M{LEFT + tick * step * scale:.1f} {top + TITLE}V{bottom}" for tick in ticks if tick * step <= ends)
    yield f'<path d="{grid}" stroke="{LINE}" fill="none"/>'
    for tick in ticks:
        yield text(LEFT + tick * step * scale, bottom + 14, f"{tick * step}", "middle", MUTED)
    for number, lane in enumerate(lanes):
        yield text(LEFT - 8, top + TITLE + LANE * number + 15, lane, "end", MUTED)
    for name, fill in FILLS.items():
        path = ""
        for other, lane, start, us in bars:
            if other == name:
                width = max(us * scale, 2.0)
                path += f"M{LEFT + start * scale:.1f} {top + TITLE + LANE * lanes.index(lane) + 2}h{width:.1f}v{LANE - 4}h-{width:.1f}z"
        if path:
            yield f'<path d="{path}" fill="{fill}" stroke="{INK}" stroke-width="0.6"/>'
    if bars:
        yield text(LEFT + ends * scale + 6, bottom - 6, f"{ends:.0f} µs")


def legend() -> Iterator[str]:
    """Name the colours."""
    x = LEFT - 24
    for name, fill in FILLS.items():
        yield f'<rect x="{x}" y="6" width="14" height="14" fill="{fill}" stroke="{INK}" stroke-width="0.6"/>'
        yield text(x + 20, 18, name)
        x += 20 + 8 * len(name) + 34


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = INK) -> str:
    """Write one line of text."""
    size = 12 if colour == MUTED else 13
    return f'<text x="{x:.1f}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


if __name__ == "__main__":
    main()
