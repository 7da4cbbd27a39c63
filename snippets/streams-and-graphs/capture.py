"""Predict what stream capture makes of a program: a graph, or the error that it ends with.

The rules are those of the CUDA Programming Guide, section 4.2.2.1.2, and of the error codes in driver_types.h (CUDA 13.0).
"""

from dataclasses import dataclass, field
from typing import NamedTuple

# --8<-- [start:model]
# Change this and run again. Streams s and t are blocking, n was made with cudaStreamNonBlocking; e and f are events.
# "other" in front of a call: a second host thread makes it.
PROGRAM = "begin s; op s; record s e; wait t e; op t; op s; record t f; wait s f; op s; end s"


@dataclass(eq=False)
class Capture:
    """One capture sequence: its graph so far, and for each stream in it the nodes that its next operation waits for."""

    origin: str
    mode: str  # "global", "thread-local" or "relaxed"
    last: dict[str, set[int]]
    nodes: int = 0
    edges: set[tuple[int, int]] = field(default_factory=set)
    valid: bool = True


class Call(NamedTuple):
    """One step: a verb, the stream (or the event, for "query"), the event or the mode, and whether another thread calls."""

    verb: str
    name: str = ""
    argument: str = ""
    other: bool = False


def verdict(call: Call, captures: list[Capture], events: dict[str, Capture | None]) -> tuple[int, list[Capture]]:  # noqa: C901, PLR0911 - a rule a line
    """Give the error that a call returns, and the captures that it invalidates."""
    mine = [capture for capture in captures if call.name in capture.last]
    source = events.get(call.argument)
    match call.verb:
        case "malloc":  # in no stream, so a capture cannot see it
            strict = [capture for capture in captures if capture.mode == "global" or (capture.mode == "thread-local" and not call.other)]
            return (900 if strict else 0), strict
        case "synchronize_device":
            return (900 if captures else 0), captures
        case "query" if events.get(call.name):
            return 907, [capture for capture in captures if capture is events[call.name]]
        case "begin":
            return (900 if call.name == "legacy" else 0), []
        case "memcpy" | "op" if call.name in ("", "legacy"):  # the legacy stream waits for all blocking streams
            blocking = [capture for capture in captures if set(capture.last) - {"n"}]
            return (906 if blocking else 0), blocking
        case _ if mine and not mine[0].valid:
            return 901, []
        case "synchronize" if mine:
            return 900, mine
        case "wait" if mine and call.argument in events and source is None:  # recorded outside of a capture
            return 905, mine
        case "wait" if mine and source and source is not mine[0]:
            return 902, [source, *mine]
        case "end" if not mine:
            return 401, []
        case "end" if mine[0].mode != "relaxed" and call.other:  # and the capture is over
            return 908, mine
        case "end":
            return (903 if call.name != mine[0].origin else 0 if joined(mine[0]) else 904), mine
    return 0, []


# --8<-- [end:model]
NAMES = {
    0: "cudaSuccess",
    401: "cudaErrorIllegalState",
    900: "cudaErrorStreamCaptureUnsupported",
    901: "cudaErrorStreamCaptureInvalidated",
    902: "cudaErrorStreamCaptureMerge",
    903: "cudaErrorStreamCaptureUnmatched",
    904: "cudaErrorStreamCaptureUnjoined",
    905: "cudaErrorStreamCaptureIsolation",
    906: "cudaErrorStreamCaptureImplicit",
    907: "cudaErrorCapturedEvent",
    908: "cudaErrorStreamCaptureWrongThread",
}
PROGRAMS = {
    "fork_and_join": "begin s; op s; record s e; wait t e; op t; op s; record t f; wait s f; op s; end s",
    "synchronize": "begin s; op s; synchronize s; end s",
    "synchronize_device": "begin s; op s; synchronize_device; end s",
    "query": "begin s; op s; record s e; query e; end s",
    "malloc": "begin s; op s; malloc; end s",
    "malloc_relaxed": "begin s relaxed; op s; malloc; end s",
    "malloc_elsewhere": "begin s; op s; other malloc; end s",
    "malloc_elsewhere_local": "begin s thread-local; op s; other malloc; end s",
    "memcpy": "begin s; op s; memcpy; end s",
    "legacy": "begin s; op s; op legacy; end s",
    "legacy_non_blocking": "begin n; op n; op legacy; end n",
    "begin_legacy": "begin legacy; begin s; op s; end s",
    "outside_event": "record t e; begin s; wait s e; end s",
    "merge": "begin s; begin t; record s e; wait t e; end t",
    "unjoined": "begin s; record s e; wait t e; op t; end s",
    "end_elsewhere": "begin s; record s e; wait t e; op t; end t; end s",
    "end_other_thread": "begin s; op s; other end s; end s",
}


def joined(capture: Capture) -> bool:
    """Tell whether the origin waits, directly or not, for all that the other streams did."""
    reached = set(capture.last[capture.origin])
    for before, after in sorted(capture.edges, reverse=True):  # an edge leads to a higher number
        reached |= {before} if after in reached else set()
    return all(nodes <= reached for nodes in capture.last.values())


def parse(program: str) -> list[Call]:
    """Read a program: calls with semicolons between them."""
    calls = []
    for step in program.split("; "):
        words = step.removeprefix("other ").split()
        verb, name, argument = [*words, "", ""][:3]
        calls.append(Call(verb, name, argument, step.startswith("other ")))
    return calls


def run(program: str) -> tuple[list[int], Capture | None]:
    """Give the error of each call, and the last capture that ended well, if one did."""
    captures: list[Capture] = []
    events: dict[str, Capture | None] = {}
    recorded: dict[str, set[int]] = {}
    errors: list[int] = []
    graph = None
    for call in parse(program):
        error, concerned = verdict(call, captures, events)
        errors.append(error)
        mine = next((capture for capture in captures if call.name in capture.last), None)
        for capture in concerned if error else []:
            capture.valid = False
        if call.verb == "end" and mine and call.name == mine.origin:
            captures.remove(mine)
            graph = None if error else mine
        elif not error:
            if call.verb == "begin":
                captures.append(Capture(call.name, call.argument or "global", {call.name: set()}))
            else:
                build(call, mine, events, recorded)
    return errors, graph


def build(call: Call, mine: Capture | None, events: dict[str, Capture | None], recorded: dict[str, set[int]]) -> None:
    """Add what a call without an error adds to its capture: a node with its edges, or a dependency."""
    if call.verb == "op" and mine:
        mine.edges |= {(before, mine.nodes) for before in mine.last[call.name]}
        mine.last[call.name] = {mine.nodes}
        mine.nodes += 1
    elif call.verb == "record":
        events[call.argument], recorded[call.argument] = mine, set(mine.last[call.name]) if mine else set()
    elif call.verb == "wait" and (source := events.get(call.argument)):  # the stream joins the event's capture
        source.last[call.name] = source.last.get(call.name, set()) | recorded[call.argument]


def outcome(program: str) -> tuple[int, int]:
    """Give the first error before a program's last call, which is an "end", and the error of that one."""
    errors, _ = run(program)
    return next(filter(None, errors[:-1]), 0), errors[-1]


def main() -> None:
    """Print the graph or the errors of PROGRAM, then the errors of every way to go wrong."""
    errors, graph = run(PROGRAM)
    for step, error in zip(PROGRAM.split("; "), errors, strict=True):
        if error:
            print(f"{step}: {error} {NAMES[error]}")
    if graph:
        print(f"{graph.nodes} nodes, {len(graph.edges)} edges: {', '.join(f'{a}->{b}' for a, b in sorted(graph.edges))}")
    print("call  end  program")
    for program in list(PROGRAMS.values())[1:]:
        call, end = outcome(program)
        print(f"{call:4} {end:4}  {program}")


if __name__ == "__main__":
    main()
