"""Compare on a GPU, element by element, which lane holds what in mma.m16n8k16 and in ldmatrix with fragments.py."""

import json
import random
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fragments

import gpu

SOURCE = Path(__file__).with_name("fragments.cu")
PRODUCTS = 256  # of random matrices of small integers: exact in every order
TABLES = {
    "layout": {
        "test": ("测试", "Test"),
        "cases": ("启动的 warp", "Warps launched"),
        "predicted_elements": ("预测：该有值的元素", "Predicted: elements with a value"),
        "counted_elements": ("实测：有值的元素", "Counted: elements with a value"),
        "counted_in_place": ("值和位置都与模型相同", "Value and place as in the model"),
    },
}


def inputs() -> dict[str, dict[str, Any]]:
    """Give the rows' names and inputs."""
    a, b, d = (fragments.LANES * fragments.ELEMENTS[matrix] for matrix in ("A", "B", "D"))
    cases = {"one_a_times_one_b": a * b, "one_c": d, "ldmatrix_a": 1, "ldmatrix_b": 1, "ldmatrix_b_trans": 1, "products": PRODUCTS}
    return {test: {"test": test, "cases": count} for test, count in cases.items()}


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Count the elements that have a value when the layout is the model's."""
    a, b, d = (fragments.owners(matrix) for matrix in ("A", "B", "D"))
    elements = {
        "one_a_times_one_b": sum(k == also_k for _, k in a for also_k, _ in b),
        "one_c": len(d),
        "ldmatrix_a": len(a),
        "ldmatrix_b": len(b),
        "ldmatrix_b_trans": len(b),
        "products": len(d) * row["cases"],
    }
    return {"predicted_elements": elements[row["test"]]}


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name, row in rows.items():
        assert row["counted_elements"] == row["counted_in_place"] == row["predicted_elements"], f"{name}: {row}"


def main() -> None:
    """Run every test and print the rows."""
    tests = {"one_a_times_one_b": pairs, "one_c": accumulators, "products": products}
    rows = {}
    for name, row in inputs().items():
        counted, in_place = tests[name]() if name in tests else loads(name)
        rows[name] = row | predict(row) | {"counted_elements": counted, "counted_in_place": in_place}
        gpu.say(f"{name}: {rows[name]}")
    check(rows)
    print(json.dumps({"rows": rows}))


def pairs() -> tuple[int, int]:
    """Multiply each single element of A by each single element of B: count the ones in D, and those where the model has them."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too

    of_a, of_b = (fragments.LANES * fragments.ELEMENTS[matrix] for matrix in ("A", "B"))
    d = cupy.full((of_a, of_b, fragments.LANES * fragments.ELEMENTS["D"]), cupy.nan, cupy.float32)
    gpu.kernel(SOURCE, "pair")((of_a, of_b), (fragments.LANES,), (d,))
    expected = cupy.zeros(d.shape, cupy.bool_).get()
    d_owners = fragments.owners("D")
    for (row, k), (lane_a, element_a) in fragments.owners("A").items():
        for (also_k, column), (lane_b, element_b) in fragments.owners("B").items():
            if k == also_k:
                lane, element = d_owners[row, column]
                expected[lane_a * 8 + element_a, lane_b * 4 + element_b, lane * 4 + element] = True
    result = d.get()
    assert bool(((result == 0) | (result == 1)).all()), "an element of D is neither 0 nor 1"
    return int((result == 1).sum()), int(((result == 1) & expected).sum())


def accumulators() -> tuple[int, int]:
    """Give each element of C alone a value, with A and B zero: count the values in D, and those in the same place."""
    size = fragments.LANES * fragments.ELEMENTS["D"]
    c = [[float(place + 1) * (place == case) for place in range(size)] for case in range(size)]
    d = launch([0] * 128 * size, [0] * 64 * size, [value for case in c for value in case])
    return sum(value != 0 for value in d), sum(value == place % size + 1 for place, value in enumerate(d) if place // size == place % size)


def products() -> tuple[int, int]:
    """Multiply random matrices and compare every element of D with the exact product."""
    numbers = random.Random(0)  # noqa: S311 - test data, no secret
    a_words: list[int] = []
    b_words: list[int] = []
    c: list[float] = []
    expected: list[float] = []
    for _ in range(PRODUCTS):
        a = [[numbers.randint(-8, 8) for _ in range(fragments.K)] for _ in range(fragments.M)]
        b = [[numbers.randint(-8, 8) for _ in range(fragments.N)] for _ in range(fragments.K)]
        start = [[numbers.randint(-8, 8) for _ in range(fragments.N)] for _ in range(fragments.M)]
        a_words += packed(a[row][k] for lane in range(fragments.LANES) for row, k in (fragments.a_place(lane, i) for i in range(8)))
        b_words += packed(b[k][column] for lane in range(fragments.LANES) for k, column in (fragments.b_place(lane, i) for i in range(4)))
        for lane in range(fragments.LANES):
            for row, column in (fragments.d_place(lane, i) for i in range(4)):
                c.append(start[row][column])
                expected.append(start[row][column] + sum(a[row][k] * b[k][column] for k in range(fragments.K)))
    d = launch(a_words, b_words, c)
    return sum(value == value for value in d), sum(value == exact for value, exact in zip(d, expected, strict=True))  # noqa: PLR0124 - NaN is poison


def packed(values: Iterable[float]) -> list[int]:
    """Pack FP16 values in pairs, as registers hold them."""
    raw = b"".join(struct.pack("<e", value) for value in values)
    return list(struct.unpack(f"<{len(raw) // 4}I", raw))


def launch(a: list[int], b: list[int], c: list[float]) -> list[float]:
    """Multiply fragments as they lie in registers, one warp for each, over poison."""
    import cupy  # noqa: PLC0415 - as above

    d = cupy.full(len(c), cupy.nan, cupy.float32)
    arguments = (cupy.asarray(a, cupy.uint32), cupy.asarray(b, cupy.uint32), cupy.asarray(c, cupy.float32), d)
    gpu.kernel(SOURCE, "multiply")((len(c) // 128,), (fragments.LANES,), arguments)
    return [float(value) for value in d.get()]


def loads(test: str) -> tuple[int, int]:
    """Load unique values by ldmatrix: A by rows, B by columns, or B by rows with .trans; compare with the fragment of the model."""
    import cupy  # noqa: PLC0415 - as above

    of_a, transposed = test == "ldmatrix_a", test == "ldmatrix_b_trans"
    # Where each place lies in shared memory: A row by row, B column by column, or B row by row.
    width = fragments.N if transposed else fragments.K
    rows = [fragments.ldmatrix_row(lane, of_a=of_a) for lane in range(fragments.LANES)]
    address = [lane % 16 * width if transposed else row * width + k for lane, (row, k) in enumerate(rows)]
    words = cupy.full((fragments.LANES, 4), 0xDEADBEEF, cupy.uint32)
    arguments = (cupy.arange(256, dtype=cupy.uint16), cupy.asarray([place % 256 for place in address], cupy.int32), words)
    gpu.kernel(SOURCE, test.replace("ldmatrix", "load"))((1,), (fragments.LANES,), arguments)
    matrix, loaded = "A" if of_a else "B", words.get()
    found = 0
    for (first, second), (lane, element) in fragments.owners(matrix).items():
        place = first * width + second if of_a or transposed else second * width + first
        word = int(loaded[lane, element // 2])
        found += (word >> 16 * (element % 2) & 0xFFFF) == place
    held = int((loaded[:, : fragments.ELEMENTS[matrix] // 2] != 0xDEADBEEF).sum())
    return 2 * held, found


if __name__ == "__main__":
    main()
