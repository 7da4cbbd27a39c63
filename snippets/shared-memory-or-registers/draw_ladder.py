"""Draw the places of a number from near to far: who sees it, how much there is, and how many cycles the H200 took for a step."""

import json
from math import log2
from pathlib import Path

import placement

RECORD = Path(__file__).with_name("latency.h200.json")
SM_KIB = 256  # an SM's registers, and its unified L1 and shared memory: CUDA Programming Guide 13, tables 31 and 32
LEFT, TOP, STEP = 16, 40, 30
SCOPE, SIZE, BAR, RIGHT = 190, 262, 452, 660  # where the columns begin, and where the longest bar ends
LONGEST = 1024  # cycles
ROWS = (
    # row of the record, name, who sees it, how much, colour
    ("register", "register", "thread", f"{placement.THREAD_BYTES} B, SM: {SM_KIB} KiB", "b"),
    ("shuffle", "shuffle", "warp", "", "b"),
    ("shared", "shared", "block", f"{placement.BLOCK_BYTES // 1024} KiB", "a"),
    ("constant", "constant", "grid", f"{placement.CONSTANT_BYTES // 1024} KiB", "c"),
    ("l1", "L1 (global)", "SM", f"{SM_KIB} KiB - shared", "c"),
    ("local", "L1 (local)", "thread", "", "hot"),
    ("cluster", "shared, other SM", "cluster", f"blocks x {placement.BLOCK_BYTES // 1024} KiB", "a"),
    ("l2", "L2", "grid", "60 MiB", "c"),
    ("dram", "DRAM", "grid", "", "c"),
)


def main() -> None:
    """Print the figure."""
    rows = json.loads(RECORD.read_text("utf-8"))["rows"] if RECORD.is_file() else {}
    height = TOP + STEP * len(ROWS) + 8
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" role="img" aria-labelledby="ladder-caption" data-search-exclude '
    print(head + 'font-family="var(--figure-font, monospace)" font-size="13" fill="' + colour("ink") + '">')
    print("\n".join(grid(height)))
    for number, (key, name, scope, size, shade) in enumerate(ROWS):
        y = TOP + STEP * number
        cycles = rows.get(key, {}).get("measured_cycles", 1)
        print(words(LEFT, y + 19, name) + words(SCOPE, y + 19, scope, "muted") + words(SIZE, y + 19, size, "muted"))
        print(
            f'<rect x="{BAR}" y="{y + 4}" width="{along(cycles) - BAR:.1f}" height="{STEP - 8}" fill="{colour(shade)}" stroke="{colour("muted")}"/>'
        )
        print(words(along(cycles) + 6, y + 19, f"{cycles:.1f}" if cycles < 10 else f"{cycles:.0f}"))
    print("</svg>")


def grid(height: int) -> list[str]:
    """Draw the lines of 4, 16, 64 and 256 cycles."""
    parts = [words(BAR - 12, TOP - 14, "cycles", "muted", "end")]
    for cycles in (1, 4, 16, 64, 256):
        x = along(cycles)
        parts.append(f'<path d="M{x:.1f} {TOP - 6}V{height - 6}" stroke="{colour("line")}"/>' + words(x, TOP - 14, str(cycles), "muted", "middle"))
    return parts


def along(cycles: float) -> float:
    """Place a number of cycles on the horizontal axis, which is logarithmic."""
    return BAR + (RIGHT - BAR) * log2(max(cycles, 1)) / log2(LONGEST)


def words(x: float, y: float, text: str, shade: str = "ink", anchor: str = "start") -> str:
    """Draw a text."""
    side = "" if anchor == "start" else f' text-anchor="{anchor}"'
    fill = "" if shade == "ink" else f' fill="{colour(shade)}"'
    return f'<text x="{x:.1f}" y="{y}"{side}{fill}>{text}</text>'


def colour(name: str) -> str:
    """Give a colour of the site's theme, with what stands in for it elsewhere."""
    elsewhere = {"ink": "#222", "muted": "#666", "line": "#ccc", "a": "#a9c8ec", "b": "#f2b977", "c": "#9bd3a5", "hot": "#f0a8a0"}
    return f"var(--figure-{name}, {elsewhere[name]})"


if __name__ == "__main__":
    main()
