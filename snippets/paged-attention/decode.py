"""What a decode step of attention reads, how it is split over the SMs, and how long it takes at least."""

SEQUENCES = 64  # 1 | 8 | 16 | 64 | 256: sequences in the batch
CONTEXT = 8192  # 512 | 2048 | 8192 | 32768 | 131072: tokens of each
KV_HEADS = 8  # 1 | 2 | 4 | 8 | 16 | 32: heads of K and V
QUERY_HEADS = 32  # 32 | 64 | 128: heads of Q

LAYERS, DIM = 32, 128
PEAK_GB_S = 4800  # memory of an H200
RESIDENT = 132 * 2  # thread blocks of attention.cu that an H200 holds at once
TILE, WARPS, STAGES = 16, 4, 3  # tokens that a warp looks up and copies together; its warps, and how many tiles each has room for


# --8<-- [start:model]
def token_bytes(kv_heads: int) -> int:
    """Give the bytes of one token's K and V in one layer, in FP16."""
    return 2 * kv_heads * DIM * 2


def piece_tokens(contexts: list[int], kv_heads: int) -> int:
    """Choose the length of the pieces that contexts are cut into: three rounds of thread blocks or more, but neither too short nor too long."""
    wanted = sum(contexts) * kv_heads // (3 * RESIDENT)
    return min(2048, max(256, 1 << max(wanted, 1).bit_length() - 1))


def pieces(contexts: list[int], length: int) -> list[tuple[int, int, int]]:
    """Cut each context: (sequence, first token, behind the last)."""
    return [(name, begin, min(begin + length, context)) for name, context in enumerate(contexts) for begin in range(0, context, length)]


def lookups(cut: list[tuple[int, int, int]], kv_heads: int) -> int:
    """Count the reads of block tables: a warp looks up 16 tokens at once, whatever the block size, and 3 tiles ahead, past the end too."""
    return kv_heads * sum(-(-(end - begin) // TILE) + WARPS * STAGES for _, begin, end in cut)


def floor_us(contexts: list[int], kv_heads: int) -> float:
    """Give the time that reading K and V once takes at the memory's peak, in microseconds."""
    return sum(contexts) * token_bytes(kv_heads) / PEAK_GB_S / 1e3


# --8<-- [end:model]


def main() -> None:
    """Print the batch at the top of the file."""
    contexts = [CONTEXT] * SEQUENCES
    read = sum(contexts) * token_bytes(KV_HEADS)
    length = piece_tokens(contexts, KV_HEADS)
    count = len(pieces(contexts, length)) * KV_HEADS
    print(f"K and V of a token: {token_bytes(KV_HEADS)} bytes a layer, {token_bytes(KV_HEADS) * LAYERS / 1024:.0f} KiB in {LAYERS} layers")
    print(f"cache of {SEQUENCES} x {CONTEXT} tokens: {read * LAYERS / 2**30:.1f} GiB; a step reads all of it, {read / 1e6:.0f} MB a layer")
    print(f"floating-point operations a byte: {QUERY_HEADS / KV_HEADS:g}; an H200 could do 206 in FP16")
    print(f"one thread block a sequence and head: {SEQUENCES * KV_HEADS}; cut into pieces of {length} tokens: {count} (room for {RESIDENT})")
    print(f"at least {floor_us(contexts, KV_HEADS):.1f} us a layer, {floor_us(contexts, KV_HEADS) * LAYERS / 1e3:.2f} ms in all")


if __name__ == "__main__":
    main()
