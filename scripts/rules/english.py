"""How English is spelt, in pages of either language: codespell's list of misspellings, doubled words, and half-width punctuation."""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

import yaml

from project import ROOT, shown
from rules.problem import Edit, Problem
from rules.source import words

# Two letters are a symbol as often as a word.
WORD = re.compile(r"[A-Za-z][A-Za-z'’-]+[A-Za-z]")
TWICE = re.compile(r"\b([A-Za-z]{2,})\s+\1\b", re.IGNORECASE)
MAY_STAND_TWICE = {"that", "had", "is"}
WIDE = re.compile("[\u3001\u3002\uff0c\uff1b\uff1a\uff01\uff1f\uff08\uff09]")
HALF = dict(zip("、。，；：！？（）", ",.,;:!?()", strict=True))
HAN = re.compile("[\u3400-\u9fff]")


def english_problems(path: Path, language: str, text: str | None = None) -> Iterator[Problem]:
    """Check the English words of a text; in a Chinese page, punctuation is another rule's."""
    raw = text if text is not None else path.read_text("utf-8")
    known, allowed = misspellings(), allowed_words()
    for number, (line, seen) in enumerate(zip(raw.split("\n"), words(raw).split("\n"), strict=True), 1):
        for found in WORD.finditer(seen):
            word = found[0].lower().replace("’", "'")
            if word in known and word not in allowed:
                right = known[word]
                told = f"{found[0]} is spelt {' or '.join(right)}: mend it, or allow it in docs/words.yml with a reason"
                edit = Edit(found.start(), found.end(), _cased(right[0], found[0])) if len(right) == 1 else None
                yield Problem(shown(path), number, "E1", told, edit)
        for found in TWICE.finditer(seen):
            if found[1].lower() not in MAY_STAND_TWICE and found[1] == found[1].lower():
                told = f"{found[0]} stands there twice: delete one"
                yield Problem(shown(path), number, "E3", told, Edit(found.start(), found.end(), found[1]))
        if language == "en" and not HAN.search(seen):
            for found in WIDE.finditer(seen):
                told = f"{found[0]} stands in {line[max(0, found.start() - 8) : found.end() + 8]}: write {HALF[found[0]]}"
                yield Problem(shown(path), number, "E2", told, Edit(found.start(), found.end(), HALF[found[0]]))


@cache
def misspellings() -> dict[str, list[str]]:
    """Give codespell's list: each wrong word with what it may mean."""
    text = (files("codespell_lib") / "data" / "dictionary.txt").read_text("utf-8")
    pairs = (line.split("->") for line in text.splitlines() if "->" in line)
    # Several meanings end with a comma; behind it may stand a remark.
    return {wrong.lower(): [each.strip() for each in (right.rpartition(",")[0] if "," in right else right).split(",")] for wrong, right in pairs}


@cache
def _allowed(text: str) -> dict[str, str]:
    return {str(word).lower(): str(reason) for word, reason in (yaml.safe_load(text) or {}).items()}


def allowed_words() -> dict[str, str]:
    """Give the words that are right here although a rule takes them for wrong, each with its reason."""
    return _allowed((ROOT / "docs" / "words.yml").read_text("utf-8"))


def _cased(right: str, wrong: str) -> str:
    return right.upper() if wrong.isupper() else right.capitalize() if wrong[0].isupper() else right
