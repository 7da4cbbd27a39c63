"""Draw five programs as timelines: on the left what the model predicts, on the right what the H200 did."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from timeline import Chunk, Operation, copies_out_last, pipeline, simulate

RECORD = Path(__file__).with_name("timeline.h200.json")
PROGRAMS = ("one_stream", "three_streams", "legacy", "pageable", "pageable_out_last")
WIDTH, LEFT, HALF, MIDDLE = 720, 26, 306, 64  # a timeline's place and width, and how far the two stand apart
TOP, LANE, TITLE, AXIS = 56, 19, 24, 28
INK, MUTED, LINE = "var(--figure-ink, #222222)", "var(--figure-muted, #666666)", "var(--figure-line, #cccccc)"
FILLS = {"H": "var(--figure-a, #7aa6d8)", "K": "var(--figure-b, #8cc28c)", "D": "var(--figure-c, #e0b060)", "0": "var(--figure-hot, #e08a7a)"}

Bar = tuple[str, str, float, float]  # letter, stream, start and duration in milliseconds


def main() -> None:
    """Print the figure."""
    record: dict[str, dict[str, Any]] = json.loads(RECORD.read_text("utf-8"))["rows"] if RECORD.is_file() else {}
    lines: list[str] = []
    y = TOP
    for name in PROGRAMS:
        row = record.get(name, {"h2d_ms": 1.0, "kernel_ms": 1.0, "d2h_ms": 1.0, "kernel_share": 0.125, "submit_ms": 0.005, "chunks": 3})
        predicted = model(name, row)
        measured: list[Bar] = [(letter, stream, start / 1000, ms / 1000) for letter, stream, start, ms in row.get("measured_timeline", [])]
        lanes = sorted({bar[1] for bar in predicted})
        last = max(start + ms for _, _, start, ms in [*predicted, *measured])
        lines += [text(LEFT - 18, y + 14, name), *panel(LEFT, y, predicted, lanes, last), *panel(LEFT + HALF + MIDDLE, y, measured, lanes, last)]
        y += TITLE + LANE * len(lanes) + AXIS
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" role="img" aria-labelledby="timeline-caption" data-search-exclude '
        'font-family="var(--figure-font, monospace)" font-size="13">'
    )
    print("\n".join([*legend(), *lines]))
    print("</svg>")


def model(name: str, row: dict[str, Any]) -> list[Bar]:
    """Give the model's timeline of a row."""
    chunk = Chunk(row["h2d_ms"], row["kernel_ms"], row["d2h_ms"], row["kernel_share"])
    streams, default = (1 if name == "one_stream" else 3), ("legacy" if name == "legacy" else "")
    program: list[Operation] = pipeline(row["chunks"], streams, chunk, pinned="pageable" not in name, default=default)
    if name == "pageable_out_last":
        program = copies_out_last(program)
    slots, _ = simulate(program, row["submit_ms"])
    first = min(start for start, _ in slots)
    return [(operation.name, operation.stream, start - first, end - start) for operation, (start, end) in zip(program, slots, strict=True)]


def panel(left: int, top: int, bars: list[Bar], lanes: list[str], last: float) -> Iterator[str]:
    """Draw one timeline: a lane a stream, a bar an operation, milliseconds along the bottom."""
    ends = max((start + ms for _, _, start, ms in bars), default=0.0)
    yield text(left + HALF, top + 14, f"{ends:.2f} ms" if bars else "", "end", MUTED)
    scale = HALF / last
    bottom = top + TITLE + LANE * len(lanes)
    step = next(step for step in (0.5, 1, 2, 5, 10, 20, 50, 100) if last / step <= 6)
    grid = "".join(f"M{left + number * step * scale:.1f} {top + TITLE}V{bottom}" for number in range(int(last / step) + 1))
    yield f'<path d="{grid}" stroke="{LINE}" fill="none"/>'
    numbers = "".join(
        f'<text x="{left + number * step * scale:.0f}" y="{bottom + 14}">{number * step:g}</text>' for number in range(int(last / step) + 1)
    )
    yield f'<g font-size="12" text-anchor="middle" fill="{MUTED}">{numbers}</g>'
    names = "".join(f'<text x="{left - 6}" y="{top + TITLE + LANE * number + 14}">{lane}</text>' for number, lane in enumerate(lanes))
    yield f'<g font-size="12" text-anchor="end" fill="{MUTED}">{names}</g>'
    for letter, fill in FILLS.items():
        path = ""
        for kind, stream, start, ms in bars:
            if kind == letter:
                width = max(ms * scale, 2.5)
                path += f"M{left + start * scale:.1f} {top + TITLE + LANE * lanes.index(stream) + 2}h{width:.1f}v{LANE - 4}h-{width:.1f}z"
        if path:
            yield f'<path d="{path}" fill="{fill}" stroke="{INK}" stroke-width="0.6"/>'


def legend() -> Iterator[str]:
    """Name the colours and the two columns."""
    for number, (letter, words) in enumerate((("H", "H2D"), ("K", "kernel"), ("D", "D2H"), ("0", "cudaStreamLegacy"))):
        x = LEFT - 18 + 110 * number
        yield f'<rect x="{x}" y="6" width="14" height="14" fill="{FILLS[letter]}" stroke="{INK}" stroke-width="0.6"/>'
        yield text(x + 20, 18, words)
    yield text(LEFT + HALF / 2, 46, "timeline.py", "middle")
    yield text(LEFT + HALF + MIDDLE + HALF / 2, 46, "H200", "middle")


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = INK) -> str:
    """Write one line of text."""
    size = 12 if colour == MUTED else 13
    return f'<text x="{x:.1f}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


if __name__ == "__main__":
    main()
