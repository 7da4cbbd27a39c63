"""Draw what clipping and what rounding costs over the threshold, with the thresholds that the calibrators choose."""

import math

import calibrators

WIDTH, HEIGHT, LEFT, TOP, RIGHT = 720, 300, 62, 64, 12
DECADES = (-5, -1)  # of the error
STEPS = 60
FIRST = 0.4  # the least threshold that is drawn, of the largest value


def main() -> None:
    """Print the figure."""
    values = calibrators.drawn(calibrators.SAMPLES, calibrators.TAIL, calibrators.OUTLIER)
    largest = calibrators.maximum(values)
    chosen = {
        "max": largest,
        f"{calibrators.KEPT} %": calibrators.percentile(values),
        "TRT": calibrators.tensorrt_entropy(calibrators.magnitudes(values, calibrators.TRT_BINS, largest), largest),
        "ORT": calibrators.one_scale(calibrators.entropy(calibrators.histogram(values, calibrators.BINS, largest), largest), values),
        "MSE": calibrators.least_squares(values),
    }
    thresholds = [largest * (FIRST + (1 - FIRST) * step / STEPS) for step in range(STEPS + 1)]
    clipped, rounded = [], []
    for threshold in thresholds:
        outside = [value for value in values if abs(value) > threshold]
        inside = [value for value in values if abs(value) <= threshold]
        clipped.append(calibrators.error(outside, threshold) * len(outside) / len(values) if outside else 0.0)
        rounded.append(calibrators.error(inside, threshold) * len(inside) / len(values))
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT + TOP + 40}" role="img" aria-labelledby="thresholds-caption" '
            f'data-search-exclude font-family="var(--figure-font, monospace)" font-size="13" fill="{colour("ink")}">'
        )
    ]
    for decade in range(DECADES[0], DECADES[1] + 1):
        y = height(10.0**decade)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{colour("line")}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="{colour("muted")}">1e{decade}</text>')
    for errors, shade, dash in ((clipped, "hot", ""), (rounded, "a", ""), ([a + b for a, b in zip(clipped, rounded, strict=True)], "ink", "4 3")):
        points = [
            (place(threshold, largest), height(value)) for threshold, value in zip(thresholds, errors, strict=True) if value > 10.0 ** DECADES[0]
        ]
        line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(
            f'<path d="{line}" fill="none" stroke="{colour(shade)}" stroke-width="2.5"' + (f' stroke-dasharray="{dash}"/>' if dash else "/>")
        )
    for index, (name, threshold) in enumerate(sorted(chosen.items(), key=lambda item: item[1])):
        x = place(threshold, largest)
        parts.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT + TOP}" stroke="{colour("muted")}" stroke-dasharray="2 3"/>')
        anchor = "end" if x > WIDTH - 90 else "middle"
        parts.append(f'<text x="{min(x, WIDTH - RIGHT):.1f}" y="{TOP - 8 - 18 * (index % 3)}" text-anchor="{anchor}">{name}</text>')
    parts += [
        f'<text x="{place(number, largest):.1f}" y="{HEIGHT + TOP + 18}" text-anchor="middle" fill="{colour("muted")}">{number}</text>'
        for number in range(math.ceil(largest * FIRST), math.floor(largest) + 1)
    ]
    print("\n".join([*parts, "</svg>"]))


def place(threshold: float, largest: float) -> float:
    """Give the place of a threshold."""
    return LEFT + (threshold / largest - FIRST) / (1 - FIRST) * (WIDTH - LEFT - RIGHT)


def height(error: float) -> float:
    """Give the height of an error."""
    return TOP + HEIGHT * (DECADES[1] - math.log10(error)) / (DECADES[1] - DECADES[0])


def colour(name: str) -> str:
    """Give a colour of the site's theme, with what stands in for it elsewhere."""
    elsewhere = {"ink": "#222222", "muted": "#666666", "line": "#cccccc", "a": "#7aa6d8", "hot": "#e08a7a"}
    return f"var(--figure-{name}, {elsewhere[name]})"


if __name__ == "__main__":
    main()
