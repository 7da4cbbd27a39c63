"""The tools of the quantisation questions that run without a GPU: the scanner on a real model, the typed graph, the worker that is not there."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.reference
import pytest

import digits
import graphs
import trt
from project import CANNOT, SNIPPETS

BROKEN: dict[str, Any] = {"stream": 300.0}  # the residual stream is so much larger, which the normalisations take out again


@pytest.fixture(name="network")
def attention() -> tuple[bytes, dict[str, Any], Any]:
    """Give the broken network's model for 64 test images, its inputs, and their labels."""
    kept = json.loads((SNIPPETS / "calibration" / "digits.json").read_text("utf-8"))
    images = np.array([[int(sign, 17) for sign in image] for image in kept["test"][:64]], np.float32).reshape(-1, 8, 8)
    labels = np.array([int(sign) for sign in kept["labels"][:64]])
    return digits.attention(digits.weights("attention"), 64, **BROKEN), {"image": digits.prepare(images)}, labels


def test_the_scanner_names_the_tensor_that_fp16_loses_first(
    network: tuple[bytes, dict[str, Any], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, inputs, _ = network
    (tmp_path / "model.onnx").write_bytes(model)
    np.savez(tmp_path / "inputs.npz", **inputs)
    monkeypatch.syspath_prepend(str(SNIPPETS / "fp16-accuracy-loss"))
    scan = importlib.import_module("scan")
    monkeypatch.setattr(sys, "argv", ["scan.py", str(tmp_path / "model.onnx"), str(tmp_path / "inputs.npz")])
    scan.main()
    assert capsys.readouterr().out.splitlines()[0].startswith("norm1.square: overflows: ")


def test_a_typed_graph_breaks_in_fp16_and_is_mended_by_the_nodes_that_stay_fp32(network: tuple[bytes, dict[str, Any], Any]) -> None:
    model, inputs, labels = network
    models = [model, graphs.halved(model), graphs.halved(model, ("norm1*", "norm2*", "norm3*"))]
    with np.errstate(all="ignore"):
        exact, half, mended = (digits.accuracy(outputs(each, inputs), labels) for each in models)
    assert exact > 0.9
    assert half < 0.3
    assert mended == pytest.approx(exact, abs=0.04)


def outputs(model: bytes, inputs: dict[str, Any]) -> Any:
    """Run a model with every operation rounded to its type, and give its first output."""
    found: Any = onnx.reference.ReferenceEvaluator(model).run(None, inputs)
    return found[0]


def test_a_typed_graph_casts_only_where_types_meet(network: tuple[bytes, dict[str, Any], Any]) -> None:
    graph = onnx.load_from_string(graphs.halved(network[0], ("norm2*",))).graph
    kinds = {each.name: each.data_type for each in graph.initializer}
    assert kinds["norm2.w.float32"] == onnx.TensorProto.FLOAT
    assert kinds["norm1.w.float16"] == onnx.TensorProto.FLOAT16
    assert kinds["shape"] == onnx.TensorProto.INT64
    casts = [node.output[0] for node in graph.node if node.op_type == "Cast"]
    assert casts == ["image.float16", "stream2.float32", "norm2.float16", "answer"]


def test_without_tensorrt_a_bench_says_where_it_looks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv(trt.VARIABLE, raising=False)
    with pytest.raises(SystemExit) as ended:
        trt.Worker()
    assert ended.value.code == CANNOT
    assert trt.VARIABLE in capsys.readouterr().err
