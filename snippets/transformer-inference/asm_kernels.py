"""Show that the fused kernel loads 16 bytes at a time and the online-softmax kernel works on FP32 lanes, without spills."""

from pathlib import Path

import nvrtc

FOLDER = Path(__file__).parent


def main() -> None:
    """Print opcodes of the kernels by architecture, and assert what the page says of them."""
    print(f"{'':<22}{'LDG.E.128':>10}{'STG.E.128':>10}{'FFMA':>6}{'HMMA':>6}{'LDL':>5}")
    for source in ("norm.cu", "online.cu"):
        text = (FOLDER / source).read_text("utf-8")
        for arch in nvrtc.architectures(text):
            for name, kernel in nvrtc.compile_kernels(text, arch).items():
                if name == "marker":
                    continue
                wide, stores, fma, tensor, local = (kernel.count(opcode) for opcode in ("LDG.E.128", "STG.E.128", "FFMA", "HMMA", "LDL"))
                print(f"{arch:<8}{name:<14}{wide:>10}{stores:>10}{fma:>6}{tensor:>6}{local:>5}")
                assert local == 0, f"{name} keeps registers in local memory"
                assert tensor == 0, f"{name} has {tensor} HMMA"
                if source == "norm.cu":
                    assert kernel.count("LDG") == wide, f"{name} has loads of less than 16 bytes"


if __name__ == "__main__":
    main()
