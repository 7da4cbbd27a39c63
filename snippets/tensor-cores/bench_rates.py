"""Measure what one SM does a clock with operands at hand: FFMA, mma.sync and wgmma for each type of input."""

import json
import math
import random
import statistics
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import accumulate
import peak

import gpu

SOURCE = Path(__file__).with_name("rates.cu")
TABLES = {
    "rates": {
        "inputs": ("输入", "Inputs"),
        "accumulator": ("累加器", "Accumulator"),
        "exponent_bits": ("指数位", "Exponent bits"),
        "mantissa_bits": ("尾数位", "Mantissa bits"),
        "predicted_fma_a_clock": ("预测：每 SM 每周期乘加", "Predicted FMA a clock and SM"),
        "measured_wgmma_fma_a_clock": ("wgmma", "wgmma"),
        "measured_mma_fma_a_clock": ("mma.sync", "mma.sync"),
        "measured_wgmma_tflop_s": ("wgmma（TFLOP/s）", "wgmma (TFLOP/s)"),
        "measured_mma_tflop_s": ("mma.sync（TFLOP/s）", "mma.sync (TFLOP/s)"),
    },
}

FOUR, TWO = "{%0, %1, %2, %3}", "{%0, %1}"
# inputs, accumulator: the unit of the peak, the K of mma.sync, its types, the words of D; what follows wgmma's descriptors, its words
KINDS = {
    ("FP16", "FP32"): ("FP16", 16, "f32.f16.f16.f32", FOUR, "1, 1, 1, 0, 0", 128),
    ("FP16", "FP16"): ("FP16", 16, "f16.f16.f16.f16", TWO, "1, 1, 1, 0, 0", 64),
    ("BF16", "FP32"): ("BF16", 16, "f32.bf16.bf16.f32", FOUR, "1, 1, 1, 0, 0", 128),
    ("TF32", "FP32"): ("TF32", 8, "f32.tf32.tf32.f32", FOUR, "1, 1, 1", 128),
    ("FP8 E4M3", "FP32"): ("FP8", 32, "f32.e4m3.e4m3.f32", FOUR, "1, 1, 1", 128),
    ("FP8 E5M2", "FP32"): ("FP8", 32, "f32.e5m2.e5m2.f32", FOUR, "1, 1, 1", 128),
    ("INT8", "INT32"): ("INT8", 32, "s32.s8.s8.s32", FOUR, "1", 128),
}
MMA_THREADS, MMA_CHAINS, MMA_TURNS = 512, 8, 6000
WGMMA_THREADS, WGMMA_SHAPE, WGMMA_TURNS = 256, 64 * 256, 1500  # two warpgroups, four instructions a turn
FFMA_STEPS, FFMA_TURNS = 8 * 16, 3000
OPERANDS = (2 * 64 + 256) * 128  # bytes
ROUNDS = 5


def inputs(sms: int = peak.SMS) -> dict[str, dict[str, Any]]:
    """Give the rows' names and inputs."""
    rows: dict[str, dict[str, Any]] = {}
    for (form, accumulator), (unit, *_) in KINDS.items():
        exponent, mantissa = accumulate.FORMATS.get(form, (0, 7))
        name = f"{form}_{accumulator}".lower().replace(" ", "_")
        bits = {"exponent_bits": exponent, "mantissa_bits": mantissa}
        rows[name] = {"inputs": form, "accumulator": accumulator, "unit": unit, "sms": sms} | bits
    rows["ffma"] = {"unit": "FFMA", "sms": sms}
    return rows


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Give the predicted rate of a row's unit."""
    return {"predicted_fma_a_clock": peak.fma_a_clock_an_sm(row["unit"])}


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name, row in rows.items():
        if name == "ffma":
            assert 0.95 < row["measured_fma_a_clock"] / row["predicted_fma_a_clock"] <= 1, row
            continue
        peak_clock, peak_tflop_s = row["predicted_fma_a_clock"], 2 * row["predicted_fma_a_clock"] * row["sms"] * 1.83 / 1e3
        share = row["measured_wgmma_fma_a_clock"] / peak_clock
        assert 0.99 < share <= 1.001, f"{name}: wgmma reaches {share:.3f} of its peak a clock"
        share = row["measured_wgmma_tflop_s"] / peak_tflop_s
        assert 0.85 < share < 1, f"{name}: wgmma reaches {share:.3f} of its peak a second"
        if row["unit"] == "FP8":
            assert row["measured_mma_fma_a_clock"] is None, row
        else:
            share = row["measured_mma_fma_a_clock"] / peak_clock
            assert 0.64 < share < 0.67, f"{name}: mma.sync reaches {share:.3f} of the peak a clock"


def main() -> None:
    """Measure every row and print them."""
    import cupy  # noqa: PLC0415 - a bench is imported without a GPU too

    sms = int(cupy.cuda.Device().attributes["MultiProcessorCount"])
    rows = {}
    for name, row in inputs(sms).items():
        rows[name] = row | predict(row) | (ffma(sms) if name == "ffma" else tensor(row))
        gpu.say(f"{name}: {rows[name]}")
    check(rows)
    print(json.dumps({"rows": rows}))


def options(form: str, accumulator: str) -> tuple[str, ...]:
    """Give the compiler's options for a kind: the instructions as rates.cu wants them."""
    _unit, k, types, words, tail, count = KINDS[form, accumulator]
    mma = f"mma.sync.aligned.m16n8k{k}.row.col.{types} {words}, {{%4, %5, %6, %7}}, {{%8, %9}}, {words};"
    wgmma = f"wgmma.mma_async.sync.aligned.m64n256k{k}.{types.rpartition('.')[0]}"
    return f'-DMMA="{mma}"', f'-DWGMMA="{wgmma}"', f'-DTAIL="{tail}"', f"-DWORDS={count}"


@dataclass
class Run:
    """One kernel of rates.cu with what it gets before and after the clocks and the turns, and its work: FMAs a turn of one block."""

    kernel: Any
    head: tuple[Any, ...]
    tail: tuple[Any, ...]
    threads: int
    shared: int
    fmas: int
    turns: int

    def measure(self, sms: int) -> tuple[float, float]:
        """Run one block an SM: FMAs a clock by the SMs' own clocks (the median SM), and TFLOP/s by time."""
        import cupy  # noqa: PLC0415 - as above

        cycles = cupy.zeros(sms, cupy.int64)
        arguments = (*self.head, cycles, cupy.int32(self.turns), *self.tail)
        self.kernel.max_dynamic_shared_size_bytes = max(self.shared, 1024)
        time = gpu.milliseconds(lambda: self.kernel((sms,), (self.threads,), arguments, shared_mem=self.shared), repeat=ROUNDS, warmup=1)
        clocks = statistics.median(int(count) for count in cycles.get())
        return round(self.fmas * self.turns / clocks, 1), round(2 * self.fmas * self.turns * sms / time / 1e9, 1)


def tensor(row: dict[str, Any]) -> dict[str, Any]:
    """Measure wgmma and mma.sync for a row's inputs; mma.sync with FP8 is not a Tensor Core instruction of its own here."""
    import cupy  # noqa: PLC0415 - as above
    import numpy  # noqa: ICN001, PLC0415 - as above

    form, accumulator, sms = row["inputs"], row["accumulator"], row["sms"]
    k, compiler = KINDS[form, accumulator][1], options(form, accumulator)
    head = (cupy.asarray(numpy.frombuffer(random_operands(form), numpy.uint8)), cupy.empty(sms * MMA_THREADS, cupy.uint32))
    wgmma_work, mma_work = WGMMA_THREADS // 128 * 4 * WGMMA_SHAPE * k, MMA_THREADS // 32 * MMA_CHAINS * 16 * 8 * k
    wgmma = Run(gpu.kernel(SOURCE, "wgmma_rate", *compiler), head, (), WGMMA_THREADS, OPERANDS, wgmma_work, WGMMA_TURNS)
    mma = Run(gpu.kernel(SOURCE, "mma_rate", *compiler), head, (), MMA_THREADS, 0, mma_work, MMA_TURNS)
    result: dict[str, Any] = {}
    for name, run in (("wgmma", wgmma), ("mma", mma)):
        rate, tflop_s = (None, None) if name == "mma" and row["unit"] == "FP8" else run.measure(sms)
        result |= {f"measured_{name}_fma_a_clock": rate, f"measured_{name}_tflop_s": tflop_s}
    return result


def ffma(sms: int) -> dict[str, Any]:
    """Measure multiply-adds on the FP32 lanes."""
    import cupy  # noqa: PLC0415 - as above

    kernel = gpu.kernel(SOURCE, "ffma_rate", *options("FP16", "FP32"))
    head, tail = (cupy.empty(sms * MMA_THREADS, cupy.float32),), (cupy.float32(0.5), cupy.float32(0.25))
    rate, tflop_s = Run(kernel, head, tail, MMA_THREADS, 0, MMA_THREADS * FFMA_STEPS, FFMA_TURNS).measure(sms)
    return {"measured_fma_a_clock": rate, "measured_tflop_s": tflop_s}


def random_operands(form: str) -> bytes:
    """Give the operands' bytes: random numbers from -1 to 1, and any INT8."""
    draw = random.Random(form)  # noqa: S311 - test data, no secret
    if form == "INT8":
        return draw.randbytes(OPERANDS)
    exponent, mantissa = accumulate.FORMATS[form]
    size = {"TF32": 4, "FP16": 2, "BF16": 2}.get(form, 1)
    data = bytearray()
    for _ in range(OPERANDS // size):
        value = accumulate.rounded(draw.uniform(-1, 1), form)
        if size == 4:
            data += struct.pack("<f", value)
            continue
        bias = 2 ** (exponent - 1) - 1
        power = max(math.frexp(value)[1] - 1, 1 - bias)
        fraction = round(abs(value) * 2.0 ** (mantissa - power))
        code = fraction if fraction < 2**mantissa else (power + bias - 1) * 2**mantissa + fraction
        data += (code | (value < 0) << (exponent + mantissa)).to_bytes(size, "little")
    return bytes(data)


if __name__ == "__main__":
    main()
