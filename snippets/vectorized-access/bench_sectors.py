"""Count requests, sectors, instructions and DRAM bytes of each access pattern; break the alignment rule; copy any tail."""

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import sectors

import gpu

SOURCE = Path(__file__).with_name("copy.cu")
FLOATS = 2**26  # 256 MiB, more than four times the L2 of an H200
BLOCK = 256
L2_FETCH_GRANULARITY = 5  # cudaLimitMaxL2FetchGranularity
POISON = float("nan")

TABLES = {
    "counts": {
        "pattern": ("线程 i 读取", "Thread i reads"),
        "access_bytes": ("每次访问（字节）", "Access (bytes)"),
        "stride_bytes": ("lane 间距（字节）", "Lane to lane (bytes)"),
        "predicted_sectors_per_request": ("预测 sector / 请求", "Predicted sectors a request"),
        "counted_sectors_per_request": ("实测 sector / 请求", "Counted sectors a request"),
        "predicted_useful_percent": ("预测有用字节（%）", "Predicted useful bytes (%)"),
        "counted_useful_percent": ("实测有用字节（%）", "Counted useful bytes (%)"),
    },
    "requests": {
        "pattern": ("线程 i 读取", "Thread i reads"),
        "predicted_requests": ("预测读请求", "Predicted load requests"),
        "counted_requests": ("实测读请求", "Counted load requests"),
        "counted_instructions": ("实测 warp 指令，全部", "Counted warp instructions, all"),
    },
    "traffic": {
        "pattern": ("线程 i 读取", "Thread i reads"),
        "predicted_sectors": ("预测 sector", "Predicted sectors"),
        "counted_sectors": ("实测 sector", "Counted sectors"),
        "predicted_dram_read_mb": ("预测 DRAM 读（MB）", "Predicted DRAM read (MB)"),
        "counted_dram_read_mb": ("实测 DRAM 读（MB）", "Counted DRAM read (MB)"),
    },
    "alignment": {
        "kernel": ("kernel", "Kernel"),
        "access_bytes": ("每次访问（字节）", "Access (bytes)"),
        "moved_pointer_bytes": ("指针后移（字节）", "Pointer moved by (bytes)"),
        "predicted_result": ("预测结果", "Predicted result"),
        "measured_result": ("实测结果", "Result"),
    },
    "tail": {
        "floats": ("n（float）", "n (floats)"),
        "tail": ("n % 4", "n % 4"),
        "predicted_requests": ("预测读请求", "Predicted load requests"),
        "counted_requests": ("实测读请求", "Counted load requests"),
        "predicted_sectors": ("预测 sector", "Predicted sectors"),
        "counted_sectors": ("实测 sector", "Counted sectors"),
        "measured_equal": ("逐字节相同，界外未写", "Equal, nothing written beyond"),
    },
}

METRICS = {
    "counted_load_instructions": "smsp__inst_executed_op_global_ld.sum",
    "counted_instructions": "smsp__inst_executed.sum",
    "counted_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "counted_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "counted_store_sectors_per_request": "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
    "useful": "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
    "dram": "dram__bytes_read.sum",
}

PATTERNS = {
    # row: what thread i reads, kernel, bytes of an access, bytes from lane to lane, offset in bytes, loads a thread
    "float": ("float a[i]", "copy_float", 4, 4, 0, 1),
    "float2": ("float2 a[i]", "copy_float2", 8, 8, 0, 1),
    "float4": ("float4 a[i]", "copy_float4", 16, 16, 0, 1),
    "float3": ("float3 a[i]", "copy_float3", 4, 12, 0, 3),
    "neighbours": ("float a[4*i .. 4*i+3]", "copy_neighbours", 4, 16, 0, 4),
    "offset_4": ("float a[i+1]", "copy_strided", 4, 4, 4, 1),
    "stride_2": ("float a[2*i]", "copy_strided", 4, 8, 0, 1),
    "stride_4": ("float a[4*i]", "copy_strided", 4, 16, 0, 1),
    "stride_8": ("float a[8*i]", "copy_strided", 4, 32, 0, 1),
    "stride_32": ("float a[32*i]", "copy_strided", 4, 128, 0, 1),
}
MOVED_POINTERS = (
    # kernel, bytes of an access, bytes that its pointer is moved by
    ("copy_float4", 16, 4),
    ("copy_float4", 16, 8),
    ("copy_float4", 16, 16),
    ("copy_float2", 8, 4),
    ("copy_float2", 8, 8),
    ("copy_float", 4, 4),
)
TAILS = range(4)


def predict(inputs: dict[str, Any]) -> dict[str, Any]:
    """Give the predicted values of a row from its inputs."""
    if "moved_pointer_bytes" in inputs:
        fits = sectors.aligned(inputs["moved_pointer_bytes"], inputs["access_bytes"])
        return {"predicted_result": "cudaSuccess" if fits else "cudaErrorMisalignedAddress"}
    if "tail" in inputs:
        warps, tail = inputs["floats"] // 4 // sectors.LANES, inputs["tail"]
        body = sectors.sectors(sectors.lane_addresses(16), 16)
        # The tail begins where the body ends, on 16 bytes, and is at most 12 bytes long: one more request, one more sector.
        return {"predicted_requests": warps + (tail > 0), "predicted_sectors": warps * body + (tail > 0)}
    access, stride, loads = inputs["access_bytes"], inputs["stride_bytes"], inputs["loads"]
    warps = inputs["threads"] // sectors.LANES
    requests = [sectors.lane_addresses(stride, inputs["offset_bytes"] + load * access) for load in range(loads)]
    counts = [sectors.sectors(addresses, access) for addresses in requests]
    asked = [len(sectors.touched(addresses, access, 1)) for addresses in requests]
    assert len(set(counts)) == 1, inputs  # each of a thread's loads moves as much as the others
    # copy_strided reads with a stride and writes without; the others write as they read.
    written = access if inputs["kernel"] == "copy_strided" else stride
    return {
        "predicted_sectors_per_request": counts[0],
        "predicted_store_sectors_per_request": sectors.sectors(sectors.lane_addresses(written), access),
        "predicted_useful_percent": round(100 * sum(asked) / (sectors.SECTOR_BYTES * sum(counts)), 1),
        "predicted_requests": warps * loads,
        "predicted_sectors": warps * sum(counts),
        "predicted_dram_read_mb": round(sectors.dram_read_bytes(inputs["threads"], stride, inputs["l2_fetch_bytes"]) / 1e6, 1),
    }


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name in PATTERNS:
        row = rows[name]
        for what in ("sectors_per_request", "store_sectors_per_request", "requests", "sectors"):
            assert row[f"counted_{what}"] == row[f"predicted_{what}"], (name, what, row)
        assert row["counted_load_instructions"] == row["counted_requests"], (name, row)
        assert abs(row["counted_useful_percent"] - row["predicted_useful_percent"]) < 0.1, (name, row)
        assert abs(row["counted_dram_read_mb"] / row["predicted_dram_read_mb"] - 1) < 0.02, (name, row)
    scalar, vector = rows["float"], rows["float4"]
    assert scalar["counted_requests"] == 4 * vector["counted_requests"], (scalar, vector)
    assert scalar["counted_sectors"] == vector["counted_sectors"], (scalar, vector)
    assert abs(scalar["counted_instructions"] / vector["counted_instructions"] - 4) < 0.05, (scalar, vector)
    assert abs(scalar["counted_dram_read_mb"] / vector["counted_dram_read_mb"] - 1) < 0.02, (scalar, vector)
    assert rows["neighbours"]["counted_sectors"] == 4 * vector["counted_sectors"], rows["neighbours"]
    # Fewer sectors are asked for than DRAM delivers: the L2 fetches two for one.
    far = rows["stride_32"]
    assert abs(far["counted_dram_read_mb"] * 1e6 / (sectors.SECTOR_BYTES * far["counted_sectors"]) - 2) < 0.04, far
    for name, row in rows.items():
        if "moved_pointer_bytes" in row:
            assert row["measured_result"] == row["predicted_result"], (name, row)
        if "tail" in row:
            assert row["measured_equal"] is True, (name, row)
            assert row["counted_requests"] == row["predicted_requests"], (name, row)
            assert row["counted_sectors"] == row["predicted_sectors"], (name, row)


def main() -> None:
    """Launch under ncu, answer for one moved pointer, or measure everything and print the record's rows."""
    if gpu.launching():
        for _, launch, _ in cases():
            launch()
    elif "--moved" in sys.argv:
        print(result_of_moving(sys.argv[-2], int(sys.argv[-1])), flush=True)
    else:
        rows = measure()
        gpu.say(json.dumps(rows))  # to be read where a check fails
        check(rows)
        print(json.dumps({"rows": rows}))


def measure() -> dict[str, dict[str, Any]]:
    """Check each kernel's result, then count, then move pointers, each in a process of its own."""
    rows: dict[str, dict[str, Any]] = {}
    for name, launch, correct in cases():
        launch()
        right = correct()
        assert right, f"{name} copies wrongly"
        inputs = inputs_of(name)
        rows[name] = inputs | predict(inputs) | ({"measured_equal": right} if "tail" in inputs else {})
    gpu.say("ncu counts ...")
    for row, counted in zip(rows.values(), gpu.counters(list(METRICS.values()), "^copy_.*"), strict=True):
        values = {key: counted[metric] for key, metric in METRICS.items()}
        useful, dram = values.pop("useful"), values.pop("dram")
        row |= {key: whole(value) for key, value in values.items()}
        row["counted_sectors_per_request"] = whole(row["counted_sectors"] / row["counted_requests"])
        row["counted_useful_percent"] = round(useful, 1)
        row["counted_dram_read_mb"] = round(dram / 1e6, 1)
    gpu.say("moved pointers ...")
    for kernel, access_bytes, moved in MOVED_POINTERS:
        inputs = {"kernel": kernel, "access_bytes": access_bytes, "moved_pointer_bytes": moved}
        run = subprocess.run([sys.executable, sys.argv[0], "--moved", kernel, str(moved)], capture_output=True, text=True, check=False)
        result = run.stdout.strip() or f"no answer: {run.stderr[-500:]}"
        rows[f"{kernel}_moved_{moved}"] = inputs | predict(inputs) | {"measured_result": result}
    return rows


def inputs_of(name: str) -> dict[str, Any]:
    """Give a counted row's inputs."""
    if name.startswith("tail_"):
        tail = int(name.removeprefix("tail_"))
        return {"floats": 2**22 + tail, "tail": tail}
    pattern, kernel, access_bytes, stride_bytes, offset_bytes, loads = PATTERNS[name]
    # As many threads as span 256 MiB; a block less where the last thread would read beyond it.
    blocks = FLOATS * 4 // stride_bytes // BLOCK - (offset_bytes > 0)
    return {
        "pattern": pattern,
        "kernel": kernel,
        "access_bytes": access_bytes,
        "stride_bytes": stride_bytes,
        "offset_bytes": offset_bytes,
        "loads": loads,
        "threads": blocks * BLOCK,
        "useful_bytes": blocks * BLOCK * access_bytes * loads,
        "l2_fetch_bytes": l2_fetch_bytes(),
    }


def cases() -> list[tuple[str, Callable[[], object], Callable[[], bool]]]:
    """Give, for each counted row in order: its name, its launch, and whether the launch copied rightly."""
    import cupy  # noqa: PLC0415

    source = cupy.random.default_rng(6).random(FLOATS, dtype=cupy.float32)
    target = cupy.empty(FLOATS, cupy.float32)

    def launch(name: str) -> None:
        inputs = inputs_of(name)
        target.fill(POISON)
        if "tail" in inputs:
            blocks = inputs["floats"] // 4 // BLOCK
            gpu.kernel(SOURCE, "copy_any")((blocks,), (BLOCK,), (source, target, cupy.uint32(inputs["floats"])))
            return
        arguments = [source, target, cupy.uint32(inputs["threads"])]
        if inputs["kernel"] == "copy_strided":
            arguments += [cupy.uint32(inputs["stride_bytes"] // 4), cupy.uint32(inputs["offset_bytes"] // 4)]
        elif inputs["kernel"] == "copy_neighbours":
            arguments[-1] = cupy.uint32(4 * inputs["threads"])
        gpu.kernel(SOURCE, inputs["kernel"])((inputs["threads"] // BLOCK,), (BLOCK,), tuple(arguments))

    def correct(name: str) -> bool:
        inputs = inputs_of(name)
        if "tail" in inputs:
            count, wanted = inputs["floats"], source[: inputs["floats"]]
        elif inputs["kernel"] == "copy_strided":
            count, first, step = inputs["threads"], inputs["offset_bytes"] // 4, inputs["stride_bytes"] // 4
            wanted = source[first:][::step][:count]
        else:
            count = inputs["useful_bytes"] // 4
            wanted = source[:count]
        return bool((target[:count] == wanted).all()) and bool(cupy.isnan(target[count:]).all())

    names = [*PATTERNS, *(f"tail_{tail}" for tail in TAILS)]
    return [(name, partial(launch, name), partial(correct, name)) for name in names]


def l2_fetch_bytes() -> int:
    """Ask for the largest piece that the L2 fetches from DRAM for one miss, which the runtime calls a hint."""
    import cupy  # noqa: PLC0415

    return int(cupy.cuda.runtime.deviceGetLimit(L2_FETCH_GRANULARITY))


def result_of_moving(kernel: str, moved_bytes: int) -> str:
    """Copy from a pointer that was moved, and give the name of what CUDA answers; an error ends this process's context."""
    import cupy  # noqa: PLC0415

    source, target = cupy.zeros(1024, cupy.uint8), cupy.zeros(1024, cupy.uint8)
    try:
        gpu.kernel(SOURCE, kernel)((1,), (32,), (source[moved_bytes:], target, cupy.uint32(32)))
        cupy.cuda.runtime.deviceSynchronize()
    except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
        return str(error).partition(":")[0]
    return "cudaSuccess"


def whole(value: float) -> int | float:
    """Give a whole number as an int."""
    return int(value) if value == int(value) else value


if __name__ == "__main__":
    main()
