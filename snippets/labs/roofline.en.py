# ---
# jupyter:
#   page:
#     description: From a warp's addresses to the roofline in one notebook, each prediction beside what an H200 measured.
#     tags: [intermediate, global-memory, profiling]
#     data:
#       - vectorized-access/sectors.py
#       - vectorized-access/sectors.h200.json
#       - vectorized-access/ceilings.h200.json
#       - vectorized-access/bandwidth.h200.json
# ---

# %% [markdown]
# # From access pattern to roofline { #roofline }
#
# The addresses of a warp decide how many bytes are moved, the bytes decide how much bandwidth is left for useful data, and that bandwidth is the slope of the roofline. This lab computes the three steps with the site's models and puts the records of an H200 beside each.
#
# It needs no GPU. Download the notebook and its data into one folder, install `jupyterlab` and `matplotlib`, open the notebook and run all cells.

# %% [markdown]
# ## The records { #records }
#
# Measured numbers come from the records alone; nothing below is typed from one. Another GPU's records work as well, see the [exercises](#exercises).

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
# ## What a warp moves { #sectors }
#
# Global memory is moved in sectors of 32 bytes. The model of [the question about float4](../memory/vectorized-access.md) lists the sectors that the addresses of 32 lanes touch; Nsight Compute counted them on the GPU. The cell fails if a single pattern differs.


# %% caption="Sectors of one request and the useful share of their bytes, predicted and counted"
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

# %% caption="The first kilobyte of what one warp moves: a row a pattern, blue the bytes that it asks for, orange the rest of their sectors."
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
# ## What is left of the bandwidth { #bandwidth }
#
# A strided copy reads every `stride`-th float and writes without gaps. Each float has 8 useful bytes, 4 read and 4 written. What it costs is its share of the warp's sectors, and 4 bytes written. If the bytes are all that counts, then
#
# useful bandwidth = bandwidth of a copy without gaps × 8 / (bytes read + 4).
#
# The last column says how much of the truth this is: 1 means that the bytes explain everything.

# %% caption="Useful bandwidth of copies with a stride, predicted from sectors and measured"
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
# The model counts sectors between the SM and the L2. What DRAM delivers may be more, and Nsight Compute counted that too. With the counted bytes in place of the sectors:

# %% caption="The same with the bytes that DRAM delivered"
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

# %% caption="Useful bandwidth over the stride: the line is what sectors predict, the squares what the counted DRAM bytes predict, the dots what was measured."
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
# On the H200 the two predictions agree up to a stride of 8 floats. At 32 DRAM delivers more than the one sector that is used, and only the counted bytes come close to the measurement.

# %% [markdown]
# ## Arithmetic intensity and the ridge { #intensity }
#
# Arithmetic intensity is the FLOP that a kernel does for each byte that it moves; an FMA is two FLOP. Where the intensity times the bandwidth reaches the arithmetic peak lies the ridge: left of it memory limits, right of it arithmetic. The first row is what clocks and widths promise, the second what the plainest kernels reached: a `float4` copy, and FMA in eight independent chains.

# %% caption="Both roofs and the ridge, as promised and as measured"
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
# ## The roofline { #plot }
#
# The measured kernels copy an array and do 1 to 256 FMAs on each float on the way. The intensity is counted in useful bytes here. So a worse access pattern leaves a kernel at its place and lowers the roof above it: the ridge moves to the right.


# %% caption="Roofline with logarithmic axes: the dashed line is the promised peak, the solid lines are the measured roofs with reads of stride 1, 2 and 8, the dots are the measured kernels without a stride."
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
# ## Prediction beside measurement { #check }
#
# The roofline takes the longer of two times, that of memory and that of arithmetic, as if one hid the other completely. The opposite case adds them up: `no overlap`. The two differ by a factor of two at the ridge and hardly at all far from it, so a kernel near the ridge shows how well it overlaps.


# %% caption="Five kernels: the roofline's prediction, the prediction without overlap, the measurement"
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
# On the H200 the kernels left of the ridge keep to the memory roof. The kernel with 64 FMAs, the closest to the ridge, lies well between the two predictions: it overlaps, but not completely.

# %% [markdown]
# ## What the roofline leaves out { #in-flight }
#
# The slanted roof holds only if enough bytes are under way. A copy with few blocks keeps too few loads in flight, and its roof is lower although every sector is fully used. Then `float4` helps, because one load brings four times the bytes; the [question about float4](../memory/vectorized-access.md) explains it by Little's law.

# %% caption="Copies without gaps by blocks: bytes in flight, bandwidth, and the ridge that this bandwidth would give"
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
# ## Exercises { #exercises }
#
# 1. How many FMAs a float does a read with stride 8 need to reach the arithmetic roof? Estimate it from the figure, then find it with the cell below. Why is it not eight times as many as without a stride?
# 2. Store the array as FP16 and compute in FP32. Which of `4`, `8` and `32` in the cells above change, and where does the kernel with 16 FMAs go? Predict first, then change `read_bytes` and `useful_gb_s`.
# 3. Measure your own GPU: clone the repository, run `python scripts/record.py vectorized-access --gpu`, set `GPU` in the first cell to the name of the new records, and run everything again. Which ratio moves furthest from 1?

# %%
FMAS = 16  # for each float
STRIDE = 8  # floats from one that is read to the next

slope = useful_gb_s(read_bytes(STRIDE))
reached = attainable(intensity(FMAS), slope)
print(f"memory roof {slope:,.0f} GB/s, ridge at {peak / slope:.1f} FLOP per useful byte")
print(f"{FMAS} FMAs a float: {intensity(FMAS):g} FLOP per useful byte")
print(f"at most {reached:,.0f} GFLOP/s, {reached / peak:.0%} of the arithmetic roof")
