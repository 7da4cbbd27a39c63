"""Draw the 32 banks, wavefront by wavefront, for the parameters at the top of stride.py."""

import stride

LEFT, TOP, WIDTH, HEIGHT, GAP = 40, 62, 21, 18, 5  # of the grid, of a cell, between groups of lanes


def main() -> None:
    """Print the figure."""
    addresses = stride.lane_addresses(stride.STRIDE, stride.ACCESS_BYTES, stride.PADDING, swizzle=stride.SWIZZLE)
    print(figure(addresses, stride.ACCESS_BYTES, named()))


def named() -> str:
    """Name the parameters."""
    return f"STRIDE={stride.STRIDE}  ACCESS_BYTES={stride.ACCESS_BYTES}  PADDING={stride.PADDING}  SWIZZLE={stride.SWIZZLE}"


def figure(addresses: list[int], access_bytes: int, name: str) -> str:
    """Give an SVG: a row a wavefront, a column a bank, in each busy cell the lane that it serves."""
    try:
        wavefronts = stride.schedule(addresses, access_bytes)
    except ValueError as error:
        return svg([words(LEFT, 20, name), words(LEFT, 44, str(error))], TOP)
    groups = stride.lane_groups(addresses, access_bytes)
    parts = [words(LEFT, 20, name), words(LEFT, 44, f"{len(wavefronts)} wavefronts, {len(wavefronts) - len(groups)} conflicts")]
    parts += [words(LEFT + WIDTH * number + WIDTH / 2, TOP + 12, str(number), anchor="middle", fill="muted") for number in range(stride.BANKS)]
    parts.append(words(LEFT - 6, TOP + 12, "bank", anchor="end", fill="muted"))
    top, seen = TOP + 18, -1
    for number, served in enumerate(wavefronts):
        group = next(index for index, lanes in enumerate(groups) if min(min(each) for each in served.values()) in lanes)
        first = group != seen  # a group's later wavefronts are its conflicts
        top += GAP if first and seen >= 0 else 0
        parts.append(words(LEFT - 6, top + 13, str(number), anchor="end", fill="muted"))
        parts.append(empty_row(top))
        for bank, lanes in sorted(served.items()):
            shade = "hot" if not first else "b" if len(lanes) > 1 else "a"
            parts.append(cell(bank, top, min(lanes), shade))
        top, seen = top + HEIGHT, group
    return svg(parts, top + 8)


def cell(bank: int, top: float, lane: int, shade: str) -> str:
    """Draw what one bank delivers in a wavefront; of lanes that share a word, the first is named."""
    box = f'<rect x="{LEFT + WIDTH * bank}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="{colour(shade)}" stroke="{colour("line")}"/>'
    return box + words(LEFT + WIDTH * bank + WIDTH / 2, top + 13, str(lane), anchor="middle")


def empty_row(top: float) -> str:
    """Draw 32 idle banks."""
    lines = "".join(f"M{LEFT + WIDTH * number} {top}v{HEIGHT}" for number in range(1, stride.BANKS))
    shape = f"M{LEFT} {top}h{WIDTH * stride.BANKS}v{HEIGHT}h-{WIDTH * stride.BANKS}z{lines}"
    return f'<path d="{shape}" fill="{colour("paper")}" stroke="{colour("line")}"/>'


def words(x: float, y: float, text: str, *, anchor: str = "start", fill: str = "ink") -> str:
    """Draw a text."""
    side = "" if anchor == "start" else f' text-anchor="{anchor}"'
    shade = "" if fill == "ink" else f' fill="{colour(fill)}"'
    return f'<text x="{x:g}" y="{y:g}"{side}{shade}>{text}</text>'


def colour(name: str) -> str:
    """Give a colour of the site's theme, with what stands in for it elsewhere."""
    elsewhere = {"ink": "#222", "muted": "#666", "line": "#bbb", "paper": "#fff", "a": "#a9c8ec", "b": "#b5dcb0", "hot": "#f0a8a0"}
    return f"var(--figure-{name}, {elsewhere[name]})"


def svg(parts: list[str], height: float) -> str:
    """Wrap the parts."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height:g}" role="img" aria-labelledby="banks-caption" data-search-exclude '
    return "\n".join([head + 'font-family="var(--figure-font, monospace)" font-size="12" fill="' + colour("ink") + '">', *parts, "</svg>"])


if __name__ == "__main__":
    main()
