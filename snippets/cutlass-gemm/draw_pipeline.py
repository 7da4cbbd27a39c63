"""Draw what one SM does in time: two warpgroups that share each tile (cooperative), and two that take turns (ping-pong)."""

import pipeline

WIDTH, LEFT, ROW, SCALE = 720, 108, 20, 37000 / 604  # clocks a pixel
ROWS = ("load", "multiply", "multiply 1", "multiply 2", "epilogue", "epilogue 1", "epilogue 2")
FILLS = ("a", "b", "c", "d")


def main() -> None:
    """Print the figure."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 236" role="img" aria-labelledby="pipeline-caption" data-search-exclude '
    parts = [head + f'font-family="var(--figure-font, monospace)" font-size="12" fill="{colour("ink")}">']
    top = 0
    for name, ping_pong in (("cooperative", False), ("ping-pong", True)):
        spans = [span for span in pipeline.run(pipeline.STAGES, ping_pong=ping_pong) if span.tile < 3]
        parts.append(words(0, top + 14, name))
        used = [who for who in ROWS if any(span.who == who for span in spans)]
        for number, who in enumerate(used):
            y = top + 24 + number * ROW
            parts.append(words(0, y + 13, who, fill="muted"))
            parts += [box(span, y) for span in merged([span for span in spans if span.who == who])]
        top += 30 + len(used) * ROW + 12
    print("\n".join([*parts, "</svg>"]))


def merged(spans: list[pipeline.Span]) -> list[pipeline.Span]:
    """Join the spans of a tile that touch or overlap."""
    joined: list[pipeline.Span] = []
    for span in spans:
        if joined and joined[-1].tile == span.tile and span.begin <= joined[-1].end:
            joined[-1] = pipeline.Span(span.who, joined[-1].begin, max(span.end, joined[-1].end), span.tile)
        else:
            joined.append(span)
    return joined


def box(span: pipeline.Span, y: float) -> str:
    """Draw one span in its tile's colour."""
    x, width = LEFT + span.begin / SCALE, (span.end - span.begin) / SCALE
    return f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 4}" fill="{colour(FILLS[span.tile])}" stroke="{colour("line")}"/>'


def words(x: float, y: float, text: str, *, fill: str = "ink") -> str:
    """Draw a text."""
    shade = "" if fill == "ink" else f' fill="{colour(fill)}"'
    return f'<text x="{x:g}" y="{y:g}"{shade}>{text}</text>'


def colour(name: str) -> str:
    """Give a colour of the site's theme, with what stands in for it elsewhere."""
    elsewhere = {"ink": "#222", "muted": "#666", "line": "#bbb", "a": "#a9c8ec", "b": "#b5dcb0", "c": "#f0d48f", "d": "#d9b8e6"}
    return f"var(--figure-{name}, {elsewhere[name]})"


if __name__ == "__main__":
    main()
