"""Count on a GPU the wavefronts and bank conflicts that stride.py predicts, and time what they cost.

Every pattern is a launch of one warp with a known number of loads or stores, so predicted and counted must be equal.
"""

import json
import random
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import stride

import gpu

SOURCE = Path(__file__).with_name("stride.cu")
TABLES = {
    "strides": {
        "stride_words": ("步长（字）", "Stride (words)"),
        "predicted_load_wavefronts": ("预测 wavefront", "Predicted wavefronts"),
        "counted_load_wavefronts": ("实测，读", "Counted, load"),
        "counted_store_wavefronts": ("实测，写", "Counted, store"),
        "predicted_load_conflicts": ("预测冲突", "Predicted conflicts"),
        "counted_load_conflicts": ("实测，读", "Counted, load"),
        "counted_store_conflicts": ("实测，写", "Counted, store"),
    },
    "layouts": {
        "access_bytes": ("字节", "Bytes"),
        "stride_elements": ("步长", "Stride"),
        "padding_words": ("补字", "Padding"),
        "swizzle": ("XOR", "XOR"),
        "predicted_load_wavefronts": ("预测", "Predicted"),
        "counted_load_wavefronts": ("读", "Loads"),
        "counted_store_wavefronts": ("写", "Stores"),
        "counted_load_conflicts": ("冲突", "Conflicts"),
        "measured_slowdown": ("时间倍数", "Time ratio"),
    },
    "patterns": {
        "pattern": ("模式", "Pattern"),
        "access_bytes": ("字节", "Bytes"),
        "predicted_load_wavefronts": ("读：预测", "Loads: predicted"),
        "counted_load_wavefronts": ("读：实测", "Loads: counted"),
        "counted_load_sass_wavefronts": ("读：按指令", "Loads: by instruction"),
        "measured_slowdown": ("读：时间倍数", "Loads: time ratio"),
        "predicted_store_wavefronts": ("写：预测", "Stores: predicted"),
        "counted_store_wavefronts": ("写：实测", "Stores: counted"),
    },
    "sweeps": {
        "direction": ("方向", "Direction"),
        "access_bytes": ("字节", "Bytes"),
        "swizzle": ("XOR", "XOR"),
        "last_stride": ("步长数", "Strides"),
        "predicted_total_wavefronts": ("预测总数", "Predicted, all"),
        "counted_total_wavefronts": ("实测总数", "Counted, all"),
        "counted_equal_strides": ("相等的步长数", "Strides equal"),
    },
    "time": {
        "stride_words": ("步长（字）", "Stride (words)"),
        "predicted_load_wavefronts": ("预测 wavefront", "Predicted wavefronts"),
        "measured_time_ms": ("吞吐：时间（ms）", "Throughput: time (ms)"),
        "measured_slowdown": ("吞吐：倍数", "Throughput: ratio"),
        "measured_chain_0_cycles": ("延迟：每次读的周期", "Latency: cycles a load"),
        "measured_chain_1_cycles": ("加 1 次乘加", "With 1 multiply-add"),
        "measured_chain_5_cycles": ("加 5 次乘加", "With 5 multiply-adds"),
    },
}

METRICS = {
    ("load", "wavefronts"): "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    ("load", "conflicts"): "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    ("load", "sass_wavefronts"): "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    ("load", "instructions"): "smsp__inst_executed_op_shared_ld.sum",
    ("store", "wavefronts"): "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    ("store", "conflicts"): "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
}

UNROLL = 8  # accesses a round of the kernels' loops
ROUNDS = 32  # so 256 accesses are counted
TIMED_ROUNDS = 2048
TIMED_BLOCKS, TIMED_THREADS = 264, 1024  # two blocks an SM on 132 SMs: all 64 warps of each
CHAIN_ROUNDS = 512
CHAINS = (0, 1, 5)  # multiply-adds between two loads
LAST_STRIDE = 33
WORDS = random.Random(0).choices(range(2**32), k=8192)  # noqa: S311 - what fills shared memory before loads, no secret
DIRECTIONS = ("load", "store")


def without_bit(number: int, bit: int) -> int:
    """Drop a bit from a number: lanes that differ in it alone get the same result, and the results are contiguous."""
    return number >> bit + 1 << bit | number & (1 << bit) - 1


# The number of the element that each lane takes; a row of memory, 128 bytes, holds `row` elements. In "n^1" lanes n and n^1 share one.
PATTERNS: dict[str, Callable[[int, int], int]] = {
    "one": lambda _lane, _row: 0,
    "n^1": lambda lane, _row: without_bit(lane, 0),
    "n^2": lambda lane, _row: without_bit(lane, 1),
    "n^4": lambda lane, _row: without_bit(lane, 2),
    "n^16": lambda lane, _row: without_bit(lane, 4),
    "reversed": lambda lane, _row: 31 - lane,
    "shuffled": lambda lane, _row: 5 * lane % 32,
    "even_odd": lambda lane, row: lane % 2 * row,
    "halves": lambda lane, row: lane % 16 * row + lane // 16,
}

Case = tuple[str, int, tuple[int, ...]]  # direction, bytes a lane, the lanes' byte addresses


def inputs() -> dict[str, dict[str, Any]]:
    """Give the rows' names and inputs."""
    rows: dict[str, dict[str, Any]] = {f"stride_{words}": {"stride_words": words} for words in (1, 2, 3, 4, 8, 16, 32, 33)}
    layouts = [(4, 32, padding, False) for padding in range(5)] + [(4, 16, 0, True), (4, 32, 0, True), (4, 33, 0, True)]
    layouts += [(2, 1, 0, False), (2, 32, 0, False), (2, 33, 0, False)]
    layouts += [(8, 1, 0, False), (8, 2, 0, False), (8, 16, 0, False), (8, 16, 2, False), (8, 16, 0, True)]
    layouts += [(16, 1, 0, False), (16, 2, 0, False), (16, 4, 0, False), (16, 8, 0, False), (16, 8, 4, False), (16, 8, 0, True)]
    for size, elements, padding, swizzle in layouts:
        name = f"bytes_{size}_stride_{elements}_padding_{padding}{'_swizzle' if swizzle else ''}"
        rows[name] = {"access_bytes": size, "stride_elements": elements, "padding_words": padding, "swizzle": swizzle}
    for pattern in PATTERNS:
        for size in (4, 8, 16):
            rows[f"{pattern}_{size}"] = {"pattern": pattern, "access_bytes": size}
    for direction, size, swizzle in [(way, size, False) for size in (4, 8, 16) for way in DIRECTIONS] + [("load", 4, True), ("load", 16, True)]:
        name = f"sweep_{direction}_{size}{'_swizzle' if swizzle else ''}"
        rows[name] = {"direction": direction, "access_bytes": size, "swizzle": swizzle, "last_stride": LAST_STRIDE}
    return rows


def addresses(row: dict[str, Any]) -> list[int]:
    """Give the lanes' byte addresses of a row that is one pattern."""
    if "stride_words" in row:
        return stride.lane_addresses(row["stride_words"], 4)
    if "pattern" in row:
        size: int = row["access_bytes"]
        return [PATTERNS[row["pattern"]](lane, stride.ROW_BYTES // size) * size for lane in range(stride.LANES)]
    return stride.lane_addresses(row["stride_elements"], row["access_bytes"], row["padding_words"], swizzle=row["swizzle"])


def cases(row: dict[str, Any]) -> list[Case]:
    """Give what is counted for a row: a load and a store, or one of them at every stride."""
    size = row.get("access_bytes", 4)
    if "last_stride" in row:
        strided = [stride.lane_addresses(elements, size, swizzle=row["swizzle"]) for elements in range(1, row["last_stride"] + 1)]
        return [(row["direction"], size, tuple(each)) for each in strided]
    return [(direction, size, tuple(addresses(row))) for direction in DIRECTIONS]


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Give a row's predicted values, an instruction's, from its inputs."""
    counts = [stride.wavefronts_and_conflicts(list(each), size, store=direction == "store") for direction, size, each in cases(row)]
    if "last_stride" in row:
        return {
            "predicted_total_wavefronts": sum(wavefronts for wavefronts, _ in counts),
            "predicted_wavefronts_by_stride": [wavefronts for wavefronts, _ in counts],
            "predicted_conflicts_by_stride": [conflicts for _, conflicts in counts],
        }
    result: dict[str, Any] = {}
    for direction, (wavefronts, conflicts) in zip(DIRECTIONS, counts, strict=True):
        result |= {f"predicted_{direction}_wavefronts": wavefronts, f"predicted_{direction}_conflicts": conflicts}
    return result


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name, row in rows.items():
        for key in filter(lambda key: key.startswith("predicted_"), row):
            counted = key.replace("predicted_", "counted_")
            assert row[counted] == row[key], f"{name}: {key} is {row[key]}, {counted} is {row[counted]}"
        if "last_stride" in row:
            continue
        # What the tool counts by instruction misses that lanes pair up where they also conflict; the clock sides with the pipe.
        missed = row.get("pattern") == "even_odd" and row["access_bytes"] > 4
        sass, pipe = row["counted_load_sass_wavefronts"], row["counted_load_wavefronts"]
        assert sass == (2 * pipe if missed else pipe), f"{name}: {sass} wavefronts by instruction, {pipe} by the pipe"
        assert 0.94 < row["measured_slowdown"] / pipe < 1.06, f"{name}: {row['measured_slowdown']} times as long, with {pipe} wavefronts"
    strided = {name: row for name, row in rows.items() if "stride_words" in row}
    for maths, ratio in {0: 3.7, 1: 3.1, 5: 2.4}.items():
        key = f"measured_chain_{maths}_cycles"
        alone, worst = rows["stride_1"][key], rows["stride_32"][key]
        assert abs(worst / alone - ratio) < 0.06, f"{key}: {worst} at stride 32 are {worst / alone:.2f} times {alone}"
        for name, row in strided.items():
            extra = row["predicted_load_conflicts"]
            assert abs(row[key] - alone - 2 * extra) < 0.5, f"{name}: {key} is {row[key]}, with {extra} conflicts and {alone} without"


def main() -> None:
    """Launch each case once under ncu; else check the results, count, time, and print the rows."""
    every = list(dict.fromkeys(case for row in inputs().values() for case in cases(row)))
    if gpu.launching():
        for case in every:
            launch(case)
        return
    for case in every:
        right(case)
    gpu.say(f"{len(every)} patterns give the right data; counting")
    read = gpu.counters(list(METRICS.values()), "^(load|store)_[0-9]+$")
    assert len(read) == len(every), f"{len(read)} launches were counted, {len(every)} made"
    counted = dict(zip(every, read, strict=True))
    rows = {name: row | predict(row) | counts(row, counted) for name, row in inputs().items()}
    for row in rows.values():
        if "last_stride" not in row:
            row["measured_time_ms"] = round(full(row), 4)
            row["measured_slowdown"] = round(row["measured_time_ms"] / rows["stride_1"]["measured_time_ms"], 3)
        if "stride_words" in row:
            row.update({f"measured_chain_{maths}_cycles": round(chained(row, maths), 2) for maths in CHAINS})
    for name, row in rows.items():
        gpu.say(f"{name}: {row}")
    check(rows)
    print(json.dumps({"rows": rows}))


def counts(row: dict[str, Any], counted: dict[Case, dict[str, float]]) -> dict[str, Any]:
    """Give a row's counted values, an instruction's."""
    each = [{what: share(counted[case][metric]) for (direction, what), metric in METRICS.items() if direction == case[0]} for case in cases(row)]
    for values in each:
        assert values.pop("instructions", 1) == 1, f"{row}: the compiler changed the number of loads"
    if "last_stride" in row:
        wavefronts, conflicts = [values["wavefronts"] for values in each], [values["conflicts"] for values in each]
        expected = predict(row)
        pairs = zip(wavefronts, conflicts, expected["predicted_wavefronts_by_stride"], expected["predicted_conflicts_by_stride"], strict=True)
        return {
            "counted_total_wavefronts": sum(wavefronts),
            "counted_wavefronts_by_stride": wavefronts,
            "counted_conflicts_by_stride": conflicts,
            "counted_equal_strides": sum((a, b) == (c, d) for a, b, c, d in pairs),
        }
    return {f"counted_{direction}_{what}": value for direction, values in zip(DIRECTIONS, each, strict=True) for what, value in values.items()}


def share(total: float) -> int | float:
    """Divide a launch's count among its accesses: an integer, or what should not be one."""
    accesses = UNROLL * ROUNDS
    return int(total) // accesses if total % accesses == 0 else total / accesses


def launch(case: Case) -> list[int]:
    """Run one warp's accesses and give what came back, over poison: a lane's sum of all loads, or what its stores left."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too

    direction, size, table = case
    result = cupy.full(4 * stride.LANES, 0xDEADBEEF, cupy.uint32)
    arguments = [cupy.asarray(table, cupy.uint32), result, cupy.int32(ROUNDS)]
    if direction == "load":
        arguments.insert(0, cupy.asarray(WORDS, cupy.uint32))
    gpu.kernel(SOURCE, f"{direction}_{size}")((1,), (stride.LANES,), tuple(arguments))
    return [int(value) for value in result.get()]


def right(case: Case) -> None:
    """Assert that each lane loaded its own data, or that a place holds what one of its lanes stored."""
    direction, size, table = case
    result = launch(case)
    parts = max(1, size // stride.WORD_BYTES)
    for lane, address in enumerate(table):
        if direction == "load":
            mine = [WORDS[address // 4 + part] >> 8 * (address % 4) & (0xFFFF if size == 2 else 0xFFFFFFFF) for part in range(parts)]
            expected = sum(mine) * UNROLL * ROUNDS % 2**32
            assert result[lane] == expected, f"{case}: lane {lane} summed {result[lane]}, not {expected}"
        else:
            writers = [other for other in range(stride.LANES) if table[other] == address]
            for part in range(parts):
                left = result[4 * lane + part]
                assert left in {16 * (other + 1) + part for other in writers}, f"{case}: {left} lies where lanes {writers} stored part {part}"


def full(row: dict[str, Any]) -> float:
    """Time a row's loads on every SM at once, in milliseconds."""
    import cupy  # noqa: PLC0415 - as above

    table, words = cupy.asarray(addresses(row), cupy.uint32), cupy.asarray(WORDS, cupy.uint32)
    sums = cupy.empty(TIMED_BLOCKS * TIMED_THREADS, cupy.uint32)
    load = gpu.kernel(SOURCE, f"load_{row.get('access_bytes', 4)}")
    return gpu.milliseconds(lambda: load((TIMED_BLOCKS,), (TIMED_THREADS,), (words, table, sums, cupy.int32(TIMED_ROUNDS))), repeat=15, warmup=3)


def chained(row: dict[str, Any], maths: int) -> float:
    """Time one warp whose loads wait for each other, with multiply-adds between them: cycles a load."""
    import cupy  # noqa: PLC0415 - as above

    kernel, measured = gpu.kernel(SOURCE, f"chain_{maths}"), []
    table = cupy.asarray(addresses(row), cupy.uint32)
    for _ in range(7):
        ends, cycles = cupy.empty(stride.LANES, cupy.uint32), cupy.empty(stride.LANES, cupy.int64)
        kernel((1,), (stride.LANES,), (table, ends, cycles, cupy.int32(CHAIN_ROUNDS), cupy.uint32(1), cupy.uint32(0)))
        assert (ends == table).all(), f"{row}: the chain lost its way"
        measured.append(int(cycles.max()))
    return statistics.median(measured) / (UNROLL * CHAIN_ROUNDS)


if __name__ == "__main__":
    main()
