"""What cards can do, as their makers published it: no record may show more. For a card that is not listed, generic limits hold."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    """A card's compute capability, its memory's bandwidth, its fastest dense rate in any format, its SMs and their boost clock."""

    capability: str
    bandwidth_gb_s: float
    tflop_s: float
    sms: int
    mhz: int

    @property
    def on_chip_gb_s(self) -> float:
        """Bound what L1, shared memory or L2 can deliver: 128 bytes a clock and SM."""
        return self.sms * 128 * self.mhz / 1e3


# Bounds, meant only to refuse what is impossible: NVIDIA's published figures (without sparsity, the fastest format), as data sheets,
# whitepapers and reviews of the cards repeat them. No page states them; a page cites its own source.
CARDS = {
    "NVIDIA B200": Card("10.0", 8000, 10000, 148, 1965),
    "NVIDIA H200": Card("9.0", 4800, 1979, 132, 1980),
    "NVIDIA H100 80GB HBM3": Card("9.0", 3350, 1979, 132, 1980),
    "NVIDIA H100 PCIe": Card("9.0", 2000, 1513, 114, 1755),
    "NVIDIA A100-SXM4-80GB": Card("8.0", 2039, 1248, 108, 1410),
    "NVIDIA A100 80GB PCIe": Card("8.0", 1935, 1248, 108, 1410),
    "NVIDIA A100-SXM4-40GB": Card("8.0", 1555, 1248, 108, 1410),
    "NVIDIA A100-PCIE-40GB": Card("8.0", 1555, 1248, 108, 1410),
    "NVIDIA L40S": Card("8.9", 864, 1466, 142, 2520),
    "NVIDIA L4": Card("8.9", 300, 485, 58, 2040),
    "NVIDIA GeForce RTX 5090": Card("12.0", 1792, 1676, 170, 2410),
    "NVIDIA GeForce RTX 4090": Card("8.9", 1008, 1321, 128, 2520),
    "NVIDIA GeForce RTX 3090": Card("8.6", 936, 569, 82, 1695),
    "Tesla T4": Card("7.5", 320, 260, 40, 1590),
    "Tesla V100-SXM2-16GB": Card("7.0", 900, 125, 80, 1530),
    "Tesla V100-SXM2-32GB": Card("7.0", 900, 125, 80, 1530),
}
# Above everything that is listed, and so above what a newer card will do for some years.
UNKNOWN = Card("", 24_000, 40_000, 512, 4_000)
SLACK = 1.05  # what a clock above the published one may add


def limits_of(name: str) -> Card:
    """Give a card's limits, by the name that the driver gives it."""
    return CARDS.get(name, UNKNOWN)


def device(name: str) -> str:
    """Give the word by which a record's file is named after a card."""
    return re.sub(r"nvidia|geforce|tesla|[\W_]", "", name.lower())
