"""Measure when the operations of the model's programs run on a GPU, with its copy engines, streams and default streams.

The program that the model simulates is the list of calls that is made here. Times come from events and from the host's
clock; one more run under torch.profiler records the timelines that the page draws.
"""

import faulthandler
import importlib
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import timeline

import gpu

SOURCE = Path(__file__).with_name("streams.cu")
CHUNKS, WORDS = 3, 2**23  # 32 MiB a chunk
BLOCK = 256  # threads of "work", one block a multiprocessor
WIDE_BLOCK = 1024  # threads of the kernels that fill a half or all of the GPU
KERNEL_MS = 1.0  # of the independent kernels
DEFAULT_CYCLES = 20_000  # 0.01 ms, the kernel in the default stream
REPEAT = 7
POISON = 0xA5
LONGEST = 100  # seconds, then the process ends itself
MULTIPROCESSORS, THREADS_A_MULTIPROCESSOR, COPY_ENGINES = 16, 39, 40  # cudaDeviceAttr

MEMORY = {"memory": ("主机内存", "Host memory")}
MAKESPAN = {
    "predicted_makespan_ms": ("预测 makespan（ms）", "Predicted makespan (ms)"),
    "measured_makespan_ms": ("实测 makespan（ms）", "Measured makespan (ms)"),
}
HOST = {
    "predicted_host_ms": ("预测主机提交（ms）", "Predicted host submit (ms)"),
    "measured_host_ms": ("实测主机提交（ms）", "Measured host submit (ms)"),
}
TABLES = {
    "copies": {
        **MEMORY,
        "direction": ("方向", "Direction"),
        "measured_host_ms": ("调用返回（ms）", "Call returns (ms)"),
        "measured_time_ms": ("拷贝完成（ms）", "Copy done (ms)"),
        "measured_bandwidth_gb_s": ("带宽（GB/s）", "Bandwidth (GB/s)"),
    },
    "programs": {
        "streams": ("流", "Streams"),
        **MEMORY,
        "submitted": ("提交方式", "Submitted"),
        **MAKESPAN,
        **HOST,
    },
    "default": {
        "default": ("小 kernel 所在的流", "Stream of the tiny kernel"),
        "created": ("其余的流", "Other streams"),
        **MAKESPAN,
    },
    "kernels": {
        "blocks": ("block 数", "Blocks"),
        "kernel_share": ("占 GPU", "Share of the GPU"),
        "streams": ("流", "Streams"),
        "launch": ("提交", "Launch"),
        **MAKESPAN,
    },
}

PROGRAMS: dict[str, dict[str, Any]] = {
    "one_stream": {"streams": 1, "memory": "pinned", "submitted": "by chunk"},
    "three_streams": {"streams": 3, "memory": "pinned", "submitted": "by chunk"},
    "graph": {"streams": 3, "memory": "pinned", "submitted": "graph"},
    "pageable": {"streams": 3, "memory": "pageable", "submitted": "by chunk"},
    "pageable_out_last": {"streams": 3, "memory": "pageable", "submitted": "copies out last"},
    "legacy": {"streams": 3, "memory": "pinned", "default": "cudaStreamLegacy", "created": "cudaStreamDefault"},
    "legacy_non_blocking": {"streams": 3, "memory": "pinned", "default": "cudaStreamLegacy", "created": "cudaStreamNonBlocking"},
    "per_thread": {"streams": 3, "memory": "pinned", "default": "cudaStreamPerThread", "created": "cudaStreamDefault"},
}
DRAWN = ("one_stream", "three_streams", "pageable", "pageable_out_last", "legacy")
KERNELS: dict[str, dict[str, Any]] = {
    f"kernels_{blocks}_{streams}_{launch}": {"kernels": 4, "blocks": blocks, "streams": streams, "launch": launch}
    for blocks, streams, launch in (
        ("1", 1, "stream"), ("1", 4, "stream"), ("1", 1, "graph"), ("1", 4, "graph"), ("half", 4, "stream"), ("all", 4, "stream"),
    )
}  # fmt: skip


def program_of(row: dict[str, Any]) -> list[timeline.Operation]:
    """Give the calls of a row, as the model knows them."""
    if "kernels" in row:
        return timeline.kernels(row["kernels"], row["streams"], row["kernel_ms"], row["kernel_share"])
    default = ("legacy" if row["created"] == "cudaStreamDefault" and row["default"] == "cudaStreamLegacy" else "other") if "default" in row else ""
    chunk = timeline.Chunk(row["h2d_ms"], row["kernel_ms"], row["d2h_ms"], row["kernel_share"])
    program = timeline.pipeline(row["chunks"], row["streams"], chunk, pinned=row["memory"] == "pinned", default=default)
    return timeline.copies_out_last(program) if row.get("submitted") == "copies out last" else program


def predict(inputs: dict[str, Any]) -> dict[str, Any]:
    """Give the model's makespan, and the host's time where the calls are made one by one; a single copy predicts nothing."""
    if "direction" in inputs or "copy_engines" in inputs:
        return {}
    program = program_of(inputs)
    graph = "graph" in (inputs.get("submitted"), inputs.get("launch"))  # one call submits it all
    submit_ms = 0.0 if graph else inputs["submit_ms"]
    found = {"predicted_makespan_ms": round(timeline.makespan(program, submit_ms), 3)}
    if "kernels" in inputs:
        return found
    return found | {"predicted_host_ms": round(inputs["submit_ms"] if graph else timeline.simulate(program, submit_ms)[1], 3)}


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name, row in rows.items():
        if "predicted_makespan_ms" in row:
            tolerance = 0.2 if row.get("memory") == "pageable" else 0.1
            assert abs(row["measured_makespan_ms"] / row["predicted_makespan_ms"] - 1) < tolerance, f"{name}: makespan {row}"
        if "measured_host_ms" in row:
            share = row["measured_host_ms"] / (row["measured_makespan_ms"] if "measured_makespan_ms" in row else row["measured_time_ms"])
            assert share > 0.5 if row["memory"] == "pageable" else share < 0.1, f"{name}: the host is held for {share} of the time: {row}"
    one, three, graph, legacy = (rows[name]["measured_makespan_ms"] for name in ("one_stream", "three_streams", "graph", "legacy"))
    assert 1.6 < one / three < 1.9, f"three streams are {one / three} times as fast as one"
    assert abs(graph / three - 1) < 0.05, f"a graph takes {graph} ms, its streams {three}"
    assert abs(legacy / one - 1) < 0.05, f"the legacy default stream: {legacy} ms, one stream {one}"
    for name in ("legacy_non_blocking", "per_thread"):
        assert abs(rows[name]["measured_makespan_ms"] / three - 1) < 0.05, f"{name}: {rows[name]}"
    pinned, pageable = (rows[f"{memory}_H2D"]["measured_bandwidth_gb_s"] for memory in ("pinned", "pageable"))
    assert pinned > 3 * pageable, f"copies in: {pinned} GB/s pinned, {pageable} pageable"
    assert 0.8 < rows["pageable_out_last"]["measured_makespan_ms"] / rows["pageable"]["measured_makespan_ms"] < 1, f"{rows['pageable_out_last']}"
    assert rows["device"]["copy_engines"] == 3, rows["device"]
    for name in DRAWN:
        row = rows[name]
        last = max(start + duration for _, _, start, duration in row["measured_timeline"])
        assert len(row["measured_timeline"]) == len(program_of(row)), f"{name}: {len(row['measured_timeline'])} operations in the timeline"
        tolerance = 0.2 if row["memory"] == "pageable" else 0.1
        assert abs(last / 1000 / row["measured_makespan_ms"] - 1) < tolerance, f"{name}: the timeline ends at {last} us, the makespan is {row}"


class Machine:
    """The GPU with its kernels, buffers and streams; makes the calls of a program."""

    def __init__(self) -> None:
        """Allocate everything once."""
        import cupy  # noqa: PLC0415 - the tests import this module without a GPU
        import numpy as np  # noqa: PLC0415 - comes with CuPy

        self.cupy, self.np = cupy, np
        self.runtime = cupy.cuda.runtime
        self.multiprocessors = int(self.runtime.deviceGetAttribute(MULTIPROCESSORS, 0))
        self.threads = int(self.runtime.deviceGetAttribute(THREADS_A_MULTIPROCESSOR, 0))
        self.kernels = {name: gpu.kernel(SOURCE, name) for name in ("spin", "work", "tiny")}
        self.chunks = [cupy.empty(WORDS, cupy.uint32) for _ in range(CHUNKS)]
        random = np.random.default_rng(7)
        self.host = {}
        for memory in ("pinned", "pageable"):
            arrays = [self._words(memory) for _ in range(2 * CHUNKS)]
            for array in arrays[:CHUNKS]:
                array[:] = random.integers(0, 2**32, WORDS, dtype=np.uint32)
            self.host[memory] = (arrays[:CHUNKS], arrays[CHUNKS:])
        self.blocking = [cupy.cuda.Stream() for _ in range(4)]
        self.non_blocking = [cupy.cuda.Stream(non_blocking=True) for _ in range(4)]
        self.cycles_a_ms = 1.98e6
        spin_ms = self.events_ms(lambda: self.launch("spin", (1,), (32,), (np.int64(20_000_000),), self.blocking[0]), self.blocking[0])
        self.cycles_a_ms = 20_000_000 / spin_ms

    def _words(self, memory: str) -> Any:
        if memory == "pageable":
            array = self.np.empty(WORDS, self.np.uint32)
        else:
            block = self.cupy.cuda.alloc_pinned_memory(4 * WORDS)
            array = self.np.frombuffer(block, self.np.uint32, WORDS)
        array.fill(0)
        return array

    def launch(self, kernel: str, grid: tuple[int], block: tuple[int], arguments: tuple[Any, ...], stream: Any) -> None:
        """Launch one kernel into a stream."""
        with stream:
            self.kernels[kernel](grid, block, arguments)

    def events_ms(self, function: Callable[[], object], stream: Any) -> float:
        """Give the time between an event before and one behind a function's calls, median of several."""
        times = []
        for _ in range(REPEAT):
            before, behind = self.cupy.cuda.Event(), self.cupy.cuda.Event()
            before.record(stream)
            function()
            behind.record(stream)
            behind.synchronize()
            times.append(float(self.cupy.cuda.get_elapsed_time(before, behind)))
        return statistics.median(times)

    def copy(self, memory: str, direction: str, chunk: int, stream: Any) -> None:
        """Make one cudaMemcpyAsync."""
        source, target = self.host[memory]
        if direction == "H2D":
            self.runtime.memcpyAsync(self.chunks[chunk].data.ptr, source[chunk].ctypes.data, 4 * WORDS, self.runtime.memcpyHostToDevice, stream.ptr)
        else:
            self.runtime.memcpyAsync(target[chunk].ctypes.data, self.chunks[chunk].data.ptr, 4 * WORDS, self.runtime.memcpyDeviceToHost, stream.ptr)

    def work(self, chunk: int, cycles: int, stream: Any) -> None:
        """Launch the kernel that adds 1 to a chunk."""
        arguments = (self.chunks[chunk], self.np.uint32(WORDS), self.np.int64(cycles))
        self.launch("work", (self.multiprocessors,), (BLOCK,), arguments, stream)

    def calls(self, row: dict[str, Any]) -> tuple[list[Any], list[Callable[[], None]]]:
        """Give a row's streams, and its calls in order."""
        program = program_of(row)
        streams = (self.non_blocking if row.get("created") == "cudaStreamNonBlocking" else self.blocking)[: row["streams"]]
        default = self.cupy.cuda.Stream.ptds if row.get("default") == "cudaStreamPerThread" else self.cupy.cuda.Stream.null
        made: list[Callable[[], None]] = []
        seen = dict.fromkeys("HKD", 0)
        for operation in program:
            stream = streams[int(operation.stream) - 1] if operation.stream != "0" else default
            if operation.name == "0":
                made.append(partial(self.launch, "tiny", (1,), (32,), (self.np.int64(DEFAULT_CYCLES),), stream))
                continue
            chunk = seen[operation.name]
            seen[operation.name] += 1
            if "kernels" in row:
                grid, block = self.shape(row["blocks"])
                cycles = self.np.int64(KERNEL_MS * self.cycles_a_ms)
                made.append(partial(self.launch, "spin", grid, block, (cycles,), stream))
            elif operation.name == "K":
                made.append(partial(self.work, chunk, row["cycles"], stream))
            else:
                made.append(partial(self.copy, row["memory"], operation.engine, chunk, stream))
        return streams, made

    def shape(self, blocks: str) -> tuple[tuple[int], tuple[int]]:
        """Give the grid and block of an independent kernel: one small block, or a half or all of the GPU's threads."""
        full = self.multiprocessors * self.threads // WIDE_BLOCK
        return {"1": ((1,), (32,)), "half": ((full // 2,), (WIDE_BLOCK,)), "all": ((full,), (WIDE_BLOCK,))}[blocks]

    def forked(self, streams: list[Any], made: list[Callable[[], None]]) -> float:
        """Make calls in streams that fork from the first one and join it again; give the host's milliseconds for the calls alone."""
        for stream in streams[1:]:
            stream.wait_event(streams[0].record(self.cupy.cuda.Event(disable_timing=True)))
        begin = time.perf_counter()
        for call in made:
            call()
        host = time.perf_counter() - begin
        for stream in streams[1:]:
            streams[0].wait_event(stream.record(self.cupy.cuda.Event(disable_timing=True)))
        return host * 1e3

    def twice(self, streams: list[Any], made: list[Callable[[], None]]) -> None:
        """Make the calls, wait, and make them again."""
        self.forked(streams, made)
        self.cupy.cuda.Device().synchronize()
        self.forked(streams, made)

    def measure(self, row: dict[str, Any]) -> dict[str, Any]:
        """Run a row's program several times and give the medians."""
        streams, made = self.calls(row)
        hosts: list[float] = []
        graph = None
        if "graph" in (row.get("submitted"), row.get("launch")):
            streams[0].begin_capture()
            self.forked(streams, made)
            graph = streams[0].end_capture()

        def run() -> None:
            hosts.append(self.forked(streams[:1], [partial(graph.launch, streams[0])]) if graph else self.forked(streams, made))

        run()
        streams[0].synchronize()
        self.poison()
        hosts.clear()
        found = {"measured_makespan_ms": round(self.events_ms(run, streams[0]), 3)}
        if "kernels" not in row:
            found["measured_host_ms"] = round(statistics.median(hosts), 3)
        self.cupy.cuda.Device().synchronize()
        if "kernels" not in row:
            self.verify(row)
        return found

    def poison(self) -> None:
        """Overwrite the results of earlier runs."""
        for _, targets in self.host.values():
            for target in targets:
                target.fill(POISON)
        for chunk in self.chunks:
            chunk.fill(POISON)
        self.cupy.cuda.Device().synchronize()  # a non-blocking stream does not wait for these

    def verify(self, row: dict[str, Any]) -> None:
        """Assert that each chunk came back with 1 added: no call overtook another of its chunk."""
        sources, targets = self.host[row["memory"]]
        for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
            assert bool((target == source + self.np.uint32(1)).all()), f"chunk {number} of {row} came back wrong"

    def traced(self, row: dict[str, Any]) -> list[list[Any]]:
        """Run a row's program under torch.profiler and give each operation: letter, stream, start and duration in microseconds."""
        streams, made = self.calls(row)
        events: list[dict[str, Any]] = profiled(lambda: self.twice(streams, made))[-len(made) :]  # the first calls under the profiler are slow
        first = min(event["ts"] for event in events) if events else 0.0
        order: dict[int, str] = {}
        found = []
        for event in events:
            letter = "0" if "tiny" in event["name"] else "H" if "HtoD" in event["name"] else "D" if "DtoH" in event["name"] else "K"
            stream = "0" if letter == "0" else order.setdefault(event["args"]["stream"], str(len(order) + 1))
            found.append([letter, stream, round(event["ts"] - first, 1), round(event["dur"], 1)])
        return found


def profiled(function: Callable[[], object]) -> list[dict[str, Any]]:
    """Give what torch.profiler saw on the GPU while a function ran: copies and kernels, from its chrome trace."""
    torch: Any = importlib.import_module("torch")
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as profile:
        function()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        trace = json.loads(path.read_text("utf-8"))
    found = [event for event in trace["traceEvents"] if event.get("ph") == "X" and event.get("cat") in {"kernel", "gpu_memcpy"}]
    return sorted(found, key=lambda event: float(event["ts"]))


def main() -> None:
    """Measure everything, check it, and print the record's rows."""
    if gpu.launching():
        return
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    machine = Machine()
    rows: dict[str, dict[str, Any]] = {"device": {"copy_engines": int(machine.runtime.deviceGetAttribute(COPY_ENGINES, 0))}}
    rows |= copies(machine)
    rows |= dict(programs(machine, rows))
    rows |= dict(independent(machine, rows["one_stream"]["submit_ms"]))
    gpu.say("torch.profiler ...")
    torch: Any = importlib.import_module("torch")
    torch.zeros(1, device="cuda")
    machine.traced(rows["one_stream"])  # what runs first under the profiler is slow
    for name in DRAWN:
        rows[name]["measured_timeline"] = machine.traced(rows[name])
        gpu.say(f"{name} {rows[name]}")
    check(rows)
    print(json.dumps({"rows": rows}))


def copies(machine: Machine) -> dict[str, dict[str, Any]]:
    """Copy single chunks in and out, from and to both kinds of memory, in turns, so that the host's caches do not hold them."""
    rows = {}
    stream = machine.blocking[0]
    for memory in ("pinned", "pageable"):
        hosts: dict[str, list[float]] = {"H2D": [], "D2H": []}
        times: dict[str, list[float]] = {"H2D": [], "D2H": []}
        for turn in range((REPEAT + 1) * CHUNKS):
            for direction in ("H2D", "D2H"):
                before, behind = machine.cupy.cuda.Event(), machine.cupy.cuda.Event()
                before.record(stream)
                begin = time.perf_counter()
                machine.copy(memory, direction, turn % CHUNKS, stream)
                hosts[direction].append((time.perf_counter() - begin) * 1e3)
                behind.record(stream)
                behind.synchronize()
                times[direction].append(float(machine.cupy.cuda.get_elapsed_time(before, behind)))
        for direction in hosts:
            taken = statistics.median(times[direction][CHUNKS:])
            rows[f"{memory}_{direction}"] = {
                "memory": memory,
                "direction": direction,
                "bytes": 4 * WORDS,
                "measured_host_ms": round(statistics.median(hosts[direction][CHUNKS:]), 4),
                "measured_time_ms": round(taken, 4),
                "measured_bandwidth_gb_s": round(4 * WORDS / taken / 1e6, 2),
            }
            gpu.say(f"{rows[f'{memory}_{direction}']}")
    return rows


def programs(machine: Machine, rows: dict[str, dict[str, Any]]) -> Iterable[tuple[str, dict[str, Any]]]:
    """Run the copies with work between them; the kernel is made as long as a pinned copy in."""
    stream = machine.blocking[0]
    cycles = round(rows["pinned_H2D"]["measured_time_ms"] * machine.cycles_a_ms)
    kernel_ms = round(machine.events_ms(lambda: machine.work(0, cycles, stream), stream), 4)
    submit_ms = 0.0
    for name, chosen in PROGRAMS.items():
        row: dict[str, Any] = {
            **chosen, "chunks": CHUNKS, "bytes": 4 * WORDS, "cycles": cycles,
            "h2d_ms": rows[f"{chosen['memory']}_H2D"]["measured_time_ms"], "kernel_ms": kernel_ms,
            "d2h_ms": rows[f"{chosen['memory']}_D2H"]["measured_time_ms"],
            "kernel_share": round(BLOCK / machine.threads, 4), "submit_ms": submit_ms,
        }  # fmt: skip
        found = machine.measure(row)
        if not submit_ms:  # the first program, pinned: what one call costs the host
            submit_ms = row["submit_ms"] = round(found["measured_host_ms"] / len(program_of(row)), 4)
        yield name, row | predict(row) | found
        gpu.say(f"{name} {row | predict(row) | found}")


def independent(machine: Machine, submit_ms: float) -> Iterable[tuple[str, dict[str, Any]]]:
    """Run four kernels that do not depend on each other."""
    stream = machine.blocking[0]
    full = machine.multiprocessors * machine.threads
    for name, chosen in KERNELS.items():
        grid, block = machine.shape(chosen["blocks"])
        cycles = machine.np.int64(KERNEL_MS * machine.cycles_a_ms)
        alone = machine.events_ms(partial(machine.launch, "spin", grid, block, (cycles,), stream), stream)
        share = round(grid[0] * block[0] / full, 6)
        row = {**chosen, "blocks": grid[0], "kernel_ms": round(alone, 4), "kernel_share": share, "submit_ms": submit_ms}
        found = machine.measure(row | {"blocks": chosen["blocks"]})
        yield name, row | predict(row) | found
        gpu.say(f"{name} {row | predict(row) | found}")


if __name__ == "__main__":
    main()
