"""What docs/terms.yml tells the search: each term's names, by which a question is found whatever it is called."""

from dataclasses import dataclass
from typing import Any

from project import TWIN
from search_index.words import joined, normalised, tokens


@dataclass(frozen=True)
class Name:
    """A name of a term, as the tokens that it needs and as one piece."""

    shown: str
    joined: str
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class Term:
    """A term of the glossary, for the search of one language."""

    id: str
    names: tuple[str, ...]  # those of both languages, the main one first
    wrong: tuple[str, ...]  # misspellings, never shown
    page: str
    counted: tuple[Name, ...]  # the names by which a page mentions it


def terms_of(entries: list[dict[str, Any]], language: str) -> list[Term]:
    """Give the glossary's terms for the search of a language."""
    return [_term(entry, language, TWIN[language]) for entry in entries]


def _term(entry: dict[str, Any], language: str, other: str) -> Term:
    own = [_plain(name) for name in [entry[language], *entry.get(f"{language}_also", [])]]
    foreign = [_plain(name) for name in [entry[other], *entry.get(f"{other}_also", [])]]
    counted = tuple(Name(name, joined(normalised(name)), tuple(dict.fromkeys(_needed(name)))) for name in own)
    names: dict[str, str] = {}
    for name in [*own, *foreign]:
        names.setdefault(name.lower(), name)
    return Term(
        entry["id"],
        tuple(names.values()),
        tuple(map(str, entry.get("wrong", []))),
        entry.get("page", ""),
        tuple(name for name in counted if name.tokens),
    )


def _plain(name: object) -> str:
    return str(name).strip("`")


def _needed(name: str) -> list[str]:
    """Give the tokens that a text with this name has: pairs of Chinese characters rather than each alone."""
    found = tokens(normalised(name))
    pairs = [token for token in found if not (len(token) == 1 and not token.isascii())]
    return pairs or found
