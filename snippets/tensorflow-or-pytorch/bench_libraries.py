"""Run TensorFlow and PyTorch on a CPU: what they capture of a function, when they capture it again, what survives without its code.

The functions are the page's own (tape.branch, tape.network), and what the page's two engines give is the prediction.
"""

import contextlib
import importlib
import io
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import retrace
import tape
from graph import Node, chosen, constant, feed, fold, kernels, merge, run, save, traced

import gpu

DEVICE = "cpu"
Rows = dict[str, dict[str, Any]]
AT, THERE = 2.0, -2.0  # where branch is captured, and the other side
CALLS = 3
MATRICES = tuple(tape.values(*shape, seed) for seed, shape in enumerate(((3, 4), (4, 2), (1, 2))))  # x, w, b
SCALE = 0.5
RIGHT = {at: tape.branch(tape.Number(tape.scalar(at), [])).data[0][0] for at in (AT, THERE)}
WORDS = {
    "tf_function": ("TF", "TF"),
    "relaxed": ("TF 放宽", "TF relaxed"),
    "torch_compile": ("PT", "PT"),
}
TABLES: dict[str, dict[str, tuple[str, str]]] = {
    "branch": {
        "way": ("方式", "Way"),
        "predicted_there": ("预测 f(-2)", "Predicted f(-2)"),
        "counted_there": ("实测 f(-2)", "Counted f(-2)"),
        "predicted_appends": ("预测 append", "Predicted appends"),
        "counted_appends": ("实测 append", "Counted appends"),
        "counted_error": ("错误", "Error"),
    },
    "traces": {"program": ("依次的参数", "Arguments, one call after another")}
    | {
        f"{prefix}{key}": (f"{number} {zh}", f"{word} {en}")
        for key, (zh, en) in WORDS.items()
        for prefix, number, word in (("predicted_", "预测", "Predicted"), ("counted_", "实测", "Counted"))
    },
    "breaks": {
        "inside": ("两个运算之间", "Between two operations"),
        "counted_graphs": ("图", "Graphs"),
        "counted_fullgraph": ("fullgraph=True", "fullgraph=True"),
        "counted_export": ("torch.export", "torch.export"),
    },
    "passes": {
        "way": ("方式", "Way"),
        "unit": ("数什么", "What is counted"),
        "written": ("写了", "Written"),
        "predicted_left": ("预测执行", "Predicted to run"),
        "counted_left": ("实测执行", "Counted"),
    },
    "saved": {
        "way": ("文件", "File"),
        "holds": ("存的是", "Holds"),
        "predicted_loaded": ("预测 f(-2)", "Predicted f(-2)"),
        "counted_loaded": ("实测 f(-2)", "Counted f(-2)"),
        "counted_error": ("错误", "Error"),
    },
}  # fmt: skip
# How each way captures: by what the page's engines call it; and whether Python runs at each call.
CAPTURES = {
    "TensorFlow eager": ("tape", True),
    "tf.function": ("choice", False),
    "tf.function, autograph=False": ("symbol", False),
    "tf.compat.v1.Session": ("symbol", False),
    "PyTorch eager": ("tape", True),
    "torch.compile": ("tape", True),
    "torch.compile, fullgraph=True": ("symbol", True),
    "torch.compile, torch.cond": ("choice", True),
    "torch.jit.trace": ("trace", False),
    "torch.export": ("symbol", False),
    "torch.export, torch.cond": ("choice", False),
}
NOTES: list[int] = []  # what noted appends to
SEEN = 2


def predict(inputs: dict[str, Any]) -> dict[str, Any]:
    """Predict a row from its inputs: by the page's two engines, its passes, or its rules of retracing."""
    if "program" in inputs:
        ways = {"tf_function": "tf.function", "torch_compile": "torch.compile"}
        return {f"predicted_{key}": retrace.traces(inputs["program"], ways.get(key, key)) for key in (*WORDS, "static", "dynamic")}
    if "captured" in inputs:
        found = {f"predicted_{key}": outcome(inputs["captured"], at) for key, at in (("here", AT), ("there", THERE))}
        return found | {"predicted_appends": CALLS if inputs["python_runs"] else 1}
    if "unit" in inputs:
        return {"predicted_left": left(inputs)}
    if "holds" in inputs:
        return {"predicted_loaded": outcome("choice", THERE) if inputs["holds"] == "graph" else None}
    return {}


def outcome(captured: str, at: float) -> int | None:
    """Give what branch, all of whose values here are integers, gives by an engine of the page; None where it cannot be captured."""
    if captured == "tape":
        return int(tape.branch(tape.Number(tape.scalar(at), [])).data[0][0])
    if captured == "symbol":
        try:
            tape.branch(feed("x"))
        except TypeError:
            return None
    text = traced(tape.branch, AT) if captured == "trace" else save([chosen(feed("x"))])
    return int(run(text, x=tape.scalar(at))[0][0][0])


def left(inputs: dict[str, Any]) -> int:
    """Count what is left of the carelessly written network after the passes that a way has."""
    _, w, b = MATRICES
    known: Callable[..., Node] = constant if inputs["weights_known"] else lambda data: feed(str(data), (len(data), len(data[0])))
    outputs = [tape.network(feed("x", (3, 4)), known(w), known(b), SCALE)]
    if inputs["optimised"]:
        outputs = merge(fold(outputs))
    return len(kernels(outputs, fuse=inputs["unit"] == "kernels"))


def check(rows: Rows) -> None:
    """Assert what the page says of the rows."""
    for name, row in rows.items():
        for key, value in row.items():
            counted = key.replace("predicted_", "counted_")
            if key.startswith("predicted_") and name != "passes_inductor":
                assert row[counted] == value, f"{name}: {key} {value}, counted {row[counted]}"
    errors = {row["way"]: row["counted_error"] for row in rows.values() if "captured" in row and row["counted_error"]}
    assert set(errors) == {way for way, (captured, _) in CAPTURES.items() if captured == "symbol"}, errors
    trace = rows["branch_torch.jit.trace"]
    assert trace["counted_there"] != RIGHT[THERE], f"the trace has both sides: {trace}"
    assert {"DeprecationWarning", "TracerWarning"} <= set(trace["counted_warnings"]), trace
    outside = rows["traces_global"]
    assert outside["counted_results"] == {"tf.function": 2.0, "relaxed": 2.0, "torch.compile": 4.0, "static": 4.0, "dynamic": 4.0}, outside
    assert rows["passes_inductor"]["counted_left"] == rows["passes_inductor"]["predicted_left"] + 1, rows["passes_inductor"]
    for name, row in rows.items():
        if "measured_difference" in row:
            assert row["measured_difference"] < 1e-12, f"{name}: {row}"


def main() -> None:
    """Run both libraries, check, and print the record's rows."""
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": ""}
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
    libraries = Libraries()
    rows: Rows = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows |= libraries.branches()
        rows |= libraries.retraces()
        rows |= libraries.breaks()
        rows |= libraries.passes()
        rows |= libraries.gradients()
        rows |= libraries.saved()
    gpu.say(json.dumps(rows))
    check(rows)
    print(json.dumps({"rows": rows, "versions": libraries.versions()}))


class Libraries:
    """Both libraries, and what is asked of them."""

    def __init__(self) -> None:
        """Import them; what they log is not wanted: each warning here is provoked."""
        self.tf: Any = importlib.import_module("tensorflow")
        self.torch: Any = importlib.import_module("torch")
        logging.disable(logging.CRITICAL)

    def versions(self) -> dict[str, str]:
        """Name the versions, as the record keeps them."""
        return {"TensorFlow": self.tf.__version__, "PyTorch": self.torch.__version__, "Python": sys.version.split()[0]}

    def branches(self) -> Rows:
        """Evaluate branch on both sides in each way, and count how often its Python runs."""
        rows: Rows = {}
        for way, (captured, python_runs) in CAPTURES.items():
            inputs = {"way": way, "captured": captured, "python_runs": python_runs}
            found: dict[str, Any] = {"counted_here": None, "counted_there": None, "counted_error": None}
            try:
                with warnings.catch_warnings(record=True) as warned:
                    warnings.simplefilter("always")
                    function = self.captured(way, self.chosen if way.endswith("torch.cond") else tape.branch)
                found["counted_warnings"] = sorted({each.category.__name__ for each in warned})
                found |= {f"counted_{side}": whole(function(self.number(way, at))) for side, at in (("here", AT), ("there", THERE))}
            except Exception as error:  # noqa: BLE001 - which error is what is recorded
                found["counted_error"] = type(error).__name__
            NOTES.clear()
            function = self.captured(way, noted)
            for _ in range(CALLS):
                function(self.number(way, AT))
            found["counted_appends"] = len(NOTES)
            rows[f"branch_{way}"] = inputs | predict(inputs) | found
        return rows

    def number(self, way: str, value: float) -> Any:
        """Give a tensor of the way's library."""
        if way == "tf.compat.v1.Session":
            return value
        tensorflow = way.startswith(("TensorFlow", "tf."))
        return self.tf.constant(value, self.tf.float64) if tensorflow else self.torch.tensor(value).double()

    def captured(self, way: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Capture a function in one of the ways, at AT where an example is wanted."""
        tf, torch = self.tf, self.torch
        torch.compiler.reset()
        example = (torch.tensor(AT).double(),)
        ways: dict[str, Callable[[], Any]] = {
            "tf.function": lambda: tf.function(function),
            "tf.function, autograph=False": lambda: tf.function(function, autograph=False),
            "tf.compat.v1.Session": lambda: self.session(function),
            "torch.compile": lambda: torch.compile(function, backend="eager"),
            "torch.compile, fullgraph=True": lambda: torch.compile(function, backend="eager", fullgraph=True),
            "torch.compile, torch.cond": lambda: torch.compile(function, backend="eager", fullgraph=True),
            "torch.jit.trace": lambda: torch.jit.trace(function, example, check_trace=False),
            "torch.export": lambda: torch.export.export(self.module(function), example).module(),
            "torch.export, torch.cond": lambda: torch.export.export(self.module(function), example).module(),
        }
        with contextlib.redirect_stdout(io.StringIO()):
            found: Callable[[Any], Any] = ways[way]() if way in ways else function
        return found

    def session(self, function: Callable[[Any], Any]) -> Callable[[float], float]:
        """Build a graph as in TensorFlow 1, and give what runs it."""
        v1, graph = self.tf.compat.v1, self.tf.Graph()
        with graph.as_default():
            x = v1.placeholder(self.tf.float64, ())
            y = function(x)
        session = v1.Session(graph=graph)
        return lambda value: float(session.run(y, {x: value}))

    def module(self, function: Callable[[Any], Any]) -> Any:
        """Wrap a function as PyTorch's module, which torch.export wants."""
        torch: Any = self.torch

        class Wrapped(torch.nn.Module):  # type: ignore[misc]
            def forward(self, x: Any) -> Any:
                return function(x)

        return Wrapped()

    def chosen(self, x: Any) -> Any:
        """Give branch with torch.cond: both sides are in the graph."""
        return self.torch.cond(x > 0.0, lambda x: x * x + x * 3.0, lambda x: x * -1.0, (x,))

    def retraces(self) -> Rows:
        """Call a function with one argument after another, and count how often it is captured."""
        rows: Rows = {}
        options: dict[str, dict[str, Any]] = {"tf.function": {}, "relaxed": {"reduce_retracing": True}, "torch.compile": {}}
        options |= {"static": {"dynamic": False}, "dynamic": {"dynamic": True}}
        for name, program in retrace.PROGRAMS.items():
            counted, results = {}, {}
            for way, option in options.items():
                key = way.replace(".", "_")
                counted[f"counted_{key}"], results[way] = self.traces(program, "tf" if way in ("tf.function", "relaxed") else "torch", option)
            rows[f"traces_{name}"] = {"program": program} | predict({"program": program}) | counted | {"counted_results": results}
        return rows

    def traces(self, program: str, library: str, option: dict[str, Any]) -> tuple[int, float]:
        """Run one program; give how often the function was captured, and the first number of the last result."""
        torch, count = self.torch, [0]
        torch.compiler.reset()

        def backend(module: Any, _: Any) -> Any:
            count[0] += 1
            return module.forward

        def traced_by_tensorflow(x: Any) -> Any:
            count[0] += 1
            return used(x, self.tf.ones(2))

        def compiled_by_pytorch(x: Any) -> Any:
            return used(x, one)

        one = torch.ones(2)
        function = (
            self.tf.function(traced_by_tensorflow, **option) if library == "tf" else torch.compile(compiled_by_pytorch, backend=backend, **option)
        )
        result: Any = None
        for call in retrace.parse(program):
            globals()["SEEN"] = int(call.outside)
            argument = call.value if call.sizes is None else self.ones(library, call.sizes, double=call.kind == "f64")
            result = function(argument)
        globals()["SEEN"] = 2
        return count[0], float(result.numpy().ravel()[0])

    def ones(self, library: str, sizes: tuple[int, ...], *, double: bool) -> Any:
        """Give a tensor of ones."""
        if library == "tf":
            return self.tf.ones(sizes, self.tf.float64 if double else self.tf.float32)
        return self.torch.ones(sizes, dtype=self.torch.float64 if double else self.torch.float32)

    def breaks(self) -> Rows:
        """Count the graphs that torch.compile makes of one call, and whether the whole can be captured."""
        torch, rows, x = self.torch, dict[str, dict[str, Any]](), self.torch.ones(4)

        def conditional(x: Any) -> Any:
            y = x.sin()
            return torch.cond(y.sum() > 0, torch.cos, torch.exp, (y,)).cos()

        for text, function in (BETWEEN | {"y = torch.cond(y.sum() > 0, f, g, (y,))": conditional}).items():
            graphs: list[Any] = []

            def backend(module: Any, _: Any, graphs: list[Any] = graphs) -> Any:
                graphs.append(module)
                return module.forward

            with contextlib.redirect_stdout(io.StringIO()):
                torch.compiler.reset()
                torch.compile(function, backend=backend)(x)
                torch.compiler.reset()
                whole = error_of(torch.compile(function, backend="eager", fullgraph=True), x)
                exported = error_of(torch.export.export, self.module(function), (x,))
            counted = {"counted_graphs": len(graphs), "counted_fullgraph": whole, "counted_export": exported}
            rows[f"breaks_{function.__name__}"] = {"inside": text} | counted
        return rows

    def passes(self) -> Rows:
        """Count what is run of the carelessly written network: operations, or kernels and products."""
        ways = {
            "eager": {"way": "PyTorch eager", "unit": "operations", "weights_known": False, "optimised": False},
            "session": {"way": "tf.compat.v1.Session", "unit": "operations", "weights_known": True, "optimised": True},
            "frozen": {"way": "torch.compile, freezing", "unit": "kernels", "weights_known": True, "optimised": True},
            "training": {"way": "torch.compile, training", "unit": "kernels", "weights_known": False, "optimised": True},
            "inductor": {"way": "torch.compile, inference", "unit": "kernels", "weights_known": False, "optimised": True},
        }
        counted = {"eager": self.eager_operations(), "session": self.session_operations()}
        counted |= {way: self.compiled_kernels(way) for way in ("frozen", "training", "inductor")}
        return {f"passes_{way}": inputs | {"written": 8} | predict(inputs) | {"counted_left": counted[way]} for way, inputs in ways.items()}

    def tensors(self) -> list[Any]:
        """Give x, w and b as PyTorch's tensors."""
        return [self.torch.tensor(each, dtype=self.torch.float64) for each in MATRICES]

    def eager_operations(self) -> int:
        """Count the operations that PyTorch dispatches."""
        modes: Any = importlib.import_module("torch.utils._python_dispatch")
        seen: list[str] = []

        class Counting(modes.TorchDispatchMode):  # type: ignore[misc]
            def __torch_dispatch__(self, operation: Any, _: Any, arguments: Any = (), keywords: Any = None) -> Any:
                seen.append(str(operation))
                return operation(*arguments, **(keywords or {}))

        x, w, b = self.tensors()
        with Counting():
            tape.network(x, w, b, SCALE)
        return len(seen)

    def session_operations(self) -> int:
        """Count the operations of the graph that a session executed, after TensorFlow's own passes."""
        tf, v1 = self.tf, self.tf.compat.v1
        graph, metadata = tf.Graph(), v1.RunMetadata()
        x, w, b = MATRICES
        with graph.as_default():
            fed = v1.placeholder(tf.float64, (3, 4))
            y = tensorflow_network(tf, fed, tf.constant(w, tf.float64), tf.constant(b, tf.float64))
            with v1.Session(graph=graph) as session:
                session.run(y, {fed: x}, options=v1.RunOptions(output_partition_graphs=True), run_metadata=metadata)
        return sum(not node.op.startswith("_") and node.op != "Const" for each in metadata.partition_graphs for node in each.node)

    def compiled_kernels(self, way: str) -> int:
        """Count the kernels that Inductor generates for the network, with the products that it calls."""
        torch: Any = self.torch
        inductor: list[Any] = [importlib.import_module(f"torch._inductor.{name}") for name in ("metrics", "utils", "config")]
        metrics, utilities, config = inductor
        x, w, b = self.tensors()
        torch.compiler.reset()
        metrics.reset()
        known = torch.nn.ParameterList([torch.nn.Parameter(each, requires_grad=way == "training") for each in (w, b)])

        class Network(torch.nn.Module):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.known = known

            def forward(self, x: Any) -> Any:
                return tape.network(x, self.known[0], self.known[1], SCALE)

        with torch.set_grad_enabled(way == "training"), config.patch(freezing=way == "frozen"):
            _, codes = utilities.run_and_get_code(torch.compile(Network()), x)
        found: int = metrics.generated_kernel_count + codes[0].count("extern_kernels.")
        return found

    def gradients(self) -> Rows:
        """Differentiate the network in each way, and compare with the page's tape."""
        tf, torch = self.tf, self.torch
        history: list[tape.Number] = []
        numbers = tape.Number(MATRICES[0], history), tape.Number(MATRICES[1], history), tape.Number(MATRICES[2], history)
        y = tape.network(*numbers, SCALE)
        expected = [each.data for each in tape.gradients(history, y, tape.Number(tape.ones(y.shape), history), numbers)]
        found: dict[str, list[Any]] = {}
        variables = [tf.Variable(each, dtype=tf.float64) for each in MATRICES]
        with tf.GradientTape() as recorded:
            y = tensorflow_network(tf, *variables)
        found["tf.GradientTape"] = [each.numpy() for each in recorded.gradient(y, variables)]
        graph = tf.Graph()
        with graph.as_default():
            fed = [tf.compat.v1.placeholder(tf.float64, (len(each), len(each[0]))) for each in MATRICES]
            wanted = tf.compat.v1.gradients(tensorflow_network(tf, *fed), fed)
            with tf.compat.v1.Session(graph=graph) as session:
                found["tf.gradients"] = session.run(wanted, dict(zip(fed, MATRICES, strict=True)))
        torch.compiler.reset()
        for way, function in (("Tensor.backward", tape.network), ("torch.compile", torch.compile(tape.network))):
            x, w, b = (each.requires_grad_() for each in self.tensors())
            function(x, w, b, SCALE).sum().backward()
            found[way] = [each.grad.numpy() for each in (x, w, b)]
        rows: Rows = {}
        for way, matrices in found.items():
            rows[f"gradients_{way}"] = {"gradient": way, "measured_difference": max(map(difference, expected, matrices))}
        return rows

    def saved(self) -> Rows:
        """Save branch, and run the file in a process that has none of its code."""
        tf, torch = self.tf, self.torch
        rows: Rows = {}
        with tempfile.TemporaryDirectory() as folder:
            module = tf.Module()
            module.f = tf.function(tape.branch, input_signature=[tf.TensorSpec((), tf.float64)])
            tf.saved_model.save(module, f"{folder}/saved_model")
            torch.export.save(torch.export.export(self.module(self.chosen), (torch.tensor(AT).double(),)), f"{folder}/branch.pt2")
            torch.save(Holder(), f"{folder}/module.pt")
            value = f"torch.tensor({THERE}).double()"
            loaders = {
                "SavedModel": (
                    "graph",
                    f"import tensorflow as tf; print(float(tf.saved_model.load('saved_model').f(tf.constant({THERE}, tf.float64))))",
                ),
                "torch.export": ("graph", f"import torch; print(float(torch.export.load('branch.pt2').module()({value})))"),
                "pickle": ("code", f"import torch; print(float(torch.load('module.pt', weights_only=False)({value})))"),
            }
            environment = {key: text for key, text in os.environ.items() if key != "PYTHONPATH"}
            for way, (holds, code) in loaders.items():
                done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False)
                inputs = {"way": way, "holds": holds}
                error = done.stderr.strip().splitlines()[-1].partition(":")[0] if done.returncode else None
                loaded = None if done.returncode else whole(done.stdout)
                rows[f"saved_{way}"] = inputs | predict(inputs) | {"counted_loaded": loaded, "counted_error": error}
        return rows


class Holder:
    """A model as Python's pickle stores it: the name of its class, and nothing of its code."""

    def __call__(self, x: Any) -> Any:
        """Give branch."""
        return tape.branch(x)


def whole(value: Any) -> int:
    """Give an integer that a library holds as a floating-point number."""
    number = float(value)
    assert number.is_integer(), number
    return int(number)


def noted(x: Any) -> Any:
    """Note each time that Python comes by."""
    NOTES.append(1)
    return x * 2.0


def used(x: Any, one: Any) -> Any:
    """Use an argument of any kind, and a global."""
    if isinstance(x, str):
        return one * len(x)
    if isinstance(x, (bool, int, float)):
        return one * x
    return x * SEEN


def difference(mine: tape.Matrix, theirs: Any) -> float:
    """Give the largest difference of two matrices."""
    return max(abs(a - float(b)) for row, other in zip(mine, theirs, strict=True) for a, b in zip(row, other, strict=True))


def straight(x: Any) -> Any:
    """Do nothing between the two."""
    return x.sin().cos()


def looped(x: Any) -> Any:
    """Loop as often as Python knows."""
    y = x.sin()
    for _ in range(3):
        y = y.sin()
    return y.cos()


def shaped(x: Any) -> Any:
    """Ask for a shape, which the graph knows."""
    y = x.sin()
    if y.shape[0] > 2:
        y = y + 1
    return y.cos()


def appended(x: Any) -> Any:
    """Change something outside."""
    y = x.sin()
    NOTES.append(1)
    return y.cos()


def branched(x: Any) -> Any:
    """Ask for a value."""
    y = x.sin()
    if y.sum() > 0:
        y = y + 1
    return y.cos()


def extracted(x: Any) -> Any:
    """Take a value out of its tensor."""
    y = x.sin()
    return (y * y.sum().item()).cos()


def printed(x: Any) -> Any:
    """Print."""
    y = x.sin()
    print()
    return y.cos()


def timed(x: Any) -> Any:
    """Ask for the time."""
    y = x.sin()
    time.time()
    return y.cos()


BETWEEN: dict[str, Callable[[Any], Any]] = {
    "pass": straight,
    "for _ in range(3): y = y.sin()": looped,
    "if y.shape[0] > 2: y = y + 1": shaped,
    "notes.append(1)": appended,
    "if y.sum() > 0: y = y + 1": branched,
    "y = y * y.sum().item()": extracted,
    "print()": printed,
    "time.time()": timed,
}


def error_of(call: Callable[..., Any], *arguments: Any) -> str:
    """Give "ok", or the name of the error."""
    try:
        call(*arguments)
    except Exception as error:  # noqa: BLE001 - which error is what is recorded
        return type(error).__name__
    return "ok"


def tensorflow_network(tf: Any, x: Any, w: Any, b: Any) -> Any:
    """Give tape.network in TensorFlow's words: a tensor has no method sigmoid there."""
    return (x @ (w * SCALE) + b) * tf.sigmoid(x @ (w * SCALE) + b)


if __name__ == "__main__":
    main()
