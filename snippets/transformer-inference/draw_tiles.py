"""Draw what FlashAttention does with the matrix of scores when it is causal: tiles that are computed, cut by the mask, or never touched."""

from collections.abc import Iterator
from html import escape

LENGTH, TILE_ROWS, TILE_KEYS = 1024, 128, 64
ROW_TILE = 5  # the one that is followed
WIDTH, HEIGHT = 720, 420
LEFT, TOP, SIZE = 170, 66, 320  # of the matrix
INK, LINE = "var(--figure-ink, #222222)", "var(--figure-line, #cccccc)"
Q, K, V, WHOLE = "var(--figure-a, #7aa6d8)", "var(--figure-b, #8cc28c)", "var(--figure-c, #e0b060)", "var(--figure-d, #b49ad6)"
CUT = "var(--figure-hot, #e08a7a)"


def tiles(length: int, tile_rows: int, tile_keys: int) -> Iterator[tuple[int, int, str]]:
    """Give each tile of scores by its first row and key: "whole", "cut" by the mask, or "none" of its keys seen."""
    for row in range(0, length, tile_rows):
        for key in range(0, length, tile_keys):
            if key + tile_keys <= row + 1:
                yield row, key, "whole"
            else:
                yield row, key, "cut" if key < row + tile_rows else "none"


def main() -> None:
    """Print the figure."""
    found = list(tiles(LENGTH, TILE_ROWS, TILE_KEYS))
    counts = {kind: sum(kind == other for _, _, other in found) for kind in ("whole", "cut", "none")}
    step = SIZE / LENGTH
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="tiles-caption" '
        'font-family="var(--figure-font, monospace)" data-search-exclude>'
    )
    followed = ROW_TILE * TILE_ROWS
    for row, key, kind in found:
        fill = {"whole": WHOLE, "cut": CUT, "none": "none"}[kind]
        faded = "" if row == followed or kind == "none" else ' fill-opacity="0.35"'
        box = f'x="{LEFT + key * step:g}" y="{TOP + row * step:g}" width="{TILE_KEYS * step:g}" height="{TILE_ROWS * step:g}"'
        print(f'<rect {box} fill="{fill}"{faded} stroke="{LINE}"/>')
    y, high = TOP + followed * step, TILE_ROWS * step
    # K and V above the matrix, Q and the result beside it.
    for number, (name, colour) in enumerate((("K", K), ("V", V))):
        top = TOP - 58 + 28 * number
        for key in range(0, LENGTH, TILE_KEYS):
            read = key < followed + TILE_ROWS
            shade = "" if read else ' fill-opacity="0.2"'
            print(f'<rect x="{LEFT + key * step:g}" y="{top}" width="{TILE_KEYS * step:g}" height="20" fill="{colour}"{shade} stroke="{LINE}"/>')
        print(text(LEFT - 12, top + 15, name, "end"))
    print(f'<rect x="{LEFT - 78}" y="{y:g}" width="60" height="{high:g}" fill="{Q}" stroke="{INK}"/>')
    print(text(LEFT - 48, y + high / 2 + 5, "Q", "middle"))
    print(f'<rect x="{LEFT}" y="{y:g}" width="{(followed + TILE_ROWS) * step:g}" height="{high:g}" fill="none" stroke="{INK}" stroke-width="2.5"/>')
    right = LEFT + SIZE + 26
    print(f'<path d="M{LEFT + (followed + TILE_ROWS) * step:g} {y + high / 2:g}H{right}" stroke="{INK}" stroke-width="1.5" fill="none"/>')
    print(f'<path d="M{right} {y + high / 2 - 5:g}l10 5l-10 5z" fill="{INK}"/>')
    for number, name in enumerate(("top", "total", "out")):
        box_y = y + high / 2 - 48 + 32 * number
        print(f'<rect x="{right + 14}" y="{box_y:g}" width="150" height="28" fill="none" stroke="{INK}"/>')
        shape = f"{TILE_ROWS} × d" if name == "out" else f"{TILE_ROWS}"
        print(text(right + 22, box_y + 19, f"{name:<6}{shape}"))
    for number, (kind, colour) in enumerate((("whole", WHOLE), ("cut", CUT), ("none", "none"))):
        x = LEFT + 108 * number
        print(f'<rect x="{x}" y="{HEIGHT - 24}" width="16" height="16" fill="{colour}" stroke="{LINE}"/>')
        print(text(x + 22, HEIGHT - 11, str(counts[kind])))
    print("</svg>")


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = INK) -> str:
    """Write one line of text."""
    return f'<text x="{x:g}" y="{y:g}" font-size="14" text-anchor="{anchor}" fill="{colour}" xml:space="preserve">{escape(words)}</text>'


if __name__ == "__main__":
    main()
