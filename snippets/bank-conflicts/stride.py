"""Predict the bank conflicts of one shared-memory instruction from the byte addresses of a warp's 32 lanes.

Banks, words and broadcast are those of the CUDA Programming Guide, section 2.2.4.2. Which lanes of a
64- or 128-bit access share a wavefront is not in the guide: bench_stride.py counts it on an H200.
"""

# --8<-- [start:model]
# Change these four and run again.
STRIDE = 8  # elements from one lane to the next
ACCESS_BYTES = 4  # an element, which a lane reads at once: 2 (half), 4 (float), 8 (float2), 16 (float4)
PADDING = 0  # unused 32-bit words after every STRIDE elements, 0 to 4
SWIZZLE = False  # whether an element's place in a 128-byte row is XORed with the row's number

LANES = 32
BANKS = 32
WORD_BYTES = 4
ROW_BYTES = BANKS * WORD_BYTES  # one word from every bank: the most that a wavefront carries


def bank(address: int) -> int:
    """Give the bank of a byte address: bits 2 to 6."""
    return address // WORD_BYTES % BANKS


def lane_groups(addresses: list[int], access_bytes: int, *, store: bool = False) -> list[range]:
    """Split a warp into the groups of lanes that are served one after the other, at most 128 bytes a group.

    32 lanes of up to 4 bytes are one group, 16 lanes of 8 bytes, 8 lanes of 16 bytes. A wide load takes
    twice as many lanes at once where each lane n wants the same as lane n^1, or each the same as n^2.
    """
    size = min(LANES, ROW_BYTES // access_bytes)
    paired = any(all(addresses[n] == addresses[n ^ other] for n in range(LANES)) for other in (1, 2))
    if access_bytes > WORD_BYTES and paired and not store:
        size *= 2
    return [range(first, first + size) for first in range(0, LANES, size)]


def schedule(addresses: list[int], access_bytes: int, *, store: bool = False) -> list[dict[int, list[int]]]:
    """Give an instruction's wavefronts: in each, every busy bank with the lanes that its one word serves.

    Raises ValueError where an address is not a multiple of the access size: a GPU reports a misaligned address.
    """
    if any(address % access_bytes for address in addresses):
        raise ValueError(f"misaligned: an address is not a multiple of {access_bytes} bytes")
    wavefronts: list[dict[int, list[int]]] = []
    for lanes in lane_groups(addresses, access_bytes, store=store):
        banks: dict[int, dict[int, list[int]]] = {}  # bank -> word -> lanes; lanes that want one word share it
        for lane in lanes:
            for byte in range(addresses[lane], addresses[lane] + access_bytes, WORD_BYTES):
                banks.setdefault(bank(byte), {}).setdefault(byte // WORD_BYTES, []).append(lane)
        queues = {number: list(words.values()) for number, words in banks.items()}
        turns = range(max(map(len, queues.values())))
        wavefronts += [{number: queue[turn] for number, queue in queues.items() if turn < len(queue)} for turn in turns]
    return wavefronts


def wavefronts_and_conflicts(addresses: list[int], access_bytes: int, *, store: bool = False) -> tuple[int, int]:
    """Count wavefronts, and those beyond one a group: what Nsight Compute counts as bank conflicts."""
    wavefronts = len(schedule(addresses, access_bytes, store=store))
    return wavefronts, wavefronts - len(lane_groups(addresses, access_bytes, store=store))


def lane_addresses(stride: int, access_bytes: int, padding: int = 0, *, swizzle: bool = False, column: int = 0) -> list[int]:
    """Give each lane's byte address when lane n takes element `column` of row n.

    A row holds `stride` elements of access_bytes and then `padding` unused words.
    """
    pitch = stride * access_bytes + padding * WORD_BYTES
    plain = [lane * pitch + column * access_bytes for lane in range(LANES)]
    return [swizzled(address, access_bytes) for address in plain] if swizzle else plain


def swizzled(address: int, access_bytes: int) -> int:
    """Move an element within its 128 bytes: its index there is XORed with the number of the 128 bytes."""
    row, byte = divmod(address, ROW_BYTES)
    elements = ROW_BYTES // access_bytes
    return row * ROW_BYTES + (byte // access_bytes ^ row % elements) * access_bytes + byte % access_bytes


# --8<-- [end:model]


def main() -> None:
    """Print the chosen case, then what other strides, paddings and the swizzle would give."""
    chosen = lane_addresses(STRIDE, ACCESS_BYTES, PADDING, swizzle=SWIZZLE)
    print(f"stride {STRIDE} x {ACCESS_BYTES} B, padding {PADDING} words, swizzle {'on' if SWIZZLE else 'off'}: {told(chosen, ACCESS_BYTES)}")
    print(f"banks of lanes 0 to 7: {' '.join(str(bank(address)) for address in chosen[:8])} ...")
    print("\nwavefronts/conflicts a load")
    print("stride   4 B  4 B swizzled     8 B    16 B")
    for stride in (1, 2, 3, 4, 8, 16, 32, 33):
        cells = [told(lane_addresses(stride, 4, swizzle=swizzle), 4, short=True) for swizzle in (False, True)]
        cells += [told(lane_addresses(stride, size), size, short=True) for size in (8, 16)]
        print(f"{stride:6}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, (6, 14, 8, 8), strict=True)))
    print("\na column of rows of 128 B, then padded")
    print("padding  2 B (64 B rows)     4 B     8 B    16 B")
    for padding in range(5):
        cells = [told(lane_addresses(32 if size == 2 else ROW_BYTES // size, size, padding), size, short=True) for size in (2, 4, 8, 16)]
        print(f"{padding:7}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, (17, 8, 8, 8), strict=True)))


def told(addresses: list[int], access_bytes: int, *, short: bool = False) -> str:
    """Put a case's counts into words, or into a cell of a table."""
    try:
        wavefronts, conflicts = wavefronts_and_conflicts(addresses, access_bytes)
    except ValueError as error:
        return "-" if short else str(error)
    return f"{wavefronts}/{conflicts}" if short else f"{wavefronts} wavefronts, {conflicts} conflicts"


if __name__ == "__main__":
    main()
