"""Compile stride.cu without a GPU and show which machine instruction each access becomes."""

from pathlib import Path

import nvrtc

UNROLL = 8
LOADS = {2: "LDS.U16", 4: "LDS", 8: "LDS.64", 16: "LDS.128"}


def main() -> None:
    """Assert and print the instructions of each kernel, for each architecture."""
    source = Path(__file__).with_name("stride.cu").read_text("utf-8")
    print("arch     bytes  load         store        merged if not volatile")
    for arch in nvrtc.architectures(source):
        kernels = nvrtc.compile_kernels(source, arch)
        plain = nvrtc.compile_kernels(source.replace(".volatile.shared", ".shared"), arch)
        for size, load in LOADS.items():
            store = load.replace("LDS", "STS")
            assert kernels[f"load_{size}"].opcodes()[load] == UNROLL, (arch, load)
            assert kernels[f"load_{size}"].count("LDS") == UNROLL, (arch, load)
            assert kernels[f"store_{size}"].opcodes()[store] == UNROLL, (arch, store)
            assert kernels[f"store_{size}"].count("STS") == UNROLL, (arch, store)
            merged = plain[f"load_{size}"].count("LDS")
            assert merged == 1, (arch, size, merged)
            print(f"{arch:8} {size:5}  {UNROLL} {load:10} {UNROLL} {store:10} {merged} {load}")
        for maths in (0, 1, 5):
            chain = kernels[f"chain_{maths}"]
            assert (chain.count("LDS"), chain.opcodes()["IMAD"]) == (UNROLL, maths * UNROLL), (arch, chain.opcodes())
            print(f"{arch:8} chain_{maths}: {UNROLL} LDS, {maths * UNROLL} IMAD between them")


if __name__ == "__main__":
    main()
