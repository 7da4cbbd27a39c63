"""Draw one scheduler with two, four and six warps of dependent instructions, cycle by cycle, as hiding.py plays it."""

import hiding

CYCLES, CELL, ROW, TOP, LABEL = 14, 13, 18, 30, 22
PANELS = (2, 4, 6)
FILLS = {"I": "a", "e": "c", "s": "paper"}


def main() -> None:
    """Print the figure."""
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 172" role="img" aria-labelledby="hiding-caption" data-search-exclude '
    parts = [head + f'font-family="var(--figure-font, monospace)" font-size="13" fill="{colour("ink")}">']
    for number, warps in enumerate(PANELS):
        parts += panel(16 + 238 * number, warps)
    for number, (state, name) in enumerate({"I": "issued", "e": "eligible", "s": "stalled"}.items()):
        x = 16 + 110 * number
        parts += [cells(x, 154, state), f'<text x="{x + 20}" y="166">{name}</text>']
    print("\n".join([*parts, "</svg>"]))


def panel(left: float, warps: int) -> list[str]:
    """Draw the warps of one scheduler, one row each, and the instructions that it issues in a cycle."""
    states = hiding.timeline(warps, 1, CYCLES)
    rate = hiding.instructions_a_cycle(list(range(0, hiding.SCHEDULERS * warps, hiding.SCHEDULERS)), 1)
    parts = [f'<text x="{left:g}" y="18">{warps} warps: {rate:g} / clk</text>']
    for row, line in enumerate(states):
        y = TOP + ROW * row
        parts.append(f'<text x="{left:g}" y="{y + 12}" fill="{colour("muted")}">w{row}</text>')
        parts += [cells(left + LABEL, y, line, only=state) for state in FILLS if state in line]
    return parts


def cells(left: float, top: float, line: str, only: str = "") -> str:
    """Draw the cells of a row whose state is the wanted one: one path a state, drawn in relative steps, keeps the figure small."""
    state = only or line
    places = [place for place, letter in enumerate(line) if letter == state]
    path = f"M{left + CELL * places[0]:g} {top:g}"
    for place, following in zip(places, [*places[1:], None], strict=True):
        path += f"h{CELL - 1}v14h-{CELL - 1}z" + (f"m{CELL * (following - place)} 0" if following is not None else "")
    return f'<path d="{path}" fill="{colour(FILLS[state])}" stroke="{colour("line")}"/>'


def colour(name: str) -> str:
    """Give a colour of the site's theme, with what stands in for it elsewhere."""
    elsewhere = {"ink": "#222", "muted": "#666", "line": "#bbb", "paper": "#fff", "a": "#a9c8ec", "c": "#b5dcb0"}
    return f"var(--figure-{name}, {elsewhere[name]})"


if __name__ == "__main__":
    main()
