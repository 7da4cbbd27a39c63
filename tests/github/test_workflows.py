"""The workflows keep the rules that protect the repository, and their steps run as far as they can without GitHub."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import tell_links
from project import ROOT, TEST_SITE_URL

ZIZMOR = Path(sys.executable).parent / "zizmor"
GITHUB = ROOT / ".github"
FORMS = [path for path in sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) if path.stem != "config"]
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))


def read(path: Path) -> dict[Any, Any]:
    content: dict[Any, Any] = yaml.safe_load(path.read_text("utf-8"))
    return content


def test_zizmor_finds_nothing() -> None:
    done = subprocess.run([ZIZMOR, "--offline", "--quiet", GITHUB], cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_is_safe(path: Path) -> None:
    workflow = read(path)
    triggers = workflow[True]  # YAML reads the key `on` so
    assert "pull_request_target" not in triggers
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert "permissions" in job, "each job says what its token may do"
        assert "timeout-minutes" in job or "uses" in job
        for step in job.get("steps", []):
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step.get("uses", f"a/b@{'0' * 40}")), f"{step['uses']} is not pinned by digest"
            assert "${{" not in step.get("run", ""), "an expression in a script is text that a stranger may choose: pass it as a variable"
    if "pull_request" in triggers:
        text = path.read_text("utf-8")
        assert "secrets." not in text
        assert set().union(*(job["permissions"].values() for job in workflow["jobs"].values())) == {"read"}


def test_every_command_of_a_workflow_is_there() -> None:
    named = set(re.findall(r"scripts/[\w/]+\.py", "\n".join(path.read_text("utf-8") for path in WORKFLOWS)))
    assert {"scripts/dev.py", "scripts/check_links.py", "scripts/tell_links.py", "scripts/lock.py"} <= named
    assert [name for name in named if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_form_is_complete(path: Path) -> None:
    form = read(path)
    assert {"name", "description", "body"} <= form.keys()
    ids = [field["id"] for field in form["body"] if field["type"] != "markdown"]
    assert len(ids) == len(set(ids))
    for field in form["body"]:
        assert field["type"] in {"input", "textarea", "dropdown", "checkboxes", "markdown"}
        assert field["attributes"].get("label") or field["type"] == "markdown"


def test_the_links_on_pages_fill_the_form_in() -> None:
    ids = {field["id"] for field in read(GITHUB / "ISSUE_TEMPLATE" / "correction.yml")["body"]}
    used = (ROOT / "scripts" / "hooks" / "mending.py").read_text("utf-8")
    assert '"template": "correction.yml"' in used
    assert {"page", "section"} <= ids


def stand_in(folder: Path, text: str) -> None:
    """Write a command `gh` that runs this Python text; a first line cannot name a Python whose path has a space."""
    (folder / "gh.py").write_text(text, "utf-8")
    (folder / "gh").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(folder / "gh.py"))} "$@"\n', "utf-8")
    (folder / "gh").chmod(0o755)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for GitHub's command line: it keeps one issue in a file and writes down what it was asked."""
    stand_in(
        tmp_path,
        "import json, pathlib, sys\n"
        f"here = pathlib.Path({str(tmp_path)!r})\n"
        "state = here / 'issue'\n"
        "words = sys.argv[1:]\n"
        "with (here / 'asked').open('a') as log: log.write(json.dumps(words) + '\\n')\n"
        "if words[:2] == ['issue', 'list']: print(json.dumps([{'number': 7}] if state.exists() else []))\n"
        "elif words[:2] in (['issue', 'create'], ['issue', 'edit']): state.write_text(sys.stdin.read()); print('address/7')\n"
        "elif words[:2] == ['issue', 'close']: state.unlink()\n"
        "elif words[:2] != ['label', 'create']: sys.exit('unknown')\n",
    )
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a script with a first line that names Python")
def test_one_issue_holds_the_dead_links(hub: Path) -> None:
    assert tell_links.tell(broken=False, report="") == "no link is dead, and no issue says so"
    assert tell_links.tell(broken=True, report="one dead link") == "opened address/7"
    assert (hub / "issue").read_text("utf-8") == "one dead link"
    long = "a line of the report\n" * 5_000
    assert tell_links.tell(broken=True, report=long) == "issue 7 is up to date"
    kept = (hub / "issue").read_text("utf-8")
    assert len(kept) < 65_536
    assert kept.endswith("the run's summary has all of it)\n")
    assert tell_links.tell(broken=False, report="") == "closed issue 7"
    assert sum(json.loads(line)[:2] == ["issue", "create"] for line in (hub / "asked").read_text("utf-8").splitlines()) == 1


def test_a_refusal_is_told_in_githubs_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, "import sys\nsys.exit('HTTP 403: not allowed')\n")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(SystemExit, match="HTTP 403: not allowed"):
        tell_links.tell(broken=True, report="x")


@pytest.mark.skipif(os.name == "nt", reason="the step is written for bash")
def test_the_weekly_step_runs(site: Path, tmp_path: Path) -> None:
    # As the workflow has it, except that it opens no connection: what can be run without the network and GitHub.
    (step,) = (step for step in read(GITHUB / "workflows" / "links.yml")["jobs"]["links"]["steps"] if step.get("id") == "ask")
    script = (
        step["run"].replace(" --online --max-time 2400", "").replace(".venv/bin/python", shlex.quote(sys.executable)).replace(".cache", str(tmp_path))
    )
    script = script.replace(" site ", f" {shlex.quote(str(site))} ")
    assert "--online" not in script
    files = {name: tmp_path / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "SITE_URL": TEST_SITE_URL, **{name: str(path) for name, path in files.items()}},
    )  # fmt: skip
    assert not done.returncode, done.stdout[-2000:] + done.stderr
    assert files["GITHUB_OUTPUT"].read_text("utf-8") == "status=0\n"
    assert "addresses" in files["GITHUB_STEP_SUMMARY"].read_text("utf-8")


def test_the_citation_file_is_one() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert {"title", "authors", "message", "license"} <= citation.keys()
