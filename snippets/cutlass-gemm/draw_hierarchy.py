"""Draw the three levels of tiles of hopper.cu: C over the CTAs, a CTA's tile over two warpgroups, a step as wgmma instructions."""

import tiles

WIDTH, HEIGHT = 720, 252


def main() -> None:
    """Print the figure."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="hierarchy-caption" '
    parts = [head + f'data-search-exclude font-family="var(--figure-font, monospace)" font-size="12" fill="{colour("ink")}">']
    parts += grid(0, 40)
    parts += tile(232, 40)
    parts += step(520, 40)
    print("\n".join([*parts, "</svg>"]))


def grid(x: float, y: float) -> list[str]:
    """Draw C in tiles, one of them marked, and what one cluster has."""
    width, height, columns, rows = 160.0, 160.0, 4096 // 256, 4096 // 128
    count = tiles.tiles_of(4096, 4096, 128, 256)
    parts = [words(x, 14, "grid: C 4096 x 4096"), words(x, 30, f"{count} CTA tiles, {tiles.SMS} SMs", fill="muted")]
    parts.append(box(x + width / columns * 4, y + height / rows * 8, width / columns, height / rows * 2, "b"))
    parts.append(box(x + width / columns * 4, y + height / rows * 8, width / columns, height / rows, "a"))
    lines = f'<path d="M0 0H{width / columns:g}M0 0V{height / rows:g}" stroke="{colour("line")}"/>'
    size = f'width="{width / columns:g}" height="{height / rows:g}" patternUnits="userSpaceOnUse"'
    parts.append(f'<pattern id="cta-tiles" x="{x:g}" y="{y:g}" {size}>{lines}</pattern>')
    parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="url(#cta-tiles)" stroke="{colour("line")}"/>')
    parts += [words(x, y + 178, "HBM, L2"), words(x, y + 196, "cluster: 2 CTAs", fill="muted")]
    parts.append(zoom(x + width / columns * 5, y + height / rows * 8.5, 232 + 44, y + 44))
    return parts


def tile(x: float, y: float) -> list[str]:
    """Draw a CTA's tile with the strips of A and B that a stage holds."""
    kib = tiles.shared_bytes(128, 256, 1) // 1024
    parts = [words(x, 14, "CTA: 128 x 256 x 64"), words(x, 30, f"4 stages of {kib} KiB, {tiles.flop_per_byte(128, 256):.1f} FLOP/B", fill="muted")]
    parts += [box(x + 44, y, 200, 34, "d"), words(x + 116, y + 22, "B 64 x 256")]
    parts += [box(x, y + 38, 38, 112, "c"), words(x + 14, y + 90, "A"), words(x + 2, y + 106, "x 64", fill="muted")]
    for number in range(2):
        parts += [box(x + 44, y + 38 + 57 * number, 200, 55, "a" if number == 0 else "paper")]
        parts.append(words(x + 66, y + 70 + 57 * number, f"warpgroup {number + 1}: 64 x 256"))
    parts += [words(x, y + 178, "shared memory"), words(x, y + 196, "TMA, mbarrier full / empty", fill="muted")]
    parts.append(zoom(x + 244, y + 66, 520, y + 66))
    return parts


def step(x: float, y: float) -> list[str]:
    """Draw what a warpgroup does with a stage."""
    parts = [words(x, 14, "wgmma m64n256k16"), words(x, 30, f"128 threads, {64 * 256 // 128} sums each", fill="muted")]
    for number in range(4):
        parts += [box(x + number * 9, y + 38, 8, 55, "c"), box(x + 44, y + number * 9, 156, 8, "d")]
    parts += [box(x + 44, y + 38, 156, 55, "a"), words(x + 62, y + 70, "D += A B, 4 times")]
    parts += [words(x, y + 178, "registers"), words(x, y + 196, "4 Tensor Cores", fill="muted")]
    return parts


def zoom(x1: float, y1: float, x2: float, y2: float) -> str:
    """Draw a line from a part to its enlargement."""
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="{colour("muted")}" stroke-dasharray="3 3" fill="none"/>'


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Draw a box."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{colour(fill)}" stroke="{colour("line")}"/>'


def words(x: float, y: float, text: str, *, fill: str = "ink") -> str:
    """Draw a text."""
    shade = "" if fill == "ink" else f' fill="{colour(fill)}"'
    return f'<text x="{x:g}" y="{y:g}"{shade}>{text}</text>'


def colour(name: str) -> str:
    """Give a colour of the site's theme, with what stands in for it elsewhere."""
    elsewhere = {"ink": "#222", "muted": "#666", "line": "#bbb", "paper": "#fff", "a": "#a9c8ec", "b": "#b5dcb0", "c": "#f0d48f", "d": "#d9b8e6"}
    return f"var(--figure-{name}, {elsewhere[name]})"


if __name__ == "__main__":
    main()
