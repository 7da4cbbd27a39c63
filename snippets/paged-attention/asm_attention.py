"""Compile attention.cu without a GPU and show what a kernel that reads through a block table has more than the contiguous one."""

from pathlib import Path

import nvrtc

SHOWN = ("LDGSTS", "LDSM", "HMMA", "MOVM", "LDG", "SHF")
OPTIONS = ("-DKV_HEADS=8", "-DGROUP=4", "-DWARPS=4", "-DSTAGES=3")


def main() -> None:
    """Assert and print what the page states."""
    source = Path(__file__).with_name("attention.cu").read_text("utf-8")
    print(f"{'':8}{'kernel':20}{'all':>6}" + "".join(f"{name:>8}" for name in SHOWN))
    for arch in nvrtc.architectures(source):
        kernels = nvrtc.compile_kernels(source, arch, *OPTIONS)
        paged, contiguous = kernels["attend_paged"], kernels["attend_contiguous"]
        for kernel in (contiguous, paged):
            assert not kernel.count("STL"), (arch, kernel.name)
            assert kernel.count("LDGSTS.E.BYPASS.128") == kernel.count("LDGSTS"), (arch, kernel.opcodes())
            print(f"{arch:8}{kernel.name:20}{len(kernel.instructions):6}" + "".join(f"{kernel.count(name):8}" for name in SHOWN))
        for same in ("LDGSTS", "LDSM", "HMMA", "MOVM"):
            assert paged.count(same) == contiguous.count(same), (arch, same)
        assert paged.count("HMMA") == paged.count("LDSM") == 16, arch


if __name__ == "__main__":
    main()
