"""What the two languages of a page share; a page in one language only is welcome, and named."""

import re
from collections.abc import Iterator
from pathlib import Path

from pages import Page, read_page
from project import LANGUAGES, ROOT
from rules.page import headings
from rules.problem import Problem, at, line_with
from rules.source import EMBED, without_blocks

RUNNABLE = re.compile(r'data-snippet="([^"]+)"')
# A number with two digits or more, or with a fraction; single digits are words as often as not. The sign belongs to prose.
NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.])\d+\.\d+|(?<![\w.])\d{2,}")
ADDRESS = re.compile(r"<https?://[^>]+>|https?://\S+|\]\([^)]*\)|\{[^}]*\}")


def twin_problems(path: str) -> Iterator[Problem]:
    """Compare a page's two languages: the same headings, embeds and runnable blocks in order, the same numbers in each section."""
    places = [ROOT / "docs" / language / path for language in LANGUAGES]
    zh, en = (read_page(place) for place in places)
    for what, rule, of in (("headings", "T1", _skeleton), ("includes", "T2", _embeds)):
        ours, theirs = of(zh), of(en)
        if ours != theirs:
            ours, theirs = [*ours, "nothing"], [*theirs, "nothing"]
            here, there = next((a, b) for a, b in zip(ours, theirs, strict=False) if a != b)
            line = line_with(places[1].read_text("utf-8"), re.escape(there.partition(".*")[0].rpartition(" ")[2]))
            told = f"The {what} differ from docs/zh/{path}, first in {here} there and {there} here: make them the same, in the same order"
            yield at(places[1], line, rule, told)
    # The templates speak of limits, which differ.
    numbers = [section_numbers(page) if zh.topic != "templates" else {} for page in (zh, en)]
    for section in numbers[0]:
        sides = [numbers[0][section] - numbers[1].get(section, set()), numbers[1].get(section, set()) - numbers[0][section]]
        if section in numbers[1] and any(sides):
            told = "; ".join(f"only docs/{language} has {', '.join(sorted(side))}" for language, side in zip(LANGUAGES, sides, strict=True) if side)
            line = _line_of_number(places[1] if sides[1] else places[0], section, min(sides[1] or sides[0]))
            yield at(places[1] if sides[1] else places[0], line, "T3", f"In the section {section}, {told}: write the same in both")
    for key in ("tags", "checked"):
        if zh.meta.get(key) != en.meta.get(key):
            line = line_with(places[1].read_text("utf-8"), rf"^{key}:")
            yield at(places[1], line, "T4", f"{key} is {en.meta.get(key)} here and {zh.meta.get(key)} in docs/zh/{path}: write the same")


def pairs() -> list[str]:
    """Give the paths of all Markdown pages that stand in both languages."""
    found = [{path.relative_to(ROOT / "docs" / language).as_posix() for path in (ROOT / "docs" / language).rglob("*.md")} for language in LANGUAGES]
    return sorted(found[0] & found[1])


def section_numbers(page: Page) -> dict[str, set[str]]:
    """Give the numbers that each section's prose states, by the section's id, without separators."""
    text = ADDRESS.sub(lambda match: match[0] if match[0].startswith("{ #") else " ", without_blocks(page.text))
    parts = re.split(r"^## .*?\{ ?#([\w-]+)[^}]*\}$", text, flags=re.MULTILINE)
    named = {"lead": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}
    return {name: {number.replace(",", "") for number in NUMBER.findall(part)} for name, part in named.items() if name != "references"}


def _line_of_number(path: Path, section: str, number: str) -> int:
    text = path.read_text("utf-8")
    first = 1 if section == "lead" else line_with(text, rf"^## .*#{section}\b")
    for line, words in enumerate(text.split("\n")[first - 1 :], first):
        if number in {each.replace(",", "") for each in NUMBER.findall(words)}:
            return line
    return first


def _skeleton(page: Page) -> list[str]:
    return [f"{'#' * level} {anchor}" for level, _, anchor in headings(page)]


def _embeds(page: Page) -> list[str]:
    found = re.findall(rf"{EMBED.pattern}|{RUNNABLE.pattern}", page.text, re.MULTILINE)
    return [re.sub(r"\.(zh|en)\.md", ".*.md", embed or runnable) for embed, runnable in found]
