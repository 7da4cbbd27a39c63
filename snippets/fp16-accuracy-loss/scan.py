"""Find the tensors that FP16 cannot hold, from the magnitudes that FP32 sees, before an engine is built.

python scan.py                          scan the pieces of causes.py
python scan.py model.onnx inputs.npz    scan a model: needs onnx, onnxruntime and numpy; random inputs without the second file
"""

import importlib
import math
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

import causes
from formats import FP16

MARGIN = 4.0  # 1..64: how far below the largest number a tensor has to stay, because other inputs give other numbers


# --8<-- [start:core]
class Magnitudes(NamedTuple):
    """The least and the largest magnitude of a tensor that are neither zero nor infinite."""

    name: str
    least: float
    largest: float


def magnitudes(name: str, values: Iterable[float]) -> Magnitudes:
    """Look through a tensor's values."""
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    return Magnitudes(name, min(sizes, default=0.0), max(sizes, default=0.0))


def finding(tensor: Magnitudes, margin: float = MARGIN) -> str:
    """Say what FP16 does to a tensor; nothing, when it holds it well."""
    if math.isinf(FP16.round(tensor.largest)):
        return f"overflows: {tensor.largest:.3g}"
    if tensor.largest and FP16.round(tensor.largest) == 0:
        return f"vanishes: {tensor.largest:.3g}"
    if tensor.largest * margin > FP16.largest:
        return f"near the end: {tensor.largest:.3g}"
    return f"subnormal: {tensor.largest:.3g}" if 0 < tensor.largest < FP16.smallest_normal else ""


def scan(tensors: Iterable[Magnitudes]) -> list[tuple[str, str]]:
    """Give what was found, in the order of the tensors, but what is lost before what is only close: begin with what stands first."""
    found = [(tensor.name, finding(tensor)) for tensor in tensors]
    return sorted(filter(lambda each: each[1], found), key=lambda each: not each[1].startswith(("overflows", "vanishes")))


# --8<-- [end:core]


def of_model(path: str, inputs: str | None) -> list[Magnitudes]:
    """Run a model in FP32 with ONNX Runtime, every tensor marked as an output, and give the magnitudes, a constant's where it is used first."""
    np, onnx, onnxruntime = (importlib.import_module(name) for name in ("numpy", "onnx", "onnxruntime"))
    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    constants = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant":
            constants[node.output[0]] = next(onnx.numpy_helper.to_array(each.t) for each in node.attribute if each.name == "value")
    known = {each.name for each in model.graph.output}
    model.graph.output.extend(each for each in model.graph.value_info if each.name not in known)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    given: dict[str, Any] = dict(np.load(inputs)) if inputs else {}
    for each in session.get_inputs():
        shape = [size if isinstance(size, int) else 1 for size in each.shape]
        given.setdefault(each.name, np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    names = [each.name for each in session.get_outputs()]
    results = dict(zip(names, session.run(names, given), strict=True))
    all_of = constants | results
    ordered = {name: all_of[name] for node in model.graph.node for name in [*node.input, *node.output] if name in all_of}
    return [magnitudes(name, array.ravel().tolist()) for name, array in ordered.items() if array.dtype.kind == "f"]


def main() -> None:
    """Scan what the command line names, or the five pieces."""
    if len(sys.argv) > 1:
        found = scan(of_model(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
        print("\n".join(f"{name}: {what}" for name, what in found) or "nothing leaves FP16's range")
        return
    print(f"{'piece':15}{'scanned in FP32':42}what FP16 then loses first")
    for name, (half, exact) in causes.cases().items():
        found = scan(magnitudes(tensor, values) for tensor, values in exact.items())
        print(f"{name:15}{': '.join(found[0]) if found else 'nothing':42}{causes.first_lost(half, exact)}")


if __name__ == "__main__":
    main()
