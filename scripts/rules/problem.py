"""The rules by id, as CONTRIBUTING.md lists them, and what a breach of one says: file, line, rule, and the way out."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from project import shown

RULES = {
    "F1": "A file is a plain file inside the project",
    "F2": "A file is at most 1 MB",
    "F3": "Text is UTF-8, without control characters and without signs that hide or turn text",
    "F4": "A name is in small ASCII letters, digits, hyphens, underscores and dots",
    "F5": "docs holds pages in .md, the notebooks of labs, and lists in .yml; what a page shows beyond prose lies in snippets",
    "P1": "A page begins with front matter, then has one title: # and the question",
    "P2": "The front matter holds the keys that a page of its kind uses",
    "P3": "The description is one sentence, at most 80 Chinese or 160 English characters",
    "P4": "The tags are one level, then subjects from the list in mkdocs.yml",
    "P5": "checked is the day when the sources were last opened",
    "P6": "measured says in a few words what was measured",
    "P7": "Each heading has an id of its own, the same in both languages",
    "P8": "A question has the template's sections, in its order",
    "P9": "The lead and a pitfall stand between their marks, without footnotes and relative links",
    "P10": "The lead fits in half a minute: 160 Chinese characters or 90 English words",
    "P11": "Each source is a footnote, and each footnote is cited",
    "P12": "The quiz has three questions or more, each as ??? question",
    "P13": "The template's own words are replaced",
    "P14": "An included file or section exists",
    "P15": "A relative link leads to a page that exists",
    "P16": "A page stands in the nav of mkdocs.yml",
    "P17": "A sentence marked wait: is settled when the record is there",
    "T1": "Twins have the same headings, in the same order",
    "T2": "Twins include the same files, in the same order",
    "T3": "Twins state the same numbers in each section",
    "T4": "Twins have the same tags and the same checked",
    "S1": "What a snippet printed is shown on a page",
    "S2": "A kernel is compiled by an asm_ or bench_ script",
    "S3": "Counters lie beside the record that they were read with",
    "S4": "A folder of snippets holds the files of the snippet protocol",
    "S5": "What runs in the page imports the standard library and its siblings alone",
    "S6": "A kernel's first line declares its architectures",
    "S7": "A bench holds TABLES, predict, check and main",
    "S8": "A kept output is what its script gives",
    "S9": "A bench without a record can be tried without a GPU: inputs, predict and check run",
    "C1": "Python passes ruff and mypy, with the settings of pyproject.toml",
    "R1": "A record is JSON with its fields, each once, and no others",
    "R2": "A record is of its sources, or of an earlier version of them that git knows",
    "R3": "A record agrees with the model",
    "R4": "A record shows what its bench claims, or says that it differs",
    "R5": "A number is one that can be: finite, not negative, a time above zero, a share of a whole at most 100 %",
    "R6": "A rate is within what the card can do",
    "R7": "A record is named after its card, and its fields fit that card",
    "R8": "A record is of a day that has been",
    "R9": "A record's words are plain text",
    "R10": "A record's rows are whole, and its measurements are its own",
    "R11": "A bench has a record, of an H200 or of a CPU",
    "Z1": "A space stands between Chinese and Latin letters or digits",
    "Z2": "A Chinese sentence has full-width punctuation",
    "Z3": "A Chinese character is itself, no radical and no compatibility form",
    "Z4": "Punctuation stands once",
    "E1": "English words are spelt right",
    "E2": "An English sentence has half-width punctuation",
    "E3": "A word stands once",
    "W1": "A term has none of the wrong names that docs/terms.yml lists",
    "W2": "A term that stays English has its Chinese name once, in brackets behind it",
    "H1": "A page holds Markdown, and of HTML only the elements and attributes listed in scripts/rules/allowed.py",
    "H2": "A link leads to a page of the site or to https; nothing is loaded from elsewhere",
    "H3": "An include stays in snippets and docs",
    "H4": "An SVG holds shapes and text: no script, style, link or foreign element",
    "H5": "A notebook holds text and figures that pass the same rules",
    "H6": "Titles, front matter and terms are words, without HTML",
}


@dataclass(frozen=True, order=True)
class Edit:
    """What mends a line: the columns from start to end become the text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, order=True)
class Problem:
    """One breach of a rule; printed, it names the file, the line, the rule, and what to do."""

    path: str
    line: int
    rule: str
    text: str
    edit: Edit | None = field(default=None, compare=False)

    def __str__(self) -> str:
        """Give the line that a terminal shows, and that an editor can jump from."""
        return f"{self.path}:{self.line}: {self.rule} {RULES[self.rule]}. {self.text}"

    def annotation(self) -> str:
        """Give the line by which GitHub shows a problem beside the changed file."""
        return f"::error file={_escaped(self.path)},line={self.line},title={self.rule} {_escaped(RULES[self.rule])}::{_escaped(self.text, ',:')}"


def line_of(text: str, offset: int) -> int:
    """Count the line, from 1, in which an offset lies."""
    return text.count("\n", 0, offset) + 1


def line_with(text: str, pattern: str) -> int:
    """Give the first line that a pattern matches, or 1."""
    found = re.search(pattern, text, re.MULTILINE)
    return line_of(text, found.start()) if found else 1


def at(path: Path, line: int, rule: str, text: str) -> Problem:
    """Make a problem of a file of the project."""
    return Problem(shown(path), line, rule, text)


def _escaped(text: str, kept: str = "") -> str:
    marks = {"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"}
    return "".join(char if char in kept else marks.get(char, char) for char in text)
