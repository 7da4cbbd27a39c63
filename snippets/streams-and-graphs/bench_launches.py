"""Measure what launching costs on a GPU, into a stream and as a graph; when a graph has paid; what updating one costs; a loop in a graph.

The launches are made by a few lines of C, compiled here, so that the interpreter is not what is measured; one row launches
from Python for comparison. CUDA's driver interface is called by its C symbols. Times are the host's clock and events.
"""

import ctypes
import faulthandler
import importlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import launches

import gpu
import nvrtc

Rows = dict[str, dict[str, Any]]
Part = Callable[["Machine", Rows], Rows]

SOURCE = Path(__file__).with_name("streams.cu")
LONGEST = 100  # seconds, then the process ends itself
KERNELS = 50
LENGTHS_US = (0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)
COUNTS = (10, 200, 500)
SUBMITTED_US = (0.0, 2.0, 100.0)  # lengths whose times of submission stand in the record too
MANY, LONG_US = 400, 30.0  # kernels and length from which the costs are read
REPEAT, WARMUP = 21, 3
GRID, BLOCK = 132, 128
TRACED, TRACED_US = 12, 2.0
ROUNDS = 1000  # of the loop
PAYING = ((KERNELS, 0.0), (10, 0.0), (200, 0.0), (KERNELS, 10.0))  # chains whose graphs have to pay
MOST_REPLAYS = 16
POISON = 0xA5A5A5A5
RELAXED, WHILE, CONDITIONAL_NODE, ASSIGN_DEFAULT = 2, 1, 13, 1  # of cuda.h
TOPOLOGY_CHANGED, UPDATE_FAILED = 2, 910

SUBMIT_C = r"""
#include <stdint.h>
#include <time.h>

typedef int (*kernel_t)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
typedef int (*two_t)(void *, void *);
typedef int (*one_t)(void *);
typedef int (*copy_t)(void *, uint64_t, uint64_t, void *);
typedef int (*set_t)(void *, void *, void *);

typedef struct { void *kernel, *record, *graph, *synchronize, *copy, *set; } driver_t;
typedef struct { void *function; unsigned grid, block; void **arguments; unsigned *slot; unsigned count; } chain_t;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Launches a chain of kernels into a stream; *slot counts them; each: the time before each call and behind the last. */
int launch_chain(driver_t *driver, chain_t *chain, void *stream, int64_t *each) {
    for (unsigned i = 0; i < chain->count; ++i) {
        *chain->slot = i;
        if (each) each[i] = now();
        int error = ((kernel_t)driver->kernel)(chain->function, chain->grid, 1, 1, chain->block, 1, 1, 0, stream, chain->arguments, 0);
        if (error) return error;
    }
    if (each) each[chain->count] = now();
    return 0;
}

/* Launches a chain, or a graph where one is given; times: before, when the calls are made, when the GPU is done. */
int timed(driver_t *driver, chain_t *chain, void *graph, void *stream, void *before, void *behind, int64_t *times, int64_t *each) {
    int error = ((two_t)driver->record)(before, stream);
    times[0] = now();
    if (graph && each) each[0] = times[0];
    error |= graph ? ((two_t)driver->graph)(graph, stream) : launch_chain(driver, chain, stream, each);
    if (graph && each) each[1] = now();
    times[1] = now();
    error |= ((two_t)driver->record)(behind, stream);
    error |= ((one_t)driver->synchronize)(stream);
    times[2] = now();
    return error;
}

/* Launches so many times, and waits for the GPU each time. */
int repeated(driver_t *driver, chain_t *chain, void *graph, void *stream, unsigned runs) {
    int error = 0;
    for (unsigned run = 0; run < runs && !error; ++run) {
        error = graph ? ((two_t)driver->graph)(graph, stream) : launch_chain(driver, chain, stream, 0);
        error |= ((one_t)driver->synchronize)(stream);
    }
    return error;
}

/* Launches, reads a number back and waits, until it is 0. */
int until_zero(driver_t *driver, chain_t *chain, void *graph, void *stream, volatile unsigned *host, uint64_t device, unsigned most) {
    int error = 0;
    *host = 1;
    for (unsigned round = 0; round < most && *host && !error; ++round) {
        error = graph ? ((two_t)driver->graph)(graph, stream) : launch_chain(driver, chain, stream, 0);
        error |= ((copy_t)driver->copy)((void *)host, device, sizeof(unsigned), stream);
        error |= ((one_t)driver->synchronize)(stream);
    }
    return error;
}

/* Sets the parameters of the first nodes of an executable graph; *slot counts them. */
int set_nodes(driver_t *driver, void *graph, void **nodes, unsigned count, void *parameters, unsigned *slot) {
    for (unsigned i = 0; i < count; ++i) {
        *slot = i;
        int error = ((set_t)driver->set)(graph, nodes[i], parameters);
        if (error) return error;
    }
    return 0;
}

/* Raises the flag that a kernel waits for, and waits for its stamp; times: before and behind. */
int meet(volatile unsigned *flag, volatile uint64_t *stamp, int64_t *times) {
    times[0] = now();
    *flag = 1;
    do times[1] = now();
    while (!*stamp && times[1] - times[0] < 100000000);
    return !*stamp;
}
"""

COSTS = ("launch_us", "gap_us", "first_us", "node_us", "node_gap_us", "graph_us")
LENGTH = {"kernels": ("kernel 数", "Kernels"), "kernel_us": ("kernel 长度（µs）", "Kernel length (µs)")}
TABLES = {
    "costs": {
        "measured_launch_us": ("主机：每次启动", "Host: each launch"),
        "measured_node_us": ("主机：每个节点", "Host: each node"),
        "measured_gap_us": ("GPU：流内间隔", "GPU: gap in a stream"),
        "measured_node_gap_us": ("GPU：图内间隔", "GPU: gap in a graph"),
        "measured_first_us": ("一个空 kernel，流", "One empty kernel, stream"),
        "measured_graph_us": ("一个空 kernel，图", "One empty kernel, graph"),
    },
    "sweep": {
        **LENGTH,
        "predicted_stream_us": ("预测：流（µs）", "Predicted: stream (µs)"),
        "measured_stream_us": ("实测：流（µs）", "Measured: stream (µs)"),
        "predicted_graph_us": ("预测：图（µs）", "Predicted: graph (µs)"),
        "measured_graph_us": ("实测：图（µs）", "Measured: graph (µs)"),
        "predicted_speed_up": ("预测加速", "Predicted speed-up"),
        "measured_speed_up": ("实测加速", "Measured speed-up"),
    },
    "submit": {
        **LENGTH,
        "measured_stream_submit_us": ("提交：流（µs）", "Submit: stream (µs)"),
        "measured_graph_submit_us": ("提交：图（µs）", "Submit: graph (µs)"),
        "measured_stream_gpu_us": ("GPU 时间：流（µs）", "GPU time: stream (µs)"),
        "measured_graph_gpu_us": ("GPU 时间：图（µs）", "GPU time: graph (µs)"),
    },
    "pay": {
        **LENGTH,
        "build": ("构建", "Build"),
        "measured_capture_us": ("捕获（µs）", "Capture (µs)"),
        "measured_instantiate_us": ("实例化（µs）", "Instantiate (µs)"),
        "measured_first_submit_us": ("首次提交（µs）", "First submit (µs)"),
        "predicted_replays": ("预测回本次数", "Predicted replays to pay"),
        "measured_replays": ("实测回本次数", "Measured replays to pay"),
    },
    "python": {
        "launcher": ("谁在启动", "Launched from"),
        "measured_submit_us": ("主机：每次启动（µs）", "Host: each launch (µs)"),
        "predicted_stream_us": ("预测：流（µs）", "Predicted: stream (µs)"),
        "measured_stream_us": ("实测：流（µs）", "Measured: stream (µs)"),
        "measured_replay_us": ("实测：图（µs）", "Measured: graph (µs)"),
        "measured_gain": ("实测加速", "Measured speed-up"),
        "predicted_break_even_us": ("预测：主机受限到（µs）", "Predicted: host-bound up to (µs)"),
        "measured_break_even_us": ("实测：主机受限到（µs）", "Measured: host-bound up to (µs)"),
    },
    "update": {
        "way": ("做法", "Way"),
        "changed": ("改动的节点", "Nodes changed"),
        "predicted_update_error": ("预测错误码", "Predicted error"),
        "counted_update_error": ("实测错误码", "Counted error"),
        "measured_update_us": ("用时（µs）", "Takes (µs)"),
        "measured_next_submit_us": ("随后一次提交（µs）", "Next submit (µs)"),
    },
    "loop": {
        "loop": ("循环在哪里", "Where the loop is"),
        "predicted_rounds": ("预测轮数", "Predicted rounds"),
        "counted_rounds": ("实测轮数", "Counted rounds"),
        "measured_round_us": ("每轮（µs）", "Each round (µs)"),
    },
    "stale": {
        "change": ("捕获之后改了什么", "Changed after capture"),
        "captured": ("捕获时", "At capture"),
        "later": ("回放前", "Before the replay"),
        "predicted_seen": ("预测回放写出", "Replay writes: predicted"),
        "counted_seen": ("实测回放写出", "Replay writes: counted"),
    },
}


def predict(inputs: dict[str, Any]) -> dict[str, Any]:  # noqa: PLR0911 - a kind of row each
    """Predict a row from its inputs, by the model."""
    if "rounds" in inputs:
        return {"predicted_rounds": inputs["rounds"]}
    if "change" in inputs:  # a node holds the values of its arguments at the time of capture
        return {"predicted_seen": inputs["captured"]}
    if "way" in inputs:
        return {"predicted_update_error": launches.update_error(inputs["nodes"], inputs["new_nodes"])}
    if "launch_us" not in inputs:
        return {}
    costs = launches.Costs(*(inputs[key] for key in COSTS))
    kernels, kernel_us = inputs["kernels"], inputs["kernel_us"]
    if "traced" in inputs:
        step = max(costs.launch_us, kernel_us + costs.gap_us) if inputs["traced"] == "stream" else max(costs.node_us, kernel_us + costs.node_gap_us)
        return {"predicted_span_us": round(kernel_us + (kernels - 1) * step, 1)}
    stream, graph = launches.stream_us(kernels, kernel_us, costs), launches.graph_us(kernels, kernel_us, costs)
    if "build_us" in inputs:
        return {"predicted_replays": launches.replays_to_pay(inputs["build_us"], stream, graph) or 0}
    if "launcher" in inputs:
        return {"predicted_stream_us": round(stream, 1), "predicted_break_even_us": round(launches.host_bound_below_us(costs), 2)}
    return {"predicted_stream_us": round(stream, 1), "predicted_graph_us": round(graph, 1), "predicted_speed_up": round(stream / graph, 3)}


def check(rows: Rows) -> None:
    """Assert that predictions come true, and what the page says of the times."""
    for name, row in rows.items():
        for what in ("stream_us", "graph_us", "speed_up", "span_us"):
            if f"predicted_{what}" in row:
                assert abs(row[f"measured_{what}"] / row[f"predicted_{what}"] - 1) < 0.2, f"{name}: {what} predicted {row}"
        if "predicted_break_even_us" in row:
            assert abs(row["measured_break_even_us"] - row["predicted_break_even_us"]) < 1.0, f"{name}: {row}"
        if "predicted_replays" in row:
            assert abs(row["measured_replays"] - row["predicted_replays"]) <= max(2, 0.3 * row["predicted_replays"]), f"{name}: {row}"
        for what in ("update_error", "rounds", "seen"):
            if f"predicted_{what}" in row:
                assert row[f"predicted_{what}"] == row[f"counted_{what}"], f"{name}: {row}"
    check_times(rows)


def check_times(rows: Rows) -> None:
    """Assert what the page says of times that no model predicts, and how close those are that the model does."""
    empty, short, long = (rows[f"n{KERNELS}_{length}us"] for length in ("0", "2", "100"))
    assert empty["measured_speed_up"] > 3, f"a graph of empty kernels: {empty}"
    assert short["measured_speed_up"] > 1.2, f"a graph of short kernels: {short}"
    assert 0.99 < long["measured_speed_up"] < 1.02, f"a graph of long kernels: {long}"
    for name, row in rows.items():
        if "measured_stream_submit_us" in row and row["kernels"] >= KERNELS:
            assert row["measured_graph_submit_us"] < 0.1 * row["measured_stream_submit_us"], f"{name}: submitting {row}"
        if "measured_speed_up" in row and row["kernel_us"] >= 5:
            for what in ("stream_us", "graph_us"):
                assert abs(row[f"measured_{what}"] / row[f"predicted_{what}"] - 1) < 0.03, f"{name}: {what} {row}"
    costs_row = rows["costs"]
    assert costs_row["measured_node_gap_us"] < 0.5 * costs_row["measured_gap_us"], f"gaps: {costs_row}"
    assert costs_row["measured_node_us"] < 0.03, f"a node: {costs_row}"
    first, again = rows["pay_first"], rows[f"pay_{KERNELS}_0us"]
    assert first["build_us"] > 3 * again["build_us"], f"the first graph: {first}, a later one: {again}"
    assert all(row["measured_replays"] <= 6 for row in rows.values() if row.get("build") == "again"), "a graph built again pays late"
    assert rows["python"]["measured_gain"] > rows["c"]["measured_gain"], f"from Python: {rows['python']}, from C {rows['c']}"
    taken = [rows[f"update_{way}"]["measured_update_us"] for way in ("one", "all", "whole", "rebuild")]
    assert taken == sorted(taken), f"updates: {taken}"
    assert taken[0] < 0.1 * taken[3], f"updates: {taken}"
    assert rows["update_rebuild"]["measured_next_submit_us"] > 4 * rows["update_whole"]["measured_next_submit_us"], f"{rows['update_rebuild']}"
    assert 0.2 < rows["while"]["measured_round_us"] / rows["host_stream"]["measured_round_us"] < 0.5, f"{rows['while']} {rows['host_stream']}"
    assert rows["host_graph"]["measured_round_us"] < rows["host_stream"]["measured_round_us"], f"{rows['host_graph']}"
    idle = {name: gaps(rows[f"trace_{name}"]["measured_kernels"]) for name in ("stream", "graph")}
    assert max(idle["graph"]) < min(idle["stream"]), f"idle between kernels: {idle}"


def gaps(kernels: list[list[float]]) -> list[float]:
    """Give the idle times between kernels."""
    return [begin - end for (_, end), (begin, _) in pairwise(kernels)]


class Pointers(ctypes.Structure):
    """The driver's functions that the C code calls."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("kernel", "record", "graph", "synchronize", "copy", "set")]


class Chain(ctypes.Structure):
    """A kernel, launched so many times."""

    _fields_ = [
        ("function", ctypes.c_void_p),
        ("grid", ctypes.c_uint),
        ("block", ctypes.c_uint),
        ("arguments", ctypes.c_void_p),
        ("slot", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    ]


class NodeParameters(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2 of cuda.h."""

    _fields_ = [
        ("func", ctypes.c_void_p),
        *((f"{what}{axis}", ctypes.c_uint) for what in ("grid", "block") for axis in "xyz"),
        ("shared", ctypes.c_uint),
        ("parameters", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
        ("kern", ctypes.c_void_p),
        ("ctx", ctypes.c_void_p),
    ]


class ConditionalNode(ctypes.Structure):
    """CUgraphNodeParams of cuda.h with the parameters of a conditional node: 256 bytes."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("reserved0", ctypes.c_int * 3),
        ("handle", ctypes.c_uint64),
        ("kind", ctypes.c_int),
        ("size", ctypes.c_uint),
        ("graphs", ctypes.POINTER(ctypes.c_void_p)),
        ("context", ctypes.c_void_p),
        ("padding", ctypes.c_byte * (232 - 32)),
        ("reserved2", ctypes.c_longlong),
    ]


class Made:
    """A chain of one kernel, with the memory that its arguments lie in."""

    def __init__(self, function: int, arguments: list[Any], count: int, grid: int = 1, block: int = 1) -> None:
        """Keep the arguments, each a ctypes number; a None stands for the launch's own number."""
        self.slot = ctypes.c_uint()
        self.values = [self.slot if argument is None else argument for argument in arguments]
        self.array = (ctypes.c_void_p * len(self.values))(*[ctypes.addressof(value) for value in self.values])
        self.chain = Chain(function, grid, block, ctypes.addressof(self.array), ctypes.addressof(self.slot), count)


class Machine:
    """The driver, the C code, the kernels and a stream."""

    def __init__(self) -> None:
        """Start CUDA by CuPy and look up what is called by address."""
        import cupy  # noqa: PLC0415 - the tests import this module without a GPU

        self.cupy = cupy
        self.scratch = cupy.zeros(4096, cupy.uint64)
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.c = compiled()
        names = (
            "cuLaunchKernel",
            "cuEventRecord",
            "cuGraphLaunch",
            "cuStreamSynchronize",
            "cuMemcpyDtoHAsync_v2",
            "cuGraphExecKernelNodeSetParams_v2",
        )
        self.pointers = Pointers(*[ctypes.cast(getattr(self.driver, name), ctypes.c_void_p).value for name in names])
        self.kept = {name: gpu.kernel(SOURCE, name) for name in ("spin", "stamped", "meet", "ticks", "store", "step")}
        self.functions = {name: int(kernel.kernel.ptr) for name, kernel in self.kept.items()}
        self.stream_object = cupy.cuda.Stream(non_blocking=True)
        self.stream = ctypes.c_void_p(self.stream_object.ptr)
        self.events = [ctypes.c_void_p() for _ in range(2)]
        for event in self.events:
            self.must("cuEventCreate", ctypes.byref(event), 0)
        self.timings: dict[tuple[int, float], tuple[dict[str, float], dict[str, float]]] = {}
        self.cycles_a_us = 1980.0
        self.run(self.spinning(1, 1000.0))  # the first launch is slow
        self.cycles_a_us = 10_000 * self.cycles_a_us / self.run(self.spinning(1, 10_000.0))["gpu_us"]
        begin = time.perf_counter()
        graph = self.capture(self.spinning(KERNELS, 0.0))
        captured = time.perf_counter()
        instance = self.instantiate(graph)
        built = time.perf_counter()
        submit_us = self.run(self.spinning(KERNELS, 0.0), instance)["submit_us"]
        self.first_build_us = ((captured - begin) * 1e6, (built - captured) * 1e6, submit_us)

    def must(self, function: str, *arguments: Any) -> None:
        """Call a function of the driver that has to succeed."""
        error = int(getattr(self.driver, function)(*arguments))
        assert not error, f"{function} gives {error}"

    def in_c(self, function: str, *arguments: Any) -> None:
        """Call a function of the C code, which has to succeed."""
        error = int(getattr(self.c, function)(*arguments))
        assert not error, f"{function} gives {error}"

    def spinning(self, count: int, length_us: float) -> Made:
        """Give a chain of kernels of this length."""
        return Made(self.functions["spin"], [ctypes.c_longlong(round(length_us * self.cycles_a_us))], count, GRID, BLOCK)

    def capture(self, made: Made) -> ctypes.c_void_p:
        """Capture a chain into a graph."""
        graph = ctypes.c_void_p()
        self.must("cuStreamBeginCapture_v2", self.stream, RELAXED)
        self.in_c("launch_chain", ctypes.byref(self.pointers), ctypes.byref(made.chain), self.stream, None)
        self.must("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        return graph

    def instantiate(self, graph: ctypes.c_void_p) -> ctypes.c_void_p:
        """Make an executable graph."""
        instance = ctypes.c_void_p()
        self.must("cuGraphInstantiateWithFlags", ctypes.byref(instance), graph, ctypes.c_ulonglong(0))
        return instance

    def run(self, made: Made, graph: ctypes.c_void_p | None = None, each: Any = None) -> dict[str, float]:
        """Launch a chain or a graph once: microseconds of the host's calls, of the GPU, and until the GPU is done."""
        times = (ctypes.c_int64 * 3)()
        self.in_c("timed", ctypes.byref(self.pointers), ctypes.byref(made.chain), graph, self.stream, *self.events, times, each)
        elapsed = ctypes.c_float()
        self.must("cuEventElapsedTime", ctypes.byref(elapsed), *self.events)
        return {"submit_us": (times[1] - times[0]) / 1e3, "gpu_us": elapsed.value * 1e3, "makespan_us": (times[2] - times[0]) / 1e3}

    def in_turns(self, chains: list[tuple[int, float]]) -> dict[tuple[int, float], tuple[dict[str, float], dict[str, float]]]:
        """Time chains of a number and a length, into the stream and as graphs, all in turns, so that a drift meets all; give the medians."""
        prepared = {chain: self.spinning(*chain) for chain in chains}
        instances = {chain: self.instantiate(self.capture(made)) for chain, made in prepared.items()}
        runs: dict[tuple[int, float], tuple[list[dict[str, float]], list[dict[str, float]]]] = {chain: ([], []) for chain in chains}
        for _ in range(REPEAT):
            for chain, made in prepared.items():
                for kept, instance in zip(runs[chain], (None, instances[chain]), strict=True):
                    for _ in range(WARMUP):  # the host's first calls after a wait are slow
                        self.run(made, instance)
                    kept.append(self.run(made, instance))
        return {chain: (medians(stream), medians(graph)) for chain, (stream, graph) in runs.items()}

    def repeat_us(self, made: Made, graph: ctypes.c_void_p | None, runs: int) -> float:
        """Give the microseconds of so many launches, each waited for."""
        begin = time.perf_counter()
        self.in_c("repeated", ctypes.byref(self.pointers), ctypes.byref(made.chain), graph, self.stream, runs)
        return (time.perf_counter() - begin) * 1e6


def medians(runs: list[dict[str, float]]) -> dict[str, float]:
    """Give the median of each time."""
    return {key: round(statistics.median(run[key] for run in runs), 2) for key in runs[0]}


def compiled() -> Any:
    """Compile the C code and load it.

    Raises SystemExit where there is no C compiler.
    """
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if not compiler:
        raise SystemExit("no C compiler: this bench needs cc, gcc or clang")
    folder = tempfile.mkdtemp()
    source, library = Path(folder) / "submit.c", Path(folder) / "submit.so"
    source.write_text(SUBMIT_C)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True, stdout=sys.stderr)
    return ctypes.CDLL(str(library))


def main() -> None:
    """Measure everything, check it, and print the record's rows."""
    if gpu.launching():
        return
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    machine = Machine()
    rows: Rows = {}
    parts: list[Part] = [costs, sweep, pay, from_python, traces, updates, stale, loops]
    failed = []
    for part in parts:
        try:
            found = part(machine, rows)
        except Exception as error:  # noqa: BLE001 - one run has to tell all; the failure follows below
            failed.append(f"{part.__name__}: {error!r}")
            gpu.say(failed[-1])
            continue
        for name, row in found.items():
            inputs = {key: value for key, value in row.items() if not key.startswith(("measured_", "counted_"))}
            rows[name] = inputs | predict(inputs) | row
            gpu.say(f"{name} {rows[name]}")
    assert not failed, failed
    check(rows)
    host = {
        "zh": "主机是一台虚拟机，各主机的启动开销不同",
        "en": "The host is a virtual machine, and launch costs differ from host to host",
    }
    print(json.dumps({"rows": rows, "conditions": {"host": host}}))


def costs(machine: Machine, _rows: Rows) -> Rows:
    """Time all chains in turns; read the model's costs off many empty kernels, many long ones, and a single empty one."""
    chains = [(KERNELS, length_us) for length_us in LENGTHS_US] + [(count, 2.0) for count in COUNTS]
    wanted = list(dict.fromkeys([(1, 0.0), (MANY, 0.0), (MANY, LONG_US), *chains, *PAYING]))
    machine.timings = machine.in_turns(wanted)
    one_stream, one_graph = machine.timings[1, 0.0]
    many_stream, many_graph = machine.timings[MANY, 0.0]
    long_stream, long_graph = machine.timings[MANY, LONG_US]
    found = {
        "launch_us": many_stream["submit_us"] / MANY,
        "gap_us": long_stream["gpu_us"] / MANY - LONG_US,
        "first_us": one_stream["makespan_us"],
        "node_us": max(0.0, (many_graph["submit_us"] - one_graph["submit_us"]) / (MANY - 1)),
        "node_gap_us": long_graph["gpu_us"] / MANY - LONG_US,
        "graph_us": one_graph["makespan_us"],
    }
    ticks = machine.cupy.zeros(64, machine.cupy.uint64)
    machine.kept["ticks"]((1,), (1,), (ticks, machine.cupy.uint32(64)))
    return {
        "costs": {
            "many": MANY, "long_us": LONG_US,
            **{f"measured_{key}": round(value, 3) for key, value in found.items()},
            "measured_clock_mhz": round(machine.cycles_a_us, 1), "measured_globaltimer_step_ns": int(ticks[1:].min()),
        }
    }  # fmt: skip


def inputs_of(rows: Rows, kernels: int, kernel_us: float) -> dict[str, Any]:
    """Give the model's inputs: the costs as measured, and a chain."""
    return {"kernels": kernels, "kernel_us": kernel_us} | {key: rows["costs"][f"measured_{key}"] for key in COSTS}


def sweep(machine: Machine, rows: Rows) -> Rows:
    """Time chains over the length of a kernel and over their number."""
    found = {}
    for count, length_us in [(KERNELS, length_us) for length_us in LENGTHS_US] + [(count, 2.0) for count in COUNTS]:
        stream, graph = machine.timings[count, length_us]
        found[f"n{count}_{length_us:g}us"] = inputs_of(rows, count, length_us) | {
            "measured_stream_us": stream["makespan_us"],
            "measured_graph_us": graph["makespan_us"],
            "measured_speed_up": round(stream["makespan_us"] / graph["makespan_us"], 3),
        }
        if length_us in SUBMITTED_US:
            found[f"n{count}_{length_us:g}us"] |= {
                "measured_stream_submit_us": stream["submit_us"],
                "measured_graph_submit_us": graph["submit_us"],
                "measured_stream_gpu_us": stream["gpu_us"],
                "measured_graph_gpu_us": graph["gpu_us"],
            }
    return found


def pay(machine: Machine, rows: Rows) -> Rows:
    """Find the number of replays after which building a graph and replaying it took less than launching into the stream."""
    found = {}
    for count, length_us in PAYING:
        made = machine.spinning(count, length_us)
        turns = range(1, MOST_REPLAYS + 1)
        stream_us = {runs: statistics.median(machine.repeat_us(made, None, runs) for _ in range(5)) for runs in turns}
        builds = [built(machine, made, runs) for runs in turns for _ in range(5)]
        usual = tuple(statistics.median(build[part] for build in builds) for part in range(3))
        usual_submit_us = machine.timings[count, length_us][1]["submit_us"]
        wholes = {runs: statistics.median(sum(build) for build in builds[5 * runs - 5 : 5 * runs]) for runs in turns}
        ways = {f"pay_{count}_{length_us:g}us": ("again", usual, wholes)}
        if (count, length_us) == PAYING[0]:
            # Built once, so its replays are those of the later ones.
            more_us = sum(machine.first_build_us) - sum(usual)
            ways = {"pay_first": ("first in the process", machine.first_build_us, {runs: whole + more_us for runs, whole in wholes.items()})} | ways
        for name, (build, (capture_us, instantiate_us, submit_us), graph_us) in ways.items():
            paid = [runs for runs in turns if graph_us[runs] <= stream_us[runs]]
            found[name] = inputs_of(rows, count, length_us) | {
                "build": build,
                "build_us": round(capture_us + instantiate_us + submit_us - usual_submit_us, 1),
                "measured_capture_us": round(capture_us, 1),
                "measured_instantiate_us": round(instantiate_us, 1),
                "measured_first_submit_us": round(submit_us, 1),
                "measured_replays": min(paid, default=0),
            }
    return found


def built(machine: Machine, made: Made, runs: int) -> tuple[float, float, float, float]:
    """Build a graph and launch it so many times: microseconds of capture, instantiation, the first submit, and all the rest."""
    begin = time.perf_counter()
    graph = machine.capture(made)
    captured = time.perf_counter()
    instance = machine.instantiate(graph)
    done = time.perf_counter()
    first = machine.run(made, instance)
    rest_us = first["makespan_us"] - first["submit_us"] + (machine.repeat_us(made, instance, runs - 1) if runs > 1 else 0.0)
    machine.must("cuGraphExecDestroy", instance)
    machine.must("cuGraphDestroy", graph)
    return (captured - begin) * 1e6, (done - captured) * 1e6, first["submit_us"], rest_us


def from_python(machine: Machine, rows: Rows) -> Rows:
    """Launch the same chain by CuPy, kernel after kernel, and as the same graph."""
    kernel, cycles = machine.kept["spin"], machine.cupy.int64(round(2.0 * machine.cycles_a_us))

    def once(count: int, arguments: tuple[Any]) -> tuple[float, float]:
        with machine.stream_object:
            begin = time.perf_counter()
            for _ in range(count):
                kernel((GRID,), (BLOCK,), arguments)
            made = time.perf_counter()
            machine.stream_object.synchronize()
            return (made - begin) * 1e6, (time.perf_counter() - begin) * 1e6

    for _ in range(WARMUP):
        once(MANY, (machine.cupy.int64(0),))
    submit = statistics.median(once(MANY, (machine.cupy.int64(0),))[0] / MANY for _ in range(REPEAT))
    first = statistics.median(once(1, (machine.cupy.int64(0),))[1] for _ in range(REPEAT))
    stream = statistics.median(once(KERNELS, (cycles,))[1] for _ in range(REPEAT))
    lengths = {us: machine.cupy.int64(round(us * machine.cycles_a_us)) for us in (0.0, 20.0, 50.0)}
    by_length = {us: statistics.median(once(KERNELS, (value,))[1] for _ in range(REPEAT)) for us, value in lengths.items()}
    instance = machine.instantiate(machine.capture(machine.spinning(KERNELS, 2.0)))
    replays = []
    for _ in range(REPEAT):
        begin = time.perf_counter()
        machine.must("cuGraphLaunch", instance, machine.stream)
        machine.stream_object.synchronize()
        replays.append((time.perf_counter() - begin) * 1e6)
    replay, same = statistics.median(replays), rows["n50_2us"]
    return {
        "c": inputs_of(rows, KERNELS, 2.0)
        | {
            "launcher": "C",
            "measured_submit_us": rows["costs"]["measured_launch_us"],
            "measured_stream_us": same["measured_stream_us"],
            "measured_replay_us": same["measured_graph_us"],
            "measured_gain": same["measured_speed_up"],
            "measured_break_even_us": crossing_us({us: rows[f"n{KERNELS}_{us:g}us"]["measured_stream_us"] for us in lengths}),
        },
        "python": inputs_of(rows, KERNELS, 2.0)
        | {
            "launcher": "Python (CuPy)",
            "launch_us": round(submit, 3),
            "first_us": round(first, 2),
            "measured_submit_us": round(submit, 3),
            "measured_stream_us": round(stream, 2),
            "measured_replay_us": round(replay, 2),
            "measured_gain": round(stream / replay, 3),
            "measured_break_even_us": crossing_us(by_length),
        },
    }


def crossing_us(by_length: dict[float, float]) -> float:
    """Give the length of a kernel where the time of empty kernels meets the line through those of 20 and of 50 microseconds."""
    slope = (by_length[50.0] - by_length[20.0]) / 30
    return round((by_length[0.0] - by_length[20.0]) / slope + 20, 2)


def traces(machine: Machine, rows: Rows) -> Rows:
    """Record when the host makes its calls and when kernels begin and end, on one clock."""
    stamps = machine.cupy.zeros(2 * TRACED, machine.cupy.uint64)
    cycles = ctypes.c_longlong(round(TRACED_US * machine.cycles_a_us))
    made = Made(machine.functions["stamped"], [ctypes.c_void_p(stamps.data.ptr), cycles, None], TRACED)
    instance = machine.instantiate(machine.capture(made))
    found = {}
    for name, graph in (("stream", None), ("graph", instance)):
        runs = []
        for _ in range(REPEAT):
            for _ in range(WARMUP):
                machine.run(made, graph)
            each = (ctypes.c_int64 * (TRACED + 1))()
            machine.run(made, graph, each)
            offset, error = met(machine)
            times = [(int(stamp) - offset - each[0]) / 1e3 for stamp in stamps.get()]
            calls = [(call - each[0]) / 1e3 for call in each[: 2 if graph else TRACED + 1]]
            runs.append((times[-1] - times[0], calls, times, error))
        span, calls, times, error = sorted(runs)[REPEAT // 2]
        found[f"trace_{name}"] = inputs_of(rows, TRACED, TRACED_US) | {
            "traced": name,
            "measured_span_us": round(span, 2),
            "measured_clocks_within_us": round(error / 1e3, 2),
            "measured_calls": [round(call, 2) for call in calls],
            "measured_kernels": [[round(begin, 2), round(end, 2)] for begin, end in zip(times[::2], times[1::2], strict=True)],
        }
    return found


def met(machine: Machine) -> tuple[int, int]:
    """Give the GPU's clock minus the host's, and how far it may be off, in nanoseconds: the best of a few tries."""
    import numpy as np  # noqa: PLC0415 - comes with CuPy

    tries = []
    for _ in range(5):
        memory = machine.cupy.cuda.alloc_pinned_memory(16)
        words = np.frombuffer(memory, np.uint64, 2)
        words[:] = 0
        flag, stamp = ctypes.c_void_p(memory.ptr), ctypes.c_void_p(memory.ptr + 8)
        made = Made(machine.functions["meet"], [flag, stamp, ctypes.c_longlong(100_000_000)], 1)
        machine.in_c("launch_chain", ctypes.byref(machine.pointers), ctypes.byref(made.chain), machine.stream, None)
        time.sleep(0.0005)  # the kernel is waiting by now
        times = (ctypes.c_int64 * 2)()
        machine.in_c("meet", flag, stamp, times)
        machine.must("cuStreamSynchronize", machine.stream)
        tries.append(((times[1] - times[0]) // 2, int(words[1]) - (times[0] + times[1]) // 2))
    error, offset = min(tries)
    return offset, error


def updates(machine: Machine, _rows: Rows) -> Rows:
    """Change what a graph's kernels write, in every way that there is, and see that it writes that."""
    out = machine.cupy.zeros(KERNELS + 1, machine.cupy.uint32)
    value = ctypes.c_uint(1)
    made = Made(machine.functions["store"], [ctypes.c_void_p(out.data.ptr), value, None], KERNELS)
    longer = Made(machine.functions["store"], [ctypes.c_void_p(out.data.ptr), value, None], KERNELS + 1)
    graph = machine.capture(made)
    state = {"instance": machine.instantiate(graph)}
    nodes = nodes_of(machine, graph)
    machine.run(made, state["instance"])

    def rebuild() -> int:
        machine.must("cuGraphExecDestroy", state["instance"])
        new = machine.capture(made)
        state["instance"] = machine.instantiate(new)
        machine.must("cuGraphDestroy", new)
        return 0

    def update(new_made: Made) -> int:
        new, result = machine.capture(new_made), (ctypes.c_uint64 * 3)()
        error = int(machine.driver.cuGraphExecUpdate_v2(state["instance"], new, result))
        machine.must("cuGraphDestroy", new)
        assert error == 0 or (error == UPDATE_FAILED and result[0] & 0xFFFFFFFF == TOPOLOGY_CHANGED), (
            f"cuGraphExecUpdate gives {error}, {list(result)}"
        )
        return error

    def set_parameters(count: int) -> int:
        parameters = NodeParameters(made.chain.function, 1, 1, 1, 1, 1, 1, 0, made.chain.arguments, None, None, None)
        slot = ctypes.c_void_p(made.chain.slot)
        machine.in_c("set_nodes", ctypes.byref(machine.pointers), state["instance"], nodes, count, ctypes.byref(parameters), slot)
        return 0

    ways: dict[str, tuple[str, int, Callable[[], int], int]] = {
        "update_whole": ("capture + cuGraphExecUpdate", KERNELS, lambda: update(made), KERNELS),
        "update_all": ("cuGraphExecKernelNodeSetParams", KERNELS, lambda: set_parameters(KERNELS), KERNELS),
        "update_one": ("cuGraphExecKernelNodeSetParams", 1, lambda: set_parameters(1), KERNELS),
        "update_longer": ("capture + cuGraphExecUpdate", 0, lambda: update(longer), KERNELS + 1),
        "update_rebuild": ("capture + instantiate", KERNELS, rebuild, KERNELS),  # last: the others need the graph of these nodes
    }
    found = {}
    for name, (way, changed, change, new_nodes) in ways.items():
        taken, next_submits, error = [], [], 0
        for _ in range(REPEAT):
            before = out.get()[:KERNELS].tolist()
            value.value += 1
            begin = time.perf_counter()
            error = change()
            taken.append((time.perf_counter() - begin) * 1e6)
            out.fill(POISON)
            machine.cupy.cuda.Device().synchronize()
            next_submits.append(machine.run(made, state["instance"])["submit_us"])
            seen, wanted = out.get()[:KERNELS].tolist(), [value.value] * changed + before[changed:]
            assert seen == wanted, f"{name}: the graph wrote {seen[:4]}, not {wanted[:4]}"
        found[name] = {
            "way": way, "changed": changed, "nodes": KERNELS, "new_nodes": new_nodes, "counted_update_error": error,
            "measured_update_us": round(statistics.median(taken), 2), "measured_next_submit_us": round(statistics.median(next_submits), 2),
        }  # fmt: skip
    return found


def nodes_of(machine: Machine, graph: ctypes.c_void_p) -> Any:
    """Give a graph's kernel nodes in the order of the number that each one stores at."""
    count = ctypes.c_size_t()
    machine.must("cuGraphGetNodes", graph, None, ctypes.byref(count))
    nodes = (ctypes.c_void_p * count.value)()
    machine.must("cuGraphGetNodes", graph, nodes, ctypes.byref(count))
    placed: dict[int, int] = {}
    for node in nodes:
        parameters = NodeParameters()
        machine.must("cuGraphKernelNodeGetParams_v2", ctypes.c_void_p(node), ctypes.byref(parameters))
        arguments = ctypes.cast(parameters.parameters, ctypes.POINTER(ctypes.c_void_p))
        placed[ctypes.cast(arguments[2], ctypes.POINTER(ctypes.c_uint))[0]] = node or 0
    return (ctypes.c_void_p * count.value)(*[placed[index] for index in range(count.value)])


def stale(machine: Machine, _rows: Rows) -> Rows:
    """Change an argument and a buffer after a capture, and see what the replay writes."""
    first, second = (machine.cupy.zeros(1, machine.cupy.uint32) for _ in range(2))
    value, place = ctypes.c_uint(1), ctypes.c_void_p(first.data.ptr)
    made = Made(machine.functions["store"], [place, value, None], 1)
    instance = machine.instantiate(machine.capture(made))
    value.value = 2
    machine.run(made, instance)
    seen = int(first[0])
    first.fill(POISON)
    place.value = second.data.ptr
    machine.cupy.cuda.Device().synchronize()
    machine.run(made, instance)
    buffer = 1 if int(first[0]) == 1 and int(second[0]) == 0 else 2
    return {
        "stale_value": {"change": "value", "captured": 1, "later": 2, "counted_seen": seen},
        "stale_buffer": {"change": "buffer", "captured": 1, "later": 2, "counted_seen": buffer},
    }


def loops(machine: Machine, _rows: Rows) -> Rows:
    """Run an iteration that ends by a value on the GPU: the host asks after each step, or a WHILE node does."""
    counters = machine.cupy.zeros(2, machine.cupy.uint32)  # left, steps
    left, steps = ctypes.c_void_p(counters.data.ptr), ctypes.c_void_p(counters.data.ptr + 4)
    made = Made(machine.functions["step"], [left, steps], 1)
    instance = machine.instantiate(machine.capture(made))
    host = machine.cupy.cuda.alloc_pinned_memory(8)
    ends = ctypes.c_uint64(counters.data.ptr)

    def by_host(graph: ctypes.c_void_p | None) -> None:
        arguments = (ctypes.byref(made.chain), graph, machine.stream, ctypes.c_void_p(host.ptr), ends, 2 * ROUNDS)
        machine.in_c("until_zero", ctypes.byref(machine.pointers), *arguments)

    looping = while_graph(machine, left, steps)

    def by_graph() -> None:
        machine.must("cuGraphLaunch", looping, machine.stream)
        machine.must("cuStreamSynchronize", machine.stream)

    ways: dict[str, tuple[str, Callable[[], None]]] = {
        "host_stream": ("host, stream", lambda: by_host(None)),
        "host_graph": ("host, graph", lambda: by_host(instance)),
        "while": ("WHILE node", by_graph),
    }
    found = {}
    for name, (loop, run) in ways.items():
        taken = []
        for _ in range(5):
            counters[0], counters[1] = ROUNDS, 0
            machine.cupy.cuda.Device().synchronize()
            begin = time.perf_counter()
            run()
            taken.append((time.perf_counter() - begin) * 1e6)
        assert int(counters[0]) == 0, f"{name}: {counters}"
        found[name] = {
            "loop": loop, "rounds": ROUNDS, "counted_rounds": int(counters[1]),
            "measured_round_us": round(statistics.median(taken) / ROUNDS, 3),
        }  # fmt: skip
    return found


def while_graph(machine: Machine, left: ctypes.c_void_p, steps: ctypes.c_void_p) -> ctypes.c_void_p:
    """Build a graph of one WHILE node whose body is the step that sets the condition."""
    graph, handle, node, context = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_void_p()
    machine.must("cuCtxGetCurrent", ctypes.byref(context))
    machine.must("cuGraphCreate", ctypes.byref(graph), 0)
    machine.must("cuGraphConditionalHandleCreate", ctypes.byref(handle), graph, context, 1, ASSIGN_DEFAULT)
    wanted = ConditionalNode(type=CONDITIONAL_NODE, handle=handle.value, kind=WHILE, size=1, context=context)
    machine.must("cuGraphAddNode_v2", ctypes.byref(node), graph, None, None, ctypes.c_size_t(0), ctypes.byref(wanted))
    function = ctypes.c_void_p(int(linked(machine).kernel.ptr))
    arguments = (ctypes.c_void_p * 3)(ctypes.addressof(handle), ctypes.addressof(left), ctypes.addressof(steps))
    body = NodeParameters(function, 1, 1, 1, 1, 1, 1, 0, ctypes.addressof(arguments), None, None, None)
    machine.must(
        "cuGraphAddKernelNode_v2", ctypes.byref(ctypes.c_void_p()), ctypes.c_void_p(wanted.graphs[0]), None, ctypes.c_size_t(0), ctypes.byref(body)
    )
    return machine.instantiate(graph)


def linked(machine: Machine) -> Any:
    """Compile the loop's body and link it with the device runtime, where cudaGraphSetConditional is; give the kernel."""
    text = SOURCE.read_text("utf-8")
    capability = str(machine.cupy.cuda.Device(0).compute_capability)
    arch = next(arch for arch in nvrtc.architectures(text) if arch.strip("sm_a") == capability)
    object_code = nvrtc.compile_cubin(text, arch, "-rdc=true")
    linker: Any = importlib.import_module("cuda.bindings.nvjitlink")
    handle = linker.create(1, [f"-arch={arch}"])
    linker.add_data(handle, linker.InputType.CUBIN, object_code, len(object_code), "streams.cubin")
    linker.add_file(handle, linker.InputType.LIBRARY, str(device_runtime()))
    linker.complete(handle)
    image = bytearray(linker.get_linked_cubin_size(handle))
    linker.get_linked_cubin(handle, image)
    path = Path(tempfile.mkdtemp()) / "while.cubin"
    path.write_bytes(bytes(image))
    machine.kept["step_while"] = machine.cupy.RawModule(path=str(path)).get_function("step_while")
    return machine.kept["step_while"]


def device_runtime() -> Path:
    """Find libcudadevrt.a in NVIDIA's wheel or in the toolkit.

    Raises SystemExit where there is none.
    """
    folders = [*(Path(folder) / "nvidia" / "cu13" / "lib" for folder in sys.path), *map(Path, ("/usr/local/cuda/lib64", "/usr/local/cuda/lib"))]
    for path in (folder / "libcudadevrt.a" for folder in folders):
        if path.is_file():
            return path
    raise SystemExit("no libcudadevrt.a: pip install nvidia-cuda-runtime")


if __name__ == "__main__":
    main()
