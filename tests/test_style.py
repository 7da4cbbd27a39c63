"""The code's own rules: ruff and mypy, with the settings of pyproject.toml."""

import subprocess
import sys

import pytest

from project import ROOT, scripts_of, snippet_folders


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["-m", "ruff", "check", "."], id="ruff check"),
        pytest.param(["-m", "ruff", "format", "--check", "."], id="ruff format"),
        pytest.param(["-m", "mypy"], id="mypy"),
    ],
)
def test_code(command: list[str]) -> None:
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, f"python {' '.join(command)} says:\n{done.stdout}{done.stderr}"


def test_snippets_are_typed() -> None:
    # Each folder on its own: the folders' files share names, as they would on a reader's disk.
    for folder in snippet_folders():
        files = [path.name for path in scripts_of(folder, "model", "asm", "draw", "bench")]
        if not files:
            continue  # a lab's data
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", *files], cwd=folder, capture_output=True, text=True, check=False,
            env={"MYPYPATH": str(ROOT / "scripts"), "MYPY_CACHE_DIR": str(ROOT / ".cache" / "mypy"), "PATH": ""},
        )  # fmt: skip
        assert not done.returncode, f"mypy says of snippets/{folder.name}:\n{done.stdout}{done.stderr}"
