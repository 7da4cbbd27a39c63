"""Predict the bank conflicts of one shared-memory instruction from the byte addresses of a warp's 32 lanes.

Banks, words and broadcast are those of the CUDA Programming Guide, section 2.2.4.2. Which lanes of a
64- or 128-bit access share a wavefront is not in the guide: bench_stride.py counts it on an H200.
"""

# --8<-- [start:model]
# Change these four and run again.
STRIDE = 8  # 1..33: elements from one lane to the next
ACCESS_BYTES = 4  # 2 | 4 | 8 | 16: an element, which is a half, float, float2 or float4
PADDING = 0  # 0..4: unused 32-bit words after every STRIDE elements
SWIZZLE = False  # XOR an element's place in 128 bytes with their number

LANES = 32
BANKS = 32
WORD_BYTES = 4
ROW_BYTES = BANKS * WORD_BYTES  # a word from every bank: a full wavefront

Wavefront = dict[int, list[int]]  # busy bank -> the lanes that its word serves


def bank(address: int) -> int:
    """Give the bank of a byte address: bits 2 to 6."""
    return address // WORD_BYTES % BANKS


def lane_groups(addresses: list[int], size: int, *, store: bool = False) -> list[range]:
    """Split a warp into the groups of lanes that are served one after another.

    32 lanes of up to 4 bytes are a group, 16 lanes of 8 bytes, 8 lanes of 16 bytes.
    A wide load serves twice as many at once where every lane n wants the same as
    lane n ^ 1, or every lane the same as lane n ^ 2.
    """
    lanes = min(LANES, ROW_BYTES // size)
    if size > WORD_BYTES and not store and (paired(addresses, 1) or paired(addresses, 2)):
        lanes *= 2
    return [range(first, first + lanes) for first in range(0, LANES, lanes)]


def paired(addresses: list[int], bit: int) -> bool:
    """Tell whether every lane n wants the address of lane n ^ bit."""
    return all(addresses[lane] == addresses[lane ^ bit] for lane in range(LANES))


def schedule(addresses: list[int], size: int, *, store: bool = False) -> list[Wavefront]:
    """Give the wavefronts of one instruction; size is an access in bytes.

    Raises ValueError where a GPU reports a misaligned address.
    """
    if any(address % size for address in addresses):
        raise ValueError(f"misaligned: an address is not a multiple of {size} bytes")
    wavefronts: list[Wavefront] = []
    for lanes in lane_groups(addresses, size, store=store):
        words: dict[int, list[int]] = {}  # lanes that want the same word share it
        for lane in lanes:
            for byte in range(addresses[lane], addresses[lane] + size, WORD_BYTES):
                words.setdefault(byte // WORD_BYTES, []).append(lane)
        group: list[Wavefront] = []
        for word, served in words.items():
            number = bank(word * WORD_BYTES)
            free = next((each for each in group if number not in each), None)
            if free is None:  # another word of this bank is in every wavefront so far
                group.append(free := {})
            free[number] = served
        wavefronts += group
    return wavefronts


def wavefronts_and_conflicts(addresses: list[int], size: int, *, store: bool = False) -> tuple[int, int]:
    """Count wavefronts, and those beyond one a group: the bank conflicts."""
    wavefronts = len(schedule(addresses, size, store=store))
    return wavefronts, wavefronts - len(lane_groups(addresses, size, store=store))


def lane_addresses(stride: int, size: int, padding: int = 0, *, swizzle: bool = False, column: int = 0) -> list[int]:
    """Give each lane's byte address when lane n takes element `column` of row n.

    A row holds `stride` elements of `size` bytes, then `padding` unused words.
    """
    pitch = stride * size + padding * WORD_BYTES
    plain = [lane * pitch + column * size for lane in range(LANES)]
    return [swizzled(address, size) for address in plain] if swizzle else plain


def swizzled(address: int, size: int) -> int:
    """XOR an element's index within its 128 bytes with the number of the 128 bytes."""
    row, byte = divmod(address, ROW_BYTES)
    index = byte // size ^ row % (ROW_BYTES // size)
    return row * ROW_BYTES + index * size + byte % size


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
