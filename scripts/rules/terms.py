"""What things are called: docs/terms.yml lists the names, right and wrong; docs/words.yml what is right all the same."""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from project import ROOT, shown
from rules.english import allowed_words
from rules.problem import Edit, Problem
from rules.source import words

HAN = re.compile(r"[\u3400-\u9fff]")
QUOTED = re.compile(r"“[^”\n]*”|\"[^\"\n]*\"")


def term_problems(path: Path, language: str, text: str | None = None) -> Iterator[Problem]:
    """Check the names of things in a text; what stands in quotation marks is somebody's saying."""
    raw = text if text is not None else path.read_text("utf-8")
    wrong, pattern, chinese = _lists((ROOT / "docs" / "terms.yml").read_text("utf-8"), tuple(allowed_words()))
    for number, seen in enumerate(words(raw).split("\n"), 1):
        said = QUOTED.sub(lambda match: "\x00" * len(match[0]), seen)
        for found in pattern.finditer(said) if pattern else ():
            right = wrong[found[0].lower()][language]
            if found[0].lower() == right.lower():
                continue
            told = f"{found[0]} is no name of it: write {right.replace('`', '')}, or allow it in docs/words.yml with a reason"
            yield Problem(shown(path), number, "W1", told, Edit(found.start(), found.end(), right))
        if language == "zh":
            for name, stays in chinese.items():
                for found in re.finditer(re.escape(name), said):
                    if _alone(said, found.start(), found.end(), chinese):
                        told = f"{name} stands alone: write {stays}, or {stays}（{name}） where it is said first"
                        yield Problem(shown(path), number, "W2", told, Edit(found.start(), found.end(), _spaced(said, found, stays)))


@lru_cache(maxsize=4)
def _lists(text: str, allowed: tuple[str, ...]) -> tuple[dict[str, dict[str, str]], re.Pattern[str] | None, dict[str, str]]:
    """Give the wrong names with the right one in each language, a pattern of them all, and the Chinese names of terms that stay English."""
    entries: list[dict[str, Any]] = yaml.safe_load(text)
    right = {str(entry[key]).lower() for entry in entries for key in ("zh", "en")}
    wrong = {
        str(name).lower(): {language: str(entry[language]) for language in ("zh", "en")}
        for entry in entries
        for name in entry.get("wrong", [])
        if str(name).lower() not in allowed and str(name).lower() not in right
    }
    parts = [re.escape(name) if HAN.search(name) else rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in sorted(wrong, key=len, reverse=True)]
    chinese = {
        str(name): str(entry["zh"])
        for entry in entries
        for name in entry.get("zh_also", [])
        if not HAN.search(str(entry["zh"])) and re.fullmatch(r"[\u3400-\u9fff]{2,}", str(name)) and str(name) not in allowed
    }
    return wrong, re.compile("|".join(parts), re.IGNORECASE) if parts else None, chinese


def _alone(seen: str, start: int, end: int, names: dict[str, str]) -> bool:
    """Tell a name that stands alone from one in brackets, and from a part of a longer word that means something else."""
    if (
        seen[start - 1 : start] == "（"
        or seen[max(0, start - 2) : start] in {"也叫", "称为", "叫做", "即"}
        or seen[start - 1 : start] in {"、", "即", "叫"}
    ):
        return False
    return not any(seen[start : start + len(other)] == other for other in names if other != seen[start:end] and len(other) > end - start)


def _spaced(seen: str, found: re.Match[str], name: str) -> str:
    before = " " if HAN.match(seen[found.start() - 1 : found.start()]) else ""
    return f"{before}{name}{' ' if HAN.match(seen[found.end() : found.end() + 1]) else ''}"
