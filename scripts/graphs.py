"""Make small ONNX models: a graph in which every tensor has the name of the node that gives it."""

import importlib
from typing import Any

OPSET, IR = 17, 8  # the newest that TensorRT 8.6 reads


class Graph:
    """An ONNX graph in the making; every tensor has the name of the node that gives it."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: Any, kind: str = "float32") -> str:
        """Keep an array as an initialiser."""
        import numpy as np  # noqa: PLC0415 - a bench is imported without it too

        onnx: Any = importlib.import_module("onnx")
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def node(self, op: str, inputs: list[str], name: str, **attributes: Any) -> str:
        """Add a node and give its output's name."""
        onnx: Any = importlib.import_module("onnx")
        self.nodes.append(onnx.helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def quantised(  # noqa: PLR0913 - what a pair can be given
        self, tensor: str, largest: Any, *, axis: int | None = None, zero: int = 0, kind: str = "int8", tag: str = ""
    ) -> str:
        """Add a pair QuantizeLinear, DequantizeLinear whose scale makes the largest value 127 (a number, or one a channel)."""
        import numpy as np  # noqa: PLC0415

        scale = np.maximum(np.asarray(largest, np.float32), np.float32(1e-12)) / np.float32(127)
        name = tensor + tag
        self.constant(name + ".scale", scale)
        self.constant(name + ".zero", np.full(scale.shape, zero), kind)
        attributes = {} if axis is None else {"axis": axis}
        self.node("QuantizeLinear", [tensor, name + ".scale", name + ".zero"], name + ".q", **attributes)
        return self.node("DequantizeLinear", [name + ".q", name + ".scale", name + ".zero"], name + ".dq", **attributes)

    def model(self, inputs: dict[str, list[Any]], outputs: dict[str, list[Any]]) -> bytes:
        """Give the model's bytes, checked."""
        onnx: Any = importlib.import_module("onnx")
        helper = onnx.helper
        described = [
            [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in each.items()] for each in (inputs, outputs)
        ]
        graph = helper.make_graph(self.nodes, "network", *described, initializer=self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())


def halved(model: bytes, kept: tuple[str, ...] = ()) -> bytes:
    """Give a model whose tensors and constants are FP16, as a typed network has them: casts stand only where FP16 and FP32 meet.

    kept: nodes that compute in FP32, by name, or with * at its end by the beginning of one. Every node gives one floating-point tensor.
    """
    onnx: Any = importlib.import_module("onnx")
    whole = onnx.load_from_string(model)
    typed = _Typed(whole.graph)
    for node in whole.graph.node:
        typed.add(node, "float32" if any(named(node.name, pattern) for pattern in kept) else "float16")
    for output in whole.graph.output:
        typed.finish(output.name)
    del whole.graph.node[:], whole.graph.initializer[:]
    whole.graph.node.extend(typed.nodes)
    whole.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in typed.constants.items())
    onnx.checker.check_model(whole)
    return bytes(whole.SerializeToString())


def named(name: str, pattern: str) -> bool:
    """Tell whether a pattern means a name: it is the name, or with * at its end the beginning of it."""
    return name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1]))


class _Typed:
    """The nodes and constants of a graph in two types; a tensor has a name in each type in which somebody takes it."""

    def __init__(self, graph: Any) -> None:
        """Begin with the graph's inputs, which are FP32, and its constants."""
        self.onnx: Any = importlib.import_module("onnx")
        self.arrays = {each.name: self.onnx.numpy_helper.to_array(each) for each in graph.initializer}
        self.constants: dict[str, Any] = {}
        self.nodes: list[Any] = []
        self.names: dict[str, dict[str, str]] = {each.name: {"float32": each.name} for each in graph.input}

    def add(self, node: Any, kind: str) -> None:
        """Add a node that computes in a type."""
        (output,) = node.output
        node.input[:] = [self.taken(name, kind) for name in node.input]
        node.output[:] = [f"{output}.{kind}"]
        self.names[output] = {kind: f"{output}.{kind}"}
        self.nodes.append(node)

    def taken(self, name: str, kind: str) -> str:
        """Give the name of a tensor or a constant in a type."""
        import numpy as np  # noqa: PLC0415

        array = self.arrays.get(name)
        if array is not None:
            if array.dtype != np.float32:
                self.constants[name] = array
                return name
            with np.errstate(over="ignore"):  # a constant beyond FP16 is Inf there: that is what a typed network holds
                self.constants[f"{name}.{kind}"] = array.astype(kind)
            return f"{name}.{kind}"
        names = self.names[name]
        if kind not in names:
            names[kind] = self.cast(next(iter(names.values())), f"{name}.{kind}", kind)
        return names[kind]

    def cast(self, source: str, name: str, kind: str) -> str:
        """Add a cast."""
        to = {"float16": self.onnx.TensorProto.FLOAT16, "float32": self.onnx.TensorProto.FLOAT}[kind]
        self.nodes.append(self.onnx.helper.make_node("Cast", [source], [name], name=name + ".cast", to=to))
        return name

    def finish(self, output: str) -> None:
        """Give one of the graph's outputs, which are FP32."""
        (name,) = self.names[output].values()
        self.cast(name, output, "float32")
