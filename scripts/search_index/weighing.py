"""Weigh what a page says: for each token, how much the page is about it, and in which section.

A weight is a level of 1 to 26. A word of the title counts most, then one of a heading, then one of the answer on top, then the text.
"""

from collections import Counter
from dataclasses import dataclass, field

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
    prose, listing = Counter[str](), set[str]()
    where: dict[str, int] = {}
    counted: list[Counter[str]] = []
    pieces: list[str] = []
    known = set[str]()
    for section in page.sections:
        # Of a listing it matters which words it has, not how often, and not its numbers.
        words = dict.fromkeys(word for word in section.listing.split(" ") if word not in known and not word[:1].isdigit())
        known.update(words)
        text, code = normalised(section.prose), normalised(" ".join(words))
        pieces += (text, code)
        in_text, in_code = tokens(text), tokens(code)
        counted.append(Counter(in_text))
        prose.update(in_text)
        listing.update(in_code)
        for token in in_code:
            where.setdefault(token, len(counted) - 1)
    _place(counted, prose, where)
    headings = [tokens(normalised(section.heading)) for section in page.sections]
    top = {*tokens(normalised(page.also)), *tokens(normalised(page.sections[0].prose))}
    added = Counter(token for heading in headings[1:] for token in set(heading))
    levels = _levels(prose, listing)
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
    _weigh_terms(page, terms, weights, prose, joined(" ".join([names, *pieces])))
    _weigh_twin(page, weights)
    return weights


def _place(counted: list[Counter[str]], prose: Counter[str], where: dict[str, int]) -> None:
    """Name for each token of the prose the section that has it most often, of several the first."""
    often = {token for token, count in prose.items() if count > 2}  # noqa: PLR2004 - of two, the first section will do
    most: dict[str, int] = {}
    for index in range(len(counted) - 1, -1, -1):
        where |= dict.fromkeys(counted[index], index)
    for index in range(len(counted) - 1, -1, -1):
        section = counted[index]
        for token in often & section.keys():
            if section[token] >= most.get(token, 2):
                most[token], where[token] = section[token], index


def _levels(prose: Counter[str], listing: set[str]) -> dict[str, int]:
    length = 0.5 + 0.5 * prose.total() / USUAL
    most = max(prose.values(), default=0)
    table = [1 + int(TEXT * count / (count + 3 * length)) for count in range(most + 1)]
    levels = dict.fromkeys(filter(useful, listing), 1)
    levels |= {token: table[count] for token, count in prose.items()}
    return levels


def _weigh_terms(page: Page, terms: list[Term], weights: Weights, prose: Counter[str], text: str) -> None:
    anchors = {section.anchor: index for index, section in enumerate(page.sections)}
    levels = weights.levels
    for term in terms:
        count, level, section = 0, 0, 0
        for name in term.counted:
            if name.tokens[0] not in levels or not all(token in levels for token in name.tokens[1:]):
                continue
            often = prose[name.tokens[0]] + prose[f"{name.tokens[0]}s"] if len(name.tokens) == 1 else text.count(name.joined)
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
