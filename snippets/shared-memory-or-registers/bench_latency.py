"""Measure how long one warp waits for a number in each place: a register, another lane's, shared, local and constant memory, the caches, DRAM."""

import json
import statistics
from pathlib import Path
from typing import Any

import gpu

SOURCE = Path(__file__).with_name("latency.cu")
STEPS = 4096  # a multiple of 16, which the kernels unroll
REPEAT = 7
LINE_BYTES, L2_HOP_BYTES, DRAM_HOP_BYTES = 128, 256, 16_896  # the last lands in another DRAM page each time
L1_NODES, L2_NODES, DRAM_NODES = 128, 8192, 65_536  # 16 KiB, 2 MiB, 1.1 GB of addresses
FLUSH_BYTES = 2**29  # written before each walk through DRAM

TABLES = {
    "ladder": {
        "place": ("数在哪里", "Where the number is"),
        "measured_cycles": ("一步的周期", "Cycles a step"),
    },
}
Row = dict[str, Any]
INPUTS: dict[str, Row] = {
    "register": {"place": "register", "kernel": "chain_register"},
    "shuffle": {"place": "register of another lane", "kernel": "chain_shuffle"},
    "shared": {"place": "shared", "kernel": "chain_shared"},
    "cluster": {"place": "shared of another block", "kernel": "chain_cluster"},
    "constant": {"place": "constant, one word", "kernel": "chain_constant", "words": 1},
    "constant_32": {"place": "constant, 32 words", "kernel": "chain_constant", "words": 32},
    "local": {"place": "local, in L1", "kernel": "chain_local"},
    "l1": {"place": "global, in L1", "kernel": "chain_l1", "nodes": L1_NODES, "hop_bytes": LINE_BYTES},
    "l2": {"place": "global, in L2", "kernel": "chain_l2", "nodes": L2_NODES, "hop_bytes": L2_HOP_BYTES},
    "dram": {"place": "global, in DRAM", "kernel": "chain_l2", "nodes": DRAM_NODES, "hop_bytes": DRAM_HOP_BYTES},
}


def predict(_row: Row) -> Row:
    """Predict nothing: latencies are published by nobody and only measured."""
    return {}


def check(rows: dict[str, Row]) -> None:
    """Assert what the page says of these rows."""
    cycles = {name: row["measured_cycles"] for name, row in rows.items()}
    bounds = {
        "register": (4, 5),
        "shared": (22, 24),
        "shuffle": (25, 27),
        "constant": (27, 31),
        "local": (27, 31),
        "l1": (32, 36),
        "cluster": (180, 210),
        "l2": (260, 300),
        "dram": (600, 750),
    }
    for name, (least, most) in bounds.items():
        assert least < cycles[name] < most, f"{name}: {cycles}"
    each = (cycles["constant_32"] - cycles["constant"]) / 31
    assert 10 < each < 12, f"{each} cycles for each further word: {cycles}"


def main() -> None:
    """Walk each chain, and print the rows."""
    rows = {name: row | {"measured_cycles": walked(row)} for name, row in INPUTS.items()}
    for name, row in rows.items():
        gpu.say(f"{name}: {row}")
    check(rows)
    print(json.dumps({"rows": rows}))


def walked(row: Row) -> float:
    """Give the cycles of a step: the median of some launches of one warp."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too

    kernel = gpu.kernel(SOURCE, row["kernel"])
    cold = row["place"].endswith("DRAM")
    result, junk = cupy.zeros((32, 2), cupy.uint64), cupy.empty(FLUSH_BYTES if cold else 1, cupy.uint8)
    nodes, hop = row.get("nodes", 0), row.get("hop_bytes", 8)
    places = cupy.zeros(max(nodes, 1) * hop // 8, cupy.uint64)
    start = places.data.ptr
    warm, steps = (0 if cold else max(nodes, 64)), max(nodes, STEPS)
    if nodes:
        places[:: hop // 8] = cupy.uint64(start) + cupy.arange(1, nodes + 1, dtype=cupy.uint64) % cupy.uint64(nodes) * cupy.uint64(hop)
    else:
        start = 4 if row.get("words") == 32 else 0
    cycles: list[float] = []
    for _ in range(REPEAT):
        junk.fill(0)
        kernel((2,) if row["kernel"] == "chain_cluster" else (1,), (32,), (cupy.uint64(start), result, cupy.int32(warm), cupy.int32(steps)))
        cycles.append(int(result[:, 0].max()) / steps)
        if nodes:
            end = start + (warm + steps) % nodes * hop
            assert (result[:, 1] == end).all(), f"{row} ended elsewhere"
    return round(statistics.median(cycles), 2)


if __name__ == "__main__":
    main()
