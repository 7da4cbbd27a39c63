# ---
# jupyter:
#   page:
#     description: Calibrate a network, predict its noise, break it in five ways, find the cause from numbers and mend it; ONNX Runtime answers on a CPU.
#     tags:
#       - intermediate
#       - quantization
#       - precision
#     data:
#       - calibration/digits.json
#       - int8-wrong-results/calibrators.py
#       - int8-wrong-results/causes.h200.json
# ---

# %% [markdown]
# # Quantise a network: calibrate, break, find the layer, mend { #calibration }
#
# Four convolutions with one residual read handwritten digits, and get 9 of 797 wrong. This lab calibrates the network, writes the Q/DQ itself and makes it INT8; it predicts how large the noise will be, and ONNX Runtime answers. Then five things break it, none of which changes the function; the numbers tell whether it is the data, the weights or one layer; and it is mended. A record of TensorRT on an H200 stands beside it.
#
# Everything runs on a CPU; it needs no GPU. Download the notebook and its data into one folder, install `jupyterlab`, `matplotlib`, `onnx` and `onnxruntime`, open the notebook and run all cells, which takes seconds.

# %% [markdown]
# ## Data and network { #network }
#
# Network and weights are those of the [question on wrong INT8 results](../quantization/int8-wrong-results.md#measured). The images are UCI's handwritten digits (E. Alpaydin and C. Kaynak, CC BY 4.0, as scikit-learn carries them), 8 × 8 pixels of 0 to 16: 512 calibrate, 797 test.

# %%
import base64
import json
import sys
from pathlib import Path

import numpy as np

RECORD = "causes.h200.json"  # what an H200 measured
FILES = {"digits.json": "calibration"}
FILES |= dict.fromkeys(["calibrators.py", RECORD], "int8-wrong-results")

# Downloaded, they lie beside the notebook; in a clone of the repository, in snippets/.
here = Path.cwd()
places = {}
for name, folder in FILES.items():
    clones = [above / "snippets" / folder for above in (here, *here.parents)]
    found = [place for place in (here, *clones) if (place / name).is_file()]
    if not found:
        wanted = ", ".join(FILES)
        raise FileNotFoundError(f"download {wanted} into {here}: the page links to them")
    places[name] = found[0]

sys.path.insert(0, str(places["calibrators.py"]))
import calibrators

kept, record = (json.loads((places[name] / name).read_text("utf-8")) for name in ("digits.json", RECORD))


def images(rows):
    """Give the pixels, which are written as a digit of base 17 each."""
    pixels = [[int(pixel, 17) for pixel in row] for row in rows]
    return np.array(pixels, np.float32).reshape(-1, 1, 8, 8)


def prepared(pixels):
    """Give what the network was trained on: about centred, about unit size."""
    return (pixels - np.float32(5)) / np.float32(6)


raw, test = images(kept["calibration"]), prepared(images(kept["test"]))
labels = np.array([int(label) for label in kept["labels"]])
weights = {}
for name, array in kept["weights"].items():
    numbers = np.frombuffer(base64.b64decode(array["float32"]), "<f4")
    weights[name] = numbers.reshape(array["shape"])
print(f"{len(raw)} images calibrate, {len(test)} test")
print(f"{sum(array.size for array in weights.values()):,} weights")

# %%
import matplotlib.pyplot as plt
from IPython.display import Markdown
from matplotlib_inline.backend_inline import set_matplotlib_formats

INK, PAPER = "#010101", "#fefefe"  # the site puts its own colours for these two
BLUE, ORANGE, GREEN, PURPLE, GREY = "#3d85c6", "#c9622b", "#3a9150", "#9a6bc9", "#7f7f7f"
inked = ["text", "xtick", "ytick", "grid"]
set_matplotlib_formats("svg")
plt.rcParams.update({f"{part}.color": INK for part in inked})
plt.rc("figure", facecolor=PAPER, figsize=(7.2, 3.9))
plt.rc("figure.constrained_layout", use=True)
plt.rc("axes", facecolor=PAPER, edgecolor=INK, labelcolor=INK, grid=True)
plt.rc("axes.spines", top=False, right=False)
plt.rc("grid", alpha=0.15)
plt.rc("legend", frameon=False)
plt.rc("font", size=11)
plt.rc("svg", fonttype="none")


def table(rows):
    """Show dictionaries that have the same keys as a table."""
    rule = ["---" if isinstance(value, str) else "---:" for value in rows[0].values()]
    lines = [list(rows[0]), rule, *([cell(value) for value in row.values()] for row in rows)]
    return Markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))


def cell(value):
    """Print a value: whole and large numbers without a fraction, others to three digits."""
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,.0f}" if value >= 100 or isinstance(value, int) else f"{value:#.3g}"


# %% [markdown]
# The network is written as ONNX text, a node a line; a node has the name of the tensor that it gives.

# %%
import onnx
import onnxruntime
from onnx import helper, numpy_helper

TEXT = """
<ir_version: 8, opset_import: ["": 17]>
digits (float[N, 1, 8, 8] image) => (float[N, 10] scores) {
  conv1 = Conv <pads = [1, 1, 1, 1]> (image, conv1_w, conv1_b)
  relu1 = Relu (conv1)
  conv2 = Conv <pads = [1, 1, 1, 1]> (relu1, conv2_w, conv2_b)
  relu2 = Relu (conv2)
  conv3 = Conv <pads = [1, 1, 1, 1]> (relu2, conv3_w, conv3_b)
  sum = Add (conv3, relu2)
  relu3 = Relu (sum)
  conv4 = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (relu3, conv4_w, conv4_b)
  relu4 = Relu (conv4)
  flat = Flatten (relu4)
  scores = Gemm (flat, fc_w, fc_b)
}
"""
# Each layer with weights, and the tensor that it reads.
LAYERS = {"conv1": "image", "conv2": "relu1", "conv3": "relu2", "conv4": "relu3"}
LAYERS["fc"] = "flat"


def network(values):
    """Give the network with these weights."""
    model = onnx.parser.parse_model(TEXT)
    for node in model.graph.node:
        node.name = node.output[0]
    for name, array in values.items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    return model


def run(model, batch, also=()):
    """Give ONNX Runtime's scores on the CPU, and the tensors that are named besides."""
    marked = onnx.ModelProto()
    marked.CopyFrom(model)
    for name in also:
        marked.graph.output.append(helper.make_empty_tensor_value_info(name))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.graph_optimization_level = level
    text, where = marked.SerializeToString(), ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(text, options, where)
    arrays = session.run(None, {"image": batch})
    return dict(zip(["scores", *also], arrays, strict=True))


def accuracy(scores):
    """Give the percentage of test images that are read rightly, in whole numbers."""
    return round(100 * (scores.argmax(1) == labels).mean())


def decibels(signal, noisy):
    """Give the ratio of signal to noise: 6 dB are about a bit."""
    exact = signal.astype(np.float64)
    return 10 * np.log10((exact**2).sum() / ((noisy - exact) ** 2).sum())


onnx.checker.check_model(network(weights))
fp32 = run(network(weights), test)["scores"]
wrong = (fp32.argmax(1) != labels).sum()
print(f"ONNX Runtime, FP32: {wrong} of {len(test)} wrong, {accuracy(fp32)} % right")

# %% [markdown]
# Two options of the session are chosen on purpose. With **graph optimisation off**, Q and DQ are computed in floats, as the graph has them; with it on, ONNX Runtime rewrites the graph and takes INT8 kernels, which depend on the CPU: on x86 without VNNI the one for UINT8 times INT8 may [saturate](https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html) on the way. With **one thread**, sums keep their order. Other processors may still differ in the last digits, so what is printed below leaves room for that: accuracy comes in whole percent, a network's signal to noise mostly in whole dB.
#
# First NumPy computes the same in FP64, to be sure that nothing is wrong with FP32.


# %%
def convolved(x, layer, stride=1):
    """Convolve in NumPy."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    windows = windows[:, :, ::stride, ::stride]
    kernel, bias = (weights[f"{layer}_{kind}"].astype(np.float64) for kind in "wb")
    sums = np.einsum("nchwij,ocij->nohw", windows, kernel, optimize=True)
    return sums + bias[:, None, None]


x = np.maximum(convolved(test.astype(np.float64), "conv1"), 0)
x = np.maximum(convolved(x, "conv2"), 0)
x = np.maximum(convolved(x, "conv3") + x, 0)
x = np.maximum(convolved(x, "conv4", stride=2), 0)
exact = x.reshape(len(x), -1) @ weights["fc_w"] + weights["fc_b"]
assert np.array_equal(exact.argmax(1), fp32.argmax(1))
assert decibels(exact, fp32) > 120
print("NumPy reads every image alike, and FP32 is more than 120 dB above its noise")

# %% [markdown]
# ## Calibrate { #ranges }
#
# An activation tensor has one range T, and its scale is T / 127. 512 images go through the network in FP32, and for the five tensors that are to be quantised [this site's models](../quantization/int8-wrong-results.md#calibrators) choose a T each: the maximum, the percentile that keeps 99.9 %, the entropy of TensorRT 8.6 and that of ONNX Runtime, and the least squared error. The last one tries a hundred T, so it is written in NumPy here, and checked to choose what the site's model chooses.


# %% caption="The ranges of five tensors, as five ways choose them"
def activations(values, batch):
    """Give the tensors that the layers read, in FP32."""
    inner = [tensor for tensor in LAYERS.values() if tensor != "image"]
    arrays = run(network(values), batch, inner)
    return {"image": batch} | {tensor: arrays[tensor] for tensor in inner}


def maximum(array):
    """Give the largest magnitude."""
    return np.abs(array).max()


def percentile(array):
    """Give the magnitude that 99.9 % do not exceed."""
    return calibrators.percentile(array.tolist(), 99.9)


def trt_entropy(array):
    """Give TensorRT's threshold for one batch."""
    values, top = array.tolist(), float(maximum(array))
    return calibrators.tensorrt_entropy(calibrators.magnitudes(values, 2048, top), top)


def ort_entropy(array):
    """Give ONNX Runtime's, with 512 bins."""
    values, top = array.tolist(), float(maximum(array))
    counts = calibrators.histogram(values, 512, top)
    return calibrators.one_scale(calibrators.entropy(counts, top), values)


def least_squares(array):
    """Give the threshold with the least squared error, of a hundred."""

    def error(threshold):
        scale = threshold / 127
        rounded = np.clip(np.rint(array / scale), -127, 127) * scale
        return ((rounded - array) ** 2).mean()

    return min((maximum(array) * step / 100 for step in range(1, 101)), key=error)


WAYS = {"max": maximum, "99.9 %": percentile, "TRT entropy": trt_entropy}
WAYS |= {"ORT entropy": ort_entropy, "mean square": least_squares}


def calibrated(values, batch, way="max"):
    """Give each tensor's T."""
    seen = activations(values, batch).items()
    return {tensor: float(WAYS[way](array.ravel().astype(np.float64))) for tensor, array in seen}


some = prepared(raw).ravel()[::16].astype(np.float64)
assert least_squares(some) == calibrators.least_squares(some.tolist())
chosen = {way: calibrated(weights, prepared(raw), way) for way in WAYS}
limits = {tensor: {way: chosen[way][tensor] for way in WAYS} for tensor in LAYERS.values()}
table([{"tensor": f"`{tensor}`"} | row for tensor, row in limits.items()])

# %% caption="The histogram of relu2 on a logarithmic axis: most values are small; upright lines are the five cut-offs, of which ONNX Runtime's entropy clips the most, and TensorRT's almost coincides with the maximum."
EDGES = np.arange(0, 8.51, 0.25)
COLOURS = dict(zip(WAYS, (BLUE, GREEN, PURPLE, ORANGE, GREY), strict=True))
seen = activations(weights, prepared(raw))["relu2"].ravel().astype(np.float64)
counts = np.histogram(seen, EDGES)[0]
# Rounded, so that another processor's last digits draw the same picture.
heights = 10 ** (np.round(20 * np.log10(np.maximum(counts, 1))) / 20)
figure, axes = plt.subplots()
axes.stairs(heights, EDGES, baseline=1, fill=True, color=GREY, alpha=0.4)
for way, colour in COLOURS.items():
    style = "--" if way == "TRT entropy" else "-"  # it covers the maximum
    axes.axvline(round(chosen[way]["relu2"], 2), color=colour, ls=style, label=way)
axes.set(xlabel="relu2", yscale="log", ylabel="values", ylim=(1, None))
axes.legend(loc="upper center", ncols=5, bbox_to_anchor=(0.5, 1.14), fontsize=10)
plt.show()

# %% [markdown]
# All tensors behind a ReLU look like this: most values are small, the tail is long. Both are called entropy, and at `relu2` one clips at half of the other; [the question](../quantization/int8-wrong-results.md#calibrators) says why.

# %% [markdown]
# ## Write Q/DQ { #qdq }
#
# At both inputs of each layer stands a pair of QuantizeLinear and DequantizeLinear: one scale for an activation, one an output channel for weights, all zero points 0. The residual branch reads the quantised tensor, too. ONNX Runtime's own `quantize_static`, told to do the same, should give the same scores, to the last bit.


# %%
def quantised(values, limits, layers=tuple(LAYERS), *, by_channel=True):
    """Give the network with a pair of Q and DQ at both inputs of these layers."""
    model = network(values)
    graph, nodes = model.graph, list(model.graph.node)
    del graph.node[:]
    instead = {}  # what the readers of a tensor take

    def pair(tensor, largest, **axis):
        q, dq, *given = (f"{tensor}_{what}" for what in ("q", "dq", "scale", "zero"))
        scale = np.asarray(largest, np.float32) / np.float32(127)
        arrays = (scale, np.zeros(scale.shape, np.int8))
        graph.initializer.extend(map(numpy_helper.from_array, arrays, given))
        for op, source, target in (("QuantizeLinear", tensor, q), ("DequantizeLinear", q, dq)):
            graph.node.append(helper.make_node(op, [source, *given], [target], **axis))
        instead[tensor] = dq

    for node in nodes:
        # What has three inputs has weights and a bias.
        layer = node.input[1].removesuffix("_w") if len(node.input) == 3 else None
        if layer in layers:
            if LAYERS[layer] not in instead:
                pair(LAYERS[layer], limits[LAYERS[layer]])
            sizes, axis = np.abs(values[f"{layer}_w"]), 1 if layer == "fc" else 0
            others = tuple(place for place in range(sizes.ndim) if place != axis)
            if by_channel:
                pair(f"{layer}_w", sizes.max(others), axis=axis)
            else:
                pair(f"{layer}_w", sizes.max())
        for place, name in enumerate(node.input):
            node.input[place] = instead.get(name, name)
        graph.node.append(node)
    return model


def score(values, limits, **how):
    """Give the scores of the INT8 network."""
    return run(quantised(values, limits, **how), test)["scores"]


def judged(scores):
    """Give what a table says of scores."""
    return {"accuracy, %": accuracy(scores), "dB": round(decibels(fp32, scores))}


mine = score(weights, chosen["max"])
print(f"INT8: {accuracy(mine)} % right, {decibels(fp32, mine):.0f} dB")

# %%
import tempfile

from onnxruntime import quantization


class Reader(quantization.CalibrationDataReader):
    """Hand out the calibration images as one batch."""

    def __init__(self):
        """Begin with the one batch."""
        self.batches = iter([{"image": prepared(raw)}])

    def get_next(self):
        """Give it once, then nothing."""
        return next(self.batches, None)


options = {"ActivationSymmetric": True, "WeightSymmetric": True, "QuantizeBias": False}
options["OpTypesToExcludeOutputQuantization"] = ["Conv", "Gemm"]
with tempfile.TemporaryDirectory() as folder:
    source, made = f"{folder}/fp32.onnx", f"{folder}/int8.onnx"
    onnx.save(network(weights), source)
    quantization.quantize_static(
        source,
        made,
        Reader(),
        op_types_to_quantize=["Conv", "Gemm"],
        per_channel=True,
        activation_type=quantization.QuantType.QInt8,
        weight_type=quantization.QuantType.QInt8,
        extra_options=options,
    )
    theirs = run(onnx.load(made), test)["scores"]
assert np.array_equal(mine, theirs)
print("quantize_static gives the same scores, bit by bit")

# %% [markdown]
# ## Predict the noise { #predict }
#
# Rounding errs between ±scale/2, about evenly, so its mean square is scale²/12, and zeros have no error; a value |x| beyond T is clipped to T, which errs by |x| − T. Hence
#
# noise ≈ share within the range and not 0 × scale²/12 + (|x| − T)², averaged over all values, where clipped.
#
# The prediction takes the calibration images alone, and ONNX Runtime answers on the test images, for T from 0.2 to 1.5 times the maximum. For five tensors and five ways prediction and answer are less than 1 dB apart; the cell checks it.


# %% caption="Signal to noise in dB: predicted / ONNX Runtime"
def predicted(values, largest):
    """Give a tensor's signal to noise, and those of rounding and clipping alone."""
    sizes = np.abs(values.astype(np.float64))
    rounded = ((sizes > 0) & (sizes <= largest)).mean()
    rounding = rounded * (largest / 127) ** 2 / 12
    clipping = (np.maximum(sizes - largest, 0) ** 2).mean()
    noises = np.array([rounding + clipping, rounding, max(clipping, 1e-12)])
    return 10 * np.log10((sizes**2).mean() / noises)


def answered(tensor, largest):
    """Give the signal to noise behind the tensor's DQ; nothing before it is quantised."""
    [layer] = [layer for layer, read in LAYERS.items() if read == tensor]
    found = run(quantised(weights, {tensor: largest}, [layer]), test, [f"{tensor}_dq"])
    return decibels(exact_tensors[tensor], found[f"{tensor}_dq"])


calibration_tensors = activations(weights, prepared(raw))
exact_tensors = activations(weights, test)
compared = []
for tensor in LAYERS.values():
    row = {"tensor": f"`{tensor}`"}
    for way in WAYS:
        largest = chosen[way][tensor]
        said = predicted(calibration_tensors[tensor], largest)[0]
        found = answered(tensor, largest)
        assert abs(said - found) < 1, (tensor, way, said, found)
        row[way] = f"{said:.1f} / {found:.1f}"
    compared.append(row)
table(compared)

# %% caption="Signal to noise of relu2 over T: orange dashes are clipping, blue ones rounding, the line predicts both together, dots are ONNX Runtime; it peaks near 0.8 of the largest value, and too small costs faster than too large."
top = chosen["max"]["relu2"]
shares = np.arange(0.2, 1.51, 0.02)
values = calibration_tensors["relu2"]
curves = np.round([predicted(values, top * share) for share in shares], 1)
figure, axes = plt.subplots()
both, rounding, clipping = curves.T
axes.plot(shares, rounding, "--", color=BLUE, label="rounding alone")
axes.plot(shares, clipping, "--", color=ORANGE, label="clipping alone")
axes.plot(shares, both, color=INK, label="predicted")
dots = np.arange(0.2, 1.51, 0.1)
heights = [round(answered("relu2", top * share), 1) for share in dots]
axes.plot(dots, heights, "o", color=GREEN, label="ONNX Runtime")
axes.set(xlabel="T / largest value of relu2", ylabel="dB", ylim=(10, 60))
axes.legend(loc="lower right")
plt.show()

# %% [markdown]
# The slope on the right is gentle: twice the T costs 6 dB, a bit. On the left is a cliff: what is clipped are the largest values, which often matter most. Where much is clipped, the prediction is up to 0.6 dB too good, for the tails of the test images are a little longer; `image` is off a little as well, as its 17 values do not err evenly.
#
# And the whole network? If the layers' noises are independent, they add. Quantise one layer at a time, add up the five noises, and the sum should be close to what all five give together.

# %%
alone = {}
for layer in LAYERS:
    alone[layer] = decibels(fp32, score(weights, chosen["max"], layers=[layer]))
together = -10 * np.log10(sum(10 ** (-value / 10) for value in alone.values()))
measured = decibels(fp32, mine)
assert abs(together - measured) < 1
print(", ".join(f"{layer} {value:.0f}" for layer, value in alone.items()), "dB alone")
print(f"all five: predicted {together:.0f} dB, ONNX Runtime {measured:.0f} dB")

# %% caption="The whole network, calibrated in five ways"
table([{"calibrated by": way} | judged(score(weights, chosen[way])) for way in WAYS])

# %% [markdown]
# Accuracy shows no difference whatever; signal to noise does, and the two that clip most are far behind. From here on both are shown.

# %% [markdown]
# ## Break it { #break }
#
# One cause at a time, each calibrated by the maximum:
#
# - `raw pixels`: calibration forgot to prepare the images, whose pixels are still 0 to 16;
# - `pixels / 255`: calibration prepared them in another way;
# - `one bad pixel`: in one of 512 images a pixel is 1000;
# - `one weight scale`: a channel of conv4 is 512 times as large, and its weights have one scale for the whole tensor;
# - `outlier channel`: a channel of conv1 is 512 times as large, so that an activation has an outlier channel.
#
# The last two divide the next layer's weights for that channel by 512, which leaves the function as it was; as 512 is a power of two, FP32's scores are the same to the last bit, and the cell checks that. `one weight scale` quantises the four convolutions only: the channel is an outlier in what `fc` reads, too, and that would be another cause.


# %% caption="Five causes: accuracy, signal to noise, and T of three tensors in multiples of the right one"
def outlier(layer, after, channel, factor=512):
    """Make one channel larger and the next layer's weights for it smaller: the same function."""
    values = {name: array.copy() for name, array in weights.items()}
    for kind in "wb":
        values[f"{layer}_{kind}"][channel] *= factor
    # fc reads 32 channels of 16 pixels; a convolution has [output][input][row][column].
    array = values[f"{after}_w"]
    readers = array.reshape(32, 16, 10) if after == "fc" else array.swapaxes(0, 1)
    readers[channel] /= factor
    return values


corrupt = raw.copy()
corrupt[100, 0, 3, 3] = 1000
wide, heavy = outlier("conv1", "conv2", channel=3), outlier("conv4", "fc", channel=8)
for values in (wide, heavy):
    assert np.array_equal(run(network(values), test)["scores"], fp32)

CONVOLUTIONS = ("conv1", "conv2", "conv3", "conv4")
CASES = {  # weights, calibration images, what else
    "right": (weights, prepared(raw), {}),
    "raw pixels": (weights, raw, {}),
    "pixels / 255": (weights, raw / np.float32(255), {}),
    "one bad pixel": (weights, prepared(corrupt), {}),
    "one weight scale": (heavy, prepared(raw), {"layers": CONVOLUTIONS, "by_channel": False}),
    "outlier channel": (wide, prepared(raw), {}),
}
limits, rows = {}, []
for case, (values, batch, how) in CASES.items():
    limits[case] = calibrated(values, batch)
    row = {"case": case} | judged(score(values, limits[case], **how))
    for tensor in ("image", "relu1", "flat"):
        row[f"T of `{tensor}`"] = limits[case][tensor] / limits["right"][tensor]
    rows.append(row)
table(rows)

# %% [markdown]
# - `raw pixels` is the dangerous one: accuracy is as it was, and nobody would notice. All five T are 6.6 to 8.7 times as large, for which the slope above promises 16 to 19 dB less, and so it is.
# - `pixels / 255` falls off the cliff: the input's T is a thirtieth, and nearly everything is clipped.
# - One bad pixel goes through every layer and makes each T tens of times as large.
# - With the last two, T changes in one place only, and the network is all but lost.

# %% [markdown]
# ## Find the layer { #find }
#
# **The ladder.** Quantise one layer at a time; then leave out one at a time.


# %% caption="Signal to noise in dB when only this layer is quantised"
def ladder(case):
    """Give, for each layer, the dB with it alone quantised, and with all but it."""
    values, _, how = CASES[case]
    layers = how.get("layers", tuple(LAYERS))
    for layer in layers:
        rest = [other for other in layers if other != layer]
        both = [how | {"layers": some} for some in ([layer], rest)]
        yield layer, [judged(score(values, limits[case], **each))["dB"] for each in both]


def rungs(name, place):
    """Show one of the two for each layer and case."""
    rows = []
    for layer in LAYERS:
        cells = {case: found[case].get(layer, (None, None))[place] for case in CASES}
        rows.append({name: f"`{layer}`"} | cells)
    return table(rows)


found = {case: dict(ladder(case)) for case in CASES}
rungs("only", 0)

# %% caption="Signal to noise in dB when all layers but this one are quantised"
rungs("all but", 1)

# %% [markdown]
# The shape of the two tables is the diagnosis:
#
# - **Each layer alone is bad**, and leaving out none of them helps: it is not a layer, it is the calibration data. That is so for the first three.
# - **One layer alone is enough to ruin it, and without that one all is well**: it is that layer. For `one weight scale` it is conv4; for `outlier channel` it is conv2, which reads the outliers.
#
# With many layers one bisects instead; the commands of Polygraphy and ModelOpt are in [the question's procedure](../quantization/int8-wrong-results.md#procedure).
#
# **Tensor by tensor.** The same images, every tensor of the FP32 and of the INT8 network, signal to noise of each. But first: does marking tensors as outputs change the network that is looked at?

# %%
PATH = ["image", "conv1", "relu1", "conv2", "relu2", "conv3", "relu3", "conv4", "flat"]


def along(case):
    """Give FP32's tensors beside INT8's: as it is read, behind its DQ where it has one."""
    values, _, how = CASES[case]
    model = quantised(values, limits[case], **how)
    given = {name for node in model.graph.node for name in node.output}
    read = [f"{tensor}_dq" if f"{tensor}_dq" in given else tensor for tensor in PATH]
    marked = run(model, test, read)
    assert np.array_equal(marked["scores"], run(model, test)["scores"])
    floats = run(network(values), test, PATH[1:]) | {"image": test}
    pairs = zip([*PATH, "scores"], [*read, "scores"], strict=True)
    return {tensor: (floats[tensor], marked[name]) for tensor, name in pairs}


tensors = {case: along(case) for case in CASES}
print("the scores are the same, bit by bit, with all tensors marked")

# %% [markdown]
# It does not: without graph optimisation nothing is fused, and one more output only keeps one more array. With it that is no longer sure, see exercise 4. In TensorRT it is the rule: a tensor that is marked has to be written, which breaks fusions and may change tactics, so that it is no longer the engine that was to be looked at; see the [question on FP16](../quantization/fp16-accuracy-loss.md#marking). With Q/DQ in the model, look here.
#
# There are two ways to take the ratio: over the whole tensor, or for each channel, and then the median.


# %% caption="The guilty tensors: taken whole, and by channel (dB)"
def median_channel(signal, noisy):
    """Give the median of the channels' signals to noise."""
    if signal.shape[1] == 512:  # flat: 32 channels of 16 pixels
        signal, noisy = (array.reshape(-1, 32, 16) for array in (signal, noisy))
    channels = zip(signal.swapaxes(0, 1), noisy.swapaxes(0, 1), strict=True)
    return round(np.median([decibels(*pair) for pair in channels if pair[0].any()]))


rows = []
for tensor, guilty in (("relu1", "outlier channel"), ("conv4", "one weight scale")):
    for case in ("right", guilty):
        pair = tensors[case][tensor]
        row = {"case": case, "tensor": f"`{tensor}`", "whole tensor": round(decibels(*pair))}
        rows.append(row | {"median channel": median_channel(*pair)})
table(rows)

# %% caption="Signal to noise along the network, median channel: the three with wrong data are low from the input on; the outlier channel falls to 0 at relu1, the weights' scale at conv4, and before that both are as they should be."
figure, axes = plt.subplots(figsize=(7.2, 4.2))
marks = dict(zip(CASES, "os^vDX", strict=True))
colours = dict(zip(CASES, (GREEN, BLUE, GREY, PURPLE, "#b5791c", ORANGE), strict=True))
for case in CASES:
    heights = {tensor: median_channel(*pair) for tensor, pair in tensors[case].items()}
    axes.plot(heights.keys(), heights.values(), color=colours[case], marker=marks[case], label=case)
axes.set(ylabel="dB, median channel", ylim=(-2, 55))
axes.legend(loc="upper center", ncols=3, bbox_to_anchor=(0.5, 1.2), fontsize=10)
plt.show()

# %% [markdown]
# Taken whole, the outlier channel is nearly all of the energy, and it is quantised well; so `relu1` seems to have 41 dB, while nothing is left of the other channels. **By channel, the first tensor that falls is the cause**, and what follows inherits it; with wrong data it is low from the input on. Weights can be compared without any data:

# %% caption="The weights of one weight scale: median signal to noise of their channels (dB)"
rows = []
for layer in CONVOLUTIONS:
    array = heavy[f"{layer}_w"].swapaxes(0, 1)  # channels second, as in an activation
    row = {"weights": f"`{layer}_w`"}
    for name, others in (("one scale", None), ("a scale a channel", (0, 2, 3))):
        scale = np.abs(array).max(others, keepdims=True) / np.float32(127)
        row[name] = median_channel(array, np.rint(array / scale) * scale)
    rows.append(row)
table(rows)

# %% [markdown]
# ## Mend it { #mend }
#
# - Wrong data: take the right ones; where the bad image cannot be found, a percentile resists it, and entropy does not.
# - Weights: a scale for each output channel.
# - The outlier channel: leave the layer that reads it in floats. Another calibrator is tried as well.

# %% caption="Five causes, the cure, before and after"
without = [layer for layer in LAYERS if layer != "conv2"]
CURES = [  # case, cure, its calibration images and way, what else
    ("raw pixels", "prepare them", prepared(raw), "max", {}),
    ("pixels / 255", "prepare them", prepared(raw), "max", {}),
    ("one bad pixel", "99.9 %", prepared(corrupt), "99.9 %", {}),
    ("one bad pixel", "TRT entropy", prepared(corrupt), "TRT entropy", {}),
    ("one weight scale", "a scale a channel", prepared(raw), "max", {"layers": CONVOLUTIONS}),
    ("outlier channel", "conv2 in floats", prepared(raw), "max", {"layers": without}),
    ("outlier channel", "TRT entropy", prepared(raw), "TRT entropy", {}),
]
rows = []
for case, cure, batch, way, how in CURES:
    values, _, broken = CASES[case]
    row = {"case": case, "cure": cure}
    row["before, dB"] = judged(score(values, limits[case], **broken))["dB"]
    cured = calibrated(values, batch, way)
    rows.append(row | judged(score(values, cured, **how)))
table(rows)

# %% [markdown]
# What fits the cause is back at 99 %. TensorRT's entropy does nothing for the bad pixel and helps only in part with the outlier channel: its T is never below a sixteenth of the maximum, and these outliers made T 90 and 480 times as large.
#
# A layer in floats costs speed; one can also move the size of the outlier channel into the weights, as SmoothQuant does: see exercise 2.

# %% [markdown]
# ## On TensorRT { #tensorrt }
#
# This model has the form that TensorRT takes: zero points 0, one scale an activation, a scale a channel for weights, Q/DQ at the inputs of layers with weights.
#
# - **TensorRT 11** has this way only: ModelOpt calibrates, with its own version of `quantize_static`; `--nodes_to_exclude` leaves out a layer.
# - **TensorRT up to 10** also has implicit quantisation: a calibrator chooses T, and speed decides which layers are INT8; a layer is left out by giving it a precision and obeying that. A stale cache is one of the causes there. Both are in [the question's tabs](../quantization/int8-wrong-results.md#versions).
# - **Entropy** in TensorRT updates its histogram batch by batch, so [batch size and order](../quantization/calibration-batch-size.md) change T; here there is one batch.
# - **Marked outputs** change the engine, which they do not do here. Find the layer in ONNX Runtime first, then turn to TensorRT.
# - **Speed** was no subject here: where Q/DQ stand decides what is fused, see [INT8 slower than FP16](../quantization/int8-slower-than-fp16.md).

# %% [markdown]
# The first four cases were measured on an H200: TensorRT 8.6, the same network and images, implicit quantisation, the calibrator that takes the maximum, INT8 demanded of the convolutions. The cell checks each T of this lab against what that calibrated, and compares signal to noise: floats with Q/DQ on a CPU here, INT8 kernels on a GPU there.

# %% caption="The same causes: ONNX Runtime on a CPU, TensorRT 8.6 on an H200"
MEASURED = {"right": "right_minmax", "raw pixels": "preprocess_raw_minmax"}
MEASURED |= {"pixels / 255": "preprocess_255_minmax", "one bad pixel": "corrupt_minmax"}
rows = []
for case, name in MEASURED.items():
    there = record["rows"][name]
    for tensor, largest in there["counted_ranges"].items():
        own = limits[case]["flat" if tensor == "relu4" else tensor]
        assert np.isclose(own, largest, rtol=1e-5, atol=1e-4), (case, tensor, own, largest)
    values, _, how = CASES[case]
    scores = score(values, limits[case], **how)
    row = {"case": case, "ONNX Runtime, dB": f"{decibels(fp32, scores):.1f}"}
    row["TensorRT, dB"] = f"{there['measured_noise_db']:.1f}"
    row["ONNX Runtime, %"] = accuracy(scores)
    rows.append(row | {"TensorRT, %": round(100 * there["measured_accuracy"])})
print(f"{record['gpu']}, {record['conditions']['tensorrt']['en'].partition(',')[0]}, {record['recorded']}")
table(rows)

# %% [markdown]
# Every T is the same, and signal to noise agrees: INT8's error comes from the scales, not from who computes. So causes and layers can be found on a CPU.

# %% [markdown]
# ## Exercises { #exercises }
#
# 1. `VALUES = heavy`, a scale a channel, all five layers quantised: why is it broken again? Guess the layer, then read the ladder below. Mend it by `CHOSEN` alone.
# 2. The size of the outlier channel can move from the activation into the weights without changing the function: divide conv1's channel by a number, multiply conv2's weights for it by the same, and `factor` is what remains in the activation. Each doubling gives conv2 6 dB more noise: predict the network at 4, 16, 64 and 512. Why do both ends not keep to 6 dB?
# 3. `VALUES = weights`, and only the first `COUNT` images calibrate: 1, 4, 16, 64. From how many on does signal to noise stay the same? Does accuracy tell?
# 4. Put `ORT_ENABLE_ALL` for `ORT_DISABLE_ALL` in `run` and run everything again: which `assert` stops it? Print how many dB its two sides are apart instead, and go on. Why can marking outputs change the scores now? And what does another CPU say?
# 5. If you have TensorRT, keep the model with `onnx.save(quantised(weights, chosen["max"]), "int8.onnx")` and compare the scores of ONNX Runtime and TensorRT as [the question's procedure](../quantization/int8-wrong-results.md#procedure) does: how many dB apart are they, and is that more or less than INT8's own noise?

# %% caption="Try it: quantised together, then layer by layer"
VALUES = outlier("conv1", "conv2", channel=3, factor=16)  # or weights, or heavy
COUNT = 512  # images that calibrate
CHOSEN = tuple(LAYERS)  # layers that are quantised
BY_CHANNEL = True  # a scale for each output channel of the weights

own = calibrated(VALUES, prepared(raw[:COUNT]))
rows = []
for layers in (CHOSEN, *([layer] for layer in CHOSEN)):
    scores = score(VALUES, own, layers=layers, by_channel=BY_CHANNEL)
    rows.append({"quantised": ", ".join(layers)} | judged(scores))
table(rows)
