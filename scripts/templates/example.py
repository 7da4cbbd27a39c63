"""Predict how many requests a warp's threads make when each reads one element of an array: what the question asks comes here.

A request is one load instruction of a warp. Only what a reader needs to check the number belongs into the model.
"""

# --8<-- [start:model]
# Change this and run again.
ELEMENTS = 1024  # 32..4096 by 32: elements of the array, one a thread

LANES = 32  # threads of a warp


def requests(elements: int) -> int:
    """Count the load instructions: one a warp, full or not."""
    return -(-elements // LANES)


# --8<-- [end:model]


def main() -> None:
    """Print what the model predicts."""
    print(f"{'elements':>8}{'requests':>10}")
    for elements in (LANES, 100, ELEMENTS):
        print(f"{elements:8}{requests(elements):10}")


if __name__ == "__main__":
    main()
