"""Define-and-run: operations become nodes of a graph, which is improved, planned, saved, and run later, without the code that built it."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from tape import COMPUTE, Matrix, Number, Value, branch, gradients, network, ones, scalar, values

# --8<-- [start:model]
TRACED_AT = 2.0  # -4..4 by 0.5: the example with which branch is traced
RUN_AT = -2.0  # -4..4 by 0.5: what the traced graph is then fed


class Node(Value):
    """The define-and-run engine: apply only notes the operation."""

    def __init__(self, operation: str, inputs: tuple[Any, ...], data: Any, shape: tuple[int, int], example: Matrix | None = None) -> None:
        """Note an operation, or a "feed" whose data is its name, or a "constant" whose data is its value."""
        self.operation, self.inputs, self.data, self.shape, self.example = operation, inputs, data, shape, example

    def apply(self, operation: str, *inputs: Any) -> Self:
        """Note one operation; if the inputs come with examples, compute one for it."""
        given = tuple(each if isinstance(each, Node) else constant(scalar(each)) for each in inputs)
        known = all(each.example is not None for each in given)
        example = COMPUTE[operation](*(each.example for each in given)) if known else None
        return type(self)(operation, given, None, shape_of(operation, *(each.shape for each in given)), example)

    def __bool__(self) -> bool:
        """Answer Python's if and while: by the example, and then the other side is not in the graph; without one, not at all."""
        if self.example is None:
            raise TypeError("a node has no value before the graph runs: Python's if cannot ask it")
        return bool(self.example[0][0])


def fold(outputs: list[Node]) -> list[Node]:
    """Compute now what depends on constants alone."""

    def rule(node: Node) -> Node:
        if node.inputs and all(each.operation == "constant" for each in node.inputs):
            return constant(COMPUTE[node.operation](*(each.data for each in node.inputs)))
        return node

    return rebuilt(outputs, rule)


def merge(outputs: list[Node]) -> list[Node]:
    """Keep one of the nodes that do the same to the same inputs: common subexpressions."""
    seen: dict[Any, Node] = {}
    return rebuilt(outputs, lambda node: seen.setdefault((node.operation, node.inputs, node.data), node))


def kernels(outputs: list[Node], *, fuse: bool) -> list[list[Node]]:
    """Cut a graph into kernels. Fused: connected element-wise nodes with as many products and sums before them are one kernel."""
    order = ordered(outputs)
    if not fuse:
        return [[node] for node in order if node.operation not in NO_WORK]
    level: dict[Node, int] = {}
    groups: dict[Node, list[Node]] = {}
    for node in order:
        level[node] = max((level[each] + (each.operation in BARRIERS) for each in node.inputs), default=0)
        groups[node] = [node]
        for each in node.inputs if node.operation not in PRODUCTS | NO_WORK else ():
            if each.operation in ELEMENTWISE and level[each] == level[node] and groups[each] is not groups[node]:
                joined = groups[each] + groups[node]
                groups.update(dict.fromkeys(joined, joined))
    place = {node: (level[node], node.operation in PRODUCTS, index) for index, node in enumerate(order)}
    found = {id(group): group for group in groups.values() if group[-1].operation not in NO_WORK}
    return sorted(found.values(), key=lambda group: place[group[-1]])


# --8<-- [end:model]
def rebuilt(outputs: list[Node], rule: Callable[[Node], Node]) -> list[Node]:
    """Build what the outputs need anew, in order, each node by a rule. What nothing needs is gone: dead code."""
    new: dict[Node, Node] = {}
    for node in ordered(outputs):
        inputs = tuple(new[each] for each in node.inputs)
        new[node] = rule(Node(node.operation, inputs, node.data, node.shape))
    return [new[node] for node in outputs]


def plan(outputs: list[Node], cut: list[list[Node]]) -> list[int]:
    """Give the sizes of the buffers (in numbers) that the kernels need, in order, when each is used again as soon as it is free."""
    where = {node: index for index, kernel in enumerate(cut) for node in kernel}
    last: dict[Node, int] = {}
    for node in ordered(outputs):
        for each in node.inputs:
            source = through_views(each)
            if node in where and where.get(source) != where[node]:
                last[source] = max(last.get(source, 0), where[node])
    last |= {through_views(node): len(cut) for node in outputs}
    buffers: list[list[int]] = []  # size, the kernel after which it is free
    for index, kernel in enumerate(cut):
        for node in kernel:
            if node in last:
                size = node.shape[0] * node.shape[1]
                free = next((each for each in buffers if each[1] < index and each[0] == size), None)
                if free:
                    free[1] = last[node]
                else:
                    buffers.append([size, last[node]])
    return [size for size, _ in buffers]


def save(outputs: list[Node]) -> str:
    """Write a graph as JSON: a list of nodes that name their inputs by number."""
    number = {node: index for index, node in enumerate(ordered(outputs))}
    nodes = [[node.operation, [number[each] for each in node.inputs], node.data] for node in number]
    return json.dumps({"nodes": nodes, "outputs": [number[node] for node in outputs]})


def run(text: str, **feeds: Matrix) -> list[Matrix]:
    """Run a saved graph; of the code that built it, nothing is needed."""
    graph = json.loads(text)
    results: list[Matrix] = []
    for operation, inputs, data in graph["nodes"]:
        arguments = [results[index] for index in inputs]
        results.append(data if operation == "constant" else feeds[data] if operation == "feed" else COMPUTE[operation](*arguments))
    return [results[index] for index in graph["outputs"]]


NO_WORK = {"feed", "constant", "transpose"}  # a transposed matrix is a view of the same numbers
PRODUCTS = {"matmul"}
BARRIERS = {"matmul", "sum_0", "sum_1"}  # what follows needs all of their result, so it is another kernel
ELEMENTWISE = {"add", "mul", "greater", "where", "sigmoid", "sigmoid_gradient"}


def constant(data: Matrix) -> Node:
    """Give a node that is a value."""
    return Node("constant", (), data, (len(data), len(data[0])), data)


def feed(name: str, shape: tuple[int, int] = (1, 1), example: Matrix | None = None) -> Node:
    """Give a node whose value comes when the graph runs."""
    return Node("feed", (), name, shape, example)


def shape_of(operation: str, *shapes: tuple[int, int]) -> tuple[int, int]:
    """Give the shape of what an operation gives."""
    match operation:
        case "matmul":
            return shapes[0][0], shapes[1][1]
        case "transpose":
            return shapes[0][1], shapes[0][0]
        case "sum_0":
            return 1, shapes[0][1]
        case "sum_1":
            return shapes[0][0], 1
    return max(shape[0] for shape in shapes), max(shape[1] for shape in shapes)


def through_views(node: Node) -> Node:
    """Give the node whose numbers a view shows."""
    return through_views(node.inputs[0]) if node.operation == "transpose" else node


def ordered(outputs: Sequence[Node]) -> list[Node]:
    """Give the nodes that the outputs need, each behind its inputs."""
    found: dict[Node, None] = {}

    def visit(node: Node) -> None:
        if node not in found:
            for each in node.inputs:
                visit(each)
            found[node] = None

    for node in outputs:
        visit(node)
    return list(found)


def stages(outputs: list[Node]) -> Iterator[tuple[str, list[Node], bool]]:
    """Give a graph after each pass: the pass's name, the outputs, and whether its kernels are fused."""
    yield "as written", outputs, False
    yield "constants folded", (outputs := fold(outputs)), False
    yield "common merged", (outputs := merge(outputs)), False
    yield "kernels fused", outputs, True


def traced(model: Callable[[Any], Any], at: float) -> str:
    """Trace a model with an example and save the graph."""
    return save([model(feed("x", example=scalar(at)))])


def chosen(x: Any) -> Any:
    """Give branch with the choice as an operation of the graph: both sides are in it."""
    return x.apply("where", x > 0.0, x * x + x * 3.0, x * -1.0)


def main() -> None:
    """Print the network after each pass, whether the gradients are the tape's, and what becomes of an if."""
    x, w, b = (values(*shape, seed) for seed, shape in enumerate(((3, 4), (4, 2), (1, 2))))
    graph = [network(feed("x", (3, 4)), constant(w), constant(b), 0.5)]
    print(f"{'network':18}operations  kernels  buffers  numbers in them")
    for name, outputs, fused in stages(graph):
        cut = kernels(outputs, fuse=fused)
        sizes = plan(outputs, cut)
        operations = sum(node.operation not in NO_WORK for node in ordered(outputs))
        print(f"{name:18}{operations:10}{len(cut):9}{len(sizes):9}{sum(sizes):17}")
    text = save(outputs)
    print(f"saved: {len(text) / 1000:.1f} kB; the same result from the text alone: {run(text, x=x) == run(save(graph), x=x)}")

    feeds = feed("x", (3, 4)), feed("w", (4, 2)), feed("b", (1, 2))
    y = network(*feeds, 0.5)
    built = gradients(ordered([y]), y, constant(ones(y.shape)), feeds)
    tape: list[Number] = []
    numbers = Number(x, tape), Number(w, tape), Number(b, tape)
    result = network(*numbers, 0.5)
    taped = gradients(tape, result, Number(ones(result.shape), tape), numbers)
    same = run(save(merge(built)), x=x, w=w, b=b) == [each.data for each in taped]
    print(f"gradients of x, w and b, by graph and by tape, are equal: {same}")

    try:
        branch(feed("x"))
    except TypeError as error:
        print(f"if, without an example: {error}")
    text, right = traced(branch, TRACED_AT), branch(Number(scalar(RUN_AT), [])).data[0][0]
    print(f"if, traced at {TRACED_AT:g}, run at {RUN_AT:g}: {run(text, x=scalar(RUN_AT))[0][0][0]:g}; the tape: {right:g}")
    print(f"where, run at {RUN_AT:g}: {run(save([chosen(feed('x'))]), x=scalar(RUN_AT))[0][0][0]:g}")


if __name__ == "__main__":
    main()
