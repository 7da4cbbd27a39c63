"""Count sectors, L2 and DRAM bytes of each layout and mapping on a GPU, and time it against a copy in the same run."""

import json
import statistics
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import coalescing
from coalescing import FLOAT, LANES, SECTOR, Place

import gpu

SOURCE = Path(__file__).with_name("coalescing.cu")
FLOATS = 2**29  # 2 GiB, dozens of times the L2 of an H200
BLOCK, EACH, REPEAT = 256, 8, 20
SMS = 132
FEW, MANY = 8, 64  # warps on each SM that take a row a thread
SAMPLE = 2048  # threads whose requests the model goes through; the rest of a launch repeats them
GATHERS = 2**26
EMPTY = -2  # what no kernel writes
WHOLE = 2**29  # a gather over the whole array
COPY = "cudaMemcpy"
SHAPE = ("per", "jump", "field", "fields", "columns", "pitch", "kernel", "index_within")  # what the sectors depend on

COUNTS = {
    "predicted_sectors_per_request": ("预测 sector / 请求", "Predicted sectors / request"),
    "counted_sectors_per_request": ("实测", "Counted"),
}
L2 = {
    "predicted_l2_ratio_at_best": ("预测 L2 字节 / 要的字节，至少", "Predicted L2 bytes / asked, at least"),
    "counted_l2_ratio": ("实测", "Counted"),
}
DRAM = {
    "predicted_dram_ratio": ("预测 DRAM 字节 / 要的字节", "Predicted DRAM bytes / asked"),
    "counted_dram_ratio": ("实测", "Counted"),
}
L1 = {"counted_l1_wavefronts_per_request": ("L1 wavefront / 请求", "L1 wavefronts / request")}
TIME = {
    "predicted_copy_share": ("预测有用带宽 / 拷贝带宽，至多", "Predicted share of the copy, at most"),
    "measured_copy_share": ("实测", "Measured"),
}
MAPPING = {"mapping": ("线程与矩阵", "Threads and matrix"), "warps_per_sm": ("warp / SM", "Warps / SM")}
GATHER = {"index_within": ("下标打乱的范围", "Index shuffled within")}
WRITES = {"writes": ("写入", "Writes")}
TABLES = {
    "structures": {"layout": ("读取", "Reads"), **COUNTS, **DRAM, **TIME},
    "matrix": {**MAPPING, **COUNTS, **L2, **DRAM},
    "matrix_time": {**MAPPING, **L1, **TIME},
    "rows": {"row_pitch": ("行距（float）", "Pitch (floats)"), **COUNTS, **L2, **TIME},
    "gather": {**GATHER, **COUNTS, **L2, **DRAM},
    "gather_time": {**GATHER, **L1, **TIME},
    "stores": {**WRITES, **COUNTS, **L2},
    "stores_dram": {
        **WRITES,
        "predicted_dram_write_ratio": ("预测 DRAM 写 / 要写的字节", "Predicted DRAM written / asked"),
        "counted_dram_write_ratio": ("实测", "Counted"),
        "predicted_fill_ratio": ("预测 DRAM 读 / 要写的字节", "Predicted DRAM read / asked"),
        "counted_fill_ratio": ("实测", "Counted"),
    },
    "stores_time": {"writes": ("写入", "Writes"), **TIME},
    "copy": {
        "copy": ("参照", "Reference"),
        "measured_time_us": ("时间（µs）", "Time (µs)"),
        "measured_bandwidth_gb_s": ("带宽（GB/s）", "Bandwidth (GB/s)"),
    },
}
METRICS = {
    "load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "load_l2_sectors": "lts__t_sectors_srcunit_tex_op_read.sum",
    "store_l2_sectors": "lts__t_sectors_srcunit_tex_op_write.sum",
    "l1_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_lgds.sum",
    "dram_read": "dram__bytes_read.sum",
    "dram_write": "dram__bytes_write.sum",
}


class Case(NamedTuple):
    """One launch, and what the model needs of it."""

    kernel: str
    threads: int
    inputs: dict[str, Any]  # what names the row in its table, and what the prediction takes


def structures(kernel: str, per: int, jump: int, field: int, count: int, **named: str) -> Case:
    """Read or write one field, or eight, of `count` structures."""
    return Case(kernel, count, {**named, "per": per, "jump": jump, "field": field, "fields": int(kernel[-1])})


def matrix(kernel: str, rows: int, columns: int, pitch: int, **named: Any) -> Case:
    """Read each element of a matrix once."""
    return Case(kernel, 0, {**named, "matrix_rows": rows, "columns": columns, "pitch": pitch})


RECORDS = FLOATS // 8
TALL, WIDE = SMS * MANY * LANES, SMS * FEW * LANES  # rows of two matrices of nearly 2 GiB: 1,984 and 15,872 columns
NARROW, BROAD = FLOATS // TALL // 64 * 64, FLOATS // WIDE // BLOCK * BLOCK
LONG = 1001
HEIGHT = 8 * 65535  # rows of 1,001 to 1,024 floats, nearly 2 GiB: blocks take 8 rows, and a grid has no more blocks than this in y
CASES = {
    "aos_1_of_8": structures("read_1", 1, 8, 1, RECORDS, layout="AoS p[i].x, 8 floats"),
    "soa_1_of_8": structures("read_1", 1, 1, RECORDS, RECORDS, layout="SoA x[i]"),
    "aosoa_1_of_8": structures("read_1", LANES, 8 * LANES, LANES, RECORDS, layout="AoSoA p[i/32].x[i%32]"),
    "aos_1_of_16": structures("read_1", 1, 16, 1, FLOATS // 16, layout="AoS p[i].x, 16 floats"),
    "aos_1_of_32": structures("read_1", 1, 32, 1, FLOATS // 32, layout="AoS p[i].x, 32 floats"),
    "aos_8_of_8": structures("read_8", 1, 8, 1, RECORDS, layout="AoS, all 8 floats"),
    "soa_8_of_8": structures("read_8", 1, 1, RECORDS, RECORDS, layout="SoA, all 8 floats"),
    "columns": matrix("column_sums", WIDE, BROAD, BROAD, mapping="a thread a column", warps_per_sm=MANY),
    "rows_few": matrix("row_sums", WIDE, BROAD, BROAD, mapping="a thread a row", warps_per_sm=FEW),
    "rows_few_padded": matrix("row_sums", WIDE, BROAD, BROAD + 1, mapping="a thread a row, pitch + 1", warps_per_sm=FEW),
    "rows_few_shifted": matrix("row_sums", WIDE, BROAD, BROAD + 8, mapping="a thread a row, pitch + 8", warps_per_sm=FEW),
    "rows_many": matrix("row_sums", TALL, NARROW, NARROW, mapping="a thread a row", warps_per_sm=MANY),
    "rows_staged": matrix("row_sums_staged", WIDE, BROAD, BROAD, mapping="a thread a row, staged", warps_per_sm=FEW),
    "pitch_1001": matrix("read_rows", HEIGHT, LONG, 1001, row_pitch=1001),
    "pitch_1008": matrix("read_rows", HEIGHT, LONG, 1008, row_pitch=1008),
    "pitch_1024": matrix("read_rows", HEIGHT, LONG, 1024, row_pitch=1024),
    "gather_32": Case("gather", GATHERS, {"index_within": 32}),
    "gather_1024": Case("gather", GATHERS, {"index_within": 1024}),
    "gather_2_20": Case("gather", GATHERS, {"index_within": 2**20}),
    "gather_all": Case("gather", GATHERS, {"index_within": WHOLE}),
    "write_all": structures("write_1", 1, 1, FLOATS, FLOATS, writes="a[i]"),
    "write_half": structures("write_1", 4, 8, 1, FLOATS // 2, writes="a[i/4*8 + i%4]"),
    "write_1_of_8": structures("write_1", 1, 8, 1, RECORDS, writes="AoS p[i].x, 8 floats"),
    "write_1_of_16": structures("write_1", 1, 16, 1, FLOATS // 16, writes="AoS p[i].x, 16 floats"),
    "write_8_of_8": structures("write_8", 1, 8, 1, RECORDS, writes="AoS, all 8 floats"),
}


def inputs() -> dict[str, dict[str, Any]]:
    """Give the inputs of each row."""
    copy = {"copy": COPY, "copied_bytes": FLOATS * FLOAT // 2}  # half of the array, read and written
    return {COPY: copy} | {name: case.inputs | {"kernel": case.kernel, "asked_bytes": asked_bytes(case)} for name, case in CASES.items()}


def predict(inputs: dict[str, Any]) -> dict[str, Any]:
    """Give the predicted values of a row from its inputs."""
    if "copy" in inputs:
        return {}
    moved, asked = sampled(tuple((key, value) for key, value in inputs.items() if key in SHAPE))
    requests, sectors = moved.requests, moved.sectors
    predicted: dict[str, Any] = {
        "predicted_requests": round(inputs["asked_bytes"] / asked * (2 * requests if "index_within" in inputs else requests)),
        "predicted_sectors_per_request": round(sectors / requests, 3),
    }
    index = moved.requests * LANES * FLOAT if "index_within" in inputs else 0  # the index is read too, once and in order
    predicted["predicted_l2_ratio_at_best"] = round((moved.once * SECTOR + index) / asked, 3)
    predicted["predicted_l2_ratio_at_worst"] = round((sectors * SECTOR + index) / asked, 3)
    if "writes" in inputs:
        fill = moved.partial * SECTOR / asked
        predicted["predicted_dram_write_ratio"] = round(moved.once * SECTOR / asked, 3)
        predicted["predicted_fill_ratio"] = round(fill, 3)
        dram = moved.once * SECTOR / asked + fill
    else:
        dram = (moved.dram + index) / asked
        predicted["predicted_dram_ratio"] = round(dram, 3)
    return predicted | {"predicted_copy_share": round(1 / dram, 3)}


@cache
def sampled(shape: tuple[tuple[str, Any], ...]) -> tuple[coalescing.Traffic, int]:
    """Go through a part of a launch that the rest repeats; give its traffic and the bytes that it asks for, an index included."""
    inputs = dict(shape)
    if within := inputs.get("index_within"):
        # A segment is a permutation of itself. Of the whole array the sample shares no piece of 64 bytes, and no cache holds it for later.
        threads = max(SAMPLE, within) if within < WHOLE else SAMPLE
        return coalescing.traffic(gathered(within), threads, 1), 2 * threads * FLOAT
    if "per" in inputs:
        moved = coalescing.traffic(coalescing.structures(inputs["per"], inputs["jump"], inputs["field"]), SAMPLE, inputs["fields"])
    elif inputs["kernel"] == "row_sums":
        moved = coalescing.traffic(coalescing.down(inputs["pitch"]), LANES, inputs["columns"])
    else:  # 16 rows of any pitch are whole pieces of 64 bytes
        columns = inputs["columns"]
        moved = coalescing.traffic(coalescing.along(columns, inputs["pitch"]), -(-columns // LANES) * LANES, 16)
    return moved, moved.asked


def gathered(within: int) -> Place:
    """Give the element that a thread gathers."""
    return lambda i, _: coalescing.shuffled(i, within)


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name in CASES:
        row = rows[name]
        assert row["counted_requests"] == row["predicted_requests"], (name, row)
        assert abs(row["counted_sectors_per_request"] / row["predicted_sectors_per_request"] - 1) < 0.002, (name, row)
        # Useful bandwidth is bounded by the bytes that DRAM moves; reading alone is a little faster than copying.
        assert row["measured_copy_share"] < 1.15 * row["predicted_copy_share"], (name, row)
        assert 0.98 * row["predicted_l2_ratio_at_best"] < row["counted_l2_ratio"] < 1.02 * row["predicted_l2_ratio_at_worst"], (name, row)
        if "writes" in row:
            assert abs(row["counted_dram_write_ratio"] / row["predicted_dram_write_ratio"] - 1) < 0.06, (name, row)  # what stays in the L2 is missing
            assert abs(row["counted_fill_ratio"] - row["predicted_fill_ratio"]) < 0.06 * row["predicted_dram_write_ratio"], (name, row)
        elif name != "rows_many":
            assert abs(row["counted_dram_ratio"] / row["predicted_dram_ratio"] - 1) < 0.06, (name, row)
    share = {name: rows[name]["measured_copy_share"] for name in CASES}
    l2 = {name: rows[name]["counted_l2_ratio"] for name in CASES}
    bound = {name: share[name] / rows[name]["predicted_copy_share"] for name in CASES}
    for name in ("soa_1_of_8", "aosoa_1_of_8", "soa_8_of_8", "columns"):
        assert share[name] > 0.93, (name, share)
    for name in ("aos_1_of_8", "aos_1_of_16", "aos_1_of_32", "write_all", "write_half", "write_1_of_8"):
        assert bound[name] > 0.85, (name, bound)
    assert 1.12 < share["soa_8_of_8"] / share["aos_8_of_8"] < 1.22, share
    assert l2["aos_8_of_8"] < 1.02, l2
    # 8 warps on an SM: the sectors wait in L1. A full SM asks for more lines than L1 holds.
    assert l2["rows_few"] < 1.02, l2
    assert 4.3 < l2["rows_many"] < 5, l2
    assert 1.05 < rows["rows_many"]["counted_dram_ratio"] < 1.2, rows["rows_many"]
    assert 4.6 < share["columns"] / share["rows_few"] < 5, share
    few = rows["rows_few"]
    assert 17 < 1e3 * few["measured_time_us"] * SMS / few["counted_requests"] < 19, few  # ns that an SM takes for a request
    wavefronts = {name: rows[name]["counted_l1_wavefronts_per_request"] for name in CASES}
    assert 31.9 < wavefronts["rows_few"] < 32.1, wavefronts
    assert 4 < wavefronts["rows_few_padded"] < 6, wavefronts
    assert 9 < wavefronts["rows_few_shifted"] < 9.5, wavefronts
    assert 2.7 < share["rows_few"] / share["rows_few_padded"] < 3.2, share
    assert 1.12 < share["rows_few_shifted"] / share["rows_few"] < 1.22, share
    assert 1.3 < share["rows_few"] / share["rows_many"] < 2, share
    assert 0.35 < share["rows_few"] / share["rows_staged"] < 0.42, share
    assert 0.57 < share["rows_staged"] < 0.63, share
    assert abs(share["pitch_1001"] / share["pitch_1024"] - 1) < 0.05, share
    assert 1.015 < l2["pitch_1001"] / l2["pitch_1008"] < 1.035, l2
    assert share["gather_1024"] / share["gather_32"] > 0.95, share
    assert l2["gather_1024"] < 1.02, l2
    assert l2["gather_2_20"] > 4, l2
    assert 3.7 < share["gather_32"] / share["gather_2_20"] < 4.4, share
    assert 12.5 < share["gather_32"] / share["gather_all"] < 15.5, share
    assert 0.58 < bound["gather_all"] < 0.72, bound
    assert bound["write_1_of_16"] < 0.8, bound
    assert 9 < share["write_all"] / share["write_8_of_8"] < 10, share
    assert 6.9 < l2["write_8_of_8"] < 7.3, l2
    # Sectors a nanosecond that the L2 is asked for.
    rate = {name: l2[name] * rows[name]["asked_bytes"] / SECTOR / (1e3 * rows[name]["measured_time_us"]) for name in ("gather_2_20", "write_8_of_8")}
    assert 150 < rate["gather_2_20"] < 158, rate
    assert 104 < rate["write_8_of_8"] < 111, rate


def main() -> None:
    """Launch each case once under ncu; else check what the kernels compute, count, time, and print the rows."""
    launches = cases()
    if gpu.launching():
        for run, _ in launches.values():
            run(keep=False)
        return
    for name, (run, is_right) in launches.items():
        run(keep=True)
        assert is_right(), f"{name} computes something else"
        gpu.say(f"{name} is right")
    gpu.say("ncu counts ...")
    kernels = "|".join(sorted({case.kernel for case in CASES.values()}))
    counted = dict(zip(CASES, gpu.counters(list(METRICS.values()), f"^({kernels})$"), strict=True))
    times = interleaved({name: partial(run, keep=False) for name, (run, _) in launches.items()} | {COPY: copier()})
    rows = inputs()
    rate = 2 * rows[COPY]["copied_bytes"] / times[COPY]
    rows[COPY] |= timed(times[COPY], rate)
    for name, case in CASES.items():
        asked = rows[name]["asked_bytes"]
        measured = {"measured_time_us": round(times[name], 2), "measured_copy_share": round(asked / times[name] / rate, 3)}
        rows[name] |= predict(rows[name]) | readings(case, asked, {key: counted[name][metric] for key, metric in METRICS.items()}) | measured
    gpu.say(json.dumps(rows))  # to be read where a check fails
    check(rows)
    print(json.dumps({"rows": rows}))


def timed(microseconds: float, bytes_per_us: float) -> dict[str, float]:
    """Give a time and the bandwidth that it means."""
    return {"measured_time_us": round(microseconds, 2), "measured_bandwidth_gb_s": round(bytes_per_us / 1e3, 1)}


def readings(case: Case, asked: int, read: dict[str, float]) -> dict[str, Any]:
    """Turn a launch's counters into what the tables show; of a gather, what the requests for the index take is taken off."""
    way = "store" if "writes" in case.inputs else "load"
    requests = int(read[f"{way}_requests"])
    sectors, wavefronts = read[f"{way}_sectors"] / requests, read["l1_wavefronts"] / requests
    if case.kernel == "gather":  # as many requests for the index, each of 4 sectors and of 1 wavefront
        sectors, wavefronts = 2 * sectors - LANES * FLOAT / SECTOR, 2 * wavefronts - 1
    values: dict[str, Any] = {
        "counted_requests": requests,
        "counted_sectors_per_request": round(sectors, 3),
        "counted_l1_wavefronts_per_request": round(wavefronts, 3),
        "counted_l2_ratio": round(read[f"{way}_l2_sectors"] * SECTOR / asked, 3),
    }
    if way == "store":
        return values | {"counted_dram_write_ratio": round(read["dram_write"] / asked, 3), "counted_fill_ratio": round(read["dram_read"] / asked, 3)}
    return values | {"counted_dram_ratio": round(read["dram_read"] / asked, 3)}


def asked_bytes(case: Case) -> int:
    """Give the different bytes that a launch asks for, an index included."""
    if case.kernel == "gather":
        return 2 * case.threads * FLOAT
    if "columns" in case.inputs:
        return int(case.inputs["matrix_rows"] * case.inputs["columns"] * FLOAT)
    return int(case.threads * case.inputs["fields"] * FLOAT)


class Arrays(NamedTuple):
    """What lies on the GPU: the array to read, the one to write, what a check looks at, and an index for each gather."""

    a: Any
    target: Any
    out: Any
    indices: dict[int, Any]


def cases() -> dict[str, tuple[Callable[..., object], Callable[[], bool]]]:
    """Give each case's launch, and whether what it kept is right."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too

    # Whole numbers below 1,024, so that sums are exact in any order.
    a = (cupy.arange(FLOATS, dtype=cupy.uint32) * cupy.uint32(2654435761) >> cupy.uint32(22)).astype(cupy.float32)
    target = a if gpu.launching() else cupy.empty(FLOATS, cupy.float32)  # under ncu nobody looks at what was written
    reaches = [case.inputs["index_within"] for case in CASES.values() if case.kernel == "gather"]
    arrays = Arrays(a, target, cupy.empty(2**26, cupy.float32), {within: shuffled_on_gpu(within) for within in reaches})
    return {name: (partial(launch, arrays, case), partial(right, arrays, case)) for name, case in CASES.items()}


def launch(arrays: Arrays, case: Case, *, keep: bool) -> None:
    """Launch one case; with keep, into arrays that hold nothing else."""
    import cupy  # noqa: PLC0415 - as above

    inputs, run, number = case.inputs, gpu.kernel(SOURCE, case.kernel), cupy.uint32
    flag = cupy.bool_(keep)
    if keep:
        (arrays.target if "writes" in inputs else arrays.out).fill(EMPTY)
    if case.kernel == "gather":
        run((case.threads // BLOCK // EACH,), (BLOCK,), (arrays.a, arrays.indices[inputs["index_within"]], arrays.out, flag))
    elif "columns" in inputs:
        columns, rows = inputs["columns"], inputs["matrix_rows"]
        grid, block = {
            "column_sums": ((columns // BLOCK, rows // BLOCK), BLOCK),
            "row_sums": ((rows // BLOCK,), BLOCK),
            "row_sums_staged": ((rows // 128,), 128),
            "read_rows": ((-(-columns // BLOCK), rows // 8), BLOCK),
        }[case.kernel]
        run(grid, (block,), (arrays.a, arrays.out, number(columns), number(inputs["pitch"]), flag))
    else:
        blocks = case.threads // BLOCK // (1 if inputs["fields"] > 1 else EACH)
        strides = (number(inputs["per"].bit_length() - 1), number(inputs["jump"]), number(inputs["field"]))
        run((blocks,), (BLOCK,), (arrays.target, *strides) if "writes" in inputs else (arrays.a, arrays.out, *strides, flag))


def right(arrays: Arrays, case: Case) -> bool:
    """Compare what a launch kept with what CuPy computes."""
    import cupy  # noqa: PLC0415 - as above

    inputs, a, out = case.inputs, arrays.a, arrays.out
    if case.kernel == "gather":
        return bool((out[: case.threads] == a[arrays.indices[inputs["index_within"]]]).all())
    if "columns" in inputs:
        columns, rows, pitch = inputs["columns"], inputs["matrix_rows"], inputs["pitch"]
        table = a[: rows * pitch].reshape(rows, pitch)[:, :columns]
        each = {"column_sums": BLOCK, "read_rows": 8}.get(case.kernel)
        wanted = table.reshape(rows // each, each, columns).sum(1).ravel() if each else table.sum(1)
        return bool((out[: wanted.size] == wanted).all())
    i = cupy.arange(case.threads, dtype=cupy.uint32)
    first = i // inputs["per"] * inputs["jump"] + i % inputs["per"]
    fields = range(inputs["fields"])
    if "writes" in inputs:
        written = all(bool((arrays.target[first + f * inputs["field"]] == (i + f) % 1024).all()) for f in fields)
        return written and int((arrays.target != EMPTY).sum()) == case.threads * len(fields)  # and nothing else
    return bool((out[: case.threads] == sum(a[first + f * inputs["field"]] for f in fields)).all())


def shuffled_on_gpu(within: int) -> Any:
    """Give coalescing.shuffled of every number below GATHERS."""
    import cupy  # noqa: PLC0415 - as above

    i = cupy.arange(GATHERS, dtype=cupy.uint64)
    mask, half = cupy.uint64(within - 1), cupy.uint64(max(1, within.bit_length() // 2))
    low = i & mask
    for _ in range(2):
        low = ((low ^ (low >> half)) * cupy.uint64(0x9E3779B1)) & mask
    return ((i - (i & mask)) + (low ^ (low >> half))).astype(cupy.uint32)


def copier() -> Callable[[], object]:
    """Give the driver's copy of 1 GiB."""
    import cupy  # noqa: PLC0415 - as above

    half, runtime = FLOATS * FLOAT // 2, cupy.cuda.runtime
    source, copy = cupy.zeros(half, cupy.uint8), cupy.empty(half, cupy.uint8)
    return lambda: runtime.memcpyAsync(copy.data.ptr, source.data.ptr, half, runtime.memcpyDeviceToDevice, cupy.cuda.get_current_stream().ptr)


def interleaved(runs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Time the runs in turn, REPEAT times around, so that all see the same clocks; give medians in microseconds.

    Nobody waits in between: the GPU has the next launch before it is done with the last, so no time holds Python's.
    """
    import cupy  # noqa: PLC0415 - as above

    turns: list[tuple[str, Any, Any]] = []
    for _ in range(REPEAT):
        for name, run in runs.items():
            start, stop = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            run()
            stop.record()
            turns.append((name, start, stop))
    cupy.cuda.Device().synchronize()
    measured: dict[str, list[float]] = {name: [] for name in runs}
    for name, start, stop in turns:
        measured[name].append(1e3 * cupy.cuda.get_elapsed_time(start, stop))
    return {name: statistics.median(times[1:]) for name, times in measured.items()}


if __name__ == "__main__":
    main()
