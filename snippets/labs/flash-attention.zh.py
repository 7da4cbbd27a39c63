# ---
# jupyter:
#   page:
#     description: 在线 softmax、边算边缩放的结果、FlashAttention 的分块：逐步推导、核对，再与 H200 的实测比较。
#     tags:
#       - advanced
#       - llm
#       - tensor-core
#     data:
#       - transformer-inference/attention.py
#       - transformer-inference/flash.h200.json
#       - transformer-inference/ways.h200.json
# ---

# %% [markdown]
# # 从在线 softmax 到 FlashAttention { #flash-attention }
#
# 不保存得分矩阵的注意力由四步得到：还不知道最大值就开始的 softmax，边算边缩放的结果，分块的 key，分块的行。这个实验逐步推导，每一步都与原来的公式核对，再预测 [Transformer 推理那道题](../llm/transformer-inference.md)里的 kernel 在 H200 上的误差、显存、字节数和占峰值的比例。
#
# 运行它不需要 GPU：把 notebook 和数据下载到同一个文件夹，安装 `jupyterlab` 和 `matplotlib`，打开后运行全部单元格。

# %% [markdown]
# ## 记录 { #records }
#
# 实测数字全部读自记录，下面没有一个是手写的。

# %%
import json
import sys
from pathlib import Path

GPU = "h200"  # whose records are read
NAMES = ["flash", "ways"]
files = ["attention.py", *(f"{name}.{GPU}.json" for name in NAMES)]

# Downloaded, they lie beside the notebook; in a clone of the repository, in snippets/.
here = Path.cwd()
clones = [folder / "snippets" / "transformer-inference" for folder in (here, *here.parents)]
whole = [folder for folder in (here, *clones) if all((folder / file).is_file() for file in files)]
if not whole:
    raise FileNotFoundError(f"download {', '.join(files)} into {here}: the page links to them")

sys.path.insert(0, str(whole[0]))
import attention

texts = {name: (whole[0] / f"{name}.{GPU}.json").read_text("utf-8") for name in NAMES}
records = {name: json.loads(text) for name, text in texts.items()}
for name, record in records.items():
    print(f"{name:<6} {record['gpu']}, driver {record['versions']['driver']}, {record['recorded']}")

# %%
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown
from matplotlib_inline.backend_inline import set_matplotlib_formats

INK, PAPER = "#010101", "#fefefe"  # the site puts its own colours for these two
BLUE, ORANGE, GREEN, PURPLE = "#3d85c6", "#c9622b", "#3a9150", "#9a6bc9"
inked = ["text", "xtick", "ytick", "grid"]
set_matplotlib_formats("svg")
plt.rcParams.update({f"{part}.color": INK for part in inked})
plt.rc("figure", facecolor=PAPER, figsize=(7.2, 3.8))
plt.rc("figure.constrained_layout", use=True)
plt.rc("axes", facecolor=PAPER, edgecolor=INK, labelcolor=INK, grid=True)
plt.rc("axes.spines", top=False, right=False)
plt.rc("grid", alpha=0.15)
plt.rc("legend", frameon=False)
plt.rc("font", size=11)
plt.rc("svg", fonttype="none")
draw = np.random.default_rng(10)


def table(rows):
    """Show dictionaries that have the same keys as a table."""
    rule = ["---" if isinstance(value, str) else "---:" for value in rows[0].values()]
    lines = [list(rows[0]), rule, *([cell(value) for value in row.values()] for row in rows)]
    return Markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))


def cell(value):
    """Print a value: large numbers without a fraction, others with two digits of it."""
    if isinstance(value, str):
        return f"`{value}`"
    return f"{value:,.0f}" if isinstance(value, int) or value >= 100 else f"{value:.2f}"


# %% [markdown]
# ## 为什么要先找最大值 { #softmax }
#
# 注意力的一行是 softmax(QKᵀ/√d)V。指数在 11.09 超出 FP16，在 88.72 超出 FP32。Q、K 取标准正态分布时，不除 √d，得分的标准差是 √d，d = 128 时为 11.3；除了以后是 1。减去任何常数结果都不变，因为分子分母有同一个因子；减去最大值，每个指数就都在 0 与 1 之间。

# %% caption="有和没有 1/√d 的得分"
HEAD, KEYS = 128, 4096
q, keys = draw.standard_normal(HEAD), draw.standard_normal((KEYS, HEAD))
scores = keys @ q / HEAD**0.5
many = keys @ draw.standard_normal((HEAD, 64))  # 64 more rows


def softmax(scores):
    """Give the weights, by the largest score first."""
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


compared = [
    {
        "scores": name,
        "standard deviation": values.std(),
        "largest": values.max(),
        "exp over FP16, %": 100 * float((values > np.log(65504)).mean()),
    }
    for name, values in (("QK", many), ("QK / sqrt(d)", many / HEAD**0.5))
]
assert np.allclose(softmax(scores), softmax(scores - 7), rtol=1e-12, atol=0)
table(compared)

# %% [markdown]
# ## 不知道最大值也能开始 { #running }
#
# 得分只读一遍。设 m 是已读的最大值，l 是已读的 exp(sᵢ − m) 之和。新的得分 s 使 m 变为 m′ = max(m, s)。每一项都要改为相对 m′，而它们的因子相同：
#
# l′ = l · exp(m − m′) + exp(s − m′)
#
# 下面的单元格在每个得分之后记下 m 和 l，把 l 与重新求的和比较。只有破纪录的得分才需要不等于 1 的因子；N 个随机次序的得分平均只破 1 + 1/2 + … + 1/N 次纪录，很少。


# %%
def running(scores):
    """Give the largest score and the sum after each score."""
    top, total, steps = -np.inf, 0.0, []
    for score in scores:
        new_top = max(top, score)
        total = total * np.exp(top - new_top) + np.exp(score - new_top)
        top = new_top
        steps.append((top, total))
    return np.array(steps).T


tops, totals = running(scores)
anew = np.array([np.exp(scores[: n + 1] - scores[: n + 1].max()).sum() for n in range(KEYS)])
assert np.abs(totals / anew - 1).max() < 1e-12

many = draw.standard_normal((1000, KEYS))
records_broken = (np.diff(np.maximum.accumulate(many, axis=1), axis=1) > 0).sum(axis=1) + 1
expected = (1 / np.arange(1, KEYS + 1)).sum()
print(f"largest relative difference of the sums: below 1e-12 over {KEYS} scores")
average = records_broken.mean()
print(f"new records among {KEYS} scores: {average:.1f} on average, expected {expected:.1f}")
assert abs(records_broken.mean() - expected) < 0.5

# %% caption="一行的前 256 个得分、到此为止的最大值，以及需要把已有的和缩小的位置。"
figure, axes = plt.subplots()
axes.plot(scores[:256], ".", color=BLUE, ms=4, label="score")
axes.step(range(256), tops[:256], where="post", color=ORANGE, label="top")
new = np.flatnonzero(np.diff(tops[:256], prepend=-np.inf) > 0)
axes.plot(new, tops[new], "o", color=ORANGE, mfc="none", ms=9, label="shrink < 1")
axes.set(xlabel="key", xlim=(-4, 256), ylabel="score")
axes.legend(loc="lower right", ncols=3)
plt.show()

# %% [markdown]
# ## 边算边得到结果 { #result }
#
# 结果是 V 的各行按同样的权重求和，所以因子也相同：out′ = out · exp(m − m′) + exp(s − m′) · v，最后才除以 l。此外什么都不用记：Q 的每一行只有 m、l 和 d 个数的 out，与 key 的数目无关。
#
# key 可以一块一块地来，本站的模型 `attention.online` 就是这样。看过不同 key 的两个状态按同一条规则合并，次序任意：于是一行的 key 可以分给几个 SM，最后再合并；序列很少的 decode 正是这样占满 GPU 的。


# %%
def state(q, keys, values):
    """Give (top, total, out) of one row over some keys."""
    scores = keys @ q / q.size**0.5
    weights = np.exp(scores - scores.max())
    return scores.max(), weights.sum(), weights @ values


def merge(a, b):
    """Give the state over the keys of both."""
    top = max(a[0], b[0])
    left, right = np.exp(a[0] - top), np.exp(b[0] - top)
    return top, a[1] * left + b[1] * right, a[2] * left + b[2] * right


values = draw.standard_normal((KEYS, HEAD))
exact = softmax(scores) @ values
few = slice(0, 256)  # the model is plain Python: fewer keys
lists = [part.tolist() for part in (q, keys[few], values[few])]
by_block = {block: attention.online(*lists, block) for block in (1, 32, 100, 256)}
plain = np.array(attention.plain(*lists))
worst = max(np.abs(np.array(row) - plain).max() for row in by_block.values())

pieces = [state(q, keys[part::8], values[part::8]) for part in range(8)]
draw.shuffle(order := list(range(8)))
merged = pieces[order[0]]
for number in order[1:]:
    merged = merge(merged, pieces[number])
assert worst < 1e-12
assert np.abs(merged[2] / merged[1] - exact).max() < 1e-12
print("blocks of 1, 32, 100 and 256 keys: within 1e-12 of the plain row")
print(f"8 states merged in the order {order}: within 1e-12 of the plain row")

# %% [markdown]
# ## 以 kernel 的精度 { #precision }
#
# 精确是指公式没有变；舍入的位置变了。Tensor Core 上 Q、K、V 是 FP16，和是 FP32；两次乘法之间权重舍入成 FP16，结果也是。下面的单元格用 NumPy 逐块照做，与 kernel 在 H200 上的误差比较；长度不是分块的整数倍，误差是相对误差，单位 10⁻⁴。


# %% caption="相对 FP64 的误差（10⁻⁴）：NumPy 里的舍入与 H200 上的 kernel"
def tiled(q, keys, values, block):
    """Give rows of attention as the kernel rounds them: FP16 inputs and weights, FP32 sums."""
    scale = np.float32(1 / q.shape[1] ** 0.5)
    top = np.full(len(q), -np.inf, np.float32)
    total, out = np.zeros(len(q), np.float32), np.zeros(q.shape, np.float32)
    for start in range(0, len(keys), block):
        k, v = (part[start : start + block].astype(np.float32) for part in (keys, values))
        scores = q.astype(np.float32) @ k.T * scale
        new_top = np.maximum(top, scores.max(axis=1))
        shrink = np.exp(top - new_top)
        weights = np.exp(scores - new_top[:, None])
        total = total * shrink + weights.sum(axis=1)
        out = out * shrink[:, None] + weights.astype(np.float16).astype(np.float32) @ v
        top = new_top
    return (out / total[:, None]).astype(np.float16)


def error(length, head, block=64):
    """Give the relative error of 128 rows, in units of 1e-4."""
    shapes = [(rows, head) for rows in (128, length, length)]
    q, keys, values = (draw.standard_normal(shape).astype(np.float16) for shape in shapes)
    scores = q.astype(float) @ keys.astype(float).T / head**0.5
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    exact = weights @ values.astype(float) / weights.sum(axis=1, keepdims=True)
    wrong = np.linalg.norm(tiled(q, keys, values, block) - exact)
    return 1e4 * float(wrong / np.linalg.norm(exact))


odd = [row for row in records["flash"]["rows"].values() if row.get("odd_length", 1) > 17]
compared = [
    {
        "length": row["odd_length"],
        "head size": head,
        "predicted error": (predicted := error(row["odd_length"], head)),
        "measured error": row[f"measured_error_{head}_1e4"],
        "measured / predicted": row[f"measured_error_{head}_1e4"] / predicted,
    }
    for row in odd
    for head in (64, 128)
]
assert all(0.8 < row["measured / predicted"] < 1.25 for row in compared)
table(compared)

# %% [markdown]
# ## 保存什么，搬运什么 { #traffic }
#
# 原来的做法保存 N² 个得分和 N² 个权重，每个搬两次。另一种只保存结果。一个序列，8 个 64 维的头，FP16；`online` 一个线程算 Q 的一行，不用 Tensor Core；`flash` 是分块的 kernel。

# %% caption="Q、K、V 之外的显存，以及 H200 上的时间"
ways = records["ways"]["rows"].values()
compared = [
    {
        "way": row["way"],
        "length": row["length"],
        "predicted MiB": attention.kept_bytes(kind, 1, row["heads"], row["length"], row["head"]) / 2**20,
        "measured MiB": row["measured_memory_mib"],
        "time, ms": row["measured_time_ms"],
    }
    for row in ways
    if row["way"] != "sdpa"
    for kind in ["naive" if row["way"] == "naive" else "online"]
]
assert all(1 <= row["measured MiB"] / row["predicted MiB"] < 1.04 for row in compared)
table(compared)

# %% [markdown]
# `online` 和 `flash` 一样省显存，却慢得多：不存矩阵省的是显存，还不是时间。Q 只有一行时，每个 K 和 V 只用一次，4d 次运算对 4d 字节。R 行的块把读来的数据用 R 次：每字节 R FLOP。下图的线是假设每一块 K 和 V 都由 DRAM 供给时随 R 变化的 roofline，点是最快的实测速率和它们的块高。有一个点在线的上方（d = 64，causal，R = 64），说明块来自 L2，别的 SM 刚刚读过它们。

# %% caption="假设 K 和 V 的每次读取都到 DRAM，roofline 随块高的变化；点是最快的实测 kernel。"
PEAK, BANDWIDTH = 989.4, 4.8  # TFLOP/s, TB/s: H200, as NVIDIA states
timed = [row for row in records["flash"]["rows"].values() if "length" in row]
flash = [row | {"head": row.get("head_64") or row["head_128"]} for row in timed]
kinds = {(64, False): BLUE, (64, True): GREEN, (128, False): PURPLE, (128, True): ORANGE}
figure, axes = plt.subplots()
sizes = np.geomspace(1, 1024, 200)
roof = np.minimum(PEAK, BANDWIDTH * sizes)
axes.plot(sizes, roof, color=INK, alpha=0.7, label="min(peak, R x 4.8 TB/s)")
for (head, causal), colour in kinds.items():
    rows = [row for row in flash if (row["head"], row["causal"]) == (head, causal)]
    best = max(rows, key=lambda row: row["measured_tflop_s"])
    label = f"d = {head}{', causal' if causal else ''}"
    axes.plot(best["tile_rows"], best["measured_tflop_s"], "o", color=colour, label=label)
axes.set(xlabel="R, rows of a tile", xscale="log", xlim=(1, 1024))
axes.set(ylabel="TFLOP/s", yscale="log")
axes.xaxis.set_major_formatter("{x:g}")
axes.yaxis.set_major_formatter("{x:,.0f}")
axes.legend(loc="lower right")
plt.show()

# %% [markdown]
# ## 另一个单元 { #exponential }
#
# 一个得分要 Tensor Core 做 4d 次运算，每个 SM 每时钟 4,096 次；还要一次指数，每个 SM 每时钟 16 次：d/1024 个时钟对 1/16 个。d = 64 时两者一样长。如果 Tensor Core 停下来等指数，就只剩峰值的 d/(d + 64)；要超过它，必须让两者重叠，FlashAttention-3 就是这样做的。

# %% caption="占 Tensor Core 峰值的最高比例，与毫无重叠时剩下的比例"
compared = [
    {
        "head size": head,
        "no overlap, % of peak": 100 * attention.share_without_overlap(head),
        "flash of PyTorch": max(row["measured_flash_tflop_s"] for row in rows) / PEAK * 100,
        "this site's": max(row["measured_tflop_s"] for row in rows) / PEAK * 100,
        "cuDNN": max(row["measured_cudnn_tflop_s"] for row in rows) / PEAK * 100,
    }
    for head in (64, 128)
    for rows in [[row for row in flash if row["head"] == head]]
]
for row in compared:
    _, bound, *shares = row.values()
    assert max(shares) < bound, row
table(compared)

# %% [markdown]
# 在这块 H200 上三者都没有超过这个界，cuDNN 最接近。峰值按 1.83 GHz 计算，负载下时钟更低，所以重叠了的 kernel 也可能在界的下面。

# %% [markdown]
# ## 掩码省下多少 { #causal }
#
# 有 causal 掩码时只有一半的得分算数，但被对角线穿过的块要完整地算。按论文的算法，需要的运算是全部的一半；实际算的更多，多出的比例随长度下降。如果没有别的开销，由此可以预测 causal 的速率能保住多少。


# %% caption="causal 的块：算了多少，速率剩多少"
def computed_share(length, tile_rows, tile_keys):
    """Give the share of the matrix that is computed: all tiles that hold a key which one of their rows sees."""
    tiles = [min(first + tile_rows, length) for first in range(0, length, tile_rows)]
    return sum(-(-last // tile_keys) * tile_keys * tile_rows for last in tiles) / length**2


by_case = {(row["head"], row["length"], row["causal"]): row for row in flash}
compared = []
for (head, length, causal), row in by_case.items():
    if causal:
        share = computed_share(length, row["tile_rows"], row["tile_keys"])
        compared.append(
            {
                "head size": head,
                "length": length,
                "computed, % of the matrix": 100 * share,
                "predicted rate, causal / full": 0.5 / share,
                "measured": row["measured_tflop_s"] / by_case[head, length, False]["measured_tflop_s"],
            }
        )
table(compared)

# %% [markdown]
# 长度短时损失比块能解释的更多：这时一行块只有几步，程序的开头和结尾占得更重；各行块的长短不同，最后几个使一些 SM 空闲。
#
# ## 练习 { #exercises }
#
# 1. 在下面的单元格里把 `TILE` 依次设为 32、64、128、256。哪种长度损失最小？块的行数为什么不能一直减小？
# 2. 把 `merge` 改成漏掉一边的因子。上面哪些检查会发现？两个状态的最大值相同时，结果为什么仍然正确？
# 3. FP8 使 Tensor Core 的速率加倍。d = 128 时毫无重叠还剩那个峰值的多少？改 `TENSOR_FLOP_A_CLOCK` 验证。

# %%
TILE = 128  # rows and keys of a tile
for length in (1024, 4096, 16384):
    share = computed_share(length, TILE, TILE)
    print(f"length {length:>6}: {100 * share:.1f}% of the matrix, {2 * share:.3f} times the half")
head, flop_a_clock = 128, attention.TENSOR_FLOP_A_CLOCK
share = 4 * head / flop_a_clock / (4 * head / flop_a_clock + 1 / attention.EXP_A_CLOCK)
print(f"d = {head}, {flop_a_clock} FLOP a clock: {share:.0%} of the peak without overlap")
