"""What a page must be, by itself: its front matter, headings, sections, lead, footnotes, includes and links."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

from pages import CONFIG, Page, nav_paths, read_page
from project import LANGUAGES, ROOT, SNIPPETS, is_question, shown
from rules.problem import Problem, at, line_of, line_with
from rules.source import EMBED, without_blocks, without_code

SECTIONS = ["question", "explanation", "try", "measured", "pitfalls", "follow-ups", "quiz", "references"]
LEVELS = {"basic", "intermediate", "advanced"}
QUESTION_KEYS = {"description", "tags", "checked", "measured"}
OTHER_KEYS = {"description", "hide", "title"}
LEAD_LIMIT = {"zh": 160, "en": 90}
DESCRIPTION_LIMIT = {"zh": 80, "en": 160}
QUIZ = 3
TEMPLATE = "templates/question.md"

HEADING = re.compile(r"^(#{1,6}) (.+?)(?: \{ ?#([\w-]+)[^}]*\})?$", re.MULTILINE)
SECTION = re.compile(r"<!-- --8<-- \[start:(\w+)\] -->\n(.*?)<!-- --8<-- \[end:\1\] -->", re.DOTALL)
FOOTNOTE = re.compile(r"^\[\^([\w-]+)\]:", re.MULTILINE)
CITATION = re.compile(r"(?<=\S)\[\^([\w-]+)\]")
BLOCK_OF_EMBEDS = re.compile(r"^[ \t]*-+8<-+[ \t]*$", re.MULTILINE)
LINK = re.compile(r"\]\((?![a-z][a-z0-9+.-]*:|#|//)([^)\s#]+)")
WORD = re.compile(r"[A-Za-z\u3400-\u9fff]")


def page_problems(path: Path, language: str) -> Iterator[Problem]:
    """Check one page by itself: a question page by all rules, another page by its front matter, ids, includes and links."""
    try:
        page = read_page(path)
    except ValueError as error:
        line = re.search(r"line (\d+)", str(error))
        yield at(path, int(line[1]) if line else 1, "P1", f"It {str(error).removeprefix(f'{shown(path)} ')}")
        return
    question = is_question(page.path) or page.path == TEMPLATE
    yield from _front_matter(page, path, language, question=question)
    yield from _headings(page, path)
    yield from _included(path)
    yield from _linked(path, page, language)
    if question:
        yield from _question(page, path, language)
    if question and page.path != TEMPLATE:
        yield from _waiting(path, language)


def headings(page: Page) -> list[tuple[int, str, str]]:
    """Give a page's headings, outside code: level, text, id."""
    return [(len(marks), title, anchor) for marks, title, anchor in HEADING.findall(without_blocks(page.text))]


def lead_length(text: str, language: str) -> int:
    """Measure a lead: in Chinese its characters, a Latin word or number as two; in English its words."""
    if language == "en":
        return len(text.split())
    words = re.findall(r"[A-Za-z0-9_./×%+\-\[\]]+", text)
    return 2 * len(words) + len(re.findall(r"[\u3400-\u9fff]", text))


def tags_allowed() -> list[str]:
    """Give the tags that mkdocs.yml lists."""
    return list(re.sub(r"\s", "", (re.search(r"tags_allowed: \[([^\]]*)\]", CONFIG.read_text("utf-8")) or ["", ""])[1]).split(","))


def _front_matter(page: Page, path: Path, language: str, *, question: bool) -> Iterator[Problem]:
    text = path.read_text("utf-8")

    def of(key: str, rule: str, told: str) -> Problem:
        return at(path, line_with(text, rf"^{key}:"), rule, told)

    allowed = QUESTION_KEYS if question else OTHER_KEYS
    for unknown in sorted(set(page.meta) - allowed):
        yield of(re.escape(str(unknown)), "P2", f"It holds {unknown}; known are {', '.join(sorted(allowed))}: delete the line")
    description = page.meta.get("description", "")
    if not isinstance(description, str) or not 0 < len(description) <= DESCRIPTION_LIMIT[language]:
        yield of("description", "P3", f"The description has {len(str(description))} characters: write 1 to {DESCRIPTION_LIMIT[language]}")
    if not question:
        return
    tags = page.meta.get("tags") or [""]
    if not isinstance(tags, list) or tags[0] not in LEVELS or LEVELS & set(tags[1:]):
        yield of("tags", "P4", f"The tags begin with one level ({', '.join(sorted(LEVELS))}), then the subjects")
    elif unlisted := [str(tag) for tag in tags if tag not in tags_allowed()]:
        yield of("tags", "P4", f"mkdocs.yml knows no tag {', '.join(unlisted)}; it lists {', '.join(tags_allowed())}")
    checked, today = page.meta.get("checked"), datetime.now(UTC).date()
    if not isinstance(checked, date) or checked > today:
        yield of("checked", "P5", f"checked is {checked}: write the day when you last opened the sources, such as {today}")
    if not page.meta.get("measured"):
        yield of("measured", "P6", "measured says what was measured, for the table on the front page: write a few words")


def _headings(page: Page, path: Path) -> Iterator[Problem]:
    text, seen = without_blocks(path.read_text("utf-8")), set()
    for found in HEADING.finditer(text):
        line, anchor = line_of(text, found.start()), found[3]
        if not anchor:
            yield at(path, line, "P7", f"The heading {found[1]} {found[2]} has no id: write {{ #an-id }} behind it")
        elif anchor in seen:
            yield at(path, line, "P7", f"The id {anchor} stands on an earlier heading too: choose another")
        elif not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", anchor):
            yield at(path, line, "P7", f"The id {anchor} is not in small ASCII letters and digits with hyphens: write it so")
        seen.add(anchor)
    if (count := len([1 for level, *_ in headings(page) if level == 1])) > 1:
        yield at(path, 1, "P1", f"The page has {count} titles: make the others ## sections")


def _included(path: Path) -> Iterator[Problem]:
    text = path.read_text("utf-8")
    for found in BLOCK_OF_EMBEDS.finditer(text):
        yield at(path, line_of(text, found.start()), "H3", 'Write each include in a line of its own: --8<-- "<id>/<file>"')
    for found in EMBED.finditer(text):
        name, _, section = found[1].partition(":")
        target = next((folder / name for folder in (SNIPPETS, ROOT / "docs") if (folder / name).is_file()), None)
        line = line_of(text, found.start() + len(found[0]) - len(found[0].lstrip()))
        if ".." in name.split("/") or name.startswith(("/", "http", ";")) or "\\" in name:
            yield at(path, line, "H3", f"{found[1]} leads out of them: keep the file in snippets/<id> and include it as <id>/<file>")
        elif not target:
            how = f"python3 scripts/record.py {name.partition('/')[0]} makes what a script gives; else mend the name"
            yield at(path, line, "P14", f"There is no snippets/{name}: {how}")
        elif section and f"[start:{section}]" not in target.read_text("utf-8", errors="replace") and not re.fullmatch(r"[\d:,]*", section):
            yield at(path, line, "P14", f"{shown(target)} has no section {section}: mend the name, or mark it with --8<-- [start:{section}]")


def _linked(path: Path, page: Page, language: str) -> Iterator[Problem]:
    text = without_code(path.read_text("utf-8"))
    others = [name for name in LANGUAGES if name != language]
    for found in LINK.finditer(text):
        if found[1].endswith((".md", ".ipynb")) and not (path.parent / found[1]).is_file():
            other = next((name for name in others if (ROOT / "docs" / name / page.path).parent.joinpath(found[1]).is_file()), None)
            way = f"it stands in docs/{other} only: leave the link out until it is translated" if other else "mend the path"
            yield at(path, line_of(text, found.start()), "P15", f"There is no {found[1]} from here: {way}")
    if page.topic != "templates" and page.path not in nav_paths():
        yield at(path, 1, "P16", f"Add the line - {page.path} to nav in mkdocs.yml, below its topic")


def _question(page: Page, path: Path, language: str) -> Iterator[Problem]:
    text = path.read_text("utf-8")
    found = [anchor for level, _, anchor in headings(page) if level <= 2]  # noqa: PLR2004 - the page's own sections
    if found != SECTIONS:
        wrong = next((anchor for anchor, wanted in zip(found, SECTIONS, strict=False) if anchor != wanted), found[-1])
        yield at(path, line_with(text, rf"^##? .*#{wrong}\b"), "P8", f"The sections are {', '.join(found)}; write {', '.join(SECTIONS)}")
    parts = dict(SECTION.findall(page.text))
    for part in ("lead", "pitfall"):
        line = line_with(text, rf"\[start:{part}\]")
        if part not in parts:
            marks = f"<!-- --8<-- [start:{part}] --> and <!-- --8<-- [end:{part}] -->"
            yield at(path, line, "P9", f"The {part} stands between {marks}: copy them from the template")
        elif CITATION.search(parts[part]) or re.search(r"\]\((?!https?:)", parts[part]):
            yield at(path, line, "P9", f"The {part} holds a footnote or a relative link, but other pages include it: cite in the explanation")
    length = lead_length(parts.get("lead", ""), language)
    if length > LEAD_LIMIT[language]:
        yield at(path, line_with(text, r"\[start:lead\]") + 1, "P10", f"The lead counts {length}: shorten it to {LEAD_LIMIT[language]}")
    defined, cited = set(FOOTNOTE.findall(page.text)), set(CITATION.findall(page.text))
    for name in sorted(defined ^ cited):
        missing = "is cited but not defined: define it under References" if name in cited else "is defined but not cited: cite it, or delete it"
        yield at(path, line_with(text, rf"\[\^{re.escape(name)}\]"), "P11", f"The footnote {name} {missing}")
    if not defined:
        yield at(path, line_with(text, r"#references\b"), "P11", "No source is cited: a number or a claim of the hardware names its source")
    quiz = page.text.partition("{ #quiz }")[2].partition("\n## ")[0].count("\n??? question ")
    if quiz < QUIZ and page.path != TEMPLATE:
        yield at(path, line_with(text, r"#quiz\b"), "P12", f"The quiz has {quiz} question{'' if quiz == 1 else 's'}: write {QUIZ} or more")


def _waiting(path: Path, language: str) -> Iterator[Problem]:
    """Name each line that is still the template's."""
    kept = re.compile(r"^(?:## |--8<--|<(?!figcaption)|```|checked:|tags:|---)")
    template = (ROOT / "docs" / language / TEMPLATE).read_text("utf-8").split("\n")
    waiting = {_said(line) for line in template if WORD.search(line) and not kept.match(line)}
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        if _said(line) in waiting:
            yield at(path, number, "P13", f"This line waits for content: {line.strip()[:60]}")


def _said(line: str) -> str:
    """Give a line without what a new question changes in it: a caption's element, the names of its script and parameter."""
    line = re.sub(r"^<figcaption[^>]*>|</figcaption>$", "", line.strip())
    return re.sub(r"\w+\.py\b", "the script", re.sub(r"`[A-Z_]+`", "the parameter", line))
