"""Draw two sequences over one pool, sharing a prefix, with a copy on write; and what of a pool holds tokens under each way to give memory."""

from collections.abc import Iterator

import serving
from blocks import Pool

WIDTH, HEIGHT, LEFT, RIGHT = 720, 446, 92, 704
SLOT, TALL, GAP, SIZE = 17, 24, 14, 4
POOL_TOP, BARS_TOP = 150, 236
INK, MUTED, LINE = "var(--figure-ink, #222222)", "var(--figure-muted, #666666)", "var(--figure-line, #cccccc)"
PAPER, HOT = "var(--figure-paper, #ffffff)", "var(--figure-hot, #e08070)"
FILLS = {0: "var(--figure-a, #7aa6d8)", 1: "var(--figure-c, #e0b060)", 2: "var(--figure-b, #8fc48f)"}
SHARED = "var(--figure-d, #b79fd8)"


def main() -> None:
    """Print the figure."""
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="blocks-caption" data-search-exclude '
        'font-family="var(--figure-font, monospace)" font-size="13">'
    )
    print("\n".join([*pool_lines(), *bars()]))
    print("</svg>")


def story() -> tuple[Pool, tuple[int, int]]:
    """Start a sequence, start another, fork the first, and let the child grow: it copies the last block."""
    pool = Pool(8, SIZE)
    pool.start(0, list(range(10)))
    pool.start(2, list(range(100, 105)))
    pool.fork(0, 1)
    copy = pool.grow(1, 1010)
    pool.grow(0, 10)
    for token in (1011, 1012):
        pool.grow(1, token)
    assert copy is not None
    return pool, copy


def pool_lines() -> Iterator[str]:
    """Draw the sequences' logical blocks, the lines of their tables, and the physical blocks with their users."""
    pool, (source, target) = story()
    wide = SIZE * SLOT + GAP

    def across(number: int) -> int:
        return LEFT + number * (wide - 6)

    rows = {0: 24, 1: 76}
    for name, top in rows.items():  # the lines lie behind the boxes
        for number, block in enumerate(pool.tables[name]):
            x, to = across(number) + 60 * name + SIZE * SLOT / 2, across(block) + SIZE * SLOT / 2
            yield f'<path d="M{x} {top + TALL}L{to} {POOL_TOP}" stroke="{INK}" stroke-width="1.2" fill="none"/>'
    for name, top in rows.items():
        yield text(8, top + 17, f"sequence {name}")
        for number, block in enumerate(pool.tables[name]):
            held = min(SIZE, len(pool.tokens[name]) - number * SIZE)
            yield from cells(across(number) + 60 * name, top, held, SHARED if pool.users[block] > 1 else FILLS[name], number * SIZE)
    yield text(8, POOL_TOP + 17, "pool")
    for block, users in enumerate(pool.users):
        names = [name for name in pool.tables if block in pool.tables[name]]
        fill = SHARED if users > 1 else FILLS[names[0]] if names else PAPER
        held = min(SIZE, len(pool.tokens[names[0]]) - pool.tables[names[0]].index(block) * SIZE) if names else 0
        yield from cells(across(block), POOL_TOP, held, fill, None)
        yield text(across(block) + 2, POOL_TOP + TALL + 15, f"{block}: {users}", colour=MUTED)
    y, x, to = POOL_TOP + TALL + 20, across(source) + SIZE * SLOT / 2, across(target) + SIZE * SLOT / 2
    yield f'<path d="M{x} {y}C{x + 30} {y + 34} {to - 30} {y + 34} {to} {y + 5}" stroke="{HOT}" stroke-width="2.5" fill="none"/>'
    yield f'<path d="M{to + 2} {y}l-9 9l11 3z" fill="{HOT}"/>'
    yield text((x + to) / 2, y + 20, f"copy {source} to {target}", "middle", INK)


def cells(x: float, y: float, held: int, fill: str, first: int | None) -> Iterator[str]:
    """Draw a block: slots that hold a token are filled, and numbered where the first token's number is given."""
    yield f'<path d="M{x} {y}h{SIZE * SLOT}v{TALL}h-{SIZE * SLOT}z" fill="{PAPER}"/>'
    if held:
        yield f'<path d="M{x} {y}h{held * SLOT}v{TALL}h-{held * SLOT}z" fill="{fill}"/>'
    inner = "".join(f"M{x + SLOT * number} {y}v{TALL}" for number in range(1, SIZE))
    yield f'<path d="{inner}" stroke="{LINE}"/><path d="M{x} {y}h{SIZE * SLOT}v{TALL}h-{SIZE * SLOT}z" fill="none" stroke="{INK}"/>'
    for number in range(held if first is not None else 0):
        yield text(x + SLOT * number + SLOT / 2, y + 16, str((first or 0) + number), "middle")


def bars() -> Iterator[str]:
    """Draw what of the pool holds tokens, is taken without one, and is free, averaged while requests wait."""
    requests, slots = serving.draw(serving.REQUESTS, serving.SEED), serving.POOL_TOKENS
    ways: list[tuple[str, serving.Reserved | serving.Paged]] = [("reserve 8192", serving.Reserved(slots, "longest"))]
    ways.append(("power of 2", serving.Reserved(slots, "power of 2")))
    ways += [("exact", serving.Reserved(slots, "exact")), ("blocks of 256", serving.Paged(slots, 256)), ("blocks of 16", serving.Paged(slots, 16))]
    left, scale = 130, (RIGHT - 190) / 100
    for number, (name, memory) in enumerate(ways):
        served, y = serving.serve(requests, memory), BARS_TOP + 36 * number + 24
        held, taken, running = (serving.mean_while_crowded(values, served) for values in (served.contexts, served.taken, served.batches))
        held, taken = 100 * held / slots, 100 * taken / slots
        yield text(8, y + 17, name)
        parts = ((0.0, held, FILLS[0]), (held, taken - held, HOT), (taken, 100 - taken, PAPER))
        yield "".join(
            f'<path d="M{left + scale * begin:.1f} {y}h{scale * width:.1f}v{TALL}h-{scale * width:.1f}z" fill="{fill}"/>'
            for begin, width, fill in parts
        )
        yield f'<path d="M{left} {y}h{scale * 100:.1f}v{TALL}h-{scale * 100:.1f}z" fill="none" stroke="{INK}"/>'
        yield text(left + 6, y + 17, f"{held:.1f} %")
        yield text(RIGHT, y + 17, f"{running:.1f}", "end")
    yield text(left, BARS_TOP + 12, "0", colour=MUTED)
    yield text(left + 100 * scale, BARS_TOP + 12, "100 %", "end", MUTED)
    yield text(RIGHT, BARS_TOP + 12, "running", "end", MUTED)


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = INK) -> str:
    """Write one line of text."""
    size = 12 if colour == MUTED or words.isdigit() else 13
    return f'<text x="{x:.1f}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


if __name__ == "__main__":
    main()
