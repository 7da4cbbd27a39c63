"""Predict what a divergent branch costs one warp: which instruction is issued when, for which lanes.

A warp issues one instruction at a time, for the lanes that are on its path (CUDA Programming Guide, 3.2.2.1).
One slot is one issued instruction. Latencies and memory are left out: the count of slots is what divergence changes.
"""

from collections.abc import Iterator

# --8<-- [start:model]
PATTERN = "AB"  # the path of lanes 0, 1, ..., repeated over the warp
LENGTHS = {"A": 3, "B": 3}  # instructions of each path
JOINED = True  # __syncwarp() stands behind the branch
LANES = 32

Slot = tuple[str, int]  # an instruction, and its lanes as a mask: bit = lane


def masks(pattern: str) -> dict[str, int]:
    """Give the lanes of each path that is taken."""
    paths: dict[str, int] = {}
    for lane in range(LANES):
        path = pattern[lane % len(pattern)]
        paths[path] = paths.get(path, 0) | 1 << lane
    return paths


def one_after_another(paths: dict[str, int], lengths: dict[str, int]) -> Iterator[Slot]:
    """Issue each path to its end: what one program counter can do."""
    for path, mask in paths.items():
        for step in range(1, lengths[path] + 1):
            yield f"{path}{step}", mask


def interleaved(paths: dict[str, int], lengths: dict[str, int]) -> Iterator[Slot]:
    """Issue the paths in turns: one order that a counter per thread allows."""
    for step in range(1, max(lengths.values()) + 1):
        for path, mask in paths.items():
            if step <= lengths[path]:
                yield f"{path}{step}", mask


def loop(trips: list[int]) -> Iterator[Slot]:
    """Issue a loop that lane l repeats trips[l] times: it goes on for any lane."""
    for trip in range(1, max(trips) + 1):
        mask = sum(1 << lane for lane in range(LANES) if trips[lane] >= trip)
        yield f"L{trip}", mask


def active_lanes(slots: list[Slot]) -> float:
    """Average the active lanes; divided by 32 it is the efficiency."""
    return sum(mask.bit_count() for _, mask in slots) / len(slots)


# --8<-- [end:model]
def after(paths: dict[str, int], *, joined: bool) -> Iterator[Slot]:
    """Issue the instruction J behind the branch: once for all lanes if they were joined, else possibly once a path."""
    for mask in [sum(paths.values())] if joined else paths.values():
        yield "J", mask


def strip(mask: int) -> str:
    """Draw a mask, lane 0 at the left."""
    return "".join("#" if mask >> lane & 1 else "." for lane in range(LANES))


def cases() -> list[tuple[str, list[Slot]]]:
    """Name the cases that one should know, with 10 instructions a path, and give their slots."""
    ten = dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef", 10)
    patterns = {
        "uniform, or branch aligned to warps": "A",
        "odd/even": "AB",
        "first/second half": 16 * "A" + 16 * "B",
        "4-way switch": "ABCD",
        "32-way switch": "".join(ten),
    }
    found = [(name, list(one_after_another(masks(pattern), ten))) for name, pattern in patterns.items()]
    found.append(("1 lane in the if, no else", list(one_after_another(masks("A" + 31 * "B"), {"A": 10, "B": 0}))))
    found.append(("loop of 1, 2, ... 32 trips", list(loop(list(range(1, LANES + 1))))))
    return found


def main() -> None:
    """Print two orders for the parameters, then the cases."""
    paths = masks(PATTERN)
    orders = [
        [*one_after_another(paths, LENGTHS), *after(paths, joined=True)],
        [*interleaved(paths, LENGTHS), *after(paths, joined=JOINED)],
    ]
    print(f"{'slot':4}  {'before Volta':36}since Volta, one order of many")
    for slot in range(max(map(len, orders))):
        columns = [f"{order[slot][0]:3}{strip(order[slot][1])}" if slot < len(order) else "" for order in orders]
        print(f"{slot + 1:4}  {columns[0]:36}{columns[1]}".rstrip())
    print(f"\n{'case':36}slots  active lanes  efficiency")
    for name, slots in cases():
        lanes = active_lanes(slots)
        print(f"{name:36}{len(slots):5}{lanes:14.1f}{lanes / LANES:11.1%}")


if __name__ == "__main__":
    main()
