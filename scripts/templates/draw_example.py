"""Draw which warp reads which elements: the figure that the question needs comes here."""

import example

SHOWN = 4  # warps
SIDE, GAP = 150, 12


def main() -> None:
    """Print the figure."""
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 64" role="img" aria-labelledby="example-caption" data-search-exclude '
    lines = [head + 'font-family="var(--figure-font, monospace)" font-size="12" fill="var(--figure-ink, #222)">']
    for warp in range(SHOWN):
        x, first = 6 + warp * (SIDE + GAP), warp * example.LANES
        colours = 'fill="var(--figure-a, #a9c8ec)" stroke="var(--figure-line, #bbb)"'
        lines.append(f'<rect x="{x}" y="8" width="{SIDE}" height="28" {colours}/>')
        lines.append(f'<text x="{x + SIDE / 2:g}" y="26" text-anchor="middle">a[{first}:{first + example.LANES}]</text>')
        lines.append(f'<text x="{x + SIDE / 2:g}" y="54" text-anchor="middle" fill="var(--figure-muted, #666)">warp {warp}</text>')
    print("\n".join([*lines, "</svg>"]))


if __name__ == "__main__":
    main()
