"""Predict what seven versions of one kernel move through each level of memory, and how long that takes at least and at most.

The kernels are those of norm.cu: LayerNorm over 256 channels, from [image][channel][pixel] to [image][pixel][channel].
Standard Python, no GPU.
"""

from dataclasses import dataclass

IMAGES, CHANNELS, PIXELS = 128, 256, 64 * 64
LANES, TILE = 32, 32  # threads of a warp; pixels that a warp (the first two kernels) or a block (the others) handles
SECTOR_BYTES, LINE_BYTES, BANKS = 32, 128, 32

# An H200. Of shared memory, the driver takes the last for each block.
THREADS_AN_SM, SHARED_AN_SM, RESERVED_BYTES = 2048, 233_472, 1024
LATENCY_NS = 345.0  # one load from idle DRAM, as in the question about float4


@dataclass(frozen=True)
class Rates:
    """How fast each level is. Copy and scattered stores are measured beside the kernels, so a record brings them."""

    sms: int
    clock_mhz: float
    peak_gb_s: float  # of DRAM, by its clock and width
    copy_gb_s: float  # by float4, both directions
    scattered_lines_ns: float  # lines a nanosecond, when each lane stores to a line of its own


@dataclass(frozen=True)
class Access:
    """An instruction of a warp: its kind, the lanes' byte addresses, the bytes of each, and how often a tile runs it."""

    kind: str  # "load", "store": global; "shared load", "shared store"
    addresses: tuple[int, ...]
    size: int
    times: int

    def costs(self, what: str) -> int:
        """Count the requests (one), sectors, lines or wavefronts that it takes."""
        if what == "wavefronts":
            return self.wavefronts()
        return 1 if what == "requests" else self.units(SECTOR_BYTES if what == "sectors" else LINE_BYTES)

    def units(self, unit_bytes: int) -> int:
        """Count the sectors or lines that the lanes touch."""
        return len({byte // unit_bytes for address in self.addresses for byte in range(address, address + self.size)})

    def wavefronts(self) -> int:
        """Count the wavefronts of an access to 4-byte words of shared memory: the most different words in one bank."""
        words = {address // 4 for address in self.addresses}
        return max(sum(word % BANKS == bank for word in words) for bank in range(BANKS))


@dataclass(frozen=True)
class Kernel:
    """One version: threads and shared bytes of a block, loads that a thread has in flight, passes over x, accesses of a tile."""

    threads: int
    shared_bytes: int
    loads: int
    load_bytes: int
    passes: int
    accesses: tuple[Access, ...]


def by_pixel(passes: int) -> Kernel:
    """Describe a thread a pixel: it reads its channels `passes` times and writes them one after another."""
    load = Access("load", lanes(4), 4, passes * CHANNELS)
    store = Access("store", lanes(4 * CHANNELS), 4, CHANNELS)
    return Kernel(256, 0, 16, 4, passes, (load, store))


def by_tile(warps: int, pitch: int, loads: int) -> Kernel:
    """Describe a block of `warps` a tile, whose rows in shared memory lie `pitch` words apart."""
    accesses = (
        Access("load", lanes(4), 4, CHANNELS),
        Access("shared store", lanes(4), 4, CHANNELS + 2 * warps),  # the tile, and the warps' sums
        Access("shared load", lanes(4), 4, 2 * warps * warps),  # every warp reads all sums
        Access("shared load", lanes(4 * pitch), 4, TILE * CHANNELS // LANES),  # a pixel's channels: a column
        Access("store", lanes(4), 4, TILE * CHANNELS // LANES),
    )
    return Kernel(32 * warps, shared(warps, pitch), loads, 4, 1, accesses)


def by_fours(warps: int) -> Kernel:
    """Describe the same with float4: 8 lanes cover a row of 128 bytes, a warp four rows."""
    pitch, each = TILE + 1, CHANNELS // 4
    spots = [(lane // 8, lane % 8) for lane in range(LANES)]  # row, quad
    accesses = [
        Access("load", tuple(4 * PIXELS * row + 16 * quad for row, quad in spots), 16, each),
        Access("shared store", tuple(16 * quad for row, quad in spots if row == 0), 4, 8 * warps),
        Access("shared load", tuple(4 * row for row, _ in spots), 4, 2 * warps * warps),
        Access("store", tuple(4 * CHANNELS * row + 16 * quad for row, quad in spots), 16, each),
    ]
    for j in range(4):
        accesses.append(Access("shared store", tuple(4 * (pitch * row + 4 * quad + j) for row, quad in spots), 4, each))
        accesses.append(Access("shared load", tuple(4 * (pitch * (4 * quad + j) + row) for row, quad in spots), 4, each))
    return Kernel(32 * warps, shared(warps, pitch), each // warps, 16, 1, tuple(accesses))


def lanes(stride_bytes: int) -> tuple[int, ...]:
    """Give the addresses of 32 lanes that lie stride_bytes apart."""
    return tuple(lane * stride_bytes for lane in range(LANES))


def shared(warps: int, pitch: int) -> int:
    """Give a block's shared memory: the tile, and two sums a warp and pixel."""
    return 4 * (CHANNELS * pitch + 2 * warps * TILE)


KERNELS = {
    "three_passes": by_pixel(3),
    "two_passes": by_pixel(2),
    "tiled": by_tile(8, TILE, 1),
    "padded": by_tile(8, TILE + 1, 1),
    "more_warps": by_tile(16, TILE + 1, 1),
    "batched": by_tile(16, TILE + 1, CHANNELS // 16),
    "wide": by_fours(16),
}


def counts(name: str, images: int = IMAGES) -> dict[str, int]:
    """Give what ncu should count: requests and sectors, wavefronts of shared memory, bytes of DRAM."""
    kernel, tiles = KERNELS[name], images * PIXELS // TILE

    def total(kind: str, each: str) -> int:
        found = [access for access in kernel.accesses if access.kind == kind]
        return tiles * sum(access.times * access.costs(each) for access in found)

    array = 4 * images * CHANNELS * PIXELS
    return {
        "load_requests": total("load", "requests"),
        "load_sectors": total("load", "sectors"),
        "store_requests": total("store", "requests"),
        "store_sectors": total("store", "sectors"),
        "store_lines": total("store", "lines"),
        "shared_load_requests": total("shared load", "requests"),
        "shared_load_wavefronts": total("shared load", "wavefronts"),
        "shared_store_wavefronts": total("shared store", "wavefronts"),
        "dram_read_bytes": kernel.passes * array,
        "dram_write_bytes": array,
    }


def resident_threads(name: str) -> int:
    """Give the threads of an SM that are resident at once, as threads and shared memory allow."""
    kernel = KERNELS[name]
    blocks = THREADS_AN_SM // kernel.threads
    if kernel.shared_bytes:
        blocks = min(blocks, SHARED_AN_SM // (kernel.shared_bytes + RESERVED_BYTES))
    return blocks * kernel.threads


def in_flight_gb_s(name: str, rates: Rates) -> float:
    """Estimate the bandwidth, both directions, that the loads in flight allow: they wait the latency, then queue for the bus."""
    moved = 2 * rates.sms * in_flight_bytes(name)
    return moved / (LATENCY_NS + moved / rates.peak_gb_s)


def limits(name: str, rates: Rates, images: int = IMAGES) -> dict[str, float]:
    """Give the milliseconds that each level of memory needs by itself."""
    count = counts(name, images)
    moved = count["dram_read_bytes"] + count["dram_write_bytes"]
    wavefronts = count["shared_load_wavefronts"] + count["shared_store_wavefronts"]
    return {
        "dram": moved / rates.copy_gb_s / 1e6,
        "in_flight": moved / in_flight_gb_s(name, rates) / 1e6,
        "l2": count["store_lines"] / rates.scattered_lines_ns / 1e6,
        "shared": wavefronts / (rates.sms * rates.clock_mhz) / 1e3,
    }


def bounds(limit: dict[str, float]) -> tuple[float, float]:
    """Give the time if all levels work at once, and if memory, L2 and shared memory work one after another."""
    memory = max(limit["dram"], limit["in_flight"])
    return max(limit.values()), memory + limit["l2"] + limit["shared"]


def in_flight_bytes(name: str) -> int:
    """Give the bytes of loads that an SM has in flight while every resident thread waits for its loads."""
    kernel = KERNELS[name]
    return resident_threads(name) * kernel.loads * kernel.load_bytes


def main() -> None:
    """Print what each version moves, and what an SM has in flight."""
    print(f"{'':<13}{'sectors':>9}{'sectors':>9}{'wavefronts a':>14}{'DRAM':>6}{'warps':>7}{'in flight':>11}")
    print(f"{'':<13}{'a load':>9}{'a store':>9}{'shared load':>14}{'B':>6}{'an SM':>7}{'B an SM':>11}")
    for name in KERNELS:
        count = counts(name, 1)
        loads, stores = count["load_sectors"] // count["load_requests"], count["store_sectors"] // count["store_requests"]
        shared_loads = count["shared_load_requests"]
        wavefronts = f"{count['shared_load_wavefronts'] / shared_loads:.1f}" if shared_loads else "-"
        moved = (count["dram_read_bytes"] + count["dram_write_bytes"]) // (CHANNELS * PIXELS)
        warps, in_flight = resident_threads(name) // LANES, in_flight_bytes(name)
        print(f"{name:<13}{loads:>9}{stores:>9}{wavefronts:>14}{moved:>6}{warps:>7}{in_flight:>11,}")


if __name__ == "__main__":
    main()
