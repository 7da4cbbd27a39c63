"""Compile transpose.cu without a GPU and show what padding and swizzling change in the machine code."""

from pathlib import Path

import nvrtc

KERNELS = ("copy", "naive", "tile_plain", "tile_padded", "tile_swizzled")
PASSES = 4  # a thread moves 4 elements: 32 rows of a tile, 8 rows of threads


def main() -> None:
    """Assert and print the memory instructions of each kernel, and the XORs, for each architecture."""
    source = Path(__file__).with_name("transpose.cu").read_text("utf-8")
    print("arch     kernel         LDG  STS  LDS  STG  LOP3")
    for arch in nvrtc.architectures(source):
        kernels = nvrtc.compile_kernels(source, arch)
        for name in KERNELS:
            counts = {opcode: kernels[name].count(opcode) for opcode in ("LDG", "STS", "LDS", "STG", "LOP3")}
            shared = 0 if name in {"copy", "naive"} else PASSES
            assert (counts["LDG"], counts["STS"], counts["LDS"], counts["STG"]) == (PASSES, shared, shared, PASSES), (arch, name, counts)
            assert all(kernels[name].opcodes()[opcode] == shared for opcode in ("STS", "LDS")), (arch, name)
            order = "".join(line.opcode[0] for line in kernels[name].instructions if line.opcode.startswith(("LDG", "STG", "STS")))
            assert order.startswith("L" * PASSES), (arch, name, order)  # all of a thread's global loads are under way before it stores
            # A column and its row are XORed once a pass: the store and the load of a pass use the same index pair.
            assert counts["LOP3"] == (PASSES if name == "tile_swizzled" else 0), (arch, name, counts)
            print(f"{arch:8} {name:14}" + "".join(f"{count:4} " for count in counts.values()).rstrip())


if __name__ == "__main__":
    main()
