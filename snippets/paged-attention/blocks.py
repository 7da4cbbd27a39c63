"""A pool of blocks for K and V: tables, reference counts, copy on write, shared prefixes, preemption."""

import hashlib
import itertools

BLOCK_SIZE = 16  # 8 | 16 | 32 | 64: tokens in a block
POOL_BLOCKS = 7  # 6..9: blocks in the pool of the second part
LENGTHS = (100, 37, 512, 1)  # tokens of four sequences


# --8<-- [start:model]
class FullError(Exception):
    """The pool has not enough free blocks; nothing was changed."""


class Pool:
    """Physical blocks of one size. A sequence is a list of tokens and a table: which block holds its tokens 0 to size - 1, and so on."""

    def __init__(self, count: int, size: int) -> None:
        """Start with all blocks free."""
        self.size, self.users = size, [0] * count
        self.free = dict.fromkeys(range(count))  # a dictionary keeps the order, and gives up any one at once
        self.tables: dict[int, list[int]] = {}
        self.tokens: dict[int, list[int]] = {}
        self.keys: dict[int, list[bytes]] = {}
        self.known: dict[bytes, int] = {}  # full blocks by their key
        self.key_of: dict[int, bytes] = {}

    def start(self, name: int, tokens: list[int], spare: int = 0) -> int:
        """Give a sequence its blocks if so many stay free; give the number of tokens whose blocks were there already."""
        keys = [b""]  # each full block's depends on all tokens up to its end
        for end in range(self.size, len(tokens) + 1, self.size):
            keys.append(key_of(keys[-1], tokens[end - self.size : end]))
        found = [self.known[key] for key in itertools.takewhile(self.known.__contains__, keys[1:])]
        missing = -(-len(tokens) // self.size) - len(found)
        if missing + spare > len(self.free) - sum(not self.users[block] for block in found):
            raise FullError
        for block in found:
            self.free.pop(block, None)  # it may be nobody's, while its content is still there
            self.users[block] += 1
        self.tables[name] = found + [self._take() for _ in range(missing)]
        self.tokens[name], self.keys[name] = list(tokens), keys
        for block, key in zip(self.tables[name], keys[1:], strict=False):
            self._remember(block, key)
        return len(found) * self.size

    def grow(self, name: int, token: int) -> tuple[int, int] | None:
        """Add a token; give (from, to) when a shared block has to be copied first."""
        table, tokens, copy = self.tables[name], self.tokens[name], None
        if len(tokens) % self.size == 0:
            table.append(self._take())
        elif self.users[table[-1]] > 1:  # somebody else reads this block: copy on write
            copy = table[-1], self._take()
            self.users[copy[0]] -= 1
            table[-1] = copy[1]
        tokens.append(token)
        if len(tokens) % self.size == 0:
            self.keys[name].append(key_of(self.keys[name][-1], tokens[-self.size :]))
            self._remember(table[-1], self.keys[name][-1])
        return copy

    def fork(self, name: int, child: int) -> None:
        """Let a new sequence share all blocks of another one, as parallel samples of one prompt do."""
        self.tables[child], self.tokens[child], self.keys[child] = self.tables[name].copy(), self.tokens[name].copy(), self.keys[name].copy()
        for block in self.tables[name]:
            self.users[block] += 1

    def end(self, name: int) -> None:
        """Take a sequence out; blocks without a user are free, the last ones first in the queue to be overwritten."""
        del self.tokens[name], self.keys[name]
        for block in reversed(self.tables.pop(name)):
            self.users[block] -= 1
            if not self.users[block]:
                self.free[block] = None

    def _take(self) -> int:
        if not self.free:
            raise FullError
        block: int = next(iter(self.free))
        del self.free[block]
        self.known.pop(self.key_of.pop(block, b""), None)
        self.users[block] = 1
        return block

    def _remember(self, block: int, key: bytes) -> None:
        if self.known.setdefault(key, block) == block:
            self.key_of[block] = key


def key_of(before: bytes, tokens: list[int]) -> bytes:
    """Name a full block by its tokens and the block before it."""
    return hashlib.sha256(before + repr(tokens).encode()).digest()


# --8<-- [end:model]


def main() -> None:
    """Print what four sequences take, then the life of a pool."""
    taken = [-(-length // BLOCK_SIZE) for length in LENGTHS]
    slots = sum(taken) * BLOCK_SIZE
    print(f"tokens {LENGTHS}: blocks {taken}, {sum(taken)} in all")
    print(f"{slots - sum(LENGTHS)} of {slots} slots empty, {100 * sum(LENGTHS) / slots:.1f} % used")
    print(f"2048 reserved for each: {100 * sum(LENGTHS) / (2048 * len(LENGTHS)):.1f} % used\n")
    print(f"{'step':26}{'users':11}tables")
    pool, prompt = Pool(POOL_BLOCKS, BLOCK_SIZE), list(range(2 * BLOCK_SIZE + 4))
    pool.start(0, prompt)
    show(pool, f"start 0, {len(prompt)} tokens")
    pool.fork(0, 1)
    show(pool, "fork 0 to 1")
    source, target = pool.grow(1, 1000) or (0, 0)
    show(pool, f"1 grows: copy {source} to {target}")
    pool.grow(0, 2000)
    show(pool, "0 grows: its own by now")
    third = [*prompt[: 2 * BLOCK_SIZE], *range(3000, 3000 + BLOCK_SIZE)]
    show(pool, f"start 2: {pool.start(2, third)} tokens there")
    show(pool, f"2 grows by {grow_until_full(pool, 2, 4000)}: full")
    show(pool, f"1 grows by {grow_until_full(pool, 1, 5000)}: full")
    pool.end(2)
    show(pool, "2, the latest, preempted")
    pool.grow(1, 6000)
    show(pool, "1 grows")
    pool.end(1)
    show(pool, "1 ends")
    show(pool, f"start 2: {pool.start(2, third)} tokens there")


def grow_until_full(pool: Pool, name: int, token: int) -> int:
    """Grow a sequence until there is no block for its next token; give the number of tokens."""
    before = len(pool.tokens[name])
    try:
        while True:
            pool.grow(name, token + len(pool.tokens[name]))
    except FullError:
        return len(pool.tokens[name]) - before


def show(pool: Pool, step: str) -> None:
    """Print the tables after a step, and how many use each block."""
    tables = "  ".join(f"{name}:{','.join(map(str, table))}" for name, table in pool.tables.items())
    print(f"{step:26}{''.join(map(str, pool.users)):11}{tables}")


if __name__ == "__main__":
    main()
