"""Draw two networks' engines as their layers, as wide as each one's time: what convolutions compute in, and what only converts."""

import json
import re
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("engines.h200.json")
NETWORKS = {"alternating": ("FP16", "Q/DQ all", "Q/DQ every other"), "separable": ("FP16", "Q/DQ all", "Q/DQ pointwise")}
WIDTH, LEFT, ROW, HEIGHT, TOP, GAP = 720, 8, 56, 28, 4, 14
COLOURS = {"INT8": "a", "FP16": "c", "FP32": "d"}


def main() -> None:
    """Print the figure."""
    rows: dict[str, dict[str, Any]] = json.loads(RECORD.read_text("utf-8"))["rows"]
    engines = [(network, way, rows[f"{network}_{way}".replace(" ", "_")]) for network, ways in NETWORKS.items() for way in ways]
    scale = (WIDTH - 2 * LEFT) / max(sum(row["profile"].values()) for *_, row in engines)
    parts, top, before = [], TOP, engines[0][0]
    for network, way, row in engines:
        top += GAP if network != before else 0
        parts += engine(top, f"{network}, {way}", row, scale)
        top, before = top + ROW, network
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" role="img" aria-labelledby="layers-caption" '
        f'data-search-exclude font-family="var(--figure-font, monospace)" font-size="14" fill="{colour("ink")}">'
    )
    print("\n".join([*parts, "</svg>"]))


def engine(top: int, text: str, row: dict[str, Any], scale: float) -> list[str]:
    """Draw one engine's layers side by side, below its name, their number and the sum of their times."""
    layers = [(*kind_of(name, taken), row["profile"][name]) for name, _, _, taken, _ in row["layers"]]
    total = f"{len(layers)} layers, {1e3 * sum(time for *_, time in layers):.1f} us"
    parts = [
        f'<text x="{LEFT}" y="{top + 16}">{text}</text>',
        f'<text x="{WIDTH - LEFT}" y="{top + 16}" text-anchor="end" fill="{colour("muted")}">{total}</text>',
    ]
    x = float(LEFT)
    for word, shade, time in layers:
        width = time * scale
        parts.append(
            f'<rect x="{x:.1f}" y="{top + 22}" width="{width:.1f}" height="{HEIGHT}" fill="{colour(shade)}" stroke="{colour("paper")}"/>'
            f'<text x="{x + width / 2:.1f}" y="{top + 41}" text-anchor="middle" font-size="13">{word}</text>'
        )
        x += width
    return parts


def kind_of(name: str, taken: list[str]) -> tuple[str, str]:
    """Give what is written on a layer and its colour: the type that a convolution takes, or how a conversion is called."""
    if name.endswith(".q"):
        return "Q", "hot"
    if name.startswith("Reformatting"):
        return "R", "hot"
    number = len(re.findall(r"\bconv\d+(?= \+|$)", name))
    type_ = next(each for each in COLOURS if each.lower() in taken[0].lower())
    return f"{type_} x{number}" if number > 1 else type_, COLOURS[type_]


def colour(name: str) -> str:
    """Give a colour of the site's theme, with what stands in for it elsewhere."""
    elsewhere = {"ink": "#222222", "muted": "#666666", "paper": "#ffffff", "a": "#7aa6d8", "c": "#9bd3a6", "d": "#c9b2ea", "hot": "#e08a7a"}
    return f"var(--figure-{name}, {elsewhere[name]})"


if __name__ == "__main__":
    main()
