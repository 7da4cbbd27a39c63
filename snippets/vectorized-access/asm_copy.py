"""Show which width of load and store the compiler chooses for each copy, for each architecture of the sources."""

import re
from collections import Counter
from pathlib import Path

import nvrtc

HERE = Path(__file__).parent
KERNELS = (
    # kernel, its loads by width in bits; its stores are the same
    ("copy_float", {32: 1}),
    ("copy_float2", {64: 1}),
    ("copy_float4", {128: 1}),
    ("copy_float3", {32: 3}),
    ("copy_neighbours", {32: 4}),
    ("copy_promised", {128: 1}),
    ("copy_loose", {32: 4}),
    ("copy_aligned", {128: 1}),
    ("copy_eight_halves", {128: 1}),
    # Four in the body, one in the loop that takes the rest.
    ("copy_float_by_four", {32: 5}),
    ("copy_float4_by_four", {128: 5}),
    # The vector body and the scalar tail.
    ("copy_any", {128: 1, 32: 1}),
    ("copy_strided", {32: 1}),
)


def widths(kernel: nvrtc.Kernel, opcode: str) -> Counter[int]:
    """Count a kernel's loads or stores by width in bits: LDG.E is 32, LDG.E.64 and LDG.E.128 say so."""
    found: Counter[int] = Counter()
    for name, count in kernel.opcodes().items():
        if name == opcode or name.startswith(f"{opcode}."):
            width = re.search(r"\.(64|128)\b", name)
            found[int(width[1]) if width else 32] += count
    return found


def shown(counts: Counter[int], opcode: str) -> str:
    """Write counts such as {128: 1} as "1 LDG.E.128"."""
    return " + ".join(f"{count} {opcode}{f'.{width}' if width > 32 else ''}" for width, count in sorted(counts.items(), reverse=True))


def executed_once(kernel: nvrtc.Kernel) -> int:
    """Count the instructions that a thread executes when the loop of a copy runs once: up to the EXIT after it."""
    return next(number for number, line in enumerate(kernel.instructions, 1) if line.opcode == "EXIT" and not line.guard)


def main() -> None:
    """Assert the widths that the page states, and the counts that the benches rest on; print the widths."""
    source = (HERE / "copy.cu").read_text("utf-8")
    for arch in nvrtc.architectures(source):
        kernels = nvrtc.compile_kernels(source, arch)
        print(f"{arch:<22}{'loads':<26}stores")
        for name, expected in KERNELS:
            loads, stores = widths(kernels[name], "LDG.E"), widths(kernels[name], "STG.E")
            assert loads == expected == stores, (arch, name, loads, stores)
            print(f"{name:<22}{shown(loads, 'LDG.E'):<26}{shown(stores, 'STG.E')}")
        once = {executed_once(kernels[name]) for name in ("copy_float", "copy_float2", "copy_float4")}
        assert len(once) == 1, (arch, once)
        print(f"one element a thread: {once.pop()} instructions, whether float, float2 or float4\n")
        check_levels(arch)
        check_ceilings(arch)


def check_levels(arch: str) -> None:
    """Assert that the kernels of levels.cu load in the width that their names say, eight times a turn where that is meant."""
    kernels = nvrtc.compile_kernels((HERE / "levels.cu").read_text("utf-8"), arch)
    assert widths(kernels["chase"], "LDG.E") == {64: 1}, arch
    assert widths(kernels["resident_float"], "LDG.E") == {32: 1}, arch
    assert widths(kernels["resident_float4"], "LDG.E") == {128: 1}, arch
    assert widths(kernels["shared_float"], "LDS") == {32: 8}, arch
    assert widths(kernels["shared_float4"], "LDS") == {128: 8}, arch


def check_ceilings(arch: str) -> None:
    """Assert that the compiler keeps every FMA: four chains a thread, a loop of sixteen steps where FMAS is larger."""
    source = (HERE / "ceilings.cu").read_text("utf-8")
    for fmas in (1, 4, 16, 64, 256):
        kernels = nvrtc.compile_kernels(source, arch, f"-DFMAS={fmas}")
        assert kernels["polynomial"].count("FFMA") == 4 * min(fmas, 16), (arch, fmas)
        assert widths(kernels["polynomial"], "LDG.E") == {128: 1}, (arch, fmas)
    assert kernels["multiply_add"].count("FFMA") == 8 * 16, arch


if __name__ == "__main__":
    main()
