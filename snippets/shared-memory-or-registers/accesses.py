"""Predict how many load and store instructions go to which memory, from the places in which a kernel keeps its data.

A number in a register costs none; elsewhere each read is a load and each write a store, one instruction a warp.
"""

# --8<-- [start:model]
from collections import Counter

# Change these two and run again: "global" or "shared"; "register", "local", "shared" or "global".
TILES = "shared"  # where a block of the GEMM keeps what it needs of A and B
SUMS = "register"  # where its threads keep their sums
N = 1024  # the matrices are N x N

TILE, DEPTH, EACH = 64, 16, 4  # a block computes 64 x 64 of C, 16 deep; a thread 4 x 4
LANES = 32
Counts = Counter[str]  # "shared load": warp instructions


def touch(counts: Counts, where: str, loads: int, stores: int) -> None:
    """Count reads and writes of something that lies there."""
    if where != "register":
        counts[f"{where} load"] += loads
        counts[f"{where} store"] += stores


def gemm(tiles: str, sums: str, n: int) -> Counts:
    """Count a block of 8 warps; every access moves 16 bytes a lane."""
    counts: Counts = Counter()
    if tiles == "shared":  # a thread carries 4 numbers of A and 4 of B, once every 16 steps
        touch(counts, "global", loads=2 * n // DEPTH, stores=0)
        touch(counts, "shared", loads=0, stores=2 * n // DEPTH)
    touch(counts, tiles, loads=2 * n, stores=0)  # 4 numbers of A and 4 of B, for 16 multiply-adds
    touch(counts, sums, loads=EACH * n, stores=EACH * (n + 1))  # a row of sums is read and written each step
    if sums != "global":
        touch(counts, sums, loads=EACH, stores=0)
        touch(counts, "global", loads=0, stores=EACH)
    return times(counts, TILE * TILE // EACH**2 // LANES)


def gemm_single(n: int) -> Counts:
    """Count 4 blocks of 32 x 32 threads with one sum each, which compute as much: every access moves 4 bytes a lane."""
    counts: Counts = Counter()
    touch(counts, "global", loads=2 * n // 32, stores=1)
    touch(counts, "shared", loads=2 * n, stores=2 * n // 32)  # 2 numbers for every multiply-add
    return times(counts, TILE * TILE // LANES)


def reduction(running: str, exchange: str, warps: int = 8, each: int = 64) -> Counts:
    """Count a block that sums `each` numbers a thread: the sums so far, and then the exchange among threads."""
    counts: Counts = Counter()
    touch(counts, "global", loads=warps * each, stores=1)  # the numbers, the result
    touch(counts, running, loads=warps * each, stores=warps * (each + 1))
    if exchange == "shuffle":
        if running != "register":
            touch(counts, running, loads=warps, stores=0)
        touch(counts, "shared", loads=1, stores=warps)  # one number a warp
    else:
        if running != exchange:
            touch(counts, exchange, loads=0, stores=warps)
        touch(counts, exchange, loads=warps + 5, stores=5)  # the first warp: 8 loads, 5 exchanges
    return counts


def warp_sum(how: str) -> Counts:
    """Count a warp that adds up its lanes' numbers in 5 exchanges."""
    counts: Counts = Counter()
    if how == "shuffle":
        counts["shuffle"] += 5
    else:
        touch(counts, how, loads=5, stores=5)
    return counts


def window(where: str, samples: int, size: int = 64) -> Counts:
    """Count a warp that keeps its last `size` samples: each is written once, and read when it leaves."""
    counts: Counts = Counter()
    touch(counts, where, loads=samples - size, stores=samples)
    return counts


def local_sectors(phase: int, size: int = 64) -> int:
    """Count the 32-byte sectors of one access to a local array, lane n at element n * phase.

    Local memory is laid out so that the same 4-byte word of the 32 lanes is contiguous.
    """
    return len({(n * phase % size * LANES + n) * 4 // 32 for n in range(LANES)})


def written_sectors(counts: Counts, access_bytes: int) -> int:
    """Count the 32-byte sectors that full warps send to the L2: the L1 keeps no write to itself, local or global."""
    return (counts["local store"] + counts["global store"]) * LANES * access_bytes // 32


def times(counts: Counts, factor: int) -> Counts:
    """Count as often."""
    return Counter({name: number * factor for name, number in counts.items()})


# --8<-- [end:model]

PLACES = ("global", "shared", "local")


def row(name: str, counts: Counts) -> str:
    """Write one row: loads and stores of each memory."""
    cells = [f"{counts[f'{place} load']:>9,}{counts[f'{place} store']:>9,}" for place in PLACES]
    return f"{name:<24}" + "".join(cells)


def main() -> None:
    """Print the chosen GEMM, the others, and the reductions."""
    print(f"{'':<24}" + "".join(f"{place:>18}" for place in PLACES))
    print(f"{'tiles, sums':<24}" + 3 * f"{'loads':>9}{'stores':>9}")
    print(row(f"{TILES}, {SUMS}", gemm(TILES, SUMS, N)))
    print()
    for tiles, sums in (("shared", "shared"), ("shared", "local"), ("shared", "global"), ("global", "register"), ("global", "global")):
        print(row(f"{tiles}, {sums}", gemm(tiles, sums, N)))
    print(row("shared, 1 x 1 a thread", gemm_single(N)))
    print(f"\n{'running sum, exchange'}")
    for running, exchange in (("register", "shuffle"), ("register", "shared"), ("shared", "shared"), ("local", "shuffle"), ("global", "global")):
        print(row(f"{running}, {exchange}", reduction(running, exchange)))
    print(f"\nsectors of one access to a local array: {local_sectors(0)} at one index, {local_sectors(1)} where lanes differ")


if __name__ == "__main__":
    main()
