"""Run one residual network in PyTorch on a GPU, eagerly and compiled, launched and as a CUDA Graph: kernels, memory, traffic, times.

Kernels and memory are predicted by the page's own graph engine, from the same function that PyTorch runs. Needs PyTorch with Triton.
"""

import importlib
import json
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import modes
from graph import kernels

import gpu

Rows = dict[str, dict[str, Any]]
Run = Callable[[], Any]

BATCHES = (16, 4096, 65536)
COUNTED, LARGEST = 4096, 65536  # the batches of the tables of kernels and of traffic
WIDTH, BLOCKS, BYTES = 1024, 8, 2
REPEAT, WARMUP = 21, 5
SPUN = (20, 120)  # kernels of two graphs, each CYCLES long, from which the gap between two kernels is read
CYCLES = 20_000
PROFILED = 5  # runs under torch.profiler, of which the median counts
LAUNCHED, GRAPHS = ("eager", "compiled"), ("eager + graph", "compiled + graph")
REDUCED = "reduce-overhead"
# Compiled, each of the 16 sums of a bias's gradient takes two kernels of its own, and 7 additions happen in a product's kernel.
SUMS_AND_PRODUCTS = 16 * 2 - 7
DRAM = ("dram__bytes_read.sum", "dram__bytes_write.sum")
ELEMENTWISE = "^(vectorized_)?elementwise_kernel$|^triton_"
TASK = {"task": ("任务", "Task"), "way": ("方式", "Way")}
TABLES: dict[str, dict[str, tuple[str, str]]] = {
    "kernels": {
        **TASK,
        "predicted_kernels": ("预测 kernel 数", "Predicted kernels"),
        "counted_kernels": ("实测 kernel 数", "Counted kernels"),
        "predicted_launches": ("预测启动次数", "Predicted launches"),
        "counted_launches": ("实测启动次数", "Counted launches"),
    },
    "memory": {
        **TASK,
        "predicted_peak_mb": ("预测峰值（MB）", "Predicted peak (MB)"),
        "counted_peak_mb": ("实测峰值（MB）", "Counted peak (MB)"),
    },
    "traffic": {
        "way": ("方式", "Way"),
        "predicted_read_mb": ("预测读（MB）", "Predicted reads (MB)"),
        "counted_read_mb": ("实测读（MB）", "Counted reads (MB)"),
        "predicted_write_mb": ("预测写（MB）", "Predicted writes (MB)"),
        "counted_write_mb": ("实测写（MB）", "Counted writes (MB)"),
        "measured_elementwise_us": ("逐元素 kernel（µs）", "Element-wise kernels (µs)"),
    },
    "times": {
        "batch": ("批", "Batch"),
        "way": ("方式", "Way"),
        "submit_us": ("主机：调用（µs）", "Host: the call (µs)"),
        "busy_us": ("GPU：kernel（µs）", "GPU: kernels (µs)"),
        "predicted_time_us": ("预测用时（µs）", "Predicted time (µs)"),
        "measured_time_us": ("实测用时（µs）", "Measured time (µs)"),
        "measured_speed_up": ("相对 eager", "Over eager"),
    },
    "compile": {
        "batch": ("批", "Batch"),
        "compile_s": ("编译（s）", "Compiling (s)"),
        "saved_us": ("每次省下（µs）", "Saved by each call (µs)"),
        "predicted_calls": ("多少次回本", "Calls until it has paid"),
    },
}


def predict(inputs: dict[str, Any]) -> dict[str, Any]:
    """Predict a row from its inputs, by the model."""
    if "compile_s" in inputs:
        return {"predicted_calls": math.ceil(inputs["compile_s"] * 1e6 / inputs["saved_us"])}
    if "submit_us" in inputs:
        kernels_us = inputs["busy_us"] + inputs["kernels"] * inputs["gap_us"]
        # Before reduce-overhead launches its graph, it checks guards and copies the input.
        time_us = modes.time_us(inputs["submit_us"], kernels_us, host_first=inputs["way"] == REDUCED)
        return {"predicted_time_us": round(time_us, 1)}
    outputs = modes.outputs_of(inputs["batch"], inputs["width"], inputs["blocks"], train=inputs["task"] == "training")
    cut = kernels(outputs, fuse=not inputs["way"].startswith("eager"))
    if inputs["what"] == "memory":
        return {"predicted_peak_mb": round(modes.most_alive(outputs, cut) * inputs["bytes"] / 1e6, 2)}
    if inputs["what"] == "traffic":
        read, written = modes.traffic(outputs, cut, products=False)
        return {"predicted_read_mb": round(read * inputs["bytes"] / 1e6, 1), "predicted_write_mb": round(written * inputs["bytes"] / 1e6, 1)}
    copied = inputs["way"] == REDUCED  # one more kernel copies the input to where the graph reads it
    return {"predicted_kernels": len(cut) + copied, "predicted_launches": len(cut) if inputs["way"] in LAUNCHED else 1 + copied}


def check(rows: Rows) -> None:
    """Assert what the page says of the rows."""
    for name, row in rows.items():
        if "counted_kernels" in row:
            more = SUMS_AND_PRODUCTS if name == "kernels_training_compiled" else 0
            for what in ("kernels", "launches"):
                assert row[f"counted_{what}"] == row[f"predicted_{what}"] + more, f"{name}: {what} {row}"
        if "measured_time_us" in row:
            ratio = row["predicted_time_us"] / row["measured_time_us"]
            assert 0.8 < ratio < 1.25, f"{name}: predicted {row['predicted_time_us']} us, measured {row['measured_time_us']} us"
        assert row.get("measured_error", 0) < 0.005, f"{name}: {row}"
    names = rows["kernels_inference_eager"]["counted_names"]  # the 16 additions of a bias are not the vectorised kernel
    assert names["at::native::elementwise_kernel"] == 16, names
    assert names["at::native::vectorized_elementwise_kernel"] == 24, names
    peaks = {name: row["counted_peak_mb"] / row["predicted_peak_mb"] for name, row in rows.items() if "counted_peak_mb" in row}
    assert all(abs(peaks[f"memory_inference_{way}"] - 1) < 0.001 for way in LAUNCHED), peaks
    assert 1 < peaks["memory_training_eager"] < 1.05, peaks
    assert peaks["memory_training_compiled"] < 0.8, peaks
    traffic = {way: rows[f"traffic_{way}"] for way in LAUNCHED}
    for way, row in traffic.items():
        assert abs(row["counted_read_mb"] / row["predicted_read_mb"] - 1) < 0.01, f"{way}: {row}"
        assert 0.75 < row["counted_write_mb"] / row["predicted_write_mb"] <= 1, f"{way}: {row}"
    assert 2.5 < traffic["eager"]["measured_elementwise_us"] / traffic["compiled"]["measured_elementwise_us"] < 4.5, traffic
    up = {(batch, way): rows[f"time_{batch}_{way}"]["measured_speed_up"] for batch in BATCHES for way in (*LAUNCHED, *GRAPHS, REDUCED)}
    for batch in (16, 4096):
        assert 1.2 < up[batch, "compiled"] < up[batch, REDUCED] < up[batch, "compiled + graph"], up
        assert up[batch, "compiled"] < up[batch, "eager + graph"] < up[batch, "compiled + graph"], up
        for way in LAUNCHED:  # the host is the bottleneck
            assert rows[f"time_{batch}_{way}"]["submit_us"] > 1.5 * rows[f"time_{batch}_{way}"]["busy_us"], f"{batch} {way}"
    assert up[16, "eager + graph"] > 4, up
    assert up[16, "compiled + graph"] > 7, up
    assert 0.97 < up[LARGEST, "eager + graph"] < 1.1, up
    assert up[LARGEST, "compiled"] > 1.5, up
    assert up[LARGEST, "compiled + graph"] > up[LARGEST, REDUCED], up
    calls = {batch: rows[f"compile_{batch}"]["predicted_calls"] for batch in BATCHES}
    assert all(found > 200 for found in calls.values()), calls


def main() -> None:
    """Measure, check, and print the record's rows; under ncu, launch the element-wise kernels of both ways."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()  # nothing compiled before counts
    if gpu.launching():
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    torch: Any = importlib.import_module("torch")
    triton: Any = importlib.import_module("triton")
    torch.manual_seed(5)
    if gpu.launching():
        bench = Bench(torch, LARGEST)
        with torch.no_grad():
            bench.model(bench.x)
            compiled = torch.compile(bench.model, dynamic=False)
            compiled(bench.x)
            compiled(bench.x)
        torch.cuda.synchronize()
        return
    rows: Rows = {}
    gap_us = gap(torch)
    for batch in BATCHES:
        rows |= Bench(torch, batch).inference(gap_us)
    rows |= Bench(torch, COUNTED).training()
    gpu.say(json.dumps(rows))
    rows |= traffic(rows)
    gpu.say(json.dumps(rows))
    check(rows)
    libraries = f"PyTorch {torch.__version__}, Triton {triton.__version__}"
    print(json.dumps({"rows": rows, "conditions": {"libraries": libraries}}))


class Bench:
    """The network in PyTorch, with random data of one batch."""

    def __init__(self, torch: Any, batch: int) -> None:
        """Make parameters and data."""
        self.torch, self.batch = torch, batch
        self.x = torch.randn(batch, WIDTH, device="cuda", dtype=torch.float16)
        self.parameters = torch.nn.ParameterList()
        for _ in range(BLOCKS):
            for shape in ((WIDTH, WIDTH), (1, WIDTH)) * 2:
                self.parameters.append(torch.nn.Parameter(torch.empty(shape, device="cuda", dtype=torch.float16).normal_(0, WIDTH**-0.5)))
        self.model = module(torch, self.parameters)
        self.inputs = {"batch": batch, "width": WIDTH, "blocks": BLOCKS, "bytes": BYTES}

    def inference(self, gap_us: float) -> Rows:
        """Measure all ways of running the network once."""
        torch, rows = self.torch, dict[str, dict[str, Any]]()
        with torch.no_grad():
            runs, compile_s = self.ways()
            exact = module(torch, [each.double() for each in self.parameters])(self.x.double())
            errors = {way: float((run().double() - exact).abs().max() / exact.abs().max()) for way, run in runs.items()}
            times, submits = measured(torch, runs)
            for way, run in runs.items():
                found = traced(torch, run)
                gpu.say(f"{self.batch} {way} {found}")
                inputs = {
                    "way": way, **self.inputs, "submit_us": submits[way], "busy_us": found["busy_us"],
                    "kernels": found["kernels"], "gap_us": gap_us,
                }  # fmt: skip
                rows[f"time_{self.batch}_{way}"] = inputs | predict(inputs) | {
                    "measured_time_us": times[way], "measured_speed_up": round(times["eager"] / times[way], 2), "measured_error": errors[way],
                    "counted_all_kernels": found["kernels"], "counted_names": found["names"],
                    "measured_other_us": round(found["busy_us"] - found["products_us"], 1),
                }  # fmt: skip
                if self.batch == COUNTED:
                    rows |= self.counts("inference", way, found) | (self.memory("inference", way, run) if way in LAUNCHED else {})
            inputs = {"batch": self.batch, "compile_s": compile_s, "saved_us": round(times["eager"] - times["compiled"], 1)}
            rows[f"compile_{self.batch}"] = inputs | predict(inputs)
        return rows

    def counts(self, task: str, way: str, found: dict[str, Any]) -> Rows:
        """Give the row of kernels and launches."""
        inputs = {"what": "kernels", "task": task, "way": way, **self.inputs}
        counted = {f"counted_{what}": found[what] for what in ("kernels", "launches", "copies", "names")}
        return {f"kernels_{task}_{way}": inputs | predict(inputs) | counted}

    def memory(self, task: str, way: str, run: Run) -> Rows:
        """Give the row of the most memory that a run takes from PyTorch's allocator beyond what it found."""
        cuda, inputs = self.torch.cuda, {"what": "memory", "task": task, "way": way, **self.inputs}
        cuda.synchronize()
        cuda.reset_peak_memory_stats()
        before = cuda.memory_allocated()
        result = run()
        cuda.synchronize()
        peak = round((cuda.max_memory_allocated() - before) / 1e6, 2)
        del result
        return {f"memory_{task}_{way}": inputs | predict(inputs) | {"counted_peak_mb": peak}}

    def ways(self) -> tuple[dict[str, Run], float]:
        """Give a function for each way of running, and how long compiling took."""
        torch, model, x = self.torch, self.model, self.x
        torch.compiler.reset()
        compiled = torch.compile(model, dynamic=False)
        compile_s = clocked(torch, lambda: compiled(x)) - clocked(torch, lambda: compiled(x))
        runs: dict[str, Run] = {"eager": lambda: model(x), "compiled": lambda: compiled(x)}
        for way, graph in zip(LAUNCHED, GRAPHS, strict=True):
            runs[graph] = captured(torch, runs[way])
        reduced = torch.compile(model, dynamic=False, mode="reduce-overhead")

        def step() -> Any:
            torch.compiler.cudagraph_mark_step_begin()
            return reduced(x)

        for _ in range(3):  # compile, warm up, record
            step()
        runs[REDUCED] = step
        return runs, round(compile_s, 2)

    def training(self) -> Rows:
        """Count the kernels and the memory of a forward and a backward pass, eagerly and compiled."""
        torch, rows = self.torch, dict[str, dict[str, Any]]()
        torch.compiler.reset()
        seed, leaves = torch.randn_like(self.x), list(self.parameters)
        compiled = torch.compile(self.model, dynamic=False)

        def step(model: Any) -> list[Any]:
            return [*torch.autograd.grad(model(self.x), leaves, seed)]

        runs: dict[str, Run] = {"eager": lambda: step(self.model), "compiled": lambda: step(compiled)}
        doubles = [each.detach().double().requires_grad_() for each in leaves]
        exact = torch.autograd.grad(module(torch, doubles)(self.x.double()), doubles, seed.double())
        for way, run in runs.items():
            error = max(float((mine.double() - theirs).abs().max() / theirs.abs().max()) for mine, theirs in zip(run(), exact, strict=True))
            rows |= self.counts("training", way, traced(torch, run)) | self.memory("training", way, run)
            rows[f"kernels_training_{way}"]["measured_error"] = error
        return rows


def module(torch: Any, parameters: Iterable[Any]) -> Any:
    """Give the network as a module: the page's own block, again and again."""

    class Network(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.all = parameters if isinstance(parameters, torch.nn.ParameterList) else list(parameters)

        def forward(self, x: Any) -> Any:
            for first in range(0, len(self.all), 4):
                x = modes.block(x, self.all[first], self.all[first + 1], self.all[first + 2], self.all[first + 3])
            return x

    return Network()


def captured(torch: Any, run: Run) -> Run:
    """Capture a run in a CUDA Graph, after the warm-up in a side stream that PyTorch's documentation asks for."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph, results = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph):
        results.append(run())

    def replay() -> Any:
        graph.replay()
        return results[0]

    return replay


def gap(torch: Any) -> float:
    """Give the microseconds between two kernels of a graph, from two chains of long ones."""
    times, lengths = [], []
    for count in SPUN:

        def chain(count: int = count) -> None:
            for _ in range(count):
                torch.cuda._sleep(CYCLES)  # noqa: SLF001 - no public name

        replay = captured(torch, chain)
        times.append(measured(torch, {"graph": replay})[0]["graph"])
        lengths.append(traced(torch, replay)["busy_us"] / count)
    between: float = (times[1] - times[0]) / (SPUN[1] - SPUN[0]) - lengths[1]
    return round(between, 3)


def traffic(times: Rows) -> Rows:
    """Count, under ncu, what the element-wise kernels of both ways read and write in DRAM."""
    rows: Rows = {}
    found = gpu.counters(DRAM, ELEMENTWISE)
    # The eager run comes first; of the compiled ones the last, since the first may also try variants.
    for way, launches in (("eager", found[: 5 * BLOCKS]), ("compiled", found[-2 * BLOCKS :])):
        inputs = {"what": "traffic", "task": "inference", "way": way, "batch": LARGEST, "width": WIDTH, "blocks": BLOCKS, "bytes": BYTES}
        read, written = (round(sum(row[metric] for row in launches) / 1e6, 1) for metric in DRAM)
        other = times[f"time_{LARGEST}_{way}"]["measured_other_us"]
        rows[f"traffic_{way}"] = inputs | predict(inputs) | {
            "counted_read_mb": read, "counted_write_mb": written, "counted_launches_seen": len(found), "measured_elementwise_us": other,
        }  # fmt: skip
    return rows


def clocked(torch: Any, run: Run) -> float:
    """Give the seconds that a call and its work on the GPU take."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    run()
    torch.cuda.synchronize()
    taken: float = time.perf_counter() - begin
    return taken


def measured(torch: Any, runs: dict[str, Run]) -> tuple[dict[str, float], dict[str, float]]:
    """Run all ways in turn; give the medians, in microseconds, from the call to the GPU's end, and of the call alone."""
    times: dict[str, list[float]] = {way: [] for way in runs}
    submits: dict[str, list[float]] = {way: [] for way in runs}
    for turn in range(WARMUP + REPEAT):
        for way, run in runs.items():
            torch.cuda.synchronize()
            begin = time.perf_counter()
            run()
            called = time.perf_counter()
            torch.cuda.synchronize()
            if turn >= WARMUP:
                times[way].append((time.perf_counter() - begin) * 1e6)
                submits[way].append((called - begin) * 1e6)
    return medians(times), medians(submits)


def medians(found: dict[str, list[float]]) -> dict[str, float]:
    """Give each list's median, to a tenth."""
    return {way: round(statistics.median(values), 1) for way, values in found.items()}


def traced(torch: Any, run: Run) -> dict[str, Any]:
    """Count what torch.profiler sees of a run: kernels, copies and launches; and the kernels' time in microseconds, the median of some runs."""
    for _ in range(2):
        run()
    torch.cuda.synchronize()
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as profile:
        for _ in range(PROFILED):
            run()
            torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        events = json.loads(path.read_text("utf-8"))["traceEvents"]
    done = sorted((event for event in events if event.get("cat") == "kernel"), key=lambda event: float(event["ts"]))
    count = len(done) // PROFILED
    turns = [done[first : first + count] for first in range(0, count * PROFILED, count)]
    names: dict[str, int] = {}
    for event in turns[0]:
        name = event["name"].removeprefix("void ").partition("<")[0]
        names[name] = names.get(name, 0) + 1
    calls = [event["name"] for event in events if event.get("cat") in {"cuda_runtime", "cuda_driver"}]
    return {
        "kernels": count,
        "copies": sum(event.get("cat") in {"gpu_memcpy", "gpu_memset"} for event in events) // PROFILED,
        "launches": sum("Launch" in name for name in calls) // PROFILED,
        "busy_us": took(turns, ""),
        "products_us": took(turns, "nvjet"),
        "names": names,
    }


def took(turns: list[list[dict[str, Any]]], prefix: str) -> float:
    """Give the microseconds of the kernels whose names begin so, in the median run."""
    median: float = statistics.median(sum(event["dur"] for event in turn if event["name"].startswith(prefix)) for turn in turns)
    return round(median, 1)


if __name__ == "__main__":
    main()
