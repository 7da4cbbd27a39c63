"""What a page must be: each rule yields a sentence for each breach, that names the file, the rule and the way out."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

from pages import Page, read_page
from project import LANGUAGES, ROOT, SNIPPETS, scripts_of, shown, snippet_folders

SECTIONS = ["question", "explanation", "try", "measured", "pitfalls", "follow-ups", "quiz", "references"]
LEVELS = {"basic", "intermediate", "advanced"}
QUESTION_KEYS = {"description", "tags", "checked", "measured"}
OTHER_KEYS = {"description", "hide", "title"}
LEAD_LIMIT = {"zh": 160, "en": 90}
DESCRIPTION_LIMIT = {"zh": 80, "en": 160}
QUIZ = 3

FENCE = re.compile(r"^(```+|~~~+).*?^\1\s*$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
HEADING = re.compile(r"^(#{1,4}) (.+?)(?: \{ ?#([\w-]+)[^}]*\})?$", re.MULTILINE)
EMBED = re.compile(r'^--8<-- "([^"]+)"$', re.MULTILINE)
RUNNABLE = re.compile(r'data-snippet="([^"]+)"')
SECTION = re.compile(r"<!-- --8<-- \[start:(\w+)\] -->\n(.*?)<!-- --8<-- \[end:\1\] -->", re.DOTALL)
FOOTNOTE = re.compile(r"^\[\^([\w-]+)\]:", re.MULTILINE)
CITATION = re.compile(r"(?<=\S)\[\^([\w-]+)\]")
# A number with two digits or more, or with a fraction; single digits are words as often as not. The sign belongs to prose.
NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.])\d+\.\d+|(?<![\w.])\d{2,}")
ADDRESS = re.compile(r"<https?://[^>]+>|https?://\S+|\]\([^)]*\)|\{[^}]*\}")


def page_problems(path: Path, language: str) -> Iterator[str]:
    """Check one page by itself: a question page by all rules, another page by its front matter and ids."""
    name = shown(path)
    try:
        page = read_page(path)
    except ValueError as error:
        yield str(error)
        return
    question = is_question(page)
    yield from _front_matter(page, name, language, question=question)
    for level, title, anchor in headings(page):
        if not anchor:
            yield f"{name}: the heading {'#' * level} {title} has no id: write {{ #an-id }} behind it, the same in both languages"
    if question:
        yield from _question(page, name, language)


def twin_problems(path: str) -> Iterator[str]:
    """Compare a page's two languages: the same headings, embeds and runnable blocks in order, the same numbers in each section."""
    zh, en = (read_page(ROOT / "docs" / language / path) for language in LANGUAGES)
    for what, of in (("headings", _skeleton), ("embeds", _embeds)):
        ours, theirs = of(zh), of(en)
        if ours != theirs:
            differing = [f"{a} / {b}" for a, b in zip(ours, theirs, strict=False) if a != b] or [str((ours + theirs)[min(len(ours), len(theirs))])]
            yield f"docs/zh/{path} and docs/en/{path} differ in {what}, first in {differing[0]}: twins have the same, in the same order"
    # The templates speak of limits, which differ.
    numbers = [section_numbers(page) if zh.topic != "templates" else {} for page in (zh, en)]
    for section in numbers[0].keys() & numbers[1].keys():
        only = [numbers[0][section] - numbers[1][section], numbers[1][section] - numbers[0][section]]
        if any(only):
            sides = "; ".join(f"only in {language}: {', '.join(sorted(side))}" for language, side in zip(LANGUAGES, only, strict=True) if side)
            yield f"{path}, section {section}: the languages state different numbers ({sides})"
    if any(page.meta.get(key) != zh.meta.get(key) for page in (zh, en) for key in ("tags", "checked")):
        yield f"docs/zh/{path} and docs/en/{path} differ in tags or checked"


def orphans() -> Iterator[str]:
    """Name each output, table, kernel or script of a snippet that no page or lab shows and nothing uses."""
    pages = {language: [*(ROOT / "docs" / language).rglob("*.md"), *(SNIPPETS / "labs").glob(f"*.{language}.py")] for language in LANGUAGES}
    texts = {language: "\n".join(path.read_text("utf-8") for path in paths) for language, paths in pages.items()}
    for folder in snippet_folders():
        used = {path.name for bench in scripts_of(folder, "bench", "asm") for path in _named(bench)}
        for path in sorted(folder.iterdir()):
            wanted = [language for language in LANGUAGES if f".{language}." in path.name] or list(LANGUAGES)
            if path.suffix in {".txt", ".svg", ".md"}:
                for language in wanted:
                    if f"{folder.name}/{path.name}" not in texts[language]:
                        yield f"{shown(path)} is shown on no page in docs/{language} and by no lab: include it, or delete its script"
            elif path.suffix == ".cu" and path.name not in used:
                yield f"{shown(path)} is compiled by no asm_ or bench_ script: use it, or delete it"
            elif path.suffix == ".csv" and not path.with_suffix(".json").is_file():
                yield f"{shown(path)} holds the counters of no record: keep it beside {path.stem}.json, or delete it"
            elif path.suffix not in {".cu", ".py", ".json", ".csv"} and not path.is_dir():
                yield f"{shown(path)} is no file of the snippet protocol: see CONTRIBUTING.md"


def is_question(page: Page) -> bool:
    """Tell whether a page is a question's: one with a folder of snippets, or the template."""
    return ((SNIPPETS / Path(page.path).stem).is_dir() and page.topic != page.path) or page.path == "templates/question.md"


def headings(page: Page) -> list[tuple[int, str, str]]:
    """Give a page's headings, outside code: level, text, id."""
    return [(len(marks), title, anchor) for marks, title, anchor in HEADING.findall(_prose(page.text))]


def lead_length(text: str, language: str) -> int:
    """Measure a lead: in Chinese its characters, a Latin word or number as two; in English its words."""
    if language == "en":
        return len(text.split())
    words = re.findall(r"[A-Za-z0-9_./×%+\-\[\]]+", text)
    return 2 * len(words) + len(re.findall(r"[\u3400-\u9fff]", text))


def section_numbers(page: Page) -> dict[str, set[str]]:
    """Give the numbers that each section's prose states, by the section's id, without separators."""
    parts = re.split(
        r"^## .*?\{ ?#([\w-]+)[^}]*\}$",
        ADDRESS.sub(lambda match: match[0] if match[0].startswith("{ #") else " ", _prose(page.text)),
        flags=re.MULTILINE,
    )
    named = {"lead": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}
    return {name: {number.replace(",", "") for number in NUMBER.findall(text)} for name, text in named.items() if name != "references"}


def pairs() -> list[str]:
    """Give the paths of all Markdown pages that stand in both languages."""
    found = [{path.relative_to(ROOT / "docs" / language).as_posix() for path in (ROOT / "docs" / language).rglob("*.md")} for language in LANGUAGES]
    return sorted(found[0] & found[1])


def _front_matter(page: Page, name: str, language: str, *, question: bool) -> Iterator[str]:
    allowed = QUESTION_KEYS if question else OTHER_KEYS
    if unknown := set(page.meta) - allowed:
        yield f"{name}: the front matter holds {', '.join(sorted(unknown))}; known are {', '.join(sorted(allowed))}"
    description = page.meta.get("description", "")
    if not description or len(description) > DESCRIPTION_LIMIT[language]:
        yield f"{name}: the description has {len(description)} characters: one sentence of 1 to {DESCRIPTION_LIMIT[language]}"
    if not question:
        return
    tags = page.meta.get("tags") or [""]
    if tags[0] not in LEVELS or LEVELS & set(tags[1:]):
        yield f"{name}: the tags begin with one level ({', '.join(sorted(LEVELS))}), then the subjects"
    checked = page.meta.get("checked")
    if not isinstance(checked, date) or checked > datetime.now(UTC).date():
        yield f"{name}: checked is the day when the sources were last opened, such as {datetime.now(UTC).date()}; it is {checked}"
    if not page.meta.get("measured"):
        yield f"{name}: measured says in a few words what was measured, for the table on the front page"


def _question(page: Page, name: str, language: str) -> Iterator[str]:
    found = [anchor for level, _, anchor in headings(page) if level <= 2]  # noqa: PLR2004 - the page's own sections
    if found != SECTIONS:
        yield f"{name}: the sections are {', '.join(found)}; a question page has {', '.join(SECTIONS)}, in this order"
    parts = dict(SECTION.findall(page.text))
    for part in ("lead", "pitfall"):
        if part not in parts:
            yield f"{name}: the {part} stands between <!-- --8<-- [start:{part}] --> and <!-- --8<-- [end:{part}] -->, as in the template"
        elif CITATION.search(parts[part]) or re.search(r"\]\((?!https?:)", parts[part]):
            yield f"{name}: the {part} holds a footnote or a relative link, but other pages include it: cite in the explanation"
    length = lead_length(parts.get("lead", ""), language)
    if length > LEAD_LIMIT[language]:
        yield f"{name}: the lead counts {length}, at most {LEAD_LIMIT[language]} fit in half a minute"
    defined, cited = set(FOOTNOTE.findall(page.text)), set(CITATION.findall(page.text))
    if defined != cited:
        yield f"{name}: footnotes cited but not defined, or defined but not cited: {', '.join(sorted(defined ^ cited))}"
    if not defined:
        yield f"{name}: no source is cited: a number or a claim of the hardware names its source as a footnote"
    quiz = page.text.partition("{ #quiz }")[2].partition("\n## ")[0].count("\n??? question ")
    if quiz < QUIZ and page.path != "templates/question.md":
        yield f"{name}: the quiz has {quiz} questions: write {QUIZ}, each as ??? question"


def _skeleton(page: Page) -> list[str]:
    return [f"{'#' * level} {anchor}" for level, _, anchor in headings(page)]


def _embeds(page: Page) -> list[str]:
    found = re.findall(rf"{EMBED.pattern}|{RUNNABLE.pattern}", page.text, re.MULTILINE)
    return [re.sub(r"\.(zh|en)\.md", ".*.md", embed or runnable) for embed, runnable in found]


def _prose(text: str) -> str:
    return COMMENT.sub("", FENCE.sub("", text))


def _named(script: Path) -> Iterator[Path]:
    for path in script.parent.glob("*.cu"):
        if path.name in script.read_text("utf-8"):
            yield path
