"""Show that the slow filter and the fast one are the same instructions: a timeline or a disassembly does not tell them apart."""

from pathlib import Path

import nvrtc

KERNELS = ("scale", "row_filter", "column_filter", "total", "grow")


def main() -> None:
    """Assert what the page states, print a line a kernel."""
    source = Path(__file__).with_name("tools.cu").read_text("utf-8")
    for arch in nvrtc.architectures(source):
        kernels = nvrtc.compile_kernels(source, arch)
        print(f"{arch:<16}{'LDG.E':>8}{'FFMA':>8}{'STG.E':>8}{'all':>8}")
        for name in KERNELS:
            kernel = kernels[name]
            counts = [kernel.count(opcode) for opcode in ("LDG.E", "FFMA", "STG.E")]
            # The last line is a jump to itself, then padding: a kernel ends at the jump.
            length = max(number for number, line in enumerate(kernel.instructions, 1) if line.opcode != "NOP")
            print(f"{name:<16}{counts[0]:>8}{counts[1]:>8}{counts[2]:>8}{length:>8}")
        rows, columns = kernels["row_filter"], kernels["column_filter"]
        for opcode in ("LDG.E", "FFMA", "STG.E"):
            assert rows.count(opcode) == columns.count(opcode), (arch, opcode)
        # A thread of "total" and of "grow" waits for one load at a time.
        assert kernels["total"].count("LDG.E") == kernels["grow"].count("LDG.E") == 1, arch
        print()


if __name__ == "__main__":
    main()
