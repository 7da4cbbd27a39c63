"""Compile ladder.cu and hopper.cu without a GPU and show by which instructions each kernel loads, multiplies and waits."""

from pathlib import Path

import nvrtc

HERE = Path(__file__).parent
SHOWN = ("LDG", "LDGSTS", "UTMALDG", "LDS", "LDSM", "FFMA", "HMMA", "HGMMA")
# kernel: what its SASS must hold, so that it is the step that the page says
EXPECTED = {
    "naive_fp32": {"LDG.E": 10, "FFMA": 5},
    "coalesced_fp32": {"LDG.E": 10, "FFMA": 5},
    "shared_fp32": {"LDS.128": 8, "FFMA": 32},
    "register_fp32": {"FFMA": 512},
    "vector_fp32": {"LDG.E.128": 2, "LDS.128": 32, "FFMA": 512},
    "async_fp32": {"LDGSTS.E": 10, "LDS.128": 32, "FFMA": 512},
    "swizzle_fp32": {"LDGSTS.E": 10, "LDS.128": 32, "FFMA": 512},
    "mma_fp16": {"LDSM": 32, "HMMA.16816.F32": 128},
    "swizzle_fp16": {"LDSM": 32, "HMMA.16816.F32": 128},
    "stages_fp16": {"LDSM": 32, "HMMA.16816.F32": 128},
}
PRINTED = ("naive_fp32", "vector_fp32", "swizzle_fp32", "mma_fp16", "stages_fp16")
VARIANTS = {"tma": "-DCLUSTER=1", "cluster": "-DCLUSTER=2", "fenced": '-DARRIVE="mbarrier.arrive.release.cluster"'}


def main() -> None:
    """Assert and print what the page states."""
    print("sm_90a         " + "".join(f"{name:>8}" for name in SHOWN) + "  MEMBAR")
    source = (HERE / "ladder.cu").read_text("utf-8")
    for arch in nvrtc.architectures(source):
        kernels = nvrtc.compile_kernels(source, arch)
        for name, wanted in EXPECTED.items():
            found = {opcode: kernels[name].count(opcode) for opcode in wanted}
            assert found == wanted, (arch, name, found)
            assert not kernels[name].count("STL"), (arch, name)
            if arch == "sm_90a" and name in PRINTED:
                print(line(name, kernels[name]))
    source = (HERE / "hopper.cu").read_text("utf-8")
    fences = {}
    for name, option in VARIANTS.items():
        kernel = nvrtc.compile_kernels(source, "sm_90a", option)["hopper"]
        assert kernel.count("HGMMA"), name
        assert not kernel.count("STL"), name
        assert kernel.count("UTMALDG.2D.MULTICAST") == (0 if name == "tma" else kernel.count("UTMALDG") * 4 // 5), name
        fences[name] = between(kernel)
        print(line(name, kernel))
    assert fences == {"tma": 0, "cluster": 0, "fenced": fences["fenced"]}, fences
    assert fences["fenced"] > 0, fences
    print(f"\nMEMBAR between the first HGMMA and the last: {', '.join(f'{name} {count}' for name, count in fences.items())}")


def between(kernel: nvrtc.Kernel) -> int:
    """Count the memory barriers between the first wgmma and the last."""
    names = [line.opcode.partition(".")[0] for line in kernel.instructions]
    places = [index for index, name in enumerate(names) if name == "HGMMA"]
    return names[places[0] : places[-1]].count("MEMBAR")


def line(name: str, kernel: nvrtc.Kernel) -> str:
    """Lay out one kernel's counts; a load with the guard @!PT is never executed."""
    names = [line.opcode.partition(".")[0] for line in kernel.instructions if line.guard != "@!PT"]
    return f"{name:15}" + "".join(f"{names.count(opcode) or '':>8}" for opcode in SHOWN) + f"{names.count('MEMBAR') or '':>8}"


if __name__ == "__main__":
    main()
