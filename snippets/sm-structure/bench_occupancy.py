"""Ask the CUDA runtime, the driver, Nsight Compute and the SMs themselves how many blocks are resident, and compare with occupancy.py."""

import importlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import occupancy

import gpu

SOURCE = Path(__file__).with_name("residency.cu")
CAPABILITY = "9.0"
CYCLES = 400_000  # that a block stays: long enough for every SM to fill up
COUNTED_CYCLES = 2_000  # the same under ncu, which reads the launch alone
REGISTERS = (16, 24, 32, 33, 37, 40, 43, 48, 56, 64, 65, 72, 80, 96, 97, 104, 128, 129, 160, 168, 192, 200, 255)
THREADS = (32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 512, 768, 1024)
SHARED = (1, 3000, 11_264, 12_288, 16_384, 50_000, 75_000, 116_000, 232_448)
BARRIERS = 16  # of the kernel hold_barriers
METRICS = {
    "warps": "launch__occupancy_limit_warps",
    "registers": "launch__occupancy_limit_registers",
    "shared": "launch__occupancy_limit_shared_mem",
    "blocks": "launch__occupancy_limit_blocks",
    "barriers": "launch__occupancy_limit_barriers",
    "block_bytes": "launch__shared_mem_per_block_allocated",
    "setting_bytes": "launch__shared_mem_config_size",
    "registers_a_thread": "launch__registers_per_thread",
}
DATA_WORDS = 1024 * 256
SOURCES = ("runtime", "driver", "resident")
ATTRIBUTES = {
    # of cudaDeviceAttr, each for a number that the model assumes
    "cudaDevAttrMaxThreadsPerMultiProcessor": 39,
    "cudaDevAttrMaxBlocksPerMultiprocessor": 106,
    "cudaDevAttrMaxRegistersPerMultiprocessor": 82,
    "cudaDevAttrMaxSharedMemoryPerMultiprocessor": 81,
    "cudaDevAttrMaxSharedMemoryPerBlock": 8,
    "cudaDevAttrMaxSharedMemoryPerBlockOptin": 97,
    "cudaDevAttrReservedSharedMemoryPerBlock": 111,
}
MULTIPROCESSORS, L2_BYTES = 16, 38  # of cudaDeviceAttr too

TABLES = {
    "gpu": {
        "counted_multiprocessors": ("SM", "SMs"),
        "counted_l2_bytes": ("L2（字节）", "L2 (bytes)"),
    },
    "attributes": {
        "attribute": ("cudaDeviceAttr", "cudaDeviceAttr"),
        "predicted_value": ("模型", "Model"),
        "counted_value": ("读数", "Read"),
    },
    "cases": {
        "threads": ("线程", "Threads"),
        "registers": ("寄存器", "Registers"),
        "shared_bytes": ("共享内存（字节）", "Shared memory (bytes)"),
        "barriers": ("barrier", "Barriers"),
        "predicted_blocks": ("预测 block", "Predicted blocks"),
        "counted_runtime_blocks": ("CUDA 运行时", "CUDA runtime"),
        "counted_resident_blocks": ("SM 上数到", "Counted on the SMs"),
        "predicted_occupancy_percent": ("占用率（%）", "Occupancy (%)"),
    },
    "limits": {
        "threads": ("线程", "Threads"),
        "registers": ("寄存器", "Registers"),
        "shared_bytes": ("共享内存（字节）", "Shared memory (bytes)"),
        "setting_kib": ("驱动设的共享内存（KiB）", "Shared memory as set by the driver (KiB)"),
        "predicted_limits": ("预测上限", "Predicted limits"),
        "counted_limits": ("ncu", "ncu"),
    },
    "steps": {
        "predicted_simple_blocks": ("233,472 / 字节", "233,472 / bytes"),
        "shared_bytes": ("共享内存（字节）", "Shared memory (bytes)"),
        "predicted_block_bytes": ("预测占用（字节）", "Predicted to be taken (bytes)"),
        "counted_block_bytes": ("ncu：占用（字节）", "ncu: taken (bytes)"),
        "predicted_blocks": ("预测 block", "Predicted blocks"),
        "counted_runtime_blocks": ("CUDA 运行时", "CUDA runtime"),
        "counted_resident_blocks": ("SM 上数到", "Counted on the SMs"),
    },
    "carveouts": {
        "carveout_percent": ("carve-out（%）", "Carve-out (%)"),
        "predicted_setting_kib": ("预测共享内存（KiB）", "Predicted shared memory (KiB)"),
        "counted_setting_kib": ("ncu：共享内存（KiB）", "ncu: shared memory (KiB)"),
        "predicted_blocks": ("预测 block", "Predicted blocks"),
        "counted_runtime_blocks": ("CUDA 运行时", "CUDA runtime"),
        "counted_resident_blocks": ("SM 上数到", "Counted on the SMs"),
    },
    "opting": {
        "opted_in": ("已申请超过 48 KB", "Opted in to more than 48 KB"),
        "shared_bytes": ("共享内存（字节）", "Shared memory (bytes)"),
        "predicted_blocks": ("预测 block", "Predicted blocks"),
        "counted_runtime_blocks": ("CUDA 运行时", "CUDA runtime"),
        "counted_resident_blocks": ("SM 上数到", "Counted on the SMs"),
    },
    "sweep": {
        "decides": ("由什么决定", "Decided by"),
        "configurations": ("配置数", "Configurations"),
        "predicted_total_blocks": ("预测 block 总数", "Predicted blocks, all"),
        "counted_runtime_total_blocks": ("CUDA 运行时", "CUDA runtime"),
        "counted_driver_total_blocks": ("驱动", "Driver"),
        "counted_resident_total_blocks": ("SM 上数到", "Counted on the SMs"),
    },
}


def launch_of(inputs: dict[str, Any]) -> occupancy.Launch:
    """Give a row's launch as the model takes it."""
    names = ("threads", "registers", "shared_bytes", "barriers", "carveout_percent", "opted_in")
    return occupancy.Launch(**{name: inputs[name] for name in names if name in inputs})


def predict(inputs: dict[str, Any]) -> dict[str, Any]:
    """Give the predicted values of a row from its inputs."""
    sm = occupancy.SMS[CAPABILITY]
    if "gpu" in inputs:
        return {}
    if "attribute" in inputs:
        shared = [kib * occupancy.KIB for kib in (sm.settings_kib[-1], 48, sm.block_kib)]
        values = [sm.warps * occupancy.LANES, sm.blocks, occupancy.REGISTERS_AN_SM, *shared, sm.reserved_bytes]
        return {"predicted_value": values[list(ATTRIBUTES).index(inputs["attribute"])]}
    if "launches" in inputs:
        each = [occupancy.Launch(*launch) for launch in unpacked(inputs["launches"])]
        blocks = [occupancy.resident_blocks(sm, launch) for launch in each]
        return {
            "predicted_deciding": " ".join(sorted({deciding(launch) for launch in each})),
            "predicted_blocks_each": " ".join(map(str, blocks)),
            "predicted_total_blocks": sum(blocks),
        }
    launch = launch_of(inputs)
    found: dict[str, Any] = {"predicted_blocks": occupancy.resident_blocks(sm, launch)}
    if "kernel" in inputs:
        found["predicted_occupancy_percent"] = occupancy.occupancy_percent(sm, launch)
    if "setting_kib" in inputs:
        # ncu divides the shared memory that the driver has set for this launch, and never shows more barriers' blocks than blocks.
        every = occupancy.limits(sm, launch)
        every["shared"] = inputs["setting_kib"] * occupancy.KIB // occupancy.block_bytes(sm, launch.shared_bytes)
        every["barriers"] = min(every["barriers"], every["blocks"])
        found["predicted_limits"] = "/".join(str(blocks) for blocks in every.values())
    if "simple" in inputs:
        found["predicted_simple_blocks"] = sm.settings_kib[-1] * occupancy.KIB // launch.shared_bytes
        found["predicted_block_bytes"] = occupancy.block_bytes(sm, launch.shared_bytes)
    if "carveout_percent" in inputs:
        found["predicted_setting_kib"] = sm.unified_kib - occupancy.l1_kib(sm, launch)
    return found


def deciding(launch: occupancy.Launch) -> str:
    """Name what decides; "refused" when no block fits."""
    sm = occupancy.SMS[CAPABILITY]
    return occupancy.deciding(sm, launch) if occupancy.resident_blocks(sm, launch) else "refused"


def unpacked(launches: str) -> list[tuple[int, int, int, int]]:
    """Give the launches of a row of the sweep, written as threads,registers,shared bytes,barriers with spaces between."""
    found = ([int(number) for number in launch.split(",")] for launch in launches.split())
    return [(threads, registers, shared, barriers) for threads, registers, shared, barriers in found]


def differing(row: dict[str, Any], source: str) -> list[tuple[str, str, str]]:
    """Give the launches of a row of the sweep whose predicted and counted blocks differ, with both."""
    every = zip(row["launches"].split(), row["predicted_blocks_each"].split(), row[f"counted_{source}_blocks_each"].split(), strict=True)
    return [each for each in every if each[1] != each[2]]


def inputs() -> dict[str, dict[str, Any]]:
    """Give the rows that are launched one by one, by name."""
    rows: dict[str, dict[str, Any]] = {}
    cases = [(256, 32, 0), (256, 33, 0), (128, 37, 0), (320, 37, 0), (512, 64, 0), (512, 65, 0), (128, 255, 0), (32, 32, 0), (768, 32, 0)]
    cases += [(256, 32, 113 * 1024), (256, 32, 114 * 1024), (384, 168, 213_188)]
    for threads, registers, shared in cases:
        kernel = f"hold_{registers}"
        row = {"kernel": kernel, "threads": threads, "registers": registers, "shared_bytes": shared, "barriers": 1}
        rows[f"threads_{threads}_registers_{registers}_shared_{shared}"] = row
    rows["barriers_16"] = {"kernel": "hold_barriers", "threads": 32, "registers": 16, "shared_bytes": 0, "barriers": BARRIERS}
    for shared in (11_264, 11_265, 11_904, 11_905, 12_288, 12_672, 12_673):
        rows[f"step_{shared}"] = {"simple": True, "threads": 32, "registers": 32, "shared_bytes": shared}
    for percent in (100, 75, 50, 25, 10, 0):
        rows[f"carveout_{percent}"] = {"threads": 32, "registers": 32, "shared_bytes": 12_288, "carveout_percent": percent}
    for shared, opted_in in ((49_152, False), (49_153, False), (49_153, True), (232_448, True), (232_449, True)):
        rows[f"shared_{shared}_{'opted_in' if opted_in else 'default'}"] = {
            "threads": 32, "registers": 32, "shared_bytes": shared, "opted_in": opted_in,
        }  # fmt: skip
    return rows


def sweep() -> dict[str, dict[str, Any]]:
    """Give the rows of the sweep: all launches that the same resource decides are one row."""
    groups: dict[str, list[str]] = {}
    for registers, barriers in [*((registers, 1) for registers in REGISTERS), (16, BARRIERS)]:
        shapes = [(threads, 0) for threads in THREADS] + [(threads, shared) for threads in (32, 128) for shared in SHARED]
        for threads, shared in shapes:
            launch = (threads, registers, shared, barriers)
            groups.setdefault(deciding(occupancy.Launch(*launch)), []).append(",".join(map(str, launch)))
    order = sorted(groups, key=lambda name: (name.count("+"), name))
    return {f"sweep_{name}": {"decides": name, "configurations": len(groups[name]), "launches": " ".join(groups[name])} for name in order}


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    total = 0
    for name, row in rows.items():
        if "launches" in row:
            assert row["predicted_deciding"] == row["decides"], f"{name}: {row['predicted_deciding']}"
            for source in SOURCES:
                wrong = differing(row, source)
                assert not wrong, f"{name}: {source}: launch, predicted, counted: {wrong[:5]}"
            total += row["configurations"]
            continue
        if "attribute" in row:
            assert row["counted_value"] == row["predicted_value"], f"{name}: {row}"
        if "threads" not in row:
            continue
        for source in SOURCES:
            assert row[f"counted_{source}_blocks"] == row["predicted_blocks"], f"{name}: {source}: {row}"
        if "kernel" in row:
            assert row["counted_limits"] == row["predicted_limits"], f"{name}: {row}"
            assert min(map(int, row["counted_limits"].split("/"))) == row["predicted_blocks"], f"{name}: {row}"
        if "simple" in row:
            assert row["counted_block_bytes"] == row["predicted_block_bytes"], f"{name}: {row}"
        if "carveout_percent" in row:
            assert row["counted_setting_kib"] == row["predicted_setting_kib"], f"{name}: {row}"
    assert total > 300, total
    step = rows["step_12288"]
    assert (step["predicted_simple_blocks"], step["counted_resident_blocks"]) == (19, 17), step


def main() -> None:
    """Launch the single rows under ncu; else count every launch in every way, and print the rows."""
    if gpu.launching():
        sms = Sms()
        for row in inputs().values():
            if predict(row)["predicted_blocks"]:
                sms.launch(row, COUNTED_CYCLES, 1)
        return
    rows, sms, runtime = inputs(), Sms(), Runtime()
    for name, row in rows.items():
        row.update(predict(row))
        row.update({f"counted_{source}_blocks": blocks for source, blocks in ask(row, sms, runtime)})
        gpu.say(f"{name}: {row}")
    every = attributes() | rows | swept(sms, runtime)
    gpu.say("ncu reads the limits ...")
    read = iter(gpu.counters(list(METRICS.values()), "^hold_"))
    for row in rows.values():
        if row["predicted_blocks"]:
            row.update(limits_of(row, next(read)))
            row.update(predict(row))
    check(every)
    print(json.dumps({"rows": every}))


def attributes() -> dict[str, dict[str, Any]]:
    """Read what the device says of itself."""
    import cupy  # noqa: PLC0415

    ask_device = cupy.cuda.runtime.deviceGetAttribute
    read = {"counted_multiprocessors": int(ask_device(MULTIPROCESSORS, 0)), "counted_l2_bytes": int(ask_device(L2_BYTES, 0))}
    rows: dict[str, dict[str, Any]] = {"gpu": {"gpu": CAPABILITY} | read}
    for attribute, number in ATTRIBUTES.items():
        row: dict[str, Any] = {"attribute": attribute}
        rows[attribute] = row | predict(row) | {"counted_value": int(ask_device(number, 0))}
    gpu.say(json.dumps(rows))
    return rows


def swept(sms: "Sms", runtime: "Runtime") -> dict[str, dict[str, Any]]:
    """Count every launch of the sweep in every way."""
    rows = sweep()
    for name, row in rows.items():
        row.update(predict(row))
        found: dict[str, list[int]] = {}
        for threads, registers, shared, barriers in unpacked(row["launches"]):
            single = {"threads": threads, "registers": registers, "shared_bytes": shared, "barriers": barriers}
            for source, blocks in ask(single | predict(single), sms, runtime):
                found.setdefault(source, []).append(blocks)
        for source, counted in found.items():
            row[f"counted_{source}_blocks_each"] = " ".join(map(str, counted))
            row[f"counted_{source}_total_blocks"] = sum(counted)
            wrong = differing(row, source)
            gpu.say(f"{name}: {source}: {len(counted)} launches, {len(wrong)} differ (launch, predicted, counted): {wrong[:20]}")
    return rows


def limits_of(row: dict[str, Any], read: dict[str, float]) -> dict[str, Any]:
    """Give what ncu read of a launch, as far as the row shows it."""
    values = {name: int(read[metric]) for name, metric in METRICS.items()}
    gpu.say(f"ncu: {row.get('kernel', '')} {launch_of(row)}: {values}")
    found: dict[str, Any] = {}
    if "kernel" in row:
        found["setting_kib"] = values["setting_bytes"] // 1024
        found["counted_limits"] = "/".join(str(values[name]) for name in list(METRICS)[:5])
    if "simple" in row:
        found["counted_block_bytes"] = values["block_bytes"]
    if "carveout_percent" in row:
        found["counted_setting_kib"] = values["setting_bytes"] // 1024
    return found


def ask(row: dict[str, Any], sms: "Sms", runtime: "Runtime") -> Iterator[tuple[str, int]]:
    """Count a launch's resident blocks in three ways."""
    yield "runtime", runtime.blocks(row)
    yield "driver", sms.driver_blocks(row)
    yield "resident", sms.resident_blocks(row)


def kernel_of(row: dict[str, Any]) -> str:
    """Name the kernel of residency.cu that a row launches."""
    return "hold_barriers" if row.get("barriers", 1) > 1 else f"hold_{row['registers']}"


class Sms:
    """The kernels on this GPU, and the counters by which its SMs say how many blocks they hold."""

    def __init__(self) -> None:
        """Allocate the counters, one of each kind an SM."""
        import cupy  # noqa: PLC0415

        self.cupy = cupy
        self.count = int(cupy.cuda.Device(0).attributes["MultiProcessorCount"])
        self.now, self.most = cupy.zeros(self.count, cupy.uint32), cupy.zeros(self.count, cupy.uint32)
        self.data = cupy.arange(DATA_WORDS, dtype=cupy.uint32)
        self.kernels: dict[str, Any] = {}

    def kernel(self, row: dict[str, Any]) -> Any:
        """Give a row's kernel, with the attributes that the row asks for.

        Raises CUDADriverError when the driver refuses them.
        """
        name = kernel_of(row)
        kernel = self.kernels.setdefault(name, gpu.kernel(SOURCE, name))
        assert kernel.num_regs == row["registers"], f"{name} has {kernel.num_regs} registers"
        kernel.max_dynamic_shared_size_bytes = max(row["shared_bytes"], 48 * 1024) if row.get("opted_in", True) else 48 * 1024
        kernel.preferred_shared_memory_carveout = row.get("carveout_percent", -1)
        return kernel

    def launch(self, row: dict[str, Any], cycles: int, blocks: int) -> None:
        """Launch so many blocks, each of which stays for some cycles."""
        arguments = (self.now, self.most, self.cupy.uint32(cycles), self.data)
        self.kernel(row)((blocks,), (row["threads"],), arguments, shared_mem=row["shared_bytes"])

    def driver_blocks(self, row: dict[str, Any]) -> int:
        """Ask the driver how many blocks an SM holds; 0 when it refuses."""
        driver = self.cupy.cuda.driver
        try:
            return int(driver.occupancyMaxActiveBlocksPerMultiprocessor(self.kernel(row).kernel.ptr, row["threads"], row["shared_bytes"]))
        except driver.CUDADriverError:
            return 0

    def resident_blocks(self, row: dict[str, Any]) -> int:
        """Launch two blocks an SM more than should fit, and give the most that one SM counted; 0 when the launch is refused.

        Raises AssertionError when a kernel did not do what it should.
        """
        self.now.fill(0)
        self.most.fill(0)
        try:
            self.launch(row, CYCLES, self.count * (row["predicted_blocks"] + 2))
        except self.cupy.cuda.driver.CUDADriverError:
            return 0
        most = sorted({int(blocks) for blocks in self.most.get()})
        if len(most) > 1:
            gpu.say(f"not every SM holds as many: {most} for {row}")
        assert not self.now.get().any(), "a block has not counted itself out"
        assert bool((self.data == self.cupy.arange(DATA_WORDS, dtype=self.cupy.uint32)).all()), "a value was lost"
        return most[-1]


class Runtime:
    """The CUDA runtime's own view of the same kernels."""

    def __init__(self) -> None:
        """Load the kernels a second time, as the runtime's library."""
        import nvrtc  # noqa: PLC0415

        self.api = importlib.import_module("cuda.bindings.runtime")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "residency.cubin"
            path.write_bytes(nvrtc.compile_cubin(SOURCE.read_text("utf-8"), "sm_90a"))
            self.library = self.call("cudaLibraryLoadFromFile", str(path).encode(), [], [], 0, [], [], 0)

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function of the runtime and give what it returns.

        Raises RuntimeError when its status is not success.
        """
        status, *results = getattr(self.api, name)(*arguments)
        if int(status):
            raise RuntimeError(f"{name}: {status}")
        return results[0] if results else None

    def blocks(self, row: dict[str, Any]) -> int:
        """Ask the runtime how many blocks an SM holds; 0 when it refuses."""
        kernel = int(self.call("cudaLibraryGetKernel", self.library, kernel_of(row).encode()))
        attribute = self.api.cudaFuncAttribute
        most = max(row["shared_bytes"], 48 * 1024) if row.get("opted_in", True) else 48 * 1024
        try:
            self.call("cudaFuncSetAttribute", kernel, attribute.cudaFuncAttributeMaxDynamicSharedMemorySize, most)
            self.call("cudaFuncSetAttribute", kernel, attribute.cudaFuncAttributePreferredSharedMemoryCarveout, row.get("carveout_percent", -1))
            return int(self.call("cudaOccupancyMaxActiveBlocksPerMultiprocessor", kernel, row["threads"], row["shared_bytes"]))
        except RuntimeError as error:
            gpu.say(f"{row}: {error}")
            self.api.cudaGetLastError()
            return 0


if __name__ == "__main__":
    main()
