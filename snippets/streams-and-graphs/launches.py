"""Predict how long n equal kernels take, launched one by one into a stream or as one graph, and when the graph has paid.

All times are microseconds. The costs are measured ones: bench_launches.py reads them off a GPU and passes its own.
"""

# --8<-- [start:model]
from math import ceil
from typing import NamedTuple

# Change these and run again.
KERNELS, KERNEL_US = 50, 2.0  # a chain: each kernel waits for the one before


class Costs(NamedTuple):
    """What launching costs, apart from the kernels themselves."""

    launch_us: float  # the host, for each kernel launched into a stream
    gap_us: float  # the GPU, from one kernel of a stream to the next
    first_us: float  # from the call to the end of one empty kernel, seen by the host
    node_us: float  # the host, for each further node of a graph that it launches
    node_gap_us: float  # the GPU, from one node of a chain to the next
    graph_us: float  # first_us of a graph with one empty kernel


H200 = Costs(launch_us=4.0, gap_us=1.3, first_us=12.0, node_us=0.01, node_gap_us=0.54, graph_us=10.0)  # about; hosts differ
BUILD_US = 120.0  # capture, instantiate, and upload with the first launch


def stream_us(kernels: int, kernel_us: float, costs: Costs) -> float:
    """Give the time of n launches: each further one takes what the slower of the host and the GPU takes."""
    return costs.first_us + kernel_us + (kernels - 1) * max(costs.launch_us, kernel_us + costs.gap_us)


def graph_us(kernels: int, kernel_us: float, costs: Costs) -> float:
    """Give the time of one launch of a graph of n kernels: the host no longer comes between them."""
    return costs.graph_us + kernel_us + (kernels - 1) * max(costs.node_us, kernel_us + costs.node_gap_us)


def host_bound_below_us(costs: Costs) -> float:
    """Give the length of a kernel below which a stream waits for the host."""
    return max(0.0, costs.launch_us - costs.gap_us)


def replays_to_pay(build_us: float, stream: float, graph: float) -> int | None:
    """Give the replays after which building the graph was worth it; None if never."""
    return ceil(build_us / (stream - graph)) if stream > graph else None


def update_error(nodes: int, new_nodes: int) -> int:
    """Give the error of updating an executable chain from another one: cudaErrorGraphExecUpdateFailure unless the topology is the same."""
    return 0 if nodes == new_nodes else 910


# --8<-- [end:model]


def main() -> None:
    """Print both ways over the length of a kernel, and what it takes until the graph has paid."""
    print(f"{KERNELS} kernels; the host is what a stream waits for below {host_bound_below_us(H200):.1f} us")
    print(" kernel us   stream us    graph us   speed-up   replays until it has paid")
    for kernel_us in sorted({0.0, 1.0, KERNEL_US, 5.0, 10.0, 20.0, 50.0, 100.0}):
        stream, graph = (function(KERNELS, kernel_us, H200) for function in (stream_us, graph_us))
        print(f"{kernel_us:10.1f} {stream:11.1f} {graph:11.1f} {stream / graph:10.2f} {replays_to_pay(BUILD_US, stream, graph) or 'never':>8}")


if __name__ == "__main__":
    main()
