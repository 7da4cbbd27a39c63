"""What a question's folder of snippets holds: scripts that run anywhere, kernels that something compiles, outputs that a page shows."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nvrtc
from project import LANGUAGES, ROOT, SNIPPETS, has_record, record_files, scripts_of
from rules.problem import Problem, at, line_of, line_with

BENCH = {"TABLES", "predict", "check", "main"}
WAITING = re.compile(r"<!-- wait:\s*(.*?)-->", re.DOTALL)
KINDS = {".py", ".cu", ".txt", ".svg", ".md", ".json", ".csv"}


def folder_problems(folder: Path) -> Iterator[Problem]:
    """Check one question's folder."""
    yield from orphans(folder)
    for script in scripts_of(folder, "model", "draw", "asm", "bench"):
        try:
            tree = ast.parse(script.read_text("utf-8"))
        except (SyntaxError, ValueError) as error:
            yield at(script, getattr(error, "lineno", 1) or 1, "C1", f"It is no Python: {getattr(error, 'msg', error)}")
            continue
        if not script.name.startswith(("asm_", "bench_")):
            yield from _imports(script, tree, {path.stem for path in folder.glob("*.py")})
        if script.name.startswith("bench_"):
            yield from _bench(script, tree)
    yield from _waiting(folder)
    yield from _settled(folder)
    for kernel in sorted(folder.glob("*.cu")):
        try:
            nvrtc.architectures(kernel.read_text("utf-8"))
        except ValueError:
            yield at(kernel, 1, "S6", "Its first line names none: write // arch: sm_80 sm_90a, the oldest that it runs on first")


def _waiting(folder: Path) -> Iterator[Problem]:
    """Name the scripts and kernels that are still the template's."""
    templates = [path.read_text("utf-8") for path in (ROOT / "scripts" / "templates").glob("*.*")]
    waiting = {line.strip() for text in templates for line in text.split("\n") if "comes here" in line}
    for path in [*sorted(folder.glob("*.py")), *sorted(folder.glob("*.cu"))]:
        for number, line in enumerate(path.read_text("utf-8", errors="replace").split("\n"), 1):
            if line.strip() in waiting:
                yield at(path, number, "P13", "It is still the template's: write what this question asks, and say so in this line")


def _settled(folder: Path) -> Iterator[Problem]:
    """Name each sentence of the question's pages that still waits for a record, once no bench lacks one."""
    if not all(map(has_record, scripts_of(folder, "bench"))):
        return
    for page in sorted((ROOT / "docs").glob(f"*/*/{folder.name}.md")):
        for found in WAITING.finditer(text := page.read_text("utf-8")):
            told = f"It waits for {' '.join(found[1].split())[:80]}: hold it against the record, rewrite what that contradicts, delete the mark"
            yield at(page, line_of(text, found.start()), "P17", told)


def orphans(folder: Path) -> Iterator[Problem]:
    """Name each output, table, kernel or script that no page shows and nothing uses."""
    used = {path.name for script in scripts_of(folder, "bench", "asm") for path in _named(script)}
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if path.name != "__pycache__":
                yield at(path, 1, "S4", "It is a folder: put its files one level up, and name them after what they are")
        elif path.suffix in {".txt", ".svg", ".md"}:
            yield from _unshown(folder, path)
        elif path.suffix == ".cu" and path.name not in used:
            yield at(path, 1, "S2", "None names it: use it, or delete it")
        elif path.suffix == ".csv" and not path.with_suffix(".json").is_file():
            yield at(path, 1, "S3", f"There is no {path.stem}.json: keep it beside its record, or delete it")
        elif path.suffix == ".json" and not _of_a_lab(path) and not any(path in record_files(bench) for bench in scripts_of(folder, "bench")):
            told = f"No bench_{path.name.partition('.')[0]}.py made it and no lab's header names it: name it <bench>.<card>.json, or delete it"
            yield at(path, 1, "S4", told)
        elif path.suffix not in KINDS:
            yield at(path, 1, "S4", f"{path.suffix or 'A file without a suffix'} is none of them ({', '.join(sorted(KINDS))}): delete it")


def folder_of(path: Path) -> Path | None:
    """Give the question's folder that a file lies in."""
    inside = path.relative_to(SNIPPETS).parts if path.is_relative_to(SNIPPETS) else ()
    return SNIPPETS / inside[0] if len(inside) > 1 and inside[0] not in {"labs", "pages"} else None


def _unshown(folder: Path, path: Path) -> Iterator[Problem]:
    # A question whose page stands in one language shows its outputs there alone.
    written = [language for language in LANGUAGES if any((ROOT / "docs" / language).glob(f"*/{folder.name}.md"))] or list(LANGUAGES)
    wanted = [language for language in written if f".{language}." in path.name or not re.search(r"\.(?:zh|en)\.", path.name)]
    for language in wanted:
        pages = [*sorted((ROOT / "docs" / language).rglob("*.md")), *sorted((SNIPPETS / "labs").glob(f"*.{language}.py"))]
        if not any(f"{folder.name}/{path.name}" in page.read_text("utf-8") for page in pages):
            how = f'include it with --8<-- "{folder.name}/{path.name}", or delete it and its script'
            yield at(path, 1, "S1", f"No page in docs/{language} and no lab shows it: {how}")


def _of_a_lab(path: Path) -> bool:
    """Tell whether a lab's header offers a file for download."""
    line = f"#       - {path.parent.name}/{path.name}\n"
    return any(line in script.read_text("utf-8") for script in (SNIPPETS / "labs").glob("*.py"))


def _imports(script: Path, tree: ast.Module, siblings: set[str]) -> Iterator[Problem]:
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names and top not in siblings:
                told = f"It imports {name}, which the browser does not have: do without, or move it to an asm_ or bench_ script"
                yield at(script, getattr(node, "lineno", 1), "S5", told)


def _bench(script: Path, tree: ast.Module) -> Iterator[Problem]:
    targets = [node.targets if isinstance(node, ast.Assign) else [node.target] for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    found = {target.id for each in targets for target in each if isinstance(target, ast.Name)}
    found |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    if missing := sorted(BENCH - found):
        yield at(
            script,
            line_with(script.read_text("utf-8"), r"^def main"),
            "S7",
            f"It lacks {', '.join(missing)}: see What a bench holds in CONTRIBUTING.md",
        )


def _named(script: Path) -> Iterator[Path]:
    for path in script.parent.glob("*.cu"):
        if path.name in script.read_text("utf-8"):
            yield path
