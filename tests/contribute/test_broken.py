"""Each broken contribution gets a message with its file, its line, the rule and the way out; none passes, and none crashes the check."""

from pathlib import Path

import pytest
from broken import HOSTILE, RECORDS, RULES, Broken

import concerns

ALL = {**RULES, **RECORDS, **HOSTILE}
# The fewest that there have to be; a rule that loses its case is noticed by test_rules.py.
FEWEST = 40


def test_the_copy_itself_breaks_no_rule(copy: Path) -> None:
    pages = [copy / "docs" / language / "memory" / "bank-conflicts.md" for language in ("zh", "en")]
    paths = [*pages, copy / "docs" / "terms.yml", *(copy / "snippets" / "bank-conflicts").iterdir()]
    assert concerns.problems_of(paths, programs=False) == []


@pytest.mark.parametrize("name", ALL)
def test_a_broken_contribution(name: str, copy: Path) -> None:
    broken = ALL[name]
    path = copy / broken.file
    broken.change(path)
    found = concerns.problems_of([path], programs=broken.rule in {"S8", "C1"})
    matching = [problem for problem in found if problem.rule == broken.rule and broken.said in problem.text]
    assert matching, [str(problem) for problem in found]
    assert any(problem.path == broken.file or broken.rule.startswith("T") for problem in matching)
    assert any(broken.line in line_of(copy, problem.path, problem.line) for problem in matching), [str(problem) for problem in matching]
    for problem in found:
        # A message is one sentence in one line, and does not repeat what it refuses to show.
        assert "\n" not in str(problem)
        assert len(str(problem)) < 700
        assert problem.annotation().startswith(f"::error file={problem.path},line=")


def test_there_are_enough() -> None:
    assert len(ALL) >= FEWEST
    assert all(isinstance(each, Broken) for each in ALL.values())


def line_of(copy: Path, name: str, number: int) -> str:
    path = copy / name
    if path.is_symlink() or not path.is_file():
        return ""
    lines = path.read_text("utf-8", errors="replace").split("\n")
    return lines[number - 1] if number <= len(lines) else ""
