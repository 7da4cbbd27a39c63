"""Put the same data into the right and into the wrong place on a GPU: count the accesses that accesses.py predicts, and time them.

A window of samples, a block's reduction, a GEMM, and the sum of a warp; every result is compared with the host's.
"""

import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import accesses

import gpu

HERE = Path(__file__).parent
SOURCES = {"window": HERE / "window.cu", "reduce": HERE / "reduce.cu", "gemm": HERE / "gemm.cu", "warp": HERE / "warp.cu"}
SMS = 132
SAMPLES, WINDOW_THREADS = 8192, 128
REDUCE_THREADS, EACH, REDUCE_BLOCKS = 256, 64, 64 * SMS
SIZE = 1024  # of the GEMM's matrices
ROUNDS, TIMED_ROUNDS = (64, 128), 4096  # of warp sums; what is counted is the difference of the first two
WARP_BLOCKS, WARP_THREADS = 2 * SMS, 1024

PLACES = ("global", "shared", "local")
OPERATIONS = [f"{place} {way}" for place in PLACES for way in ("load", "store")]
METRICS = {
    **{f"{place} {way}": f"smsp__inst_executed_op_{place}_{short}.sum" for place in PLACES for way, short in (("load", "ld"), ("store", "st"))},
    "local load sectors": "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "written sectors": "l1tex__m_l1tex2xbar_write_sectors_mem_lg_op_st.sum",
    "lsu": "sm__inst_executed_pipe_lsu.sum",
    "wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "registers": "launch__registers_per_thread",
}
Row = dict[str, Any]

ACCESSES = {
    f"{kind}_{place}": (f"{place}：{chinese}", f"{place}: {english}")
    for place in PLACES
    for kind, chinese, english in (("predicted", "预测", "predicted"), ("counted", "实测", "counted"))
}
LOCAL_AND_SHARED = {key: labels for key, labels in ACCESSES.items() if not key.endswith("global")}
KERNEL = {"kernel": ("kernel", "Kernel")}
WRITTEN = {
    "predicted_written_sectors": ("写到 L2 的扇区：预测", "Sectors written to L2: predicted"),
    "counted_written_sectors": ("实测", "counted"),
}
TABLES = {
    "window": {**KERNEL, "phase": ("错位", "Phase"), **LOCAL_AND_SHARED},
    "window_sectors": {
        **KERNEL,
        "phase": ("错位", "Phase"),
        "predicted_local_load_sectors": ("local 读的扇区：预测", "Sectors of local loads: predicted"),
        "counted_local_load_sectors": ("实测", "counted"),
        **WRITTEN,
    },
    "spills": {
        **KERNEL,
        "register_bound": ("寄存器上限", "Register bound"),
        "counted_local_loads": ("LDL", "LDL"),
        "counted_local_stores": ("STL", "STL"),
        "counted_shared_loads": ("LDS", "LDS"),
        "counted_shared_stores": ("STS", "STS"),
    },
    "window_time": {
        **KERNEL,
        "phase": ("错位", "Phase"),
        "counted_registers": ("寄存器", "Registers"),
        "measured_one_block_ms": ("1 个 block（ms）", "1 block (ms)"),
        "measured_one_block_ratio": ("倍数", "Ratio"),
        "measured_many_blocks_ms": ("16 个（ms）", "16 blocks (ms)"),
        "measured_many_blocks_ratio": ("倍数", "Ratio"),
    },
    "reduce": {"running": ("累加在", "Running sum in"), "exchange": ("交换经过", "Exchange through"), **LOCAL_AND_SHARED},
    "reduce_global": {
        "running": ("累加在", "Running sum in"),
        "exchange": ("交换经过", "Exchange through"),
        **{key: labels for key, labels in ACCESSES.items() if key.endswith("global")},
        **WRITTEN,
    },
    "reduce_time": {
        "running": ("累加在", "Running sum in"),
        "exchange": ("交换经过", "Exchange through"),
        "measured_l1_ms": ("数据在 L1（ms）", "Data in the L1 (ms)"),
        "measured_l1_ratio": ("倍数", "Ratio"),
        "measured_dram_ms": ("数据在显存（ms）", "Data in DRAM (ms)"),
        "measured_dram_ratio": ("倍数", "Ratio"),
    },
    "gemm": {"tiles": ("tile 在", "Tiles in"), "sums": ("和在", "Sums in"), "sums_a_thread": ("每线程", "A thread"), **LOCAL_AND_SHARED},
    "gemm_global": {
        "tiles": ("tile 在", "Tiles in"),
        "sums": ("和在", "Sums in"),
        "sums_a_thread": ("每线程", "A thread"),
        **{key: labels for key, labels in ACCESSES.items() if key.endswith("global")},
        **WRITTEN,
    },
    "gemm_time": {
        "tiles": ("tile 在", "Tiles in"),
        "sums": ("和在", "Sums in"),
        "sums_a_thread": ("每线程", "A thread"),
        "counted_registers": ("寄存器", "Registers"),
        "measured_time_ms": ("时间（ms）", "Time (ms)"),
        "measured_ratio": ("倍数", "Ratio"),
        "measured_tflops": ("TFLOP/s", "TFLOP/s"),
    },
    "warp": {
        "sum_by": ("求和经过", "Sum by"),
        "predicted_shared": ("shared 指令：预测", "Shared instructions: predicted"),
        "counted_shared": ("实测", "counted"),
        "counted_lsu": ("LSU 指令", "LSU instructions"),
        "counted_wavefronts": ("wavefront", "Wavefronts"),
        "measured_latency_cycles": ("延迟（周期）", "Latency (cycles)"),
        "measured_full_ms": ("填满 GPU（ms）", "GPU full (ms)"),
        "measured_full_ratio": ("倍数", "Ratio"),
    },
}


@dataclass(frozen=True)
class Case:
    """One kernel and how it is launched to be counted; its counts are divided among `share` warps, blocks or rounds."""

    source: str
    kernel: str
    row: Row
    share: int


WINDOWS: dict[str, Row] = {
    "registers": {"kernel": "unroll_64", "phase": 0, "samples": SAMPLES},
    "local": {"kernel": "run_time", "phase": 0, "samples": SAMPLES},
    "local_phases": {"kernel": "run_time", "phase": 1, "samples": SAMPLES},
    "shared": {"kernel": "in_shared", "phase": 0, "samples": SAMPLES},
    "shared_phases": {"kernel": "in_shared", "phase": 1, "samples": SAMPLES},
    "spilled": {"kernel": "spilled", "phase": 0, "samples": SAMPLES, "register_bound": 48},
    "spilled_to_shared": {"kernel": "spilled_to_shared", "phase": 0, "samples": SAMPLES, "register_bound": 48},
}
WINDOW_PLACES = {"unroll_64": "register", "run_time": "local", "in_shared": "shared"}
REDUCTIONS: dict[str, Row] = {
    f"reduce_{running}_{exchange}": {"running": running, "exchange": exchange, "warps": REDUCE_THREADS // 32, "each": EACH}
    for running, exchange in (("register", "shuffle"), ("register", "shared"), ("shared", "shared"), ("local", "shuffle"), ("global", "global"))
}
GEMMS: dict[str, Row] = {
    f"gemm_{tiles}_{sums}_{each}": {"tiles": tiles, "sums": sums, "size": SIZE, "sums_a_thread": each}
    for tiles, sums, each in (
        ("shared", "register", 16),
        ("shared", "register", 1),
        ("shared", "shared", 16),
        ("shared", "local", 16),
        ("shared", "global", 16),
        ("global", "register", 16),
        ("global", "global", 16),
    )
}
WARPS: dict[str, Row] = {f"warp_{how}": {"sum_by": how} for how in ("shuffle", "shared", "reduce")}


def predict(row: Row) -> Row:
    """Give a row's predicted values: of a warp for a window, of a block for a reduction, of 64 x 64 elements for a GEMM, of a sum for a warp."""
    if "register_bound" in row or row.get("sum_by") == "reduce":
        return {"predicted_shared": 0} if "sum_by" in row else {}
    if "sum_by" in row:
        counts = accesses.warp_sum(row["sum_by"])
        shared = counts["shared load"] + counts["shared store"]
        # Shuffles and accesses to shared memory take the same way, and each is one wavefront.
        return {"predicted_shared": shared, "predicted_lsu": counts.total(), "predicted_wavefronts": counts.total()}
    if "kernel" in row:
        counts = accesses.window(WINDOW_PLACES[row["kernel"]], row["samples"])
        each = accesses.local_sectors(row["phase"])
        sectors = {"predicted_local_load_sectors": counts["local load"] * each, "predicted_written_sectors": counts["local store"] * each + 4}
        return both(counts, "predicted") | sectors  # the 4 are the result
    if "running" in row:
        counts = accesses.reduction(row["running"], row["exchange"], row["warps"], row["each"])
        return both(counts, "predicted") | {"predicted_written_sectors": accesses.written_sectors(counts, 4) - 3}  # one lane writes the result
    single = row["sums_a_thread"] == 1
    counts = accesses.gemm_single(row["size"]) if single else accesses.gemm(row["tiles"], row["sums"], row["size"])
    return both(counts, "predicted") | {"predicted_written_sectors": accesses.written_sectors(counts, 4 if single else 16)}


def both(counts: Any, kind: str) -> Row:
    """Give loads and stores in the order of OPERATIONS, and their sum for each memory."""
    sums = {f"{kind}_{place}": counts[f"{place} load"] + counts[f"{place} store"] for place in PLACES}
    return {f"{kind}_loads_and_stores": [counts[name] for name in OPERATIONS], **sums}


# What the page says of ratios: the row, the key, the least and the most. Ratios are to the right place, of the same kind of row.
CLAIMS: tuple[tuple[str, str, float, float], ...] = (
    ("shared", "measured_one_block_ratio", 6, 8),
    ("local", "measured_one_block_ratio", 6, 8),
    ("local_phases", "measured_one_block_ratio", 75, 105),
    ("shared", "measured_many_blocks_ratio", 2.5, 3.5),
    ("local", "measured_many_blocks_ratio", 40, 50),
    ("local_phases", "measured_many_blocks_ratio", 230, 290),
    ("spilled", "measured_one_block_ratio", 5.5, 8.5),
    ("spilled", "measured_many_blocks_ratio", 5.5, 8.5),
    ("reduce_register_shared", "measured_l1_ratio", 0.95, 1.1),
    ("reduce_shared_shared", "measured_l1_ratio", 1.1, 1.25),
    ("reduce_local_shuffle", "measured_l1_ratio", 1.9, 2.5),
    ("reduce_global_global", "measured_l1_ratio", 1.9, 2.5),
    ("reduce_register_shared", "measured_dram_ratio", 0.94, 1.06),
    ("reduce_shared_shared", "measured_dram_ratio", 0.94, 1.06),
    ("reduce_local_shuffle", "measured_dram_ratio", 1.7, 2.1),
    ("reduce_global_global", "measured_dram_ratio", 1.7, 2.1),
    ("gemm_shared_register_1", "measured_ratio", 3.5, 4.5),
    ("gemm_shared_shared_16", "measured_ratio", 3.8, 4.8),
    ("gemm_shared_local_16", "measured_ratio", 13, 17),
    ("gemm_shared_global_16", "measured_ratio", 11, 14),
    ("gemm_global_global_16", "measured_ratio", 11, 14),
    ("gemm_global_register_16", "measured_ratio", 2.1, 2.7),
    ("warp_shared", "measured_full_ratio", 1.9, 2.1),
    ("warp_reduce", "measured_full_ratio", 0.36, 0.46),
)


def check(rows: dict[str, Row]) -> None:
    """Assert what the page says of these rows."""
    for name, row in rows.items():
        for key in filter(lambda key: key.startswith("predicted_"), row):
            counted = key.replace("predicted_", "counted_")
            if "kernel" in row and key in {"predicted_global", "predicted_loads_and_stores"}:
                continue  # the seeds and the result, and the list that holds them
            allowed = 0.02 * row[key] + 1 if key == "predicted_written_sectors" else 0
            same = abs(row[counted] - row[key]) <= allowed if allowed else row[counted] == row[key]
            assert same, f"{name}: {key} is {row[key]}, {counted} is {row[counted]}"
    for name, key, least, most in CLAIMS:
        assert least < rows[name][key] < most, f"{name}: {key} is {rows[name][key]}, the page says {least} to {most}"
    for key in ("measured_one_block_ms", "measured_many_blocks_ms"):
        assert 0.97 < rows["shared_phases"][key] / rows["shared"][key] < 1.03, f"{key}: {rows['shared_phases']}, {rows['shared']}"
        assert 0.75 < rows["spilled_to_shared"][key] / rows["spilled"][key] < 0.95, f"{key}: {rows['spilled_to_shared']}, {rows['spilled']}"
    cycles = {name: rows[f"warp_{name}"]["measured_latency_cycles"] for name in ("shuffle", "shared", "reduce")}
    assert 1.05 < cycles["shared"] / cycles["shuffle"] < 1.25, cycles
    assert 0.28 < cycles["reduce"] / cycles["shuffle"] < 0.38, cycles
    assert rows["warp_reduce"]["counted_lsu"] == rows["warp_reduce"]["counted_wavefronts"] == 0, rows["warp_reduce"]


def main() -> None:
    """Launch each case once under ncu; else check the results, count, time, and print the rows."""
    cases = every_case()
    if gpu.launching():
        for case in cases:
            launch(case)()
        return
    for case in cases:
        right(case)
    gpu.say(f"{len(cases)} cases give the right results; counting")
    read = gpu.counters(list(METRICS.values()), "^(run_time|unroll_64|in_shared|spilled.*|(register|shared|local|global)_[a-z]+|.*_sum)$")
    assert len(read) == len(cases), f"{len(read)} launches were counted, {len(cases)} made"
    counted = [{name: launch[metric] for name, metric in METRICS.items()} for launch in read]
    rows = {name: row | predict(row) for name, row in (WINDOWS | REDUCTIONS | GEMMS | WARPS).items()}
    for case, counts in zip(cases, counted, strict=True):
        name = next(name for name, row in (WINDOWS | REDUCTIONS | GEMMS | WARPS).items() if row is case.row)
        rows[name].update(counts_of(case, counts, rows[name]))
    for name, row in rows.items():
        gpu.say(f"counted {name}: {row}")
    for part in (time_windows, time_reductions, time_gemms, time_warps):
        part(rows)
    for name, row in rows.items():
        gpu.say(f"{name}: {row}")
    check(rows)
    print(json.dumps({"rows": rows}))


def every_case() -> list[Case]:
    """List what is counted, in the order of the launches."""
    cases = [Case("window", row["kernel"], row, WINDOW_THREADS // 32) for row in WINDOWS.values()]
    cases += [Case("reduce", f"{row['running']}_{row['exchange']}", row, SMS) for row in REDUCTIONS.values()]
    for row in GEMMS.values():
        kernel = "shared_single" if row["sums_a_thread"] == 1 else f"{row['tiles']}_{row['sums']}"
        cases.append(Case("gemm", kernel, row, (row["size"] // accesses.TILE) ** 2))
    cases += [Case("warp", f"{row['sum_by']}_sum", row, rounds) for row in WARPS.values() for rounds in ROUNDS]
    return cases


def counts_of(case: Case, counts: dict[str, float], row: Row) -> Row:
    """Give the counted values of a case, shared out; of warp sums, first those of the fewer rounds, then the difference to them."""
    if case.source == "warp":
        names = {"shared load": "loads", "shared store": "stores", "lsu": "lsu", "wavefronts": "wavefronts"}
        if case.share == ROUNDS[0]:
            return {"counted_fewer_rounds": {short: counts[name] for name, short in names.items()}}
        fewer = row.pop("counted_fewer_rounds")
        each = {short: share(counts[name] - fewer[short], ROUNDS[1] - ROUNDS[0]) for name, short in names.items()}
        return {"counted_shared": each["loads"] + each["stores"], "counted_lsu": each["lsu"], "counted_wavefronts": each["wavefronts"]}
    each = {name: share(value, 1 if name == "registers" else case.share) for name, value in counts.items()}
    found = both(each, "counted") | {"counted_registers": each["registers"], "counted_written_sectors": each["written sectors"]}
    if case.source == "window":
        found["counted_local_load_sectors"] = each["local load sectors"]
        found |= {f"counted_{name.replace(' ', '_')}s": each[name] for name in OPERATIONS if "global" not in name}
    return found


def share(total: float, among: int) -> int | float:
    """Divide a count: an integer, or what should not be one."""
    return int(total) // among if total % among == 0 else total / among


def launch(case: Case, blocks: int = 0, step: int = 0) -> Callable[[], Any]:
    """Prepare a launch of a case, of the size that is counted or of `blocks`; calling it runs the kernel and gives what it wrote."""
    kernel = gpu.kernel(SOURCES[case.source], case.kernel)
    return {"window": window, "reduce": reduce, "gemm": gemm, "warp": warp}[case.source](kernel, case, blocks, step)


def window(kernel: Any, case: Case, blocks: int, _step: int) -> Callable[[], Any]:
    """Prepare a launch of the window kernels."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too

    blocks = blocks or 1
    largest = cupy.full(blocks * WINDOW_THREADS, -1, cupy.int32)
    arguments = [cupy.arange(WINDOW_THREADS, dtype=cupy.uint32) * cupy.uint32(12_345) + cupy.uint32(1), largest, cupy.uint32(case.row["samples"])]
    if case.kernel in {"run_time", "in_shared"}:
        arguments.append(cupy.uint32(case.row["phase"]))

    def run() -> Any:
        kernel((blocks,), (WINDOW_THREADS,), tuple(arguments))
        return largest

    return run


def reduce(kernel: Any, _case: Case, blocks: int, step: int) -> Callable[[], Any]:
    """Prepare a launch of the reductions: blocks that all sum the same numbers, or each its own when step is not 0."""
    import cupy  # noqa: PLC0415 - as above

    blocks = blocks or SMS
    out, scratch = cupy.full(blocks, -1, cupy.float32), cupy.empty(blocks * REDUCE_THREADS, cupy.float32)
    numbers = cupy.arange(max(step * blocks, REDUCE_THREADS * EACH), dtype=cupy.float32)
    numbers %= 13  # whole numbers, so that every order of adding gives the same sum
    arguments = (numbers, cupy.int64(step), out, scratch, cupy.int32(0))

    def run() -> Any:
        kernel((blocks,), (REDUCE_THREADS,), arguments)
        return out

    return run


def gemm(kernel: Any, case: Case, _blocks: int, _step: int) -> Callable[[], Any]:
    """Prepare a launch of the GEMMs."""
    import cupy  # noqa: PLC0415 - as above

    size, single = case.row["size"], case.row["sums_a_thread"] == 1
    a, b = factors(size)
    c = cupy.full((size, size), -1, cupy.float32)
    side, threads = (32, 1024) if single else (accesses.TILE, 256)
    arguments = (a, b, c, cupy.int32(size), cupy.int32(0))

    def run() -> Any:
        kernel((size // side, size // side), (threads,), arguments)
        return c

    return run


def factors(size: int) -> tuple[Any, Any]:
    """Give A, stored column by column, and B, of small whole numbers, so that every product and sum is exact."""
    import cupy  # noqa: PLC0415 - as above

    numbers = cupy.arange(size * size, dtype=cupy.int64)
    a, b = (((numbers * factor >> 7) % 9 - 4).astype(cupy.float32).reshape(size, size) for factor in (1_103_515_245, 69_069))
    return a, b


def warp(kernel: Any, case: Case, blocks: int, _step: int) -> Callable[[], Any]:
    """Prepare a launch of the warp sums: one warp, or `blocks` full blocks; it gives the sums and the cycles of the first warp."""
    import cupy  # noqa: PLC0415 - as above

    threads = WARP_THREADS if blocks else 32
    rounds = TIMED_ROUNDS if blocks else case.share
    out, cycles = cupy.zeros(max(blocks, 1) * threads, cupy.uint32), cupy.zeros(max(blocks, 1) * threads, cupy.int64)
    arguments = (cupy.arange(threads, dtype=cupy.uint32) * cupy.uint32(2_654_435_761) >> cupy.uint32(3), out, cycles, cupy.int32(rounds))

    def run() -> Any:
        kernel((max(blocks, 1),), (threads,), arguments)
        return out, cycles

    return run


def right(case: Case) -> None:
    """Assert that a case gives what the host computes."""
    import numpy as np  # noqa: PLC0415 - comes with CuPy

    result = launch(case)()
    if case.source == "window":
        state = np.arange(WINDOW_THREADS, dtype=np.uint32) * np.uint32(12_345) + np.uint32(1)
        samples = []
        for _ in range(case.row["samples"]):
            state = state * np.uint32(1_664_525) + np.uint32(1_013_904_223)
            samples.append(state >> np.uint32(16))
        totals = np.cumsum([np.zeros(WINDOW_THREADS), *samples], axis=0)
        assert (result.get() == (totals[64:] - totals[:-64]).max(axis=0)).all(), case
    elif case.source == "reduce":
        assert (result.get() == (np.arange(REDUCE_THREADS * EACH) % 13).sum()).all(), case
    elif case.source == "gemm":
        a, b = (each.get().astype(np.float64) for each in factors(case.row["size"]))
        assert (result.get() == a.T @ b).all(), case
    else:
        lanes = np.arange(32, dtype=np.uint32)
        values = lanes * np.uint32(2_654_435_761) >> np.uint32(3)
        for _ in range(case.share):
            values = values.sum(dtype=np.uint32) ^ lanes
        assert (result[0].get() == values).all(), case


def time_windows(rows: dict[str, Row]) -> None:
    """Time the windows with one block of 128 threads an SM, and with 16."""
    for name, row in WINDOWS.items():
        case = Case("window", row["kernel"], row, 1)
        for key, blocks in (("one_block", SMS), ("many_blocks", 16 * SMS)):
            rows[name][f"measured_{key}_ms"] = timed(launch(case, blocks))
    for name in WINDOWS:
        for key in ("one_block", "many_blocks"):
            rows[name][f"measured_{key}_ratio"] = round(rows[name][f"measured_{key}_ms"] / rows["registers"][f"measured_{key}_ms"], 2)


def time_reductions(rows: dict[str, Row]) -> None:
    """Time the reductions of numbers that all blocks share, and of numbers of their own."""
    best = "reduce_register_shuffle"
    for name, row in REDUCTIONS.items():
        case = Case("reduce", f"{row['running']}_{row['exchange']}", row, 1)
        for key, step in (("l1", 0), ("dram", REDUCE_THREADS * EACH)):
            rows[name][f"measured_{key}_ms"] = timed(launch(case, REDUCE_BLOCKS, step))
            rows[name][f"measured_{key}_ratio"] = round(rows[name][f"measured_{key}_ms"] / rows[best][f"measured_{key}_ms"], 2)


def time_gemms(rows: dict[str, Row]) -> None:
    """Time the GEMMs."""
    best = "gemm_shared_register_16"
    for case in every_case():
        if case.source == "gemm":
            name = next(name for name, row in GEMMS.items() if row is case.row)
            time = timed(launch(case), repeat=10)
            ratio = round(time / rows[best].get("measured_time_ms", time), 2)
            rows[name] |= {"measured_time_ms": time, "measured_ratio": ratio, "measured_tflops": round(2e-9 * SIZE**3 / time, 2)}


def time_warps(rows: dict[str, Row]) -> None:
    """Time the warp sums: one warp by its clock, and all SMs full."""
    for name, row in WARPS.items():
        case = Case("warp", f"{row['sum_by']}_sum", row, TIMED_ROUNDS)
        run = launch(case)
        cycles = statistics.median(int(run()[1].max()) for _ in range(7)) / TIMED_ROUNDS
        time = timed(launch(case, WARP_BLOCKS))
        ratio = round(time / rows["warp_shuffle"].get("measured_full_ms", time), 2)
        rows[name] |= {"measured_latency_cycles": round(cycles, 1), "measured_full_ms": time, "measured_full_ratio": ratio}


def timed(run: Callable[[], Any], repeat: int = 20) -> float:
    """Give the median time of a launch in milliseconds."""
    return round(gpu.milliseconds(run, repeat=repeat, warmup=3), 4)


if __name__ == "__main__":
    main()
