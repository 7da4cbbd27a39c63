"""A new question runs as it is, breaks no rule but those that ask for content, and never writes over anything."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import concerns
import new_question
import pages
import project
import record
from new_question import RefusedError
from project import scripts_of, write

TITLES = {"zh": "为什么要合并访问？", "en": "Why coalesce accesses?"}
CONTENT = {"P12", "P13", "R11"}


def begin(name: str = "made-up", topic: str = "memory") -> list[Path]:
    """Write what new_question.py would, with what its scripts print."""
    texts = new_question.new_files(name, topic, "basic, global-memory", TITLES)
    new_question.refuse_dirty(texts)
    for path, text in texts.items():
        write(path, text)
    folder = project.SNIPPETS / name
    for path, text in [*record.printed([folder]), *record.tables_of([folder]), *pages.gathered()]:
        write(path, text)
    return [*texts, *folder.iterdir()]


def test_it_breaks_only_the_rules_that_ask_for_content(copy: Path) -> None:
    found = concerns.problems_of(begin())
    assert {problem.rule for problem in found} == CONTENT, [str(problem) for problem in found if problem.rule not in CONTENT]
    named = {problem.path for problem in found}
    scripts = [path.relative_to(copy).as_posix() for path in scripts_of(copy / "snippets" / "made-up", "model", "draw", "bench")]
    assert named >= {"docs/zh/memory/made-up.md", "docs/en/memory/made-up.md", *scripts}
    assert "- memory/made-up.md" in (copy / "mkdocs.yml").read_text("utf-8")
    assert TITLES["zh"] in (copy / "tests" / "search" / "made-up.yml").read_text("utf-8")
    table = (copy / "snippets" / "made-up" / "made_up.zh.md").read_text("utf-8")
    assert "实测读请求<br>还没有测量" in table
    assert "| 1,024 | 32 | – | – |" in table
    [waiting] = [problem for problem in found if problem.rule == "R11"]
    assert "it predicts 3 rows in " in waiting.text
    assert "refuses" not in waiting.text


def test_a_page_in_one_language_is_named_and_nothing_fails(copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import lonely

    before = begin()
    (copy / "docs" / "en" / "memory" / "made-up.md").unlink()
    for path, text in pages.gathered():
        write(path, text)
    assert {problem.rule for problem in concerns.problems_of(before)} == CONTENT
    summary = copy / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert lonely.report(copy) == ["docs/zh/memory/made-up.md"]
    assert "::notice file=docs/zh/memory/made-up.md" in capsys.readouterr().out
    assert "whoever writes it puts it at docs/en/memory/made-up.md" in summary.read_text("utf-8")


def answered(what: str) -> None:
    """Ask where there is no terminal."""
    new_question._answer(None, what, new_question.check_topic)  # noqa: SLF001 - the question itself


REFUSED: dict[str, tuple[Callable[[], None], str]] = {
    "a taken id": (lambda: new_question.check_id("bank-conflicts"), "is taken (snippets/bank-conflicts): choose another"),
    "a name of the project's own": (lambda: new_question.check_id("labs"), "is taken"),
    "a name in capitals": (lambda: new_question.check_id("Bank Conflicts!"), "such as bank-conflicts"),
    "a name that climbs": (lambda: new_question.check_id("../../etc/passwd"), "such as etc-passwd"),
    "a name without end": (lambda: new_question.check_id("a" * 100), "at most 40"),
    "an unknown topic": (lambda: new_question.check_topic("cooking"), "choose one of architecture, execution, "),
    "an unknown level": (lambda: new_question.check_level("hard"), "choose one of basic, intermediate, advanced"),
    "an unknown subject": (lambda: new_question.check_subject("global-memory, cooking"), "choose one or more of shared-memory, global-memory, "),
    "HTML in a title": (lambda: new_question.check_english("<b>Why</b>?"), "without < >"),
    "no question": (lambda: new_question.check_english("Coalescing"), "? at its end"),
    "the wrong language": (lambda: new_question.check_chinese("Why?"), "Chinese characters"),
    "nobody to ask": (lambda: answered("topic (memory, gemm)"), "the topic is missing: give id, --topic"),
    "a page that exists": (
        lambda: new_question.refuse_dirty(new_question.new_files("bank-conflicts", "memory", "basic, global-memory", TITLES)),
        "written over",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_refuses(name: str, copy: Path) -> None:  # noqa: ARG001 - the refusals look at the copy
    action, said = REFUSED[name]
    with pytest.raises(RefusedError) as error:
        action()
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_it_names_the_queries_and_terms_that_have_its_words_already(copy: Path) -> None:
    queries = copy / "tests" / "search" / "en.yml"
    queries.parent.mkdir(parents=True)
    queries.write_text(
        "- {query: how to pad a tile, kind: words, first: [x]}\n- {query: 存储体冲突, kind: cross, first: [bank-conflicts]}\n", "utf-8"
    )
    found = new_question.already("banking-on-conflicts")
    assert any(re.fullmatch(r"docs/terms\.yml:\d+: bank-conflict, page: memory/bank-conflicts\.md", line) for line in found)
    assert "tests/search/en.yml:2: - {query: 存储体冲突, kind: cross, first: [bank-conflicts]}" in found
    assert not any("pad a tile" in line for line in found)
    assert "tests/search/en.yml:2" in new_question.what_is_next("banking-on-conflicts", "memory", found)
    assert "already" not in new_question.what_is_next("made-up", "memory", [])


def test_it_refuses_a_dirty_state(copy: Path) -> None:
    (copy / "mkdocs.yml").write_text((copy / "mkdocs.yml").read_text("utf-8") + "# mine\n", "utf-8")
    with pytest.raises(RefusedError, match=r"mkdocs\.yml has changes that are not committed, and this would write to it: commit them"):
        begin()
    subprocess.run(["git", "checkout", "-q", "mkdocs.yml"], cwd=copy, check=True)
    begin()


def test_a_module_of_the_standard_library_keeps_its_name(copy: Path) -> None:
    begin("queue")
    assert (copy / "snippets" / "queue" / "queue_model.py").is_file()
    assert not (copy / "snippets" / "queue" / "queue.py").exists()
