"""Show why a program counter per thread buys progress: lanes of one warp that wait for each other in a loop.

Lane l loops until the lane before it has passed the turn, then leaves the loop and passes the turn on.
With one counter for the warp, lanes that left the loop stand behind it, masked, until no lane loops (that is
the deadlock of which the CUDA Programming Guide, 3.2.2.1.1, warns). With a counter per thread they may go on.
"""

# --8<-- [start:model]
LANES = 32
PATIENCE = 1000  # rounds through the loop after which a lane gives up


def relay(lanes: int, patience: int, *, own_counters: bool) -> tuple[int, int]:
    """Give how many lanes finish, and all lanes' failed polls.

    A round is one poll of each lane that is in the loop.
    """
    turn, failed = 0, 0
    looping, left = list(range(lanes)), list[int]()
    for _ in range(patience):
        left += [lane for lane in looping if lane == turn]
        looping = [lane for lane in looping if lane != turn]
        failed += len(looping)
        if own_counters or not looping:  # may the lanes behind the loop go on?
            for lane in left:
                turn = lane + 1
            left.clear()
        if not looping:
            break
    return lanes - len(looping) - len(left), failed


# --8<-- [end:model]
def main() -> None:
    """Compare the two kinds of warp."""
    print(f"{'program counter':18}{'lanes finished':>15}{'failed polls':>15}")
    for name, own_counters in (("one per warp", False), ("one per thread", True)):
        finished, failed = relay(LANES, PATIENCE, own_counters=own_counters)
        print(f"{name:18}{finished:>12}/{LANES}{failed:>15,}{'' if finished == LANES else '  gave up: it would hang'}")


if __name__ == "__main__":
    main()
