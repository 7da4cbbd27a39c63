"""What a tile costs and brings: shared memory, registers, FLOP a byte, waves over the SMs, and three ways to cut the work.

132 SMs with 227 KiB of shared memory for a block are an H200's, as its driver reports them; one block a SM is assumed.
"""

from math import ceil

SIZE = 1536  # 512..8192 by 128: M and N
DEPTH = 4096  # 512..65536 by 512: K
TILE_M = 128  # 64 | 128 | 256: rows of C that a block computes
TILE_N = 128  # 64 | 128 | 256: columns
STAGES = 4  # 2..8: tiles of A and B in shared memory
PARTS = 4  # 2..32: of split-K

TILE_K, BYTES, SMS, SHARED_LIMIT = 64, 2, 132, 227 * 1024
L2_HALF = 30 * 2**20


def flop_per_byte(tile_m: int, tile_n: int, size: int = BYTES) -> float:
    """Divide a tile's operations by the bytes of A and B that it loads."""
    return 2 * tile_m * tile_n / ((tile_m + tile_n) * size)


def shared_bytes(tile_m: int, tile_n: int, stages: int) -> int:
    """Count the bytes of all stages."""
    return stages * (tile_m + tile_n) * TILE_K * BYTES


def tiles_of(m: int, n: int, tile_m: int, tile_n: int) -> int:
    """Count the tiles of C, those at the edges in full."""
    return ceil(m / tile_m) * ceil(n / tile_n)


# --8<-- [start:model]
def whole_tiles(tiles: int, steps: int, workers: int = SMS) -> int:
    """Give the steps along K of the busiest worker when each takes whole tiles."""
    return ceil(tiles / workers) * steps


def split_k(tiles: int, steps: int, parts: int, workers: int = SMS) -> int:
    """Give the same when K is cut into parts, each a tile of its own; adding them up is not counted."""
    return ceil(tiles * parts / workers) * ceil(steps / parts)


def stream_k(tiles: int, steps: int, workers: int = SMS) -> int:
    """Give the same when the steps of all tiles are one row, cut into equal pieces."""
    return ceil(tiles * steps / workers)


# --8<-- [end:model]


def busy(tiles: int, steps: int, longest: int, workers: int = SMS) -> float:
    """Give the share of the workers' time that is work, in percent."""
    return 100 * tiles * steps / workers / longest


def parts_of(k: int, parts: int) -> list[int]:
    """Cut K for split-K; the last part takes the rest."""
    return [k // parts] * (parts - 1) + [k - k // parts * (parts - 1)]


def place(tile: int, rows: int, columns: int, group: int) -> tuple[int, int]:
    """Give row and column of the tile that is taken as number `tile`: down a group of rows, then one column to the right."""
    first = tile // (group * columns) * group
    high, rest = min(group, rows - first), tile - first * columns
    return first + rest % high, rest // high


def fetched(size: int, group: int, *, side: int = 256, workers: int = SMS // 2, capacity: int = L2_HALF) -> int:
    """Count the bytes that a product of size cubed reads from DRAM: an L2 that forgets the least recently used 512 along K.

    The workers are clusters with tiles of side x side. Each half of the L2 keeps what the SMs on its side read: 30 MiB.
    """
    tiles, piece, count = size // side, side * 512 * BYTES, 0
    kept: dict[tuple[str, int, int], int] = {}

    def touch(key: tuple[str, int, int], length: int) -> int:
        missing = 0 if key in kept else length
        kept[key] = kept.pop(key, length)
        while sum(kept.values()) > capacity:
            del kept[next(iter(kept))]
        return missing

    for first in range(0, tiles * tiles, workers):
        places = [place(tile, tiles, tiles, group) for tile in range(first, min(first + workers, tiles * tiles))]
        for k in range(size // 512):
            count += sum(touch(("a", row, k), piece) for row in sorted({row for row, _ in places}))
            count += sum(touch(("b", column, k), piece) for column in sorted({column for _, column in places}))
        for row, column in places:
            touch(("c", row, column), side * side * BYTES)
    return count


def main() -> None:
    """Print tile shapes, the three ways for the sizes above, and how split-K cuts 4,096."""
    print("tile      FLOP/B  KiB shared  sums a thread   tiles   waves  busy")
    for tile_m, tile_n in sorted({(64, 64), (128, 128), (128, 256), (256, 256), (TILE_M, TILE_N)}):
        shared, tiles = shared_bytes(tile_m, tile_n, STAGES), tiles_of(SIZE, SIZE, tile_m, tile_n)
        fits = " " if shared <= SHARED_LIMIT else "!"
        share = busy(tiles, 1, whole_tiles(tiles, 1))
        line = f"{tile_m:3} x {tile_n:3}{flop_per_byte(tile_m, tile_n):8.1f}{shared / 1024:12.0f}{fits}{tile_m * tile_n // 256:14}"
        print(f"{line}{tiles:8}{tiles / SMS:8.2f}{share:5.0f}%")
    tiles, steps = tiles_of(SIZE, SIZE, TILE_M, TILE_N), ceil(DEPTH / TILE_K)
    print(f"\n{tiles} tiles of {steps} steps over {SMS} SMs: steps of the busiest SM")
    ways = {"whole tiles": whole_tiles(tiles, steps), f"split-K by {PARTS}": split_k(tiles, steps, PARTS), "stream-K": stream_k(tiles, steps)}
    for name, longest in ways.items():
        print(f"  {name:14}{longest:6}  busy {busy(tiles, steps, longest):5.1f}%")
    print("\nK = 4096 in parts:")
    for parts in (16, 20):
        sizes = parts_of(4096, parts)
        print(f"  {parts}: " + " + ".join(f"{sizes.count(size)} of {size}" for size in dict.fromkeys(sizes)))
    sizes_mb = {group: fetched(8192, group) / 1e6 for group in (1, 8, 32)}
    print("\n8192 cubed, MB from DRAM in groups of rows: " + ", ".join(f"{group}: {mb:,.0f}" for group, mb in sizes_mb.items()))


if __name__ == "__main__":
    main()
