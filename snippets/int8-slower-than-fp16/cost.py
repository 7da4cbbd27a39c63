"""Estimate a chain of convolutions in FP16 and in INT8, kernel by kernel: a start, the terms of one sum, arithmetic, memory.

INT8 halves the arithmetic and the bytes, and adds what stands between the kernels. Where the second is more than the first, it loses.
Rates and bandwidth are those of the H200's data sheet; the other constants were fitted to bench_engines.py's sizes of batch 1 and 64.
"""

from dataclasses import dataclass

BATCH = 8  # 1..128: images
CHANNELS = 128  # 16..512 by 16: of every convolution
SIDE = 28  # 7..112 by 7: pixels along an edge
DEPTH = 4  # 1..8: convolutions of 3 x 3, each with a Swish behind it
TERA = 1e12
RATE = {"FP32": 67 * TERA, "FP16": 989 * TERA, "INT8": 1979 * TERA}  # dense operations a second
BYTES = {"FP32": 4, "FP16": 2, "INT8": 1}
BANDWIDTH = 4.8 * TERA  # bytes a second
SHARE = {"FP32": 1.0, "FP16": 0.9, "INT8": 0.4, "move": 0.5}  # of it, that a kernel reaches
START_US = {"FP32": 2.5, "FP16": 3.7, "INT8": 4.2, "move": 3.0}  # that even the smallest kernel takes; FP32 goes without Tensor Cores
TERM_NS = {"FP32": 12.3, "FP16": 0.95, "INT8": 0.86, "move": 0.0}  # that each term of a sum adds, however few sums there are
ALIGNED = 32  # channels to which INT8 pads


# --8<-- [start:model]
@dataclass(frozen=True)
class Kernel:
    """One kernel: what it computes in, its operations, the bytes that it reads and writes, and the terms of one sum."""

    name: str
    kind: str
    operations: float
    moved: float
    terms: int = 0

    @property
    def microseconds(self) -> float:
        """Give the sum of a start, the terms of one sum, arithmetic at the peak, and memory."""
        arithmetic = 1e6 * self.operations / RATE[self.kind] if self.operations else 0.0
        memory = 1e6 * self.moved / (BANDWIDTH * SHARE[self.kind])
        return START_US[self.kind] + TERM_NS[self.kind] * self.terms / 1000 + arithmetic + memory


@dataclass(frozen=True)
class Chain:
    """Convolutions one after the other, all of one shape."""

    batch: int
    channels: int
    side: int
    depth: int

    @property
    def elements(self) -> int:
        """Count the numbers of one activation."""
        return self.batch * self.channels * self.side**2

    def convolution(self, taken: str, given: str) -> Kernel:
        """Give a 3 x 3 convolution that takes one type and gives another."""
        inputs = -(-self.channels // ALIGNED) * ALIGNED if taken == "INT8" else self.channels
        moved = self.elements * (BYTES[taken] + BYTES[given]) + 9 * self.channels**2 * BYTES[taken]
        return Kernel("conv", taken, 2.0 * self.elements * 9 * inputs, moved, 9 * inputs)

    def pointwise(self, name: str, taken: str, given: str) -> Kernel:
        """Give a kernel that reads every element and writes it, in another type or changed."""
        return Kernel(name, "move", 0.0, self.elements * (BYTES[taken] + BYTES[given]))

    def kernels(self, way: str) -> list[Kernel]:
        """Give the kernels of the chain as it is built in one way."""
        plain = [self.convolution("FP32", "FP32")] * self.depth
        half = [
            self.pointwise("reformat", "FP32", "FP16"),
            *[self.convolution("FP16", "FP16")] * self.depth,
            self.pointwise("reformat", "FP16", "FP32"),
        ]
        apart = {
            "INT8": [self.convolution("INT8", "INT8")],  # Swish, Q and DQ are part of the convolution's kernel
            "INT8, Swish apart": [self.convolution("INT8", "FP16"), self.pointwise("swish+Q", "FP16", "INT8")],
            "INT8, Q/DQ apart": [self.pointwise("Q", "FP16", "INT8"), self.convolution("INT8", "FP16"), self.pointwise("swish", "FP16", "FP16")],
            "INT8 and FP32": [self.pointwise("Q", "FP32", "INT8"), self.convolution("INT8", "FP32"), self.pointwise("swish", "FP32", "FP32")],
        }
        if way == "FP16":  # is allowed, not demanded: the faster of both
            return min(plain, half, key=lambda kernels: sum(kernel.microseconds for kernel in kernels))
        first = [self.pointwise("Q", "FP32", "INT8")] if way in {"INT8", "INT8, Swish apart"} else []
        return first + apart[way] * self.depth

    def microseconds(self, way: str) -> float:
        """Give a way's time."""
        return sum(kernel.microseconds for kernel in self.kernels(way))


def amdahl(share: float, overhead: float) -> float:
    """Give INT8's time over FP16's: matrix kernels are `share` of FP16's time and halve, `overhead` comes on top."""
    return 1 - share + share / 2 + overhead


# --8<-- [end:model]


WAYS = ("FP16", "INT8", "INT8, Swish apart", "INT8, Q/DQ apart", "INT8 and FP32")


def main() -> None:
    """Print each way's kernels and time, and where INT8 wins."""
    chain = Chain(BATCH, CHANNELS, SIDE, DEPTH)
    print(f"batch {BATCH}, {CHANNELS} channels, {SIDE} x {SIDE}, {DEPTH} convolutions\n")
    print(f"{'built as':20}{'kernels':>8}{'conv, us':>10}{'others, us':>12}{'total, us':>11}{'to FP16':>9}")
    for way in WAYS:
        kernels = chain.kernels(way)
        inside, total = sum(kernel.microseconds for kernel in kernels if kernel.name == "conv"), chain.microseconds(way)
        print(f"{way:20}{len(kernels):>8}{inside:>10.1f}{total - inside:>12.1f}{total:>11.1f}{total / chain.microseconds('FP16'):>8.2f}x")
    print("\nINT8 to FP16     channels 16      32      64     128     256")
    for batch in (1, 8, 64):
        chains = (Chain(batch, channels, SIDE, DEPTH) for channels in (16, 32, 64, 128, 256))
        print(f"batch {batch:>3}        " + "".join(f"{each.microseconds('INT8') / each.microseconds('FP16'):>7.2f}x" for each in chains))
    print("\nshare of matrix kernels, overhead, INT8 to FP16")
    for share, overhead in ((0.8, 0.1), (0.6, 0.3), (0.5, 0.3)):
        print(f"{share:23.1f}{overhead:10.1f}{amdahl(share, overhead):14.2f}x")


if __name__ == "__main__":
    main()
