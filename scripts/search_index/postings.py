"""Gather each token's pages as the build comes to them, and write them in a form that is small while the site grows.

A token's pages are one string: the distance to the page before (none for 1), a letter for the level, a sign for the section. Pages are
numbered by kind, and within a kind as they came; so each kind is gathered apart, and joined at the end.
"""

from array import array
from collections import defaultdict, deque
from functools import partial
from operator import sub

from search_index.weighing import HIGHEST, Weights

SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
SECTIONS = 1 << 10  # more than any page has
NEAR = 1000  # distances below this are written beforehand

# Until the end a page's entry is one number: the page, the level, the section. 32 bits are enough for 155,000 pages.
_ENTRIES = (HIGHEST + 1) * SECTIONS
_SIGNS = [SIGNS[number] if number < len(SIGNS) else chr(0x4E00 + number) for number in range(SECTIONS)]
_PIECES = [f"{chr(64 + level)}{sign}" for level in range(HIGHEST + 1) for sign in _SIGNS]
_DISTANCES = ["" if gap == 1 else str(gap) for gap in range(NEAR)]


class Postings:
    """The pages of one kind that have each token."""

    def __init__(self) -> None:
        """Begin with no page."""
        self.count = 0
        self._found: defaultdict[str, array[int]] = defaultdict(partial(array, "I"))

    def add(self, weights: Weights) -> int:
        """Take up a page, and give its number within its kind."""
        number = self.count
        self.count += 1
        page, sections = number * _ENTRIES, weights.sections
        entries = [page + level * SECTIONS + sections[token] for token, level in weights.levels.items()]
        # A site has thousands of tokens for each page: a loop that Python does not run itself.
        deque(map(array.append, map(self._found.__getitem__, weights.levels), entries), maxlen=0)
        return number

    def joined(self, base: int, strings: dict[str, str], last: dict[str, int]) -> None:
        """Append this kind's pages, which begin at `base`, to the strings of all kinds; `last` is each token's last page so far."""
        for token, entries in self._found.items():
            pages = [base + entry // _ENTRIES for entry in entries]
            gaps = map(sub, pages, [last.get(token, -1), *pages])
            distances = [_DISTANCES[gap] if gap < NEAR else str(gap) for gap in gaps]
            text = "".join([distance + _PIECES[entry % _ENTRIES] for distance, entry in zip(distances, entries, strict=True)])
            strings[token] = strings.get(token, "") + text
            last[token] = pages[-1]
