"""Lengths of requests to a chat service, as a histogram of a public trace, and how many tokens of cache they need.

Azure LLM inference trace 2023, conversation (19,366 requests of one hour), CC BY 4.0, https://github.com/Azure/AzurePublicDataset:
P. Patel and others, "Splitwise", ISCA 2024. Counted here in bins; left out: one request of more than 8,192 tokens.
"""

import random

# --8<-- [start:model]
PROMPT_EDGES = (1, 64, 128, 256, 384, 432, 768, 1024, 1152, 1280, 1536, 2048, 3072, 3968, 4224, 6144, 8192)  # tokens
ANSWER_EDGES = (1, 32, 64, 96, 128, 192, 320, 384, 448, 512, 640, 1024)
LONGEST = 8192  # prompt and answer together
COUNTS = (  # a line: prompts from one edge to below the next; along it: their answers
    (0, 8, 27, 54, 187, 26, 0, 0, 0, 0, 0),
    (138, 4, 8, 15, 37, 25, 0, 0, 0, 0, 0),
    (91, 96, 290, 274, 817, 488, 8, 1, 0, 1, 6),
    (162, 268, 514, 88, 18, 4, 0, 1, 0, 0, 0),
    (4, 104, 1617, 1467, 463, 16, 0, 0, 0, 0, 0),
    (7, 47, 211, 168, 40, 6, 6, 2, 0, 1, 2),
    (7, 87, 204, 144, 43, 3, 144, 1138, 104, 97, 7),
    (2, 53, 86, 33, 17, 0, 396, 2993, 296, 285, 68),
    (3, 75, 61, 32, 16, 0, 75, 594, 59, 59, 16),
    (2, 87, 140, 84, 425, 248, 18, 55, 10, 14, 3),
    (5, 141, 206, 151, 58, 1, 0, 0, 1, 0, 0),
    (15, 192, 300, 205, 168, 19, 0, 0, 0, 0, 0),
    (1, 38, 49, 45, 48, 5, 0, 0, 0, 0, 0),
    (125, 855, 295, 95, 73, 20, 7, 1, 4, 1, 3),
    (1, 22, 42, 33, 21, 0, 0, 0, 0, 0, 0),
    (0, 4, 4, 8, 3, 0, 0, 0, 0, 0, 0),
)
# --8<-- [end:model]


def sample(number: int, seed: int) -> list[tuple[int, int]]:
    """Draw requests, as (tokens of the prompt, tokens of the answer): a cell by its count, then evenly inside it."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    cells = [(row, column) for row in range(len(COUNTS)) for column in range(len(COUNTS[0]))]
    chosen = draw.choices(cells, [COUNTS[row][column] for row, column in cells], k=number)
    pairs = [(draw.randrange(*PROMPT_EDGES[row : row + 2]), draw.randrange(*ANSWER_EDGES[column : column + 2])) for row, column in chosen]
    return [(prompt, min(answer, LONGEST - prompt)) for prompt, answer in pairs]


def blocks(tokens: int, size: int) -> int:
    """Give the blocks that so many tokens need."""
    return -(-tokens // size)


def used_percent(lengths: list[int], size: int) -> float:
    """Give the share of the blocks' slots that hold a token, in percent."""
    return 100 * sum(lengths) / sum(size * blocks(length, size) for length in lengths)


def main() -> None:
    """Print the trace's shape and what each way to reserve wastes of requests at their full length."""
    requests = sample(4000, seed=1)
    for name, values in (("prompt", [prompt for prompt, _ in requests]), ("answer", [answer for _, answer in requests])):
        values.sort()
        marks = [values[len(values) * share // 100] for share in (10, 50, 90, 99)]
        print(f"{name}: mean {sum(values) / len(values):.0f} tokens; 10, 50, 90, 99 % below {', '.join(map(str, marks))}")
    lengths = [prompt + answer for prompt, answer in requests]
    print("\ntokens that a request reserves   slots that hold a token in the end")
    rounded = [1 << (length - 1).bit_length() for length in lengths]
    print(f"{'the longest, 8192':30}{used_percent(lengths, LONGEST):9.1f} %")
    print(f"{'the next power of two':30}{100 * sum(lengths) / sum(rounded):9.1f} %")
    for size in (256, 128, 64, 32, 16, 1):
        print(f"{f'blocks of {size}':30}{used_percent(lengths, size):9.1f} %")


if __name__ == "__main__":
    main()
