"""Compile the kernels and show the machine code of each: its accesses of memory, and how many loads it issues before it waits."""

from pathlib import Path

import norm

import nvrtc

SHOWN = ("LDG.E", "LDG.E.128", "STG.E", "STG.E.128", "LDS", "STS")


def loads_at_once(kernel: nvrtc.Kernel) -> int:
    """Count the loads of global memory between the first store of any kind and the branch before it: nothing waits for them earlier."""
    count = 0
    for line in kernel.instructions:
        if line.opcode.startswith(("STS", "STG")):
            return count
        if line.opcode.startswith("BRA"):
            count = 0
        count += line.opcode.startswith("LDG")
    raise ValueError(f"{kernel.name} stores nothing")


def main() -> None:
    """Assert what the lab and the model say of the machine code, and print it."""
    source = Path(__file__).with_name("norm.cu").read_text("utf-8")
    for arch in nvrtc.architectures(source):
        kernels = nvrtc.compile_kernels(source, arch)
        print(f"{arch:<14}{'loads at once':>14}" + "".join(f"{opcode.replace('.E', ''):>11}" for opcode in SHOWN))
        for name, model in norm.KERNELS.items():
            kernel = kernels[name]
            assert loads_at_once(kernel) == model.loads, (arch, name, loads_at_once(kernel))
            assert not kernel.count("LDL") + kernel.count("STL"), (arch, name)
            counts = [sum(count for opcode, count in kernel.opcodes().items() if exactly(opcode) == shown) for shown in SHOWN]
            assert bool(counts[1]) == bool(counts[3]) == (name == "wide"), (arch, name, counts)
            print(f"{name:<14}{loads_at_once(kernel):>14}" + "".join(f"{count:>11}" for count in counts))
        assert kernels["copy"].opcodes()["STG.E.128"] == 1, arch
        # Volatile: none of the 32 stores to a line is merged with another.
        assert kernels["scatter"].count("STG") == 32, arch


def exactly(opcode: str) -> str:
    """Give an opcode without what says nothing of its width: LDG.E.CONSTANT is LDG.E."""
    return ".".join(part for part in opcode.split(".") if part in {"LDG", "STG", "LDS", "STS", "E", "128", "64"})


if __name__ == "__main__":
    main()
