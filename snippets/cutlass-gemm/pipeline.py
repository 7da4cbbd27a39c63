"""How loading hides behind multiplying: stages, and two warpgroups that share a tile (cooperative) or take turns (ping-pong).

A step of 128 x 256 x 64 takes 1,024 clocks at a Hopper SM's peak of 2,048 multiply-adds a clock; the other times are free
to choose. The model has one loader, one unit that multiplies, and a full and an empty signal a stage.
"""

from dataclasses import dataclass

STAGES = 4  # 1..8: buffers in shared memory
LATENCY = 2500  # 100..5000 by 100: clocks from asking for a step's tiles to their arrival
INTERVAL = 800  # 100..2000 by 100: clocks from one load's start to the next's
EPILOGUE = 3000  # 0..8000 by 500: clocks to write a tile out
TILES = 4  # 2..8: tiles of one SM, of 8 steps each

STEP, STEPS = 1024, 8


@dataclass(frozen=True)
class Span:
    """What one part did, from when to when."""

    who: str
    begin: int
    end: int
    tile: int


def run(stages: int, *, ping_pong: bool) -> list[Span]:
    """Give the spans of all loads, steps and epilogues of one SM."""
    spans: list[Span] = []
    freed: list[int] = []  # when the stage of each step so far was empty again
    ready = [0, 0]  # when each warpgroup has written its last tile out
    unit, load = 0, -INTERVAL  # when the unit is free; when the last load began
    # --8<-- [start:model]
    for tile in range(TILES):
        group = tile % 2 if ping_pong else 0
        name = f" {group + 1}" if ping_pong else ""
        unit = max(unit, ready[group])
        for _ in range(STEPS):
            load = max(load + INTERVAL, freed[-stages] if len(freed) >= stages else 0)  # wait for empty
            begin = max(unit, load + LATENCY)  # wait for full
            unit = begin + STEP
            freed.append(unit)
            spans += [Span("load", load, load + LATENCY, tile), Span(f"multiply{name}", begin, unit, tile)]
        ready[group] = unit + EPILOGUE
        spans.append(Span(f"epilogue{name}", unit, ready[group], tile))
    # --8<-- [end:model]
    return spans


def busy(spans: list[Span]) -> float:
    """Give the share of the whole time in which the unit multiplies, in percent."""
    return 100 * sum(span.end - span.begin for span in spans if span.who.startswith("multiply")) / max(span.end for span in spans)


def main() -> None:
    """Print times for numbers of stages, and both schedules."""
    print(f"{TILES} tiles of {STEPS} steps, {STEP} clocks each")
    print("stages   cooperative           ping-pong")
    for stages in sorted({1, 2, 3, STAGES}):
        cells = []
        for ping_pong in (False, True):
            spans = run(stages, ping_pong=ping_pong)
            cells.append(f"{max(span.end for span in spans):7,} clocks {busy(spans):3.0f}%")
        print(f"{stages:6}   " + "    ".join(cells))


if __name__ == "__main__":
    main()
