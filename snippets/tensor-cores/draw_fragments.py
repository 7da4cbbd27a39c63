"""Draw which lane holds which element of A, B and D in mma.m16n8k16, one colour a lane."""

import fragments

CELL = 20
LEFT, TOP, CAPTION, GAP = 8, 44, 22, 8
BLOCK = 8 * CELL


def main() -> None:
    """Print the figure."""
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 404" role="img" aria-labelledby="fragments-caption" data-search-exclude '
    parts = [head + f'font-family="var(--figure-font, monospace)" font-size="12" fill="{colour("ink")}">', "<defs>"]
    # Every 8 x 8 block of A and D has the same lanes in the same places, and so has every block of B.
    parts += [f'<g id="fragments-{name}" text-anchor="middle">{block(name)}</g>' for name in ("A", "B")]
    parts.append("</defs>")
    b_left, d_left = LEFT + 2 * BLOCK + GAP + 24, LEFT + 3 * BLOCK + GAP + 48
    for name, left, title in (("A", LEFT, "A[row][k]"), ("B", b_left, "B[k][column]"), ("D", d_left, "C, D[row][column]")):
        rows, columns = (2, 2) if name == "A" else (2, 1)
        parts.append(words(left, 16, title))
        for row in range(rows):
            for column in range(columns):
                x, y = left + column * (BLOCK + GAP), TOP + row * (BLOCK + CAPTION)
                same(name, row, column)
                parts.append(words(x, y - 6, registers(name, row, column), fill="muted"))
                parts.append(f'<use href="#fragments-{"B" if name == "B" else "A"}" x="{x}" y="{y}"/>')
    print("\n".join([*parts, "</svg>"]))


def lanes(name: str, row: int, column: int) -> dict[fragments.Place, int]:
    """Give the lane of each element of an 8 x 8 block, places counted from the block's corner."""
    owners = fragments.owners(name)
    return {(i, j): owners[8 * row + i, 8 * column + j][0] for i in range(8) for j in range(8)}


def same(name: str, row: int, column: int) -> None:
    """Assert that a block looks like the one that is drawn for it."""
    drawn = "B" if name == "B" else "A"
    assert lanes(name, row, column) == lanes(drawn, 0, 0), (name, row, column)


def registers(name: str, row: int, column: int) -> str:
    """Name the two elements that each lane holds of a block."""
    owners, letter = fragments.owners(name), "c" if name == "D" else name.lower()
    elements = sorted({owners[8 * row + i, 8 * column + j][1] for i in range(8) for j in range(8)})
    return " ".join(f"{letter}{element}" for element in elements)


def block(name: str) -> str:
    """Draw an 8 x 8 block: a box for the two neighbours that a lane holds, with its number, the model's lane framed."""
    places: dict[int, list[fragments.Place]] = {}
    for place, lane in lanes(name, 0, 0).items():
        places.setdefault(lane, []).append(place)
    boxes, labels, frame = [], [], ""
    for lane, ((row, column), (last_row, last_column)) in places.items():
        x, y = column * CELL, row * CELL
        width, height = (last_column - column + 1) * CELL, (last_row - row + 1) * CELL
        boxes.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{hue(lane)}"/>')
        labels.append(f'<text x="{x + width // 2}" y="{y + height // 2 + 4}">{lane}</text>')
        if lane == fragments.LANE:
            frame = f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="none" stroke="#111" stroke-width="3"/>'
    return f'<g stroke="{colour("paper")}">{"".join(boxes)}</g><g fill="#111">{"".join(labels)}</g>{frame}'


def hue(lane: int) -> str:
    """Give a lane its colour; a group of four has one hue in four shades."""
    return f"hsl({lane // 4 * 45}, 60%, {80 - lane % 4 * 7}%)"


def words(x: float, y: float, text: str, *, fill: str = "ink") -> str:
    """Draw a text."""
    shade = "" if fill == "ink" else f' fill="{colour(fill)}"'
    return f'<text x="{x:g}" y="{y:g}"{shade}>{text}</text>'


def colour(name: str) -> str:
    """Give a colour of the site's theme, with what stands in for it elsewhere."""
    elsewhere = {"ink": "#222", "muted": "#666", "paper": "#fff"}
    return f"var(--figure-{name}, {elsewhere[name]})"


if __name__ == "__main__":
    main()
