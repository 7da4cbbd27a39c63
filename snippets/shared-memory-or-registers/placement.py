"""Decide where a kernel keeps a piece of data: by who needs it, how it is indexed, how often it is read, how large it is.

Scopes, sizes and what the compiler does: CUDA Programming Guide 13, sections 2.2.3 and 5.1.3; sizes of compute capability 9.0.
"""

# --8<-- [start:model]
from dataclasses import dataclass

# Change these five and run again.
NEEDED_BY = "thread"  # "thread", "warp", "block", "cluster" or "grid"
INDEX = "run time"  # "constant" when the compiler knows every index, else "run time"
READS = 8  # how often each number is read
BYTES = 256  # one copy: a thread's, a block's, ...
UNIFORM = False  # never written, and all lanes read one address at a time

KIB = 1024
THREAD_BYTES = 255 * 4  # registers of a thread; addresses and counters need some of them
BLOCK_BYTES = 227 * KIB  # shared memory that a block can ask for
CONSTANT_BYTES = 64 * KIB


@dataclass(frozen=True)
class Data:
    """What is known of a piece of data before a line is written."""

    needed_by: str = "thread"
    index: str = "constant"
    reads: int = 2
    bytes: int = 4
    uniform: bool = False


def place(data: Data) -> tuple[str, str]:
    """Give the place, and the reason or what to do about it.

    Raises ValueError for a scope or an index that is none.
    """
    if data.needed_by not in SCOPES or data.index not in {"constant", "run time"}:
        raise ValueError(f"needed by {data.needed_by}, index {data.index}?")
    if data.uniform and data.bytes <= CONSTANT_BYTES:
        return "constant", "one address a warp, never written"
    return SCOPES[data.needed_by](data)


def of_thread(data: Data) -> tuple[str, str]:
    """Place what one thread alone needs."""
    if data.index == "run time":
        return "local", "registers have no index: unroll, or shared [i][thread]"
    if data.bytes > THREAD_BYTES:
        return "local", "more than 255 registers: split it among threads"
    if data.reads == 1:
        return "register", "load, use, forget: no detour"
    return "register", "no instruction to read it"


def of_warp(data: Data) -> tuple[str, str]:
    """Place what the lanes of a warp tell each other."""
    if data.index == "run time" and data.bytes > 32 * 4:
        return "shared", "a table: shuffles pass one register on"
    return "register", "pass it on by shuffle"


def of_block(data: Data) -> tuple[str, str]:
    """Place what threads of several warps need."""
    if data.bytes > BLOCK_BYTES:
        return "global", "too large: a tile of it at a time in shared"
    if data.reads == 1:
        return "shared", "write, barrier, read: exchanged"
    return "shared", "write, barrier, read: one load for many readers"


def of_cluster(data: Data) -> tuple[str, str]:
    """Place what several blocks of a cluster need."""
    if data.bytes > BLOCK_BYTES:
        return "global", "too large for one block's shared memory"
    return "shared", "the other blocks read it as distributed shared memory"


def of_grid(data: Data) -> tuple[str, str]:
    """Place what all blocks need, or what outlives the kernel."""
    if data.reads == 1:
        return "global", "through registers, coalesced"
    return "global", "the L2 serves the blocks"


SCOPES = {
    "thread": of_thread,
    "warp": of_warp,
    "block": of_block,
    "cluster": of_cluster,
    "grid": of_grid,
}
# --8<-- [end:model]

EXAMPLES = {
    "loop counter": Data(reads=100),
    "4 x 4 sums of a GEMM": Data(reads=1024, bytes=64),
    "ring buffer, i % 64": Data(index="run time", reads=2, bytes=256),
    "table of 300 floats": Data(reads=10, bytes=1200),
    "partial sums, a warp": Data("warp", reads=5),
    "partial sums, a block": Data("block", reads=1, bytes=32),
    "64 x 16 tile of A": Data("block", "run time", 64, 4096),
    "tile to transpose": Data("block", "run time", 1, 32 * 33 * 4),
    "histogram, 256 bins": Data("block", "run time", 100, 1024),
    "bins, 4 blocks each 1/4": Data("cluster", "run time", 100, 128 * KIB),
    "filter coefficients": Data("grid", "constant", 10_000, 100, uniform=True),
    "lookup, lanes differ": Data("block", "run time", 1000, 1024),
    "x of y = a x + y": Data(reads=1),
    "result": Data("grid", reads=1, bytes=2**20),
}


def main() -> None:
    """Print the case of the parameters, then the examples."""
    print(line("your case", Data(NEEDED_BY, INDEX, READS, BYTES, UNIFORM)))
    print()
    for name, data in EXAMPLES.items():
        print(line(name, data))


def line(name: str, data: Data) -> str:
    """Write one row."""
    where, why = place(data)
    return f"{name:<24}{where:<10}{why}"


if __name__ == "__main__":
    main()
