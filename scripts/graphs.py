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
