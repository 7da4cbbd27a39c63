"""Count how many blocks an SM holds as registers and shared memory are used up, as budget.py predicts, and what it does to a wait for the L2."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import budget

import gpu

SOURCE = Path(__file__).with_name("budget.cu")
THREADS = 256
SMS = 132
BLOCKS = 840 * SMS  # 840 is a multiple of every number of blocks from 1 to 8
LOADS = 64
NODES, HOP_BYTES = 8192, 256  # each warp waits for a place of its own among these, all in the L2
METRICS = {
    "counted_registers": "launch__registers_per_thread",
    "counted_blocks_by_registers": "launch__occupancy_limit_registers",
    "counted_blocks_by_shared": "launch__occupancy_limit_shared_mem",
}
TABLES = {
    kind: {
        key: labels,
        f"predicted_blocks_by_{kind}": ("限制：预测", "Limit: predicted"),
        f"counted_blocks_by_{kind}": ("ncu", "ncu"),
        "predicted_blocks": ("驻留：预测", "Resident: predicted"),
        "measured_blocks": ("实测", "measured"),
        "predicted_occupancy_pct": ("occupancy（%）", "Occupancy (%)"),
        "predicted_time_ratio": ("时间倍数：预测", "Time ratio: predicted"),
        "measured_time_ratio": ("实测", "measured"),
    }
    for kind, key, labels in (
        ("registers", "registers", ("寄存器", "Registers")),
        ("shared", "shared_bytes", ("共享内存（字节）", "Shared memory (bytes)")),
    )
}
Row = dict[str, Any]
LEAST_SHARED_BYTES = 128  # the kernels use a word of it
REGISTERS = (32, 40, 48, 64, 80, 96, 128, 168, 254)
SHARED_BYTES = (28_160, 28_161, 37_888, 57_344, 57_345, 76_800, 115_712, 116_736, 232_448)
INPUTS: dict[str, Row] = {
    **{f"registers_{registers}": {"registers": registers} for registers in REGISTERS},
    **{f"shared_{shared}": {"shared_bytes": shared} for shared in SHARED_BYTES},
}


def predict(row: Row) -> Row:
    """Give a row's predicted values; what a row does not name is at its least, 32 registers or 128 bytes."""
    registers, shared = row.get("registers", REGISTERS[0]), row.get("shared_bytes", LEAST_SHARED_BYTES)
    held = budget.blocks(THREADS, registers, shared)
    return {
        "predicted_blocks_by_registers": budget.blocks_by_registers(THREADS, registers),
        "predicted_blocks_by_shared": budget.blocks_by_shared(shared),
        "predicted_blocks": held,
        "predicted_occupancy_pct": budget.occupancy(THREADS, registers, shared),
        # Where nothing but the wait for the L2 takes time, half the warps take twice as long.
        "predicted_time_ratio": round(budget.blocks(THREADS, REGISTERS[0], LEAST_SHARED_BYTES) / held, 2),
    }


def check(rows: dict[str, Row]) -> None:
    """Assert what the page says of these rows."""
    for name, row in rows.items():
        for key in ("blocks_by_registers", "blocks_by_shared"):
            assert row[f"counted_{key}"] == row[f"predicted_{key}"], f"{name}: {row}"
        assert row["measured_blocks"] == row["predicted_blocks"], f"{name}: {row}"
        ratio = row["measured_time_ratio"] / row["predicted_time_ratio"]
        assert 0.88 < ratio < 1.12, f"{name}: {ratio} times the predicted time: {row}"
        assert row["counted_registers"] == row.get("registers", REGISTERS[0]), f"{name}: {row}"


def main() -> None:
    """Launch each case once under ncu; else ask the driver, count, time, and print the rows."""
    if gpu.launching():
        for row in INPUTS.values():
            launcher(row, SMS)
        return
    rows = {name: row | predict(row) for name, row in INPUTS.items()}
    for row, read in zip(rows.values(), gpu.counters(list(METRICS.values()), "^hold_"), strict=True):
        row |= {key: int(read[metric]) for key, metric in METRICS.items()}
    first = 0.0
    for row in rows.values():
        row["measured_blocks"] = held(row)
        time = gpu.milliseconds(launcher(row, BLOCKS), repeat=5, warmup=1)
        first = first or time
        row |= {"measured_time_ms": round(time, 4), "measured_time_ratio": round(time / first, 2)}
    for name, row in rows.items():
        gpu.say(f"{name}: {row}")
    check(rows)
    print(json.dumps({"rows": rows}))


def prepared(row: Row) -> Any:
    """Give a row's kernel, allowed all the shared memory that an SM has."""
    kernel = gpu.kernel(SOURCE, f"hold_{row.get('registers', REGISTERS[0])}")
    kernel.max_dynamic_shared_size_bytes = max(row.get("shared_bytes", 0), 48 * 1024)
    kernel.preferred_shared_memory_carveout = 100
    return kernel


def launcher(row: Row, blocks: int) -> Callable[[], None]:
    """Prepare a launch of a row's kernel; calling it runs the kernel."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too

    kernel = prepared(row)
    words, values = cupy.empty(NODES * HOP_BYTES // 8, cupy.uint64), cupy.zeros(THREADS, cupy.uint32)
    words[:] = cupy.uint64(words.data.ptr) + cupy.arange(words.size, dtype=cupy.uint64) * cupy.uint64(8)  # each word its own address
    arguments = (cupy.uint64(words.data.ptr), values, cupy.int32(LOADS))

    def run() -> None:
        kernel((blocks,), (THREADS,), arguments, shared_mem=row.get("shared_bytes", LEAST_SHARED_BYTES))

    run()
    return run


def held(row: Row) -> int:
    """Ask the driver how many blocks of a row's kernel an SM holds."""
    from cupy.cuda import driver  # noqa: PLC0415 - as above

    return int(driver.occupancyMaxActiveBlocksPerMultiprocessor(prepared(row).kernel.ptr, THREADS, row.get("shared_bytes", LEAST_SHARED_BYTES)))


if __name__ == "__main__":
    main()
