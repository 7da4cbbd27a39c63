"""A small copy of the project, in git, in which a test may break what it likes; the project's own modules look at the copy."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pages
import project
from project import ROOT, write

COPIED = (
    "mkdocs.yml",
    "pyproject.toml",
    ".gitignore",
    "CONTRIBUTING.md",
    "docs",
    "snippets/bank-conflicts",
    "snippets/pages",
    "scripts/templates",
    "scripts/gpu.py",
    "scripts/nvrtc.py",
)
# These look for the project's own programs, which the copy does not have.
OWN = {"fenced", "benches", "conftest"}


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The copy as a clone of main has it: committed, and without a breach of any rule."""
    place = tmp_path_factory.mktemp("pristine") / "project"
    for name in COPIED:
        target = place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(ROOT / name, target)
    with pytest.MonkeyPatch.context() as patch:
        moved(place, patch)
        for path, text in pages.gathered():
            write(path, text)
    identity = ["-c", "user.name=t", "-c", "user.email=t@t.invalid", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "main"]):
        subprocess.run(["git", *identity, *words], cwd=place, check=True)
    return place


@pytest.fixture
def copy(pristine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of one's own, at which the project's modules look."""
    place = tmp_path / "project"
    shutil.copytree(pristine, place, copy_function=shutil.copyfile)
    moved(place, monkeypatch)
    monkeypatch.chdir(place)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_BASE_REF", "CI"):
        monkeypatch.delenv(name, raising=False)
    return place


def moved(place: Path, patch: pytest.MonkeyPatch) -> None:
    """Let every path below the project's root that a module of scripts holds lie below another."""
    scripts = Path(project.__file__).parent
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not file or scripts not in Path(file).parents or name in OWN:
            continue
        for key, value in list(vars(module).items()):
            if isinstance(value, Path) and value.is_relative_to(ROOT) and key.isupper():
                patch.setattr(module, key, place / value.relative_to(ROOT))
