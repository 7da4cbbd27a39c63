"""Draw one SM and the memory behind it, to what the sources say of a compute capability; this one is 9.0, the siblings the others.

Lanes, Tensor Cores and SFUs: CUDA C++ Programming Guide 13.1, sections 20.6 to 20.10; limits: occupancy.py; the GPU: its vendor's description.
"""

from dataclasses import dataclass

import occupancy


@dataclass(frozen=True)
class Chip:
    """What an SM computes with, and one GPU that is made of such SMs; None where the sources disagree or were not opened."""

    fp32: int
    int32: int | None
    fp64: int
    tensor_cores: int | None
    tensor_generation: int
    gpu: str
    sms: int | None
    l2: str
    dram: str
    beside: tuple[str, ...] = ()  # what else the SM has


CHIPS = {
    "7.0": Chip(64, 64, 32, 8, 1, "V100", 80, "L2 6 MB", "HBM2"),
    "7.5": Chip(64, 64, 2, 8, 2, "RTX 2080 Ti", 68, "L2 5.5 MB", "GDDR6 616 GB/s"),
    "8.0": Chip(64, 64, 32, 4, 3, "A100 40 GB", 108, "L2 40 MB", "HBM2 1,555 GB/s"),
    "8.9": Chip(128, 64, 2, 4, 4, "RTX 4090", 128, "L2 72 MB", "GDDR6X 1,008 GB/s"),
    "9.0": Chip(128, 64, 64, 4, 4, "H200", 132, "L2 60 MB", "HBM3e 4.8 TB/s", ("TMA", "DSMEM")),
    "10.0": Chip(128, 64, 64, 4, 5, "B200", 148, "L2 126 MB", "HBM3e", ("TMA", "DSMEM", "TMEM 256 KB")),
    "12.0": Chip(128, None, 2, None, 5, "RTX 50", None, "L2", "GDDR7", ("TMA", "DSMEM")),
}
SFU = 16  # of an SM, in all of them
LEFT, WIDTH, COLUMN, GAP = 16, 688, 166, 8
KIB_WIDE = WIDTH / 256  # the widest store is drawn as wide as the SM


def main() -> None:
    """Print the figure."""
    print(figure("9.0"))


def figure(name: str) -> str:
    """Draw the SM of a compute capability."""
    sm, chip = occupancy.SMS[name], CHIPS[name]
    part = f"part-{name.replace('.', '-')}"
    columns = [f'<use href="#{part}" x="{number * (COLUMN + GAP)}"/>' for number in range(1, occupancy.PARTITIONS)]
    numbers = [words(LEFT + number * (COLUMN + GAP) + 8, 62, str(number), fill="muted") for number in range(occupancy.PARTITIONS)]
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 452" role="img" aria-labelledby="sm-caption" data-search-exclude '
    return "\n".join(
        [
            head + f'font-family="var(--figure-font, monospace)" font-size="13" fill="{colour("ink")}">',
            box(8, 26, 704, 308, "none"),
            words(8, 18, f"SM {name}"),
            words(712, 18, f"{sm.warps} warps, {sm.blocks} blocks, {occupancy.REGISTERS_AN_SM:,} registers", anchor="end", fill="muted"),
            f'<g id="{part}">',
            *partition(sm, chip),
            "</g>",
            *columns,
            *numbers,
            *store(sm, chip),
            *memory(chip),
            "</svg>",
        ]
    )


def partition(sm: occupancy.Sm, chip: Chip) -> list[str]:
    """Draw the first of the four sub-partitions; the others are its copies."""
    slots = sm.warps // occupancy.PARTITIONS
    path = "".join(f"M{LEFT + 8 + 9.4 * slot:g} 88h7v9h-7z" for slot in range(slots))
    parts = [
        box(LEFT, 44, COLUMN, 206, "paper"),
        words(LEFT + 24, 62, "scheduler 1/clk"),
        words(LEFT + 8, 82, f"{slots} warps"),
        f'<path d="{path}" fill="{colour("c")}" stroke="{colour("line")}"/>',
        box(LEFT + 8, 104, COLUMN - 16, 22, "d"),
        words(LEFT + COLUMN / 2, 120, "16,384 x 32 bit", anchor="middle"),
    ]
    y = 132
    for name, count in (("FP32", chip.fp32), ("INT32", chip.int32), ("FP64", chip.fp64), ("SFU", SFU)):
        if count and count % occupancy.PARTITIONS == 0:
            each = count // occupancy.PARTITIONS
            parts += [words(LEFT + 8, y + 13, name), box(LEFT + 56, y + 2, 2.4 * each, 14, "a"), words(LEFT + 60 + 2.4 * each, y + 13, str(each))]
            y += 19
    number = f"{chip.tensor_cores // occupancy.PARTITIONS} " if chip.tensor_cores else ""
    tensor = f"{number}Tensor, gen {chip.tensor_generation}"
    return [*parts, words(LEFT + 8, y + 13, tensor), words(LEFT + 8, y + 32, "LD/ST")]


def store(sm: occupancy.Sm, chip: Chip) -> list[str]:
    """Draw the one memory that shared memory and L1 divide, with the settings that it can be set to, and what stands beside it."""
    shared, top = sm.settings_kib[-1], 262
    ticks = "".join(f"M{LEFT + KIB_WIDE * kib:g} {top + 26}v6" for kib in sm.settings_kib)
    parts = [
        box(LEFT, top, KIB_WIDE * shared, 26, "b"),
        box(LEFT + KIB_WIDE * shared, top, KIB_WIDE * (sm.unified_kib - shared), 26, "a"),
        words(LEFT + 8, top + 18, f"shared 0..{shared} KB" if not sm.settings_kib[0] else f"shared {sm.settings_kib[0]}..{shared} KB"),
        words(LEFT + KIB_WIDE * sm.unified_kib - 6, top + 18, "L1", anchor="end"),
        f'<path d="{ticks}" stroke="{colour("ink")}"/>',
    ]
    parts += [words(LEFT + KIB_WIDE * kib, top + 46, str(kib), anchor="middle", fill="muted") for kib in sm.settings_kib if kib not in {8, 16}]
    parts.append(words(LEFT + KIB_WIDE * sm.unified_kib, top + 46, str(sm.unified_kib), anchor="end", fill="muted"))
    below = ", ".join([*chip.beside, *([f"FP64 {chip.fp64}"] if chip.fp64 % occupancy.PARTITIONS else [])])
    return [*parts, words(LEFT, top + 65, below)] if below else parts


def memory(chip: Chip) -> list[str]:
    """Draw what all SMs share."""
    arrows = "".join(f"M360 {y}v22m-4 -5l4 5l4 -5" for y in (334, 390))
    return [
        f'<path d="{arrows}" fill="none" stroke="{colour("ink")}"/>',
        words(376, 350, f"{chip.gpu}: {chip.sms} SMs" if chip.sms else chip.gpu, fill="muted"),
        box(8, 358, 704, 30, "a"),
        words(360, 378, chip.l2, anchor="middle"),
        box(8, 414, 704, 30, "paper"),
        words(360, 434, chip.dram, anchor="middle"),
    ]


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Draw a rectangle."""
    inside = "none" if fill == "none" else colour(fill)
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{inside}" stroke="{colour("line")}"/>'


def words(x: float, y: float, text: str, *, anchor: str = "start", fill: str = "ink") -> str:
    """Draw a text."""
    side = "" if anchor == "start" else f' text-anchor="{anchor}"'
    shade = "" if fill == "ink" else f' fill="{colour(fill)}"'
    return f'<text x="{x:g}" y="{y:g}"{side}{shade}>{text}</text>'


def colour(name: str) -> str:
    """Give a colour of the site's theme, with what stands in for it elsewhere."""
    elsewhere = {"ink": "#222", "muted": "#666", "line": "#bbb", "paper": "#fff", "a": "#a9c8ec", "b": "#f2c48e", "c": "#b5dcb0", "d": "#d3c3ee"}
    return f"var(--figure-{name}, {elsewhere[name]})"


if __name__ == "__main__":
    main()
