"""Predict what a layout of data and a mapping of threads to it move: sectors of each request, bytes asked for, bytes read from DRAM.

Standard Python, no GPU. Numbers of elements are floats of 4 bytes; a request is one load or store instruction of a warp.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

# --8<-- [start:model]
RECORD = 8  # 1..32: floats of one structure
FIELDS = 1  # 1..32: floats of each structure that the kernel asks for
COLUMNS = 1001  # 32..1100: floats of a matrix's row
ROUND_TO = 1  # 1 | 8 | 16 | 32: a row's pitch is COLUMNS, rounded up to a multiple of this

LANES, FLOAT, SECTOR, FETCH = 32, 4, 32, 64  # FETCH: the least that the L2 of an H200 reads from DRAM
Place = Callable[[int, int], int | None]  # the element that a thread takes in its k-th access; None where it takes none


class Traffic(NamedTuple):
    """What the requests move."""

    requests: int
    sectors: int  # summed over the requests: what L1 is asked for
    once: int  # different sectors: what a cache that forgets nothing asks of the next level
    asked: int  # different bytes
    dram: int  # bytes that DRAM delivers, each once, in pieces of FETCH
    partial: int  # different sectors that were not touched in all their bytes


def traffic(place: Place, threads: int, accesses: int) -> Traffic:
    """Go through the requests of all warps."""
    requests = sectors = 0
    elements: set[int] = set()
    for warp in range(0, threads, LANES):
        for k in range(accesses):
            taken = {element for thread in range(warp, warp + LANES) if (element := place(thread, k)) is not None}
            requests += bool(taken)
            sectors += len(units(taken, SECTOR))
            elements |= taken
    held = Counter(element * FLOAT // SECTOR for element in elements)
    partial = sum(count * FLOAT < SECTOR for count in held.values())
    return Traffic(requests, sectors, len(held), len(elements) * FLOAT, len(units(elements, FETCH)) * FETCH, partial)


def units(elements: Iterable[int], size: int) -> set[int]:
    """Give the aligned pieces of this many bytes that hold the elements."""
    return {element * FLOAT // size for element in elements}


def structures(per: int, jump: int, field: int) -> Place:
    """Lay out structures: `per` neighbours share a group, groups lie `jump` apart, and so do an element's fields by `field`."""
    return lambda i, k: i // per * jump + i % per + k * field


def aos(record: int) -> Place:
    """Lay out an array of structures: p[i].field[k]."""
    return structures(1, record, 1)


def soa(count: int) -> Place:
    """Lay out a structure of arrays: p.field[k][i]."""
    return structures(1, 1, count)


def aosoa(record: int) -> Place:
    """Lay out an array of structures of 32 elements: p[i / 32].field[k][i % 32]."""
    return structures(LANES, LANES * record, LANES)


def along(columns: int, pitch: int) -> Place:
    """Let neighbouring threads take neighbouring columns, one row an access."""
    return lambda thread, k: k * pitch + thread if thread < columns else None


def down(pitch: int) -> Place:
    """Let neighbouring threads take neighbouring rows, one column an access."""
    return lambda thread, k: thread * pitch + k


def shuffled(index: int, reach: int) -> int:
    """Permute the numbers below each multiple of `reach`, a power of two: the index of a gather."""
    low, half = index % reach, max(1, reach.bit_length() // 2)
    for _ in range(2):
        low = (low ^ low >> half) * 0x9E3779B1 % reach
    return index - index % reach + (low ^ low >> half)


# --8<-- [end:model]


def pitch_of(columns: int, round_to: int) -> int:
    """Round a row up, in floats."""
    return -(-columns // round_to) * round_to


def main() -> None:
    """Print what each layout and mapping moves; the first four lines are those of the parameters."""
    threads, rows = 1024, 32
    fields, pitch = min(FIELDS, RECORD), pitch_of(COLUMNS, ROUND_TO)
    cases: list[tuple[str, Place, int, int]] = [
        (f"AoS, {fields} of {RECORD} floats", aos(RECORD), threads, fields),
        (f"SoA, {fields} of {RECORD} floats", soa(threads), threads, fields),
        (f"a thread a column, pitch {pitch}", along(COLUMNS, pitch), -(-COLUMNS // LANES) * LANES, rows),
        (f"a thread a row, pitch {pitch}", down(pitch), threads, rows),
        ("AoS, 1 of 16 floats", aos(16), threads, 1),
        ("AoS, 1 of 32 floats", aos(32), threads, 1),
        ("AoS, 8 of 8 floats", aos(8), threads, 8),
        ("AoSoA, 1 of 8 floats", aosoa(8), threads, 1),
    ]
    cases += [(f"a[index[i]], index within {reach}", lambda i, _k, reach=reach: shuffled(i, reach), threads, 1) for reach in (32, 128, 1024)]  # type: ignore[misc]
    print(f"{'layout and mapping':<34}{'sectors a':>10}{'used %':>8}{'used %':>8}{'DRAM / ':>9}")
    print(f"{'':<34}{'request':>10}{'L1':>8}{'DRAM':>8}{'asked':>9}")
    for name, place, count, accesses in cases:
        moved = traffic(place, count, accesses)
        l1 = 100 * moved.requests * LANES * FLOAT / (moved.sectors * SECTOR)
        ratio = moved.dram / moved.asked
        print(f"{name:<34}{moved.sectors / moved.requests:>10.2f}{l1:>8.1f}{100 / ratio:>8.1f}{ratio:>9.2f}")


if __name__ == "__main__":
    main()
