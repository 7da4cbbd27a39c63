"""Count the blocks that one SM of compute capability 9.0 holds, from what a block takes of registers and shared memory.

Sizes: CUDA Programming Guide 13, section 5.1.3; units of allocation: bench_budget.py compares them with an H200.
"""

# --8<-- [start:model]
# Change these three and run again.
THREADS = 256  # of a block
REGISTERS = 56  # of a thread
SHARED_BYTES = 8192  # of a block

KIB = 1024
SM_WARPS, SM_BLOCKS, SM_SHARED_BYTES = 64, 32, 228 * KIB
QUARTER_REGISTERS = 16 * KIB  # an SM has four quarters, and a warp lives in one
RESERVED_BYTES = KIB  # that the system takes for each block


def blocks_by_registers(threads: int, registers: int) -> int:
    """Count the blocks whose registers fit; a thread gets them in eights, a warp at once."""
    a_warp = 32 * -(-registers // 8) * 8
    return QUARTER_REGISTERS // a_warp * 4 // warps(threads)


def blocks_by_shared(shared_bytes: int) -> int:
    """Count the blocks whose shared memory fits; it is given out in 128 bytes."""
    return SM_SHARED_BYTES // (-(-(shared_bytes + RESERVED_BYTES) // 128) * 128)


def blocks(threads: int, registers: int, shared_bytes: int) -> int:
    """Count the blocks that an SM holds at once."""
    return min(
        blocks_by_registers(threads, registers),
        blocks_by_shared(shared_bytes),
        SM_WARPS // warps(threads),
        SM_BLOCKS,
    )


def occupancy(threads: int, registers: int, shared_bytes: int) -> float:
    """Give the share of an SM's 64 warps that are there, in percent."""
    return 100 * blocks(threads, registers, shared_bytes) * warps(threads) / SM_WARPS


def warps(threads: int) -> int:
    """Count the warps of a block."""
    return -(-threads // 32)


# --8<-- [end:model]


def main() -> None:
    """Print the case of the parameters, then how the two are used up."""
    print(f"{THREADS} threads x {REGISTERS} registers, {SHARED_BYTES:,} bytes: {told(THREADS, REGISTERS, SHARED_BYTES)}")
    print(f"\n{THREADS} threads, no shared memory")
    for registers in (32, 33, 40, 48, 64, 80, 96, 128, 168, 255):
        print(f"{registers:>8} registers: {told(THREADS, registers, 0)}")
    print(f"\n{THREADS} threads, 32 registers")
    for kib in (8, 16, 32, 56, 75, 113, 114, 227):
        print(f"{kib:>8} KiB:       {told(THREADS, 32, kib * KIB)}")


def told(threads: int, registers: int, shared_bytes: int) -> str:
    """Put one case into words."""
    held = blocks(threads, registers, shared_bytes)
    return f"{held} block{'s' if held > 1 else ''}, occupancy {occupancy(threads, registers, shared_bytes):g}%"


if __name__ == "__main__":
    main()
