"""Name the pages that stand in one language only: they are welcome, and whoever knows the other language finds them here.

Standard library alone, since dev.py and the build's hook use it too.
"""

import os
from pathlib import Path

from project import TWIN

NAMES = {"zh": "Chinese", "en": "English"}


def pages(folder: Path) -> set[str]:
    """Give a language's pages, from its folder; the templates are none."""
    found = [path.relative_to(folder).as_posix() for suffix in ("md", "ipynb") for path in folder.rglob(f"*.{suffix}")]
    return {name for name in found if not name.startswith("templates/")}


def files(root: Path) -> list[str]:
    """Give each page without a twin, from the project's root."""
    found = {language: pages(root / "docs" / language) for language in TWIN}
    return sorted(f"docs/{language}/{name}" for language, other in TWIN.items() for name in found[language] - found[other])


def told(file: str) -> str:
    """Say in a sentence what a page lacks, and how it gets it."""
    _docs, language, path = file.split("/", 2)
    other = TWIN[language]
    return f"{file} has no {NAMES[other]} page yet, which is fine; whoever writes it puts it at docs/{other}/{path}"


def report(root: Path, only: set[str] | None = None) -> list[str]:
    """Say which pages have no twin: to GitHub as notices and in the job's summary, to a person as lines. Nothing fails for it."""
    found = [file for file in files(root) if only is None or file in only]
    if found and os.environ.get("GITHUB_ACTIONS"):
        for file in found:
            print(f"::notice file={file},line=1,title=One language only::{told(file)}", flush=True)
        if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
            with Path(summary).open("a", encoding="utf-8") as target:
                target.write("### Pages in one language only\n\n" + "".join(f"- {told(file)}\n" for file in found))
    else:
        for file in found:
            print(f"note: {told(file)}", flush=True)
    return found
