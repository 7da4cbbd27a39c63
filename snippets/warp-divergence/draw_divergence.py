"""Draw a warp's 32 lanes against time: one warp on two paths, two warps on one path each, and orders since Volta."""

from collections.abc import Iterator

from divergence import LANES, after, interleaved, masks, one_after_another

LENGTHS = {"A": 3, "B": 3}
CELL, ROW = 9, 18  # a lane's width, a slot's height
WIDTH = CELL * LANES
LEFT, RIGHT = 42, 414  # where the two columns of strips begin
INK, MUTED = "var(--figure-ink, #222)", "var(--figure-muted, #666)"
LINE, PAPER, HOT = "var(--figure-line, #999)", "var(--figure-paper, #fff)", "var(--figure-hot, #d9694f)"
FILL = {"A": "var(--figure-a, #7aa6d8)", "B": "var(--figure-b, #e3b062)", "J": "var(--figure-c, #86bf91)"}
ROOT = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 432" role="img" aria-labelledby="divergence-caption"'
    ' data-search-exclude font-family="var(--figure-font, monospace)" font-size="13">'
)


def main() -> None:
    """Print the figure."""
    mixed, only_a, only_b = masks("AB"), masks("A"), masks("B")
    turns = list(interleaved(mixed, LENGTHS))
    print(ROOT)
    for lines in (
        strip(LEFT, 38, "warp 0: lane % 2 ? B : A", [*one_after_another(mixed, LENGTHS), *after(mixed, joined=True)]),
        strip(RIGHT, 38, "warp 0: A", [*one_after_another(only_a, LENGTHS), *after(only_a, joined=True)]),
        strip(RIGHT, 150, "warp 1: B", [*one_after_another(only_b, LENGTHS), *after(only_b, joined=True)]),
        strip(LEFT, 276, "warp 0: A1 B1 A2 B2 A3 B3 | J", turns),
        bar(LEFT, 276 + len(turns) * ROW + 2, "__syncwarp()"),
        strip(LEFT, 276 + (len(turns) + 1) * ROW + 4, "", list(after(mixed, joined=True))),
        strip(RIGHT, 276, "warp 0: A1 B1 A2 B2 A3 B3 J J", [*turns, *after(mixed, joined=False)]),
    ):
        print("\n".join(lines))
    print("</svg>")


def strip(left: int, top: int, title: str, slots: list[tuple[str, int]]) -> Iterator[str]:
    """Draw one warp: a row a slot, a cell a lane, filled where the lane is active."""
    if title:
        yield f'<text x="{left}" y="{top - 20}" fill="{INK}">{title}</text>'
        yield f'<text x="{left}" y="{top - 5}" font-size="12" fill="{MUTED}">0</text>'
        yield f'<text x="{left + WIDTH}" y="{top - 5}" font-size="12" text-anchor="end" fill="{MUTED}">{LANES - 1}</text>'
    height = len(slots) * ROW
    yield f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{height}" fill="{PAPER}"/>'
    for number, (instruction, mask) in enumerate(slots):
        y = top + number * ROW
        cells = "".join(f"M{left + lane * CELL} {y}h{CELL}v{ROW}h-{CELL}z" for lane in range(LANES) if mask >> lane & 1)
        yield f'<path d="{cells}" fill="{FILL[instruction[0]]}"/>'
        yield f'<text x="{left - 8}" y="{y + 14}" text-anchor="end" fill="{INK}">{instruction}</text>'
    grid = "".join(f"M{left + lane * CELL} {top}v{height}" for lane in range(LANES + 1))
    grid += "".join(f"M{left} {top + row * ROW}h{WIDTH}" for row in range(len(slots) + 1))
    yield f'<path d="{grid}" fill="none" stroke="{LINE}" stroke-width="0.5"/>'


def bar(left: int, top: int, name: str) -> Iterator[str]:
    """Draw the point where the lanes of the warp wait for each other."""
    yield f'<path d="M{left} {top + ROW / 2:g}h{WIDTH / 2 - 56:g}m112 0h{WIDTH / 2 - 56:g}" stroke="{HOT}" stroke-width="3"/>'
    yield f'<text x="{left + WIDTH / 2:g}" y="{top + 13}" text-anchor="middle" fill="{INK}">{name}</text>'


if __name__ == "__main__":
    main()
