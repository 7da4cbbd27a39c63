"""The two small networks of the pages on precision, on scikit-learn's 1,797 handwritten digits, as ONNX models.

`cnn` is convolutional with one residual addition, `attention` one transformer block on the columns of an image. Both are
made with their mathematics unchanged and their numbers moved (a channel a hundred times as large, say, and the next layer's
weights a hundredth), because that is what precision notices. Weights: scripts/digits.npz, by scripts/train_digits.py.
"""

import importlib
from pathlib import Path
from typing import Any

from graphs import Graph

WEIGHTS = Path(__file__).with_name("digits.npz")
TRAINED, CALIBRATION = 1000, 512  # images that were trained on; how many of them calibrate
MEAN, SPREAD = 5.0, 6.0  # of a pixel, which is 0 to 16


def data() -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Give the images (0 to 16) and labels that trained the networks, and those that test them."""
    import numpy as np  # noqa: PLC0415 - a bench is imported without it too

    loaded = importlib.import_module("sklearn.datasets").load_digits()
    order = np.random.default_rng(0).permutation(len(loaded.target))
    images, labels = loaded.images[order].astype(np.float32), loaded.target[order]
    return (images[:TRAINED], labels[:TRAINED]), (images[TRAINED:], labels[TRAINED:])


def prepare(images: Any) -> Any:
    """Give what a network takes: one channel, about centred, about unit size."""
    import numpy as np  # noqa: PLC0415

    return ((images - MEAN) / SPREAD)[:, None].astype(np.float32)


def accuracy(scores: Any, labels: Any) -> float:
    """Give the share of images whose largest score is the right one; a NaN is never right."""
    import numpy as np  # noqa: PLC0415

    finite = np.isfinite(scores).all(1)
    return round(float(np.mean((np.argmax(np.where(np.isfinite(scores), scores, 0), 1) == labels) & finite)), 4)


def weights(name: str) -> dict[str, Any]:
    """Give a network's trained weights."""
    import numpy as np  # noqa: PLC0415

    with np.load(WEIGHTS) as kept:
        return {key.partition(".")[2]: kept[key] for key in kept.files if key.startswith(name + ".")}


CNN_TENSORS = ("image", "relu1", "relu2", "relu3", "relu4")  # what the weighted layers take, in order
CNN_LAYERS = ("conv1", "conv2", "conv3", "conv4", "fc")


def cnn(  # noqa: PLR0913 - each is one thing that can be right or wrong
    values: dict[str, Any],
    batch: int | str,
    *,
    ranges: dict[str, float] | None = None,
    layers: tuple[str, ...] = CNN_LAYERS,
    by_channel: bool = True,
    placement: str = "inputs",
    zero: int = 0,
    kind: str = "int8",
) -> bytes:
    """Give the convolutional network, with Q/DQ pairs when ranges names the largest value of each tensor.

    layers: those that are quantised. by_channel: a scale a channel for weights, else one for all. placement: "inputs" of the
    weighted layers, which is right; "outputs": behind each convolution, before its ReLU, too; "skip": all but the residual
    input; "shared": the sum too, with the scale of what it is added to. zero, kind: the activations' zero point and its type.
    """
    import numpy as np  # noqa: PLC0415

    graph = Graph()
    for key, value in values.items():
        graph.constant(key, value)

    def take(tensor: str, layer: str) -> str:
        if ranges is None or layer not in layers:
            return tensor
        if any(node.name == tensor + ".dq" for node in graph.nodes):
            return tensor + ".dq"
        return graph.quantised(tensor, ranges[tensor], zero=zero, kind=kind)

    def weight(layer: str) -> str:
        name, array = layer + ".w", values[layer + ".w"]
        if ranges is None or layer not in layers:
            return name
        axis = 1 if layer == "fc" else 0
        others = tuple(index for index in range(array.ndim) if index != axis)
        return graph.quantised(name, np.abs(array).max(others) if by_channel else np.abs(array).max(), axis=axis if by_channel else None)

    def conv(tensor: str, layer: str, stride: int = 1) -> str:
        inputs = [take(tensor, layer), weight(layer), layer + ".b"]
        name = graph.node("Conv", inputs, layer, pads=[1, 1, 1, 1], kernel_shape=[3, 3], strides=[stride, stride])
        if ranges is not None and placement == "outputs" and layer in layers:
            name = graph.quantised(name, ranges[layer])
        return name

    x = graph.node("Relu", [conv("image", "conv1")], "relu1")
    x = graph.node("Relu", [conv(x, "conv2")], "relu2")
    y = conv(x, "conv3")
    skip = x + ".dq" if ranges is not None and "conv3" in layers and placement != "skip" else x
    total = graph.node("Add", [y, skip], "sum")
    if ranges is not None and placement == "shared":
        total = graph.quantised(total, ranges["relu2"])
    x = graph.node("Relu", [total], "relu3")
    x = graph.node("Relu", [conv(x, "conv4", 2)], "relu4")
    source = take(x, "fc")
    graph.constant("flat", [-1, 512] if isinstance(batch, str) else [batch, 512], "int64")
    x = graph.node("Reshape", [source, "flat"], "flattened")
    graph.node("Add", [graph.node("MatMul", [x, weight("fc")], "fc"), "fc.b"], "scores")
    return graph.model({"image": [batch, 1, 8, 8]}, {"scores": [batch, 10]})


def outlier_activation(values: dict[str, Any], channel: int | slice, factor: float) -> dict[str, Any]:
    """Make one channel behind the first convolution larger by a factor, and the next layer's weights for it smaller: the same function."""
    changed = {key: value.copy() for key, value in values.items()}
    changed["conv1.w"][channel] *= factor
    changed["conv1.b"][channel] *= factor
    changed["conv2.w"][:, channel] /= factor
    return changed


def outlier_weight(values: dict[str, Any], channel: int, factor: float) -> dict[str, Any]:
    """Make one channel of the last convolution larger by a factor, and the last layer's weights for it smaller: the same function."""
    changed = {key: value.copy() for key, value in values.items()}
    changed["conv4.w"][channel] *= factor
    changed["conv4.b"][channel] *= factor
    changed["fc.w"].reshape(32, 16, 10)[channel] /= factor
    return changed


def cnn_activations(values: dict[str, Any], images: Any) -> dict[str, Any]:
    """Give the arrays of all the tensors of the convolutional network, in NumPy's FP32."""
    import numpy as np  # noqa: PLC0415

    def conv(x: Any, name: str, stride: int = 1) -> Any:
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::stride, ::stride]
        return np.einsum("nchwij,ocij->nohw", windows, values[name + ".w"], optimize=True) + values[name + ".b"][:, None, None]

    found = {"image": images}
    found["conv1"] = conv(images, "conv1")
    found["relu1"] = np.maximum(found["conv1"], 0)
    found["conv2"] = conv(found["relu1"], "conv2")
    found["relu2"] = np.maximum(found["conv2"], 0)
    found["conv3"] = conv(found["relu2"], "conv3")
    found["sum"] = found["conv3"] + found["relu2"]
    found["relu3"] = np.maximum(found["sum"], 0)
    found["conv4"] = conv(found["relu3"], "conv4", 2)
    found["relu4"] = np.maximum(found["conv4"], 0)
    found["scores"] = found["relu4"].reshape(len(images), -1) @ values["fc.w"] + values["fc.b"]
    return found


def attention(  # noqa: C901, PLR0913, PLR0915 - as above, and one network reads best in one piece
    values: dict[str, Any],
    batch: int,
    *,
    stream: float = 1.0,
    epsilon: float = 1e-5,
    norm: str = "operators",
    mask: str = "",
    shift: int = 0,
    softmax: str = "operator",
) -> bytes:
    """Give the attention network: the same function, whatever the options, as long as the numbers have FP32's range.

    stream: factor of the residual stream, which the normalisations take out again. epsilon: of the first normalisation. norm:
    "operators" (Pow, ReduceMean, Sqrt, Div) or "layer" (LayerNormalization). mask: "" none, "times" (0 x -1e9, computed from
    an input), "twice" (two constants of -60,000 for a ninth token, which looks at nothing, at which nothing looks, and whose share of the mean is 0).
    shift: the weights of `down` are 2**-shift as large, and what it gives 2**shift. softmax: "operator", or
    "exponentials" of scores that are all larger by 12, over their sum.
    """
    import numpy as np  # noqa: PLC0415

    graph = Graph()
    values = {key: value.astype(np.float32) for key, value in values.items()}
    for key in ("embed.w", "embed.b", "position", "o.w", "o.b", "down.w", "down.b"):
        values[key] = values[key] * np.float32(stream)
    values["down.w"], values["down.b"] = values["down.w"] * np.float32(2.0**-shift), values["down.b"] * np.float32(2.0**-shift)
    tokens = 9 if mask == "twice" else 8
    if mask == "twice":
        values["position"] = np.concatenate([values["position"], values["position"][:1]])
    for key, value in values.items():
        graph.constant(key, value)
    graph.constant("two", 2.0)

    def dense(x: str, name: str) -> str:
        return graph.node("Add", [graph.node("MatMul", [x, name + ".w"], name + ".product"), name + ".b"], name)

    def normalised(x: str, name: str, small: float, scale: tuple[str, str] | None) -> str:
        if norm == "layer" and scale:
            return graph.node("LayerNormalization", [x, *scale], name, axis=-1, epsilon=small)
        graph.constant(name + ".epsilon", small)
        centred = graph.node("Sub", [x, graph.node("ReduceMean", [x], name + ".mean", axes=[-1])], name + ".centred")
        square = graph.node("Pow", [centred, "two"], name + ".square")
        variance = graph.node("ReduceMean", [square], name + ".variance", axes=[-1])
        root = graph.node("Sqrt", [graph.node("Add", [variance, name + ".epsilon"], name + ".guarded")], name + ".root")
        unit = graph.node("Div", [centred, root], name + ".unit")
        if scale is None:
            return unit
        return graph.node("Add", [graph.node("Mul", [unit, scale[0]], name + ".scaled"), scale[1]], name)

    def scaled(x: str, name: str) -> str:
        return normalised(x, name, 1e-5, (name + ".w", name + ".b"))

    def weighted(scores: str) -> str:
        if softmax == "operator":
            return graph.node("Softmax", [scores], "softmax", axis=-1)
        graph.constant("lift", 12.0)  # a softmax does not notice
        powers = graph.node("Exp", [graph.node("Add", [scores, "lift"], "softmax.lifted")], "softmax.powers")
        graph.constant("last", [-1], "int64")
        return graph.node("Div", [powers, graph.node("ReduceSum", [powers, "last"], "softmax.sum")], "softmax")

    graph.constant("shape", [batch, 8, 8], "int64")
    columns = graph.node("Transpose", [graph.node("Reshape", ["image", "shape"], "rows")], "columns", perm=[0, 2, 1])
    x = normalised(columns, "norm0", epsilon, None)
    if mask == "twice":
        graph.constant("none", np.zeros((batch, 1, 8)))
        x = graph.node("Concat", [x, "none"], "padded", axis=1)
    x = graph.node("Add", [dense(x, "embed"), "position"], "stream1")
    y = scaled(x, "norm1")
    graph.constant("root", 32**-0.5)
    product = graph.node("MatMul", [dense(y, "q"), graph.node("Transpose", [dense(y, "k")], "k.turned", perm=[0, 2, 1])], "scores.product")
    scores = graph.node("Mul", [product, "root"], "scores.scaled")
    if mask == "times":
        graph.constant("one", 1.0)
        graph.constant("large", -1e9)
        hidden = graph.node("Mul", [graph.node("Sub", ["one", "seen"], "hidden"), "large"], "mask")
        scores = graph.node("Add", [scores, hidden], "scores.masked")
    elif mask == "twice":
        keys, queries = np.zeros((1, 9, 9)), np.zeros((1, 9, 9))
        keys[:, :, 8] = keys[:, 8, :] = queries[:, 8, :] = -60000.0
        graph.constant("mask.keys", keys)
        graph.constant("mask.queries", queries)
        scores = graph.node("Add", [graph.node("Add", [scores, "mask.keys"], "scores.keys"), "mask.queries"], "scores.masked")
    x = graph.node("Add", [x, dense(graph.node("MatMul", [weighted(scores), dense(y, "v")], "mixed"), "o")], "stream2")
    up = graph.node("Relu", [dense(scaled(x, "norm2"), "up")], "up.relu")
    down = dense(up, "down")
    if shift:
        graph.constant("back", 2.0 ** (shift / 2))  # in two steps, so that this number has room in FP16
        down = graph.node("Mul", [graph.node("Mul", [down, "back"], "down.halfway"), "back"], "down.back")
    x = graph.node("Add", [x, down], "stream3")
    x = scaled(x, "norm3")
    if mask == "twice":
        graph.constant("share", np.array([1 / 8] * 8 + [0]).reshape(1, 9, 1))
        graph.constant("tokens", [1], "int64")
        pooled = graph.node("ReduceSum", [graph.node("Mul", [x, "share"], "shares"), "tokens"], "pooled", keepdims=0)
    else:
        pooled = graph.node("ReduceMean", [x], "pooled", axes=[1], keepdims=0)
    graph.node("Add", [graph.node("MatMul", [pooled, "fc.w"], "fc"), "fc.b"], "answer")
    inputs: dict[str, list[Any]] = {"image": [batch, 1, 8, 8]}
    if mask == "times":
        inputs["seen"] = [batch, 1, tokens]
    return graph.model(inputs, {"answer": [batch, 10]})
