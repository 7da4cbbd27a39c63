"""Draw where one column of a 32 x 32 tile of floats lies in the banks: as declared, padded to 33 columns, XOR-swizzled."""

import stride

COLUMN = 5  # the column of the tile that a warp loads
SIDE = 32
CELL, TOP, BAR = 6.5, 112, 8
PANELS = (("float tile[32][32]", 0, False), ("float tile[32][33]", 1, False), ("tile[row][column ^ row]", 0, True))


def main() -> None:
    """Print the figure."""
    parts = address_bits()
    for number, (name, padding, swizzle) in enumerate(PANELS):
        parts += panel(16 + 240 * number, name, padding, swizzle=swizzle)
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 396" role="img" aria-labelledby="padding-caption" data-search-exclude '
    print("\n".join([head + 'font-family="var(--figure-font, monospace)" font-size="12" fill="' + colour("ink") + '">', *parts, "</svg>"]))


def address_bits() -> list[str]:
    """Draw which bits of a byte address choose the row of 128 bytes, the bank, and the byte of a word."""
    parts = []
    for bit in range(10, -1, -1):
        name, fill = ("row", "paper") if bit > 6 else ("bank", "a") if bit > 1 else ("byte", "paper")
        x = 16 + 24 * (10 - bit)
        parts.append(f'<rect x="{x}" y="24" width="24" height="22" fill="{colour(fill)}" stroke="{colour("line")}"/>')
        parts.append(words(x + 12, 39, str(bit), anchor="middle"))
        if bit in {8, 4, 0}:
            parts.append(words(x + {8: 0, 4: 12, 0: 0}[bit], 60, name, anchor="middle", fill="muted"))
    return [words(16, 16, "address[10:0]"), *parts, words(300, 39, "bank = address[6:2] = address / 4 % 32")]


def panel(left: float, name: str, padding: int, *, swizzle: bool) -> list[str]:
    """Draw shared memory as rows of 128 bytes, one column a bank, with the words that a warp loads, and the wavefronts that it takes."""
    addresses = stride.lane_addresses(SIDE, stride.WORD_BYTES, padding, swizzle=swizzle, column=COLUMN)
    wavefronts, _ = stride.wavefronts_and_conflicts(addresses, stride.WORD_BYTES)
    rows = SIDE + padding
    size, bottom = CELL * SIDE, TOP + CELL * (SIDE + 1)
    lines = "".join(f"M{left + CELL * line:g} {TOP}v{CELL * rows:g}" for line in range(0, SIDE + 1, 4))
    lines += "".join(f"M{left:g} {TOP + CELL * line:g}h{size:g}" for line in [*range(0, rows, 4), rows])
    parts = [words(left, TOP - 26, name), f'<path d="{lines}" fill="none" stroke="{colour("line")}"/>']
    parts += [
        f'<rect x="{left + CELL * bank:g}" y="{TOP - BAR}" width="{CELL}" height="{BAR - 2}" fill="{hue(bank)}"/>' for bank in range(stride.BANKS)
    ]
    parts += [words(left, TOP - 12, "0", fill="muted"), words(left + size, TOP - 12, "bank 31", anchor="end", fill="muted")]
    for address in addresses:
        row, bank = address // stride.ROW_BYTES, stride.bank(address)
        place = f'x="{left + CELL * bank:g}" y="{TOP + CELL * row:g}"'
        parts.append(f'<rect {place} width="{CELL}" height="{CELL}" fill="{hue(bank)}" stroke="{colour("ink")}"/>')
    bar = size * wavefronts / SIDE
    fill = "hot" if wavefronts > 1 else "b"
    parts.append(f'<rect x="{left:g}" y="{bottom + 12:g}" width="{bar:g}" height="14" fill="{colour(fill)}" stroke="{colour("line")}"/>')
    return [*parts, words(left, bottom + 44, f"{wavefronts} wavefront{'s' if wavefronts > 1 else ''}")]


def hue(bank: int) -> str:
    """Give a bank its colour; neighbours differ clearly."""
    return f"hsl({bank * 360 / stride.BANKS:g}, 60%, {70 - bank % 2 * 14}%)"


def words(x: float, y: float, text: str, *, anchor: str = "start", fill: str = "ink") -> str:
    """Draw a text."""
    side = "" if anchor == "start" else f' text-anchor="{anchor}"'
    shade = "" if fill == "ink" else f' fill="{colour(fill)}"'
    return f'<text x="{x:g}" y="{y:g}"{side}{shade}>{text}</text>'


def colour(name: str) -> str:
    """Give a colour of the site's theme, with what stands in for it elsewhere."""
    elsewhere = {"ink": "#222", "muted": "#666", "line": "#bbb", "paper": "#fff", "a": "#a9c8ec", "b": "#b5dcb0", "hot": "#f0a8a0"}
    return f"var(--figure-{name}, {elsewhere[name]})"


if __name__ == "__main__":
    main()
