# ---
# jupyter:
#   page:
#     description: The online softmax, the rescaled result and the tiles of FlashAttention, each derived, checked, and compared with an H200.
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
# # From online softmax to FlashAttention { #flash-attention }
#
# Attention without a matrix of scores takes four steps: a softmax whose largest score is not known yet, a result that is rescaled on the way, keys in blocks, rows in tiles. This lab derives each, checks it against the plain formula, and predicts what the kernel of the [question on Transformer inference](../llm/transformer-inference.md) did on an H200: its error, its memory, its bytes, its share of the peak.
#
# It needs no GPU. Download the notebook and its data into one folder, install `jupyterlab` and `matplotlib`, open the notebook and run all cells.

# %% [markdown]
# ## The records { #records }
#
# Measured numbers come from the records alone; nothing below is typed from one.

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
# ## Why the largest score comes first { #softmax }
#
# A row of attention is softmax(QKᵀ/√d)V. The exponential leaves FP16 at 11.09 and FP32 at 88.72. Without 1/√d the scores of standard normal Q and K have a standard deviation of √d, 11.3 at d = 128; with it, 1. Subtracting any constant changes nothing, because numerator and denominator have the same factor; subtracting the largest score keeps every exponential between 0 and 1.

# %% caption="Scores with and without the factor 1/√d"
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
# ## Without knowing it { #running }
#
# Read the scores once. Let m be the largest of those seen and l the sum of exp(sᵢ − m) over them. A new score s changes m to m′ = max(m, s). Every summand has to be relative to m′, and all have the same factor:
#
# l′ = l · exp(m − m′) + exp(s − m′)
#
# The cell below keeps m and l after each score and compares l with the sum computed anew. A factor other than 1 is needed only when a score is a new record; among N scores in random order that happens 1 + 1/2 + … + 1/N times on average, so hardly ever.


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

# %% caption="The first 256 scores of a row, the largest so far, and the places where what was summed has to shrink."
figure, axes = plt.subplots()
axes.plot(scores[:256], ".", color=BLUE, ms=4, label="score")
axes.step(range(256), tops[:256], where="post", color=ORANGE, label="top")
new = np.flatnonzero(np.diff(tops[:256], prepend=-np.inf) > 0)
axes.plot(new, tops[new], "o", color=ORANGE, mfc="none", ms=9, label="shrink < 1")
axes.set(xlabel="key", xlim=(-4, 256), ylabel="score")
axes.legend(loc="lower right", ncols=3)
plt.show()

# %% [markdown]
# ## The result on the way { #result }
#
# The result is a sum of rows of V with the same weights, so it takes the same factor: out′ = out · exp(m − m′) + exp(s − m′) · v. The division by l waits until the end. Nothing else has to be remembered: m, l and d numbers of out for each row of Q, whatever the number of keys.
#
# Keys may as well come in blocks, as in `attention.online`, the site's model. And two states that saw different keys merge by the same rule, in any order: so the keys of one row can be spread over several SMs and merged afterwards, which is how decode with few sequences fills a GPU.


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
# ## In the kernel's precision { #precision }
#
# Exact means: the same formula. The numbers are rounded in other places. On Tensor Cores Q, K and V are FP16 and sums FP32; between the two products the weights are rounded to FP16, and so is the result. The cell does that in NumPy, block by block, and compares with the errors that the kernel had on the H200 at lengths that are no multiple of a tile: relative, in units of 10⁻⁴.


# %% caption="Relative error against FP64, in 10⁻⁴: rounding in NumPy, and the kernel on the H200"
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
# ## What is kept, what is moved { #traffic }
#
# The plain way keeps N² scores and N² weights, and moves each twice. The other keeps the result. One sequence, 8 heads of 64, FP16; `online` has a thread for each row of Q and no Tensor Cores, `flash` is the tiled kernel.

# %% caption="Memory beyond Q, K and V, and the time on the H200"
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
# `online` needs as little memory as `flash` and is far slower: leaving out the matrix saves memory, it does not yet save time. A row of Q alone uses each K and V once, 4d operations for 4d bytes. A tile of R rows uses what it reads R times: R FLOP per byte. The line below is the roofline over R if DRAM had to deliver every tile of K and V; the dots are the fastest measured rates with the tiles that they used. One dot (d = 64, causal, R = 64) lies above the line: it shows that tiles come from the L2, where other SMs have just read them.

# %% caption="Roofline over the rows of a tile, if every read of K and V went to DRAM, and the fastest measured kernels."
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
# ## The other unit { #exponential }
#
# A score costs 4d operations on the Tensor Cores, which do 4,096 a clock and SM, and one exponential, of which an SM does 16 a clock: d/1024 clocks against 1/16. At d = 64 both take as long. If the Tensor Cores wait for the exponentials, d/(d + 64) of the peak is left; a kernel beyond that has to overlap them, as FlashAttention-3 does.

# %% caption="Highest share of the Tensor Cores' peak, beside what is left without any overlap"
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
# On this H200 none of the three passes the bound; cuDNN comes closest. The peak is counted at 1.83 GHz, and under load the clock is lower, so a kernel that overlaps may still stay below.

# %% [markdown]
# ## What the mask saves { #causal }
#
# With a causal mask half of the scores count, but a tile that the diagonal crosses is computed in full. Let the needed operations be half of all, as papers count. The computed ones are more, by a share that falls with the length: this predicts how much of the rate a causal kernel keeps, if nothing else costs.


# %% caption="Causal tiles: what is computed, and the rate that is left"
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
# At short lengths more is lost than the tiles explain: a row of tiles then has few steps, and starting and ending a program weigh more; tiles of rows differ in length, so the last ones leave SMs idle.
#
# ## Exercises { #exercises }
#
# 1. Set `TILE` to 32, 64, 128 and 256 in the cell below. Which length loses least, and what stands against ever smaller tiles of rows?
# 2. Change `merge` so that it forgets the factor of one side. Which checks above notice? Why does the result stay right when both states have the same top?
# 3. FP8 doubles what the Tensor Cores do. Which share of that peak is left without overlap at d = 128? Change `TENSOR_FLOP_A_CLOCK` and check.

# %%
TILE = 128  # rows and keys of a tile
for length in (1024, 4096, 16384):
    share = computed_share(length, TILE, TILE)
    print(f"length {length:>6}: {100 * share:.1f}% of the matrix, {2 * share:.3f} times the half")
head, flop_a_clock = 128, attention.TENSOR_FLOP_A_CLOCK
share = 4 * head / flop_a_clock / (4 * head / flop_a_clock + 1 / attention.EXP_A_CLOCK)
print(f"d = {head}, {flop_a_clock} FLOP a clock: {share:.0%} of the peak without overlap")
