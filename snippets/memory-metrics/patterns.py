"""Predict what ncu counts for one warp's access: sectors, useful bytes, wavefronts, and what a cache can hit.

Standard Python, no GPU. Change the numbers at the top and run it again.
"""

# --8<-- [start:model]
ACCESS_BYTES = 4  # what one lane moves: 1, 2, 4, 8 or 16
WIDTH = 32  # lanes in a row; the warp is 32 / WIDTH rows
INNER_BYTES = 8  # from one lane's access to the next one's, within a row
OUTER_BYTES = 0  # from one row to the next
OFFSET_BYTES = 0  # from a 128-byte boundary to the first access
ACTIVE = 32  # lanes that take part

LANES, SECTOR_BYTES, LINE_BYTES, BANKS, WORD_BYTES = 32, 32, 128, 32, 4


def addresses(  # noqa: PLR0913, PLR0917 - the numbers of one pattern
    width: int, inner: int, outer: int = 0, offset: int = 0, active: int = LANES, order: int = 1
) -> list[int]:
    """Give the byte address of each active lane; an odd `order` other than 1 deals the places out in another order."""
    ranks = [lane * order % LANES for lane in range(active)]
    return [offset + rank % width * inner + rank // width * outer for rank in ranks]


def touched(places: list[int], access_bytes: int, unit_bytes: int) -> int:
    """Count the units (bytes, sectors, lines) that hold a byte of an access, each once."""
    return len({byte // unit_bytes for place in places for byte in range(place, place + access_bytes)})


def sectors(places: list[int], access_bytes: int) -> int:
    """Count the sectors of one request to global memory: ncu's sectors per request."""
    return touched(places, access_bytes, SECTOR_BYTES)


def useful_percent(places: list[int], access_bytes: int) -> float:
    """Give the distinct bytes that were asked for, in percent of the bytes of the sectors."""
    return 100 * touched(places, access_bytes, 1) / (SECTOR_BYTES * sectors(places, access_bytes))


def shared_wavefronts(stride_words: int) -> int:
    """Count the wavefronts of one 4-byte shared load: the most different words that one bank has to give."""
    words = {lane * stride_words for lane in range(LANES)}
    return max(sum(word % BANKS == bank for word in words) for bank in range(BANKS))


def local_sectors() -> int:
    """Count the sectors of one access to a local array at one index: the 32 lanes' words lie side by side."""
    return sectors(addresses(LANES, WORD_BYTES), WORD_BYTES)


def hit_percent(sector_accesses: int, distinct_sectors: int) -> float:
    """Give the hit rate of a cache that keeps everything: each sector misses once."""
    return 100 * (sector_accesses - distinct_sectors) / sector_accesses


def dram_bytes_per_useful_byte(access_bytes: int, stride_bytes: int, fetch_bytes: int = 64) -> float:
    """Give the bytes that DRAM delivers for each that a stream asks for, when a miss fetches at least `fetch_bytes`."""
    return max(access_bytes, min(stride_bytes, fetch_bytes)) / access_bytes


# --8<-- [end:model]

# name: what the lanes read, bytes of an access, width, inner, outer, offset, active lanes, order
PATTERNS: dict[str, tuple[str, int, int, int, int, int, int, int]] = {
    "one_byte": ("char a[i]", 1, 32, 1, 0, 0, 32, 1),
    "two_bytes": ("half a[i]", 2, 32, 2, 0, 0, 32, 1),
    "four_bytes": ("float a[i]", 4, 32, 4, 0, 0, 32, 1),
    "eight_bytes": ("float2 a[i]", 8, 32, 8, 0, 0, 32, 1),
    "sixteen_bytes": ("float4 a[i]", 16, 32, 16, 0, 0, 32, 1),
    "same_address": ("float a[0]", 4, 32, 0, 0, 0, 32, 1),
    "permuted": ("float a[5*i % 32]", 4, 32, 4, 0, 0, 32, 5),
    "half_warp": ("float a[i], i < 16", 4, 32, 4, 0, 0, 16, 1),
    "offset_4": ("float a[i + 1]", 4, 32, 4, 0, 4, 32, 1),
    "offset_16": ("float4 a[i + 1]", 16, 32, 16, 0, 16, 32, 1),
    "stride_2": ("float a[2*i]", 4, 32, 8, 0, 0, 32, 1),
    "stride_3": ("float a[3*i]", 4, 32, 12, 0, 0, 32, 1),
    "stride_8": ("float a[8*i]", 4, 32, 32, 0, 0, 32, 1),
    "stride_32": ("float a[32*i]", 4, 32, 128, 0, 0, 32, 1),
    "tile_8_by_4": ("float a[i/4][i%4]", 4, 4, 4, 512, 0, 32, 1),
    "wide_stride": ("float4 a[8*i]", 16, 32, 128, 0, 0, 32, 1),
}


def main() -> None:
    """Print the chosen pattern, then the others, then shared memory and the caches."""
    print(f"{'the lanes read':<20}{'bytes':>6}{'sectors':>9}{'lines':>7}{'useful %':>10}")
    chosen = ("(chosen above)", ACCESS_BYTES, WIDTH, INNER_BYTES, OUTER_BYTES, OFFSET_BYTES, ACTIVE, 1)
    for name, access, width, inner, outer, offset, active, order in (chosen, *PATTERNS.values()):
        places = addresses(width, inner, outer, offset, active, order)
        lines = touched(places, access, LINE_BYTES)
        print(f"{name:<20}{access:>6}{sectors(places, access):>9}{lines:>7}{useful_percent(places, access):>10.1f}")
    print("\nshared memory, wavefronts at stride 1, 2, 32, 33: " + ", ".join(str(shared_wavefronts(stride)) for stride in (1, 2, 32, 33)))
    print(f"local array, sectors of an access: {local_sectors()}")
    print(f"hit rate of data read 32 times: {hit_percent(32, 1):.1f} %; read once: {hit_percent(1, 1):.1f} %")
    print(f"DRAM bytes a useful byte at stride 1, 32: {dram_bytes_per_useful_byte(4, 4):g}, {dram_bytes_per_useful_byte(4, 128):g}")


if __name__ == "__main__":
    main()
