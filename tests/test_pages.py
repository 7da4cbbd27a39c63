"""Every file keeps the rules of scripts/rules, and a page's rules notice what they are for."""

from pathlib import Path

import pytest

import concerns
import pages
from project import LANGUAGES, ROOT, shown, snippet_folders
from rules import contents, files, page, snippets, twins

ALL = [path for language in LANGUAGES for path in sorted((ROOT / "docs" / language).rglob("*.md"))]


@pytest.mark.parametrize("path", ALL, ids=map(shown, ALL))
def test_page(path: Path) -> None:
    # Rules of text and of what a page may hold as well: all that dev.py check says of a page.
    assert list(concerns.of_file(shown(path), path)) == []


@pytest.mark.parametrize("path", twins.pairs())
def test_twins(path: str) -> None:
    assert list(twins.twin_problems(path)) == []


@pytest.mark.parametrize("folder", snippet_folders(), ids=lambda folder: folder.name)
def test_folder(folder: Path) -> None:
    assert list(snippets.folder_problems(folder)) == []


def test_files() -> None:
    assert [problem for path in concerns.every_file() for problem in files.file_problems(path)] == []


def test_figures_notebooks_and_terms() -> None:
    paths = [*(ROOT / "snippets").glob("*/*.svg"), *(ROOT / "docs").glob("*/labs/*.ipynb"), *(ROOT / "docs").glob("*.yml"), ROOT / "CONTRIBUTING.md"]
    assert [problem for path in paths for problem in concerns.of_file(shown(path), path)] == []


def test_the_built_pages_hold_what_pages_may(site: Path) -> None:
    assert [problem for path in sorted(site.rglob("*.html")) for problem in contents.built_contents(path)] == []


def test_every_question_is_on_its_topic_page_and_the_review() -> None:
    gathered = dict(pages.gathered())
    for language in LANGUAGES:
        for question in pages.questions(language):
            for name in ("questions", "review", f"topic-{question.topic}"):
                assert question.title in gathered[ROOT / "snippets" / "pages" / f"{name}.{language}.md"]


BROKEN = {
    "an unknown key": ("description:", "colour: red\ndescription:", "colour"),
    "no level": ("tags: [basic, ", "tags: [", "begin with one level"),
    "two levels": ("tags: [basic, ", "tags: [basic, advanced, ", "begin with one level"),
    "a day to come": ("checked: 2026", "checked: 2226", "checked is the day"),
    "nothing measured": ("measured:", "description:", "measured says"),
    "no id": ("## How it works { #explanation }", "## How it works", "has no id"),
    "a missing section": ("## Pitfalls { #pitfalls }", "## Pitfalls { #traps }", "The sections are"),
    "a long lead": ("The answer that one gives", "word " * 90 + "The answer that one gives", "The lead counts"),
    "a footnote in the lead": ("in half a minute", "in half a minute[^guide]", "The lead holds a footnote"),
    "an undefined footnote": ("its source[^guide]", "its source[^manual]", "is cited but not defined"),
    "no marks": ("<!-- --8<-- [start:lead] -->", "", "The lead stands between"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_rule_notices(name: str, tmp_path: Path) -> None:
    old, new, message = BROKEN[name]
    text = (ROOT / "docs" / "en" / "templates" / "question.md").read_text("utf-8")
    assert old in text
    path = tmp_path / "docs" / "en" / "templates" / "question.md"
    path.parent.mkdir(parents=True)
    path.write_text(text.replace(old, new, 1), "utf-8")
    assert any(message in str(problem) for problem in page.page_problems(path, "en"))


def test_twin_rule_notices_numbers_headings_and_embeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '---\ndescription: d\n---\n\n# Title {{ #t }}\n\n## A {{ #{anchor} }}\n\n{number} cycles\n\n--8<-- "x/{embed}.{language}.md:counts"\n'
    for language, change in (("zh", {}), ("en", {"number": "31.5"})):
        folder = tmp_path / "docs" / language
        folder.mkdir(parents=True)
        values = {"anchor": "a", "number": "31", "embed": "y", "language": language} | change
        (folder / "p.md").write_text(text.format(**values), "utf-8")
    monkeypatch.setattr(twins, "ROOT", tmp_path)
    monkeypatch.setattr("project.ROOT", tmp_path)
    assert "only docs/en has 31.5" in "".join(map(str, twins.twin_problems("p.md")))
    (tmp_path / "docs" / "en" / "p.md").write_text(text.format(anchor="b", number="31", embed="z", language="en"), "utf-8")
    problems = "".join(map(str, twins.twin_problems("p.md")))
    assert "The headings differ" in problems
    assert "The includes differ" in problems


def test_lead_is_measured_as_a_reader_speaks() -> None:
    assert page.lead_length("一个 warp 有 32 个线程", "zh") == 2 + 2 + 1 + 2 + 3
    assert page.lead_length("a warp has 32 threads", "en") == 5
