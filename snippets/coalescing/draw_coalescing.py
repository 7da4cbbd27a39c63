"""Draw the sectors that one request moves, for six layouts and mappings: used words filled, the rest moved for nobody."""

from html import escape
from itertools import pairwise

from coalescing import COLUMNS, FLOAT, LANES, RECORD, ROUND_TO, SECTOR, Place, along, aos, aosoa, down, pitch_of, shuffled, soa, units

WORDS = SECTOR // FLOAT
LEFT, WORD, GAP, BOX, ROW = 6, 2.5, 3, 22, 56
WIDTH = 2 * LEFT + LANES * (WORDS * WORD + GAP)
PITCH = pitch_of(COLUMNS, ROUND_TO)
CASES: tuple[tuple[str, Place, int], ...] = (
    # name, where a thread's k-th access lies, k
    (f"AoS: p[i].x, {RECORD} floats", aos(RECORD), 0),
    ("SoA: x[i]", soa(2**20), 0),
    ("AoSoA: p[i/32].x[i%32]", aosoa(RECORD), 0),
    (f"a[1][thread], pitch {PITCH}", along(COLUMNS, PITCH), 1),
    (f"a[thread][1], pitch {PITCH}", down(PITCH), 1),
    ("a[index[i]], within 128", lambda i, _: shuffled(i, 128), 0),
)


def main() -> None:
    """Print the figure."""
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {ROW * len(CASES)}" role="img" aria-labelledby="coalescing-caption" '
        'data-search-exclude font-family="var(--figure-font, monospace)" font-size="12" fill="var(--figure-ink, #222)">'
    )
    for number, case in enumerate(CASES):
        print("\n".join(strip(ROW * number, *case)))
    print("</svg>")


def strip(top: int, name: str, place: Place, access: int) -> list[str]:
    """Draw one request: its name and counts, its sectors in order of their addresses, a gap where bytes between them are not moved."""
    taken = sorted({element for lane in range(LANES) if (element := place(lane, access)) is not None})
    moved = sorted(units(taken, SECTOR))
    used = 100 * len(taken) * FLOAT / (len(moved) * SECTOR)
    # The counts stand beside the name: a phone shows the figure's left end first.
    parts = [f'<text x="{LEFT}" y="{top + 16}">{escape(name)} <tspan dx="8">sectors={len(moved)} used={used:g}%</tspan></text>']
    x, y, paths = float(LEFT), top + 24, {"hot": "", "a": "", "line": ""}
    for sector, following in pairwise([*moved, moved[-1] + 2]):
        paths["hot"] += box(x, y, WORDS * WORD)
        for first, count in runs([element - sector * WORDS for element in taken if element // WORDS == sector]):
            paths["a"] += box(x + first * WORD, y, count * WORD)
        paths["line"] += box(x, y, WORDS * WORD)
        x += WORDS * WORD + (0 if following == sector + 1 else GAP)
    colours = {
        "hot": 'fill="var(--figure-hot, #e08a7a)"',
        "a": 'fill="var(--figure-a, #7aa6d8)"',
        "line": 'fill="none" stroke="var(--figure-line, #888)"',
    }
    return [*parts, *(f'<path d="{path}" {colours[kind]}/>' for kind, path in paths.items())]


def runs(places: list[int]) -> list[tuple[int, int]]:
    """Join neighbours: each run's first place and length."""
    starts = [place for place in places if place - 1 not in places]
    return [(start, next(end for end in range(start, WORDS + 1) if end not in places) - start) for start in starts]


def box(x: float, y: float, width: float) -> str:
    """Give the path of a box."""
    return f"M{x:g} {y:g}h{width:g}v{BOX}h-{width:g}z"


if __name__ == "__main__":
    main()
