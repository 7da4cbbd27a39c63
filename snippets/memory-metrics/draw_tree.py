"""Draw the decision tree of detective.py: what is asked in which order, the section to read next, the instructions to look for."""

from html import escape

from detective import SECTIONS, Reading, diagnose

# condition as the code has it, leaves, and a reading that ends there
FINE = Reading(compute=20, memory=80, dram=80, l1_hit=0, occupancy=90, local=0, shared=0, sectors=1, wavefronts=1)
QUESTIONS: tuple[tuple[tuple[str, ...], tuple[tuple[str, Reading], ...]], ...] = (
    (("compute >= 60", "compute > memory + 10"), (("compute", FINE._replace(compute=95, memory=20, dram=5)),)),
    (("local >= 10",), (("local", FINE._replace(local=40)),)),
    (("shared >= 50", "wavefronts > 1.5"), (("bank-conflicts", FINE._replace(shared=99, wavefronts=32)),)),
    (("shared < 50", "sectors > 1.5"), (("uncoalesced", FINE._replace(sectors=8)),)),
    (
        ("memory >= 60",),
        (
            ("shared", FINE._replace(shared=99)),
            ("dram", FINE),
            ("l2", FINE._replace(dram=10)),
            ("l1", FINE._replace(dram=10, l1_hit=99)),
        ),
    ),
    (("occupancy < 30",), (("occupancy", FINE._replace(memory=10, dram=5, occupancy=2)),)),
    ((), (("latency", FINE._replace(memory=10, dram=5)),)),
)
UNITS = {"shared": "shared >= 50", "dram": "dram >= 60", "l2": "l1_hit < 50", "l1": "l1_hit >= 50"}
# section of ncu's report, then where the line of code stands
READ = {
    "compute": ("ComputeWorkloadAnalysis", ""),
    "local": ("MemoryWorkloadAnalysis_Tables", "SourceCounters: LDL, STL"),
    "bank-conflicts": ("MemoryWorkloadAnalysis_Tables", "SourceCounters: LDS"),
    "uncoalesced": ("MemoryWorkloadAnalysis_Tables", "SourceCounters: LDG"),
    "shared": ("MemoryWorkloadAnalysis_Chart", ""),
    "dram": ("MemoryWorkloadAnalysis_Chart", ""),
    "l2": ("MemoryWorkloadAnalysis_Chart", ""),
    "l1": ("MemoryWorkloadAnalysis_Chart", ""),
    "occupancy": ("LaunchStats, Occupancy", ""),
    "latency": ("WarpStateStats", "SourceCounters"),
}
WIDTH, LEAF, LEAF_WIDTH, ASK, GAP = 720, 40, 360, 200, 14


def main() -> None:
    """Print the figure."""
    heights = [len(leaves) * (LEAF + 6) - 6 for _, leaves in QUESTIONS]
    height = sum(heights) + GAP * len(heights) + 34
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="tree-caption" '
        'font-family="var(--figure-font, monospace)" data-search-exclude>'
    )
    print(text(8, 18, "SpeedOfLight", weight="bold"))
    y = 30
    for number, (conditions, leaves) in enumerate(QUESTIONS):
        print("\n".join(question(y, heights[number], conditions, leaves, last=number == len(QUESTIONS) - 1)))
        y += heights[number] + GAP
    print("</svg>")


def question(y: int, height: int, conditions: tuple[str, ...], leaves: tuple[tuple[str, Reading], ...], *, last: bool) -> list[str]:
    """Draw one question with the leaves to its right and the way to the next one."""
    parts: list[str] = []
    if conditions:
        parts.append(box(8, y, ASK, height, "var(--figure-paper, #ffffff)"))
        middle = y + height / 2 + 5 - 8 * (len(conditions) - 1)
        parts += [text(16, middle + 16 * line, condition, size=13) for line, condition in enumerate(conditions)]
        parts.append(line_of(f"M{8 + ASK / 2:g} {y + height}v{GAP}"))
    for row, (leaf, reading) in enumerate(leaves):
        assert diagnose(reading) == leaf, (leaf, reading)
        top = y + row * (LEAF + 6)
        start, first = (8 + ASK, top + LEAF / 2) if conditions else (8 + ASK / 2, top + LEAF / 2)
        left = WIDTH - 8 - LEAF_WIDTH
        if len(leaves) > 1:
            parts.append(text(left - 10, top + LEAF / 2 - 5, UNITS[leaf], size=12, anchor="end", colour="muted"))
        parts.append(line_of(f"M{start:g} {first:g}H{left}"))
        if not conditions:
            parts.append(f'<path d="M{8 + ASK / 2:g} {y}V{first:g}" fill="none" stroke="var(--figure-ink, #222222)"/>')
        parts += [box(left, top, LEAF_WIDTH, LEAF, f"var(--figure-{colour(leaf)})"), *words(left, top, leaf)]
    assert last == (not conditions), conditions
    return parts


def words(left: int, top: int, leaf: str) -> list[str]:
    """Write a leaf's name, and the sections and instructions that follow."""
    section, line = READ[leaf]
    assert all(name in SECTIONS[leaf] for name in (section, *line.split(" > ")[-1:])), leaf
    return [
        text(left + 8, top + 16, leaf, size=13, weight="bold"),
        text(left + LEAF_WIDTH - 8, top + 16, line, size=12, anchor="end"),
        text(left + 8, top + 33, section, size=12),
    ]


def colour(leaf: str) -> str:
    """Give the colour of a leaf: what is wasted is hot."""
    if leaf in {"local", "bank-conflicts", "uncoalesced"}:
        return "hot, #e08a7a"
    return {"compute": "b, #e0b070", "occupancy": "d, #b8a0d8", "latency": "d, #b8a0d8"}.get(leaf, "a, #7aa6d8")


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Draw a box."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" fill="{fill}" stroke="var(--figure-line, #888888)"/>'


def line_of(path: str) -> str:
    """Draw a line."""
    return f'<path d="{path}" fill="none" stroke="var(--figure-ink, #222222)"/>'


def text(x: float, y: float, words: str, *, size: int = 14, anchor: str = "start", weight: str = "normal", colour: str = "ink") -> str:  # noqa: PLR0913
    """Write one line."""
    fill = {"ink": "var(--figure-ink, #222222)", "muted": "var(--figure-muted, #666666)"}[colour]
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" fill="{fill}">{escape(words)}</text>'


if __name__ == "__main__":
    main()
