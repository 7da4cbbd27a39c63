"""Draw to scale what one instruction multiplies: mma.m16n8k16 by a warp, wgmma m64n256k16 by a warpgroup."""

import peak

SCALE = 1.9  # pixels an element
SHAPES = (("mma.sync m16n8k16", "1 warp", (16, 8, 16)), ("wgmma m64n256k16", "4 warps", (64, 256, 16)))


def main() -> None:
    """Print the figure."""
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 236" role="img" aria-labelledby="shapes-caption" data-search-exclude '
    parts = [head + f'font-family="var(--figure-font, monospace)" font-size="12" fill="{colour("ink")}">']
    left = 8.0
    for name, warps, shape in SHAPES:
        parts += product(left, name, warps, shape)
        left += 172
    print("\n".join([*parts, "</svg>"]))


def product(left: float, name: str, warps: str, shape: tuple[int, int, int]) -> list[str]:
    """Draw A at the left of D and B above it, and say how many multiply-adds they are."""
    m, n, k = shape
    x, y = left + SCALE * k + 4, 62 + SCALE * k + 4
    fmas = peak.flop(m, n, k) // 2
    reuse = f"{fmas / (m * k + k * n):.1f} FMA / element"
    parts = [words(left, 16, name), words(left, 34, f"{warps}, {fmas:,} FMA", fill="muted"), words(left, 52, reuse, fill="muted")]
    for letter, (place_x, place_y, width, height), fill in (
        ("A", (left, y, k, m), "a"),
        ("B", (x, 62, n, k), "b"),
        ("D", (x, y, n, m), "paper"),
    ):
        box = f'x="{place_x:g}" y="{place_y:g}" width="{SCALE * width:g}" height="{SCALE * height:g}"'
        parts.append(f'<rect {box} fill="{colour(fill)}" stroke="{colour("line")}"/>')
        parts.append(words(place_x + SCALE * width / 2 - 4, place_y + SCALE * height / 2 + 4, letter))
    return parts


def words(x: float, y: float, text: str, *, fill: str = "ink") -> str:
    """Draw a text."""
    shade = "" if fill == "ink" else f' fill="{colour(fill)}"'
    return f'<text x="{x:g}" y="{y:g}"{shade}>{text}</text>'


def colour(name: str) -> str:
    """Give a colour of the site's theme, with what stands in for it elsewhere."""
    elsewhere = {"ink": "#222", "muted": "#666", "line": "#bbb", "paper": "#fff", "a": "#a9c8ec", "b": "#b5dcb0"}
    return f"var(--figure-{name}, {elsewhere[name]})"


if __name__ == "__main__":
    main()
