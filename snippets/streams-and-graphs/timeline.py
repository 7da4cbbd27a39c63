"""Predict when the operations of a CUDA program run: streams, engines, dependencies, and the host that submits them.

All times are milliseconds. One copy engine serves each direction, and kernels share the multiprocessors; contention for
memory or for the bus is left out. The rules of streams are those of the CUDA Programming Guide, section 2.3.
"""

# --8<-- [start:model]
from math import inf
from typing import NamedTuple

# Change these and run again.
CHUNKS, STREAMS = 3, 3  # chunk i is copied in, worked on and copied out in stream i % STREAMS
H2D_MS, KERNEL_MS, D2H_MS = 1.0, 1.0, 1.0
KERNEL_SHARE = 0.125  # of the multiprocessors, that one kernel fills
SUBMIT_MS = 0.005  # the host's time for one call


class Operation(NamedTuple):
    """One asynchronous call: what it is, in which stream, on which engine, for how long."""

    name: str
    stream: str
    engine: str
    ms: float
    share: float = 1.0  # of the engine
    holds_host: bool = False  # a copy from or to pageable memory: the call returns when it is done
    barrier: bool = False  # in the legacy default stream, among blocking streams
    after: tuple[int, ...] = ()  # operations whose events it waits for


class Chunk(NamedTuple):
    """What one piece of the data takes: the copy in, the kernel and its share of the multiprocessors, the copy out."""

    h2d_ms: float
    kernel_ms: float
    d2h_ms: float
    share: float


def pipeline(chunks: int, streams: int, chunk: Chunk, *, pinned: bool = True, default: str = "") -> list[Operation]:
    """Give a program that copies chunks in, works on them and copies them out, in the order in which the host submits it.

    default: "legacy" or "other" puts a tiny kernel behind each chunk, into the legacy default stream or one that blocks nothing.
    """
    program: list[Operation] = []
    for i in range(chunks):
        stream = str(i % streams + 1)
        program += [
            Operation("H", stream, "H2D", chunk.h2d_ms, holds_host=not pinned),
            Operation("K", stream, "SM", chunk.kernel_ms, chunk.share),
            Operation("D", stream, "D2H", chunk.d2h_ms, holds_host=not pinned),
        ]
        if default:
            program.append(Operation("0", "0", "SM", 0.01, 0.001, barrier=default == "legacy"))
    return program


def copies_out_last(program: list[Operation]) -> list[Operation]:
    """Give the same program, submitted in another order."""
    return sorted(program, key=lambda operation: operation.name == "D")


def earlier(program: list[Operation], index: int) -> list[int]:
    """Give the operations that must have ended before one begins: of its stream, of its events, across a barrier."""
    this = program[index]
    in_order = [i for i in range(index) if program[i].stream == this.stream or program[i].barrier or this.barrier]
    return [*in_order, *this.after]


def simulate(program: list[Operation], submit_ms: float) -> tuple[list[tuple[float, float]], float]:
    """Give when each operation starts and ends, and when the host has submitted them all."""
    start, end = [inf] * len(program), [inf] * len(program)
    submitted, now = 0, 0.0
    host_free = submit_ms  # when the host's next call gets through; inf while a copy holds the host
    while inf in start:
        while submitted < len(program) and host_free <= now:
            host_free = inf if program[submitted].holds_host else now + submit_ms
            submitted += 1
        for i in range(submitted):
            used = sum(other.share for other, s, e in zip(program, start, end, strict=True) if other.engine == program[i].engine and s <= now < e)
            if start[i] == inf and used + program[i].share <= 1 and all(end[j] <= now for j in earlier(program, i)):
                start[i], end[i] = now, now + program[i].ms
        if host_free == inf and end[submitted - 1] < inf:
            host_free = end[submitted - 1] + submit_ms
        now = min(time for time in [*end, host_free if submitted < len(program) else inf] if time > now)
    return list(zip(start, end, strict=True)), host_free - submit_ms


def makespan(program: list[Operation], submit_ms: float) -> float:
    """Give the time from the first operation's start to the last one's end."""
    slots, _ = simulate(program, submit_ms)
    return max(end for _, end in slots) - min(start for start, _ in slots)


# --8<-- [end:model]


def kernels(count: int, streams: int, ms: float, share: float) -> list[Operation]:
    """Give equal kernels that do not depend on each other, dealt to streams in turn."""
    return [Operation("K", str(i % streams + 1), "SM", ms, share) for i in range(count)]


def chart(program: list[Operation], submit_ms: float, column_ms: float) -> list[str]:
    """Draw a line of text a stream, one letter a column."""
    slots, _ = simulate(program, submit_ms)
    lines = []
    for stream in sorted({operation.stream for operation in program}):
        line = [" "] * 66
        for operation, (start, end) in zip(program, slots, strict=True):
            if operation.stream == stream:
                first, last = round(start / column_ms), round(end / column_ms)
                line[first : max(last, first + 1)] = operation.name * max(last - first, 1)
        lines.append(f"  stream {stream}  {''.join(line[:66]).rstrip()}")
    return lines


def main() -> None:
    """Print four programs: what runs when, and how long it all takes."""
    chunk = Chunk(H2D_MS, KERNEL_MS, D2H_MS, KERNEL_SHARE)
    column_ms = max(CHUNKS * sum(chunk[:3]) / 54, 1e-9)
    pageable = pipeline(CHUNKS, STREAMS, chunk, pinned=False)
    programs = {
        "one stream": pipeline(CHUNKS, 1, chunk),
        f"{STREAMS} streams": pipeline(CHUNKS, STREAMS, chunk),
        f"{STREAMS} streams, pageable": pageable,
        f"{STREAMS} streams, pageable, copies out submitted last": copies_out_last(pageable),
        f"{STREAMS} streams, a kernel in the legacy default stream": pipeline(CHUNKS, STREAMS, chunk, default="legacy"),
    }
    for name, program in programs.items():
        _, host = simulate(program, SUBMIT_MS)
        print(f"{name}: {makespan(program, SUBMIT_MS):.2f} ms, host busy {host:.2f} ms")
        print("\n".join(chart(program, SUBMIT_MS, column_ms)))


if __name__ == "__main__":
    main()
