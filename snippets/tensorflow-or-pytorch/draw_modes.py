"""Draw host and GPU for each way of running the network, on three batches, as recorded: who waits for whom."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("modes.h200.json")
WIDTH, LEFT, RIGHT = 720, 160, 630
TITLE, ROW, BAR = 30, 27, 10
INK, MUTED, LINE = "var(--figure-ink, #222222)", "var(--figure-muted, #666666)", "var(--figure-line, #cccccc)"
HOST, GPU = "var(--figure-c, #e0b060)", "var(--figure-a, #7aa6d8)"
ONE_BY_ONE = ("eager", "compiled")


def main() -> None:
    """Print the figure."""
    rows: dict[str, dict[str, Any]] = json.loads(RECORD.read_text("utf-8"))["rows"] if RECORD.is_file() else {}
    timed = [row for name, row in rows.items() if name.startswith("time_")]
    batches = list(dict.fromkeys(row["batch"] for row in timed))
    ways = len(timed) // len(batches) if batches else 0
    height = len(batches) * (TITLE + ways * ROW) + 16
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="modes-caption" data-search-exclude '
        'font-family="var(--figure-font, monospace)" font-size="13">'
    )
    for number, batch in enumerate(batches):
        print("\n".join(group([row for row in timed if row["batch"] == batch], number * (TITLE + ways * ROW))))
    print("</svg>")


def group(rows: list[dict[str, Any]], top: float) -> Iterator[str]:
    """Draw one batch: for each way the host's call and the GPU's kernels, on the scale of the slowest way."""
    longest = max(row["measured_time_us"] for row in rows)
    scale = (RIGHT - LEFT) / longest
    yield text(8, top + 20, f"batch {rows[0]['batch']:,}")
    for number, row in enumerate(rows):
        y = top + TITLE + number * ROW
        submit, end = row["submit_us"] * scale, row["measured_time_us"] * scale
        busy = min(row["busy_us"] * scale, end)
        begin = 0.0 if row["way"] in ONE_BY_ONE else end - busy
        yield text(LEFT - 8, y + 15, row["way"], "end", MUTED)
        yield bar(LEFT, y, submit, HOST) + bar(LEFT + begin, y + BAR, busy, GPU)
        yield f'<path d="M{LEFT + end:.1f} {y - 2}v{2 * BAR + 4}" stroke="{INK}"/>'
        yield text(LEFT + end + 8, y + 15, f"x{row['measured_speed_up']:.2f}")


def bar(x: float, y: float, width: float, fill: str) -> str:
    """Draw a bar."""
    return f'<rect x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="{BAR}" fill="{fill}" stroke="{INK}" stroke-width="0.6"/>'


def text(x: float, y: float, label: str, anchor: str = "", fill: str = INK) -> str:
    """Draw a label."""
    where = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:.1f}" y="{y:g}"{where} fill="{fill}">{label}</text>'


if __name__ == "__main__":
    main()
