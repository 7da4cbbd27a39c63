"""Compile the kernels without a GPU and show which machine instruction each way to multiply becomes."""

from collections import Counter
from pathlib import Path

import bench_accumulate
import bench_gemm
import bench_rates

import nvrtc

HERE = Path(__file__).parent
MATRIX = ("HMMA", "IMMA", "HGMMA", "IGMMA", "QGMMA")
SHOWN = (*MATRIX, "FFMA", "LDSM")
# kernel of gemm.cu: its instructions in one step of 64 along K, for one warp
EXPECTED = {
    "gemm_ffma": {"FFMA": 16 * 8 * 64 // 8},  # a loop of eight turns
    "gemm_wmma": {"LDSM.16.M88.4": 4 * 8, "HMMA.16816.F32": 4 * 32},
    "gemm_mma": {"LDSM.16.M88.4": 4 * 8, "HMMA.16816.F32": 4 * 32},
    "gemm_wgmma": {"HGMMA.64x256x16.F32": 4},
    "gemm_wgmma_cores": {"HGMMA.64x256x16.F32": 4},
}


def opcodes(kernel: nvrtc.Kernel) -> Counter[str]:
    """Count the opcodes of interest; the disassembler's shapes, as in HGMMA.64x256x16, hold small letters."""
    names = (line.opcode + (line.operands.split()[0] if line.operands.startswith("x") else "") for line in kernel.instructions)
    return Counter(name for name in names if name.split(".")[0] in SHOWN)


def refusal(source: str, arch: str) -> str:
    """Give what the compiler says against a source."""
    try:
        nvrtc.compile_kernels(source, arch)
    except nvrtc.CompileError as error:
        return next(line for line in str(error).splitlines() if "wgmma" in line).partition("; ")[2]
    raise AssertionError(f"{arch} accepts wgmma")


def main() -> None:
    """Assert and print what the page states."""
    source = (HERE / "gemm.cu").read_text("utf-8")
    for arch, option in (("sm_80", "-DWITHOUT_WGMMA"), ("sm_90a", "-DWITH_WGMMA")):
        for name, kernel in sorted(nvrtc.compile_kernels(source, arch, option).items()):
            found = opcodes(kernel)
            assert found == Counter(EXPECTED[name]), (arch, name, found)
            assert not kernel.count("STL"), (arch, name)
            # The hmma pipe also executes these, so its counter is not 0 without a matrix instruction; bench_gemm.py predicts it.
            # They stand on both sides of a branch: a warp executes one.
            assert arch != "sm_90a" or kernel.count("HFMA2") == (2 * bench_gemm.HFMA2_A_WARP if name == "gemm_ffma" else 0), name
            print(f"{arch:8}{name:18}" + ", ".join(f"{count} {opcode}" for opcode, count in sorted(found.items())))
    print(f"sm_90   gemm_wgmma        refused: {refusal(source, 'sm_90')}")
    print(f"\n{'inputs, accumulator':21}{'mma.sync':33}wgmma")
    source = (HERE / "rates.cu").read_text("utf-8")
    for form, accumulator in bench_rates.KINDS:
        kernels = nvrtc.compile_kernels(source, "sm_90a", *bench_rates.options(form, accumulator))
        mma, wgmma = ([name for name in opcodes(kernels[f"{way}_rate"]) if name.startswith(MATRIX)] for way in ("mma", "wgmma"))
        assert len(mma) == len(wgmma) == 1, (form, mma, wgmma)
        unpacked = kernels["mma_rate"].count("F2FP")
        assert bool(unpacked) == form.startswith("FP8"), (form, unpacked)
        print(f"{f'{form}, {accumulator}':21}{('F2FP, ' if unpacked else '') + mma[0]:33}{wgmma[0]}")
    check_fragments()
    check_accumulate()


def check_fragments() -> None:
    """Assert that fragments.cu holds one instruction of each kind that it is about."""
    source = (HERE / "fragments.cu").read_text("utf-8")
    for arch in nvrtc.architectures(source):
        kernels = nvrtc.compile_kernels(source, arch)
        assert opcodes(kernels["pair"]) == opcodes(kernels["multiply"]) == {"HMMA.16816.F32": 1}, arch
        loads = {name: list(opcodes(kernels[name])) for name in ("load_a", "load_b", "load_b_trans")}
        assert loads == {"load_a": ["LDSM.16.M88.4"], "load_b": ["LDSM.16.M88.2"], "load_b_trans": ["LDSM.16.MT88.2"]}, (arch, loads)


def check_accumulate() -> None:
    """Assert that accumulate.cu adds in the Tensor Cores, by HMMA in mma_tile and by HGMMA or QGMMA in wgmma_tile."""
    source = (HERE / "accumulate.cu").read_text("utf-8")
    for form, accumulator in bench_accumulate.KINDS:
        kernels = nvrtc.compile_kernels(source, "sm_90a", *bench_accumulate.options(form, accumulator))
        names = {way: {name.partition(".")[0] for name in opcodes(kernels[f"{way}_tile"])} for way in ("mma", "wgmma")}
        assert names == {"mma": {"HMMA"}, "wgmma": {"QGMMA" if form.startswith("FP8") else "HGMMA"}}, (form, names)


if __name__ == "__main__":
    main()
