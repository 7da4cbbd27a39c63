"""Show in machine code which branch is taken and which is predicated, and where lanes meet again."""

from pathlib import Path

import nvrtc

KERNELS = ("branch", "predicated", "ways", "relay", "take_turns")
ROW = "{:11}{:11}{:>8}{:>13}{:>7}{:>7}{:>7}"


def main() -> None:
    """Check what the page says of the machine code, and print the counts behind it."""
    source = Path(__file__).with_name("divergence.cu").read_text("utf-8")
    print(ROW.format("", "kernel", "FFMA", "predicated", "BSSY", "BSYNC", "YIELD"))
    for arch in nvrtc.architectures(source):
        compiled = nvrtc.compile_kernels(source, arch)
        rows = {name: counts(compiled[name]) for name in KERNELS}
        # One loop a path, so the compiler has not merged them; each loop has 32 multiply-adds.
        assert rows["branch"][0] == 2 * 32, (arch, rows)
        assert rows["ways"][0] == 32 * 32, (arch, rows)
        # The long branch sets a convergence point and meets there; the short one has none, each step is two guarded instructions.
        assert rows["branch"][1:4] == (0, 1, 1), (arch, rows)
        assert rows["predicated"] == (32, 64, 0, 0, 0), (arch, rows)
        # Loops that wait for another lane carry YIELD; loops that only compute do not.
        assert rows["relay"][4] == rows["take_turns"][4] == 1, (arch, rows)
        assert rows["branch"][4] == rows["ways"][4] == 0, (arch, rows)
        for name, row in rows.items():
            print(ROW.format(arch, name, *row))
    # The pass of the turn stands behind the meeting point: on one counter a warp, no lane would get there.
    for arch in nvrtc.architectures(source):
        order = [line.opcode for line in nvrtc.compile_kernels(source, arch)["relay"].instructions]
        stores = [place for place, opcode in enumerate(order) if opcode.startswith("STG")]
        assert order.index("YIELD") < order.index("BSYNC") < stores[0], (arch, order)
    print("relay, on both: loop with YIELD, then BSYNC, then the store that passes the turn")


def counts(kernel: nvrtc.Kernel) -> tuple[int, int, int, int, int]:
    """Count multiply-adds, arithmetic with a guard, and the three instructions of convergence."""
    guarded = sum(bool(line.guard) and line.opcode in {"FFMA", "FMUL"} for line in kernel.instructions)
    return kernel.count("FFMA"), guarded, kernel.count("BSSY"), kernel.count("BSYNC"), kernel.count("YIELD")


if __name__ == "__main__":
    main()
