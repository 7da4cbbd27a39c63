"""Every page keeps the rules of scripts/rules.py, and the rules notice what they are for."""

from pathlib import Path

import pytest

import pages
import rules
from project import LANGUAGES, ROOT, shown

ALL = [(path, language) for language in LANGUAGES for path in sorted((ROOT / "docs" / language).rglob("*.md"))]


@pytest.mark.parametrize(("path", "language"), ALL, ids=[shown(path) for path, _ in ALL])
def test_page(path: Path, language: str) -> None:
    assert list(rules.page_problems(path, language)) == []


@pytest.mark.parametrize("path", rules.pairs())
def test_twins(path: str) -> None:
    assert list(rules.twin_problems(path)) == []


def test_no_orphans() -> None:
    assert list(rules.orphans()) == []


def test_every_question_is_on_its_topic_page_and_the_review() -> None:
    gathered = dict(pages.gathered())
    for language in LANGUAGES:
        for page in pages.questions(language):
            for name in ("questions", "review", f"topic-{page.topic}"):
                assert page.title in gathered[ROOT / "snippets" / "pages" / f"{name}.{language}.md"]


BROKEN = {
    "an unknown key": ("description:", "colour: red\ndescription:", "colour"),
    "no level": ("tags: [basic, ", "tags: [", "begin with one level"),
    "two levels": ("tags: [basic, ", "tags: [basic, advanced, ", "begin with one level"),
    "a day to come": ("checked: 2026", "checked: 2226", "checked is the day"),
    "nothing measured": ("measured:", "description:", "measured says"),
    "no id": ("## How it works { #explanation }", "## How it works", "has no id"),
    "a missing section": ("## Pitfalls { #pitfalls }", "## Pitfalls { #traps }", "the sections are"),
    "a long lead": ("The answer that one gives", "word " * 90 + "The answer that one gives", "the lead counts"),
    "a footnote in the lead": ("in half a minute", "in half a minute[^guide]", "the lead holds a footnote"),
    "an undefined footnote": ("its source[^guide]", "its source[^manual]", "not defined"),
    "no marks": ("<!-- --8<-- [start:lead] -->", "", "the lead stands between"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_rule_notices(name: str, tmp_path: Path) -> None:
    old, new, message = BROKEN[name]
    text = (ROOT / "docs" / "en" / "templates" / "question.md").read_text("utf-8")
    assert old in text
    path = tmp_path / "docs" / "en" / "templates" / "question.md"
    path.parent.mkdir(parents=True)
    path.write_text(text.replace(old, new, 1), "utf-8")
    assert any(message in problem for problem in rules.page_problems(path, "en"))


def test_twin_rule_notices_numbers_headings_and_embeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = '---\ndescription: d\n---\n\n# Title {{ #t }}\n\n## A {{ #{anchor} }}\n\n{number} cycles\n\n--8<-- "x/{embed}.{language}.md:counts"\n'
    for language, change in (("zh", {}), ("en", {"number": "31.5"})):
        folder = tmp_path / "docs" / language
        folder.mkdir(parents=True)
        values = {"anchor": "a", "number": "31", "embed": "y", "language": language} | change
        (folder / "p.md").write_text(page.format(**values), "utf-8")
    monkeypatch.setattr(rules, "ROOT", tmp_path)
    assert "different numbers" in "".join(rules.twin_problems("p.md"))
    (tmp_path / "docs" / "en" / "p.md").write_text(page.format(anchor="b", number="31", embed="z", language="en"), "utf-8")
    problems = "".join(rules.twin_problems("p.md"))
    assert "differ in headings" in problems
    assert "differ in embeds" in problems


def test_lead_is_measured_as_a_reader_speaks() -> None:
    assert rules.lead_length("一个 warp 有 32 个线程", "zh") == 2 + 2 + 1 + 2 + 3
    assert rules.lead_length("a warp has 32 threads", "en") == 5
