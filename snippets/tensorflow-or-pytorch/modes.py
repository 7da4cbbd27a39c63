"""Predict kernels, launches, memory and traffic of a residual network: operation by operation or fused, launched or as one graph."""

from typing import Any

from graph import PRODUCTS, Node, feed, kernels, merge, ordered, through_views
from tape import gradients

# --8<-- [start:model]
BLOCKS = 8  # 1..16: residual blocks, one behind the other
WIDTH = 1024  # 64 | 256 | 1024 | 4096: features
BATCH = 4096  # 16 | 256 | 4096 | 65536: rows
BYTES = 2  # 2 | 4: of a number


def block(x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    """Give one residual block: 7 operations. The bench calls this very function with PyTorch's tensors."""
    h = x @ w1 + b1
    h = h * h.sigmoid()
    return x + (h @ w2 + b2)


def time_us(submit_us: float, kernels_us: float, *, host_first: bool = False) -> float:
    """Give the time of a run alone: host and GPU overlap, and the longer one counts; if the host has to be done first, they add up."""
    return submit_us + kernels_us if host_first else max(submit_us, kernels_us)


def most_alive(outputs: list[Node], cut: list[list[Node]]) -> int:
    """Count the numbers in memory at the worst moment, if a result is freed behind the last kernel that reads it."""
    home = {node: index for index, kernel in enumerate(cut) for node in kernel}
    last = {through_views(node): len(cut) for node in outputs}
    for node, index in home.items():
        for each in map(through_views, node.inputs):
            if home.get(each, index) != index:
                last[each] = max(last.get(each, 0), index)
    alive = [sum(size(node) for node, end in last.items() if node in home and home[node] <= index <= end) for index in range(len(cut))]
    return max(alive)


# --8<-- [end:model]
def network(batch: int, width: int, blocks: int) -> tuple[Node, list[Node]]:
    """Give the graph of the network: its output, and its parameters."""
    y, parameters = feed("x", (batch, width)), list[Node]()
    for number in range(blocks):
        shapes = {"w1": (width, width), "b1": (1, width), "w2": (width, width), "b2": (1, width)}
        mine = [feed(f"{name}_{number}", shape) for name, shape in shapes.items()]
        y = block(y, *mine)
        parameters += mine
    return y, parameters


def outputs_of(batch: int, width: int, blocks: int, *, train: bool) -> list[Node]:
    """Give the output, and to train also the gradients of all parameters for a given gradient of the output."""
    y, parameters = network(batch, width, blocks)
    return merge([y, *gradients(ordered([y]), y, feed("seed", y.shape), parameters)]) if train else [y]


def traffic(outputs: list[Node], cut: list[list[Node]], *, products: bool) -> tuple[int, int]:
    """Count the numbers that kernels read and write; products: those with a matrix product in them, else the others."""
    home = {node: index for index, kernel in enumerate(cut) for node in kernel}
    used = {through_views(each) for node in home for each in node.inputs if home.get(through_views(each)) != home[node]} | set(outputs)
    read = written = 0
    for index, kernel in enumerate(cut):
        if any(node.operation in PRODUCTS for node in kernel) == products:
            read += sum(size(each) for each in {through_views(each) for node in kernel for each in node.inputs} if home.get(each) != index)
            written += sum(size(node) for node in kernel if node in used)
    return read, written


def size(node: Node) -> int:
    """Count the numbers of a node's matrix."""
    return node.shape[0] * node.shape[1]


def main() -> None:
    """Print what each way of running costs."""
    print(f"{BLOCKS} blocks, {BATCH:,} x {WIDTH:,}, {BYTES} bytes       kernels  launches  as a graph  peak MB  elementwise MB")
    for train in (False, True):
        outputs = outputs_of(BATCH, WIDTH, BLOCKS, train=train)
        for fuse in (False, True):
            cut = kernels(outputs, fuse=fuse)
            moved, peak = sum(traffic(outputs, cut, products=False)), most_alive(outputs, cut)
            name = f"{'training' if train else 'inference'}, {'fused' if fuse else 'one by one'}"
            print(f"{name:36}{len(cut):8}{len(cut):10}{1:12}{peak * BYTES / 1e6:9,.1f}{moved * BYTES / 1e6:16,.1f}")


if __name__ == "__main__":
    main()
