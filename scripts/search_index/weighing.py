"""Weigh what a page says: for each token, how much the page is about it, and in which section.

A weight is a level of 1 to 26. A word of the title counts most, then one of a heading, then one of the answer on top, then the text.
"""

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, islice

from search_index.reading import Section
from search_index.terms import Term
from search_index.words import joined, normalised, tokens, useful

HIGHEST = 26
TITLE, HEADING, HEADINGS, TOP, TEXT = 10, 5, 2, 3, 7
ABOUT, EXPLAINS = 9, 4  # the page, or the section, that the glossary names for a term
USUAL = 3000  # tokens of a page of usual length


@dataclass(frozen=True)
class Weights:
    """For each token of a page its level, and the section that says most of it; a listing's tokens may have a section and no level."""

    levels: dict[str, int]
    sections: dict[str, int]

    def put(self, token: str, level: int, section: int) -> None:
        """Set a token's level, at most the highest, and its section."""
        self.levels[token] = min(level, HIGHEST)
        self.sections[token] = section


@dataclass
class Page:
    """What the search knows of a page before it is weighed."""

    path: str
    address: str
    sections: list[Section]
    also: str = ""  # words of its description and name, which count like those of the answer on top
    twin: list[tuple[str, str]] = field(default_factory=list)  # anchors and headings in the other language, the title first
    topical: set[str] = field(default_factory=set)  # filled by weigh: the words of title, headings and answer


def weigh(page: Page, terms: list[Term]) -> Weights:
    """Give each token's level and section; a glossary's term is the token `#` and its id, a word of the other language `~` and the word."""
    texts = _normalised([section.prose for section in page.sections])
    codes = _normalised(_new_words(page))
    said, shown = [tokens(text) for text in texts], [tokens(code) for code in codes]
    prose, where = _counted(said, shown)
    headings = [tokens(heading) for heading in _normalised([section.heading for section in page.sections])]
    top = {*tokens(normalised(page.also)), *said[0]}
    added = Counter(token for heading in headings[1:] for token in set(heading))
    levels = _levels(prose, set(chain.from_iterable(shown)))
    for token, count in added.items():
        levels[token] = levels.get(token, 0) + HEADING + (HEADINGS if count > 1 else 0)
    for index in range(len(headings) - 1, 0, -1):
        where |= dict.fromkeys(headings[index], index)
    for token in top:
        levels[token] = levels.get(token, 0) + TOP
        where.setdefault(token, 0)
    for token in set(headings[0]):
        levels[token] = levels.get(token, 0) + TITLE
    where |= dict.fromkeys(headings[0], 0)
    page.topical = {*added, *top, *headings[0]}
    for token in page.topical:
        levels[token] = min(levels[token], HIGHEST)
    weights = Weights(levels, where)
    names = " ".join(section.heading.lower() for section in page.sections)
    _weigh_terms(page, terms, weights, prose, joined(" ".join([names, *texts, *codes])))
    _weigh_twin(page, weights)
    return weights


def _normalised(texts: list[str]) -> list[str]:
    """Normalise lines of text in one go, which takes less time."""
    return normalised("\n".join(texts)).split("\n")


def _new_words(page: Page) -> list[str]:
    """Give the words that each section's listing has first, without numbers: of a listing it matters which words it has, not how often."""
    found: list[str] = []
    known: dict[str, None] = {}
    for section in page.sections:
        before = len(known)
        known |= dict.fromkeys(section.listing.split(" "))
        found.append(" ".join([word for word in islice(known, before, None) if not word[:1].isdigit()]))
    return found


def _counted(said: list[list[str]], shown: list[list[str]]) -> tuple[dict[str, int], dict[str, int]]:
    """Count the tokens of the prose; and name for each the section that has it most often, of several the first, or that which first lists it."""
    where: dict[str, int] = {}
    for index in range(len(shown) - 1, -1, -1):
        where |= dict.fromkeys(shown[index], index)
    prose: dict[str, int] = {}
    most: dict[str, int] = {}
    for index, section in enumerate(said):
        for token, count in Counter(section).items():
            if token not in prose:
                prose[token] = most[token] = count
                where[token] = index
                continue
            prose[token] += count
            if count > most[token]:
                most[token], where[token] = count, index
    return prose, where


def _levels(prose: dict[str, int], listing: set[str]) -> dict[str, int]:
    length = 0.5 + 0.5 * sum(prose.values()) / USUAL
    most = max(prose.values(), default=0)
    table = [1 + int(TEXT * count / (count + 3 * length)) for count in range(most + 1)]
    return dict.fromkeys(useful(listing), 1) | dict(zip(prose, map(table.__getitem__, prose.values()), strict=True))


def _weigh_terms(page: Page, terms: list[Term], weights: Weights, prose: dict[str, int], text: str) -> None:
    anchors = {section.anchor: index for index, section in enumerate(page.sections)}
    levels = weights.levels
    for term in terms:
        count, level, section = 0, 0, 0
        for name in term.counted:
            if name.tokens[0] not in levels or not all(token in levels for token in name.tokens[1:]):
                continue
            often = prose.get(name.tokens[0], 0) + prose.get(f"{name.tokens[0]}s", 0) if len(name.tokens) == 1 else text.count(name.joined)
            if often or len(name.tokens) == 1:
                count += often
                weakest = min(name.tokens, key=levels.__getitem__)
                if levels[weakest] > level:
                    level, section = levels[weakest], weights.sections.get(weakest, 0)
        path, _, anchor = term.page.partition("#")
        if path == page.path and anchor in anchors:
            level, section = level + (EXPLAINS if anchor else ABOUT), anchors[anchor]
        elif term.id in anchors:
            level, section = level + ABOUT, anchors[term.id]
        if level:
            weights.put(f"#{term.id}", level + min(count // 8, 3), section)


def _weigh_twin(page: Page, weights: Weights) -> None:
    anchors = {section.anchor: index for index, section in enumerate(page.sections)}
    for anchor, heading in reversed(page.twin):
        for token in tokens(normalised(heading)):
            weights.put(f"~{token}", HEADING if anchor else TITLE, anchors.get(anchor, 0))
