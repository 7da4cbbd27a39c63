"""Count on a GPU what each memory metric says of a kernel that makes it bad and of one that makes it good, and why warps wait.

The sectors of each access pattern are those of one warp with a known number of accesses, so predicted and counted must be equal.
"""

import csv
import io
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import detective
import patterns

import gpu

SOURCE = Path(__file__).with_name("levels.cu")
CHIP = "gh100"

TABLES = {
    "patterns": {
        "reads": ("lane i 读或写", "Lane i reads or writes"),
        "access_bytes": ("每 lane 字节", "Bytes a lane"),
        "predicted_sectors": ("预测 sector / 请求", "Predicted sectors a request"),
        "counted_load_sectors": ("实测，读", "Counted, load"),
        "counted_store_sectors": ("实测，写", "Counted, store"),
        "predicted_useful_percent": ("预测有用字节（%）", "Predicted useful bytes (%)"),
        "counted_useful_percent": ("实测（%）", "Counted (%)"),
    },
    "metrics": {
        "level": ("层级", "Level"),
        "metric": ("指标", "Metric"),
        "bad": ("坏的 kernel", "Bad kernel"),
        "predicted_bad": ("预测", "Predicted"),
        "counted_bad": ("实测", "Counted"),
        "good": ("好的 kernel", "Good kernel"),
        "predicted_good": ("预测", "Predicted"),
        "counted_good": ("实测", "Counted"),
    },
    "tree": {
        "kernel": ("kernel", "Kernel"),
        "measured_time_ms": ("时间（ms）", "Time (ms)"),
        "counted_compute_percent": ("SM %", "SM %"),
        "counted_memory_percent": ("Memory %", "Memory %"),
        "counted_dram_percent": ("DRAM %", "DRAM %"),
        "counted_l2_percent": ("L2 %", "L2 %"),
        "counted_l1_percent": ("L1 %", "L1 %"),
        "counted_l1_hit_percent": ("L1 命中 %", "L1 hit %"),
        "counted_l2_hit_percent": ("L2 命中 %", "L2 hit %"),
        "counted_occupancy_percent": ("占用率 %", "Occupancy %"),
        "counted_leaf": ("决策树", "Tree says"),
    },
    "limits": {
        "kernel": ("kernel", "Kernel"),
        "counted_memory_percent": ("Memory %", "Memory %"),
        "counted_busy_percent": ("Mem Busy %", "Mem Busy %"),
        "counted_bandwidth_percent": ("Max Bandwidth %", "Max Bandwidth %"),
        "counted_pipes_percent": ("Mem Pipes Busy %", "Mem Pipes Busy %"),
    },
    "elapsed": {
        "kernel": ("kernel", "Kernel"),
        "blocks": ("block 数", "Blocks"),
        "counted_elapsed_percent": ("elapsed（%）", "elapsed (%)"),
        "counted_active_percent": ("active（%）", "active (%)"),
        "predicted_ratio": ("预测之比", "Predicted ratio"),
        "counted_ratio": ("实测之比", "Counted ratio"),
    },
    "stalls": {
        "kernel": ("kernel", "Kernel"),
        "counted_warps_per_issue": ("每次发射的驻留 warp", "Warps per issue"),
        "counted_stall_long_scoreboard": ("long scoreboard", "long scoreboard"),
        "counted_stall_short_scoreboard": ("short scoreboard", "short scoreboard"),
        "counted_stall_lg_throttle": ("lg throttle", "lg throttle"),
        "counted_stall_mio_throttle": ("mio throttle", "mio throttle"),
        "counted_stall_wait": ("wait", "wait"),
        "counted_stall_other": ("其余", "others"),
        "counted_longest_stall": ("最长", "longest"),
    },
    "names": {
        "old_name": ("旧名", "Old name"),
        "predicted_old_listed": ("预测存在", "Predicted listed"),
        "counted_old_listed": ("实测存在", "Listed"),
        "today": ("今天的指标", "Today's metric"),
        "counted_today_listed": ("实测存在", "Listed"),
    },
}

REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
GLOBAL_BYTES = "smsp__sass_data_bytes_mem_global_op_ld.sum"
PATTERN_METRICS = [*(name.format(way) for way in ("ld", "st") for name in (REQUESTS, SECTORS)), GLOBAL_BYTES]

COMPUTE = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
DRAM = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
DRAM_READ = "dram__bytes_read.sum"
L2 = "lts__throughput.avg.pct_of_peak_sustained_elapsed"
L2_HIT = "lts__t_sector_hit_rate.pct"
L2_READ = "lts__t_sectors_srcunit_tex_op_read.sum"
L2_READ_HIT = "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum"
L1 = "l1tex__throughput.avg.pct_of_peak_sustained_active"
L1_HIT = "l1tex__t_sector_hit_rate.pct"
L1_LOAD_HIT = "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct"
RATIO = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"
USEFUL = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"
SHARED_LOADS = "smsp__inst_executed_op_shared_ld.sum"
SHARED_WAVEFRONTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
SHARED_PIPE_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
SHARED_BYTES = "smsp__sass_data_bytes_mem_shared_op_ld.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
LOCAL_LOADS = "smsp__inst_executed_op_local_ld.sum"
LOCAL_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
ALL_WARPS = "smsp__average_warps_active_per_issue_active.ratio"
ISSUE = {key: f"smsp__issue_active.avg.pct_of_peak_sustained_{key}" for key in ("elapsed", "active")}
LIMITS = {
    "busy": "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed",
    "bandwidth": "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed",
    "pipes": "sm__memory_throughput.avg.pct_of_peak_sustained_elapsed",
}
STALLS = [
    *("barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle", "long_scoreboard", "math_pipe_throttle"),
    *("membar", "mio_throttle", "misc", "no_instruction", "not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait"),
]
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
LEVEL_METRICS = [
    *(COMPUTE, MEMORY, DRAM, DRAM_READ, "dram__bytes_write.sum", L2, L2_HIT, L2_READ, L2_READ_HIT, "lts__t_sectors_srcunit_ltcfabric.sum"),
    *(L1, L1_HIT, L1_LOAD_HIT, REQUESTS.format("ld"), SECTORS.format("ld"), RATIO, USEFUL, GLOBAL_BYTES, "smsp__inst_executed_op_global_ld.sum"),
    *(SHARED_LOADS, SHARED_WAVEFRONTS, SHARED_PIPE_WAVEFRONTS, SHARED_BYTES, CONFLICTS),
    *("smsp__inst_executed.sum", LOCAL_LOADS, "smsp__inst_executed_op_local_st.sum", LOCAL_SECTORS, OCCUPANCY, "gpu__time_duration.sum", ALL_WARPS),
    *(*ISSUE.values(), *LIMITS.values()),
    *(STALL.format(reason) for reason in STALLS),
]

SMS, BLOCK, EACH = 132, 256, 8  # multiprocessors of an H200; threads a block; loads that a thread has in flight
WARPS = 64  # that fit a multiprocessor
FULL = 8 * SMS  # blocks that fit at once
ROUNDS, STEP_BYTES = 32, 8192  # of the pattern kernels
FLOATS = 2**28  # 1 GiB, many times the L2
RESIDENT = 2 * FULL * BLOCK * EACH  # 17 MB, which the L2 holds
REGION = 4096  # floats that l1_ kernels read again and again
L1_TURNS, L2_TURNS, SHARED_TURNS, CHASE_TURNS, LOCAL_ROUNDS, HOPS, MATHS = 256, 32, 512, 1024, 32, 1024, 512
ARRAY = 64  # numbers of local_array
LAPS = 16  # hops after which a chase is where it began
L2_FETCH_GRANULARITY = 5  # cudaLimitMaxL2FetchGranularity


class Kernel(NamedTuple):
    """One launch that fills the GPU, and what the prediction needs of it."""

    function: str
    blocks: int
    block: int
    lane_bytes: int = 4  # from lane to lane, in global memory
    next_bytes: int = 1024  # from one of a thread's loads to the next one
    offset_bytes: int = 0
    shared_words: int = 0  # from lane to lane, in shared memory
    leaf: str = ""  # what the tree has to say; empty where the page only reports


KERNELS = {
    "read_coalesced": Kernel("read_global", FLOATS // BLOCK // EACH, BLOCK, leaf="dram"),
    "read_offset": Kernel("read_global", FLOATS // BLOCK // EACH, BLOCK, offset_bytes=4, leaf="dram"),
    "read_strided": Kernel("read_global", FLOATS // BLOCK // EACH // 32, BLOCK, 128, 128 * BLOCK, leaf="uncoalesced"),
    "read_neighbours": Kernel("read_global", FLOATS // BLOCK // EACH, BLOCK, 32, 4, leaf="uncoalesced"),
    "l1_coalesced": Kernel("l1_coalesced", FULL, BLOCK, leaf="l1"),
    "l1_strided": Kernel("l1_strided", FULL, BLOCK, 128, 32, leaf="uncoalesced"),
    "l2_resident": Kernel("l2_resident", FULL, BLOCK),
    "shared_stride_1": Kernel("shared_read", FULL, BLOCK, shared_words=1, leaf="shared"),
    "shared_stride_32": Kernel("shared_read", FULL, BLOCK, shared_words=32, leaf="bank-conflicts"),
    "shared_chase": Kernel("shared_chase", SMS, 128, shared_words=1, leaf="occupancy"),
    "local_array": Kernel("local_array", FULL, BLOCK, leaf="local"),
    "register_array": Kernel("register_array", FULL, BLOCK),
    "chase_few": Kernel("chase", SMS, 32, leaf="occupancy"),
    "chase_many": Kernel("chase", SMS, 768, leaf="latency"),
    "multiply_add": Kernel("multiply_add", FULL, BLOCK, leaf="compute"),
    "few_blocks": Kernel("multiply_add", SMS // 4, BLOCK, leaf="occupancy"),
}

LIMITED = ("read_coalesced", "l2_resident", "l1_coalesced", "l1_strided", "shared_stride_1", "shared_stride_32", "chase_few")

# row: level, metric as the page prints it, bad kernel, good kernel
METRICS = {
    "wavefronts": ("shared", "wavefronts_mem_shared_op_ld / inst_executed_op_shared_ld", "shared_stride_32", "shared_stride_1"),
    "conflicts": ("shared", "data_bank_conflicts_pipe_lsu_mem_shared_op_ld / inst_executed_op_shared_ld", "shared_stride_32", "shared_stride_1"),
    "shared_bytes": ("shared", "data_bytes_per_wavefront_mem_shared_op_ld (%)", "shared_stride_32", "shared_stride_1"),
    "sectors_per_request": ("L1", "average_t_sectors_per_request_pipe_lsu_mem_global_op_ld", "read_strided", "read_coalesced"),
    "sectors_per_request_l1": ("L1", "average_t_sectors_per_request_pipe_lsu_mem_global_op_ld", "l1_strided", "l1_coalesced"),
    "useful_bytes": ("L1", "data_bytes_per_sector_mem_global_op_ld (%)", "read_strided", "read_coalesced"),
    "l1_hit": ("L1", "t_sector_pipe_lsu_mem_global_op_ld_hit_rate (%)", "read_coalesced", "l1_coalesced"),
    "l2_bytes": ("L2", "t_sectors_srcunit_tex_op_read * 32 B / useful B", "read_strided", "read_coalesced"),
    "l2_hit": ("L2", "t_sectors_srcunit_tex_op_read_lookup_hit (%)", "read_coalesced", "l2_resident"),
    "dram_bytes": ("DRAM", "dram__bytes_read / useful B", "read_strided", "read_coalesced"),
    "local_loads": ("local", "inst_executed_op_local_ld", "local_array", "register_array"),
    "local_sectors": ("local", "t_sectors_pipe_lsu_mem_local_op_ld", "local_array", "register_array"),
    "occupancy": ("SM", "sm__warps_active (%)", "chase_few", "l2_resident"),
}
EXACT = {"wavefronts", "sectors_per_request", "sectors_per_request_l1", "local_loads", "local_sectors"}
SLACK = {"conflicts": 0.5, "l1_hit": 1, "l2_hit": 2}

# nvprof's name: what to ask for today
NAMES = {
    "gld_efficiency": USEFUL,
    "gst_efficiency": "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct",
    "gld_transactions": SECTORS.format("ld"),
    "gld_transactions_per_request": RATIO,
    "gld_throughput": "l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum.per_second",
    "shared_efficiency": "smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct",
    "shared_load_transactions": SHARED_PIPE_WAVEFRONTS,
    "shared_ld_bank_conflict": CONFLICTS,
    "local_load_transactions": LOCAL_SECTORS,
    "tex_cache_hit_rate": L1_HIT,
    "l2_tex_hit_rate": L2_HIT,
    "dram_read_throughput": "dram__bytes_read.sum.per_second",
    "dram_utilization": DRAM,
    "achieved_occupancy": OCCUPANCY,
    "stall_memory_dependency": "smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct",
}


def predict(inputs: dict[str, Any]) -> dict[str, Any]:
    """Predict a row from its inputs, by the models."""
    if "reads" in inputs:
        places = patterns.addresses(*(inputs[key] for key in ("width", "inner_bytes", "outer_bytes", "offset_bytes", "active", "order")))
        return {
            "predicted_requests": inputs["rounds"],
            "predicted_sectors": patterns.sectors(places, inputs["access_bytes"]),
            "predicted_useful_percent": round(patterns.useful_percent(places, inputs["access_bytes"]), 1),
        }
    if "metric" in inputs:
        return {
            f"predicted_{side}": whole(round(value(inputs["quantity"], KERNELS[inputs[side]], inputs["l2_fetch_bytes"]), 3))
            for side in ("bad", "good")
        }
    if "old_name" in inputs:
        return {"predicted_old_listed": "__" in inputs["old_name"], "predicted_today_listed": "__" in inputs["today"]}
    if "blocks" in inputs:
        return {"predicted_ratio": inputs["sms"] / min(inputs["sms"], inputs["blocks"])}
    if "leaf" in inputs:
        return {"predicted_leaf": inputs["leaf"]}
    return {}


def value(quantity: str, kernel: Kernel, fetch_bytes: int) -> float:
    """Predict a metric of a kernel."""
    places = patterns.addresses(patterns.LANES, kernel.lane_bytes, offset=kernel.offset_bytes)
    sectors = patterns.sectors(places, 4)
    wavefronts = patterns.shared_wavefronts(kernel.shared_words)
    warps = kernel.blocks * kernel.block // patterns.LANES
    local = warps * (ARRAY * LOCAL_ROUNDS + 1) if kernel.function == "local_array" else 0  # and one at the end
    # The blocks of one multiprocessor read one region from its L1; without turns each sector is read once.
    reads = WARPS * L1_TURNS * EACH * sectors if kernel.function == "l1_coalesced" else 1
    region = REGION * 4 // patterns.SECTOR_BYTES if reads > 1 else 1
    return {
        "wavefronts": wavefronts,
        "conflicts": wavefronts - 1,
        "shared_bytes": 100 / wavefronts,
        "sectors_per_request": sectors,
        "sectors_per_request_l1": sectors,
        "useful_bytes": patterns.useful_percent(places, 4),
        "l1_hit": patterns.hit_percent(reads, region),
        "l2_hit": patterns.hit_percent(L2_TURNS if kernel.function == "l2_resident" else 1, 1),
        "l2_bytes": patterns.SECTOR_BYTES * sectors / (4 * patterns.LANES),
        "dram_bytes": patterns.dram_bytes_per_useful_byte(4, kernel.lane_bytes, fetch_bytes),
        "local_loads": local,
        "local_sectors": local * patterns.local_sectors(),
        "occupancy": 100 * min(WARPS, warps / SMS) / WARPS,
    }[quantity]


def counted(quantity: str, counters: dict[str, float]) -> float:
    """Give the same metric from a launch's counters."""
    parts = {
        "wavefronts": (1, SHARED_WAVEFRONTS, SHARED_LOADS),
        "conflicts": (1, CONFLICTS, SHARED_LOADS),
        "shared_bytes": (100 / patterns.LINE_BYTES, SHARED_BYTES, SHARED_WAVEFRONTS),
        "sectors_per_request": (1, RATIO, None),
        "sectors_per_request_l1": (1, RATIO, None),
        "useful_bytes": (1, USEFUL, None),
        "l1_hit": (1, L1_LOAD_HIT, None),
        "l2_hit": (100, L2_READ_HIT, L2_READ),
        "l2_bytes": (patterns.SECTOR_BYTES, L2_READ, GLOBAL_BYTES),
        "dram_bytes": (1, DRAM_READ, GLOBAL_BYTES),
        "local_loads": (1, LOCAL_LOADS, None),
        "local_sectors": (1, LOCAL_SECTORS, None),
        "occupancy": (1, OCCUPANCY, None),
    }
    factor, above, below = parts[quantity]
    return factor * counters[above] / (counters[below] if below else 1)


def reading(row: dict[str, Any]) -> detective.Reading:
    """Give what the tree takes, from a row."""
    ratios = {key: row[f"counted_{key}_ratio"] for key in ("sectors", "wavefronts")}
    return detective.Reading(**{key: row[f"counted_{key}_percent"] for key in detective.Reading._fields if key not in ratios}, **ratios)


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name in patterns.PATTERNS:
        _check_pattern(name, rows[name])
    for name in METRICS:
        for side in ("bad", "good"):
            _check_metric(name, rows[name][f"predicted_{side}"], rows[name][f"counted_{side}"])
    for name, kernel in KERNELS.items():
        row = rows[f"kernel_{name}"]
        assert row["counted_leaf"] == detective.diagnose(reading(row)), (name, row)
        if kernel.leaf:
            assert row["counted_leaf"] == row["predicted_leaf"], (name, row)
    for row in (rows[f"name_{name}"] for name in NAMES):
        assert row["counted_old_listed"] == row["predicted_old_listed"], row
        assert row["counted_today_listed"] == row["predicted_today_listed"], row
    assert rows["listed"]["counted_listed"] == rows["listed"]["names"], rows["listed"]
    for name in ("few_blocks", "multiply_add"):
        row = rows[f"elapsed_{name}"]
        assert abs(row["counted_ratio"] / row["predicted_ratio"] - 1) < 0.1, (name, row)
    _check_kernels({name: rows[f"kernel_{name}"] for name in KERNELS})


def _check_pattern(name: str, row: dict[str, Any]) -> None:
    for way in ("load", "store"):
        assert row[f"counted_{way}_requests"] == row["predicted_requests"], (name, way, row)
        assert row[f"counted_{way}_sectors"] == row["predicted_sectors"], (name, way, row)
    assert abs(row["counted_useful_percent"] - row["predicted_useful_percent"]) < 0.1, (name, row)


def _check_metric(name: str, said: float, seen: float) -> None:
    if name in EXACT:
        assert seen == said, (name, said, seen)
    elif name == "occupancy":  # blocks do not all end at once
        assert 0.85 * said < seen < said + 0.1, (name, said, seen)
    else:
        assert abs(seen - said) <= SLACK.get(name, 0) + 0.03 * said, (name, said, seen)


def _check_kernels(rows: dict[str, dict[str, Any]]) -> None:
    longest = {
        "long_scoreboard": ("read_coalesced", "read_neighbours", "l2_resident", "local_array", "chase_few", "chase_many"),
        "short_scoreboard": ("shared_chase",),
        "lg_throttle": ("l1_strided",),
        "mio_throttle": ("shared_stride_1", "shared_stride_32"),
    }
    for stall, names in longest.items():
        for name in names:
            assert rows[name]["counted_longest_stall"] == stall, (name, rows[name])
    for name, stall in (("shared_stride_32", "mio_throttle"), ("l1_strided", "lg_throttle")):
        assert rows[name][f"counted_stall_{stall}"] > 0.6 * rows[name]["counted_warps_per_issue"], (name, rows[name])
    strided, stream, neighbours = rows["read_strided"], rows["read_coalesced"], rows["read_neighbours"]
    assert strided["counted_stall_lg_throttle"] + strided["counted_stall_mio_throttle"] > strided["counted_stall_long_scoreboard"], strided
    # Waiting long for memory, and yet nothing to gain: the DRAM gives what it can.
    assert 85 < stream["counted_dram_percent"] < 97, stream
    assert stream["counted_stall_long_scoreboard"] > 0.8 * stream["counted_warps_per_issue"], stream
    # A high hit rate of accesses that need not have been made.
    assert abs(neighbours["counted_l1_hit_percent"] - 87.5) < 2, neighbours
    assert stream["counted_l1_hit_percent"] < 1, stream
    assert 15 < rows["read_offset"]["counted_l1_hit_percent"] < 21, rows["read_offset"]
    for name in ("read_offset", "read_neighbours"):
        assert abs(rows[name]["measured_time_ms"] / stream["measured_time_ms"] - 1) < 0.08, (name, rows[name], stream)
    # 32 times fewer floats.
    assert 14 < 32 * strided["measured_time_ms"] / stream["measured_time_ms"] < 20, (strided, stream)
    ratios = (("shared_stride_32", "shared_stride_1", 27, 33), ("l1_strided", "l1_coalesced", 22, 33), ("local_array", "register_array", 9, 16))
    for bad, good, least, most in ratios:
        assert least < rows[bad]["measured_time_ms"] / rows[good]["measured_time_ms"] < most, (bad, rows[bad], rows[good])
    registers = rows["register_array"]
    assert registers["counted_leaf"] == "compute", registers
    assert registers["counted_occupancy_percent"] < 13, registers
    assert registers["counted_compute_percent"] > 80, registers
    assert rows["l2_resident"]["counted_leaf"] == "l2", rows["l2_resident"]
    for name, row in rows.items():
        # The reasons are all reasons: together they are the warps that are there.
        assert abs(row["counted_all_reasons"] / row["counted_warps_per_issue"] - 1) < 0.1, (name, row)
        # A hit rate of hardly any traffic says nothing; it can even exceed 100 %.
        assert row["counted_l2_hit_percent"] <= 100 or row["counted_l2_percent"] < 2, (name, row)


def main() -> None:
    """Launch under ncu, or measure everything and print the record's rows, and the raw counters as CSV."""
    if gpu.launching():
        for name in patterns.PATTERNS:
            for way in ("load", "store"):
                pattern_launch(name, way)()
        for launch, _ in launches().values():
            launch()
        return
    rows = pattern_rows()
    times = level_times()
    gpu.say("ncu counts one warp's patterns ...")
    raw: dict[str, dict[str, float]] = {}
    names = [f"{name}_{way}" for name in patterns.PATTERNS for way in ("load", "store")]
    raw |= dict(zip(names, gpu.counters(PATTERN_METRICS, "^(load|store)_.*"), strict=True))
    for name in patterns.PATTERNS:
        rows[name] |= pattern_counts(raw[f"{name}_load"], raw[f"{name}_store"])
    gpu.say("ncu counts the kernels ...")
    functions = "|".join(sorted({kernel.function for kernel in KERNELS.values()}))
    raw |= dict(zip(KERNELS, gpu.counters(LEVEL_METRICS, f"^({functions})$"), strict=True))
    fetch = l2_fetch_bytes()
    for name, (level, metric, bad, good) in METRICS.items():
        inputs = {"level": level, "quantity": name, "metric": metric, "bad": bad, "good": good, "l2_fetch_bytes": fetch}
        seen = {f"counted_{side}": whole(round(counted(name, raw[kernel]), 3)) for side, kernel in (("bad", bad), ("good", good))}
        rows[name] = inputs | predict(inputs) | seen
    for name, kernel in KERNELS.items():
        row: dict[str, Any] = {"kernel": name} | ({"leaf": kernel.leaf} if kernel.leaf else {})
        rows[f"kernel_{name}"] = row | predict(row) | {"measured_time_ms": times[name]} | level_counts(raw[name])
        if name in ("few_blocks", "multiply_add"):
            inputs = {"kernel": name, "blocks": kernel.blocks, "sms": SMS}
            rows[f"elapsed_{name}"] = inputs | predict(inputs) | elapsed_counts(raw[name])
        if name in LIMITED:
            rows[f"kernel_{name}"] |= {f"counted_{key}_percent": round(raw[name][metric], 1) for key, metric in LIMITS.items()}
    rows |= name_rows()
    table = as_csv(raw)
    gpu.say(table)
    gpu.say(json.dumps(rows))  # to be read where a check fails
    check(rows)
    print(json.dumps({"rows": rows, "csv": table}))


def pattern_rows() -> dict[str, dict[str, Any]]:
    """Begin the rows of the patterns, and check that each access goes where the model says."""
    import numpy as np  # noqa: PLC0415 - comes with CuPy

    rows: dict[str, dict[str, Any]] = {}
    for name, (reads, access, width, inner, outer, offset, active, order) in patterns.PATTERNS.items():
        inputs = {
            "reads": reads,
            "access_bytes": access,
            "width": width,
            "inner_bytes": inner,
            "outer_bytes": outer,
            "offset_bytes": offset,
            "active": active,
            "order": order,
            "rounds": ROUNDS,
        }
        rows[name] = inputs | predict(inputs)
        places = np.array(patterns.addresses(width, inner, outer, offset, active, order))
        every = places[:, None] + STEP_BYTES * np.arange(ROUNDS)
        data, sums = pattern_launch(name, "load")()
        word = min(access, 4)
        # Each lane adds up its words, of 1, 2 or 4 bytes.
        wide = np.stack([data.get()[(every[..., None] + part + np.arange(word))] for part in range(0, access, word)], axis=2)
        words = (wide.astype(np.uint64) << (8 * np.arange(word, dtype=np.uint64))).sum(axis=3)
        assert (sums.get()[:active] == words.sum(axis=(1, 2)).astype(np.uint32)).all(), f"{name} loads wrongly"
        target, _ = pattern_launch(name, "store")()
        wanted = np.full(target.size, POISON, np.uint8)
        for round_ in range(ROUNDS):
            wanted[(every[:, round_][:, None] + np.arange(access)).ravel()] = round_ + 1
        assert (target.get() == wanted).all(), f"{name} stores wrongly"
    return rows


POISON = 0xEE


def pattern_launch(name: str, way: str) -> Callable[[], tuple[Any, Any]]:
    """Give the launch of one warp with this pattern; it gives the data and, for loads, each lane's sum."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too
    import numpy as np  # noqa: PLC0415 - comes with CuPy

    _, access, width, inner, outer, offset, active, order = patterns.PATTERNS[name]
    size = STEP_BYTES * (ROUNDS + 1)
    data = cupy.random.default_rng(8).integers(0, 256, size, dtype=cupy.uint8) if way == "load" else cupy.full(size, POISON, cupy.uint8)
    sums = cupy.full(patterns.LANES, POISON, cupy.uint32)
    numbers = tuple(np.uint32(number) for number in (order, width, inner, outer, offset, active, ROUNDS))
    function = gpu.kernel(SOURCE, f"{way}_{access}")

    def run() -> tuple[Any, Any]:
        function((1,), (patterns.LANES,), (data, sums, *numbers) if way == "load" else (data, *numbers))
        return data, sums

    return run


def pattern_counts(load: dict[str, float], store: dict[str, float]) -> dict[str, Any]:
    """Give what was counted of a pattern, per request."""
    return {
        "counted_load_requests": whole(load[REQUESTS.format("ld")]),
        "counted_load_sectors": whole(load[SECTORS.format("ld")] / load[REQUESTS.format("ld")]),
        "counted_store_requests": whole(store[REQUESTS.format("st")]),
        "counted_store_sectors": whole(store[SECTORS.format("st")] / store[REQUESTS.format("st")]),
        "counted_useful_percent": round(100 * load[GLOBAL_BYTES] / (patterns.SECTOR_BYTES * load[SECTORS.format("ld")]), 1),
    }


def level_counts(raw: dict[str, float]) -> dict[str, Any]:
    """Give what the tree and the table of stalls take of a launch."""
    sectors = raw[SECTORS.format("ld")] + raw[LOCAL_SECTORS]
    loads = raw[REQUESTS.format("ld")] + raw[SHARED_LOADS]
    row: dict[str, Any] = {
        "counted_compute_percent": round(raw[COMPUTE], 1),
        "counted_memory_percent": round(raw[MEMORY], 1),
        "counted_dram_percent": round(raw[DRAM], 1),
        "counted_l2_percent": round(raw[L2], 1),
        "counted_l1_percent": round(raw[L1], 1),
        "counted_l1_hit_percent": round(raw[L1_LOAD_HIT], 1),
        "counted_l2_hit_percent": round(raw[L2_HIT], 1),
        "counted_occupancy_percent": round(raw[OCCUPANCY], 1),
        "counted_local_percent": round(100 * raw[LOCAL_SECTORS] / sectors, 1),
        "counted_shared_percent": round(100 * raw[SHARED_LOADS] / loads, 1),
        "counted_sectors_ratio": round(raw[RATIO] / patterns.sectors(patterns.addresses(patterns.LANES, 4), 4), 2),
        "counted_wavefronts_ratio": round(raw[SHARED_WAVEFRONTS] / raw[SHARED_LOADS], 2) if raw[SHARED_LOADS] else 1,
    }
    row["counted_leaf"] = detective.diagnose(reading(row))
    reasons = {reason: raw[STALL.format(reason)] for reason in STALLS}
    shown = {"long_scoreboard", "short_scoreboard", "lg_throttle", "mio_throttle", "wait"}
    return row | {
        "counted_warps_per_issue": round(raw[ALL_WARPS], 2),
        **{f"counted_stall_{reason}": round(reasons[reason], 2) for reason in STALLS if reason in shown},
        "counted_stall_other": round(sum(reasons[reason] for reason in STALLS if reason not in shown), 2),
        "counted_all_reasons": round(sum(reasons.values()), 2),
        "counted_longest_stall": max(STALLS, key=lambda reason: reasons[reason]),
    }


def elapsed_counts(raw: dict[str, float]) -> dict[str, Any]:
    """Give the share of cycles in which an instruction was issued, of all cycles and of those in which a warp was there."""
    shares = {f"counted_{key}_percent": round(raw[metric], 1) for key, metric in ISSUE.items()}
    return shares | {"counted_ratio": round(raw[ISSUE["active"]] / raw[ISSUE["elapsed"]], 2)}


def level_times() -> dict[str, float]:
    """Check what each kernel computes, then give its time in milliseconds."""
    times: dict[str, float] = {}
    for name, (launch, correct) in launches().items():
        launch()
        assert correct(), f"{name} is wrong"
        times[name] = round(gpu.milliseconds(launch, repeat=10, warmup=2), 4)
    gpu.say(json.dumps(times))
    return times


def launches() -> dict[str, tuple[Callable[[], object], Callable[[], bool]]]:
    """Give, for each kernel in order, its launch and whether what it left is right."""
    found: dict[str, tuple[Callable[[], object], Callable[[], bool]]] = {}
    data = Data()
    for name, kernel in KERNELS.items():
        found[name] = data.chase(kernel) if kernel.function == "chase" else data.case(kernel)
    return found


class Data:
    """The arrays that the kernels share."""

    def __init__(self) -> None:
        """Make a gibibyte of whole numbers from 0 to 15, whose sums are exact, and room for results."""
        import cupy  # noqa: PLC0415 - as above

        numbers = cupy.arange(FLOATS + 1024, dtype=cupy.uint32)
        numbers *= cupy.uint32(2_654_435_761)
        numbers >>= cupy.uint32(28)
        self.floats = numbers.astype(cupy.float32)
        self.out = cupy.empty(FLOATS // EACH, cupy.float32)

    def case(self, kernel: Kernel) -> tuple[Callable[[], object], Callable[[], bool]]:
        """Give a kernel's launch and the check of its result."""
        import cupy  # noqa: PLC0415 - as above
        import numpy as np  # noqa: PLC0415 - comes with CuPy

        function, threads = gpu.kernel(SOURCE, kernel.function), kernel.blocks * kernel.block
        source, out = self.floats[kernel.offset_bytes // 4 :], self.out[:threads]
        if kernel.function.endswith("_array"):
            source, out = self.floats.view(cupy.uint32), out.view(cupy.uint32)
        numbers: dict[str, tuple[Any, ...]] = {
            "read_global": (
                np.uint32(max(kernel.lane_bytes * kernel.block, kernel.next_bytes * EACH) // 4),
                np.uint32(kernel.lane_bytes // 4),
                np.uint32(kernel.next_bytes // 4),
            ),
            "l1_coalesced": (np.uint32(L1_TURNS),),
            "l1_strided": (np.uint32(L1_TURNS),),
            "l2_resident": (np.uint32(RESIDENT), np.uint32(L2_TURNS)),
            "shared_read": (np.uint32(kernel.shared_words), np.uint32(SHARED_TURNS)),
            "shared_chase": (np.uint32(CHASE_TURNS),),
            "local_array": (np.uint32(1), np.uint32(LOCAL_ROUNDS)),
            "register_array": (np.uint32(LOCAL_ROUNDS),),
            "multiply_add": (np.float32(0.5), np.float32(0.25), np.uint32(MATHS if kernel.blocks == FULL else 8 * MATHS)),
        }
        arguments = (source, out, *numbers[kernel.function])

        def launch() -> None:
            function((kernel.blocks,), (kernel.block,), arguments)

        def correct() -> bool:
            out.view(cupy.uint32).fill(0xFFFFFFFF)
            launch()
            return bool((out.reshape(kernel.blocks, -1) == expected(kernel, source)).all())

        return launch, correct

    def chase(self, kernel: Kernel) -> tuple[Callable[[], object], Callable[[], bool]]:
        """Give the launch of a chase around LAPS places a thread, and the check of where it ends."""
        import cupy  # noqa: PLC0415 - as above
        import numpy as np  # noqa: PLC0415 - comes with CuPy

        function, threads = gpu.kernel(SOURCE, kernel.function), kernel.blocks * kernel.block
        first = cupy.arange(threads, dtype=cupy.uint32)
        following = (cupy.arange(threads * LAPS, dtype=cupy.uint32) + cupy.uint32(threads)) % cupy.uint32(threads * LAPS)
        out = cupy.empty(threads, cupy.uint32)

        def launch() -> None:
            function((kernel.blocks,), (kernel.block,), (following, out, np.uint32(HOPS)))

        def correct() -> bool:
            out.fill(0xFFFFFFFF)
            launch()
            return bool((out == first + cupy.uint32(HOPS % LAPS * threads)).all())

        return launch, correct


def expected(kernel: Kernel, source: Any) -> Any:
    """Give each thread's result, a row a block; one row where all blocks compute the same."""
    import numpy as np  # noqa: PLC0415 - comes with CuPy

    if kernel.function == "read_global":
        every = source[:FLOATS].reshape(-1, kernel.lane_bytes // 4)[:, 0] if kernel.lane_bytes > 32 else source[:FLOATS]
        if kernel.lane_bytes == 32:
            return every.reshape(kernel.blocks, kernel.block, EACH).sum(axis=2)
        return every.reshape(kernel.blocks, EACH, kernel.block).sum(axis=1)
    if kernel.function == "l2_resident":
        every = source[:RESIDENT].reshape(-1, kernel.blocks * kernel.block).sum(axis=0)
        return (L2_TURNS * every).reshape(kernel.blocks, kernel.block)
    return _array(_same_in_all_blocks(kernel, source[:REGION].get(), np.arange(kernel.block)))


def _same_in_all_blocks(kernel: Kernel, region: Any, thread: Any) -> Any:
    import numpy as np  # noqa: PLC0415 - comes with CuPy

    lane, warp, loads = thread % patterns.LANES, thread // patterns.LANES, np.arange(EACH)
    if kernel.function in {"l1_coalesced", "l1_strided"}:
        first, apart = (lane + 32 * warp, 256) if kernel.function == "l1_coalesced" else (32 * lane + warp, 8)
        both = region[first[:, None] + apart * loads].sum(axis=1) + region[first[:, None] + apart * loads + 2048].sum(axis=1)
        return both * (L1_TURNS // 2)
    if kernel.function == "shared_read":
        return region[(lane * kernel.shared_words)[:, None] + loads].sum(axis=1) * SHARED_TURNS
    if kernel.function == "shared_chase":
        return region[thread]
    if kernel.function == "multiply_add":
        return np.full(kernel.block, EACH * 0.5, np.float32)  # x / 2 + 1 / 4 goes to 1 / 2 from any start
    array = region[thread][:, None] + np.arange(ARRAY, dtype=np.uint32)
    for round_ in range(LOCAL_ROUNDS):
        array = array * np.uint32(3) + np.uint32(round_)
    return array[:, 0] if kernel.function == "local_array" else np.bitwise_xor.reduce(array, axis=1)


def _array(values: Any) -> Any:
    import cupy  # noqa: PLC0415 - as above

    return cupy.asarray(values)[None, :]


def name_rows() -> dict[str, dict[str, Any]]:
    """Ask ncu which metrics the chip has, and look up the old names, today's, and those that this bench counts."""
    command = [gpu.find_ncu(), "--query-metrics", "--chip", CHIP]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    listed = {name.rpartition(".")[2] for name in re.findall(r"^ *(\S+) +(?:Counter|Ratio|Throughput) ", run.stdout, re.MULTILINE)}
    if not listed:
        raise SystemExit(f"ncu listed no metrics:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    rows: dict[str, dict[str, Any]] = {}
    for name, today in NAMES.items():
        inputs = {"old_name": name, "today": today, "chip": CHIP}
        rows[f"name_{name}"] = inputs | predict(inputs) | {"counted_old_listed": name in listed, "counted_today_listed": base(today) in listed}
    asked = {base(metric) for metric in (*PATTERN_METRICS, *LEVEL_METRICS, *NAMES.values())}
    rows["listed"] = {"chip": CHIP, "names": len(asked), "counted_listed": len(asked & listed), "counted_metrics": len(listed)}
    return rows


def base(metric: str) -> str:
    """Give a metric's name without what is done to its instances, such as ".sum"."""
    return metric.partition(".")[0]


def as_csv(raw: dict[str, dict[str, float]]) -> str:
    """Give all counters as CSV: a line a launch and metric."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("launch", "metric", "value"))
    for launch, counters in raw.items():
        writer.writerows((launch, metric, f"{whole(number)}") for metric, number in counters.items())
    return text.getvalue()


def l2_fetch_bytes() -> int:
    """Ask for the largest piece that the L2 fetches from DRAM for one miss, which the runtime calls a hint."""
    import cupy  # noqa: PLC0415 - as above

    return int(cupy.cuda.runtime.deviceGetLimit(L2_FETCH_GRANULARITY))


def whole(number: float) -> int | float:
    """Give a whole number as an int."""
    return int(number) if number == int(number) else number


if __name__ == "__main__":
    main()
