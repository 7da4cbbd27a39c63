"""Draw engines of one network as their layers, as wide as each one's time: INT8, floating point, and what only converts."""

import json
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("engines.h200.json")
ENGINES = ("residual_FP16", "residual_Q/DQ_good", "residual_Q/DQ_skip")
WIDTH, LEFT, ROW, HEIGHT, TOP = 720, 8, 66, 26, 8


def main() -> None:
    """Print the figure; without a record, an empty one."""
    record: dict[str, dict[str, Any]] = json.loads(RECORD.read_text("utf-8"))["rows"] if RECORD.is_file() else {}
    engines = [(name, layers_of(record[name])) for name in ENGINES if name in record]
    longest = max((sum(time for _, time in layers) for _, layers in engines), default=1.0)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {TOP + ROW * len(ENGINES)}" role="img" aria-labelledby="layers-caption" '
            f'data-search-exclude font-family="var(--figure-font, monospace)" font-size="13" fill="{colour("ink")}">'
        )
    ]
    for index, (name, layers) in enumerate(engines):
        y, x, scale = TOP + ROW * index, float(LEFT), (WIDTH - 2 * LEFT) / longest
        total = sum(time for _, time in layers)
        parts.append(f'<text x="{LEFT}" y="{y + 14}">{name.partition("_")[2].replace("_", " ")}</text>')
        parts.append(f'<text x="{WIDTH - LEFT}" y="{y + 14}" text-anchor="end" fill="{colour("muted")}">{len(layers)}: {total * 1e3:.1f} us</text>')
        for shade, time in layers:
            parts.append(
                f'<rect x="{x:.1f}" y="{y + 22}" width="{time * scale:.1f}" height="{HEIGHT}" fill="{colour(shade)}" stroke="{colour("line")}"/>'
            )
            x += time * scale
    print("\n".join([*parts, "</svg>"]))


def layers_of(row: dict[str, Any]) -> list[tuple[str, float]]:
    """Give an engine's layers in order: the colour of what each is, and its time in milliseconds."""
    found = []
    for name, kind, _, taken, _ in row["layers"]:
        if name not in row["profile"]:
            continue
        convolves = "conv" in (kind or "").lower() or "+ relu" in name or any(part.startswith("conv") for part in name.split(" + ")[-2:])
        converts = "reformat" in name.lower() or (kind or "").lower() in {"reformat", "quantize", "dequantize"} or not convolves
        shade = "hot" if converts else "a" if any("int8" in each.lower() for each in taken) else "c"
        found.append((shade, row["profile"][name]))
    return found


def colour(name: str) -> str:
    """Give a colour of the site's theme, with what stands in for it elsewhere."""
    elsewhere = {"ink": "#222222", "muted": "#666666", "line": "#cccccc", "a": "#7aa6d8", "c": "#c9c9c9", "hot": "#e08a7a"}
    return f"var(--figure-{name}, {elsewhere[name]})"


if __name__ == "__main__":
    main()
