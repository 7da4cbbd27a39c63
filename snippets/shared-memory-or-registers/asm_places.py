"""Compile the other kernels without a GPU: what they take, and that the accesses which accesses.py counts are in their machine code."""

from pathlib import Path

from asm_window import resources

import nvrtc

HERE = Path(__file__).parent
OPCODES = ("LDG", "STG", "LDS", "STS", "LDL", "STL", "SHFL", "FFMA")
# Loads and stores in the code. Loops: 8 additions of a reduction, 16 steps of a GEMM (one or 32 for a single sum), 4 sums of a warp.
EXPECTED = {
    "reduce.cu": {
        "register_shuffle": (8, 1, 1, 1, 0, 0, 8, 0),
        "register_shared": (8, 1, 13, 6, 0, 0, 0, 0),
        "shared_shared": (8, 1, 21, 14, 0, 0, 0, 0),
        "local_shuffle": (8, 1, 1, 1, 9, 9, 8, 0),
        "global_global": (29, 15, 0, 0, 0, 0, 0, 0),
    },
    "gemm.cu": {
        "shared_register": (2, 4, 32, 2, 0, 0, 0, 256),
        "shared_single": (2, 1, 64, 2, 0, 0, 0, 32),
        "shared_shared": (2, 4, 100, 70, 0, 0, 0, 256),
        "shared_local": (2, 4, 32, 2, 68, 68, 0, 256),
        "shared_global": (66, 68, 32, 2, 0, 0, 0, 256),
        "global_register": (32, 4, 0, 0, 0, 0, 0, 256),
        "global_global": (96, 68, 0, 0, 0, 0, 0, 256),
    },
    "warp.cu": {
        "shuffle_sum": (1, 2, 0, 0, 0, 0, 20, 0),
        "shared_sum": (1, 2, 20, 20, 0, 0, 0, 0),
        "reduce_sum": (1, 2, 0, 0, 0, 0, 0, 0),
    },
}
FRAMES = {"local_shuffle": 32, "shared_local": 128}  # arrays with a run-time index; nothing is spilled
SMALL = 4
CHAINS = {
    "chain_register": "FFMA",
    "chain_shuffle": "SHFL",
    "chain_shared": "LDS",
    "chain_local": "LDL",
    "chain_constant": "LDC",
    "chain_l1": "LDG",
    "chain_l2": "LDG",
    "chain_cluster": "LD",
}


def main() -> None:
    """Assert for each architecture, and print for the last."""
    print(f"{'sm_90a':25}{'regs':>5}{'frame':>6}" + "".join(f"{opcode:>5}" for opcode in OPCODES))
    for file, expected in EXPECTED.items():
        source = (HERE / file).read_text("utf-8")
        for arch in nvrtc.architectures(source):
            kernels, found = nvrtc.compile_kernels(source, arch), resources(source, arch)
            for name, counts in expected.items():
                code, taken = hot(kernels[name]), found[name]
                assert tuple(code.count(opcode) for opcode in OPCODES) == counts, (arch, name, code.opcodes())
                assert (taken.frame, taken.spill_stores, taken.spill_loads) == (FRAMES.get(name, 0), 0, 0), (arch, name, taken)
                assert code.count("REDUX") == (4 if name == "reduce_sum" else 0), (arch, name)
                if arch == "sm_90a":
                    print(
                        f"{file.removesuffix('.cu')} {name:{24 - len(file) + 3}}{taken.registers:5}{taken.frame:6}"
                        + "".join(f"{count:5}" for count in counts)
                    )
    for arch in ("sm_80", "sm_90a"):
        chains(arch)
        small_array(arch)
    budgets()


def hot(kernel: nvrtc.Kernel) -> nvrtc.Kernel:
    """Leave out what follows the last exit: the way for warps that are not converged where they exchange numbers."""
    last = max(index for index, line in enumerate(kernel.instructions) if line.opcode == "EXIT")
    return nvrtc.Kernel(kernel.name, kernel.instructions[:last])


def chains(arch: str) -> None:
    """Assert that the timed loop of latency.cu is 16 dependent steps of one instruction."""
    kernels = nvrtc.compile_kernels((HERE / "latency.cu").read_text("utf-8"), arch)
    assert kernels.keys() == CHAINS.keys() - ({"chain_cluster"} if arch == "sm_80" else set()), (arch, kernels.keys())
    for name, kernel in kernels.items():
        clocks = [index for index, line in enumerate(kernel.instructions) if "SR_CLOCKLO" in line.operands]
        timed = kernel.instructions[clocks[0] : clocks[1]]
        steps = [line for line in timed if line.opcode.partition(".")[0] == CHAINS[name] and "c[0x0]" not in line.operands]
        assert len(steps) == 16, (arch, name, timed)


def small_array(arch: str) -> None:
    """Assert that the compiler keeps a small array in registers in spite of its run-time index: it compares and selects."""
    source = (HERE / "reduce.cu").read_text("utf-8").replace("float sums[8]", f"float sums[{SMALL}]")
    code, taken = nvrtc.compile_kernels(source, arch)["local_shuffle"], resources(source, arch)["local_shuffle"]
    assert (taken.frame, code.count("LDL"), code.count("STL")) == (0, 0, 0), (arch, taken)
    print(f"{arch}: reduce local_shuffle with {SMALL} sums instead of 8: frame {taken.frame}, no LDL, no STL")


def budgets() -> None:
    """Assert that the kernels of budget.cu take exactly the registers in their name, and spill none."""
    source = (HERE / "budget.cu").read_text("utf-8")
    for arch in nvrtc.architectures(source):
        for name, taken in resources(source, arch).items():
            assert (f"hold_{taken.registers}", taken.frame) == (name, 0), (arch, name, taken)


if __name__ == "__main__":
    main()
