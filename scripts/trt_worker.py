"""Build, run and time TensorRT engines for scripts/trt.py, in the interpreter that has TensorRT 8.6 (CPython 3.10, NumPy, no more).

It reads one job a line, as JSON, and answers each with a line: {"ok": ...} or {"error": ...}. Arrays travel as .npz files.
cuBLAS and cuDNN are left out of the tactic sources, so that neither has to be installed; every record says so.
"""

import ctypes
import importlib
import json
import os
import statistics
import struct
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

import graphs

trt: Any = importlib.import_module("tensorrt")

SOURCES = ("EDGE_MASK_CONVOLUTIONS", "JIT_CONVOLUTIONS")
WORKSPACE = 4 << 30
GRAPH, EVENT_TIMING = 1, 0
SLICE_MS = 2.0  # one timed slice lasts about this long
LEVELS = ("INTERNAL_ERROR", "ERROR", "WARNING", "INFO", "VERBOSE")


def main() -> None:
    """Answer jobs until standard input ends."""
    # The libraries print to standard output on their own: the answers get a descriptor that nothing else writes to.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    session = Session()
    for line in sys.stdin:
        job = json.loads(line)
        mark = len(session.messages)
        try:
            answer = {"ok": getattr(session, "do_" + job.pop("op"))(**job)}
        except Exception as error:  # noqa: BLE001 - what failed is the caller's answer
            answer = {"error": "".join(traceback.format_exception_only(type(error), error)).strip(), "trace": traceback.format_exc()[-1500:]}
        answer["log"] = list(dict.fromkeys(session.messages[mark:]))
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


class Cuda:
    """The few calls of CUDA's driver interface that running an engine takes."""

    def __init__(self) -> None:
        """Open the first GPU's primary context, which TensorRT's own runtime uses too."""
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)
        self.events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in self.events:
            self.call("cuEventCreate", ctypes.byref(event), EVENT_TIMING)

    def call(self, function: str, *arguments: Any) -> None:
        """Call a function that has to succeed."""
        error = getattr(self.library, function)(*arguments)
        if error:
            raise RuntimeError(f"{function} gave error {error}")

    def allocate(self, size: int) -> int:
        """Give the address of fresh device memory."""
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(size, 1)))
        return pointer.value

    def free(self, pointer: int) -> None:
        """Give device memory back."""
        self.call("cuMemFree_v2", ctypes.c_uint64(pointer))

    def put(self, pointer: int, array: Any) -> None:
        """Copy an array to the device."""
        array = np.ascontiguousarray(array)
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(pointer), ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))

    def get(self, array: Any, pointer: int) -> None:
        """Copy device memory into an array."""
        self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(pointer), ctypes.c_size_t(array.nbytes))

    def synchronize(self) -> None:
        """Wait for the stream."""
        self.call("cuStreamSynchronize", self.stream)

    def milliseconds(self, function: Any, repeat: int) -> float:
        """Time that many calls between two events and give the time of one."""
        start, end = self.events
        self.call("cuEventRecord", start, self.stream)
        for _ in range(repeat):
            function()
        self.call("cuEventRecord", end, self.stream)
        self.call("cuEventSynchronize", end)
        elapsed = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(elapsed), start, end)
        return elapsed.value / repeat


class Engine:
    """One engine with a context, its buffers, and a CUDA graph of one execution."""

    def __init__(self, cuda: Cuda, engine: Any) -> None:
        """Make the context; buffers come with the shapes."""
        self.cuda, self.engine, self.context = cuda, engine, engine.create_execution_context()
        self.names = [engine.get_tensor_name(index) for index in range(engine.num_io_tensors)]
        self.inputs = [name for name in self.names if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT]
        self.outputs = [name for name in self.names if name not in self.inputs]
        self.buffers: dict[str, tuple[int, int]] = {}
        self.graph = ctypes.c_void_p()
        self.arrays: dict[str, Any] = {}

    def shape(self, batch: int | None) -> None:
        """Choose the batch of a dynamic engine, make the buffers, and forget the graph."""
        for name in self.inputs:
            wanted = tuple(self.engine.get_tensor_shape(name))
            if wanted and wanted[0] < 0:
                self.context.set_input_shape(name, (batch or 1, *wanted[1:]))
        for name in self.names:
            shape = tuple(self.context.get_tensor_shape(name))
            array = np.zeros(shape, trt.nptype(self.engine.get_tensor_dtype(name)))
            self.arrays[name] = array
            address, size = self.buffers.get(name, (0, -1))
            if size < array.nbytes:
                if address:
                    self.cuda.free(address)
                address, size = self.cuda.allocate(array.nbytes), array.nbytes
                self.buffers[name] = (address, size)
            self.context.set_tensor_address(name, address)
        self.graph = ctypes.c_void_p()

    def batch(self) -> int:
        """Give the first dimension of the first input, -1 for a dynamic one."""
        return int(self.engine.get_tensor_shape(self.inputs[0])[0])

    def enqueue(self) -> None:
        """Start one execution."""
        if not self.context.execute_async_v3(self.cuda.stream.value):
            raise RuntimeError("the engine would not run")

    def run(self, inputs: dict[str, Any], chunk: int) -> dict[str, Any]:
        """Run all rows of the inputs, chunk by chunk; the last chunk is filled up with its last row."""
        size = self.batch() if self.batch() > 0 else chunk
        self.shape(size)
        rows = len(inputs[self.inputs[0]])
        parts: dict[str, list[Any]] = {name: [] for name in self.outputs}
        for start in range(0, rows, size):
            for name in self.inputs:
                part = np.asarray(inputs[name][start : start + size], self.arrays[name].dtype)
                if len(part) < size:
                    part = np.concatenate([part, np.repeat(part[-1:], size - len(part), 0)])
                self.cuda.put(self.buffers[name][0], part)
            for name in self.outputs:  # poison, so that what nothing writes is seen
                self.cuda.put(self.buffers[name][0], np.full(self.arrays[name].nbytes, 0xFF, np.uint8))
            self.enqueue()
            self.cuda.synchronize()
            for name in self.outputs:
                self.cuda.get(self.arrays[name], self.buffers[name][0])
                parts[name].append(self.arrays[name].copy())
        return {name: np.concatenate(part)[:rows] if part[0].shape[:1] == (size,) else part[-1] for name, part in parts.items()}

    def capture(self) -> None:
        """Make a graph of one execution, so that the host's work is not what is timed."""
        self.enqueue()
        self.cuda.synchronize()
        graph = ctypes.c_void_p()
        self.cuda.call("cuStreamBeginCapture_v2", self.cuda.stream, 1)
        try:
            self.enqueue()
        finally:
            self.cuda.call("cuStreamEndCapture", self.cuda.stream, ctypes.byref(graph))
        self.cuda.call("cuGraphInstantiateWithFlags", ctypes.byref(self.graph), graph, ctypes.c_ulonglong(0))

    def replay(self) -> None:
        """Start the graph."""
        self.cuda.call("cuGraphLaunch", self.graph, self.cuda.stream)

    def close(self) -> None:
        """Give the memory back."""
        for address, _ in self.buffers.values():
            self.cuda.free(address)
        self.buffers = {}


class Session:
    """What lives from job to job: the engines, the log, and the timing cache, with which two builds choose the same tactics."""

    def __init__(self) -> None:
        """Open the GPU and the builder."""
        self.cuda = Cuda()
        self.messages: list[str] = []
        self.logger = make_logger(self.messages)
        self.plugins = trt.init_libnvinfer_plugins(self.logger, "")
        self.builder = trt.Builder(self.logger)
        self.runtime = trt.Runtime(self.logger)
        self.engines: dict[str, Engine] = {}
        self.timing: Any = None

    def do_hello(self) -> dict[str, Any]:
        """Name the versions and what is left out."""
        return {
            "tensorrt": trt.__version__,
            "python": sys.version.split()[0],
            "numpy": np.__version__,
            "tactic_sources": list(SOURCES),
            "off": [name for name in ("CUBLAS", "CUBLAS_LT", "CUDNN") if hasattr(trt.TacticSource, name)],
        }

    def do_build(  # noqa: PLR0913 - an engine has that many choices
        self,
        *,
        name: str,
        onnx: str,
        flags: list[str] | None = None,
        pins: dict[str, str] | None = None,
        typed: bool = True,
        moving: bool = True,
        outputs: list[str] | None = None,
        calibrator: dict[str, Any] | None = None,
        ranges: dict[str, float] | None = None,
        profile: list[int] | None = None,
        level: int = 3,
        fresh: bool = False,
        info: bool = False,
    ) -> dict[str, Any]:
        """Build an engine from an ONNX file and keep it under a name.

        flags: of fp16, int8, tf32, obey, prefer. pins: a layer's name (a trailing * for a prefix) -> its precision; typed: of its outputs too;
        moving: of constants and of layers that only move numbers too, some of which the parser adds and names by itself.
        outputs: tensors to mark, ["*"] for every one. calibrator: see make_calibrator. ranges: a tensor's name -> its maximum.
        profile: the smallest, usual and largest batch of a dynamic input. fresh: choose tactics anew, without the timing cache.
        """
        # Logged in full when asked for, because some of what TensorRT decides is said nowhere else.
        self.logger.level = 3 if info else 2
        network = self.builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH))
        parser = trt.OnnxParser(network, self.logger)
        if not parser.parse(Path(onnx).read_bytes()):
            raise RuntimeError("; ".join(str(parser.get_error(index)) for index in range(parser.num_errors)))
        config = self.configure(flags or [], level, fresh=fresh)
        layers = [network.get_layer(index) for index in range(network.num_layers)]
        still = {trt.LayerType.CONSTANT, trt.LayerType.SHUFFLE}
        pin([layer for layer in layers if moving or layer.type not in still], pins or {}, typed=typed)
        mark(network, layers, outputs or [])
        set_ranges(network, layers, ranges)
        shapes = self.profiles(network, config, profile, (calibrator or {}).get("batch"))
        keeper = None
        if calibrator:
            keeper = make_calibrator(self.cuda, **calibrator)
            config.int8_calibrator = keeper
        started = time.perf_counter()
        plan = self.builder.build_serialized_network(network, config)
        seconds = time.perf_counter() - started
        found = {"network": [describe_layer(layer) for layer in layers], "seconds": seconds, "profiles": shapes}
        if keeper is not None:
            found["calibration"] = {
                "cache": keeper.written.decode("ascii", "replace") if keeper.written else None,
                "ranges": ranges_of(keeper.written),
                "batches": keeper.batches,
                "seconds": keeper.seconds,
            }
        if plan is None:
            raise RuntimeError(f"no engine was built: {'; '.join(dict.fromkeys(self.messages[-6:]))}")
        if name in self.engines:
            self.engines.pop(name).close()
        engine = Engine(self.cuda, self.runtime.deserialize_cuda_engine(plan))
        self.engines[name] = engine
        inspector = engine.engine.create_engine_inspector()
        described = json.loads(inspector.get_engine_information(trt.LayerInformationFormat.JSON), strict=False)
        return found | {
            "layers": [slim(layer) for layer in described["Layers"]],
            "bytes": plan.nbytes,
            "inputs": engine.inputs,
            "outputs": engine.outputs,
        }

    def configure(self, flags: list[str], level: int, *, fresh: bool) -> Any:
        """Make a builder's configuration."""
        config = self.builder.create_builder_config()
        config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, WORKSPACE)
        config.set_tactic_sources(sum(1 << int(getattr(trt.TacticSource, name)) for name in SOURCES))
        config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
        config.builder_optimization_level = level
        config.clear_flag(trt.BuilderFlag.TF32)
        names = {"obey": "OBEY_PRECISION_CONSTRAINTS", "prefer": "PREFER_PRECISION_CONSTRAINTS"}
        for flag in flags:
            config.set_flag(getattr(trt.BuilderFlag, names.get(flag, flag.upper())))
        # The cache is handed on as it is: TensorRT 8.6 does not read one back that was written after a build with Myelin in it.
        if fresh or self.timing is None:
            self.timing = config.create_timing_cache(b"")
        config.set_timing_cache(self.timing, ignore_mismatch=False)
        return config

    def profiles(self, network: Any, config: Any, batches: list[int] | None, calibrating: int | None) -> list[Any]:
        """Give a dynamic network its batches, and calibration its own."""
        first = network.get_input(0)
        if first.shape[0] >= 0:
            return []
        smallest, usual, largest = batches or [1, 1, 1]
        made = []
        for low, middle, high, calibration in ((smallest, usual, largest, False), (calibrating, calibrating, calibrating, True)):
            if low is None:
                continue
            profile = self.builder.create_optimization_profile()
            for index in range(network.num_inputs):
                tensor = network.get_input(index)
                rest = tuple(tensor.shape)[1:]
                profile.set_shape(tensor.name, (low, *rest), (middle, *rest), (high, *rest))
            (config.set_calibration_profile if calibration else config.add_optimization_profile)(profile)
            made.append([low, middle, high])
        return made

    def do_run(self, name: str, inputs: str, outputs: str, chunk: int = 64) -> dict[str, Any]:
        """Run an engine over all rows of a file of inputs and keep its outputs in another."""
        with np.load(inputs) as arrays:
            found = self.engines[name].run({key: arrays[key] for key in self.engines[name].inputs}, chunk)
        np.savez(outputs, **found)
        return {"outputs": {key: list(value.shape) for key, value in found.items()}}

    def do_time(self, names: list[str], batch: int | None = None, rounds: int = 15, *, graph: bool = True, seed: int = 0) -> dict[str, Any]:
        """Time engines in turn, round by round, and give each one's median in milliseconds; inputs are normal random numbers."""
        random = np.random.default_rng(seed)
        repeat: dict[str, int] = {}
        times: dict[str, list[float]] = {name: [] for name in names}
        functions: dict[str, Any] = {}
        for name in names:
            engine = self.engines[name]
            engine.shape(batch)
            for key in engine.inputs:
                self.cuda.put(engine.buffers[key][0], random.standard_normal(engine.arrays[key].shape).astype(engine.arrays[key].dtype))
            if graph:
                engine.capture()
            functions[name] = engine.replay if graph else engine.enqueue
            self.cuda.milliseconds(functions[name], 20)
            repeat[name] = max(4, int(SLICE_MS / max(self.cuda.milliseconds(functions[name], 20), 1e-3)))
        for _ in range(rounds):
            for name in names:
                times[name].append(self.cuda.milliseconds(functions[name], repeat[name]))
        return {name: {"ms": statistics.median(values), "least": min(values), "most": max(values)} for name, values in times.items()}

    def do_profile(self, name: str, batch: int | None = None, runs: int = 60) -> dict[str, Any]:
        """Time an engine layer by layer (the engine runs slower so) and give each layer's median in milliseconds, in order."""
        engine = self.engines[name]
        engine.shape(batch)
        for key in engine.inputs:
            self.cuda.put(engine.buffers[key][0], np.random.default_rng(0).standard_normal(engine.arrays[key].shape).astype(engine.arrays[key].dtype))
        times: dict[str, list[float]] = {}
        engine.context.profiler = make_profiler(times)
        for _ in range(runs):
            engine.enqueue()
            self.cuda.synchronize()
        # A profiler cannot be taken off a context: a new one goes on without.
        engine.context = engine.engine.create_execution_context()
        return {key: statistics.median(values[5:]) for key, values in times.items()}

    def do_free(self, names: list[str] | None = None) -> None:
        """Forget engines, all when none is named."""
        for name in names or list(self.engines):
            self.engines.pop(name).close()


def make_logger(messages: list[str]) -> Any:
    """Make a logger that keeps what TensorRT says."""

    class Logger(trt.ILogger):  # type: ignore[misc]
        """Keep warnings and worse; with level 3 what it tells too."""

        level = 2

        def __init__(self) -> None:
            trt.ILogger.__init__(self)

        def log(self, severity: Any, text: str) -> None:
            if int(severity) <= self.level:
                messages.append(f"{LEVELS[int(severity)]}: {text}")

    return Logger()


def make_profiler(times: dict[str, list[float]]) -> Any:
    """Make a profiler that collects each layer's times."""

    class Profiler(trt.IProfiler):  # type: ignore[misc]
        """Append to the layer's list."""

        def __init__(self) -> None:
            trt.IProfiler.__init__(self)

        def report_layer_time(self, name: str, milliseconds: float) -> None:
            times.setdefault(name, []).append(milliseconds)

    return Profiler()


def make_calibrator(  # noqa: PLR0913 - what a calibrator can be given
    cuda: Cuda, *, kind: str, data: str, batch: int, order: list[int] | None = None, cache: str | None = None
) -> Any:
    """Make a calibrator that feeds the rows of an .npz file in an order, batch by batch, as many as fill whole batches.

    kind: entropy2, entropy or minmax. cache: the text of a calibration cache that is to be used instead.
    """
    base = {"entropy2": "IInt8EntropyCalibrator2", "entropy": "IInt8EntropyCalibrator", "minmax": "IInt8MinMaxCalibrator"}[kind]
    parent: Any = getattr(trt, base)
    with np.load(data) as arrays:
        inputs = {key: np.ascontiguousarray(arrays[key], np.float32) for key in arrays.files}
    if order is not None:
        inputs = {key: np.ascontiguousarray(value[order]) for key, value in inputs.items()}

    class Calibrator(parent):  # type: ignore[misc]
        """Hand out device addresses of one batch after the other, and time it."""

        def __init__(self) -> None:
            parent.__init__(self)
            self.batches, self.seconds, self.started, self.written = 0, 0.0, 0.0, b""
            self.addresses = {key: cuda.allocate(value[:batch].nbytes) for key, value in inputs.items()}

        def get_batch_size(self) -> int:
            return batch

        def get_batch(self, names: list[str], *_: Any) -> list[int] | None:
            self.started = self.started or time.perf_counter()
            self.seconds = time.perf_counter() - self.started
            start = self.batches * batch
            if start + batch > len(inputs[names[0]]):
                return None
            for name in names:
                cuda.put(self.addresses[name], inputs[name][start : start + batch])
            self.batches += 1
            return [self.addresses[name] for name in names]

        def read_calibration_cache(self) -> bytes | None:
            return cache.encode("ascii") if cache else None

        def write_calibration_cache(self, text: Any) -> None:
            self.written = bytes(text)

    return Calibrator()


def ranges_of(cache: bytes) -> dict[str, float]:
    """Read a calibration cache: each tensor's largest value, which is 127 times the scale that it keeps as a float's hex."""
    found = {}
    for line in cache.decode("ascii", "replace").splitlines()[1:]:
        name, _, scale = line.rpartition(": ")
        if name:
            found[name] = struct.unpack(">f", bytes.fromhex(scale.strip().zfill(8)))[0] * 127
    return found


def pinnable(layer: Any) -> bool:
    """Tell whether a layer computes with floating-point numbers, not with shapes or constants' indices; a cast has its types already."""
    return layer.type != trt.LayerType.CAST and all(
        layer.get_output(index) is not None and layer.get_output(index).dtype in {trt.float32, trt.float16} for index in range(layer.num_outputs)
    )


def pin(layers: list[Any], pins: dict[str, str], *, typed: bool) -> None:
    """Give layers their precision: a name, or with * at its end the beginning of one -> float32, float16 or int8; typed: and their outputs."""
    cast = any(layer.type == trt.LayerType.CAST for layer in layers)  # then constants have the types that the graph gives them
    for layer in layers:
        if not pinnable(layer) or (cast and layer.type == trt.LayerType.CONSTANT):
            continue
        for pattern, precision in pins.items():
            if graphs.named(layer.name, pattern):
                layer.precision = precision_of(precision)
                for index in range(layer.num_outputs if typed and precision != "int8" else 0):  # what follows decides what INT8 gives
                    layer.set_output_type(index, precision_of(precision))


def precision_of(name: str) -> Any:
    """Give TensorRT's name of a type."""
    return {"float32": trt.float32, "float16": trt.float16, "int8": trt.int8}[name]


def mark(network: Any, layers: list[Any], wanted: list[str]) -> None:
    """Mark tensors as outputs, by name, or every floating-point one."""
    already = {network.get_output(index).name for index in range(network.num_outputs)}
    for layer in layers:
        if layer.type == trt.LayerType.CONSTANT:
            continue
        for index in range(layer.num_outputs):
            tensor = layer.get_output(index)
            every = wanted == ["*"] and tensor.dtype in {trt.float32, trt.float16} and not tensor.is_shape_tensor
            if (every or tensor.name in wanted) and tensor.name not in already:
                network.mark_output(tensor)


def set_ranges(network: Any, layers: list[Any], ranges: dict[str, float] | None) -> None:
    """Give tensors their dynamic ranges; "*" stands for all that are not named."""
    if not ranges:
        return
    tensors = [network.get_input(index) for index in range(network.num_inputs)]
    tensors += [layer.get_output(index) for layer in layers for index in range(layer.num_outputs)]
    for tensor in tensors:
        largest = ranges.get(tensor.name, ranges.get("*"))
        if largest is not None and tensor.dtype in {trt.float32, trt.float16, trt.int8}:
            tensor.set_dynamic_range(-largest, largest)


def describe_layer(layer: Any) -> dict[str, Any]:
    """Give a layer of the network before building: name, type, names of its outputs."""
    outputs = [layer.get_output(index) for index in range(layer.num_outputs)]
    return {
        "name": layer.name,
        "type": str(layer.type).rsplit(".", maxsplit=1)[-1],
        "outputs": [tensor.name for tensor in outputs if tensor is not None],
    }


def slim(layer: Any) -> dict[str, Any]:
    """Keep of a layer of the engine what the records need."""
    if isinstance(layer, str):
        return {"name": layer, "type": "?", "inputs": [], "outputs": []}

    def tensors(key: str) -> list[dict[str, Any]]:
        return [{"name": item["Name"], "dims": item.get("Dimensions"), "format": item.get("Format/Datatype", "")} for item in layer.get(key, [])]

    kept = {"name": layer["Name"], "type": layer.get("LayerType"), "inputs": tensors("Inputs"), "outputs": tensors("Outputs")}
    for key in ("TacticName", "Origin", "Reason", "HasReLU", "Activation"):
        if key in layer:
            kept[key.lower()] = layer[key]
    return kept


if __name__ == "__main__":
    main()
