"""Gather each token's pages, as the build comes to them, in the form in which they are written: small while the site grows.

A token's pages are one string: the distance to the page before (none for 1), a letter for the level, a sign for the section. Pages are
numbered by kind, and within a kind as they came; so each kind is gathered apart, and joined at the end.
"""

from typing import Any

from search_index.weighing import HIGHEST, Weights

SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
SECTIONS = 1000  # more than any page has
NEAR = 1000  # distances below this are written beforehand

_SIGNS = [SIGNS[number] if number < len(SIGNS) else chr(0x4E00 + number) for number in range(SECTIONS)]
_PIECES = [[f"{chr(64 + level)}{sign}".encode() for sign in _SIGNS] for level in range(HIGHEST + 1)]
_DISTANCES = [b"" if gap == 1 else b"%d" % gap for gap in range(NEAR)]


class Postings:
    """The pages of one kind that have each token."""

    def __init__(self) -> None:
        """Begin with no page."""
        self.count = 0
        # For each token its first page, its last one, and its string without the first page's distance.
        self._found: dict[str, list[Any]] = {}

    def add(self, weights: Weights) -> int:
        """Take up a page, and give its number within its kind."""
        number = self.count
        self.count += 1
        find, sections = self._found.get, weights.sections
        for token, level in weights.levels.items():
            found = find(token)
            if found is None:
                self._found[token] = [number, number, bytearray(_PIECES[level][sections[token]])]
                continue
            gap = number - found[1]
            found[1] = number
            found[2] += (_DISTANCES[gap] if gap < NEAR else b"%d" % gap) + _PIECES[level][sections[token]]
        return number

    def joined(self, base: int, strings: dict[str, bytearray], last: dict[str, int]) -> None:
        """Append this kind's pages, which begin at `base`, to the strings of all kinds; `last` is each token's last page so far."""
        for token, (first, end, string) in self._found.items():
            gap = base + first - last.get(token, -1)
            strings.setdefault(token, bytearray()).extend((b"" if gap == 1 else b"%d" % gap) + string)
            last[token] = base + end
