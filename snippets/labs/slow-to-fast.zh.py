# ---
# jupyter:
#   page:
#     description: 一个慢 kernel，六次修改：每一步都有 ncu 的计数、假设、预测与 H200 的实测，三次修改几乎没用，计数器说明为什么。
#     tags: [intermediate, global-memory, shared-memory, profiling]
#     data:
#       - slow-to-fast/norm.cu
#       - slow-to-fast/norm.py
#       - slow-to-fast/norm.txt
#       - slow-to-fast/norm.sass.txt
#       - slow-to-fast/norm.h200.json
# ---

# %% [markdown]
# # 从慢 kernel 到快 kernel：让 ncu 指路 { #slow-to-fast }
#
# 同一个 kernel 改六次。每次先看 Nsight Compute（`ncu`）的计数器说哪里不对，写下假设，用一个小模型预测，再看 H200 的实测。六次里有三次几乎没用，计数器同样说得出原因。最后留下的一版只比一次拷贝慢不到 4%，时间不到第一版的七分之一。
#
# 运行它不需要 GPU：把 notebook 和数据下载到同一个文件夹，安装 `jupyterlab` 和 `matplotlib`，打开后运行全部单元格。

# %% [markdown]
# ## 任务 { #task }
#
# 对每个像素的 256 个通道做 LayerNorm：减去均值，除以标准差。输入按 `[图][通道][像素]` 存放，卷积的输出就是这样；输出要 `[图][像素][通道]`，供后面的矩阵乘使用。128 张 64×64 的图，FP32，不带缩放和平移参数。
#
# 输入与输出各 537 MB，任何一个值都不必读两次：每个元素读 4 字节、写 4 字节。搬运同样字节数的 `float4` 拷贝就是目标，它和各个版本在同一次运行里轮流计时。

# %% [markdown]
# ## 记录 { #records }
#
# 实测数字全部读自记录，下面没有一个是手写的。时间不在 `ncu` 下测：各版本轮流计时，取各轮的中位数。计数器来自另一次运行，`ncu` 没有锁时钟。

# %%
import json
import sys
from pathlib import Path

GPU = "h200"  # whose record is read
files = ["norm.cu", "norm.py", "norm.txt", "norm.sass.txt", f"norm.{GPU}.json"]

# Downloaded, they lie beside the notebook; in a clone of the repository, in snippets/.
here = Path.cwd()
clones = [folder / "snippets" / "slow-to-fast" for folder in (here, *here.parents)]
whole = [folder for folder in (here, *clones) if all((folder / file).is_file() for file in files)]
if not whole:
    raise FileNotFoundError(f"download {', '.join(files)} into {here}: the page links to them")

sys.path.insert(0, str(whole[0]))
import norm

source, predicted, machine_code, text = ((whole[0] / name).read_text("utf-8") for name in (files[0], *files[2:]))
record = json.loads(text)
rows = record["rows"]
roofs = rows.pop("roofs")
driver, compiler, ncu = (record["versions"][name] for name in ("driver", "nvrtc", "ncu"))
print(f"{record['gpu']}, driver {driver}, NVRTC {compiler}, ncu {ncu}, {record['recorded']}")
print(f"copy {roofs['measured_copy_time_ms']:.3f} ms, {roofs['measured_copy_gb_s']:,.0f} GB/s")

# %%
import difflib
import re

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


def table(lines):
    """Show dictionaries that have the same keys as a table."""
    rule = ["---", *(["---:"] * (len(lines[0]) - 1))]
    cells = [list(lines[0]), rule]
    cells += [[cell(value) for value in line.values()] for line in lines]
    return Markdown("\n".join(f"| {' | '.join(line)} |" for line in cells))


def cell(value):
    """Print a value: large numbers without a fraction, small ones to three digits."""
    if isinstance(value, str):
        return value
    if value >= 100 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:#.3g}" if value >= 0.1 else f"{value:.2f}"


def code_of(name):
    """Give a kernel's text."""
    return re.search(rf'extern "C" __global__ void {name}\(.*?\n}}\n', source, re.DOTALL)[0]


def change(before, after):
    """Show the lines in which one kernel differs from another."""
    one, other = (code_of(name).splitlines()[1:] for name in (before, after))
    lines = difflib.unified_diff(one, other, n=0, lineterm="")
    changed = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    return "```diff\n" + "\n".join(changed) + "\n```"


def whole_code(name):
    """Show all of a kernel."""
    return f'```{{ .cuda title="norm.cu" }}\n{code_of(name)}```'


# %% [markdown]
# ## 模型 { #model }
#
# `norm.py` 为每个版本列出一个 warp 的访存：各 lane 的地址、字节数、次数。由此数出 sector、128 字节的行、共享内存的 wavefront 和 DRAM 的字节，再除以各级的速率：
#
# - DRAM：同一次运行里的拷贝；
# - L2：同一次运行里的分散写，每个 lane 写自己的一行；
# - 共享内存：每个 SM 每周期一个 wavefront；
# - 在途字节：按 Little 定律，见 [float4 那道题](../memory/vectorized-access.md)。
#
# 各级同时工作，时间就是其中最长的一个（`at least`）；一级接一级地工作，时间是它们的和（`at most`）。下面是它数出的结果，还没有用到任何测量。

# %%
print(predicted)

# %% [markdown]
# 时间只是估计，计数必须相等：下面的单元格比较七个版本的请求、sector 和 wavefront，有一个对不上就报错。

# %%
equal = ["load_requests", "load_sectors", "store_requests", "store_sectors"]
equal += ["shared_load_requests", "shared_load_wavefronts", "shared_store_wavefronts"]
for name, row in rows.items():
    for key in equal:
        assert row[f"counted_{key}"] == row[f"predicted_{key}"], (name, key)
print(f"{len(rows)} kernels, {len(equal)} counters each: as predicted")

# %% [markdown]
# ## 起点：一个线程一个像素 { #start }
#
# 最直接的写法。相邻线程读相邻像素，读是合并的；均值、方差、写出各走一遍通道。

# %%
Markdown(whole_code("three_passes"))

# %% caption="起点的计数器"
ELEMENTS = norm.CHANNELS * norm.PIXELS * roofs["images"]


def ratio(upper, lower):
    """Give a function that divides one counter of a row by another, or by a number."""
    return lambda row: row[upper] / (row[lower] if isinstance(lower, str) else lower)


def value(key):
    """Give a function that reads one value of a row."""
    return lambda row: row[key]


COUNTERS = {
    "time, ms": value("measured_time_ms"),
    "DRAM, % of peak": value("counted_dram_percent"),
    "L2, % of peak": value("counted_l2_percent"),
    "L1 and shared, % of peak": value("counted_l1_percent"),
    "SM, % of peak": value("counted_compute_percent"),
    "occupancy, %": value("counted_occupancy_percent"),
    "DRAM read, B / element": ratio("counted_dram_read_bytes", ELEMENTS),
    "DRAM written, B / element": ratio("counted_dram_write_bytes", ELEMENTS),
    "sectors / load": ratio("counted_load_sectors", "counted_load_requests"),
    "sectors / store": ratio("counted_store_sectors", "counted_store_requests"),
    "wavefronts / shared load": ratio("counted_shared_load_wavefronts", "counted_shared_load_requests"),
    "instructions, millions": ratio("counted_instructions", 1e6),
    "bytes in flight / SM": value("predicted_in_flight_bytes_an_sm"),
    "waits: lg_throttle": value("counted_stall_lg_throttle"),
    "waits: long_scoreboard": value("counted_stall_long_scoreboard"),
    "waits: mio_throttle": value("counted_stall_mio_throttle"),
    "waits: barrier": value("counted_stall_barrier"),
}


def look(*names, only):
    """Show the counters whose names begin with one of `only`, a column a kernel."""
    chosen = [key for key in COUNTERS if key.startswith(only)]
    columns = {f"`{name}`": rows[name] for name in names}
    shown = [{"counter": key} | {name: COUNTERS[key](row) for name, row in columns.items()} for key in chosen]
    return table(shown)


OF_PEAK = ("time", "DRAM,", "L2", "L1", "SM")
look("three_passes", only=(*OF_PEAK, "occupancy", "DRAM", "sectors", "waits: l"))

# %% [markdown]
# `waits` 是平均每发射一条指令，warp 等了多少个周期，按原因分；名字的含义见[内存指标那道题](../profiling/memory-metrics.md)。
#
# 两处看上去不对。DRAM 读了三遍；每条写指令碰 32 个 sector：相邻线程的输出相隔 1 KB，一个 32 字节的 sector 里每次只写 4 字节。

# %% [markdown]
# ## 第 1 步：少读一遍 { #two-passes }
#
# **假设**：时间花在 DRAM 上。均值与方差合成一遍（累加和与平方和），DRAM 的字节降到四分之三，时间也降到四分之三。

# %% caption="two_passes 与 three_passes 不同的行"
Markdown(change("three_passes", "two_passes"))

# %% caption="第 1 步：假设的预测、模型的上下限与实测"
said = {}  # what each hypothesis predicted, in milliseconds


def verdict(name, hypothesis):
    """Put a hypothesis's time beside the model's bounds and the measurement."""
    said[name] = hypothesis
    row = rows[name]
    times = {
        "hypothesis": hypothesis,
        "model: at least": row["predicted_least_ms"],
        "model: at most": row["predicted_most_ms"],
        "measured": row["measured_time_ms"],
    }
    return table([{"ms": what, f"`{name}`": time} for what, time in times.items()])


def moved(name):
    """Give the bytes that DRAM has to move, in both directions."""
    row = rows[name]
    return row["predicted_dram_read_bytes"] + row["predicted_dram_write_bytes"]


share = moved("two_passes") / moved("three_passes")
verdict("two_passes", share * rows["three_passes"]["measured_time_ms"])

# %% caption="第 1 步前后的计数器"
look("three_passes", "two_passes", only=(*OF_PEAK, "DRAM read", "sectors / store", "waits: l"))

# %% [markdown]
# **不成立。** DRAM 读确实少了三成，时间却没有变短。一开始就能从计数器看出来：DRAM 只用了峰值的四分之一不到，L2 才是最忙的一级，等待几乎全是 `lg_throttle`，即访存指令的队列满了。模型的下限也没有变，因为写没有变。减少一个不是瓶颈的量，什么也换不来。

# %% [markdown]
# ## 第 2 步：经过共享内存转置 { #tiled }
#
# **假设**：时间花在分散的写上。一个 block 取 32 个像素的全部通道放进共享内存，读一遍就够；写的时候让相邻线程对应相邻通道。写的 sector 从每次 32 个降到 4 个，剩下的只有 DRAM：时间应当等于拷贝。

# %%
Markdown(whole_code("tiled"))

# %% caption="第 2 步：假设的预测、模型的上下限与实测"
verdict("tiled", roofs["measured_copy_time_ms"])

# %% caption="第 2 步前后的计数器"
look("two_passes", "tiled", only=(*OF_PEAK, "DRAM", "sectors", "waits"))

# %% [markdown]
# **方向对，数字不对。** 速度是原来的近三倍，L2 不再最忙，DRAM 的字节已经是最少的，写得比 4 字节还少，是因为 kernel 结束时还有一部分留在 L2 里。但时间仍是拷贝的近三倍：最忙的换成了 L1，共享内存也在这里。模型的下限来自共享内存的 wavefront，它在测量之前就这么说。

# %% [markdown]
# ## 第 3 步：每行多一个字 { #padded }
#
# 写出时一个 warp 读 `tile` 的一列，相邻 lane 相隔 32 个字，全落在同一个 bank：一次读取要 32 个 wavefront。

# %% caption="共享内存读取的 wavefront：按访问预测，与实测之和比较"
tiles = roofs["images"] * norm.PIXELS // norm.TILE
lines = []
for name in ("tiled", "padded"):
    found = [access for access in norm.KERNELS[name].accesses if access.kind == "shared load"]
    for what, access in zip(("sums", "column"), found, strict=True):
        each = access.wavefronts()
        in_all = tiles * access.times * each
        lines.append({"load": f"`{name}`: {what}", "wavefronts each": each, "in all": in_all})
    total = sum(line["in all"] for line in lines[-2:])
    assert total == rows[name]["counted_shared_load_wavefronts"]
table(lines)

# %% [markdown]
# **假设**：bank 冲突消失后只剩 DRAM，时间等于拷贝。

# %% caption="padded 与 tiled 不同的行"
Markdown(change("tiled", "padded"))

# %% caption="第 3 步：假设的预测、模型的上下限与实测"
verdict("padded", roofs["measured_copy_time_ms"])

# %% caption="第 3 步前后的计数器"
look("tiled", "padded", only=(*OF_PEAK, "occupancy", "wavefronts", "bytes in flight", "waits"))

# %% [markdown]
# **一半成立。** 每行多一个字，速度是原来的 1.8 倍；冲突为什么消失，见 [bank 冲突那道题](../memory/bank-conflicts.md)。但拷贝的时间还差得远，而且现在没有一级是忙的。没有一级到顶，warp 又都在等 `long_scoreboard`（等读取返回），这就是延迟受限：在途的字节不够。循环里每个线程一次只发出一个读取，`#pragma unroll 1` 让编译器不去展开；循环里有分支或函数调用时，往往本来就是这样。

# %% [markdown]
# ## 第 4 步：更多 warp { #more-warps }
#
# 占用率不到四分之三，常见的反应是把它提高。共享内存只放得下 6 个 block，即 48 个 warp；同一个 tile 换成 16 个 warp 的 block，4 个就能放满 SM 的 64 个 warp。
#
# **假设**：在途字节变成 4/3 倍，时间降到四分之三。

# %% caption="more_warps 与 padded 不同的行"
Markdown(change("padded", "more_warps"))

# %% caption="第 4 步：假设的预测、模型的上下限与实测"
in_flight = "predicted_in_flight_bytes_an_sm"
share = rows["padded"][in_flight] / rows["more_warps"][in_flight]
verdict("more_warps", share * rows["padded"]["measured_time_ms"])

# %% caption="第 4 步前后的计数器"
shown = ("time", "DRAM,", "L2", "occupancy", "bytes", "instructions", "waits: long", "waits: b")
look("padded", "more_warps", only=shown)

# %% [markdown]
# **几乎不成立。** 占用率到了 97%，时间只短了 3% 左右。在途字节仍然太少，读取排队后延迟也随之变长，所以模型只许诺八分之一，而不是四分之一；连这八分之一也没有拿到一半。同时上升的是 `__syncthreads()` 处的等待（`barrier`），block 大了，要等的 warp 就多；还有指令数，因为每个 warp 要加的部分和多了一倍。占用率是手段，不是目的。

# %% [markdown]
# ## 第 5 步：先发出全部读取 { #batched }
#
# **假设**：一个线程先把自己的 16 个值都读进寄存器，再开始用，在途字节是原来的 16 倍，远超延迟所需；剩下的只有 DRAM，时间等于拷贝。

# %% caption="batched 与 more_warps 不同的行"
Markdown(change("more_warps", "batched"))

# %% [markdown]
# 源码里写了不等于机器码里就有：编译器可以重排。`asm_norm.py` 在 SASS 里数出第一次使用之前连续发出的读取，模型用的就是这个数。

# %%
print(machine_code[machine_code.index("sm_90a") :])

# %% caption="第 5 步：假设的预测、模型的上下限与实测"
verdict("batched", roofs["measured_copy_time_ms"])

# %% caption="第 5 步前后的计数器"
look("more_warps", "batched", only=(*OF_PEAK, "bytes in flight", "instructions", "waits"))

# %% [markdown]
# **成立。** DRAM 到了峰值的 85%，和拷贝差不多，时间只比拷贝长不到 4%。warp 仍然在等，可是等待不再重要：最忙的两级，DRAM 与 L2，都和拷贝时一样忙。

# %% [markdown]
# ## 第 6 步：float4 { #wide }
#
# **假设**：`float4` 总是更快。请求数降到四分之一，指令也少了，时间随指令数下降。

# %% caption="wide 与 batched 不同的行"
Markdown(change("batched", "wide"))

# %% caption="第 6 步：假设的预测、模型的上下限与实测"
share = rows["wide"]["counted_instructions"] / rows["batched"]["counted_instructions"]
verdict("wide", share * rows["batched"]["measured_time_ms"])

# %% caption="第 6 步前后的计数器"
look("batched", "wide", only=(*OF_PEAK, "DRAM read", "sectors", "bytes in flight", "instructions"))

# %% [markdown]
# **不成立**，也不可能成立：假设的时间比拷贝还短。指令确实少了约五分之一，DRAM 的字节、sector 总数和在途字节都没变，而限制时间的正是 DRAM。到这里可以停手了：`batched` 更短、更好读，就留它。

# %% [markdown]
# ## 瓶颈的移动 { #bottleneck }
#
# 每一步里最忙的一级决定下一步该改什么。第 3、4 步没有一级到顶，那里看的是在途字节。

# %% caption="各级占峰值的百分比：先是 L2 最忙，再是 L1（含共享内存）；padded 与 more_warps 没有一级到顶；最后 DRAM 与 L2 和拷贝时一样高。"
names = list(rows)
levels = {"l2": ("L2", PURPLE, "s"), "l1": ("L1 and shared", ORANGE, "^")}
levels |= {"dram": ("DRAM", BLUE, "o"), "compute": ("SM", GREY, "v")}
figure, axes = plt.subplots()
for key, (label, colour, mark) in levels.items():
    busy = {name: row[f"counted_{key}_percent"] for name, row in rows.items()}
    if f"counted_copy_{key}_percent" in roofs:
        busy["copy"] = roofs[f"counted_copy_{key}_percent"]
    axes.plot(busy.keys(), busy.values(), color=colour, marker=mark, label=label)
axes.set(ylabel="% of peak", ylim=(0, 100))
axes.tick_params(axis="x", rotation=25)
axes.legend(loc="upper center", ncols=4, bbox_to_anchor=(0.5, 1.14))
plt.show()

# %% caption="warp 等待的原因，占全部等待与发射的百分比。"
waits = {"lg_throttle": PURPLE, "long_scoreboard": BLUE, "mio_throttle": ORANGE}
waits |= {"short_scoreboard": "#b5791c", "barrier": GREEN, "other": GREY}
figure, axes = plt.subplots()
left = [0.0] * len(rows)
for wait, colour in waits.items():
    shares = []
    for row in rows.values():
        warps = sum(row[f"counted_stall_{each}"] for each in waits)
        shares.append(100 * row[f"counted_stall_{wait}"] / warps)
    axes.barh(names, shares, left=left, color=colour, label=wait, height=0.7)
    left = [start + share for start, share in zip(left, shares, strict=True)]
axes.set(xlabel="%", xlim=(0, 100))
axes.invert_yaxis()
axes.grid(visible=False, axis="y")
axes.legend(loc="upper center", ncols=3, bbox_to_anchor=(0.45, 1.26), fontsize=10)
plt.show()

# %% [markdown]
# 等待的分布说明瓶颈的种类，不说明它有多严重：`batched` 里的 warp 也在等，但时间已经是拷贝的时间。

# %% [markdown]
# ## 预测与实测对照 { #check }
#
# 横线从 `at least` 画到 `at most`，圆点是实测，叉号是每一步的假设，竖线是拷贝。

# %% caption="七个版本的时间，对数坐标：横线是模型的上下限，圆点是实测，叉号是假设，虚线是拷贝。"
figure, axes = plt.subplots()
places = range(len(rows))
least = [row["predicted_least_ms"] for row in rows.values()]
most = [row["predicted_most_ms"] for row in rows.values()]
measured = [row["measured_time_ms"] for row in rows.values()]
axes.hlines(places, least, most, color=BLUE, alpha=0.5, linewidth=9, label="model")
axes.plot(measured, places, "o", color=ORANGE, label="measured")
steps = [names.index(name) for name in said]
axes.plot(said.values(), steps, "x", color=INK, label="hypothesis")
axes.axvline(roofs["measured_copy_time_ms"], color=INK, ls="--", lw=1, label="copy")
axes.set(xlabel="ms", xscale="log", yticks=places, yticklabels=names)
axes.set(xticks=(0.2, 0.3, 0.5, 1, 2, 3))
axes.xaxis.set_major_formatter("{x:g}")
axes.minorticks_off()
axes.invert_yaxis()
axes.legend(loc="lower right")
plt.show()

# %% caption="七个版本：时间、相对上一步与第一版的加速、相对拷贝的百分比"
summary = []
for name, time, previous in zip(names, measured, [measured[0], *measured], strict=False):
    summary.append(
        {
            "kernel": f"`{name}`",
            "ms": time,
            "× the step before": previous / time,
            "× the first": measured[0] / time,
            "% of a copy's rate": 100 * roofs["measured_copy_time_ms"] / time,
        }
    )
table(summary)

# %% [markdown]
# 模型从不知道编译器和调度的细节，仍然在每一步都指对了瓶颈；计数全部相等，时间落在上下限之内，只有 `padded` 比下限还快不到一成。六个假设里一个成立，两个对了一半，三个落空：凭感觉改，一半的工夫就这样花掉了。

# %% [markdown]
# ## 练习 { #exercises }
#
# 1. `float4` 在第 6 步没用。如果在第 3 步之后就用它，每个线程仍然一次一个读取，在途字节是多少？用下面的单元格预测（`LOADS = 4` 的在途字节与一个 `float4` 相同），它会比 `batched` 差多少？
# 2. 通道改为 512：设 `norm.CHANNELS = 512` 再运行。SM 上还放得下几个 block？哪一步因此变得更重要？
# 3. 换成 FP16 存储、FP32 计算，`norm.py` 里哪些数要改？`tiled` 的冲突是几路？
# 4. 测自己的 GPU：克隆仓库，运行 `python scripts/record.py slow-to-fast --gpu`，再把第一个单元格的 `GPU` 改成新记录的名字；上面 `norm.cu` 下方的压缩包不用克隆也能运行，它打印同样的数据。`norm.py` 开头是 H200 的上限，先改成你的 GPU 的。瓶颈的次序还一样吗？

# %%
WARPS = 8  # of a block: 4, 8, 16, 32
PITCH = 33  # words from one row of the tile to the next
LOADS = 4  # of a thread, before it uses the first

norm.KERNELS["mine"] = norm.by_tile(WARPS, PITCH, LOADS)
given = ("sms", "clock_mhz", "peak_gb_s", "copy_gb_s", "scattered_lines_ns")
rates = norm.Rates(**{name: rows["padded"][name] for name in given})
limit = norm.limits("mine", rates, roofs["images"])
least, most = norm.bounds(limit)
threads = norm.resident_threads("mine")
print(f"on an SM {threads // (32 * WARPS)} blocks, {threads // 32} warps of 64, {norm.in_flight_bytes('mine'):,} bytes in flight")
print(", ".join(f"{level} {time:.3f}" for level, time in limit.items()), "ms")
print(f"at least {least:.3f} ms, at most {most:.3f} ms; a copy {roofs['measured_copy_time_ms']:.3f} ms")
