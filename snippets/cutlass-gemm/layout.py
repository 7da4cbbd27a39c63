"""The algebra of CuTe's layouts in a few functions: a layout maps coordinates to places, and layouts compose.

A layout is a shape and a stride of the same nesting; an index counts through the shape, the leftmost mode fastest.
Definitions: NVIDIA, CUTLASS documentation, CuTe, "01 CuTe Layouts" and "02 CuTe Layout Algebra". The code is this site's own.
"""

from dataclasses import dataclass
from math import prod

BITS = 3  # 0..3: how many bits the swizzle XORs; 0 is none
COLUMNS = 64  # 32 | 64 | 128: FP16 elements in a row of the tile in shared memory

Ints = int | tuple["Ints", ...]


def flat(tree: Ints) -> list[int]:
    """List the numbers of a nested tuple."""
    return [tree] if isinstance(tree, int) else [number for part in tree for number in flat(part)]


@dataclass(frozen=True)
class Layout:
    """A function from an index to a place."""

    shape: Ints
    stride: Ints

    def modes(self) -> list[tuple[int, int]]:
        """List size and stride of each mode."""
        return list(zip(flat(self.shape), flat(self.stride), strict=True))

    def size(self) -> int:
        """Count the indices."""
        return prod(flat(self.shape))

    def __call__(self, index: int) -> int:
        """Give the place of an index."""
        place = 0
        for size, stride in self.modes():
            place, index = place + index % size * stride, index // size
        return place

    def __str__(self) -> str:
        """Write it as CuTe does, shape:stride."""
        return f"{self.shape}:{self.stride}".replace(" ", "")


def from_modes(modes: list[tuple[int, int]]) -> Layout:
    """Make a layout of a list of modes."""
    shape, stride = (tuple(numbers) for numbers in zip(*modes, strict=True))
    return Layout(shape, stride) if len(modes) > 1 else Layout(*modes[0])


def coalesce(layout: Layout) -> Layout:
    """Join modes that follow each other in memory: the same function, the fewest modes."""
    joined: list[tuple[int, int]] = []
    for size, stride in layout.modes():
        if joined and stride == joined[-1][0] * joined[-1][1]:
            joined[-1] = (joined[-1][0] * size, joined[-1][1])
        elif size > 1:
            joined.append((size, stride))
    return from_modes(joined or [(1, 0)])


# --8<-- [start:model]
def compose(outer: Layout, inner: Layout) -> Layout:
    """Give the layout index -> outer(inner(index)), nested as inner is."""
    if isinstance(inner.shape, int):
        (mode,) = inner.modes()
        return from_modes(picked(outer, *mode))
    assert isinstance(inner.stride, tuple)
    parts = [compose(outer, Layout(*pair)) for pair in zip(inner.shape, inner.stride, strict=True)]
    return Layout(tuple(part.shape for part in parts), tuple(part.stride for part in parts))


def picked(outer: Layout, count: int, step: int) -> list[tuple[int, int]]:
    """List the modes of `count` indices of outer, `step` apart."""
    modes = []
    *first, (_, last) = coalesce(outer).modes()
    for size, stride in first:
        if step < size and count > 1:  # the step stays inside this mode
            taken = min(count, size // step)
            modes.append((taken, stride * step))
            count, step = count // taken, 1
        else:
            step //= size
    return [*modes, (count, last * step)] if count > 1 or not modes else modes


def swizzle(place: int, bits: int, base: int = 4, shift: int = 3) -> int:
    """XOR `bits` bits from bit base + shift on onto those from bit base on: CuTe's Swizzle<bits, base, shift>."""
    return place ^ (place >> shift & (1 << bits) - 1 << base)


# --8<-- [end:model]


def wavefronts(addresses: list[int]) -> int:
    """Count the passes that eight rows of 16 bytes take through 32 banks of 4 bytes."""
    banks = [address // 4 % 32 for address in addresses]
    return max(banks.count(bank) for bank in banks)


def check() -> None:
    """Compare composition with its definition, and the fragment of mma.m16n8k16 with the PTX ISA."""
    outer = Layout((8, (4, 16)), (64, (1, 512)))
    for inner in (Layout((4, 8), (1, 64)), Layout((8, 8), (32, 1)), Layout((2, (4, 4)), (4, (8, 32)))):
        both = compose(outer, inner)
        assert [both(index) for index in range(both.size())] == [outer(inner(index)) for index in range(inner.size())], (str(inner), str(both))
    for index in range(128):
        lane, register = index % 32, index // 32
        row, column = lane // 4 + register // 2 * 8, lane % 4 * 2 + register % 2
        assert FRAGMENT(index) == row + 16 * column, index


FRAGMENT = Layout(((4, 8), (2, 2)), ((32, 1), (16, 8)))


def main() -> None:
    """Print layouts, a tile, a fragment and what a swizzle does to the banks."""
    check()
    matrix = Layout((4096, 4096), (4096, 1))
    tiles = Layout(((128, 64), (32, 64)), ((1, 4096), (128, 64 * 4096)))
    print(f"A, 4096 x 4096 by rows        {matrix}")
    print(f"  by columns, coalesced       {coalesce(Layout((4096, 4096), (1, 4096)))}")
    print(f"  in tiles of 128 x 64        {compose(matrix, tiles)}")
    print(f"D of m16n8k16: (lane, register) -> row + 16 column\n                              {FRAGMENT}")
    print(f"  lane 5, registers 0 to 3:   {[divmod(FRAGMENT(5 + 32 * register), 16)[::-1] for register in range(4)]} (row, column)")
    row_bytes = COLUMNS * 2
    print(f"\nSwizzle<{BITS},4,3> on rows of {row_bytes} bytes: where the pieces of 16 bytes go")
    for row in range(8):
        starts = [row * row_bytes + piece * 16 for piece in range(min(8, row_bytes // 16))]
        print(f"  row {row}:  " + " ".join(f"{swizzle(start, BITS) % row_bytes // 16:2}" for start in starts))
    for bits in sorted({0, BITS}):
        columns = [wavefronts([swizzle(row * row_bytes + piece * 16, bits) for row in range(8)]) for piece in range(row_bytes // 16)]
        print(f"  {bits} bits: ldmatrix reads eight rows of one piece in {max(columns)} wavefronts")


if __name__ == "__main__":
    main()
