"""Measure how long one thread waits for a register, shared memory, the L1, the L2 and DRAM, and how shared memory shrinks the L1."""

import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import occupancy

import gpu

SOURCE = Path(__file__).with_name("latency.cu")
CAPABILITY = "9.0"
REPEAT = 5
LINE_BYTES, L2_HOP_BYTES, DRAM_HOP_BYTES = 128, 256, 16_896  # a hop of the last lands in another DRAM page
L1_NODES, L2_NODES, DRAM_NODES = 128, 8192, 65_536  # 16 KiB, 2 MiB, 1.1 GB of addresses
HOPS, FMA_HOPS = 2**17, 2**20
SHARED_WORDS = 1024
FLUSH_BYTES = 2**29  # written before each walk through DRAM: nine times the L2 of an H200
CARVEOUTS = (14, 25, 50, 75, 100)
FOOTPRINTS_KIB = (16, 48, 112, 184, 208)  # each at least 8 KiB smaller than the L1 that it should fit into
ROUNDS = 8  # through a footprint, after one that is not timed
METRICS = ("launch__shared_mem_config_size",)

TABLES = {
    "ladder": {
        "level": ("存储", "Where"),
        "footprint_bytes": ("数据（字节）", "Data (bytes)"),
        "measured_latency_cycles": ("周期", "Cycles"),
        "measured_latency_ns": ("ns", "ns"),
        "measured_of_register": ("寄存器的倍数", "Times a register's"),
    },
    "l1": {
        "carveout_percent": ("carve-out（%）", "Carve-out (%)"),
        "predicted_l1_kib": ("预测 L1（KiB）", "Predicted L1 (KiB)"),
        "counted_l1_kib": ("256 减 ncu 读数（KiB）", "256 less what ncu reads (KiB)"),
        **{f"measured_{kib}_kib_cycles": (f"{kib} KiB：周期", f"{kib} KiB: cycles") for kib in FOOTPRINTS_KIB},
    },
}


def predict(inputs: dict[str, Any]) -> dict[str, Any]:
    """Give the predicted values of a row from its inputs."""
    if "carveout_percent" not in inputs:
        return {}
    launch = occupancy.Launch(threads=1, registers=16, carveout_percent=inputs["carveout_percent"])
    kib = occupancy.l1_kib(occupancy.SMS[CAPABILITY], launch)
    return {"predicted_l1_kib": kib, "predicted_fitting_kib": [footprint for footprint in FOOTPRINTS_KIB if footprint <= kib]}


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    cycles = {row["level"]: row["measured_latency_cycles"] for row in rows.values() if "level" in row}
    assert 3.9 < cycles["register"] < 4.3, cycles
    for level, (lowest, highest) in {"shared": (5.2, 6.3), "L1": (7.2, 8.8), "L2": (60, 80), "DRAM": (150, 190)}.items():
        assert lowest < cycles[level] / cycles["register"] < highest, f"{level}: {cycles}"
    for name, row in rows.items():
        if "carveout_percent" not in row:
            continue
        assert row["counted_l1_kib"] == row["predicted_l1_kib"], f"{name}: {row}"
        for kib in FOOTPRINTS_KIB:
            time = row[f"measured_{kib}_kib_cycles"]
            fits = kib in row["predicted_fitting_kib"]
            assert time < 1.25 * cycles["L1"] if fits else time > 1.5 * cycles["L1"], f"{name}: {kib} KiB, fits {fits}: {time}, the L1 {cycles['L1']}"


def main() -> None:
    """Launch one chase a carve-out under ncu; else measure everything and print the rows."""
    if gpu.launching():
        for percent in CARVEOUTS:
            walk(percent, FOOTPRINTS_KIB[0])
        return
    rows = ladder()
    gpu.say("ncu reads the settings ...")
    read = gpu.counters(METRICS, "^chase_")
    for percent, counted in zip(CARVEOUTS, read, strict=True):
        row: dict[str, Any] = {"carveout_percent": percent}
        row |= predict(row) | {"counted_l1_kib": occupancy.SMS[CAPABILITY].unified_kib - int(counted[METRICS[0]]) // 1024}
        row |= {f"measured_{kib}_kib_cycles": walk(percent, kib) for kib in FOOTPRINTS_KIB}
        rows[f"carveout_{percent}"] = row
    for name, row in rows.items():
        gpu.say(f"{name}: {row}")
    check(rows)
    print(json.dumps({"rows": rows}))


@dataclass(frozen=True)
class Chase:
    """A walk from node to node through global memory."""

    kernel: str
    nodes: int
    hop_bytes: int
    hops: int
    warm: int = 0  # hops before the clock starts
    carveout: int = -1  # preferred shared memory in percent; -1 leaves it to the driver
    flush: bool = False  # fill the L2 with something else first

    @property
    def footprint_bytes(self) -> int:
        """The addresses that it walks over."""
        return self.nodes * self.hop_bytes


def ladder() -> dict[str, dict[str, Any]]:
    """Measure one step of each level."""
    import cupy  # noqa: PLC0415

    result = cupy.zeros(2, cupy.uint64)
    fma, shared = gpu.kernel(SOURCE, "chain_fma"), gpu.kernel(SOURCE, "chase_shared")
    fma_arguments = (result, cupy.float32(0.5), cupy.float32(0.25), cupy.uint32(FMA_HOPS))
    found = {"register": (0, timed(lambda: fma((1,), (1,), fma_arguments), result, FMA_HOPS, FMA_HOPS))}
    assert int(result[1]) == 0x3F000000, "x / 2 + 1 / 4 has to end at 1 / 2"  # its bits as a float
    arguments = (result, cupy.uint32(SHARED_WORDS), cupy.uint32(HOPS))
    found["shared"] = (4 * SHARED_WORDS, timed(lambda: shared((1,), (1,), arguments, shared_mem=4 * SHARED_WORDS), result, HOPS, HOPS))
    assert int(result[1]) == HOPS % SHARED_WORDS, "the chase in shared memory ended elsewhere"
    for level, chase in {
        "L1": Chase("chase_l1", L1_NODES, LINE_BYTES, HOPS, L1_NODES),
        "L2": Chase("chase_l2", L2_NODES, L2_HOP_BYTES, HOPS, L2_NODES),
        "DRAM": Chase("chase_l2", DRAM_NODES, DRAM_HOP_BYTES, DRAM_NODES, flush=True),
    }.items():
        found[level] = (chase.footprint_bytes, chased(chase))
    return {
        f"latency_{level.lower()}": {
            "level": level,
            "footprint_bytes": footprint,
            "measured_latency_cycles": round(cycles, 2),
            "measured_latency_ns": round(nanoseconds, 2),
            "measured_of_register": round(cycles / found["register"][1][0], 1),
        }
        for level, (footprint, (cycles, nanoseconds)) in found.items()
    }


def walk(percent: int, footprint_kib: int) -> float:
    """Give the cycles of a hop through a footprint, with the kernel's preferred share of shared memory set."""
    nodes = footprint_kib * 1024 // LINE_BYTES
    return round(chased(Chase("chase_l1", nodes, LINE_BYTES, ROUNDS * nodes, nodes, percent))[0], 1)


def chased(chase: Chase) -> tuple[float, float]:
    """Walk, and give the cycles and the nanoseconds of a hop."""
    import cupy  # noqa: PLC0415

    kernel = gpu.kernel(SOURCE, chase.kernel)
    kernel.preferred_shared_memory_carveout = chase.carveout
    step = chase.hop_bytes // 8
    places = cupy.zeros(chase.nodes * step, cupy.uint64)
    start = places.data.ptr
    places[::step] = start + (cupy.arange(1, chase.nodes + 1, dtype=cupy.uint64) % chase.nodes) * chase.hop_bytes
    result, junk = cupy.zeros(2, cupy.uint64), cupy.empty(FLUSH_BYTES if chase.flush else 1, cupy.uint8)
    arguments = (cupy.uint64(start), result, cupy.uint32(chase.warm), cupy.uint32(chase.hops))
    found = timed(lambda: kernel((1,), (1,), arguments), result, chase.hops, chase.warm + chase.hops, before=lambda: junk.fill(0))
    assert int(result[1]) == start + (chase.warm + chase.hops) % chase.nodes * chase.hop_bytes, f"{chase} ended elsewhere"
    return found


def timed(run: Callable[[], object], result: Any, hops: int, all_hops: int, before: Callable[[], object] | None = None) -> tuple[float, float]:
    """Give the cycles of a timed hop, by the SM's clock, and the nanoseconds of any hop, by events: medians."""
    import cupy  # noqa: PLC0415

    cycles, nanoseconds = [], []
    for _ in range(1 if gpu.launching() else REPEAT):
        if before:
            before()
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        run()
        end.record()
        end.synchronize()
        cycles.append(int(result[0]) / hops)
        nanoseconds.append(cupy.cuda.get_elapsed_time(begin, end) * 1e6 / all_hops)
    return statistics.median(cycles), statistics.median(nanoseconds)


if __name__ == "__main__":
    main()
