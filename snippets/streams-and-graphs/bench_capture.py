"""Run the model's capture programs against the CUDA runtime, each in a process of its own, and compare the errors and graphs."""

import ctypes
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import capture

import gpu
import nvrtc

SLOWEST = 60  # seconds that one program may take, with the start of CUDA
AT_ONCE = 6
BYTES = 1024
MODES = {"global": 0, "thread-local": 1, "relaxed": 2}
NON_BLOCKING, HOST_TO_DEVICE = 1, 1
TABLES = {
    "errors": {
        "program": ("程序", "Program"),
        "predicted_call_error": ("预测：调用", "Predicted: call"),
        "counted_call_error": ("实测：调用", "Counted: call"),
        "predicted_end_error": ("预测：end", "Predicted: end"),
        "counted_end_error": ("实测：end", "Counted: end"),
        "predicted_nodes": ("预测节点", "Predicted nodes"),
        "counted_nodes": ("实测节点", "Counted nodes"),
    },
}


def predict(inputs: dict[str, Any]) -> dict[str, Any]:
    """Give the errors and the size of the graph by the model."""
    call, end = capture.outcome(inputs["program"])
    _, graph = capture.run(inputs["program"])
    return {
        "predicted_call_error": call,
        "predicted_end_error": end,
        "predicted_nodes": graph.nodes if graph else 0,
        "predicted_edges": len(graph.edges) if graph else 0,
    }


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert that the runtime did what the model says, and that each process could capture and launch afterwards."""
    for name, row in rows.items():
        for what in ("call_error", "end_error", "nodes", "edges"):
            assert row[f"predicted_{what}"] == row[f"counted_{what}"], f"{name}: {what} predicted {row[f'predicted_{what}']}, counted {row}"
        for what in ("call", "end"):
            expected = capture.NAMES[row[f"predicted_{what}_error"]]
            assert row[f"counted_{what}_name"] == expected, f"{name}: the runtime calls it {row[f'counted_{what}_name']}, the model {expected}"
        assert row["counted_works_afterwards"], f"{name}: nothing could be captured and launched afterwards: {row}"


def main() -> None:
    """Run one program, when its name is given; else all of them in processes, check, and print the record's rows."""
    if gpu.launching():
        return
    if len(sys.argv) > 1:
        print(json.dumps(Session().run(capture.PROGRAMS[sys.argv[1]])))
        return
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = dict(zip(capture.PROGRAMS, pool.map(in_a_process, capture.PROGRAMS), strict=True))
    rows = {}
    for name, program in capture.PROGRAMS.items():
        rows[name] = {"program": program} | predict({"program": program}) | found[name]
        gpu.say(f"{name} {rows[name]}")
    check(rows)
    print(json.dumps({"rows": rows}))


def in_a_process(name: str) -> dict[str, Any]:
    """Run one program in a process of its own, so that what it breaks is gone with it."""
    run = subprocess.run([sys.executable, sys.argv[0], name], capture_output=True, text=True, check=False, timeout=SLOWEST)
    if run.returncode:
        return {"counted_call_error": -1, "counted_output": (run.stdout + run.stderr)[-500:]}
    found: dict[str, Any] = json.loads(run.stdout)
    return found


class Session:
    """The CUDA runtime by its C interface, with the streams, events and memory that programs name."""

    def __init__(self) -> None:
        """Make everything that a program may use; an error here ends the process."""
        self.library = ctypes.CDLL(str(runtime_library()))
        self.library.cudaGetErrorName.restype = ctypes.c_char_p
        self.streams = {"legacy": ctypes.c_void_p(1)}  # cudaStreamLegacy
        for name in ("s", "t", "n", "fresh"):
            self.streams[name] = ctypes.c_void_p()
            self.must("cudaStreamCreateWithFlags", ctypes.byref(self.streams[name]), NON_BLOCKING if name == "n" else 0)
        self.events = {name: ctypes.c_void_p() for name in ("e", "f")}
        for event in self.events.values():
            self.must("cudaEventCreate", ctypes.byref(event))
        self.memory = ctypes.c_void_p()
        self.must("cudaMalloc", ctypes.byref(self.memory), ctypes.c_size_t(BYTES))
        self.host = ctypes.create_string_buffer(BYTES)
        self.graph = ctypes.c_void_p()

    def call(self, function: str, *arguments: Any) -> int:
        """Call a function of the runtime and give its error."""
        return int(getattr(self.library, function)(*arguments))

    def must(self, function: str, *arguments: Any) -> None:
        """Call a function that has to succeed."""
        error = self.call(function, *arguments)
        assert not error, f"{function}: {self.name(error)}"

    def name(self, error: int) -> str:
        """Give the runtime's name of an error."""
        return str(self.library.cudaGetErrorName(error).decode())

    def run(self, program: str) -> dict[str, Any]:
        """Make a program's calls; give the errors, the size of the graph, and whether CUDA works afterwards."""
        errors, nodes, edges = [], 0, 0
        for step in capture.parse(program):
            errors.append(self.elsewhere(step) if step.other else self.make(step))
            if step.verb == "end" and not errors[-1] and self.graph:
                nodes, edges = self.size()
        call, end = next(filter(None, errors[:-1]), 0), errors[-1]
        return {
            "counted_call_error": call, "counted_end_error": end, "counted_nodes": nodes, "counted_edges": edges,
            "counted_call_name": self.name(call), "counted_end_name": self.name(end), "counted_works_afterwards": self.works(),
        }  # fmt: skip

    def elsewhere(self, step: capture.Call) -> int:
        """Make one call in a second thread."""
        errors: list[int] = []
        thread = threading.Thread(target=lambda: errors.append(self.make(step)))
        thread.start()
        thread.join(SLOWEST)
        return errors[0]

    def make(self, step: capture.Call) -> int:
        """Make the call that a step stands for and give its error."""
        stream, event, size = self.streams.get(step.name), self.events.get(step.argument), ctypes.c_size_t(BYTES)
        calls: dict[str, tuple[Any, ...]] = {
            "begin": ("cudaStreamBeginCapture", stream, MODES.get(step.argument, 0)),
            "op": ("cudaMemsetAsync", self.memory, 1, size, stream),
            "record": ("cudaEventRecord", event, stream),
            "wait": ("cudaStreamWaitEvent", stream, event, 0),
            "synchronize": ("cudaStreamSynchronize", stream),
            "synchronize_device": ("cudaDeviceSynchronize",),
            "query": ("cudaEventQuery", self.events.get(step.name)),
            "malloc": ("cudaMalloc", ctypes.byref(ctypes.c_void_p()), size),
            "memcpy": ("cudaMemcpy", self.memory, self.host, size, HOST_TO_DEVICE),
            "end": ("cudaStreamEndCapture", stream, ctypes.byref(self.graph)),
        }
        return self.call(*calls[step.verb])

    def size(self) -> tuple[int, int]:
        """Count the nodes and edges of the captured graph."""
        nodes, edges = ctypes.c_size_t(), ctypes.c_size_t()
        self.must("cudaGraphGetNodes", self.graph, None, ctypes.byref(nodes))
        self.must("cudaGraphGetEdges", self.graph, None, None, None, ctypes.byref(edges))
        return nodes.value, edges.value

    def works(self) -> bool:
        """Tell whether a fresh stream can capture a memset and launch the graph, whose bytes arrive."""
        self.library.cudaGetLastError()
        for stream in self.streams.values():  # end what a program left open
            self.call("cudaStreamEndCapture", stream, ctypes.byref(ctypes.c_void_p()))
            self.library.cudaGetLastError()
        fresh, graph, instance = self.streams["fresh"], ctypes.c_void_p(), ctypes.c_void_p()
        errors = [
            self.call("cudaStreamBeginCapture", fresh, MODES["global"]),
            self.call("cudaMemsetAsync", self.memory, 7, ctypes.c_size_t(BYTES), fresh),
            self.call("cudaStreamEndCapture", fresh, ctypes.byref(graph)),
            self.call("cudaGraphInstantiate", ctypes.byref(instance), graph, ctypes.c_ulonglong(0)),
            self.call("cudaGraphLaunch", instance, fresh),
            self.call("cudaStreamSynchronize", fresh),
            self.call("cudaMemcpy", self.host, self.memory, ctypes.c_size_t(BYTES), 2),
        ]
        return not any(errors) and self.host.raw == bytes([7]) * BYTES


def runtime_library() -> Path:
    """Find the CUDA runtime beside NVRTC, where NVIDIA's wheels put both, or in the toolkit.

    Raises SystemExit where there is none.
    """
    folders = [*(Path(folder) / "nvidia" / "cu13" / "lib" for folder in sys.path), Path("/usr/local/cuda/lib64")]
    for folder in folders:
        for path in sorted(folder.glob("libcudart.so.1*")):
            return path
    raise SystemExit(f"no CUDA runtime beside {nvrtc.__name__}: pip install nvidia-cuda-runtime")


if __name__ == "__main__":
    main()
