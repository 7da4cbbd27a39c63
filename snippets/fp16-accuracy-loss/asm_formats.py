"""Compile the kernels of formats.cu and check which instructions convert and add; prints them."""

from pathlib import Path

import nvrtc

SOURCE = Path(__file__).with_name("formats.cu")
CONVERSIONS = {
    "FP16": "F2F.F16.F32",
    "BF16": "F2F.BF16.F32",
    "E4M3": "F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C",
    "E5M2": "F2FP.SATFINITE.E5M2.F32.PACK_AB_MERGE_C",
}


def main() -> None:
    """Check and print."""
    text = SOURCE.read_text("utf-8")
    for architecture in nvrtc.architectures(text):
        kernels = nvrtc.compile_kernels(text, architecture)
        found = [instruction.opcode for instruction in kernels["convert"].instructions]
        for name, opcode in CONVERSIONS.items():
            assert found.count(opcode) == 1, f"{architecture}: {opcode} stands {found.count(opcode)} times in convert"
            print(f"{architecture} convert   {name:5} {opcode}")
        masks = [each for each in kernels["convert"].instructions if each.opcode == "LOP3.LUT" and "0xffffe000" in each.operands]
        halves = [each for each in kernels["convert"].instructions if each.opcode == "IADD3" and "0x1000" in each.operands]
        assert len(masks) == len(halves) == 1, f"{architecture}: TF32 is not rounded by an addition and a mask"
        print(f"{architecture} convert   TF32  IADD3 0x1000, LOP3.LUT 0xffffe000")
        sums = [instruction.opcode for instruction in kernels["sums"].instructions]
        half, single = sums.count("HADD2"), sums.count("FADD")
        assert half, f"{architecture}: nothing is added in FP16"
        assert half == single, f"{architecture}: {half} HADD2, {single} FADD"
        print(f"{architecture} sums      HADD2 and FADD, one each a term ({half} of each after unrolling)")


if __name__ == "__main__":
    main()
