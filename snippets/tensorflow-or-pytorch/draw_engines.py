"""Draw one layer as a tape, as a graph, and as what the graph's passes leave of it."""

from collections.abc import Iterator

from graph import NO_WORK, Node, constant, feed, fold, kernels, merge, ordered
from tape import Number, network, values

WIDTH, HEIGHT = 720, 372
BOX, TALL, STEP, FIRST = 118, 26, 56, 62  # a box, and from one row to the next
INK, MUTED, LINE = "var(--figure-ink, #222222)", "var(--figure-muted, #666666)", "var(--figure-line, #cccccc)"
WORK, KNOWN, KERNEL = "var(--figure-a, #7aa6d8)", "var(--figure-c, #e0b060)", "var(--figure-b, #90c890)"
X, W, B = (values(*shape, seed) for seed, shape in enumerate(((3, 4), (4, 2), (1, 2))))
SCALE = 0.5
NAMES = {W: "w", B: "b", ((SCALE,),): f"{SCALE}"}


def main() -> None:
    """Print the figure."""
    written = [network(feed("x", (3, 4)), constant(W), constant(B), SCALE)]
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="engines-caption" data-search-exclude '
        'font-family="var(--figure-font, monospace)" font-size="13">'
    )
    for left, name in ((8, "tape"), (172, "graph"), (500, "fold, merge, fuse")):
        print(text(left, 20, name, ""))
    print(f'<path d="M150 8V{HEIGHT - 8}M476 8V{HEIGHT - 8}" stroke="{LINE}"/>')
    print("\n".join([*tape_of(), *graph_of(written, 172), *graph_of(merge(fold(written)), 500, fused=True)]))
    print("</svg>")


def tape_of() -> Iterator[str]:
    """Draw the operations in the order in which they ran, and the way back."""
    tape: list[Number] = []
    network(Number(X, tape), Number(W, tape), Number(B, tape), SCALE)
    for row, record in enumerate(tape):
        yield box(8, 40 + row * 40, 104, WORK, f"{row + 1} {record.operation}")
    bottom = 40 + len(tape) * 40 - 14
    yield f'<path d="M128 {bottom}V46m-5 10l5 -10l5 10" fill="none" stroke="{INK}" stroke-width="1.5"/>'


def graph_of(outputs: list[Node], left: int, *, fused: bool = False) -> Iterator[str]:
    """Draw a graph's operations by depth, with edges, and what is known beforehand beside them."""
    depth: dict[Node, int] = {}
    places: dict[Node, tuple[float, float]] = {}
    taken: dict[int, int] = {}
    order = [node for node in ordered(outputs) if node.operation not in NO_WORK]
    for node in order:
        depth[node] = max((depth[each] + 1 for each in node.inputs if each in depth), default=0)
    for node in order:
        column = taken.get(depth[node], 0)
        taken[depth[node]] = column + 1
        alone = sum(each == depth[node] for each in depth.values()) == 1
        across = 1 if alone and depth[node] == 3 and not fused else 0.5 if alone and not fused else column
        places[node] = (left + across * (BOX + 36), FIRST + depth[node] * STEP)
    if fused:
        group = next(kernel for kernel in kernels(outputs, fuse=True) if len(kernel) > 1)
        top, bottom = (bound(places[node][1] for node in group) for bound in (min, max))
        yield f'<rect x="{left - 10}" y="{top - 10}" width="{BOX + 82}" height="{bottom - top + TALL + 20}" rx="8" fill="{KERNEL}" stroke="{INK}"/>'
    for node, (x, y) in places.items():
        for each in node.inputs:
            if each in places:
                a, b = places[each]
                skipped = depth[node] - depth[each] > 1 and a == x
                path = f"M{a + BOX} {b + TALL / 2}h26V{y + TALL / 2}H{x + BOX}" if skipped else f"M{a + BOX / 2} {b + TALL}L{x + BOX / 2} {y}"
                yield f'<path d="{path}" fill="none" stroke="{INK}"/>'
    for node, (x, y) in places.items():
        given = " ".join(named(each) for each in node.inputs if each not in places)
        yield box(x, y, BOX, WORK, f"{node.operation} {given}".strip())
    if fused:
        yield box(left, FIRST - 6 + 4 * STEP, BOX, KNOWN, f"w' = {named(constant(W))} * {SCALE}")


def named(node: Node) -> str:
    """Name what a node holds before the graph runs."""
    return str(node.data) if node.operation == "feed" else NAMES.get(node.data, "w'")


def box(x: float, y: float, width: float, fill: str, label: str) -> str:
    """Draw a box with a label."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width}" height="{TALL}" rx="3" fill="{fill}" stroke="{INK}" stroke-width="0.8"/>' + text(
        x + width / 2, y + 17, label, "middle"
    )


def text(x: float, y: float, label: str, anchor: str = "", fill: str = INK) -> str:
    """Draw a label."""
    where = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:g}" y="{y:g}"{where} fill="{fill}">{label}</text>'


if __name__ == "__main__":
    main()
