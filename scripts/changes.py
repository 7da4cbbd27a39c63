"""What a contribution changes, as git sees it: the files that differ from the branch that it will join, and those not yet committed."""

import os
import subprocess
from functools import lru_cache
from pathlib import Path

from project import ROOT

BRANCHES = ("origin/main", "upstream/main", "main")


def changed_files() -> list[Path]:
    """Give the changed files, deleted ones too, in the order of their names.

    Raises SystemExit, with the way out, where there is no git or no history.
    """
    if _git("rev-parse", "--is-inside-work-tree").strip() != "true":
        raise SystemExit("this folder is no git checkout: name the files, such as python3 scripts/dev.py check docs/zh/memory")
    since = base(str(ROOT))
    names = _git("diff", "--name-only", "--no-renames", "-z", since or "HEAD").split("\0")
    names += _git("ls-files", "--others", "--exclude-standard", "-z").split("\0")
    return [ROOT / name for name in sorted(set(filter(None, names)))]


def is_new(path: Path) -> bool:
    """Tell whether a file is one that the contribution adds: git knows the branch that it will join, and the file is not there."""
    since = base(str(ROOT))
    if not since or not path.is_relative_to(ROOT):
        return False
    return (
        subprocess.run(
            ["git", "cat-file", "-e", f"{since}:{path.relative_to(ROOT).as_posix()}"], cwd=ROOT, capture_output=True, check=False
        ).returncode
        != 0
    )


def is_shallow() -> bool:
    """Tell whether the clone lacks its history."""
    return _git("rev-parse", "--is-shallow-repository").strip() == "true"


@lru_cache(maxsize=8)
def base(_root: str) -> str:
    """Give the commit from which the contribution set out, or nothing where git does not know."""
    branches = [f"origin/{os.environ['GITHUB_BASE_REF']}"] if os.environ.get("GITHUB_BASE_REF") else []
    for branch in (*branches, *BRANCHES):
        if found := _git("merge-base", "HEAD", branch).strip():
            return found
    return ""


def _git(*words: str) -> str:
    try:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""
