"""Draw the range of each format over powers of two, its subnormal part pale, with the numbers that inference meets."""

from formats import FORMATS, Format

LEFT, WIDTH, TOP, ROW, HEIGHT = 62, 640, 74, 34, 20
LOWEST, HIGHEST = -150, 130  # powers of two at the edges
FP32 = Format("FP32", 8, 23, 0x1FFFFFE * 2.0**103)
NUMBERS = (("1e-12", 1e-12), ("6e-8", 5.96e-8), ("1", 1.0), ("65504", 65504.0), ("1e9", 1e9))


def main() -> None:
    """Print the figure."""
    formats = [FP32, *sorted(FORMATS, key=lambda each: -each.exponent * 100 - each.mantissa)]
    bottom = TOP + ROW * len(formats)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {bottom + 34}" role="img" aria-labelledby="ranges-caption" '
            f'data-search-exclude font-family="var(--figure-font, monospace)" font-size="13" fill="{colour("ink")}">'
        )
    ]
    for index, (text, value) in enumerate(NUMBERS):
        x = place(exponent(value))
        parts.append(f'<path d="M{x:.1f} {TOP - 8}V{bottom}" stroke="{colour("line")}" stroke-dasharray="3 3"/>')
        parts.append(f'<text x="{x:.1f}" y="{TOP - 14 - 18 * (index % 2)}" text-anchor="middle">{text}</text>')
    for index, each in enumerate(formats):
        parts += bar(each, TOP + ROW * index)
    for power in range(-140, 129, 40):
        parts.append(f'<text x="{place(power):.1f}" y="{bottom + 20}" text-anchor="middle" font-size="12" fill="{colour("muted")}">2^{power}</text>')
    print("\n".join([*parts, "</svg>"]))


def bar(each: Format, top: int) -> list[str]:
    """Draw one format: the normal numbers full, the subnormal ones pale, the mantissa's bits in it."""
    smallest, normal, largest = (place(exponent(value)) for value in (each.smallest, each.smallest_normal, each.largest))
    return [
        f'<text x="{LEFT - 8}" y="{top + 15}" text-anchor="end">{each.name}</text>',
        f'<rect x="{smallest:.1f}" y="{top}" width="{normal - smallest:.1f}" height="{HEIGHT}" fill="{colour("c")}"/>',
        f'<rect x="{normal:.1f}" y="{top}" width="{largest - normal:.1f}" height="{HEIGHT}" fill="{colour("a")}"/>',
        f'<text x="{(normal + largest) / 2:.1f}" y="{top + 15}" text-anchor="middle">{each.exponent}+{each.mantissa}</text>',
    ]


def exponent(value: float) -> float:
    """Give the power of two, with its fraction."""
    mantissa, power = value, 0
    while mantissa >= 2:
        mantissa, power = mantissa / 2, power + 1
    while mantissa < 1:
        mantissa, power = mantissa * 2, power - 1
    return power + mantissa - 1


def place(power: float) -> float:
    """Give the place of a power of two."""
    return LEFT + (power - LOWEST) / (HIGHEST - LOWEST) * WIDTH


def colour(name: str) -> str:
    """Give a colour of the site's theme, with what stands in for it elsewhere."""
    elsewhere = {"ink": "#222222", "muted": "#666666", "line": "#cccccc", "a": "#7aa6d8", "c": "#e0b060"}
    return f"var(--figure-{name}, {elsewhere[name]})"


if __name__ == "__main__":
    main()
