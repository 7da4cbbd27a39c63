"""Serve requests from one pool of K and V: how many run at once under each way to give memory, how long it takes, what is wasted."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import blocks
import lengths

REQUESTS = 160  # 16..160: requests, all there at the start
POOL_TOKENS = 98304  # 65536 | 98304 | 131072: slots of the pool; 98304 are 12 GiB
BLOCK_SIZE = 16  # 16 | 32 | 64 | 256 | 1024: tokens in a block
SEED = 3  # 1..9: which requests are drawn

TOKEN_BYTES = 2 * 32 * 8 * 128 * 2  # K and V, 32 layers, 8 heads of 128, FP16: 128 KiB
SHARED_TOKENS = 1024  # of an instruction that begins every prompt, in the last two lines


class Machine(NamedTuple):
    """What a step costs: the matrix products of a batch padded to so many rows, in ms, and reading K and V."""

    products_ms: tuple[tuple[int, float], ...]
    read_gb_s: float

    def step_ms(self, batch: int, tokens: int) -> float:
        """Give the time of one decode step over a batch with so many tokens of context in all."""
        fixed = next(ms for rows, ms in self.products_ms if rows >= batch)
        return fixed + tokens * TOKEN_BYTES / self.read_gb_s / 1e6


class Request(NamedTuple):
    """A prompt and the number of tokens to generate."""

    prompt: list[int]
    answer: int


class Reserved:
    """Contiguous memory: each request gets so many slots in one piece when it starts, at the first place that has them."""

    def __init__(self, slots: int, wanted: str) -> None:
        """Start empty; wanted is "longest", "power of 2" or "exact"."""
        self.slots, self.wanted, self.pieces = slots, wanted, dict[int, tuple[int, int]]()

    def start(self, name: int, request: Request, done: int) -> int | None:
        """Reserve, and give the number of tokens to compute; None when no gap is wide enough."""
        whole = len(request.prompt) + request.answer
        size = {"longest": lengths.LONGEST, "power of 2": 1 << (whole - 1).bit_length(), "exact": whole}[self.wanted]
        place = 0
        for begin, end in sorted(self.pieces.values()):
            if begin - place >= size:
                break
            place = end
        if place + size > self.slots:
            return None
        self.pieces[name] = place, place + size
        return len(request.prompt) + done

    def grow(self, _name: int) -> bool:
        """Take one more slot, which is there."""
        return True

    def end(self, name: int) -> None:
        """Give the piece back."""
        del self.pieces[name]

    def taken(self) -> int:
        """Count the slots that are not free."""
        return sum(end - begin for begin, end in self.pieces.values())


# --8<-- [start:model]
class Paged:
    """Blocks on demand."""

    def __init__(self, slots: int, size: int, spare_percent: int = 1) -> None:
        """Start with an empty pool."""
        self.pool = blocks.Pool(slots // size, size)
        self.spare = slots // size * spare_percent // 100  # stay free at a start, so that the sequences that run can grow

    def start(self, name: int, request: Request, done: int) -> int | None:
        """Give the prompt, and what was generated before a preemption, its blocks, and the number of tokens to compute; None when they do not fit."""
        tokens = request.prompt + [-name * 10000 - token for token in range(done)]
        try:
            return len(tokens) - self.pool.start(name, tokens, self.spare)
        except blocks.FullError:
            return None

    def grow(self, name: int) -> bool:
        """Make room for one more token; False when no block is free."""
        tokens = self.pool.tokens[name]
        try:
            self.pool.grow(name, -name * 10000 - len(tokens))
        except blocks.FullError:
            return False
        return True

    def end(self, name: int) -> None:
        """Give the blocks back."""
        self.pool.end(name)

    def taken(self) -> int:
        """Count the slots of all blocks that are in use."""
        return (len(self.pool.users) - len(self.pool.free)) * self.pool.size


@dataclass
class Served:
    """What happened: for each step its batch, the tokens of context, the slots taken, whether requests waited; and the preemptions."""

    batches: list[int] = field(default_factory=list)
    contexts: list[int] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    crowded: list[bool] = field(default_factory=list)
    preempted: int = 0
    computed: int = 0  # tokens of prompts, and of answers after a preemption


def steps(requests: list[Request], memory: Reserved | Paged, most: int, served: Served) -> Iterator[list[int]]:
    """Run all requests in their order, at most so many at once; give the names of those that run in each step."""
    waiting, running, done = deque(range(len(requests))), list[int](), [0] * len(requests)
    while waiting or running:
        while waiting and len(running) < most:
            computed = memory.start(waiting[0], requests[waiting[0]], done[waiting[0]])
            if computed is None:
                break
            running.append(waiting.popleft())
            served.computed += computed
        for name in list(running):
            while name in running and not memory.grow(name):
                latest = running.pop()  # preemption: all of the latest one's blocks, to be computed again
                memory.end(latest)
                waiting.appendleft(latest)
                served.preempted += 1
        for name in running:
            done[name] += 1
        served.batches.append(len(running))
        served.contexts.append(sum(len(requests[name].prompt) + done[name] for name in running))
        served.taken.append(memory.taken())
        served.crowded.append(bool(waiting))
        yield running
        for name in [name for name in running if done[name] == requests[name].answer]:
            running.remove(name)
            memory.end(name)


# --8<-- [end:model]
# What an H200 takes, measured by bench_serving.py, rounded
MEASURED = Machine(((16, 4.3), (32, 4.4), (48, 4.5), (64, 4.5), (80, 4.8), (96, 4.8), (112, 5.0), (128, 6.0)), 4200.0)


def draw(number: int, seed: int, shared: int = 0) -> list[Request]:
    """Draw requests from the trace's histogram; the first so many tokens of every prompt are the same, before its own."""
    common = list(range(1, shared + 1))
    requests = []
    for name, (prompt, answer) in enumerate(lengths.sample(number, seed)):
        own = min(prompt, lengths.LONGEST - shared - answer)
        requests.append(Request(common + [(name + 1) * 100000 + token for token in range(own)], answer))
    return requests


def serve(requests: list[Request], memory: Reserved | Paged, most: int = 128) -> Served:
    """Run all requests and give what happened."""
    served = Served()
    for _running in steps(requests, memory, most, served):
        pass
    return served


def seconds(served: Served, machine: Machine) -> float:
    """Give the time of all steps, in seconds."""
    return sum(machine.step_ms(batch, tokens) for batch, tokens in zip(served.batches, served.contexts, strict=True)) / 1e3


def mean_while_crowded(values: list[int], served: Served) -> float:
    """Average over the steps in which requests waited for memory; over all steps when none did."""
    chosen = [value for value, crowded in zip(values, served.crowded, strict=True) if crowded] or values
    return sum(chosen) / len(chosen)


def main() -> None:
    """Print the same requests under several ways to give memory."""
    plain, shared = draw(REQUESTS, SEED), draw(REQUESTS, SEED, SHARED_TOKENS)
    ways: list[tuple[str, list[Request], Reserved | Paged]] = [
        (f"reserve {wanted}", plain, Reserved(POOL_TOKENS, wanted)) for wanted in ("longest", "power of 2", "exact")
    ]
    ways += [(f"blocks of {size}", plain, Paged(POOL_TOKENS, size)) for size in sorted({256, BLOCK_SIZE}, reverse=True)]
    private = [Request([-(token + name * 10**6) for token in request.prompt], request.answer) for name, request in enumerate(shared)]
    ways += [("+1024, private", private, Paged(POOL_TOKENS, BLOCK_SIZE)), ("+1024, shared", shared, Paged(POOL_TOKENS, BLOCK_SIZE))]
    print("while requests wait:  running  taken %  tokens %   steps  preempted      s  tokens/s")
    for name, requests, memory in ways:
        served = serve(requests, memory)
        time = seconds(served, MEASURED)
        running, taken, held = (mean_while_crowded(values, served) for values in (served.batches, served.taken, served.contexts))
        print(
            f"{name:21} {running:8.1f} {100 * taken / POOL_TOKENS:8.1f} {100 * held / POOL_TOKENS:9.1f} {len(served.batches):7d} "
            f"{served.preempted:10d} {time:6.1f} {sum(request.answer for request in requests) / time:9.0f}"
        )


if __name__ == "__main__":
    main()
