"""Where things are in this project, and what a snippet's files are called."""

import ast
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SNIPPETS = ROOT / "snippets"
LANGUAGES = ("zh", "en")
TWIN = {"zh": "en", "en": "zh"}
# The tests look at a site below a path, as a project's pages are; the 404 page has to know it.
TEST_SITE_URL = "http://127.0.0.1:8000/warpwise/"
# Exit status of a script or bench whose tools this machine lacks.
CANNOT = 77
# How the keys of a record's row begin that came from a device.
MEASURED = ("counted_", "measured_")
NOT_QUESTIONS = {"labs", "pages", "__pycache__"}

# The lines by which a page names a part of a file; readers never see them.
SECTION_MARK = re.compile(r"^[ \t]*(?:#|//|<!--) --8<-- \[[^\n]*\n", re.MULTILINE)


def snippet_folders(ids: list[str] | None = None) -> list[Path]:
    """Give the folders of snippets, all or the named ones, in the order of their names.

    Raises SystemExit, with the names that exist, when an id has no folder.
    """
    folders = sorted(path for path in SNIPPETS.iterdir() if path.is_dir() and path.name not in NOT_QUESTIONS)
    unknown = set(ids or []) - {folder.name for folder in folders}
    if unknown:
        names = ", ".join(folder.name for folder in folders)
        raise SystemExit(f"no folder snippets/{unknown.pop()}: the ids are {names}")
    return [folder for folder in folders if not ids or folder.name in ids]


def role(script: Path) -> str:
    """Tell what a script of a snippet's folder is: "asm", "bench", "draw", or "model"."""
    prefix = script.stem.partition("_")[0]
    return prefix if prefix in {"asm", "bench", "draw"} else "model"


def scripts_of(folder: Path, *roles: str) -> list[Path]:
    """Give a folder's scripts of these roles, sorted by name."""
    return [path for path in sorted(folder.glob("*.py")) if role(path) in roles]


def output_of(script: Path) -> Path:
    """Name the file that keeps what a script prints; a bench has several, see record_files."""
    suffix = {"model": ".txt", "asm": ".sass.txt", "draw": ".svg"}[role(script)]
    return script.with_name(script.stem.removeprefix(f"{role(script)}_") + suffix)


def record_files(bench: Path) -> list[Path]:
    """Give the records that a bench has left, one a device."""
    return sorted(bench.parent.glob(f"{bench.stem.removeprefix('bench_')}.*.json"))


def has_record(bench: Path) -> bool:
    """Tell whether a bench has the record that its claims are of: of an H200, or of a CPU."""
    return any(path.name.endswith((".h200.json", ".cpu.json")) for path in record_files(bench))


def read_record(path: Path) -> dict[str, Any]:
    """Read one record.

    Raises SystemExit that names the file when it is no JSON object.
    """
    try:
        record = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise SystemExit(f"{shown(path)} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise SystemExit(f"{shown(path)} holds no JSON object")
    return record


def is_question(path: str) -> bool:
    """Tell of a page, by its path below docs/<language>, whether it answers a question: a folder of snippets has its name."""
    page = Path(path)
    return len(page.parts) > 1 and page.suffix == ".md" and page.stem not in NOT_QUESTIONS and (SNIPPETS / page.stem).is_dir()


def published(path: Path) -> str:
    """Give a snippet's text as the site publishes and runs it: without the marks of its sections."""
    return SECTION_MARK.sub("", path.read_text("utf-8"))


def sources_of(bench: Path) -> list[Path]:
    """Give what a bench's numbers depend on: itself, the siblings that it imports, the kernels that it names."""
    found: dict[Path, None] = {}
    waiting = [bench]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found[path] = None
        if path.suffix == ".py":
            waiting += _siblings(path)
    return sorted(found)


def digest(path: Path) -> str:
    """Give the SHA-256 of a file's bytes, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def shown(path: Path) -> str:
    """Give a path as a message prints it: from the project's root, with forward slashes."""
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)


def fixed_environment() -> dict[str, str]:
    """Give the caller's environment with what would change an output from run to run set fast."""
    fixed = {"PYTHONPATH": str(ROOT / "scripts"), "PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return os.environ | fixed


def hand_over(package: str) -> None:
    """Go on with the Python of .venv where this one lacks a package and that one is there: so python3 is what people type."""
    names = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    python = ROOT / ".venv" / names[0] / names[1]
    if importlib.util.find_spec(package) or not python.exists() or Path(sys.prefix) == ROOT / ".venv":
        return
    sys.stdout.flush()
    raise SystemExit(subprocess.run([python, *sys.argv], check=False).returncode)


def write(path: Path, text: str) -> None:
    """Write a file if its text is another one, and say so."""
    if not path.is_file() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="\n")
        print(f"wrote {shown(path)}")


def _siblings(script: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(script.read_text("utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [f"{alias.name}.py" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.py"]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(".cu"):
            names = [node.value]
        for name in names:
            if (path := script.parent / name).is_file():
                yield path
