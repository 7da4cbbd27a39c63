"""Runs of the real command, and its report read back."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

CHECKER = Path(__file__).resolve().parents[2] / "scripts" / "check_links.py"


class Run(NamedTuple):
    """One run of the command: how it ended, what it printed, and the links of its report."""

    status: int
    output: str
    errors: str
    links: list[dict[str, Any]]

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict of each address."""
        return {link["url"]: link["verdict"] for link in self.links}

    def found_in(self, ending: str) -> dict[str, str]:
        """Return the addresses, with verdicts, that are used in a file whose path ends so."""
        return {link["url"]: link["verdict"] for link in self.links if any(use.rpartition(":")[0].endswith("/" + ending) for use in link["sources"])}


class Checker:
    """Runs the command in a folder of its own, as a user would."""

    def __init__(self, folder: Path) -> None:
        """Take the folder in which the command runs; it holds no rules unless a test writes some."""
        self.folder = folder
        (folder / "links.toml").write_text("")

    def __call__(self, *arguments: str | Path, environment: dict[str, str] | None = None, timeout: float = 60) -> Run:
        """Run the command with a JSON report, whatever its exit status."""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, CHECKER, *arguments, "--json", report],
            cwd=self.folder, capture_output=True, text=True, timeout=timeout, check=False,
            env={**{name: value for name, value in os.environ.items() if name != "GITHUB_ACTIONS"}, **(environment or {})},
        )  # fmt: skip
        links = json.loads(report.read_text("utf-8"))["links"] if report.exists() else []
        return Run(done.returncode, done.stdout, done.stderr, links)


def write_files(folder: Path, files: dict[str, str]) -> Path:
    """Write a site of small files and return its folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def page(body: str, head: str = "") -> str:
    """Return a page of HTML."""
    return f"<!doctype html><html><head><meta charset=utf-8>{head}</head><body>{body}</body></html>"


def broken_of(run: Run) -> Sequence[str]:
    """Return the addresses that a run calls broken."""
    return [url for url, verdict in run.verdicts.items() if verdict == "broken"]
