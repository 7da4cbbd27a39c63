"""dev.py check: what it looks at, what it mends, and that it is quick."""

import subprocess
import time
from pathlib import Path

import pytest
from broken import EN, PROSE, ZH

import changes
import check
import concerns

WORST = "共享内存由32个 bank 组成,每个bank一个字。。这是⼀个周期；kernal 也在内"


def test_without_paths_it_is_what_changed(copy: Path) -> None:
    assert changes.changed_files() == []
    (copy / EN).write_text((copy / EN).read_text("utf-8") + "\n", "utf-8")
    (copy / "snippets" / "bank-conflicts" / "new.txt").write_text("1\n", "utf-8")
    (copy / "docs" / "terms.yml").unlink()
    assert [path.relative_to(copy).as_posix() for path in changes.changed_files()] == [EN, "docs/terms.yml", "snippets/bank-conflicts/new.txt"]


def test_what_is_committed_on_a_branch_counts(copy: Path) -> None:
    subprocess.run(["git", "checkout", "-qb", "mine"], cwd=copy, check=True)
    (copy / EN).write_text((copy / EN).read_text("utf-8") + "\n", "utf-8")
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t.invalid", "commit", "-qam", "mine"], cwd=copy, check=True)
    assert changes.changed_files() == [copy / EN]


def test_it_mends_what_a_machine_can(copy: Path) -> None:
    page = copy / ZH
    page.write_text(page.read_text("utf-8").replace("### 结构 { #structure }\n", f"### 结构 {{ #structure }}\n\n{WORST}。\n", 1), "utf-8")
    found = concerns.problems_of([page], programs=False)
    assert {problem.rule for problem in found} == {"Z1", "Z2", "Z3", "Z4", "W1", "E1"}
    assert check.fix(found, [page])
    assert concerns.problems_of([page], programs=False) == []
    assert "共享内存由 32 个 bank 组成，每个 bank 一个字。这是一个周期；kernel 也在内。\n" in page.read_text("utf-8")


def test_it_keeps_a_comment_between_two_sentences(copy: Path) -> None:
    page = copy / ZH
    kept = "补齐的不用。<!-- wait: 一行, 有 record -->kernel 结束时"
    page.write_text(page.read_text("utf-8").replace("### 结构 { #structure }\n", f"### 结构 {{ #structure }}\n\n{kept}还有32个。\n", 1), "utf-8")
    assert check.fix(concerns.problems_of([page], programs=False), [page])
    assert f"{kept}还有 32 个。\n" in page.read_text("utf-8")


def test_what_ruff_cannot_mend_is_said_once(copy: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = copy / "snippets" / "bank-conflicts" / "stride.py"
    script.write_text(script.read_text("utf-8") + "\n\nundefined_name\n", "utf-8")
    assert concerns.ruff_fix([script])
    assert capfd.readouterr().out == ""
    assert any("F821" in problem.text for problem in concerns.problems_of([script]))


def test_a_link_to_another_environment_is_no_change(copy: Path, tmp_path: Path) -> None:
    (copy / ".venv").symlink_to(tmp_path)
    assert changes.changed_files() == []


def test_one_breach_is_one(copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    page = copy / EN
    page.write_text(page.read_text("utf-8").replace(PROSE, f"{PROSE} They are seperate."), "utf-8")
    monkeypatch.setattr("sys.argv", ["check.py", EN])
    with pytest.raises(SystemExit):
        check.main()
    assert "1 file, 1 breach of a rule" in capsys.readouterr().out


def test_a_changed_sentence_takes_seconds(copy: Path) -> None:
    page = copy / EN
    page.write_text(page.read_text("utf-8").replace(PROSE, f"{PROSE} A sentence more."), "utf-8")
    began = time.monotonic()
    assert concerns.problems_of(changes.changed_files()) == []
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(("word", "said"), [("docs/nothing.md", "is not there"), ("/etc/passwd", "lies outside the project")])
def test_a_wrong_path_is_said(word: str, said: str, copy: Path) -> None:  # noqa: ARG001 - the paths are the copy's
    with pytest.raises(SystemExit, match=said):
        check.named([word])


def test_quoted_sayings_code_and_addresses_are_left_alone(copy: Path) -> None:
    page = copy / ZH
    quiet = (
        "“Nsight Computing 很好。” `共享内存32个bank,kernal` [共享](https://a.example/内存32) <https://b.example/a,b>。"
        "比例是 1：2，范围 3,4。<!-- 等, 记录 -->kernel 之后。"
    )
    page.write_text(page.read_text("utf-8").replace("### 结构 { #structure }\n", f"### 结构 {{ #structure }}\n\n{quiet}\n", 1), "utf-8")
    assert concerns.problems_of([page], programs=False) == []
