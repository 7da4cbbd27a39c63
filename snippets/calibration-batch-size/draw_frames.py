"""Draw a histogram before a larger value comes, after its range has doubled, at the end, and what one batch would have given."""

import samples
from histogram import Histogram

DISTRIBUTION, BATCH, BINS = "growing", 8, 64  # what shows it best, in so few bins that each can be seen
WIDTH, PANEL, HEIGHT, LEFT = 720, 128, 84, 12


def main() -> None:
    """Print the figure."""
    panels = frames()
    span = max(histogram.range for _, histogram in panels)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {PANEL * len(panels) + 8}" role="img" aria-labelledby="frames-caption" '
            f'data-search-exclude font-family="var(--figure-font, monospace)" font-size="13" fill="{colour("ink")}">'
        )
    ]
    for index, (text, histogram) in enumerate(panels):
        parts += panel(index * PANEL, text, histogram, span)
    print("\n".join([*parts, "</svg>"]))


def frames() -> list[tuple[str, Histogram]]:
    """Give what is drawn: the first batch, the batch that doubles the range, all batches, and all rows as one batch."""
    rows = [samples.row(DISTRIBUTION, number) for number in range(samples.ROWS)]
    batches = [[value for row in rows[start : start + BATCH] for value in row] for start in range(0, len(rows), BATCH)]
    first, doubled, last, whole = (Histogram(BINS) for _ in range(4))
    first.add(batches[0])
    reached = 0
    for number, batch in enumerate(batches):
        last.add(batch)
        if not doubled.doublings:
            doubled.add(batch)
            reached = number + 1
    whole.add([value for row in rows for value in row])
    return [("1", first), (f"1..{reached}", doubled), (f"1..{len(batches)}", last), (f"batch = {len(rows)}", whole)]


def panel(top: int, text: str, histogram: Histogram, span: float) -> list[str]:
    """Draw one histogram, its range in grey, with its numbers."""
    scale = (WIDTH - 2 * LEFT) / span
    width, highest, bottom = histogram.range / len(histogram.counts) * scale, max(histogram.counts), top + 28 + HEIGHT
    bars = "".join(
        f"M{LEFT + index * width:.1f} {bottom}v{-count / highest * HEIGHT:.1f}h{width * 0.86:.1f}V{bottom}z"
        for index, count in enumerate(histogram.counts)
        if count
    )
    numbers = f"x{2**histogram.doublings}, range {histogram.range:.2f}, bin {histogram.range / len(histogram.counts):.3f}"
    return [
        f'<path d="M{LEFT} {top + 26}h{histogram.range * scale:.1f}v{HEIGHT + 2}H{LEFT}z" fill="{colour("paper")}" stroke="{colour("line")}"/>',
        f'<path d="{bars}" fill="{colour("a")}"/>',
        f'<text x="{LEFT}" y="{top + 18}">{text}</text>',
        f'<text x="{WIDTH - LEFT}" y="{top + 18}" text-anchor="end" fill="{colour("muted")}">{numbers}</text>',
    ]


def colour(name: str) -> str:
    """Give a colour of the site's theme, with what stands in for it elsewhere."""
    elsewhere = {"ink": "#222222", "muted": "#666666", "line": "#cccccc", "paper": "#ffffff", "a": "#7aa6d8"}
    return f"var(--figure-{name}, {elsewhere[name]})"


if __name__ == "__main__":
    main()
