"""How Chinese is set: spaces beside Latin letters, full-width punctuation, characters that are themselves.

Own rules and no library: the linters that set Chinese text also set what they do not understand (a ratio, a range, an English
title in a footnote), and these pages are full of it; here a rule that is not sure says nothing.
"""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from project import shown
from rules.problem import Edit, Problem
from rules.source import words

HAN = r"[\u3400-\u4dbf\u4e00-\u9fff]"
TOUCHING = re.compile(rf"(?<={HAN})(?=[A-Za-z0-9])|(?<=[A-Za-z0-9%])(?={HAN})")
# Behind a Chinese character; a comma or colon between digits, or before a Latin word in a footnote, is another thing.
HALF_WIDTH = re.compile(
    rf"(?<={HAN})[,;:!?](?=\s*(?:{HAN}|$|[“（]))|(?<={HAN})\.(?=\s*$|\s*{HAN})|(?<={HAN})\((?=[^()]*\))|(?<![A-Za-z0-9_])\((?={HAN}[^()]*\))",
    re.MULTILINE,
)
FULL_WIDTH = {",": "，", ";": "；", ":": "：", "!": "！", "?": "？", ".": "。", "(": "（"}
FOREIGN = re.compile("[\u2e80-\u2fdf\uf900-\ufaff\U0002f800-\U0002fa1f]")
DOUBLED = re.compile(r"([，。；：、！？])\1+|[，；：、][，。；：、！？]|[。！？][，；：、。]|(?<!\.)\.\.(?!\.)|,,")
SPACED = re.compile(r"(?<=[^\s|])[ \t]+(?=[，。；：、！？）】”])|(?<=[，。；：、！？（【“])[ \t]+(?=[^\s|\x00])")


def chinese_problems(path: Path, text: str | None = None) -> Iterator[Problem]:
    """Check a Chinese text, sentence marks and all; code, addresses and markup aside."""
    raw = text if text is not None else path.read_text("utf-8")
    for number, (line, seen) in enumerate(zip(raw.split("\n"), words(raw).split("\n"), strict=True), 1):
        for found in FOREIGN.finditer(line):
            right = _itself(found[0])
            told = f"{found[0]} is U+{ord(found[0]):04X}, {unicodedata.name(found[0], 'a form')}: write {right} (U+{ord(right[0]):04X})"
            yield Problem(shown(path), number, "Z3", told, Edit(found.start(), found.end(), right))
        if not re.search(HAN, seen):
            continue
        for found in TOUCHING.finditer(seen):
            yield Problem(shown(path), number, "Z1", f"Write {_around(line, found.start(), ' ')}", Edit(found.start(), found.end(), " "))
        for found in HALF_WIDTH.finditer(seen):
            yield _width(path, number, line, found)
        for found in DOUBLED.finditer(seen):
            told = f"{found[0]} stands in {_around(line, found.start())}: keep one"
            yield Problem(
                shown(path), number, "Z4", told, Edit(found.start(), found.end(), found[0][-1] if found[0][0] in "，；：、" else found[0][0])
            )
        for found in SPACED.finditer(seen):
            told = f"Full-width punctuation has no space beside it, as in {_around(line, found.start())}: delete it"
            yield Problem(shown(path), number, "Z2", told, Edit(found.start(), found.end(), ""))


def _width(path: Path, number: int, line: str, found: re.Match[str]) -> Problem:
    told = f"{found[0]} stands in {_around(line, found.start())}: write {FULL_WIDTH[found[0]]}"
    closing = line.find(")", found.start()) if found[0] == "(" else -1
    if closing >= 0:
        return Problem(shown(path), number, "Z2", told, Edit(found.start(), closing + 1, f"（{line[found.start() + 1 : closing]}）"))
    end = found.end() + len(line[found.end() :]) - len(line[found.end() :].lstrip(" "))
    return Problem(shown(path), number, "Z2", told, Edit(found.start(), end, FULL_WIDTH[found[0]]))


def _itself(sign: str) -> str:
    """Give the character that a radical or a compatibility form stands for."""
    plain = unicodedata.normalize("NFKC", sign)
    if plain != sign:
        return plain
    name = unicodedata.name(sign, "").removeprefix("CJK RADICAL ")
    return {"SIMPLE EAT": "食"}.get(name, "?")


def _around(line: str, place: int, put: str = "") -> str:
    return f"{line[max(0, place - 8) : place]}{put}{line[place : place + 8]}".strip()
