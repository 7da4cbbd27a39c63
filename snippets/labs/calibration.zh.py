# ---
# jupyter:
#   page:
#     description: 自己校准一个网络，预测噪声，用五种办法弄坏它，从数字里找到原因再修好；ONNX Runtime 在 CPU 上回答。
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
# # 量化一个网络：校准，弄坏，找到那一层，修好 { #calibration }
#
# 四层卷积加一个残差，读手写数字，797 张里认错 9 张。这个实验自己校准、自己写 Q/DQ，把它变成 INT8；先预测噪声有多大，再让 ONNX Runtime 回答。然后用五种办法弄坏它，哪一种都没有改变函数；再由数字看出坏的是数据、权重还是某一层，最后修好，并与 H200 上的 TensorRT 对照。
#
# 全部在 CPU 上运行，不需要 GPU。把 notebook 和数据下载到同一个文件夹，安装 `jupyterlab`、`matplotlib`、`onnx` 和 `onnxruntime`，打开后运行全部单元格，几秒钟就完。

# %% [markdown]
# ## 数据与网络 { #network }
#
# 网络和权重就是[量化后不正确那道题](../quantization/int8-wrong-results.md#measured)里的。图片是 UCI 的手写数字（E. Alpaydin 与 C. Kaynak，CC BY 4.0，取自 scikit-learn），8 × 8 像素，每个 0 到 16：512 张校准，797 张测试。

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
# 网络用 ONNX 的文本写成，一行一个节点，节点与它给出的张量同名。

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
# 两个会话选项是有意选的。**关掉图优化**，Q 和 DQ 就照图里写的用浮点计算；打开它，ONNX Runtime 会改写图、换成 INT8 的 kernel，而这些 kernel 因 CPU 而异：没有 VNNI 的 x86 上，UINT8 乘 INT8 的那一种中途可能[饱和](https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html)。**只用一个线程**，求和的次序就固定。不同的处理器仍会差最后几位，所以下面印出来的数都留了余量：准确率和整网的信噪比一般只印到整数。
#
# 先拿 NumPy 用 FP64 再算一遍，确认问题不在 FP32 这一级。


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
# ## 校准 { #ranges }
#
# 一个激活张量只有一个范围 T，scale 是 T / 127。把 512 张图送进 FP32 的网络，收集五个要量化的张量，用[本站的模型](../quantization/int8-wrong-results.md#calibrators)各选一次 T：最大值，留下 99.9 % 的百分位，TensorRT 8.6 与 ONNX Runtime 两家的熵，再加上均方误差最小。最后一种要试一百个 T，这里用 NumPy 写，先核对它与本站的模型选得一样。


# %% caption="五个张量的范围，五种算法各选的"
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

# %% caption="relu2 的直方图，纵轴是对数：大多数值很小，竖线是五种算法的截断点，ONNX Runtime 的熵截掉最多，TensorRT 的熵与最大值几乎重合。"
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
# ReLU 后面的张量都是这个形状：大多数值很小，尾巴很长。同样叫熵，在 `relu2` 上两家截得差一倍，见[上面那道题](../quantization/int8-wrong-results.md#calibrators)。

# %% [markdown]
# ## 写 Q/DQ { #qdq }
#
# 每一层的两个输入前面各放一对 QuantizeLinear 与 DequantizeLinear：激活一个 scale，权重每个输出通道一个，零点都是 0。残差的那一支读的也是量化后的张量。ONNX Runtime 自己的 `quantize_static` 设成同样的规则，应当得到同样的分数，一位不差。


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
# ## 预测噪声 { #predict }
#
# 舍入的误差在 ±scale/2 之间，近似均匀，均方是 scale²/12，0 没有误差；超出 T 的值 |x| 被截到 T，误差是 |x| − T。所以
#
# 噪声 ≈ 在范围内且不为 0 的比例 × scale²/12 + (|x| − T)² 在截断部分的平均。
#
# 只用校准图片来预测，再让 ONNX Runtime 在测试图片上回答：T 从最大值的 0.2 到 1.5 倍。五个张量、五种算法，预测与回答都相差不到 1 dB，由单元格检查。


# %% caption="信噪比（dB）：预测 / ONNX Runtime"
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

# %% caption="relu2 的信噪比随 T 变化：橙色虚线是截断，蓝色虚线是舍入，黑线是两者之和的预测，圆点是 ONNX Runtime；最高处在最大值的 0.8 倍附近，太小比太大坏得快。"
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
# 右边的斜坡平缓：T 大一倍，少 6 dB，也就是一位。左边是悬崖：截断伤的正是最大的、也往往最要紧的值。截得多的地方预测偏乐观，最多 0.6 dB：测试图片的尾巴略长一些。`image` 只有 17 种值，误差并不均匀，也差了一点。
#
# 整网呢？每层的噪声若互不相关，就能相加。逐层只量化一层，把五份噪声加起来，应当接近全部量化的结果。

# %%
alone = {}
for layer in LAYERS:
    alone[layer] = decibels(fp32, score(weights, chosen["max"], layers=[layer]))
together = -10 * np.log10(sum(10 ** (-value / 10) for value in alone.values()))
measured = decibels(fp32, mine)
assert abs(together - measured) < 1
print(", ".join(f"{layer} {value:.0f}" for layer, value in alone.items()), "dB alone")
print(f"all five: predicted {together:.0f} dB, ONNX Runtime {measured:.0f} dB")

# %% caption="整个网络：五种算法"
table([{"calibrated by": way} | judged(score(weights, chosen[way])) for way in WAYS])

# %% [markdown]
# 准确率看不出任何差别，信噪比看得出：截得最狠的两种差得多。下面两样都看。

# %% [markdown]
# ## 弄坏它 { #break }
#
# 一次一个原因，都用最大值校准：
#
# - `raw pixels`：校准时忘了预处理，像素还是 0 到 16；
# - `pixels / 255`：校准时用了别的预处理；
# - `one bad pixel`：512 张里有一张，一个像素是 1000；
# - `one weight scale`：conv4 的一个通道大 512 倍，权重整个张量一个 scale；
# - `outlier channel`：conv1 的一个通道大 512 倍，于是激活里有一个离群通道。
#
# 后两种把下一层相应的权重除以 512，函数不变；因为是 2 的幂，FP32 的分数一位不差，由单元格检查。`one weight scale` 只量化四层卷积：那个通道到了 `fc` 的输入里也是离群值，那是另一个原因。


# %% caption="五种原因：准确率、信噪比，以及三个张量的 T 是原来的几倍"
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
# - `raw pixels` 最危险：准确率一点没掉，没有人会发现。五个 T 都是原来的 6.6 到 8.7 倍，按上面的斜坡该少 16 到 19 dB，确实如此。
# - `pixels / 255` 掉下悬崖：输入的 T 只有三十分之一，几乎全被截断。
# - 一个坏像素经过每一层，把每个 T 都放大几十倍。
# - 最后两种，T 只在一个地方变了，网络却几乎完了。

# %% [markdown]
# ## 找到那一层 { #find }
#
# **阶梯。** 每次只量化一层，再每次只放过一层。


# %% caption="只量化一层时的信噪比（dB）"
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

# %% caption="除这一层以外都量化时的信噪比（dB）"
rungs("all but", 1)

# %% [markdown]
# 两张表的样子就是诊断：
#
# - **每一层单独都差**，去掉哪一层都救不回来：问题不在层，在校准数据。前三种都是这样。
# - **一层单独就完了，去掉它就全好**：问题在这一层。`one weight scale` 是 conv4，`outlier channel` 是 conv2，它读那个离群通道。
#
# 层很多时不必逐层试，可以二分；Polygraphy 和 ModelOpt 的命令在[那道题的步骤](../quantization/int8-wrong-results.md#procedure)里。
#
# **逐个张量比。** 同一批图，FP32 与 INT8 的每个张量各取一份，算信噪比。先问：把中间张量标成输出，会不会改变被查的网络？

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
# 不会：没有图优化就没有融合，多一个输出只是多留一份数据；打开图优化就难说了，见练习 4。TensorRT 里更是如此：标成输出的张量必须写出来，融合就断了，tactic 也可能换，查的就不再是原来那个引擎，见 [FP16 那道题](../quantization/fp16-accuracy-loss.md#marking)。所以有了带 Q/DQ 的模型，就在这里查。
#
# 信噪比有两种算法：整个张量一起算，或者每个通道各算，取中位数。


# %% caption="出错的张量：整个算与逐通道算（dB）"
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

# %% caption="沿着网络的信噪比，逐通道取中位数：数据出错的三条从输入起就低；离群通道在 relu1 掉到 0，权重的 scale 在 conv4 掉到 0，之前都正常。"
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
# 整个张量一起算，离群通道自己就是几乎全部的能量，它量化得很好，于是 `relu1` 看上去有 41 dB，别的通道其实全没了。**逐通道看，第一个掉下来的张量就是原因**，它后面的都是受它连累；数据出错时从输入起就低。权重不需要数据，直接比就行：

# %% caption="one weight scale 的权重：通道信噪比的中位数（dB）"
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
# ## 修好它 { #mend }
#
# - 数据错了：换成对的数据；坏图找不到时，百分位能压住它，熵不能；
# - 权重：每个输出通道一个 scale；
# - 离群通道：让读它的那一层留在浮点。换算法也试一试。

# %% caption="五种原因，怎样修，修之前与修之后"
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
# 对症的都回到 99 %。TensorRT 的熵对坏像素没有用，对离群通道只救回一部分：它选的 T 不会小于最大值的十六分之一，而这里的离群值把 T 放大了 90 倍和 480 倍。
#
# 留一层在浮点要付速度；另一个办法是把离群通道的大小挪到权重里去，像 SmoothQuant 那样，见练习 2。

# %% [markdown]
# ## 换成 TensorRT { #tensorrt }
#
# 这里的模型就是 TensorRT 要的样子：零点为 0，激活一个 scale，权重逐通道，Q/DQ 在带权重的层的输入上。
#
# - **TensorRT 11** 只有这一条路：校准在 ModelOpt 里做，它用的是自己改过的 `quantize_static`；放过一层是 `--nodes_to_exclude`。
# - **TensorRT 10 及以前**还能隐式量化：给校准器，由它选 T，层用不用 INT8 看速度；放过一层是给它定精度再加上 obey。旧缓存也是那里的原因之一。两者的写法见[版本](../quantization/int8-wrong-results.md#versions)。
# - **熵**在 TensorRT 里逐个 batch 更新直方图，[batch 大小和次序](../quantization/calibration-batch-size.md)会改变 T；这里是一个 batch。
# - **标记输出**会改变引擎，在这里不会。先在 ONNX Runtime 里找到层，再去 TensorRT。
# - **速度**这里一点也没有谈：Q/DQ 放在哪里决定融合，见 [INT8 反而慢](../quantization/int8-slower-than-fp16.md)。

# %% [markdown]
# 前四种情形在 H200 上实测过：TensorRT 8.6，同一个网络、同样的图片，隐式量化，最大值的校准器，要求卷积用 INT8。单元格把这里的 T 与它校准出来的逐个核对，再比信噪比。一边是 CPU 上的浮点 Q/DQ，一边是 GPU 上的 INT8 kernel。

# %% caption="同样的原因：ONNX Runtime 在 CPU 上，TensorRT 8.6 在 H200 上"
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
# T 全部相同，信噪比也对得上：INT8 的误差由 scale 决定，不由谁来执行决定。所以原因和层可以在 CPU 上找。

# %% [markdown]
# ## 练习 { #exercises }
#
# 1. `VALUES = heavy`，权重逐通道，五层都量化：为什么又坏了？先猜是哪一层，再看下面的阶梯。只改 `CHOSEN`，把它修好。
# 2. 把离群通道的大小从激活挪进权重，函数不变：conv1 的那个通道除以一个数，conv2 读它的权重乘上同一个数，激活里剩下 `factor` 倍。每大一倍，conv2 读到的噪声大 6 dB：先预测 4、16、64、512 时整网各是多少。两头为什么都不照 6 dB 走？
# 3. `VALUES = weights`，校准只用前 `COUNT` 张图：1、4、16、64。信噪比从几张起不再变？准确率看得出来吗？
# 4. 把 `run` 里的 `ORT_DISABLE_ALL` 换成 `ORT_ENABLE_ALL`，全部重新运行：停在哪一个 `assert`？把它改成打印两边相差多少 dB，再往下运行。标成输出为什么会改变分数？换一台 CPU 呢？
# 5. 有 TensorRT 的话，用 `onnx.save(quantised(weights, chosen["max"]), "int8.onnx")` 存下模型，照[那道题的步骤](../quantization/int8-wrong-results.md#procedure)比较 ONNX Runtime 与 TensorRT 的分数：差多少 dB？与 INT8 本身的噪声比是大是小？

# %% caption="自己试：一起量化，再逐层量化"
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
