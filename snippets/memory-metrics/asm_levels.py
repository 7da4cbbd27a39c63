"""Compile the kernels without a GPU: the loads and stores that ncu counts are in their machine code, and no others."""

from pathlib import Path

import nvrtc

SOURCE = Path(__file__).with_name("levels.cu").read_text("utf-8")
OPCODES = ("LDG", "STG", "LDS", "STS", "LDL", "STL")
# Loads and stores in the code; a loop's are there once. The two arrays differ in what their index is, not in what they compute.
EXPECTED = {
    "load_4": (1, 1, 0, 0, 0, 0),
    "store_4": (0, 1, 0, 0, 0, 0),
    "read_global": (8, 1, 0, 0, 0, 0),
    "l1_coalesced": (8, 1, 0, 0, 0, 0),
    "l1_strided": (8, 1, 0, 0, 0, 0),
    "l2_resident": (8, 1, 0, 0, 0, 0),
    "shared_read": (1, 1, 8, 1, 0, 0),
    "shared_chase": (1, 1, 8, 1, 0, 0),
    "local_array": (1, 1, 0, 0, 65, 65),
    "register_array": (1, 1, 0, 0, 0, 0),
    "chase": (1, 1, 0, 0, 0, 0),
    "multiply_add": (1, 1, 0, 0, 0, 0),
}
WIDE = {"load_1": "LDG.E.U8", "load_2": "LDG.E.U16", "load_4": "LDG.E", "load_8": "LDG.E.64", "load_16": "LDG.E.128"}


def main() -> None:
    """Assert for each architecture, and print for the last."""
    lines: list[str] = []
    for arch in nvrtc.architectures(SOURCE):
        kernels = nvrtc.compile_kernels(SOURCE, arch)
        lines = [f"{arch:<15}" + "".join(f"{opcode:>5}" for opcode in OPCODES)]
        for name, counts in EXPECTED.items():
            found = tuple(kernels[name].count(opcode) for opcode in OPCODES)
            assert found == counts, (arch, name, found)
            lines.append(f"{name:<15}" + "".join(f"{count:>5}" for count in found))
        for name, opcode in WIDE.items():
            assert kernels[name].opcodes()[opcode] == 1, (arch, name, kernels[name].opcodes())
    print("\n".join(lines))


if __name__ == "__main__":
    main()
