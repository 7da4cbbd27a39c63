"""Compare on an H200, bit by bit, how Tensor Cores add with accumulate.py, and show what FP16 accumulators lose."""

import functools
import json
import math
import random
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import accumulate
import fragments

import gpu

SOURCE = Path(__file__).with_name("accumulate.cu")
ROWS, COLUMNS, THREADS = 64, 8, 128  # of a tile's D; wgmma's smallest shape, and four warps of mma
TILES = 4  # of random numbers: 2,048 results
SHOWN = 16  # results of a long sum: the first two rows
TABLES = {
    "bits": {
        "instruction": ("指令", "Instruction"),
        "format": ("输入", "Inputs"),
        "accumulator": ("累加器", "Accumulator"),
        "numbers": ("随机数", "Numbers"),
        "results": ("结果数", "Results"),
        "counted_equal": ("与模型逐位相等", "Bits as in the model"),
        "counted_as_one_by_one": ("与逐个相加相等", "Bits as if added one by one"),
    },
    "probes": {
        "sum": ("和", "Sum"),
        "format": ("输入", "Inputs"),
        "accumulator": ("累加器", "Accumulator"),
        "exact": ("精确值", "Exact"),
        "predicted_sum": ("预测", "Predicted"),
        "counted_sum": ("实测", "Counted"),
    },
    "losses": {
        "terms": ("各项", "Terms"),
        "k": ("项数 K", "Number of terms, K"),
        "exact": ("精确值", "Exact"),
        "predicted_fp32": ("FP32 累加：预测", "FP32 accumulator: predicted"),
        "counted_fp32": ("实测", "Counted"),
        "predicted_fp16": ("FP16 累加：预测", "FP16 accumulator: predicted"),
        "counted_fp16": ("实测", "Counted"),
        "counted_error_fp32_percent": ("FP32 误差（%）", "Error of FP32 (%)"),
        "counted_error_fp16_percent": ("FP16 误差（%）", "Error of FP16 (%)"),
    },
}

FOUR, TWO = "{%0, %1, %2, %3}", "{%0, %1}"
REGISTERS = "{%4, %5, %6, %7}, {%8, %9}"
# PTX after the shape's m and n, the words of D, and what follows the descriptors of wgmma.
KINDS = {
    ("FP16", "FP32"): ("k16", "f32.f16.f16", FOUR, "1, 1, 1, 0, 0"),
    ("FP16", "FP16"): ("k16", "f16.f16.f16", TWO, "1, 1, 1, 0, 0"),
    ("FP8 E4M3", "FP32"): ("k32", "f32.e4m3.e4m3", FOUR, "1, 1, 1"),
}
# name: the products' factors, from the first k on, and c
PROBES: dict[str, tuple[list[tuple[float, float]], float]] = {
    "1 + 16 * 2^-25": ([(2.0**-12, 2.0**-13)] * 16, 1.0),
    "1 + 16 * 2^-26": ([(2.0**-13, 2.0**-13)] * 16, 1.0),
    "1 + 2^-24 + 2^-25": ([(2.0**-12, 2.0**-12), (2.0**-12, 2.0**-13)], 1.0),
    "2^14 - 2^14 + 2^-11": ([(2.0**7, 2.0**7), (2.0**7, -(2.0**7))], 2.0**-11),
    "2^14 - 2^14 + 2^-12": ([(2.0**7, 2.0**7), (2.0**7, -(2.0**7))], 2.0**-12),
    "2048 + 1": ([(1.0, 1.0)], 2048.0),
    "2048 + 16 * 1": ([(1.0, 1.0)] * 16, 2048.0),
    "32768 + 16 * 1": ([(1.0, 1.0)] * 16, 32768.0),
    "1 + 2^-13": ([(2.0**-6, 2.0**-7)], 1.0),
    "1 + 2^-14": ([(2.0**-7, 2.0**-7)], 1.0),
}
PROBED = {("FP16", "FP32"): 5, ("FP16", "FP16"): 3, ("FP8 E4M3", "FP32"): 2}  # how many of them, in order
LOSSES = (("uniform_0_to_1", 256), ("uniform_0_to_1", 4096), ("uniform_0_to_1", 16_384), ("0.1", 10_000), ("1", 65_536))


@dataclass
class Tiles:
    """Matrices of one or more tiles: a value for each row (of A) or column (of B) and k, and C."""

    a: list[list[float]]
    b: list[list[float]]
    c: list[list[float]]


def inputs() -> dict[str, dict[str, Any]]:
    """Give the rows' names and inputs."""
    rows: dict[str, dict[str, Any]] = {}
    for (form, accumulator), instructions in {**dict.fromkeys(list(KINDS)[:2], ("mma", "wgmma")), list(KINDS)[2]: ("wgmma",)}.items():
        for instruction in instructions:
            for numbers in ("uniform", "any_bits"):
                name = f"{instruction}_{form}_{accumulator}_{numbers}".lower().replace(" ", "_")
                results = {"results": TILES * ROWS * COLUMNS}
                rows[name] = {"instruction": instruction, "format": form, "accumulator": accumulator, "numbers": numbers} | results
    kinds = [kind for kind, count in PROBED.items() for _ in range(count)]
    for number, ((form, accumulator), text) in enumerate(zip(kinds, PROBES, strict=True)):
        factors, c = PROBES[text]
        exact = c + math.fsum(x * y for x, y in factors)
        rows[f"probe_{number}"] = {"sum": text, "format": form, "accumulator": accumulator, "exact": shown(exact)}
    for terms, k in LOSSES:
        tiles = long_sum(terms, k)
        exact = math.fsum(x * y for x, y in zip(tiles.a[0], tiles.b[0], strict=True))
        rows[f"loss_{terms}_{k}"] = {"terms": terms, "k": k, "exact": round(exact, 4)}
    return rows


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Give the predicted values of a row from its inputs: what the model's addition gives."""
    if "numbers" in row:
        results, alone = expected(row["format"], row["accumulator"], row["numbers"])
        return {
            "predicted_crc32": crc32(results, row["accumulator"]),
            "predicted_equal": len(results),
            "predicted_as_one_by_one": sum(x == y for x, y in zip(results, alone, strict=True)),
        }
    if "sum" in row:
        return {"predicted_sum": shown(modelled(row, probe(row))[0])}
    tiles = long_sum(row["terms"], row["k"])
    result: dict[str, Any] = {}
    for accumulator in ("FP32", "FP16"):
        sums = [accumulate.chain(tiles.a[place // COLUMNS], tiles.b[place % COLUMNS], 0.0, accumulator) for place in range(SHOWN)]
        result |= {f"predicted_{accumulator.lower()}": round(sums[0], 4), f"predicted_error_{accumulator.lower()}_percent": worst(tiles, sums)}
    return result


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name, row in rows.items():
        for key in filter(lambda key: key.startswith("predicted_"), row):
            counted = key.replace("predicted_", "counted_")
            assert row[counted] == row[key], f"{name}: {key} is {row[key]}, {counted} is {row[counted]}"
    for row in rows.values():
        if row.get("numbers") == "uniform":
            assert row["counted_as_one_by_one"] < 0.75 * row["results"], row
    for terms, k in LOSSES[:3]:
        row = rows[f"loss_{terms}_{k}"]
        assert row["counted_error_fp32_percent"] < 0.01, row
    assert rows["loss_1_65536"]["counted_fp16"] == 32768, rows["loss_1_65536"]


def shown(value: float) -> str:
    """Write a sum with the digits that tell FP32 numbers apart."""
    return f"{value:.10g}"


def main() -> None:
    """Measure every row and print them."""
    rows = {}
    for name, row in inputs().items():
        rows[name] = row | predict(row) | measured(row)
        gpu.say(f"{name}: {rows[name]}")
    check(rows)
    print(json.dumps({"rows": rows}))


def measured(row: dict[str, Any]) -> dict[str, Any]:
    """Give a row's counted values, named like the predicted ones."""
    if "numbers" in row:
        results = launched(row, random_tiles(row["format"], row["accumulator"], row["numbers"]))
        model, alone = expected(row["format"], row["accumulator"], row["numbers"])
        return {
            "counted_crc32": crc32(results, row["accumulator"]),
            "counted_equal": sum(x == y for x, y in zip(results, model, strict=True)),
            "counted_as_one_by_one": sum(x == y for x, y in zip(results, alone, strict=True)),
        }
    if "sum" in row:
        instruction = "wgmma" if "FP8" in row["format"] else "mma"
        return {"counted_sum": shown(launched(row | {"instruction": instruction}, probe(row))[0])}
    tiles = long_sum(row["terms"], row["k"])
    result: dict[str, Any] = {}
    for accumulator in ("FP32", "FP16"):
        sums = launched({"instruction": "mma", "format": "FP16", "accumulator": accumulator}, tiles)[:SHOWN]
        result |= {f"counted_{accumulator.lower()}": round(sums[0], 4), f"counted_error_{accumulator.lower()}_percent": worst(tiles, sums)}
    return result


@functools.cache
def expected(form: str, accumulator: str, numbers: str) -> tuple[list[float], list[float]]:
    """Give the results for random numbers by the model, and as if the products were added one by one."""
    tiles = random_tiles(form, accumulator, numbers)
    kind = {"format": form, "accumulator": accumulator}
    return modelled(kind, tiles), modelled(kind, tiles, one_by_one=True)


def worst(tiles: Tiles, sums: list[float]) -> float:
    """Give the largest relative error of some sums of products, in percent."""
    exact = [math.fsum(x * y for x, y in zip(tiles.a[place // COLUMNS], tiles.b[place % COLUMNS], strict=True)) for place in range(len(sums))]
    return round(max(abs(value / right - 1) for value, right in zip(sums, exact, strict=True)) * 100, 4)


def random_tiles(form: str, accumulator: str, numbers: str) -> Tiles:
    """Make tiles for one instruction: values from -1 to 1, or any finite bit pattern, so that exponents are far apart."""
    draw = random.Random(f"{form} {accumulator} {numbers}")  # noqa: S311 - test data, no secret
    k = 32 if "FP8" in form else 16

    def value(of: str) -> float:
        if numbers == "uniform":
            return accumulate.rounded(draw.uniform(-1, 1), of)
        if of == "FP32":
            return accumulate.rounded(math.ldexp(draw.uniform(-1, 1), draw.randint(-30, 30)), of)
        exponent, mantissa = accumulate.FORMATS[of]
        while True:
            bits, sign = draw.getrandbits(exponent + mantissa), draw.choice((-1, 1))
            if abs(decoded(bits, of)) <= accumulate.largest(of):
                return sign * decoded(bits, of)

    return Tiles(
        [[value(form) for _ in range(k)] for _ in range(TILES * ROWS)],
        [[value(form) for _ in range(k)] for _ in range(TILES * COLUMNS)],
        [[value(accumulator) for _ in range(COLUMNS)] for _ in range(TILES * ROWS)],
    )


def decoded(bits: int, form: str) -> float:
    """Give the number of a positive bit pattern, as if no pattern were infinite or NaN."""
    exponent, mantissa = accumulate.FORMATS[form]
    power, fraction = divmod(bits, 2**mantissa)
    bias = 2 ** (exponent - 1) - 1
    return math.ldexp(fraction + 2**mantissa * (power > 0), max(power, 1) - bias - mantissa)


def probe(row: dict[str, Any]) -> Tiles:
    """Make a tile whose first result is the sum of a probe."""
    factors, c = PROBES[row["sum"]]
    k = 32 if "FP8" in row["format"] else 16
    nothing = [0.0] * (k - len(factors))
    zeros = [[0.0] * k for _ in range(ROWS - 1)]
    start = [[0.0] * COLUMNS for _ in range(ROWS)]
    start[0][0] = c
    return Tiles([[x for x, _ in factors] + nothing, *zeros], [[y for _, y in factors] + nothing, *zeros[: COLUMNS - 1]], start)


def long_sum(terms: str, k: int) -> Tiles:
    """Make a tile with k terms a sum: products of random numbers from 0 to 1, or one number times 1."""
    draw = random.Random(k)  # noqa: S311 - as above
    if terms == "uniform_0_to_1":
        used = [[accumulate.rounded(draw.random(), "FP16") for _ in range(k)] for _ in range(SHOWN // COLUMNS + COLUMNS)]
        a, b = used[: SHOWN // COLUMNS], used[SHOWN // COLUMNS :]
    else:
        a, b = [[accumulate.rounded(float(terms), "FP16")] * k] * (SHOWN // COLUMNS), [[1.0] * k] * COLUMNS
    return Tiles(a + [a[0]] * (ROWS - len(a)), b, [[0.0] * COLUMNS for _ in range(ROWS)])


def modelled(row: dict[str, Any], tiles: Tiles, *, one_by_one: bool = False) -> list[float]:
    """Give what one instruction makes of each result, by the model or one product at a time."""
    kind = row["format"], row["accumulator"]
    results = []
    for place in range(len(tiles.a) * COLUMNS):
        line, column = divmod(place, COLUMNS)
        a, b, c = tiles.a[line], tiles.b[line // ROWS * COLUMNS + column], tiles.c[line][column]
        alone = accumulate.one_by_one(a, b, c, row["accumulator"]) if one_by_one else None
        results.append(accumulate.tensor_core(a, b, c, *kind) if alone is None else alone)
    return results


def raw(values: list[float], form: str) -> bytes:
    """Give the bytes of values that are numbers of a format."""
    if form == "FP8 E4M3":
        return bytes(coded(value) for value in values)
    letter, largest = ("f", math.inf) if form == "FP32" else ("e", accumulate.largest("FP16"))
    return b"".join(struct.pack(f"<{letter}", value if abs(value) <= largest else math.copysign(math.inf, value)) for value in values)


def crc32(values: list[float], form: str) -> int:
    """Give a checksum of the bits of values; -0 counts as 0."""
    return zlib.crc32(raw([value + 0.0 for value in values], form))


def coded(value: float) -> int:
    """Give the byte of a number of E4M3."""
    power = max(math.frexp(value)[1] - 1, -6)
    fraction = round(abs(value) * 2.0 ** (3 - power))
    return (128 if math.copysign(1, value) < 0 else 0) | (fraction if fraction < 8 else (power + 7) * 8 + fraction - 8)


def options(form: str, accumulator: str) -> tuple[str, str]:
    """Give the compiler's options for a kind: the instructions as accumulate.cu wants them."""
    shape, types, words, tail = KINDS[form, accumulator]
    mma = f"mma.sync.aligned.m16n8{shape}.row.col.{types}.{types.partition('.')[0]} {words}, {REGISTERS}, {words};"
    wgmma = f"wgmma.mma_async.sync.aligned.m64n8{shape}.{types} {words}, %4, %5, {tail};"
    return f'-DMMA="{mma}"', f'-DWGMMA="{wgmma}"'


def launched(row: dict[str, Any], tiles: Tiles) -> list[float]:
    """Give what the GPU makes of each result."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too
    import numpy  # noqa: ICN001, PLC0415 - as above

    held = [
        (tiles.a, row["format"]), (tiles.b, row["format"]), (fragmented(tiles.c, row["accumulator"]), row["accumulator"]),
    ]  # fmt: skip
    a, b, c = (cupy.asarray(numpy.frombuffer(b"".join(raw(line, form) for line in lines), numpy.uint8)) for lines, form in held)
    count = len(tiles.a) // ROWS
    result = cupy.full(count * THREADS * 16, 0xFF, cupy.uint8)
    bytes_k = len(a) // len(tiles.a)
    gpu.kernel(SOURCE, f"{row['instruction']}_tile", *options(row["format"], row["accumulator"]))(
        (count,), (THREADS,), (a, b, c, result, cupy.int32(bytes_k))
    )
    letter = "f" if row["accumulator"] == "FP32" else "e"
    fragments_held = result.get().tobytes()
    values = [0.0] * (len(tiles.a) * COLUMNS)
    for thread in range(count * THREADS):
        for element, value in enumerate(struct.unpack_from(f"<4{letter}", fragments_held, thread * 16)):
            line, column = where(thread, element)
            values[line * COLUMNS + column] = value
    return values


def fragmented(c: list[list[float]], accumulator: str) -> list[list[float]]:
    """Lay C out as the threads hold it: four elements each, and for FP16 two words that nobody reads."""
    threads = len(c) // ROWS * THREADS
    places = [[where(thread, element) for element in range(4)] for thread in range(threads)]
    unused = [0.0] * (4 if accumulator == "FP16" else 0)
    return [[c[line][column] for line, column in mine] + unused for mine in places]


def where(thread: int, element: int) -> tuple[int, int]:
    """Give the row and the column of D that a thread holds: a warp has 16 rows, and a tile four warps."""
    row, column = fragments.d_place(thread % 32, element)
    return thread // 32 * 16 + row, column


if __name__ == "__main__":
    main()
