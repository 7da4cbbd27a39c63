"""Compile window.cu without a GPU and show where the window went: registers, stack frame, spills, and the loads and stores of each memory."""

import ctypes
import re
from pathlib import Path
from typing import NamedTuple

import nvrtc

MEMORY = ("LDL", "STL", "LDS", "STS")
# What ptxas says of a kernel: https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/, printing code generation statistics.
PTXAS = re.compile(
    r"'(\w+)' for .*?(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers(.*?)$",
    re.DOTALL | re.MULTILINE,
)


class Resources(NamedTuple):
    """What one thread or block of a kernel takes, in bytes but for the registers."""

    registers: int
    frame: int
    spill_stores: int
    spill_loads: int
    shared: int


def main() -> None:
    """Assert and print what each kernel takes, for each architecture."""
    source = Path(__file__).with_name("window.cu").read_text("utf-8")
    print("arch    kernel             regs  frame  spilled B  LDL  STL  LDS  STS")
    for arch in nvrtc.architectures(source):
        kernels, found = nvrtc.compile_kernels(source, arch), resources(source, arch)
        for name in ("unroll_64", "run_time", "in_shared", "spilled", "spilled_to_shared"):
            counts = tuple(kernels[name].count(opcode) for opcode in MEMORY)
            taken = found[name]
            expect(arch, name, taken, counts)
            cells = "".join(f"{count:5}" for count in counts)
            print(f"{arch:8}{name:18}{taken.registers:5}{taken.frame:7}{taken.spill_stores + taken.spill_loads:11}{cells}")


def expect(arch: str, name: str, taken: Resources, counts: tuple[int, ...]) -> None:
    """Assert what the page says of a kernel."""
    case = (arch, name, taken, counts)
    spilled = bool(taken.spill_stores and taken.spill_loads)
    assert spilled == name.startswith("spilled"), case
    if name == "unroll_64":
        assert (taken.frame, counts) == (0, (0, 0, 0, 0)), case
        assert taken.registers > 64, case
    elif name == "run_time":
        # A stack frame of 64 x 4 bytes with nothing spilled; the loop that fills it stores, the other one loads and stores.
        assert (taken.frame, counts) == (256, (1, 2, 0, 0)), case
    elif name == "in_shared":
        assert (taken.frame, taken.shared, counts) == (0, 64 * 128 * 4, (0, 0, 1, 2)), case
    elif name == "spilled":
        assert taken.registers == 48, case
        assert taken.frame, case
        assert taken.shared == 0, case
        assert counts[2:] == (0, 0), case
    else:
        assert taken.registers == 48, case
        assert taken.shared, case
        assert counts[2], case


def resources(source: str, arch: str) -> dict[str, Resources]:
    """Give what ptxas says of each kernel of a source that compiles."""
    library, program = nvrtc._nvrtc(), ctypes.c_void_p()  # noqa: SLF001 - nvrtc.compile_cubin gives the cubin without the log
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    try:
        flags = [f"-arch={arch}", f"-I{nvrtc._toolkit() / 'include'}", "-std=c++17", "-Xptxas=-v"]  # noqa: SLF001 - as above
        status = library.nvrtcCompileProgram(program, len(flags), (ctypes.c_char_p * len(flags))(*[flag.encode() for flag in flags]))
        log = nvrtc._text(library, "ProgramLog", program)  # noqa: SLF001 - as above
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
    assert status == 0, log
    found = {}
    for name, frame, stores, loads, registers, rest in PTXAS.findall(log):
        shared = re.search(r"(\d+) bytes smem", rest)
        found[name] = Resources(int(registers), int(frame), int(stores), int(loads), int(shared[1]) if shared else 0)
    return found


if __name__ == "__main__":
    main()
