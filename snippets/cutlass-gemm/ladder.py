"""Predict the traffic and the shortest time of each kernel of ladder.cu and hopper.cu from its tile and its addresses.

A warp's access to global memory takes a wavefront of the L1's data pipe for each line of 128 bytes that it touches, one to
shared memory a wavefront for each pass through the 32 banks; an SM does one a clock. The rules of 16-byte accesses are those
of this site's page on bank conflicts. Rates are an H200's: 132 SMs at 1.98 GHz, NVIDIA's peaks of 66.9 and 989.4 TFLOP/s.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil

SIZE = 4096  # 512..8192 by 512: M, N and K
L2_GB_S = 6000  # 2000..12000 by 500: what the L2 gives all SMs; measured below

SMS, CLOCK_GHZ, FP32_TFLOP_S, TENSOR_TFLOP_S, MMA_SHARE = 132, 1.98, 66.9, 989.4, 0.66


@dataclass(frozen=True)
class Access:
    """One instruction of a warp: how often a step, an address a lane, bytes a lane."""

    times: int
    kind: str  # global, shared, store, matrix (ldmatrix) or copy (cp.async past the registers)
    addresses: list[int]
    size: int


@dataclass(frozen=True)
class Rung:
    """A kernel: its tile, the warps of a block, blocks a SM, bytes an element, and what a warp does in a step along K."""

    tile: tuple[int, int, int]
    warps: int
    blocks: int
    size: int
    unit: str
    accesses: Callable[[int], list[Access]]
    cluster: int = 1  # blocks that get a tile of B by one read


def lines(access: Access, line: int = 128) -> int:
    """Count the lines, or sectors of 32 bytes, that an access touches."""
    return len({address // line for address in access.addresses})


def passes(access: Access) -> int:
    """Count the wavefronts of an access to shared memory."""
    lanes, size = access.addresses, access.size
    together = min(32, 128 // size)
    if size > 4 and access.kind == "shared" and any(all(lanes[i] == lanes[i ^ bit] for i in range(32)) for bit in (1, 2)):
        together *= 2
    count = 0
    for first in range(0, 32, together):
        words = {address // 4 + i for address in lanes[first : first + together] for i in range(ceil(size / 4))}
        count += max(sum(word % 32 == bank for word in words) for bank in range(32))
    return count


# --8<-- [start:model]
def traffic(rung: Rung, size: int) -> dict[str, int]:
    """Count sectors asked of the L1, wavefronts of its data pipe, bytes that reach the SMs, and bytes that the L2 reads for them."""
    tile_m, tile_n, depth = rung.tile
    blocks = size // tile_m * (size // tile_n)
    steps = blocks * rung.warps * (size // depth)
    sectors = wavefronts = 0
    for access in rung.accesses(size):
        if access.kind in {"global", "copy"}:
            sectors += access.times * lines(access, 32)
        if access.kind == "global":
            wavefronts += access.times * lines(access)
        elif access.kind != "copy":
            wavefronts += access.times * passes(access)
    reached, read = ((tile_m + tile_n // shared) * blocks * size * rung.size for shared in (1, rung.cluster))
    return {"sectors": sectors * steps, "wavefronts": wavefronts * steps, "reached": reached, "read": read}


# --8<-- [end:model]


def limits(rung: Rung, size: int, l2_gb_s: float) -> dict[str, float]:
    """Give the time in ms that each limit sets, whole waves of blocks counted."""
    blocks, slots = size // rung.tile[0] * (size // rung.tile[1]), SMS * rung.blocks
    waves = ceil(blocks / slots) * slots / blocks
    moved = traffic(rung, size)
    peak = {"FP32": FP32_TFLOP_S, "mma": TENSOR_TFLOP_S * MMA_SHARE, "wgmma": TENSOR_TFLOP_S}[rung.unit]
    return {
        rung.unit: 2 * size**3 / peak / 1e9 * waves,
        "L1": moved["wavefronts"] / SMS / CLOCK_GHZ / 1e6 * waves,
        "L2": moved["read"] / l2_gb_s / 1e6,
    }


def one_by_one(size: int, *, along_m: bool) -> Callable[[int], list[Access]]:
    """Give the loads of a thread that reads a row of A and a column of B, 32 rows or 32 columns a warp."""

    def accesses(n: int) -> list[Access]:
        strides = (n * size, 0) if along_m else (0, size)
        return [Access(1, "global", [lane * stride for lane in range(32)], size) for stride in strides]

    return accesses


def tile_32(size: int) -> Callable[[int], list[Access]]:
    """Give the accesses of a 32 x 32 tile; the compiler reads four elements of A's row at once."""
    row = [lane * size for lane in range(32)]
    reads = [Access(8, "shared", [0] * 32, 4 * size), Access(32, "shared", row, size)]
    return lambda _: [Access(2, "global", row, size), Access(2, "store", row, size), *reads]


def in_registers(size: int) -> Callable[[int], list[Access]]:
    """Give the accesses of a 128 x 128 x 8 tile, one element at a time; A is transposed on its way into shared memory."""

    def accesses(n: int) -> list[Access]:
        row = [lane * size for lane in range(32)]
        across = [lane % 8 * size + lane // 8 * n * size for lane in range(32)]
        down = [lane % 8 * 128 * size + lane // 8 * size for lane in range(32)]
        loads = [Access(4, "global", across, size), Access(4, "global", row, size)]
        stores = [Access(4, "store", down, size), Access(4, "store", row, size)]
        reads = [Access(64, "shared", [lane // shift % 8 * size for lane in range(32)], size) for shift in (8, 1)]
        return [*loads, *stores, *reads]

    return accesses


def fours() -> list[Access]:
    """Give the reads of 16 bytes a lane by which a warp gets 32 rows and 64 columns, eight steps of them."""
    rows = [(lane // 2 % 2 + lane // 16 % 2 * 2) * 16 for lane in range(32)]
    columns = [(lane % 2 + lane // 4 % 4 * 2) * 16 for lane in range(32)]
    return [Access(16, "shared", rows, 16), Access(16, "shared", columns, 16)]


def vector(n: int) -> list[Access]:
    """Give the accesses of the same tile, four floats at a time."""
    across = [lane // 2 * n * 4 + lane % 2 * 16 for lane in range(32)]
    down = [lane % 2 * 4 * 512 + lane // 2 * 4 for lane in range(32)]
    row = [lane * 16 for lane in range(32)]
    loads = [Access(1, "global", across, 16), Access(1, "global", row, 16)]
    return [*loads, Access(4, "store", down, 4), Access(1, "store", row, 16), *fours()]


def doubled(*, swizzle: bool) -> Callable[[int], list[Access]]:
    """Give the accesses with cp.async: four bytes at a time for A, which it transposes, sixteen for B."""

    def accesses(n: int) -> list[Access]:
        across = [lane % 8 * 4 + lane // 8 * n * 4 for lane in range(32)]
        down = [lane % 8 * 512 + (lane // 8 ^ (lane % 8 * 4 if swizzle else 0)) * 4 for lane in range(32)]
        return [Access(4, "copy", across, 4), Access(4, "store", down, 4), Access(1, "copy", [lane * 16 for lane in range(32)], 16), *fours()]

    return accesses


def tensor(*, swizzle: bool) -> Callable[[int], list[Access]]:
    """Give the copies and the ldmatrix of a warp with 64 x 64 sums in a step of 64: rows of A are 128 bytes, of B 512."""

    def accesses(n: int) -> list[Access]:
        copies = [
            Access(4, "copy", [lane // 8 * n * 2 + lane % 8 * 16 for lane in range(32)], 16),
            Access(8, "copy", [lane * 16 for lane in range(32)], 16),
        ]
        reads = []
        for pitch in (128, 512):
            rows = [lane % 16 * pitch + ((lane // 16) ^ (lane % 8 if swizzle else 0)) * 16 for lane in range(32)]
            reads.append(Access(16, "matrix", rows, 16))
        return [*copies, *reads]

    return accesses


def by_itself(_: int) -> list[Access]:
    """Give no access: TMA and wgmma pass the L1's data pipe by."""
    return []


RUNGS: dict[str, Rung] = {
    "naive_fp32": Rung((32, 32, 1), 32, 2, 4, "FP32", one_by_one(4, along_m=True)),
    "coalesced_fp32": Rung((32, 32, 1), 32, 2, 4, "FP32", one_by_one(4, along_m=False)),
    "shared_fp32": Rung((32, 32, 32), 32, 2, 4, "FP32", tile_32(4)),
    "register_fp32": Rung((128, 128, 8), 8, 2, 4, "FP32", in_registers(4)),
    "vector_fp32": Rung((128, 128, 8), 8, 2, 4, "FP32", vector),
    "async_fp32": Rung((128, 128, 8), 8, 2, 4, "FP32", doubled(swizzle=False)),
    "swizzle_fp32": Rung((128, 128, 8), 8, 2, 4, "FP32", doubled(swizzle=True)),
    "naive_fp16": Rung((32, 32, 1), 32, 2, 2, "FP32", one_by_one(2, along_m=True)),
    "coalesced_fp16": Rung((32, 32, 1), 32, 2, 2, "FP32", one_by_one(2, along_m=False)),
    "shared_fp16": Rung((32, 32, 32), 32, 2, 2, "FP32", tile_32(2)),
    "register_fp16": Rung((128, 128, 8), 8, 2, 2, "FP32", in_registers(2)),
    "mma_fp16": Rung((128, 256, 64), 8, 1, 2, "mma", tensor(swizzle=False)),
    "swizzle_fp16": Rung((128, 256, 64), 8, 1, 2, "mma", tensor(swizzle=True)),
    "stages_fp16": Rung((128, 256, 64), 8, 1, 2, "mma", tensor(swizzle=True)),
    "tma_fp16": Rung((128, 256, 64), 12, 1, 2, "wgmma", by_itself),
    "cluster_fp16": Rung((128, 256, 64), 12, 1, 2, "wgmma", by_itself, cluster=2),
}


def rows() -> Iterator[str]:
    """Give a line a kernel: what it moves and the times that its limits set."""
    yield f"{SIZE} cubed        L1 sectors   wavefronts   to SMs GB   ms at the limits"
    for name, rung in RUNGS.items():
        moved, times = traffic(rung, SIZE), limits(rung, SIZE, L2_GB_S)
        longest = max(times, key=lambda limit: times[limit])
        written = "  ".join(f"{limit} {time:.3g}" for limit, time in times.items() if time)
        yield f"{name:15}{moved['sectors']:13.3g}{moved['wavefronts']:13.3g}{moved['reached'] / 1e9:9.2f}      {written}  -> {longest}"


def main() -> None:
    """Print the ladder."""
    print("\n".join(rows()))


if __name__ == "__main__":
    main()
