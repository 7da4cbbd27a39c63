"""Tell which lane of a warp holds which matrix element in mma.m16n8k16, and which row ldmatrix wants from which lane.

Standard Python, no GPU. The layout is that of the PTX ISA, "Matrix Fragments for mma.m16n8k16", 16-bit elements;
a register holds two of them. Change LANE and run it again.
"""

# --8<-- [start:model]
LANE = 5  # whose registers are printed

M, N, K, LANES = 16, 8, 16, 32

Place = tuple[int, int]


def a_place(lane: int, element: int) -> Place:
    """Give the (row, k) of A that a lane holds as its element 0 to 7; register r holds elements 2r and 2r + 1."""
    register, half = divmod(element, 2)
    return lane // 4 + 8 * (register % 2), lane % 4 * 2 + half + 8 * (register // 2)


def b_place(lane: int, element: int) -> Place:
    """Give the (k, column) of B that a lane holds as its element 0 to 3, two a register."""
    register, half = divmod(element, 2)
    return lane % 4 * 2 + half + 8 * register, lane // 4


def d_place(lane: int, element: int) -> Place:
    """Give the (row, column) of C and D that a lane holds as its element 0 to 3: four FP32, or two registers of FP16."""
    return lane // 4 + 8 * (element // 2), lane % 4 * 2 + element % 2


def ldmatrix_row(lane: int, *, of_a: bool) -> Place:
    """Give the row, and the first of its 8 k, whose address a lane passes to ldmatrix: x4 for A, x2 for B by columns."""
    matrix, row = divmod(lane, 8)
    return (row + 8 * (matrix % 2), 8 * (matrix // 2)) if of_a else (row, 8 * (matrix % 2))


# --8<-- [end:model]

ELEMENTS = {"A": 8, "B": 4, "D": 4}  # of one lane
PLACES = {"A": a_place, "B": b_place, "D": d_place}


def owners(matrix: str) -> dict[Place, tuple[int, int]]:
    """Give, for each place of a matrix, the (lane, element) that holds it."""
    return {PLACES[matrix](lane, element): (lane, element) for lane in range(LANES) for element in range(ELEMENTS[matrix])}


def main() -> None:
    """Print what one lane holds, and the lane of each element of D."""
    for matrix, elements in ELEMENTS.items():
        places = (PLACES[matrix](LANE, element) for element in range(elements))
        print(f"lane {LANE}, {matrix}:", " ".join(f"({row},{column})" for row, column in places))
    print("\nlanes of D, 16 x 8; a lane has two neighbours of a row, and two more 8 rows below")
    lanes = {place: lane for place, (lane, _) in owners("D").items()}
    for row in range(M):
        print(" ".join(f"{lanes[row, column]:>3}" for column in range(N)))


if __name__ == "__main__":
    main()
