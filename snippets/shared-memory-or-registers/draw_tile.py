"""Draw which part of a tiled GEMM lies where: the matrices in global memory, tiles in shared memory, fragments and sums in registers."""

from accesses import DEPTH, EACH, TILE

SCALE = 1.75  # pixels an element of the matrices
SIZE = 128  # of the drawn part of the matrices, in elements
LEFT, TOP = 152, 112  # of C
GAP = 26
ZOOM, CELL = 508, 26  # the thread's part: its left edge, a number's side


def main() -> None:
    """Print the figure."""
    parts = [*matrices(), *tiles(), *thread(), *legend()]
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 372" role="img" aria-labelledby="tile-caption" data-search-exclude '
    print("\n".join([head + 'font-family="var(--figure-font, monospace)" font-size="13" fill="' + colour("ink") + '">', *parts, "</svg>"]))


def matrices() -> list[str]:
    """Draw A to the left of C, and B above it, as far as they are shown."""
    side, depth = SIZE * SCALE, 2 * DEPTH * SCALE
    return [
        box(LEFT, TOP, side, side, "paper"),
        box(LEFT - GAP - depth, TOP, depth, side, "paper"),
        box(LEFT, TOP - GAP - depth, side, depth, "paper"),
        words(LEFT - GAP - depth / 2, TOP + side + 18, "A", "middle"),
        words(LEFT + side + 12, TOP - GAP - depth / 2 + 4, "B"),
        words(LEFT + side / 2, TOP + side + 18, "C", "middle"),
    ]


def tiles() -> list[str]:
    """Draw a block's part of C and the tiles that it needs at the moment, and in them a thread's part."""
    tile, depth, each = TILE * SCALE, DEPTH * SCALE, EACH * SCALE
    row, column = 6 * each, 9 * each  # the thread in the block
    left = LEFT - GAP - 2 * depth
    top = TOP - GAP - 2 * depth
    return [
        box(left, TOP + tile, depth, tile, "a"),
        box(LEFT, top, tile, depth, "a"),
        box(LEFT, TOP + tile, tile, tile, "b"),
        box(left + depth / 2, TOP + tile + row, 3, each, "hot"),
        box(LEFT + column, top + depth / 2, each, 3, "hot"),
        box(LEFT + column, TOP + tile + row, each, each, "hot"),
        words(LEFT + tile / 2, top - 6, f"{DEPTH} x {TILE}", "middle"),
        words(left - 6, TOP + tile * 1.5 + 4, f"{TILE} x {DEPTH}", "end"),
        words(LEFT + tile / 2, TOP + 2 * tile - 8, f"{TILE} x {TILE}", "middle"),
        line(LEFT + column + each, TOP + tile + row, ZOOM - CELL - 12, TOP + GAP + CELL),
        line(LEFT + column + each, TOP + tile + row + each, ZOOM - CELL - 12, TOP + GAP + CELL * (EACH + 1)),
    ]


def thread() -> list[str]:
    """Draw what a thread has in registers: 4 numbers of A, 4 of B, 16 sums."""
    top, parts = TOP + GAP, []
    for i in range(EACH):
        parts.append(
            box(ZOOM - CELL - 8, top + CELL * (i + 1), CELL, CELL, "b") + words(ZOOM - CELL / 2 - 8, top + CELL * (i + 1) + 18, f"a{i}", "middle")
        )
        parts.append(box(ZOOM + CELL * i, top - 8, CELL, CELL, "b") + words(ZOOM + CELL * i + CELL / 2, top + 10, f"b{i}", "middle"))
        parts += [box(ZOOM + CELL * j, top + CELL * (i + 1), CELL, CELL, "b") for j in range(EACH)]
    return [*parts, words(ZOOM + CELL * EACH + 10, top + CELL * 3 + 5, f"{EACH} x {EACH} sums"), words(ZOOM, top - 18, "1 thread")]


def legend() -> list[str]:
    """Name the colours: the places."""
    parts = []
    for number, (shade, name) in enumerate((("paper", "global"), ("a", "shared"), ("b", "registers"), ("hot", "1 thread"))):
        y = TOP + 164 + 23 * number
        parts += [box(ZOOM, y, 16, 16, shade), words(ZOOM + 24, y + 13, name)]
    return parts


def box(x: float, y: float, width: float, height: float, shade: str) -> str:
    """Draw a rectangle."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{colour(shade)}" stroke="{colour("muted")}"/>'


def line(x: float, y: float, to_x: float, to_y: float) -> str:
    """Draw a dashed line."""
    return f'<path d="M{x:g} {y:g}L{to_x:g} {to_y:g}" fill="none" stroke="{colour("muted")}" stroke-dasharray="3 3"/>'


def words(x: float, y: float, text: str, anchor: str = "start") -> str:
    """Draw a text."""
    side = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:g}" y="{y:g}"{side}>{text}</text>'


def colour(name: str) -> str:
    """Give a colour of the site's theme, with what stands in for it elsewhere."""
    elsewhere = {"ink": "#222", "muted": "#666", "line": "#ddd", "paper": "#fff", "a": "#a9c8ec", "b": "#f2b977", "hot": "#f0a8a0"}
    return f"var(--figure-{name}, {elsewhere[name]})"


if __name__ == "__main__":
    main()
