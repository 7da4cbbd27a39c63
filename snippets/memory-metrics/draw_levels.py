"""Draw the memory system as ncu's chart has it: the levels, what passes between them, and the metric to read at each."""

from html import escape

from patterns import LANES, LINE_BYTES, SECTOR_BYTES, WORD_BYTES, addresses, local_sectors, sectors, shared_wavefronts

BEST = sectors(addresses(LANES, WORD_BYTES), WORD_BYTES)
WORST = sectors(addresses(LANES, LINE_BYTES), WORD_BYTES)
# level, metrics with the best and the worst that one access of 4 bytes a lane can do
LEVELS = (
    ("SM", ("sm__warps_active", "smsp__average_warps_issue_stalled_*")),
    (
        "shared",
        (
            f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld: {shared_wavefronts(1)}..{shared_wavefronts(LANES)}",
            f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld: {shared_wavefronts(1) - 1}..{shared_wavefronts(LANES) - 1}",
        ),
    ),
    (
        "L1",
        (
            f"..._t_sectors_per_request_pipe_lsu_mem_global_op_ld: {BEST}..{WORST}",
            f"..._data_bytes_per_sector_mem_global_op_ld: {100 * 4 / SECTOR_BYTES:g}..100 %",
            f"l1tex__t_sectors_pipe_lsu_mem_local_op_ld: 0, {local_sectors()}..{WORST}",
            "l1tex__t_sector_hit_rate",
        ),
    ),
    ("L2", ("lts__t_sectors_srcunit_tex_op_read", "lts__t_sector_hit_rate", "lts__throughput")),
    ("DRAM", ("dram__bytes_read, dram__bytes_write", "dram__throughput")),
)
LINKS = {"shared": "instruction -> wavefront", "L1": "instruction -> request", "L2": f"sector = {SECTOR_BYTES} B", "DRAM": "sector"}
WIDTH, BOX, LINE, GAP = 720, 84, 20, 30


def main() -> None:
    """Print the figure."""
    height = sum(heights()) + GAP * (len(LEVELS) - 1) + 16
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="levels-caption" '
        'font-family="var(--figure-font, monospace)" data-search-exclude>'
    )
    tops = [8 + sum(heights()[:row]) + GAP * row for row in range(len(LEVELS))]
    bottoms = [top + tall for top, tall in zip(tops, heights(), strict=True)]
    for row, (level, metrics) in enumerate(LEVELS):
        # Shared memory and the L1 both hang on the SM: the line to the L1 passes by shared memory.
        above = bottoms[0 if level == "L1" else row - 1]
        x = {"shared": 62, "L1": 18}.get(level, 50)
        if level in LINKS:
            print(f'<path d="M{x} {above}V{tops[row]}" stroke="var(--figure-ink, #222222)" stroke-width="2"/>')
            print(text(max(x, 50) + 10, tops[row] - GAP / 2 + 4, LINKS[level], size=12, colour="muted"))
        left = 32 if level == "shared" else 8
        fill = {"SM": "paper, #ffffff", "DRAM": "c, #8fc79a"}.get(level, "a, #7aa6d8")
        print(
            f'<rect x="{left}" y="{tops[row]}" width="{8 + BOX - left}" height="{heights()[row]}" rx="4" fill="var(--figure-{fill})" '
            'stroke="var(--figure-line, #888888)"/>'
        )
        print(text((left + 8 + BOX) / 2, (tops[row] + bottoms[row]) / 2 + 5, level, anchor="middle", weight="bold"))
        for line, metric in enumerate(metrics):
            print(text(BOX + 26, tops[row] + LINE * line + 18, metric, size=13))
    print("</svg>")


def heights() -> list[int]:
    """Give each box's height."""
    return [LINE * len(metrics) + 8 for _, metrics in LEVELS]


def text(x: float, y: float, words: str, *, size: int = 14, anchor: str = "start", weight: str = "normal", colour: str = "ink") -> str:  # noqa: PLR0913
    """Write one line."""
    fill = {"ink": "var(--figure-ink, #222222)", "muted": "var(--figure-muted, #666666)"}[colour]
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" fill="{fill}">{escape(words)}</text>'


if __name__ == "__main__":
    main()
