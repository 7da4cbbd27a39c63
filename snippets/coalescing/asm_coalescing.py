"""Compile coalescing.cu without a GPU, and show that each access is one instruction of 32 bits: no layout is vectorised behind our back."""

from pathlib import Path

import nvrtc

# kernel: global loads and stores that the source asks for; row_sums_staged has 32 loads in flight, column_sums 8
ACCESSES = {
    "read_1": (8, 8),
    "read_8": (8, 1),
    "write_1": (0, 8),
    "write_8": (0, 8),
    "column_sums": (8, 1),
    "row_sums": (1, 1),
    "row_sums_staged": (32, 1),
    "read_rows": (8, 1),
    "gather": (16, 8),
}


def main() -> None:
    """Assert and print the global loads and stores of each kernel, and how many loads come before the first that needs a result."""
    source = Path(__file__).with_name("coalescing.cu").read_text("utf-8")
    print(f"{'arch':8}{'kernel':17}{'LDG':>4}{'STG':>5}{'LDS':>5}{'STS':>5}{'wide':>6}")
    for arch in nvrtc.architectures(source):
        kernels = nvrtc.compile_kernels(source, arch)
        for name, wanted in ACCESSES.items():
            kernel = kernels[name]
            counts = {opcode: kernel.count(opcode) for opcode in ("LDG", "STG", "LDS", "STS")}
            wide = sum(line.opcode.startswith(("LDG", "STG")) and (".64" in line.opcode or ".128" in line.opcode) for line in kernel.instructions)
            print(
                f"{arch:8}{name:17}" + "".join(f"{count:>{width}}" for count, width in zip(counts.values(), (4, 5, 5, 5), strict=True)) + f"{wide:>6}"
            )
            assert (counts["LDG"], counts["STG"], wide) == (*wanted, 0), (arch, name, counts, wide)


if __name__ == "__main__":
    main()
