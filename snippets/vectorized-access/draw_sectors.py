"""Draw which bytes of which sectors one warp asks for: four patterns on the same 512 bytes."""

from html import escape

from sectors import LANES, LINE_BYTES, SECTOR_BYTES, lane_addresses, sectors, touched, useful_percent

SPAN_BYTES = 512  # what one warp of float4 reads
LEFT, TOP, SECTOR_WIDTH, BOX, ROW = 8, 12, 44, 34, 112
PATTERNS = (
    # name, bytes of an access, bytes from lane to lane, offset in bytes
    ("float a[i]", 4, 4, 0),
    ("float4 a[i]", 16, 16, 0),
    ("float a[2*i]", 4, 8, 0),
    ("float a[i+1]", 4, 4, 4),
)


def main() -> None:
    """Print the figure."""
    width = 2 * LEFT + SPAN_BYTES // SECTOR_BYTES * SECTOR_WIDTH
    height = TOP + ROW * len(PATTERNS)
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="sectors-caption" '
        'font-family="var(--figure-font, monospace)" data-search-exclude>'
    )
    for number, pattern in enumerate(PATTERNS):
        print("\n".join(row(TOP + ROW * number, *pattern)))
    print("</svg>")


def row(top: int, name: str, access_bytes: int, stride_bytes: int, offset_bytes: int) -> list[str]:
    """Draw one pattern: its name and counts, the lanes over each sector, the sectors with their useful bytes, the lines."""
    addresses = lane_addresses(stride_bytes, offset_bytes)
    count, lines = sectors(addresses, access_bytes), len(touched(addresses, access_bytes, LINE_BYTES))
    counts = f"sectors={count} lines={lines} useful={useful_percent(addresses, access_bytes):.0f}%"
    parts = [
        text(LEFT, top + 14, name),
        text(LEFT + 16 * SECTOR_WIDTH, top + 14, counts, "end"),
    ]
    hit = touched(addresses, access_bytes, SECTOR_BYTES)
    for sector in range(SPAN_BYTES // SECTOR_BYTES):
        x, y = LEFT + sector * SECTOR_WIDTH, top + 44
        if sector not in hit:
            parts += [box(x, y, SECTOR_WIDTH, "var(--figure-paper, #ffffff)"), frame(x, y)]
            continue
        parts.append(box(x, y, SECTOR_WIDTH, "var(--figure-hot, #e08a7a)"))
        parts += [*useful(x, y, sector, addresses, access_bytes), frame(x, y)]
        here = [lane for lane in range(LANES) if touched([addresses[lane]], access_bytes, SECTOR_BYTES)[0] == sector]
        label = f"{here[0]}-{here[-1]}" if len(here) > 1 else f"{here[0]}"
        parts.append(note(x + SECTOR_WIDTH / 2, top + 38, label))
    for line in range(SPAN_BYTES // LINE_BYTES + 1):
        x = LEFT + line * LINE_BYTES // SECTOR_BYTES * SECTOR_WIDTH
        parts.append(f'<path d="M{x} {top + 40}v{BOX + 8}" stroke="var(--figure-ink, #222222)" stroke-width="2"/>')
        anchor = "start" if line == 0 else "end" if line == SPAN_BYTES // LINE_BYTES else "middle"
        parts.append(note(x, top + 96, f"{line * LINE_BYTES} B" if line else "0", anchor))
    return parts


def useful(x: float, y: float, sector: int, addresses: list[int], access_bytes: int) -> list[str]:
    """Fill the accessed bytes of one sector, runs of neighbours as one box."""
    asked = [byte - sector * SECTOR_BYTES for byte in touched(addresses, access_bytes, 1) if byte // SECTOR_BYTES == sector]
    starts = [byte for byte in asked if byte - 1 not in asked]
    ends = [byte + 1 for byte in asked if byte + 1 not in asked]
    scale = SECTOR_WIDTH / SECTOR_BYTES
    return [box(x + start * scale, y, (end - start) * scale, "var(--figure-a, #7aa6d8)") for start, end in zip(starts, ends, strict=True)]


def box(x: float, y: float, width: float, colour: str) -> str:
    """Fill one box."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{BOX}" fill="{colour}"/>'


def frame(x: float, y: float) -> str:
    """Draw the border of one sector."""
    return f'<path d="M{x:g} {y:g}h{SECTOR_WIDTH}v{BOX}h-{SECTOR_WIDTH}z" fill="none" stroke="var(--figure-line, #888888)" stroke-width="1"/>'


def text(x: float, y: float, words: str, anchor: str = "start") -> str:
    """Write one line of text."""
    return f'<text x="{x:g}" y="{y:g}" font-size="14" text-anchor="{anchor}" fill="var(--figure-ink, #222222)">{escape(words)}</text>'


def note(x: float, y: float, words: str, anchor: str = "middle") -> str:
    """Write small text of less weight."""
    return f'<text x="{x:g}" y="{y:g}" font-size="12" text-anchor="{anchor}" fill="var(--figure-muted, #666666)">{escape(words)}</text>'


if __name__ == "__main__":
    main()
