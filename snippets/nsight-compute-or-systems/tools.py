"""Predict what a timeline and a kernel profiler say about one program, and how long the program takes under each.

Times are microseconds unless the name says otherwise. One copy engine serves each direction, kernels of different streams run
side by side, and contention for memory is left out. What ncu does is in the Nsight Compute Profiling Guide, 2.2.3 and 2.6.
"""

# --8<-- [start:model]
from typing import NamedTuple

# Change these and run again.
STAGES = {"copy_in": 78.0, "scale": 8.0, "row_filter": 2000.0, "total": 24.0, "copy_out": 77.0}  # microseconds, each alone
STREAMS = 2
LAUNCH_US, ROUND_TRIP_US = 6.0, 14.0  # the host submits a call; it submits one and waits for it
PASSES, SINGLE_MS, SAVE_MS, PASS_MS, RESTORE_GB_S = 10, 5.5, 72.0, 29.0, 340.0  # ncu: passes of a kernel, and what they cost
WRITTEN_BYTES = 2**22  # what a kernel overwrites
CLOCK_MHZ, LOCKED_MHZ = 1980.0, 1500.0  # the clock as it runs; a clock that a profiler might lock (any value)

COPY_ENGINES = {"copy_in": "H2D", "copy_out": "D2H"}


class Call(NamedTuple):
    """One asynchronous call: what it is, in which stream, for how long."""

    name: str
    stream: int
    us: float


class Costs(NamedTuple):
    """What ncu adds to one launch: a single pass; or saving memory first, each pass, and the speed of restoring it."""

    single_ms: float
    save_ms: float
    pass_ms: float
    restore_gb_s: float


def pipeline(stages: dict[str, float], streams: int) -> list[Call]:
    """Give the program: every stream runs every stage on its own piece of the data, submitted stream by stream."""
    return [Call(name, stream, us) for stream in range(1, streams + 1) for name, us in stages.items()]


def timeline(calls: list[Call], launch_us: float) -> list[tuple[float, float]]:
    """Give start and end of each call: after its stream's earlier calls, when it is submitted and its copy engine is free."""
    busy: dict[object, float] = {}
    slots = []
    for number, call in enumerate(calls):
        waits_for: list[object] = [call.stream]
        if call.name in COPY_ENGINES:
            waits_for.append(COPY_ENGINES[call.name])
        start = max(number * launch_us, *(busy.get(one, 0.0) for one in waits_for))
        busy |= dict.fromkeys(waits_for, start + call.us)
        slots.append((start, start + call.us))
    return slots


def overlapped_us(calls: list[Call], launch_us: float) -> float:
    """Give the makespan of the program as it runs: what a timeline shows."""
    return max(end for _, end in timeline(calls, launch_us))


def one_at_a_time_us(calls: list[Call], round_trip_us: float) -> float:
    """Give the makespan when the host waits for each call before it makes the next."""
    return sum(call.us + round_trip_us for call in calls)


def listed_us(calls: list[Call]) -> float:
    """Give the sum of the durations that ncu lists: kernels alone, one after the other; it does not see copies."""
    return sum(call.us for call in calls if call.name not in COPY_ENGINES)


def duration_us(warm_us: float, cold_us: float, *, cache_control: str, passes: int) -> tuple[float, float]:
    """Give the least and the largest duration that ncu may report, from the kernel's own times with warm and with cold caches.

    With --cache-control all the caches are emptied before each pass. With none, a single pass finds what the program left in
    them; of several passes the first comes after memory was saved, the later ones after the kernel itself.
    """
    if cache_control == "all":
        return cold_us, cold_us
    return warm_us, (warm_us if passes == 1 else cold_us)


def at_clock_us(us: float, mhz: float, other_mhz: float) -> float:
    """Give a kernel's duration at another SM clock, if that clock alone sets its speed: the cycles stay the same."""
    return us * mhz / other_mhz


def replay_ms(passes: int, kernel_us: float, written_bytes: int, costs: Costs) -> float:
    """Give how long one launch takes under ncu, if all its passes read hardware counters."""
    if passes == 1:  # nothing is saved or restored
        return costs.single_ms + kernel_us / 1e3
    restore_ms = written_bytes / costs.restore_gb_s / 1e6  # before each pass but the first
    return costs.save_ms + passes * (costs.pass_ms + kernel_us / 1e3) + (passes - 1) * restore_ms


# --8<-- [end:model]


def sectors_per_request(stride_bytes: int) -> int:
    """Give the 32-byte sectors that one 4-byte load of a warp touches when neighbouring lanes are so many bytes apart."""
    return len({lane * stride_bytes // 32 for lane in range(32)})


def main() -> None:
    """Print the program under both tools."""
    calls = pipeline(STAGES, STREAMS)
    slots = timeline(calls, LAUNCH_US)
    last = max(end for _, end in slots)
    print("timeline of the program as it runs, in us:")
    for stream in range(1, STREAMS + 1):
        line = [" "] * 60
        for call, (start, end) in zip(calls, slots, strict=True):
            if call.stream == stream:
                first, behind = round(start / last * 60), round(end / last * 60)
                letter = {"copy_in": "H", "copy_out": "D"}.get(call.name, call.name[0])
                line[first : max(behind, first + 1)] = letter * max(behind - first, 1)
        print(f"  stream {stream}  {''.join(line[:60]).rstrip()}")
    print(f"  makespan {last:.0f}; the host waits after each call: {one_at_a_time_us(calls, ROUND_TRIP_US):.0f}")
    print(f"kernels as ncu lists them: {listed_us(calls):.0f} us in all, copies not seen")
    for name, us in STAGES.items():
        if name not in COPY_ENGINES:
            wall = replay_ms(PASSES, us, WRITTEN_BYTES, Costs(SINGLE_MS, SAVE_MS, PASS_MS, RESTORE_GB_S))
            locked = at_clock_us(us, CLOCK_MHZ, LOCKED_MHZ)
            print(f"  {name:10} {us:5.0f} us, at {LOCKED_MHZ:.0f} MHz up to {locked:5.0f} us; {PASSES} passes take {wall:.0f} ms")


if __name__ == "__main__":
    main()
