"""Predict what one warp's access to global memory moves: 32-byte sectors, 128-byte lines, and the useful share of them.

Standard Python, no GPU. Change the three parameters and run it again.
"""

# --8<-- [start:model]
ACCESS_BYTES = 4  # what one instruction moves for one thread: float 4, float2 8, float4 16
STRIDE = 2  # from one thread's access to its neighbour's, in accesses: 1 is contiguous
OFFSET_BYTES = 0  # from a 128-byte boundary to the first thread's access

LANES, SECTOR_BYTES, LINE_BYTES = 32, 32, 128


def lane_addresses(stride_bytes: int, offset_bytes: int = 0) -> list[int]:
    """Give the byte address that each lane of one warp accesses, from a 128-byte boundary on."""
    return [offset_bytes + lane * stride_bytes for lane in range(LANES)]


def touched(addresses: list[int], access_bytes: int, unit_bytes: int) -> list[int]:
    """Give the numbers of the units (sectors, lines) that hold at least one accessed byte, each once, in order."""
    first_and_last = ((address // unit_bytes, (address + access_bytes - 1) // unit_bytes) for address in addresses)
    return sorted({unit for first, last in first_and_last for unit in range(first, last + 1)})


def sectors(addresses: list[int], access_bytes: int) -> int:
    """Count the sectors of one request: what ncu calls sectors per request."""
    return len(touched(addresses, access_bytes, SECTOR_BYTES))


def useful_percent(addresses: list[int], access_bytes: int) -> float:
    """Give the distinct bytes that the warp asked for, in percent of the bytes of the sectors that were moved."""
    asked = len(touched(addresses, access_bytes, 1))
    return 100 * asked / (SECTOR_BYTES * sectors(addresses, access_bytes))


def aligned(address: int, access_bytes: int) -> bool:
    """Tell whether an access of 1, 2, 4, 8 or 16 bytes is naturally aligned, as one instruction requires."""
    return address % access_bytes == 0


# --8<-- [end:model]


def dram_read_bytes(elements: int, stride_bytes: int, granularity_bytes: int) -> int:
    """Give the bytes that DRAM delivers, once each, for elements that lie stride_bytes apart.

    Up to a stride of one granule (the least that the L2 fetches) the whole span is read; beyond it a granule an element.
    """
    return elements * min(stride_bytes, granularity_bytes)


PATTERNS = (
    # name, bytes of an access, bytes from lane to lane, offset in bytes
    ("float", 4, 4, 0),
    ("float2", 8, 8, 0),
    ("float4", 16, 16, 0),
    ("float, all lanes one address", 4, 0, 0),
    ("float, reversed", 4, -4, 124),
    ("float, offset 4 B", 4, 4, 4),
    ("float, stride 2", 4, 8, 0),
    ("float, stride 3: .x of float3", 4, 12, 0),
    ("float, stride 4: .x of float4", 4, 16, 0),
    ("float, stride 8", 4, 32, 0),
    ("float, stride 32", 4, 128, 0),
)


def main() -> None:
    """Print what each pattern moves, the one of the parameters last."""
    print(f"{'one warp reads':<32}{'sectors':>9}{'lines':>7}{'useful %':>10}{'aligned':>9}")
    chosen = (f"{ACCESS_BYTES} B, stride {STRIDE}, offset {OFFSET_BYTES} B", ACCESS_BYTES, STRIDE * ACCESS_BYTES, OFFSET_BYTES)
    for name, access_bytes, stride_bytes, offset_bytes in (*PATTERNS, chosen):
        addresses = lane_addresses(stride_bytes, offset_bytes)
        fits = all(aligned(address, access_bytes) for address in addresses)
        lines = len(touched(addresses, access_bytes, LINE_BYTES))
        useful = useful_percent(addresses, access_bytes)
        print(f"{name:<32}{sectors(addresses, access_bytes):>9}{lines:>7}{useful:>10.1f}{'yes' if fits else 'NO':>9}")


if __name__ == "__main__":
    main()
