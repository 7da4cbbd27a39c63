"""Compile CUDA C++ for any architecture and read its machine code (SASS), without a GPU.

The compiler is NVRTC and the disassembler nvdisasm, both from NVIDIA's wheels; the C interface is
documented at https://docs.nvidia.com/cuda/nvrtc/ (version 13.0).
"""

import ctypes
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ARCHITECTURES = re.compile(r"^// arch: ((?:sm_\d+a?)(?: sm_\d+a?)*)$", re.MULTILINE)
SASS_LINE = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][A-Z0-9_.]*)\s*(.*?);", re.MULTILINE)


class NoCompilerError(SystemExit):
    """No NVRTC on this machine. A script that needs it ends with status 77, which record.py understands; the reason is printed."""

    def __init__(self, reason: str) -> None:
        """Print the reason."""
        print(reason, file=sys.stderr)
        super().__init__(77)


class CompileError(Exception):
    """The compiler refused a source; the message is its log."""


@dataclass(frozen=True)
class Instruction:
    """One machine instruction: its guard such as "@!P0" or "", its opcode with modifiers, its operands."""

    guard: str
    opcode: str
    operands: str


@dataclass
class Kernel:
    """What one kernel was compiled to."""

    name: str
    instructions: list[Instruction] = field(default_factory=list)

    def count(self, opcode: str) -> int:
        """Count the instructions of an opcode with any modifiers: "LDG.E" includes LDG.E.128."""
        return sum(line.opcode == opcode or line.opcode.startswith(f"{opcode}.") for line in self.instructions)

    def opcodes(self) -> Counter[str]:
        """Count each full opcode."""
        return Counter(line.opcode for line in self.instructions)


def compiles_alone(source: str) -> bool:
    """Tell whether NVRTC has every header of a source: not where it includes CUTLASS's, which nvcc compiles on the GPU's machine."""
    return "#include <cutlass/" not in source


def architectures(source: str) -> list[str]:
    """Give the architectures that a kernel's first line declares, such as ["sm_80", "sm_90a"].

    Raises ValueError when the first line declares none.
    """
    found = ARCHITECTURES.match(source)
    if not found:
        raise ValueError("the first line of a .cu file declares its architectures: // arch: sm_80 sm_90a")
    return found[1].split()


def compile_kernels(source: str, arch: str, *options: str) -> dict[str, Kernel]:
    """Compile CUDA C++ for an architecture such as "sm_90a" and give its kernels by name.

    Raises CompileError with the compiler's log, and NoCompilerError where this system has no NVRTC wheel.
    """
    return disassemble(compile_cubin(source, arch, *options))


def compile_cubin(source: str, arch: str, *options: str) -> bytes:
    """Compile CUDA C++ to a cubin; the errors are those of compile_kernels."""
    library = _nvrtc()
    program = ctypes.c_void_p()
    _check(library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None))
    try:
        flags = [f"-arch={arch}", *_includes(), "-std=c++17", *options]
        status = library.nvrtcCompileProgram(program, len(flags), (ctypes.c_char_p * len(flags))(*[flag.encode() for flag in flags]))
        if status:
            raise CompileError(_text(library, "ProgramLog", program))
        return _bytes(library, "CUBIN", program)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def disassemble(cubin: bytes) -> dict[str, Kernel]:
    """Give the kernels of a cubin, by name, as nvdisasm reads them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        program = _toolkit() / "bin" / ("nvdisasm.exe" if sys.platform == "win32" else "nvdisasm")
        listing = subprocess.run([program, "--print-code", path], check=True, capture_output=True, text=True).stdout
    return {kernel.name: kernel for kernel in _parse(listing)}


def version() -> str:
    """Give the version of the compiler, such as "13.0"."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(_nvrtc().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return f"{major.value}.{minor.value}"


def _parse(listing: str) -> Iterator[Kernel]:
    for part in re.split(r"^\s*\.section\s+\.text\.", listing, flags=re.MULTILINE)[1:]:
        kernel = Kernel(re.match(r"[\w$.]+", part)[0])  # type: ignore[index]  # a section always has a name
        kernel.instructions = [Instruction(guard or "", opcode, operands) for guard, opcode, operands in SASS_LINE.findall(part)]
        yield kernel


def _toolkit() -> Path:
    for folder in map(Path, sys.path):
        if (folder / "nvidia" / "cu13").is_dir():
            return folder / "nvidia" / "cu13"
    raise NoCompilerError("NVRTC is not installed: python3 scripts/dev.py test installs it on Linux and Windows")


def _includes() -> list[str]:
    # Where the wheels are incomplete (nvidia-cuda-crt is one of its own), the system's toolkit has the rest.
    folders = [_toolkit() / "include", Path("/usr/local/cuda/include")]
    return [f"-I{folder}" for folder in folders[: 1 if (folders[0] / "crt").is_dir() else 2]]


@cache
def _nvrtc() -> ctypes.CDLL:
    # NVRTC looks for its builtins by name alone, so they are loaded first, from where they lie.
    pattern = "bin/**/nvrtc*130_0.dll" if sys.platform == "win32" else "lib/libnvrtc*.so.13*"
    files = sorted(path for path in _toolkit().glob(pattern) if ".alt." not in path.name)
    if not files:
        raise NoCompilerError(f"no NVRTC library in {_toolkit()}")
    libraries = {path.name: ctypes.CDLL(str(path)) for path in files}
    return next(library for name, library in libraries.items() if "builtins" not in name)


def _check(status: int) -> None:
    if status:
        raise CompileError(f"NVRTC status {status}")


def _bytes(library: ctypes.CDLL, what: str, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    _check(getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(getattr(library, f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


def _text(library: ctypes.CDLL, what: str, program: ctypes.c_void_p) -> str:
    return _bytes(library, what, program).rstrip(b"\0").decode(errors="replace")
