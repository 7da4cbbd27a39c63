"""What the tests of the search share with its benchmark: the queries, and what a search answered to them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

LANGUAGES = {"zh": "", "en": "en/"}
FOLDER = Path(__file__).parent
IDENTIFIERS = {"identifier", "part", "cut"}
SHOWN = 8


@dataclass(frozen=True)
class Query:
    """One query of a language's site, and the pages that it has to find, by the last part of their address."""

    language: str
    query: str
    kind: str
    first: list[str] = field(default_factory=list)
    three: list[str] = field(default_factory=list)
    said: str = ""
    blind: bool = False
    why: str = ""  # why it misses, where it is known to


@dataclass(frozen=True)
class Answer:
    """What a search answered: the pages, best first, and what it told above them."""

    pages: list[str]
    said: list[str] = field(default_factory=list)


@dataclass
class Score:
    """How many queries found what they had to."""

    asked: int = 0
    first: int = 0
    three: int = 0
    identifiers: int = 0
    identifiers_first: int = 0
    left_out: int = 0
    misses: list[str] = field(default_factory=list)

    def rate(self, count: int) -> float:
        """Give a count as a share of the queries asked."""
        return count / self.asked


def queries(language: str) -> list[Query]:
    """Read a language's queries: those of its own file, and of each question's file those that name the language."""
    entries: list[dict[str, Any]] = yaml.safe_load((FOLDER / f"{language}.yml").read_text("utf-8"))
    for path in sorted(FOLDER.glob("*.yml")):
        if path.stem not in LANGUAGES:
            entries += [entry for entry in yaml.safe_load(path.read_text("utf-8")) if entry["language"] == language]
    return [Query(**{"language": language, **entry}) for entry in entries]


def pages_of(site: Path, language: str) -> set[str]:
    """Give the names of a language's pages in a built site."""
    root = site / LANGUAGES[language]
    found = [path.parent.relative_to(root) for path in root.rglob("index.html")]
    return {path.name for path in found if language == "en" or path.parts[:1] != ("en",)}


def name_of(address: str) -> str:
    """Give the last part of a page's address."""
    return address.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2]


def scored(asked: list[Query], existing: set[str], answer: Callable[[Query], Answer]) -> Score:
    """Ask each query whose pages exist, and count."""
    score = Score()
    for query in asked:
        wanted = [page for page in query.first if page in existing]
        if query.kind != "nonsense" and not wanted:
            score.left_out += 1
            continue
        found = answer(query)
        first = found.pages[:1] == [] if query.kind == "nonsense" else found.pages[:1] != [] and found.pages[0] in wanted
        beside = [page for page in query.three if page in existing]
        three = first if query.kind == "nonsense" else bool(set(wanted) & set(found.pages[:3])) and set(beside) <= set(found.pages[:3])
        score.asked += 1
        score.first += first
        score.three += three
        score.identifiers += query.kind in IDENTIFIERS
        score.identifiers_first += first and query.kind in IDENTIFIERS
        if not (first and three):
            blind = ", blind" if query.blind else ""
            wish = " or ".join(wanted) or "nothing"
            got = " ".join(found.pages[:4]) or "nothing"
            score.misses.append(f"{query.language} {query.query} ({query.kind}{blind}): wants {wish}, got {got}. {query.why}")
    return score
