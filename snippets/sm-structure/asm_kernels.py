"""Compile the kernels without a GPU: the instructions between the clock reads, the registers that they read, the values that are held."""

import re
from collections.abc import Iterator
from pathlib import Path

import bench_schedulers
import hiding

import nvrtc

HERE = Path(__file__).parent
CHAINS = (
    # source, kernel, what one step is, the steps in the longest run of the timed loop
    ("latency.cu", "chain_fma", "FFMA", 128),
    ("latency.cu", "chase_shared", "LDS", 16),
    ("latency.cu", "chase_l1", "LDG.E.64", 16),
    ("latency.cu", "chase_l2", "LDG.E.64", 16),
    ("schedulers.cu", "add_one_1", "FADD", 256),
    ("schedulers.cu", "add_one_2", "FADD", 256),
    ("schedulers.cu", "add_one_4", "FADD", 256),
    ("schedulers.cu", "add_1", "FADD", 256),
    ("schedulers.cu", "fma_1", "FFMA", 256),
    ("schedulers.cu", "fma_2", "FFMA", 256),
    ("schedulers.cu", "fma_4", "FFMA", 256),
)
HELD = (16, 24, 32, 33, 37, 64, 65, 128, 168, 255)


def main() -> None:
    """Assert, and print the timed steps and the held values, one column an architecture."""
    sources = {path.name: path.read_text("utf-8") for path in sorted(HERE.glob("*.cu"))}
    architectures = nvrtc.architectures(sources["latency.cu"])
    kernels = {(name, arch): nvrtc.compile_kernels(source, arch) for name, source in sources.items() for arch in architectures}
    print(f"{'between the clock reads':<28}" + "".join(f"{arch:<26}" for arch in architectures).rstrip())
    for source, name, opcode, expected in CHAINS:
        cells = []
        for arch in architectures:
            run, full = longest_run(timed(kernels[source, arch][name]), opcode)
            assert run == expected, (arch, name, run)
            cells.append(f"{run} {full}")
        print(f"{name:<28}" + "".join(f"{cell:<26}" for cell in cells).rstrip())
    print("\ncycles to read registers")
    for name, (_, registers) in bench_schedulers.OPERANDS.items():
        cells = []
        for arch in architectures:
            ports = [hiding.port_cycles(each) for each in reads(timed(kernels["schedulers.cu", arch][name]))]
            if arch == "sm_90a":
                wanted = bench_schedulers.read_cycles(registers)
                assert abs(sum(ports) / len(ports) - wanted) < 0.02, (name, sum(ports), wanted)
            cells.append(f"{sum(ports) / len(ports):.2f}")
        print(f"{name:<28}" + "".join(f"{cell:<26}" for cell in cells).rstrip())
    for arch in architectures:
        for held in HELD:
            order = [line.opcode for line in kernels["residency.cu", arch][f"hold_{held}"].instructions]
            wait = max(place for place, opcode in enumerate(order) if opcode.startswith("BAR.SYNC"))
            loads = sum(opcode.startswith("LDG.E") for opcode in order[:wait])
            stores = sum(opcode.startswith("STG.E") for opcode in order[wait:])
            assert loads == stores == (1 if held == 16 else held), (arch, held, loads, stores)
    print("hold_*: every value is loaded before the wait and stored after it")


def timed(kernel: nvrtc.Kernel) -> list[nvrtc.Instruction]:
    """Give the instructions between the first and the last read of the clock."""
    clocks = [place for place, line in enumerate(kernel.instructions) if line.opcode == "CS2R" and "CLOCK" in line.operands]
    assert len(clocks) == 2, (kernel.name, clocks)
    return kernel.instructions[clocks[0] : clocks[1]]


def longest_run(lines: list[nvrtc.Instruction], opcode: str) -> tuple[int, str]:
    """Count the most instructions of an opcode in a body, up to its branch, and give the opcode with its modifiers."""
    found = max(bodies(lines), key=lambda body: sum(matches(line, opcode) for line in body))
    steps = [line.opcode for line in found if matches(line, opcode)]
    assert len(set(steps)) == 1, steps
    return len(steps), steps[0]


def reads(lines: list[nvrtc.Instruction]) -> list[list[int]]:
    """Give the registers that each FADD or FFMA reads from the register file: not what the one before has kept for it (.reuse)."""
    found, kept = [], dict[int, str]()
    for line in lines:
        if line.opcode not in {"FADD", "FFMA"}:
            continue
        sources = [operand.strip() for operand in line.operands.split(",")[1:]]
        asked = [(slot, operand.partition(".")[0]) for slot, operand in enumerate(sources) if re.match(r"R\d+", operand)]
        found.append([int(register[1:]) for slot, register in asked if kept.get(slot) != register])
        kept = {slot: operand.partition(".")[0] for slot, operand in enumerate(sources) if operand.endswith(".reuse")}
    return found


def bodies(lines: list[nvrtc.Instruction]) -> Iterator[list[nvrtc.Instruction]]:
    """Cut the instructions at the branches."""
    body: list[nvrtc.Instruction] = []
    for line in lines:
        body.append(line)
        if line.opcode == "BRA":
            yield body
            body = []
    yield body


def matches(line: nvrtc.Instruction, opcode: str) -> bool:
    """Tell whether an instruction is of an opcode, whatever its modifiers."""
    return line.opcode == opcode or line.opcode.startswith(f"{opcode}.")


if __name__ == "__main__":
    main()
