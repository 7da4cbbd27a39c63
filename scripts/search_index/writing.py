"""Write the index: small files of which a reader's browser asks for those that a query needs.

    index.json            how many pages of each kind, where each shard begins, the glossary's names, words that a misspelling may mean
    w<n>.<digest>.json    a shard: tokens in order, and for each the pages that have it (see postings.py)
    c<n>.<digest>.json    cards: addresses, titles and headings of some pages
    t<page>-<n>.<digest>.json   the text of some sections of a page, for the excerpts

The digest is that of the whole index, so a file's name is never used for other content.
"""

import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path

from search_index.postings import Postings
from search_index.terms import Term
from search_index.weighing import HIGHEST, Page, weigh

KINDS = ("question", "lab", "glossary", "other")
CARDS = 2  # pages a file
TEXT = 5000  # characters a file of sections' text
LISTING = 800  # of a section's code and tables, so many characters can be shown
SHARD, GROWTH = 4000, 2  # characters a shard, and how many more for each page: few files for a large site, small ones for a small one
WORDS, WORD = 1500, 4  # how many words for misspellings, and of how many letters at least

Card = list[object]


class Index:
    """The index of one language, to which pages are added one by one."""

    def __init__(self, terms: list[Term]) -> None:
        """Begin with the glossary's terms and no page."""
        self.terms = terms
        self._postings = {kind: Postings() for kind in KINDS}
        self._cards: dict[str, list[tuple[Card, list[bytes]]]] = {kind: [] for kind in KINDS}
        self._words = Counter[str]()

    def add(self, kind: str, page: Page) -> None:
        """Weigh a page and take it up."""
        self._postings[kind].add(weigh(page, self.terms))
        self._cards[kind].append(_card(page))
        self._words.update(word for word in page.topical if len(word) >= WORD and word.isascii() and word.isalpha())

    def write(self, folder: Path) -> None:
        """Write the files into a folder, which is emptied."""
        texts: dict[str, bytes] = {}
        firsts = _shards(self._joined(), SHARD + GROWTH * sum(map(len, self._cards.values())), texts)
        cards = [card for kind in KINDS for card in self._cards[kind]]
        for number, start in enumerate(range(0, len(cards), CARDS)):
            texts[f"c{number}"] = _json([card for card, _ in cards[start : start + CARDS]])
        fetched = sum(map(len, texts.values()))
        for page, (_, chunks) in enumerate(cards):
            texts |= {f"t{page}-{number}": chunk for number, chunk in enumerate(chunks)}
        hashed = hashlib.sha256()
        for name, text in texts.items():
            hashed.update(b"%b\n%b\n" % (name.encode(), text))
        digest = hashed.hexdigest()[:10]
        counts = [len(self._cards[kind]) for kind in KINDS]
        core = {
            "digest": digest,
            "kinds": [sum(counts[: place + 1]) for place in range(len(KINDS))],
            "cards": CARDS,
            "highest": HIGHEST,
            "size": fetched,
            "shards": firsts,
            "terms": [[term.id, list(term.names), list(term.wrong)] for term in self.terms],
            "words": " ".join(sorted(word for word, _ in sorted(self._words.items(), key=lambda item: (-item[1], item[0]))[:WORDS])),
        }
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "index.json").write_bytes(_json(core))
        for name, text in texts.items():
            (folder / f"{name}.{digest}.json").write_bytes(text)

    def _joined(self) -> dict[str, str]:
        strings: dict[str, str] = {}
        last: dict[str, int] = {}
        base = 0
        for postings in self._postings.values():
            postings.joined(base, strings, last)
            base += postings.count
        return strings


def _shards(postings: dict[str, str], size: int, texts: dict[str, bytes]) -> list[str]:
    """Cut the tokens, in order, into shards, and give what each begins with."""
    firsts: list[str] = []
    shard: dict[str, str] = {}
    length = 0
    last = ""
    for token in sorted(postings):
        if shard and length > size:
            texts[f"w{len(firsts) - 1}"] = _json(shard)
            shard, length = {}, 0
        if not shard:
            firsts.append(_between(last, token))
        posting = postings[token]
        shard[token] = posting
        length += len(token) + len(posting) + 6
        last = token
    texts[f"w{len(firsts) - 1}"] = _json(shard)
    return firsts


def _between(last: str, token: str) -> str:
    """Give the shortest beginning of a token that comes after the last one."""
    for length in range(1, len(token)):
        if token[:length] > last:
            return token[:length]
    return token


def _card(page: Page) -> tuple[Card, list[bytes]]:
    """Give a page's address, title and sections (anchor, heading, file of its text, place in it), and the files of text."""
    card: Card = [page.address, page.sections[0].heading]
    chunks: list[list[str]] = [[]]
    length = 0
    for section in page.sections:
        text = f"{section.prose} {section.listing[:LISTING]}".strip()
        if chunks[-1] and length + len(text) > TEXT:
            chunks.append([])
            length = 0
        card.append([section.anchor, section.heading if section.anchor else "", len(chunks) - 1, len(chunks[-1])])
        chunks[-1].append(text)
        length += len(text)
    return card, [_json(chunk) for chunk in chunks]


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
