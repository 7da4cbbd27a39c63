"""Which rules concern which files, for check.py and for the tests."""

import ast
import functools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pages
import record
from project import LANGUAGES, ROOT, SNIPPETS, fixed_environment, shown
from rules import agreement, chinese, contents, english, files, page, snippets, terms, twins
from rules.problem import Problem, at

LISTS = {"docs/terms.yml", "docs/errata.yml"}
GATHERING = ("docs/zh/", "docs/en/", "docs/terms.yml", "docs/errata.yml", "mkdocs.yml", "web/notices.yml", "snippets/pages/")
SHOWN: dict[str, Callable[[Path], Iterator[Problem]]] = {
    ".cu": contents.code_contents,
    ".md": contents.page_contents,
    ".py": contents.code_contents,
    ".svg": contents.figure_contents,
    ".txt": contents.code_contents,
}
HEAD = {"P1", "P2", "P3", "P4", "P6", "H6", "F3"}
PROSE = {"README.md", "CONTRIBUTING.md", "MAINTAINING.md", "CODE_OF_CONDUCT.md", "SECURITY.md"}


def problems_of(paths: list[Path], *, programs: bool = True) -> list[Problem]:
    """Check these files and what they belong to; deleted ones count for what they leave behind.

    Without programs, neither the snippets' scripts nor ruff and mypy are started.
    """
    found: dict[Problem, None] = {}
    names = {shown(path): path for path in paths}
    unsafe: set[str] = set()
    for name, path in names.items():
        for problem in files.file_problems(path):
            found[problem] = None
            unsafe.add(name)
    sound = {name: path for name, path in names.items() if name not in unsafe and path.is_file()}
    for name, path in sound.items():
        _add(found, functools.partial(of_file, name, path))
    _twins(found, set(names), unsafe)
    _folders(found, names, unsafe, programs=programs)
    # What gathers from pages needs their front matter, and says nothing about why it is broken.
    if any(name.startswith(GATHERING) for name in names) and not any(problem.rule in HEAD for problem in found):
        _add(found, functools.partial(record.differences, pages.gathered()))
    if programs:
        _add(found, functools.partial(_code, [path for path in sound.values() if path.suffix == ".py"]))
    return sorted(found)


def of_file(name: str, path: Path) -> Iterator[Problem]:
    """Check one file by what it is, from its name."""
    language = next((each for each in LANGUAGES if name.startswith(f"docs/{each}/")), None)
    if language and path.suffix == ".md":
        yield from page.page_problems(path, language)
        yield from contents.page_contents(path)
        yield from _texts(path, language)
    elif language and path.suffix == ".ipynb":
        yield from contents.notebook_contents(path)
    elif name in LISTS:
        yield from contents.list_contents(path)
    elif name in PROSE:
        yield from english.english_problems(path, "en")
    elif name.startswith("snippets/") and path.suffix in SHOWN:
        yield from SHOWN[path.suffix](path)


def every_file() -> list[Path]:
    """Give each file that git knows or would take."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in filter(None, listed.stdout.split("\0"))]


def ruff_fix(paths: list[Path]) -> bool:
    """Let ruff mend and lay out the Python files; what it cannot mend, C1 says."""
    code = [str(path) for path in paths if path.suffix == ".py" and path.is_file()]
    for words in (["check", "--fix-only", "--quiet"], ["format", "--quiet"]):
        subprocess.run([sys.executable, "-m", "ruff", *words, *code], cwd=ROOT, check=False)
    return bool(code)


def outputs_fix(problems: list[Problem]) -> bool:
    """Keep anew what the scripts of these folders give."""
    ids = sorted({Path(problem.path).parent.name for problem in problems if problem.rule == "S8"} - {"labs"})
    if ids:
        subprocess.run([sys.executable, "scripts/record.py", *ids], cwd=ROOT, check=False)
    return bool(ids)


def _twins(found: dict[Problem, None], names: set[str], unsafe: set[str]) -> None:
    broken = {problem.path for problem in found if problem.rule == "P1"} | unsafe
    for twin in sorted({name.split("/", 2)[2] for name in names if name.startswith(("docs/zh/", "docs/en/")) and name.endswith(".md")}):
        both = [f"docs/{language}/{twin}" for language in LANGUAGES]
        if all((ROOT / file).is_file() for file in both) and not broken & set(both):
            _add(found, functools.partial(twins.twin_problems, twin))


def _folders(found: dict[Problem, None], names: dict[str, Path], unsafe: set[str], *, programs: bool) -> None:
    folders = {snippets.folder_of(path) for path in names.values()} | {
        SNIPPETS / path.stem for name, path in names.items() if name.startswith("docs/")
    }
    for folder in sorted(folder for folder in folders if folder and folder.is_dir()):
        touched = {name for name in names if name.startswith(f"{shown(folder)}/")}
        _add(found, functools.partial(snippets.folder_problems, folder))
        if not touched or touched & unsafe or any(problem.rule == "C1" for problem in found):
            continue
        _add(found, functools.partial(agreement.folder_records, folder))
        # A record changes the tables alone.
        if programs and any(not name.endswith((".json", ".csv", ".md")) for name in touched):
            _add(found, functools.partial(record.differences, record.printed([folder])))
        if programs:
            _add(found, functools.partial(record.differences, record.tables_of([folder])))


def _add(found: dict[Problem, None], rule: Callable[[], Iterator[Problem]]) -> None:
    """Take a rule's problems; a script that fails says so in a sentence, and the other rules go on."""
    try:
        for problem in rule():
            found[problem] = None
    except (SystemExit, ValueError, KeyError, TypeError) as error:
        first, _, rest = str(error).partition("\n")
        name = first.split(" ")[0]
        told = f"{first} {' '.join(rest.split())[-400:]}".strip()
        if isinstance(error, KeyError | TypeError):
            told = f"a page's front matter lacks what is gathered from it ({told}): python3 scripts/dev.py check docs"
        found[Problem(name if (ROOT / name).is_file() else "scripts/record.py", 1, "S8", f"It could not be made: {told}")] = None


def _texts(path: Path, language: str) -> Iterator[Problem]:
    if language == "zh":
        yield from chinese.chinese_problems(path)
    yield from english.english_problems(path, language)
    yield from terms.term_problems(path, language)


def _code(paths: list[Path]) -> Iterator[Problem]:
    """Let ruff read the Python files, and mypy those of snippets, each folder on its own."""
    sound = [path for path in paths if _parses(path)]
    if not sound:
        return
    command = [sys.executable, "-m", "ruff", "check", "--output-format", "concise", "--quiet", *map(str, sound)]
    for line in _lines(command, ROOT):
        yield from _told(line, ROOT, "python3 scripts/dev.py check --fix, or mend it")
    for line in _lines([sys.executable, "-m", "ruff", "format", "--check", *map(str, sound)], ROOT):
        if line.startswith("Would reformat: "):
            yield at(ROOT / line.removeprefix("Would reformat: "), 1, "C1", "Its layout is not ruff's: python3 scripts/dev.py check --fix")
    for folder in sorted({path.parent for path in sound if snippets.folder_of(path)}):
        scripts = [path.name for path in sorted(folder.glob("*.py"))]
        for line in _lines([sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary", *scripts], folder):
            yield from _told(line, folder, "mend the types")


def _told(line: str, where: Path, way: str) -> Iterator[Problem]:
    parts = line.split(":", 3)
    if len(parts) >= 3 and parts[1].isdigit():  # noqa: PLR2004 - file, line and the rest
        yield at(where / parts[0], int(parts[1]), "C1", f"{parts[-1].strip()}: {way}")


def _lines(command: list[str], where: Path) -> list[str]:
    environment = fixed_environment() | {"MYPYPATH": str(Path(__file__).parent), "MYPY_CACHE_DIR": str(ROOT / ".cache" / "mypy")}
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def _parses(path: Path) -> bool:
    try:
        ast.parse(path.read_text("utf-8"))
    except (SyntaxError, ValueError):
        return False
    return True
