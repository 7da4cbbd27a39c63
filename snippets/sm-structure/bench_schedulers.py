"""Measure which warps of a block share a scheduler, how many warps keep the schedulers busy, and what reading registers costs."""

import json
import statistics
from pathlib import Path
from typing import Any

import hiding

import gpu

SOURCE = Path(__file__).with_name("schedulers.cu")
TURNS, STEPS = 256, 256  # of a warp: its instructions are their product
REPEAT = 5
WARPS = (1, 2, 4, 8, 12, 16, 20, 32)
CHAINS = (1, 2, 4)
PAIRED = range(1, 9)
PAIR_CHAINS = 4  # enough for one warp to fill its scheduler
OPERANDS = {
    # kernel: the instruction, and the registers that it reads on sm_90a, for several in turn (asm_kernels.py asserts what they cost)
    "add_one_1": ("FADD R, R, 1", "5"),
    "add_1": ("FADD R, R, R", "6 11"),
    "fma_1": ("FFMA R, R, R, R", "4 10 5"),
    "fma_2": ("FFMA R, R.reuse, R, R.reuse", "4 10 5, 12"),
    "fma_4": ("FFMA R, R.reuse, R, R.reuse", "8"),
}
OPERAND_WARPS = 16

TABLES = {
    "pairs": {
        "second_warp": ("与 warp 0 同时工作的 warp", "Warp that works beside warp 0"),
        "predicted_time_ratio": ("预测时间倍数", "Predicted time ratio"),
        "measured_time_ratio": ("实测时间倍数", "Measured time ratio"),
    },
    "operands": {
        "instruction": ("指令", "Instruction"),
        "chains": ("链", "Chains"),
        "registers_read": ("要读的寄存器", "Registers to read"),
        "predicted_port_cycles": ("预测读端口（周期）", "Predicted cycles to read"),
        "predicted_instructions_a_cycle": ("预测指令 / 周期", "Predicted instructions a cycle"),
        "measured_instructions_a_cycle": ("实测指令 / 周期", "Measured instructions a cycle"),
    },
    "warps": {
        "warps": ("SM 上的 warp", "Warps on the SM"),
        **{
            key: label
            for chains in CHAINS
            for key, label in (
                (f"predicted_{chains}_chains", (f"{chains} 条链：预测", f"{chains} chain(s): predicted")),
                (f"measured_{chains}_chains", (f"{chains} 条链：实测", f"{chains} chain(s): measured")),
            )
        },
    },
}


def predict(inputs: dict[str, Any]) -> dict[str, Any]:
    """Give the predicted values of a row from its inputs: a ratio of times, or instructions a cycle of the SM."""
    if "second_warp" in inputs:
        both = hiding.cycles_a_step([0, inputs["second_warp"]], PAIR_CHAINS)
        return {"predicted_time_ratio": both / hiding.cycles_a_step([0], PAIR_CHAINS)}
    if "registers_read" in inputs:
        port = read_cycles(inputs["registers_read"])
        rate = hiding.instructions_a_cycle(list(range(inputs["operand_warps"])), inputs["chains"], port)
        return {"predicted_port_cycles": port, "predicted_instructions_a_cycle": round(rate, 2)}
    warps = list(range(inputs["warps"]))
    return {f"predicted_{chains}_chains": round(hiding.instructions_a_cycle(warps, chains), 2) for chains in CHAINS}


def read_cycles(registers_read: str) -> float:
    """Give the cycles that reading the registers of an instruction takes, the mean of several that follow each other."""
    return statistics.mean(hiding.port_cycles([int(register) for register in each.split()]) for each in registers_read.split(","))


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name, row in rows.items():
        if "second_warp" in row:
            assert abs(row["measured_time_ratio"] / row["predicted_time_ratio"] - 1) < 0.05, f"{name}: {row}"
            continue
        if "registers_read" in row:
            assert 0.9 < row["measured_instructions_a_cycle"] / row["predicted_instructions_a_cycle"] < 1.02, f"{name}: {row}"
            continue
        for chains in CHAINS:
            predicted, measured = row[f"predicted_{chains}_chains"], row[f"measured_{chains}_chains"]
            assert 0.9 < measured / predicted < 1.02, f"{name}: {chains} chains: {row}"


def main() -> None:
    """Measure everything and print the rows; nothing is counted by ncu."""
    rows: dict[str, dict[str, Any]] = {}
    alone = cycles([0], f"add_one_{PAIR_CHAINS}")
    for warp in PAIRED:
        inputs: dict[str, Any] = {"second_warp": warp}
        ratio = cycles([0, warp], f"add_one_{PAIR_CHAINS}") / alone
        rows[f"warps_0_and_{warp}"] = inputs | predict(inputs) | {"measured_time_ratio": round(ratio, 3)}
    for warps in WARPS:
        inputs = {"warps": warps}
        rates = {f"measured_{chains}_chains": rate(warps, f"add_one_{chains}") for chains in CHAINS}
        rows[f"warps_{warps}"] = inputs | predict(inputs) | rates
    for kernel, (instruction, registers) in OPERANDS.items():
        inputs = {"instruction": instruction, "chains": int(kernel[-1]), "registers_read": registers, "operand_warps": OPERAND_WARPS}
        rows[kernel] = inputs | predict(inputs) | {"measured_instructions_a_cycle": rate(OPERAND_WARPS, kernel)}
    for name, row in rows.items():
        gpu.say(f"{name}: {row}")
    check(rows)
    print(json.dumps({"rows": rows}))


def rate(warps: int, kernel: str) -> float:
    """Give the instructions that the SM issues in a cycle for the first warps of a block."""
    return round(warps * TURNS * STEPS / cycles(list(range(warps)), kernel), 2)


def cycles(working: list[int], name: str) -> float:
    """Let these warps of one block work at the same time, and give the cycles from the first start to the last end: a median."""
    import cupy  # noqa: PLC0415

    kernel, chains = gpu.kernel(SOURCE, name), int(name[-1])
    warps = max(working) + 1
    clocks, sums = cupy.zeros((warps, 2), cupy.int64), cupy.empty(32 * warps, cupy.float32)
    mask = sum(1 << warp for warp in working)
    fma = name.startswith("fma")
    operands = cupy.tile(cupy.array([0.5, 0.25] if fma else [1, 1], cupy.float32), 32 * warps)
    arguments = (clocks, sums, cupy.uint32(mask), cupy.uint32(TURNS), operands)
    # x / 2 + 1 / 4 goes to 1 / 2 from any start; adding 1 is exact in float up to 2**24. Chain c of thread t starts from t + c.
    starts = chains * cupy.arange(32 * warps, dtype=cupy.float32) + chains * (chains - 1) // 2
    wanted = cupy.full(32 * warps, chains * 0.5, cupy.float32) if fma else starts + TURNS * STEPS
    found = []
    for _ in range(REPEAT):
        sums.fill(float("nan"))
        kernel((1,), (32 * warps,), arguments)
        times = clocks.get()[working]
        found.append(int(times[:, 1].max() - times[:, 0].min()))
        right = (sums == wanted).reshape(warps, 32)[working]
        assert bool(right.all()), f"{name} is wrong"
    return statistics.median(found)


if __name__ == "__main__":
    main()
