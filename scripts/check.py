"""Check what a contribution changes, and only what that concerns: each message names file, line, rule and the way out.

    python scripts/check.py [--fix] [path ...]    without paths: what git says changed against main, or is not committed yet
    python scripts/check.py --all                 every file

The rules stand by id in CONTRIBUTING.md. --fix mends what a machine can: spaces, punctuation, spelling, layout of code, outputs.
"""

import argparse
import os
import time
from collections.abc import Iterable
from pathlib import Path

import changes
import concerns
import lonely
from project import ROOT, shown
from rules.problem import Problem


def main() -> None:
    """Check, and exit with 1 where a rule is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", metavar="path", help="files or folders; without any, what changed")
    parser.add_argument("--fix", action="store_true", help="mend what a machine can, then check")
    parser.add_argument("--all", action="store_true", help="check every file of the project")
    options = parser.parse_args()
    began = time.monotonic()
    files = concerns.every_file() if options.all else named(options.paths) if options.paths else changes.changed_files()
    if not files:
        print("nothing changed against main: name what to check, such as python3 scripts/dev.py check docs/zh/memory")
        return
    problems = concerns.problems_of(files)
    if options.fix and fix(problems, files):
        problems = concerns.problems_of(files)
    told(problems)
    lonely.report(ROOT, {shown(path) for path in files})
    mendable = sum(problem.edit is not None for problem in problems)
    hint = f"; python3 scripts/dev.py check --fix mends {mendable} of them" if mendable else ""
    print(f"{_counted(len(files), 'file')}, {_counted(len(problems), 'breach', 'es')} of a rule, {time.monotonic() - began:.1f} s{hint}")
    raise SystemExit(bool(problems))


def named(words: Iterable[str]) -> list[Path]:
    """Give the files that paths name, those in folders too.

    Raises SystemExit for a path that is not there.
    """
    found: dict[Path, None] = {}
    for word in words:
        path = Path(os.path.normpath(Path.cwd() / word))
        if not path.exists() and not path.is_symlink():
            raise SystemExit(f"{word} is not there: name a file or a folder of the project")
        if not path.is_relative_to(ROOT):
            raise SystemExit(f"{word} lies outside the project")
        inside = [path] if path.is_symlink() or path.is_file() else [each for each in sorted(path.rglob("*")) if each.is_file() or each.is_symlink()]
        found |= dict.fromkeys(each for each in inside if "__pycache__" not in each.parts)
    return list(found)


def fix(problems: list[Problem], files: list[Path]) -> bool:
    """Apply the edits that problems bring, from the end of each line, then what ruff mends; tell whether anything was written."""
    by_line: dict[tuple[str, int], list[Problem]] = {}
    for problem in problems:
        if problem.edit:
            by_line.setdefault((problem.path, problem.line), []).append(problem)
    texts: dict[str, list[str]] = {}
    for (name, number), found in by_line.items():
        lines = texts.setdefault(name, (ROOT / name).read_text("utf-8").split("\n"))
        line, end = lines[number - 1], len(lines[number - 1]) + 1
        for edit in sorted({problem.edit for problem in found if problem.edit}, key=lambda each: (each.start, each.end), reverse=True):
            if edit.end <= end:
                line, end = line[: edit.start] + edit.text + line[edit.end :], edit.start
        lines[number - 1] = line
    for name, lines in texts.items():
        (ROOT / name).write_text("\n".join(lines), "utf-8", newline="\n")
        print(f"mended {name}")
    ruffed = concerns.ruff_fix(files) if any(problem.rule == "C1" for problem in problems) else False
    kept = concerns.outputs_fix(problems)
    return bool(texts) or ruffed or kept


def told(problems: list[Problem]) -> None:
    """Print the problems in order, for GitHub as annotations too."""
    for problem in problems:
        print(problem)
        if os.environ.get("GITHUB_ACTIONS"):
            print(problem.annotation())


def _counted(number: int, word: str, ending: str = "s") -> str:
    return f"{number} {word}{'' if number == 1 else ending}"


if __name__ == "__main__":
    main()
