"""Play the warp schedulers of one SM: how many warps it takes to hide a latency, and what they compete for.

Standard Python, no GPU. Each scheduler issues at most one instruction a cycle, for one of its own warps. Two banks of
registers, even and odd, with one read port each: Huerta et al., MICRO 2025, section 5.3.
"""

# --8<-- [start:model]
WARPS = 8  # resident on the SM
CHAINS = 1  # independent chains of instructions in each warp
LATENCY = 4  # cycles until the result of an FP32 instruction can be used
READS = [8]  # the registers that an instruction reads; [4, 8, 5] is FFMA R8, R4, R8, R5

SCHEDULERS = 4


def scheduler_of(warp: int) -> int:
    """Give the scheduler of a block's warp: it stays there from launch to end."""
    return warp % SCHEDULERS


def share(warps: list[int]) -> list[int]:
    """Count the warps that each scheduler has."""
    return [sum(scheduler_of(warp) == scheduler for warp in warps) for scheduler in range(SCHEDULERS)]


def port_cycles(registers: list[int]) -> int:
    """Give the cycles that reading an instruction's registers takes: each of two banks gives one register a cycle."""
    return max(1, *(len({register for register in registers if register % 2 == bank}) for bank in (0, 1)))


def cycles_a_step(warps: list[int], chains: int, port: float = 1, latency: int = LATENCY) -> float:
    """Give the cycles until each chain of each warp has issued once more: wait for the result, or for the scheduler."""
    return max(latency, max(share(warps)) * chains * port)


def instructions_a_cycle(warps: list[int], chains: int, port: float = 1, latency: int = LATENCY) -> float:
    """Give the instructions that the SM issues in a cycle; four at most."""
    return len(warps) * chains / cycles_a_step(warps, chains, port, latency)


def timeline(warps: int, chains: int, cycles: int, port: int = 1, latency: int = LATENCY) -> list[str]:
    """Play one scheduler: a row a warp, a letter a cycle. I issues, e is eligible but does not issue, s is stalled.

    Which of several eligible warps goes first is not documented; here it is the one that has waited longest.
    """
    ready = [[0] * chains for _ in range(warps)]  # when each chain can issue next
    states, free = [""] * warps, 0
    for cycle in range(cycles):
        eligible = [warp for warp in range(warps) if min(ready[warp]) <= cycle]
        chosen = min(eligible, key=lambda warp: min(ready[warp]), default=None) if cycle >= free else None
        for warp in range(warps):
            states[warp] += "I" if warp == chosen else "e" if warp in eligible else "s"
        if chosen is not None:
            ready[chosen][ready[chosen].index(min(ready[chosen]))] = cycle + latency
            free = cycle + port
    return states


# --8<-- [end:model]


def main() -> None:
    """Print the timeline of one scheduler, then what other numbers of warps and chains reach."""
    here, port = share(list(range(WARPS)))[0], port_cycles(READS)
    print(f"{WARPS} warps on the SM, {here} on scheduler 0, {CHAINS} chain(s) each; latency {LATENCY}, read in {port}")
    for warp, states in enumerate(timeline(here, CHAINS, 24, port)):
        print(f"  warp {SCHEDULERS * warp:>2}  {states}")
    print(f"  {instructions_a_cycle(list(range(WARPS)), CHAINS, port):.2f} instructions a cycle\n")
    counts = (1, 2, 4, 8, 12, 16, 20, 32)
    print("warps on the SM" + "".join(f"{warps:>7}" for warps in counts))
    for chains, registers in ((1, [8]), (2, [8]), (4, [8]), (1, [4, 8, 5])):
        rates = (instructions_a_cycle(list(range(warps)), chains, port_cycles(registers)) for warps in counts)
        print(f"{chains} chain, {len(registers)} read" + "".join(f"{rate:>7.2f}" for rate in rates))


if __name__ == "__main__":
    main()
