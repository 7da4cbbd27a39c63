"""What a page, a figure, a notebook and the glossary may hold, as strangers write them: parsed as a browser would, against a list."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from selectolax.lexbor import LexborHTMLParser

from rules.allowed import FIGURE, WRITTEN, refused
from rules.problem import Problem, at, line_of, line_with
from rules.rendered import elements, tree_of
from rules.source import FRONT_MATTER, blank, without_code

TAG = re.compile(r"<([A-Za-z][\w:-]*)((?:\s[^<>]*)?)/?>")
ATTRIBUTE = re.compile(r"([^\s\"'=<>/]+)(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'>]+))?")
MARKUP = re.compile(r"<[A-Za-z/!?]|&#|[\"`]\s*>")
FENCE_HEAD = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^{\n`]*\{([^\n]*)\}[ \t]*$", re.MULTILINE)
OPTION = re.compile(r"([^\s=]+)=(\"[^\"]*\"|'[^']*'|\S+)")
OPTIONS = {"title", "data-snippet", "data-draw", "hl_lines", "linenums"}
FENCE_MARK = re.compile(r"[ \t]*(?:`{3,}|~{3,})")
AUTOLINK = re.compile(r"<(?:https?|mailto):[^>\s]*>")
Found = tuple[int, str, str]  # the line, the rule, the sentence
OUTPUTS = {"text/plain", "text/markdown", "image/svg+xml"}
CELLS = {"markdown", "code"}


def page_contents(path: Path, text: str | None = None) -> Iterator[Problem]:
    """Check a page's own HTML, then all that its Markdown makes, with what it includes."""
    raw = text if text is not None else path.read_text("utf-8")
    plain = without_code(raw)
    found = dict.fromkeys([*_in_source(plain), *_in_heads(raw)])
    for node in elements(tree_of(raw)):
        for rule, pattern, told in refused(node):
            found[line_with(plain, f"(?i){pattern}"), rule, told] = None
    # What was found at its place in the source needs no second line.
    placed = {told.partition(">")[0] for number, _, told in found if number > 1}
    for number, rule, told in found:
        if number > 1 or told.partition(">")[0] not in placed:
            yield at(path, number, rule, told)


def code_contents(path: Path) -> Iterator[Problem]:
    """Check a script or an output, which a page shows within a block of code."""
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        if FENCE_MARK.match(line):
            yield at(path, number, "H1", f"{line.strip()[:20]} would end the block of code that shows it: write it in another way")


def figure_contents(path: Path, text: str | None = None) -> Iterator[Problem]:
    """Check an SVG, which a page inlines and so a browser parses as HTML."""
    raw = text if text is not None else path.read_text("utf-8")
    yield from (at(path, line, "H4", told) for line, told in _figure(raw))


def notebook_contents(path: Path) -> Iterator[Problem]:
    """Check a notebook's cells and what they left."""
    raw = path.read_text("utf-8")
    try:
        cells: list[dict[str, Any]] = json.loads(raw)["cells"]
    except (ValueError, KeyError, TypeError) as error:
        yield at(path, 1, "H5", f"It is no notebook ({error}): python3 scripts/record.py labs makes it from snippets/labs")
        return
    for number, cell in enumerate(cells, 1):
        line = line_with(raw, rf'"id": "{re.escape(str(cell.get("id", "")))}"')
        for told in _cell(cell):
            yield at(path, line, "H5", f"Cell {number}: {told}; mend it in snippets/labs, then python3 scripts/record.py labs")


def list_contents(path: Path) -> Iterator[Problem]:
    """Check the strings of the glossary or the errata, which go into pages, titles and the search."""
    raw = path.read_text("utf-8")
    try:
        entries = yaml.safe_load(raw)
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 1
        yield at(path, line, "H6", f"It is no YAML: {' '.join(str(error).split())[:120]}: quote the string")
        return
    for entry in entries or []:
        for key, value in entry.items():
            for text in map(str, value if isinstance(value, list) else [value]):
                bad = next((told for node in elements(tree_of(text)) for *_, told in refused(node)), None)
                bad = bad or (f"{text[:60]} holds HTML: write words" if MARKUP.search(without_code(text)) else None)
                if bad:
                    yield at(path, line_with(raw, re.escape(text[:30])), "H6", f"{key} of {entry.get('id', entry.get('page'))}: {bad}")


def built_contents(path: Path) -> Iterator[Problem]:
    """Check a built page's article against the same list, and all of the page for what runs or loads."""
    tree = LexborHTMLParser(path.read_text("utf-8"))
    for node in tree.css("article.md-content__inner *"):
        for rule, _pattern, told in refused(node, built=True):
            yield at(path, 1, rule, told)
    for node in tree.css("*"):
        if node.tag in {"iframe", "frame", "object", "embed", "base", "applet"}:
            yield at(path, 1, "H1", f"<{node.tag}> stands in it: no page may have one")
        for name in node.attributes:
            if name.startswith("on") or name == "style":
                yield at(path, 1, "H1", f"<{node.tag}> has {name}: no page may")


def _in_source(plain: str) -> Iterator[Found]:
    """Find the HTML that the author wrote."""
    for each in TAG.finditer(AUTOLINK.sub(blank, plain)):
        for told in _written(each):
            yield line_of(plain, each.start()), "H1", told


def _in_heads(raw: str) -> Iterator[Found]:
    """Find what the heads of code blocks and the front matter may not hold."""
    for head in FENCE_HEAD.finditer(raw):
        for option in OPTION.finditer(head[1]):
            line = line_of(raw, head.start(1))
            if option[1] not in OPTIONS:
                yield line, "H1", f"A block of code may not have {option[1]}: it may have {', '.join(sorted(OPTIONS))}"
            elif option[1] == "title" and MARKUP.search(option[2]):
                yield line, "H6", f"The title of code holds {option[2][:60]}: write the file's name"
    if matter := FRONT_MATTER.match(raw):
        for number, text in enumerate(matter[0].split("\n"), 1):
            if MARKUP.search(text):
                yield number, "H6", f"The front matter holds {text.strip()[:60]}: write it without < > and entities"


def _written(tag: re.Match[str]) -> Iterator[str]:
    name = tag[1].lower()
    if name in FIGURE or name not in WRITTEN:
        yield f"<{name}> is none of them: write it as Markdown, or leave it out"
        return
    for attribute in ATTRIBUTE.finditer(tag[2].rstrip("/")):
        if attribute[1].lower() not in WRITTEN[name]:
            yield f"<{name}> may not have {attribute[1]}: delete it"


def _figure(raw: str) -> Iterator[tuple[int, str]]:
    if found := re.search(r"<[!?](?!--)", raw):
        yield line_of(raw, found.start()), f"It holds {raw[found.start() : found.start() + 12]}: begin with <svg"
        return
    roots = LexborHTMLParser(raw).css("body > *")
    if [node.tag for node in roots] != ["svg"]:
        yield 1, f"It holds {', '.join(node.tag or '' for node in roots)}: one <svg>, and nothing beside it"
    for root in roots:
        for node in root.css("*"):
            if (node.tag or "").lower() not in FIGURE:
                yield line_with(raw, rf"(?i)<{re.escape(node.tag or '')}\b"), f"<{node.tag}> is no shape and no text: leave it out"
                continue
            for _rule, pattern, told in refused(node):
                yield line_with(raw, f"(?i){pattern}"), told


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    if cell.get("cell_type") not in CELLS or cell.get("attachments"):
        yield f"a cell of the kind {cell.get('cell_type')}, or with attachments, is not shown"
        return
    if cell["cell_type"] == "markdown":
        yield from _markdown("".join(cell["source"]))
    for output in cell.get("outputs", []):
        for kind, value in output.get("data", {}).items():
            text = "".join(value) if isinstance(value, list) else str(value)
            if kind not in OUTPUTS:
                yield f"it leaves {kind}, which the page does not show"
            elif kind == "text/markdown":
                yield from _markdown(text)
            elif kind == "image/svg+xml":
                yield from (told for _, told in _figure(text))


def _markdown(text: str) -> Iterator[str]:
    for node in elements(tree_of(text)):
        yield from (told for *_, told in refused(node))
    for each in TAG.finditer(AUTOLINK.sub(blank, without_code(text))):
        yield from _written(each)
