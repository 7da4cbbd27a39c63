"""Run one small program bare, under torch.profiler's timeline and under Nsight Compute, and explain why the times differ.

Under ncu this script runs again with --launch. The GPU's clock is left alone: ncu always runs with --clock-control none.
"""

import csv
import faulthandler
import importlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import tools

import gpu

SOURCE = Path(__file__).with_name("tools.cu")
ROWS, COLUMNS, ROUNDS = 2048, 512, 96
WORDS = ROWS * COLUMNS  # 4 MiB a stream
FACTOR = 1.5
TOTAL_THREADS = 32 * 256
GROW_WORDS = 2**30  # 4 GiB
GROW_START = 7
FLUSH_BYTES = 2**29
POISON = 0xA5
REPEAT = 20
LONGEST = 110  # seconds, then the process ends itself
KERNELS = ("scale", "row_filter", "total")
TIME, DRAM, CYCLES = "gpu__time_duration.sum", "dram__bytes_read.sum", "sm__cycles_elapsed.max"
SECTORS, REQUESTS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
FEW = (TIME, DRAM, CYCLES, SECTORS, REQUESTS)
PASSES, BACKED_UP = "profiler__replayer_passes", "profiler__replayer_bytes_mem_backed_up.avg"
RUNS = {"one": "1 metric", "few": f"{len(FEW)} metrics", "basic": "--set basic", "full": "--set full"}
TIMES = "WARPWISE_TIMES"  # the file to which the run under ncu writes the host's times

TABLES = {
    "makespan": {
        "how": ("怎么跑、谁在看", "How it runs, who looks"),
        "predicted_makespan_us": ("预测（µs）", "Predicted (µs)"),
        "measured_makespan_us": ("实测（µs）", "Measured (µs)"),
    },
    "seen": {
        "calls": ("程序的操作", "The program's operations"),
        "predicted_timeline_operations": ("时间线，预测", "Timeline, predicted"),
        "counted_timeline_operations": ("时间线，实际", "Timeline, counted"),
        "predicted_ncu_launches": ("ncu，预测", "ncu, predicted"),
        "counted_ncu_launches": ("ncu，实际", "ncu, counted"),
    },
    "kernels": {
        "kernel": ("kernel", "Kernel"),
        "measured_timeline_us": ("时间线，两个流（µs）", "Timeline, two streams (µs)"),
        "alone_us": ("时间线，逐个执行（µs）", "Timeline, one at a time (µs)"),
        "measured_ncu_us": ("ncu，`none`（µs）", "ncu, `none` (µs)"),
        "flushed_us": ("时间线，先冲掉缓存（µs）", "Timeline, caches flushed first (µs)"),
        "measured_ncu_flushed_us": ("ncu，`all`（µs）", "ncu, `all` (µs)"),
    },
    "dram": {
        "kernel": ("kernel", "Kernel"),
        "predicted_dram_bytes": ("预测，`none`", "Predicted, `none`"),
        "counted_dram_bytes": ("实测，`none`，5 个指标", "Counted, `none`, 5 metrics"),
        "counted_dram_full_bytes": ("实测，`none`，full", "Counted, `none`, full"),
        "predicted_dram_flushed_bytes": ("预测，`all`", "Predicted, `all`"),
        "counted_dram_flushed_bytes": ("实测，`all`", "Counted, `all`"),
    },
    "replay": {
        "kernel": ("kernel", "Kernel"),
        "collected": ("采集", "Collected"),
        "passes": ("pass 数", "Passes"),
        "predicted_wall_ms": ("预测一次启动（ms）", "One launch, predicted (ms)"),
        "measured_wall_ms": ("实测一次启动（ms）", "One launch, measured (ms)"),
        "counted_backed_up_bytes": ("每个 pass 备份（字节）", "Backed up a pass (bytes)"),
    },
    "reported": {
        "kernel": ("kernel", "Kernel"),
        "collected": ("采集", "Collected"),
        "passes": ("pass 数", "Passes"),
        "predicted_least_us": ("预测不少于（µs）", "Predicted, least (µs)"),
        "predicted_most_us": ("预测不多于（µs）", "Predicted, most (µs)"),
        "measured_reported_us": ("报告的时长（µs）", "Reported (µs)"),
    },
    "first": {
        "collected": ("采集", "Collected"),
        "measured_first_ms": ("第一个 kernel（ms）", "First kernel (ms)"),
        "measured_later_ms": ("同一 kernel 再次启动（ms）", "Same kernel again (ms)"),
    },
    "overhead": {
        "tool": ("工具", "Tool"),
        "metrics": ("指标数", "Metrics"),
        "measured_pipeline_ms": ("整个程序（ms）", "The program (ms)"),
        "measured_times_bare": ("是不带工具时的几倍", "Times as long as bare"),
    },
    "sectors": {
        "kernel": ("kernel", "Kernel"),
        "stride_bytes": ("相邻 lane 相隔（字节）", "Bytes between lanes"),
        "predicted_sectors": ("预测 sector / 请求", "Sectors a request, predicted"),
        "counted_sectors": ("实测 sector / 请求", "Sectors a request, counted"),
        "measured_filter_us": ("时长，ncu `none`（µs）", "Duration, ncu `none` (µs)"),
    },
    "defaults": {
        "option": ("选项", "Option"),
        "counted_default": ("默认值", "Default"),
    },
    "clock": {
        "counted_cycles": ("周期", "Cycles"),
        "measured_cycles_us": ("时长（µs）", "Duration (µs)"),
        "measured_clock_mhz": ("SM 时钟（MHz）", "SM clock (MHz)"),
    },
    "result": {
        "collected": ("采集", "Collected"),
        "ran": ("pass 数", "Passes"),
        "predicted_result": ("预测结果", "Result, predicted"),
        "counted_result": ("实际结果", "Result, read back"),
    },
}


def predict(inputs: dict[str, Any]) -> dict[str, Any]:
    """Give what the model says of a row; a row that only measures predicts nothing."""
    found: dict[str, Any] = {}
    if "stages" in inputs:
        calls = tools.pipeline(inputs["stages"], 2)
        if "launch_us" in inputs:
            us = tools.overlapped_us(calls, inputs["launch_us"])
        elif "round_trip_us" in inputs:
            us = tools.one_at_a_time_us(calls, inputs["round_trip_us"])
        else:
            us = tools.listed_us(calls)
        found["predicted_makespan_us"] = round(us, 1)
    elif "alone_us" in inputs:
        warm, cold = inputs["alone_us"], inputs["flushed_us"]
        found["predicted_ncu_us"] = tools.duration_us(warm, cold, cache_control="none", passes=1)[0]
        found["predicted_ncu_flushed_us"] = tools.duration_us(warm, cold, cache_control="all", passes=1)[0]
        found["predicted_dram_bytes"], found["predicted_dram_flushed_bytes"] = 0, inputs["bytes"]
    elif "pass_ms" in inputs:
        costs = tools.Costs(inputs["single_ms"], inputs["save_ms"], inputs["pass_ms"], inputs["restore_gb_s"])
        found["predicted_wall_ms"] = round(tools.replay_ms(inputs["passes"], inputs["kernel_us"], inputs["written_bytes"], costs), 1)
        if "cold_us" in inputs:
            reported = tools.duration_us(inputs["kernel_us"], inputs["cold_us"], cache_control="none", passes=inputs["passes"])
            found["predicted_least_us"], found["predicted_most_us"] = reported
    elif "stride_bytes" in inputs:
        found["predicted_sectors"] = tools.sectors_per_request(inputs["stride_bytes"])
    elif "calls" in inputs:
        found["predicted_timeline_operations"] = inputs["calls"]
        found["predicted_ncu_launches"] = inputs["calls"] - 2 * len(tools.COPY_ENGINES)
    elif "start" in inputs:
        found["predicted_result"] = inputs["start"] + 1
    return found


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    check_makespans(rows)
    check_durations(rows)
    check_replay(rows)


def check_makespans(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what streams, waiting, the profilers and the faster filter do to the program's time."""
    for name, tolerance in (("two_streams", 0.05), ("one_at_a_time", 0.1), ("listed", 0.05), ("fixed", 0.15)):
        row = rows[name]
        assert abs(row["measured_makespan_us"] / row["predicted_makespan_us"] - 1) < tolerance, f"{name}: {row}"
    together, apart, listed, fixed = (rows[name]["measured_makespan_us"] for name in ("two_streams", "one_at_a_time", "listed", "fixed"))
    assert apart > 1.8 * together, f"one at a time {apart} us, two streams {together} us"
    assert 1.7 < listed / together < 1.9, f"ncu lists {listed} us, two streams take {together} us"
    assert fixed < 0.4 * together, f"the coalesced filter: {fixed} us, {together} us before"
    assert abs(rows["timeline"]["measured_span_us"] / together - 1) < 0.05, f"the timeline: {rows['timeline']}, events: {together} us"
    for what in ("timeline_operations", "ncu_launches"):
        assert rows["seen"][f"counted_{what}"] == rows["seen"][f"predicted_{what}"], rows["seen"]
    if "range" in rows:
        ranged = rows["range"]
        assert abs(ranged["measured_makespan_us"] / ranged["predicted_makespan_us"] - 1) < 0.4, f"a range: {ranged}"
        assert ranged["measured_makespan_us"] < apart, f"a range: {ranged}"
    walls = [rows[f"tool_{name}"]["measured_pipeline_ms"] for name in ("none", "timeline", *RUNS)]
    assert walls[1:] == sorted(walls[1:]), f"the program under each tool: {walls}"
    assert walls[1] < 1.5 * walls[0], f"bare {walls[0]} ms, timeline {walls[1]} ms"
    assert walls[2] > 5 * walls[0], f"bare {walls[0]} ms, ncu {walls[2]} ms"
    assert walls[-1] > 1000 * walls[0], f"bare {walls[0]} ms, --set full {walls[-1]} ms"


def check_durations(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what cache control and coalescing do to each kernel."""
    for kernel in KERNELS:
        row = rows[f"kernel_{kernel}"]
        for key in ("", "_flushed"):
            difference = abs(row[f"measured_ncu{key}_us"] - row[f"predicted_ncu{key}_us"])
            assert difference < max(0.02 * row[f"predicted_ncu{key}_us"], 6), f"{kernel}{key}: {row}"
        assert row["counted_dram_bytes"] < 0.5 * row["bytes"], f"{kernel} reads DRAM without a flush: {row}"
        assert row["counted_dram_full_bytes"] < 0.01 * row["bytes"], f"{kernel} reads DRAM in a late pass: {row}"
        assert abs(row["counted_dram_flushed_bytes"] / row["bytes"] - 1) < 0.01, f"{kernel} with flushed caches: {row}"
    total, row_filter = rows["kernel_total"], rows["kernel_row_filter"]
    assert total["measured_ncu_flushed_us"] > 1.5 * total["measured_ncu_us"], f"total is not slower with cold caches: {total}"
    assert row_filter["measured_ncu_flushed_us"] < 1.03 * row_filter["measured_ncu_us"], f"the filter minds cold caches: {row_filter}"
    slow, fast = rows["sectors_row_filter"], rows["sectors_column_filter"]
    for row in (slow, fast):
        assert row["counted_sectors"] == row["predicted_sectors"], row
    assert 4 < slow["measured_filter_us"] / fast["measured_filter_us"] < 5, f"{slow} {fast}"


def check_replay(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what passes cost, and that they change neither the result nor more of the duration than the caches do."""
    for name, row in rows.items():
        if "predicted_result" in row:
            assert row["counted_result"] == row["predicted_result"], f"{name}: {row}"
        if "predicted_least_us" in row:
            margin = max(0.02 * row["predicted_least_us"], 6)
            inside = row["predicted_least_us"] - margin < row["measured_reported_us"] < row["predicted_most_us"] + margin
            assert inside, f"{name}: reported duration {row}"
    for name, row in rows.items():
        if "predicted_wall_ms" not in row:
            continue
        # Passes of the full set that patch the code or sample cost more than the model's.
        least, most = (1.2, 2.5) if name.endswith("full") else (0.7, 1.3)
        assert least < row["measured_wall_ms"] / row["predicted_wall_ms"] < most, f"{name}: {row}"
    passes = [rows[f"replay_total_{name}"]["passes"] for name in RUNS]
    assert passes[0] == 1, f"one metric takes {passes[0]} passes"
    assert passes == sorted(set(passes)), f"more metrics, more passes: {passes}"
    backed_up = [rows[f"replay_total_{name}"]["counted_backed_up_bytes"] for name in RUNS]
    assert not backed_up[0], f"a single pass saves {backed_up[0]} bytes"
    assert backed_up[1] > 100 * rows["replay_total_few"]["written_bytes"], f"saved: {backed_up}, written: {rows['replay_total_few']}"
    for name in RUNS:
        row = rows[f"first_{name}"]
        assert row["measured_first_ms"] > 1.5 * row["measured_later_ms"], f"the first kernel: {row}"


class Machine:
    """The GPU with the program's kernels, buffers and streams."""

    def __init__(self) -> None:
        """Allocate everything once."""
        import cupy  # noqa: PLC0415 - the tests import this module without a GPU
        import numpy as np  # noqa: PLC0415 - comes with CuPy

        self.cupy, self.np, self.runtime = cupy, np, cupy.cuda.runtime
        self.kernels = {name: gpu.kernel(SOURCE, name) for name in (*KERNELS, "column_filter", "grow")}
        self.streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
        random = np.random.default_rng(13)
        self.host_in = [self._pinned() for _ in self.streams]
        self.host_out = [self._pinned() for _ in self.streams]
        for array in self.host_in:
            array[:] = random.random(WORDS, dtype=np.float32) - np.float32(0.5)
        self.raw, self.scaled = ([cupy.empty(WORDS, cupy.float32) for _ in self.streams] for _ in range(2))
        self.filtered = [cupy.empty(ROWS, cupy.float32) for _ in self.streams]
        self.sums = [cupy.empty(TOTAL_THREADS, cupy.float32) for _ in self.streams]

    def _pinned(self) -> Any:
        array = self.np.frombuffer(self.cupy.cuda.alloc_pinned_memory(4 * WORDS), self.np.float32, WORDS)
        array.fill(0)
        return array

    def launch(self, kernel: str, grid: int, block: int, arguments: tuple[Any, ...], stream: Any) -> None:
        """Launch one kernel into a stream."""
        with stream:
            self.kernels[kernel]((grid,), (block,), arguments)

    def copy(self, target: int, source: int, kind: int, stream: Any) -> None:
        """Make one cudaMemcpyAsync of a stream's piece."""
        self.runtime.memcpyAsync(target, source, 4 * WORDS, kind, stream.ptr)

    def calls(self, filter_kernel: str = "row_filter") -> list[tuple[str, int, Callable[[], None]]]:
        """Give the program: name, stream and call, in the order of submission."""
        made: list[tuple[str, int, Callable[[], None]]] = []
        count, rows, columns, rounds = (self.np.uint32(number) for number in (WORDS, ROWS, COLUMNS, ROUNDS))
        to_device, to_host = self.runtime.memcpyHostToDevice, self.runtime.memcpyDeviceToHost
        for i, stream in enumerate(self.streams):
            raw, scaled = self.raw[i], self.scaled[i]
            filtered = (scaled, self.filtered[i], rows, columns, rounds)
            made += [
                ("copy_in", i + 1, partial(self.copy, raw.data.ptr, self.host_in[i].ctypes.data, to_device, stream)),
                ("scale", i + 1, partial(self.launch, "scale", 128, 256, (raw, scaled, count, self.np.float32(FACTOR)), stream)),
                (filter_kernel, i + 1, partial(self.launch, filter_kernel, ROWS // 32, 32, filtered, stream)),
                ("total", i + 1, partial(self.launch, "total", TOTAL_THREADS // 256, 256, (scaled, self.sums[i], count), stream)),
                ("copy_out", i + 1, partial(self.copy, self.host_out[i].ctypes.data, scaled.data.ptr, to_host, stream)),
            ]
        return made

    def wait(self) -> None:
        """Wait for the GPU."""
        self.cupy.cuda.Device().synchronize()

    def submit(self, filter_kernel: str = "row_filter", before: Callable[[], None] | None = None) -> float:
        """Run the program and give the host's microseconds; with a function to call before each call, the host waits after each."""
        made = self.calls(filter_kernel)
        begin = time.perf_counter()
        for _, _, call in made:
            if before:
                before()
            call()
            if before:
                self.wait()
        self.wait()
        return (time.perf_counter() - begin) * 1e6

    def makespan_us(self, filter_kernel: str) -> float:
        """Give the time between an event before all calls and one behind all, without the host; the median of several."""
        times, first, second = [], *self.streams
        for _ in range(REPEAT):
            made = self.calls(filter_kernel)
            begin, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
            begin.record(first)
            second.wait_event(begin)
            for _, _, call in made:
                call()
            first.wait_event(second.record(self.cupy.cuda.Event(disable_timing=True)))
            end.record(first)
            end.synchronize()
            times.append(float(self.cupy.cuda.get_elapsed_time(begin, end)) * 1e3)
        return statistics.median(times)

    def verify(self, filter_kernel: str) -> None:
        """Poison the results, run the program once, and compare all of them with a reference in float64."""
        for array in (*self.host_out, *self.filtered, *self.sums, *self.scaled):
            array.fill(POISON)
        self.wait()
        self.submit(filter_kernel)
        for i, given in enumerate(self.host_in):
            exact = given.astype(self.np.float64) * FACTOR
            assert self.np.allclose(self.host_out[i], exact, rtol=1e-6), f"scale in stream {i + 1}"
            sums = self.cupy.asnumpy(self.sums[i]).astype(self.np.float64)
            assert self.np.allclose(sums, exact.reshape(-1, TOTAL_THREADS).sum(0), atol=1e-3), f"total in stream {i + 1}"
            lines = exact.reshape(ROWS, COLUMNS).T if filter_kernel == "row_filter" else exact.reshape(COLUMNS, ROWS)
            state = self.np.zeros(ROWS)
            for line in lines[-100:]:  # what came before has faded to 2**-100
                state = 0.5 * state + line
            assert self.np.allclose(self.cupy.asnumpy(self.filtered[i]), state, atol=1e-4), f"{filter_kernel} in stream {i + 1}"


def launch() -> None:
    """Be the program under ncu: run it once to warm up, then once between profilerStart and profilerStop; keep the host's times."""
    machine = Machine()
    machine.submit()
    machine.submit("column_filter")
    made = machine.calls()
    times: list[list[Any]] = []
    machine.runtime.profilerStart()
    begin = time.perf_counter()
    for name, _, call in made:
        before = time.perf_counter()
        call()
        times.append([name, (time.perf_counter() - before) * 1e3])
    machine.wait()
    found: dict[str, Any] = {"pipeline_ms": (time.perf_counter() - begin) * 1e3, "launches": times}
    if "--coalesced" in sys.argv:
        machine.calls("column_filter")[2][2]()
        machine.wait()
    data: Any = None
    if "--grow" in sys.argv:
        data = machine.cupy.empty(GROW_WORDS, machine.cupy.uint32)
        machine.runtime.memset(data.data.ptr, GROW_START, data.nbytes)
        machine.wait()
        before = time.perf_counter()
        machine.launch("grow", 1056, 256, (data, machine.np.uint64(GROW_WORDS)), machine.streams[0])
        times.append(["grow", (time.perf_counter() - before) * 1e3])
        machine.wait()
    machine.runtime.profilerStop()
    if data is not None:
        found["result"] = [int(data[0]) & 0xFF, int(data[-1]) & 0xFF]
    Path(os.environ[TIMES]).write_text(json.dumps(found), "utf-8")


def under_ncu(*options: str, extra: str = "", required: bool = True) -> dict[str, Any]:
    """Run the program under ncu; give its own times, and for each profiled launch the kernel, the passes and the metrics of FEW."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "times.json"
        command = [gpu.find_ncu(), "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", *options]
        command += [sys.executable, sys.argv[0], "--launch", *filter(None, [extra])]
        begin = time.perf_counter()
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=40, env=os.environ | {TIMES: str(kept)})
        took = time.perf_counter() - begin
        lines = [line for line in run.stdout.splitlines() if line.startswith('"')]
        if run.returncode or len(lines) < 3 or not kept.is_file():
            gpu.say(f"ncu {options} read nothing:\n{run.stdout[-1500:]}{run.stderr[-1500:]}")
            if required:
                raise SystemExit(1)
            return {}
        found: dict[str, Any] = json.loads(kept.read_text("utf-8"))
    names, _units, *rows = csv.reader(lines)
    found["kernels"] = [row[names.index("Kernel Name")].partition("(")[0] for row in rows] if "Kernel Name" in names else []
    for metric in (*FEW, PASSES, BACKED_UP):
        if metric in names:
            found[metric] = [_number(row[names.index(metric)]) for row in rows]
    found.setdefault(PASSES, [0.0] * len(rows))  # check says so
    gpu.say(f"ncu {options} {took:.1f} s, {len(names)} columns, {[name for name in names if 'replayer' in name]}: {found}")
    return found


def _number(text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return float("nan")


def sets() -> dict[str, int]:
    """Give how many metrics each of ncu's sets collects, as ncu --list-sets says."""
    text = subprocess.run([gpu.find_ncu(), "--list-sets"], capture_output=True, text=True, check=False, timeout=30).stdout
    found = {name: int(number) for name, number in re.findall(r"^(basic|full)\b.*?\b(?:yes|no)\s+(\d+)\s*$", text, re.MULTILINE | re.DOTALL)}
    gpu.say(f"sets {found}\n{text if len(found) < 2 else ''}")
    return found


def defaults() -> dict[str, dict[str, Any]]:
    """Give a row for each option that changes what ncu measures, with the default that this ncu's help states."""
    text = subprocess.run([gpu.find_ncu(), "--help"], capture_output=True, text=True, check=False, timeout=30).stdout
    found = {}
    for option in ("clock-control", "cache-control", "replay-mode", "set"):
        match = re.search(rf"--{option} arg\s*(?:\(=(\w+)\))?([^\n]*)", text)
        if match:
            gpu.say(match[0])
        if match and match[1]:
            found[f"default_{option}"] = {"option": f"--{option}", "counted_default": match[1]}
    return found


def traced(machine: Machine) -> dict[str, Any]:
    """Run the program under torch.profiler: as it is, many times and once, one call at a time, and with caches flushed before each."""
    torch: Any = importlib.import_module("torch")
    torch.zeros(1, device="cuda")
    flush = machine.cupy.empty(FLUSH_BYTES, machine.cupy.uint8)

    def flushed() -> None:
        machine.runtime.memsetAsync(flush.data.ptr, 0, FLUSH_BYTES, machine.streams[0].ptr)
        machine.wait()

    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as profile:
        machine.submit()
        walls = [machine.submit() for _ in range(REPEAT)]
        machine.submit("column_filter", before=lambda: None)
        machine.submit(before=lambda: None)
        machine.submit(before=flushed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        trace = json.loads(path.read_text("utf-8"))
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X" and event.get("cat") in {"kernel", "gpu_memcpy"}]
    events.sort(key=lambda event: float(event["ts"]))
    order = [name for name, _, _ in machine.calls()]
    runs = [events[len(order) * number : len(order) * (number + 1)] for number in range(REPEAT + 4)]
    gpu.say(f"{len(events)} events, {len(order)} a run; the last: {[(event['name'], event['dur']) for event in runs[-1]]}")
    spans = [max(event["ts"] + event["dur"] for event in run) - run[0]["ts"] for run in runs[1:-3]]
    typical = min(range(len(spans)), key=lambda number: abs(spans[number] - statistics.median(spans)))
    return {
        "wall_us": statistics.median(walls),
        "span_us": spans[typical],
        "together": _operations(runs[1 + typical]),
        "coalesced": _means(_operations(runs[-3])),
        "alone": _means(_operations(runs[-2])),
        "flushed": _means(_operations(runs[-1])),
        "all_together": _means([operation for run in runs[1:-3] for operation in _operations(run)]),
    }


def _operations(events: list[dict[str, Any]]) -> list[tuple[str, int, float, float]]:
    """Give name, stream, start and duration in microseconds of what ran on the GPU in one run."""
    streams: dict[int, int] = {}
    found = []
    for event in events:
        name = "copy_in" if "HtoD" in event["name"] else "copy_out" if "DtoH" in event["name"] else event["name"].partition("(")[0]
        stream = streams.setdefault(event["args"]["stream"], len(streams) + 1)
        found.append((name, stream, round(event["ts"] - events[0]["ts"], 2), round(event["dur"], 2)))
    return found


def _means(operations: list[tuple[str, int, float, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for name, _, _, _ in operations)
    return {name: round(statistics.mean(us for other, _, _, us in operations if other == name), 2) for name in names}


def main() -> None:
    """Measure everything, check it, and print the record's rows."""
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    if gpu.launching():
        launch()
        return
    machine = Machine()
    for kernel in ("row_filter", "column_filter"):
        machine.verify(kernel)
    chosen = ("--profile-from-start", "off", "--cache-control")
    profiles = {
        "one": under_ncu(*chosen, "none", "--metrics", TIME, extra="--coalesced"),
        "few": under_ncu(*chosen, "none", "--metrics", ",".join(FEW), extra="--coalesced"),
        "flushed": under_ncu(*chosen, "all", "--metrics", ",".join(FEW)),
        "basic": under_ncu(*chosen, "none", "--set", "basic", "--metrics", TIME, extra="--grow"),
        "full": under_ncu(*chosen, "none", "--set", "full", "--metrics", TIME),
    }
    ranged = under_ncu("--cache-control", "none", "--replay-mode", "app-range", "--metrics", TIME, required=False)
    rows = makespans(machine)  # after ncu, which shares its interface to the GPU with torch.profiler
    rows |= explained(rows, profiles, ranged) | defaults()
    for name, row in rows.items():
        gpu.say(f"{name} {row}")
    check(rows)
    print(json.dumps({"rows": rows}))


def makespans(machine: Machine) -> dict[str, dict[str, Any]]:
    """Run the program without ncu: bare, one call at a time, with the faster filter, and under torch.profiler."""
    nothing = (machine.raw[0], machine.scaled[0], machine.np.uint32(0), machine.np.float32(1))
    empty = partial(machine.launch, "scale", 1, 32, nothing, machine.streams[0])
    trips, launches = [], []
    for _ in range(10 * REPEAT):
        begin = time.perf_counter()
        empty()
        launches.append((time.perf_counter() - begin) * 1e6)
        machine.wait()
        trips.append((time.perf_counter() - begin) * 1e6)
    bare = statistics.median(machine.submit() for _ in range(REPEAT))
    apart = statistics.median(machine.submit(before=lambda: None) for _ in range(REPEAT))
    spans = {kernel: machine.makespan_us(kernel) for kernel in ("row_filter", "column_filter")}
    trace = traced(machine)
    gpu.say(f"trace {trace}")
    stages = {name: trace["alone"][name] for name, _, _ in machine.calls()}
    fixed = {name: trace["coalesced"][name] for name, _, _ in machine.calls("column_filter")}
    launch_us = round(statistics.median(launches), 2)
    rows: dict[str, dict[str, Any]] = {
        "two_streams": {"how": "two streams", "stages": stages, "launch_us": launch_us, "measured_makespan_us": round(spans["row_filter"], 1)},
        "one_at_a_time": {
            "how": "the host waits after each call", "stages": stages, "round_trip_us": round(statistics.median(trips), 2),
            "measured_makespan_us": round(apart, 1),
        },
        "fixed": {
            "how": "two streams, column_filter", "stages": fixed, "launch_us": launch_us,
            "measured_makespan_us": round(spans["column_filter"], 1),
        },
        "timeline": {"measured_span_us": round(trace["span_us"], 1), "measured_timeline": trace["together"]},
        "tool_none": {"tool": "none", "metrics": 0, "measured_pipeline_ms": round(bare / 1e3, 3)},
        "tool_timeline": {"tool": "torch.profiler", "metrics": 0, "measured_pipeline_ms": round(trace["wall_us"] / 1e3, 3)},
    }  # fmt: skip
    for kernel in KERNELS:
        rows[f"kernel_{kernel}"] = {
            "kernel": kernel, "bytes": 4 * WORDS, "alone_us": trace["alone"][kernel], "flushed_us": trace["flushed"][kernel],
            "measured_timeline_us": trace["all_together"][kernel],
        }  # fmt: skip
    return {name: row | predict(inputs_of(row)) for name, row in rows.items()}


def explained(rows: dict[str, dict[str, Any]], profiles: dict[str, dict[str, Any]], ranged: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Make the rows that compare what ncu says with what the timeline said."""
    one, few, cold, full = (profiles[name] for name in ("one", "few", "flushed", "full"))
    count = len(KERNELS) * 2
    found: dict[str, dict[str, Any]] = {}
    for kernel in KERNELS:
        places = [place for place in range(count) if few["kernels"][place] == kernel]
        row = dict(rows[f"kernel_{kernel}"])
        for source, key in ((one, ""), (cold, "_flushed")):
            row[f"measured_ncu{key}_us"] = round(statistics.mean(source[TIME][place] for place in places) / 1e3, 2)
        for source, key in ((few, ""), (full, "_full"), (cold, "_flushed")):
            row[f"counted_dram{key}_bytes"] = round(statistics.mean(source[DRAM][place] for place in places))
        found[f"kernel_{kernel}"] = row
    stages = rows["two_streams"]["stages"]
    found["seen"] = {
        "calls": 2 * len(stages), "counted_timeline_operations": len(rows["timeline"]["measured_timeline"]),
        "counted_ncu_launches": len(cold["kernels"]),
    }  # fmt: skip
    found["listed"] = {"how": "ncu: kernels, summed", "stages": stages, "measured_makespan_us": round(sum(one[TIME][:count]) / 1e3, 1)}
    if TIME in ranged:
        submitted = round(statistics.mean(ms for _, ms in ranged["launches"]) * 1e3, 1)
        row = {"how": "ncu --replay-mode app-range", "stages": stages, "launch_us": submitted}
        found["range"] = row | {"measured_makespan_us": round(ranged[TIME][0] / 1e3, 1)}
    for kernel, stride in (("row_filter", 4 * COLUMNS), ("column_filter", 4)):
        place = few["kernels"].index(kernel)
        sectors = few[SECTORS][place] / few[REQUESTS][place]
        found[f"sectors_{kernel}"] = {
            "kernel": kernel, "stride_bytes": stride, "counted_sectors": int(sectors) if sectors.is_integer() else sectors,
            "measured_filter_us": round(one[TIME][place] / 1e3, 2),
        }  # fmt: skip
    place = full["kernels"].index("row_filter")
    cycles, ns = full[CYCLES][place], full[TIME][place]
    found["clock"] = {"counted_cycles": round(cycles), "measured_cycles_us": round(ns / 1e3, 2), "measured_clock_mhz": round(cycles / ns * 1e3, 1)}
    found |= replayed(rows, profiles)
    sizes = {"one": 1, "few": len(FEW), **sets()}
    bare = rows["tool_none"]["measured_pipeline_ms"]
    for name, collected in RUNS.items():
        scales = [ms for kernel, ms in profiles[name]["launches"] if kernel == "scale"]
        found[f"first_{name}"] = {"collected": collected, "measured_first_ms": round(scales[0], 1), "measured_later_ms": round(scales[1], 1)}
        found[f"tool_{name}"] = {
            "tool": f"ncu, {collected}", "metrics": sizes.get(name), "measured_pipeline_ms": round(profiles[name]["pipeline_ms"], 1),
        }  # fmt: skip
    for name in ("none", "timeline", *RUNS):
        row = dict(found.get(f"tool_{name}") or rows[f"tool_{name}"])
        found[f"tool_{name}"] = row | {"measured_times_bare": round(row["measured_pipeline_ms"] / bare, 2)}
    return {name: row | predict(inputs_of(row)) for name, row in found.items()}


def replayed(rows: dict[str, dict[str, Any]], profiles: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Make the rows on passes; costs come from "total" with one metric, few, and the basic set, restoring's from "grow"."""
    seen: dict[tuple[str, str], dict[str, Any]] = {}
    for name in RUNS:
        profile = profiles[name]
        for kernel in ("total", "row_filter", "grow"):
            places = [place for place, other in enumerate(profile["kernels"]) if other == kernel]
            walls = [ms for other, ms in profile["launches"] if other == kernel]
            if places and walls:  # the last launch: the first kernel pays for what is done once
                seen[kernel, name] = {"wall_ms": walls[-1], **{key: profile[key][places[-1]] for key in (PASSES, BACKED_UP, TIME) if key in profile}}
    single, few, basic, big = seen["total", "one"], seen["total", "few"], seen["total", "basic"], seen["grow", "basic"]
    single_ms = single["wall_ms"] - single[TIME] / 1e6
    pass_ms = (basic["wall_ms"] - few["wall_ms"]) / max(basic[PASSES] - few[PASSES], 1)
    save_ms = few["wall_ms"] - few[PASSES] * pass_ms
    written = {"total": 4 * TOTAL_THREADS, "row_filter": 4 * ROWS, "grow": 4 * GROW_WORDS}
    rest_ms = big["wall_ms"] - save_ms - big[PASSES] * (pass_ms + big[TIME] / 1e6)
    restore_gb_s = (big[PASSES] - 1) * written["grow"] / max(rest_ms, 1e-3) / 1e6
    found: dict[str, dict[str, Any]] = {}
    for (kernel, name), one in seen.items():
        own = rows.get(f"kernel_{kernel}")
        kernel_us = own["alone_us"] if own else round(one[TIME] / 1e3, 2)
        found[f"replay_{kernel}_{name}"] = {
            "kernel": kernel, "collected": RUNS[name], "passes": round(one[PASSES]), "kernel_us": kernel_us,
            "written_bytes": written[kernel],
            "single_ms": round(single_ms, 3), "pass_ms": round(pass_ms, 3), "save_ms": round(save_ms, 3), "restore_gb_s": round(restore_gb_s, 1),
            **({"cold_us": own["flushed_us"]} if own else {}),
            "measured_wall_ms": round(one["wall_ms"], 1), "measured_reported_us": round(one[TIME] / 1e3, 2),
            "counted_backed_up_bytes": round(one.get(BACKED_UP, 0)),
        }  # fmt: skip
    low, high = profiles["basic"]["result"]
    row = {"collected": RUNS["basic"], "ran": round(big[PASSES]), "start": GROW_START}
    found["result"] = row | {"counted_result": low if low == high else -1}
    return found


def inputs_of(row: dict[str, Any]) -> dict[str, Any]:
    """Give a row's inputs."""
    return {key: value for key, value in row.items() if not key.startswith(("predicted_", "counted_", "measured_"))}


if __name__ == "__main__":
    main()
