# ---
# jupyter:
#   page:
#     description: 从一个 warp 的地址算到 roofline：每一步的预测旁边都是 H200 的实测记录。
#     tags: [intermediate, global-memory, profiling]
#     data:
#       - vectorized-access/sectors.py
#       - vectorized-access/sectors.h200.json
#       - vectorized-access/ceilings.h200.json
#       - vectorized-access/bandwidth.h200.json
# ---

# %% [markdown]
# # 从访问模式到 roofline { #roofline }
#
# 一个 warp 的地址决定搬运多少字节，搬运的字节决定留给有用数据的带宽，这个带宽就是 roofline 斜线的斜率。这个实验用本站的模型逐步算出这三件事，每一步都与 H200 的实测记录对照。
#
# 运行它不需要 GPU：把 notebook 和数据下载到同一个文件夹，安装 `jupyterlab` 和 `matplotlib`，打开后运行全部单元格。

# %% [markdown]
# ## 记录 { #records }
#
# 实测数字全部读自记录，下面没有一个是手写的。换成别的 GPU 的记录也能运行，见[练习](#exercises)。

# %%
import json
import sys
from pathlib import Path

GPU = "h200"  # whose records are read
NAMES = ["sectors", "ceilings", "bandwidth"]
files = ["sectors.py", *(f"{name}.{GPU}.json" for name in NAMES)]

# Downloaded, they lie beside the notebook; in a clone of the repository, in snippets/.
here = Path.cwd()
clones = [folder / "snippets" / "vectorized-access" for folder in (here, *here.parents)]
whole = [folder for folder in (here, *clones) if all((folder / file).is_file() for file in files)]
if not whole:
    raise FileNotFoundError(f"download {', '.join(files)} into {here}: the page links to them")

sys.path.insert(0, str(whole[0]))
import sectors

texts = {name: (whole[0] / f"{name}.{GPU}.json").read_text("utf-8") for name in NAMES}
records = {name: json.loads(text) for name, text in texts.items()}
for name, record in records.items():
    driver, compiler = record["versions"]["driver"], record["versions"]["nvrtc"]
    print(f"{name:<10} {record['gpu']}, driver {driver}, NVRTC {compiler}, {record['recorded']}")

# %%
import matplotlib.pyplot as plt
from IPython.display import Markdown
from matplotlib_inline.backend_inline import set_matplotlib_formats

INK, PAPER = "#010101", "#fefefe"  # the site puts its own colours for these two
BLUE, ORANGE, GREEN, PURPLE = "#3d85c6", "#c9622b", "#3a9150", "#9a6bc9"
inked = ["text", "xtick", "ytick", "grid"]
set_matplotlib_formats("svg")
plt.rcParams.update({f"{part}.color": INK for part in inked})
plt.rc("figure", facecolor=PAPER, figsize=(7.2, 4.3))
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
    """Print a value: large numbers without a fraction, others with two digits of it."""
    if isinstance(value, str):
        return f"`{value}`"
    return f"{value:,.0f}" if isinstance(value, int) or value >= 100 else f"{value:.2f}"


# %% [markdown]
# ## 一个 warp 搬运多少 { #sectors }
#
# 全局内存以 32 字节的 sector 为单位搬运。[float4 那道题](../memory/vectorized-access.md)的模型列出 32 个 lane 的地址碰到哪些 sector，Nsight Compute 在 GPU 上数出同一个量。只要有一种模式对不上，单元格就会报错。


# %% caption="一次请求的 sector 数与其中有用字节的比例：预测与实测计数"
def addresses_of(row):
    """Give the addresses of the 32 lanes of one warp."""
    return sectors.lane_addresses(row["stride_bytes"], row["offset_bytes"])


rows = records["sectors"]["rows"]
patterns = {name: row for name, row in rows.items() if row.get("loads") == 1}
moved = [
    {
        "pattern": name,
        "predicted sectors": sectors.sectors(addresses_of(row), row["access_bytes"]),
        "counted sectors": row["counted_sectors_per_request"],
        "predicted useful %": sectors.useful_percent(addresses_of(row), row["access_bytes"]),
        "counted useful %": row["counted_useful_percent"],
    }
    for name, row in patterns.items()
]
assert all(row["predicted sectors"] == row["counted sectors"] for row in moved)
table(moved)

# %% caption="一个 warp 搬运的前 1 KiB：每行一种访问模式，蓝色是它要的字节，橙色是同一 sector 里陪着搬运的字节。"
SHOWN = 1024  # bytes
size = sectors.SECTOR_BYTES
figure, axes = plt.subplots(figsize=(7.2, 3.6))
for place, row in enumerate(patterns.values()):
    addresses = addresses_of(row)
    touched = sectors.touched(addresses, row["access_bytes"], size)
    bar = (place - 0.36, 0.72)
    carried = [(sector * size + 1, size - 2) for sector in touched if sector * size < SHOWN]
    asked = [(address, row["access_bytes"]) for address in addresses if address < SHOWN]
    axes.broken_barh(carried, bar, color=ORANGE, alpha=0.6, linewidth=0)
    axes.broken_barh(asked, bar, color=BLUE, linewidth=0)
axes.set(xlabel="byte", xlim=(0, SHOWN), xticks=range(0, SHOWN + 1, 128))
axes.set(yticks=range(len(patterns)), yticklabels=patterns)
axes.invert_yaxis()
axes.grid(visible=False, axis="y")
plt.show()

# %% [markdown]
# ## 还剩多少带宽 { #bandwidth }
#
# 跨步拷贝每隔 `stride` 个 float 读一个，写的时候不留空隙。每个 float 有 8 个有用字节：读 4 个，写 4 个。它的成本是所在 warp 的 sector 中分摊到的那一份，再加上写的 4 个字节。如果只有字节数起作用，那么
#
# 有用带宽 = 无间隔拷贝的带宽 × 8 /（读取的字节 + 4）。
#
# 最后一列是这条假设的成色：等于 1，说明字节数解释了一切。

# %% caption="跨步拷贝的有用带宽：由 sector 预测的值与实测值"
ceilings = records["ceilings"]["rows"]
roofs = ceilings["roofs"]
strided = [row for row in ceilings.values() if "stride" in row]


def read_bytes(stride):
    """Give what one float costs to read: its share of the sectors that its warp touches."""
    addresses = sectors.lane_addresses(4 * stride)
    return sectors.SECTOR_BYTES * sectors.sectors(addresses, 4) / sectors.LANES


def useful_gb_s(read):
    """Give the bandwidth in useful bytes when each float costs so many bytes to read."""
    return roofs["measured_bandwidth_gb_s"] * (4 + 4) / (read + 4)


compared = [
    {
        "stride": row["stride"],
        "bytes read": read_bytes(row["stride"]),
        "predicted GB/s": (predicted := useful_gb_s(read_bytes(row["stride"]))),
        "measured GB/s": row["measured_useful_gb_s"],
        "measured / predicted": row["measured_useful_gb_s"] / predicted,
    }
    for row in strided
]
table(compared)

# %% [markdown]
# 模型数的是 SM 与 L2 之间的 sector。DRAM 实际送出的可能更多，Nsight Compute 也数了这个量。用计数得到的字节代替 sector，再预测一次：

# %% caption="用 DRAM 实际送出的字节重新预测"
compared = [
    {
        "stride": row["stride"],
        "bytes by sectors": read_bytes(row["stride"]),
        "bytes counted": row["counted_read_bytes_a_float"],
        "predicted GB/s": (predicted := useful_gb_s(row["counted_read_bytes_a_float"])),
        "measured GB/s": row["measured_useful_gb_s"],
        "measured / predicted": row["measured_useful_gb_s"] / predicted,
    }
    for row in strided
]
table(compared)

# %% caption="有用带宽随步长的变化：线是 sector 的预测，方框是按 DRAM 计数字节的预测，圆点是实测。"
strides = [row["stride"] for row in strided]
every = range(min(strides), max(strides) + 1)
by_sectors = [useful_gb_s(read_bytes(stride)) for stride in every]
by_counted = [useful_gb_s(row["counted_read_bytes_a_float"]) for row in strided]
measured = [row["measured_useful_gb_s"] for row in strided]

figure, axes = plt.subplots()
axes.plot(every, by_sectors, color=BLUE, label="predicted: sectors")
axes.plot(strides, by_counted, "s", color=PURPLE, mfc="none", ms=10, label="predicted: counted")
axes.plot(strides, measured, "o", color=ORANGE, label="measured")
axes.set(xlabel="stride (float)", xscale="log", xticks=strides)
axes.set(ylabel="useful GB/s", ylim=(0, None))
axes.xaxis.set_major_formatter("{x:g}")
axes.yaxis.set_major_formatter("{x:,.0f}")
axes.minorticks_off()
axes.legend()
plt.show()

# %% [markdown]
# 在 H200 上，步长不超过 8 个 float 时两种预测一致。步长为 32 时，DRAM 送出的不止用到的那一个 sector，只有按计数字节的预测才接近实测。

# %% [markdown]
# ## 算术强度与脊点 { #intensity }
#
# 算术强度（arithmetic intensity）是 kernel 每搬运一个字节所做的 FLOP 数，一次 FMA 算两个 FLOP。强度乘以带宽恰好等于算术峰值的地方叫脊点（ridge point）：左边受内存限制，右边受算术限制。第一行是时钟和位宽给出的理论值，第二行是最朴素的 kernel 达到的值：`float4` 拷贝，以及八条互相独立的 FMA 链。

# %% caption="两条上限与脊点：理论值与实测值"
bandwidth, peak = roofs["measured_bandwidth_gb_s"], roofs["measured_gflop_s"]
promised = roofs["predicted_peak_gb_s"], roofs["predicted_peak_gflop_s"]
both = {"promised": promised, "measured": (bandwidth, peak)}
compared = [
    {
        "roofs": name,
        "GB/s": gb_s,
        "GFLOP/s": gflop_s,
        "ridge, FLOP/byte": gflop_s / gb_s,
    }
    for name, (gb_s, gflop_s) in both.items()
]
table(compared)

# %% [markdown]
# ## Roofline { #plot }
#
# 被测的 kernel 一边拷贝数组，一边对每个 float 做 1 到 256 次 FMA。这里的强度按有用字节计算，所以访问模式变差时，kernel 的横坐标不动，是它头顶的斜线降低了，脊点随之右移。


# %% caption="双对数坐标的 roofline：虚线是理论峰值，实线是步长为 1、2、8 时的实测上限，圆点是实测的无步长 kernel。"
def attainable(flop_per_byte, gb_s=bandwidth, gflop_s=peak):
    """Give the GFLOP/s that the roofline allows."""
    return min(gflop_s, flop_per_byte * gb_s)


def intensity(fmas):
    """Give the FLOP per useful byte: two an FMA; 4 bytes read and 4 written a float."""
    return 2 * fmas / 8


kernels = [row for row in ceilings.values() if "fmas" in row]
axis = [10 ** (step / 50) for step in range(-50, 101)]
figure, axes = plt.subplots(figsize=(7.2, 4.8))
highest = [attainable(x, *promised) for x in axis]
axes.plot(axis, highest, "--", color=INK, alpha=0.6, linewidth=1, label="promised")
for stride, colour in ((1, BLUE), (2, GREEN), (8, PURPLE)):
    gb_s = useful_gb_s(read_bytes(stride))
    label = f"stride {stride}: {gb_s:,.0f} GB/s"
    axes.plot(axis, [attainable(x, gb_s) for x in axis], color=colour, label=label)
for row in kernels:
    place = (intensity(row["fmas"]), row["measured_gflop_s"])
    axes.plot(*place, "o", color=ORANGE)
    left = place[0] < peak / bandwidth
    offset = {"xytext": (-8, 6), "ha": "right"} if left else {"xytext": (8, -14)}
    axes.annotate(f"{row['fmas']} FMA", place, textcoords="offset points", **offset)
axes.set(xlabel="FLOP / useful byte", xscale="log", xlim=(0.1, 100))
axes.set(ylabel="GFLOP/s", yscale="log")
axes.xaxis.set_major_formatter("{x:g}")
axes.yaxis.set_major_formatter("{x:,.0f}")
axes.legend(loc="lower right")
plt.show()

# %% [markdown]
# ## 预测与实测对照 { #check }
#
# Roofline 在访存时间与计算时间中取较长的一个，等于假设两者完全重叠。另一个极端是两段时间相加，即 `no overlap`。在脊点处两者相差一倍，离脊点远了就几乎没有差别；所以看脊点附近的 kernel，就知道重叠做得好不好。


# %% caption="五个 kernel：roofline 的预测、毫无重叠时的预测与实测"
def one_after_the_other(flop_per_byte):
    """Give the GFLOP/s when memory and arithmetic never work at once: their times add up."""
    return 1 / (1 / (flop_per_byte * bandwidth) + 1 / peak)


compared = [
    {
        "FMAs": row["fmas"],
        "FLOP/byte": (x := intensity(row["fmas"])),
        "limit": "memory" if x < peak / bandwidth else "arithmetic",
        "no overlap": one_after_the_other(x),
        "predicted": attainable(x),
        "measured": row["measured_gflop_s"],
        "measured / predicted": row["measured_gflop_s"] / attainable(x),
    }
    for row in kernels
]
table(compared)

# %% [markdown]
# 在 H200 上，脊点左边的 kernel 都贴着内存上限。做 64 次 FMA 的 kernel 最靠近脊点，它落在两种预测之间：有重叠，但不完全。

# %% [markdown]
# ## Roofline 没有考虑什么 { #in-flight }
#
# 斜线成立的前提是在途的字节足够多。block 太少的拷贝，在途的读取也少，即使每个 sector 都用满了，它的上限也更低。这时 `float4` 有用，因为一次读取带回四倍的字节；[float4 那道题](../memory/vectorized-access.md)用 Little 定律解释了这一点。

# %% caption="不同 block 数的无间隔拷贝：在途字节、带宽，以及按这个带宽计算的脊点"
rows = records["bandwidth"]["rows"].values()
copies = [row for row in rows if row.get("copy") in {"float", "float4"}]
copies.sort(key=lambda row: (row["copy"], row["blocks"]))
compared = [
    {
        "copy": row["copy"],
        "blocks": row["blocks"],
        "bytes in flight, an SM": row["predicted_in_flight_bytes_an_sm"],
        "measured GB/s": row["measured_bandwidth_gb_s"],
        "% of the roof": 100 * row["measured_bandwidth_gb_s"] / bandwidth,
        "ridge, FLOP/byte": peak / row["measured_bandwidth_gb_s"],
    }
    for row in copies
]
table(compared)

# %% [markdown]
# ## 练习 { #exercises }
#
# 1. 步长为 8 的读取，每个 float 要做多少次 FMA 才碰到算术上限？先从图上估计，再用下面的单元格找出来。它为什么不是无步长时的八倍？
# 2. 数组改用 FP16 存储，计算仍用 FP32。上面单元格里的 `4`、`8`、`32` 哪些要改？做 16 次 FMA 的 kernel 会移到哪里？先预测，再改 `read_bytes` 和 `useful_gb_s`。
# 3. 测自己的 GPU：克隆仓库，运行 `python scripts/record.py vectorized-access --gpu`，把第一个单元格的 `GPU` 改成新记录的名字，再全部运行一遍。哪一个比值离 1 最远？

# %%
FMAS = 16  # for each float
STRIDE = 8  # floats from one that is read to the next

slope = useful_gb_s(read_bytes(STRIDE))
reached = attainable(intensity(FMAS), slope)
print(f"memory roof {slope:,.0f} GB/s, ridge at {peak / slope:.1f} FLOP per useful byte")
print(f"{FMAS} FMAs a float: {intensity(FMAS):g} FLOP per useful byte")
print(f"at most {reached:,.0f} GFLOP/s, {reached / peak:.0%} of the arithmetic roof")
