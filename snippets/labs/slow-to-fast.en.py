# ---
# jupyter:
#   page:
#     description: One slow kernel, six changes, each with ncu's counters, a hypothesis, a prediction and an H200's answer; three of them hardly help.
#     tags: [intermediate, global-memory, shared-memory, profiling]
#     data:
#       - slow-to-fast/norm.cu
#       - slow-to-fast/norm.py
#       - slow-to-fast/norm.txt
#       - slow-to-fast/norm.sass.txt
#       - slow-to-fast/norm.h200.json
# ---

# %% [markdown]
# # From a slow kernel to a fast one, with ncu's numbers { #slow-to-fast }
#
# One kernel is changed six times. Each time the counters of Nsight Compute (`ncu`) say what is wrong; a hypothesis follows, a small model predicts, an H200 answers. Three of the six changes hardly help, and counters say why. The version that remains takes less than 4% longer than a copy, and less than a seventh of the time of the first.
#
# It needs no GPU. Download the notebook and its data into one folder, install `jupyterlab` and `matplotlib`, open the notebook and run all cells.

# %% [markdown]
# ## The task { #task }
#
# LayerNorm over the 256 channels of each pixel: subtract the mean, divide by the standard deviation. The input lies as `[image][channel][pixel]`, as a convolution leaves it; the output is wanted as `[image][pixel][channel]`, for the matrix product that follows. 128 images of 64×64 pixels, FP32, without scale and shift.
#
# Input and output are 537 MB each, and no value has to be read twice: 4 bytes are read and 4 written an element. A `float4` copy of as many bytes is the goal; it was timed in turns with the versions, in the same run.

# %% [markdown]
# ## The record { #records }
#
# Measured numbers come from the record alone; nothing below is typed from it. Times were taken without `ncu`: the versions took turns, and the median of the rounds counts. The counters come from a run of their own, in which `ncu` left the clocks alone.

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
# ## The model { #model }
#
# For each version `norm.py` lists the accesses of a warp: the lanes' addresses, the bytes, how often. From these it counts sectors, lines of 128 bytes, wavefronts of shared memory and bytes of DRAM, and divides by the rate of each level:
#
# - DRAM: the copy of the same run;
# - L2: scattered stores of the same run, each lane's to a line of its own;
# - shared memory: a wavefront a cycle on each SM;
# - bytes in flight: by Little's law, see [the question about float4](../memory/vectorized-access.md).
#
# If all levels work at once, the longest time counts (`at least`); if one works after the other, their sum (`at most`). This is what it counts; no measurement has gone into it yet.

# %%
print(predicted)

# %% [markdown]
# The times are estimates, but the counts have to be equal: the cell compares requests, sectors and wavefronts of all seven versions, and fails if one differs.

# %%
equal = ["load_requests", "load_sectors", "store_requests", "store_sectors"]
equal += ["shared_load_requests", "shared_load_wavefronts", "shared_store_wavefronts"]
for name, row in rows.items():
    for key in equal:
        assert row[f"counted_{key}"] == row[f"predicted_{key}"], (name, key)
print(f"{len(rows)} kernels, {len(equal)} counters each: as predicted")

# %% [markdown]
# ## The start: a thread a pixel { #start }
#
# The obvious kernel. Neighbouring threads read neighbouring pixels, so loads are coalesced; mean, variance and output each walk the channels once.

# %%
Markdown(whole_code("three_passes"))

# %% caption="The counters of the start"
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
# `waits` is how many cycles warps wait, on average, for each instruction issued, by reason; [the question about memory metrics](../profiling/memory-metrics.md) says what the names mean.
#
# Two things look wrong. DRAM is read three times; and each store touches 32 sectors: the outputs of neighbouring threads lie 1 KB apart, so that of a sector's 32 bytes 4 are written at a time.

# %% [markdown]
# ## Step 1: one pass less { #two-passes }
#
# **Hypothesis**: the time goes to DRAM. Mean and variance from one pass (a sum and a sum of squares) leave three quarters of DRAM's bytes, and three quarters of the time.

# %% caption="The lines in which two_passes differs from three_passes"
Markdown(change("three_passes", "two_passes"))

# %% caption="Step 1: the hypothesis, the model's bounds, the measurement"
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

# %% caption="Counters before and after step 1"
look("three_passes", "two_passes", only=(*OF_PEAK, "DRAM read", "sectors / store", "waits: l"))

# %% [markdown]
# **It does not hold.** DRAM does read 30% less, but the time is no shorter. The counters had said so from the start: DRAM was at less than a quarter of its peak, L2 was the busiest level, and nearly all waiting was `lg_throttle`, a full queue of memory instructions. The model's lower bound did not move either, because the stores did not. Less of what is no bottleneck buys nothing.

# %% [markdown]
# ## Step 2: through shared memory { #tiled }
#
# **Hypothesis**: the time goes to scattered stores. A block brings all channels of 32 pixels into shared memory, which takes one read, and writes with neighbouring threads at neighbouring channels. A store touches 4 sectors instead of 32, and DRAM alone is left: the time of a copy.

# %%
Markdown(whole_code("tiled"))

# %% caption="Step 2: the hypothesis, the model's bounds, the measurement"
verdict("tiled", roofs["measured_copy_time_ms"])

# %% caption="Counters before and after step 2"
look("two_passes", "tiled", only=(*OF_PEAK, "DRAM", "sectors", "waits"))

# %% [markdown]
# **The direction is right, the number is not.** It is nearly three times as fast, L2 is no longer the busiest, and DRAM's bytes are at their minimum (less than 4 are written because some still lie in the L2 when the kernel ends). Yet it takes nearly three times as long as a copy: the busiest level is now L1, which is also shared memory. The model's lower bound comes from wavefronts of shared memory, and said so before the measurement.

# %% [markdown]
# ## Step 3: one more word a row { #padded }
#
# For the output a warp reads a column of `tile`. Its lanes lie 32 words apart, all in one bank: such a load takes 32 wavefronts.

# %% caption="Wavefronts of the shared loads, predicted access by access, and the counted sum"
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
# **Hypothesis**: without bank conflicts DRAM alone is left, and the time is that of a copy.

# %% caption="The lines in which padded differs from tiled"
Markdown(change("tiled", "padded"))

# %% caption="Step 3: the hypothesis, the model's bounds, the measurement"
verdict("padded", roofs["measured_copy_time_ms"])

# %% caption="Counters before and after step 3"
look("tiled", "padded", only=(*OF_PEAK, "occupancy", "wavefronts", "bytes in flight", "waits"))

# %% [markdown]
# **Half of it holds.** One word a row makes it nearly twice as fast; [the question about bank conflicts](../memory/bank-conflicts.md) explains why. But a copy is still far away, and now no level is busy. No level near its peak while warps wait for `long_scoreboard` (a load to come back): that is what limited by latency looks like. Too few bytes are in flight. In the loop a thread issues one load at a time; `#pragma unroll 1` keeps the compiler from unrolling; a loop with a branch or a call in it often stays like that without it.

# %% [markdown]
# ## Step 4: more warps { #more-warps }
#
# Occupancy is below three quarters, and the common reflex is to raise it. Shared memory leaves room for 6 blocks, 48 warps; with 16 warps for the same tile, 4 blocks fill all 64 warps of an SM.
#
# **Hypothesis**: 4/3 of the bytes in flight, three quarters of the time.

# %% caption="The lines in which more_warps differs from padded"
Markdown(change("padded", "more_warps"))

# %% caption="Step 4: the hypothesis, the model's bounds, the measurement"
in_flight = "predicted_in_flight_bytes_an_sm"
share = rows["padded"][in_flight] / rows["more_warps"][in_flight]
verdict("more_warps", share * rows["padded"]["measured_time_ms"])

# %% caption="Counters before and after step 4"
shown = ("time", "DRAM,", "L2", "occupancy", "bytes", "instructions", "waits: long", "waits: b")
look("padded", "more_warps", only=shown)

# %% [markdown]
# **It hardly holds.** Occupancy is at 97%, but the time is only some 3% shorter. The bytes in flight are still few, and loads that queue take longer, so the model promises an eighth, not a quarter. Of that less than half comes. What rises meanwhile is the wait at `__syncthreads()` (`barrier`), where a larger block has more warps to wait for, and the number of instructions, as every warp adds up twice as many partial sums. Occupancy is a means, not an end.

# %% [markdown]
# ## Step 5: all loads first { #batched }
#
# **Hypothesis**: a thread that loads its 16 values into registers before it uses the first has 16 times the bytes in flight, far more than the latency needs. DRAM alone is left: the time of a copy.

# %% caption="The lines in which batched differs from more_warps"
Markdown(change("more_warps", "batched"))

# %% [markdown]
# What the source says need not be what the machine does, for a compiler may reorder. `asm_norm.py` counts in the SASS how many loads are issued before the first is used, and the model takes that number.

# %%
print(machine_code[machine_code.index("sm_90a") :])

# %% caption="Step 5: the hypothesis, the model's bounds, the measurement"
verdict("batched", roofs["measured_copy_time_ms"])

# %% caption="Counters before and after step 5"
look("more_warps", "batched", only=(*OF_PEAK, "bytes in flight", "instructions", "waits"))

# %% [markdown]
# **It holds.** DRAM is at 85% of its peak, about as in a copy, and the time is less than 4% longer than a copy's. Warps still wait, but that no longer matters: the two busiest levels, DRAM and L2, are as busy as in a copy.

# %% [markdown]
# ## Step 6: float4 { #wide }
#
# **Hypothesis**: `float4` is always faster. A quarter of the requests, fewer instructions, and the time falls with the instructions.

# %% caption="The lines in which wide differs from batched"
Markdown(change("batched", "wide"))

# %% caption="Step 6: the hypothesis, the model's bounds, the measurement"
share = rows["wide"]["counted_instructions"] / rows["batched"]["counted_instructions"]
verdict("wide", share * rows["batched"]["measured_time_ms"])

# %% caption="Counters before and after step 6"
look("batched", "wide", only=(*OF_PEAK, "DRAM read", "sectors", "bytes in flight", "instructions"))

# %% [markdown]
# **It does not hold**, and could not: the hypothesis is below the time of a copy. There are a fifth fewer instructions, but DRAM's bytes, the sectors in all and the bytes in flight are the same, and DRAM is what limits. This is where to stop, with `batched`, which is shorter and easier to read.

# %% [markdown]
# ## How the bottleneck moves { #bottleneck }
#
# At each step the busiest level says what to change next. At steps 3 and 4 none is near its peak: there the bytes in flight tell.

# %% caption="Each level in percent of its peak: first L2 is the busiest, then L1 with shared memory; for padded and more_warps none is near its peak; at the end DRAM and L2 stand where a copy has them."
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

# %% caption="Why warps wait, in percent of all waiting and issuing."
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
# What warps wait for names the kind of bottleneck, not its size: in `batched` they wait too, but it takes the time of a copy.

# %% [markdown]
# ## Prediction beside measurement { #check }
#
# A bar reaches from `at least` to `at most`, the dot is the measurement, the cross the hypothesis of the step, the vertical line the copy.

# %% caption="The times of seven versions on a logarithmic axis: bars are the model's bounds, dots measurements, crosses hypotheses, the dashed line a copy."
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

# %% caption="Seven versions: time, against the step before and the first, and the copy's share"
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
# The model knows nothing of compilers or schedulers, and still names the right bottleneck at each step: all counts are equal, and the times lie within its bounds but for `padded`, which is less than a tenth faster than the lower one. Of six hypotheses one holds, two hold by half, three fail. Changes made by feel would have spent half of the work that way.

# %% [markdown]
# ## Exercises { #exercises }
#
# 1. At step 6 `float4` did nothing. Used right after step 3, still one load at a time in each thread, how many bytes would be in flight? Predict with the cell below (`LOADS = 4` has as many in flight as one `float4`): how far behind `batched` would it be?
# 2. Take 512 channels: set `norm.CHANNELS = 512` and run it again. How many blocks still fit an SM, and which step matters more because of that?
# 3. With FP16 in memory and FP32 in registers, which numbers in `norm.py` change? How many ways is the conflict of `tiled` then?
# 4. Measure your own GPU: clone the repository, run `python scripts/record.py slow-to-fast --gpu`, and set `GPU` in the first cell to the name of the new record; the archive below the first `norm.cu` above runs without a clone and prints the same data. The limits at the top of `norm.py` are an H200's: set yours first. Do the bottlenecks come in the same order?

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
