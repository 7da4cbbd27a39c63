"""Count how many blocks of a kernel one SM holds at once, and say which resource runs out first.

Standard Python, no GPU. Limits: CUDA Programming Guide 13, tables 30 to 32; for 7.0, section 20.6.4 of the CUDA C++
Programming Guide and the table of compute capabilities in "NVIDIA Hopper Architecture In-Depth".
"""

# --8<-- [start:model]
from dataclasses import dataclass

COMPUTE_CAPABILITY = "9.0"
THREADS, REGISTERS = 32, 32  # of a block, of a thread
SHARED_BYTES = 12 * 1024  # of a block, static and dynamic together

KIB, LANES, REGISTERS_AN_SM, PARTITIONS, REGISTER_UNIT, UNLIMITED = 1024, 32, 65_536, 4, 256, 2**31 - 1


@dataclass(frozen=True)
class Sm:
    """What one SM has: resident warps and blocks, its settings of shared memory, and how that is given out."""

    warps: int
    blocks: int
    settings_kib: tuple[int, ...]  # what shared memory can be set to; the L1 gets the rest
    block_kib: int  # the most that one block may ask for
    unified_kib: int  # shared memory and L1 together
    unit_bytes: int = 128  # shared memory is given out in these
    reserved_bytes: int = KIB  # what the driver adds to each block
    barriers: int = 0  # named barriers; 0 where they are no limit


@dataclass(frozen=True)
class Launch:
    """What a kernel's block takes, and what was asked of the driver."""

    threads: int
    registers: int  # of a thread
    shared_bytes: int = 0
    barriers: int = 1
    carveout_percent: int = 100  # preferred shared memory; the driver's default assumes all
    opted_in: bool = True  # to more than 48 KiB


BASE = (0, 8, 16, 32, 64)
SMS = {
    "7.0": Sm(64, 32, (*BASE, 96), 96, 128, unit_bytes=256, reserved_bytes=0),
    "7.5": Sm(32, 16, (32, 64), 64, 96, unit_bytes=256, reserved_bytes=0),
    "8.0": Sm(64, 32, (*BASE, 100, 132, 164), 163, 192),
    "8.6": Sm(48, 16, (*BASE, 100), 99, 128),
    "8.9": Sm(48, 24, (*BASE, 100), 99, 128),
    "9.0": Sm(64, 32, (*BASE, 100, 132, 164, 196, 228), 227, 256, barriers=64),
    "10.0": Sm(64, 32, (*BASE, 100, 132, 164, 196, 228), 227, 256, barriers=64),
    "12.0": Sm(48, 24, (*BASE, 100), 99, 128, barriers=24),
}


def warps_of(threads: int) -> int:
    """Count the warps of a block: the last one may be partly empty."""
    return -(-threads // LANES)


def round_up(value: int, unit: int) -> int:
    """Round up to a multiple of the unit."""
    return -(-value // unit) * unit


def register_limit(threads: int, registers: int) -> int:
    """Count the blocks whose registers fit: a warp gets whole units, all of them in one of the four partitions."""
    a_warp = round_up(registers * LANES, REGISTER_UNIT)
    if a_warp * round_up(warps_of(threads), PARTITIONS) > REGISTERS_AN_SM:
        return 0  # the launch is refused
    return REGISTERS_AN_SM // PARTITIONS // a_warp * PARTITIONS // warps_of(threads)


def setting_bytes(sm: Sm, wanted_bytes: int) -> int:
    """Give the smallest setting of shared memory that holds so much."""
    return next(kib * KIB for kib in sm.settings_kib if kib * KIB >= wanted_bytes)


def block_bytes(sm: Sm, shared_bytes: int) -> int:
    """Give what a block takes of shared memory: its own and the driver's, rounded up."""
    return round_up(shared_bytes + sm.reserved_bytes, sm.unit_bytes)


def shared_limit(sm: Sm, launch: Launch) -> int:
    """Count the blocks whose shared memory fits into the setting that the carve-out, or else one block, asks for."""
    taken = block_bytes(sm, launch.shared_bytes)
    if taken > (sm.block_kib if launch.opted_in else 48) * KIB + sm.reserved_bytes:
        return 0  # the launch is refused
    preferred = setting_bytes(sm, sm.settings_kib[-1] * KIB * launch.carveout_percent // 100)
    return max(preferred, setting_bytes(sm, taken)) // taken if taken else UNLIMITED


def limits(sm: Sm, launch: Launch) -> dict[str, int]:
    """Give the blocks that each resource allows; the smallest number decides."""
    return {
        "warps": sm.warps // warps_of(launch.threads),
        "registers": register_limit(launch.threads, launch.registers),
        "shared": shared_limit(sm, launch),
        "blocks": sm.blocks,
        "barriers": sm.barriers // launch.barriers if sm.barriers else UNLIMITED,
    }


# --8<-- [end:model]


def resident_blocks(sm: Sm, launch: Launch) -> int:
    """Give how many blocks one SM holds at once; 0 when it cannot hold one."""
    return min(limits(sm, launch).values())


def occupancy_percent(sm: Sm, launch: Launch) -> float:
    """Give the warps that are resident, in percent of those that could be."""
    return 100 * resident_blocks(sm, launch) * warps_of(launch.threads) / sm.warps


def deciding(sm: Sm, launch: Launch) -> str:
    """Name the resources that run out first."""
    every = limits(sm, launch)
    return "+".join(name for name, blocks in every.items() if blocks == min(every.values()))


def l1_kib(sm: Sm, launch: Launch) -> int:
    """Give what is left for the L1 when shared memory gets no more than the carve-out, or else one block, asks for."""
    preferred = setting_bytes(sm, sm.settings_kib[-1] * KIB * launch.carveout_percent // 100)
    return sm.unified_kib - max(preferred, setting_bytes(sm, block_bytes(sm, launch.shared_bytes))) // KIB


def line(name: str, sm: Sm, launch: Launch) -> str:
    """Write one row: the limits, the number of blocks, the share of the warps."""
    every = "".join("     -" if blocks == UNLIMITED else f"{blocks:>6}" for blocks in list(limits(sm, launch).values())[:4])
    return f"{name:<21}{every}{resident_blocks(sm, launch):>6}{occupancy_percent(sm, launch):>7.1f}%  {deciding(sm, launch)}"


EXAMPLES = (
    # threads, registers, shared bytes
    (256, 32, 0),
    (256, 33, 0),
    (128, 37, 0),
    (320, 37, 0),
    (512, 65, 0),
    (128, 255, 0),
    (32, 32, 0),
    (768, 32, 0),
    (256, 32, 113 * KIB),
    (256, 32, 114 * KIB),
)


def main() -> None:
    """Print the launch of the parameters on each SM, then examples on the chosen one."""
    chosen = Launch(THREADS, REGISTERS, SHARED_BYTES)
    print(f"{THREADS} threads, {REGISTERS} registers a thread, {SHARED_BYTES:,} bytes of shared memory")
    head = "warps  regs  smem block  held   warps  decides"
    print(f"{'compute capability':<22}{head}")
    for name, sm in SMS.items():
        print(line(name, sm, chosen))
    print(f"\ncompute capability {COMPUTE_CAPABILITY}\n{'threads, regs, bytes':<22}{head}")
    for threads, registers, shared in EXAMPLES:
        print(line(f"{threads:>4}, {registers:>3}, {shared:>7,}", SMS[COMPUTE_CAPABILITY], Launch(threads, registers, shared)))


if __name__ == "__main__":
    main()
