"""Accept a changed source under an old record when nothing that was measured has changed.

The old text is found in git by its digest. Python counts as unchanged when its syntax tree is the same (docstrings, a bench's
TABLES, predict and check aside, and a model's main), CUDA when NVRTC makes the same machine code of it for every architecture
that its first line declares; where it includes headers that NVRTC lacks, when the text is the same but for comments.
"""

import ast
import hashlib
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import nvrtc
from project import ROOT, digest, read_record, record_files, scripts_of, shown, sources_of

# What comes after a bench's measurement: its tables are laid out later, and each test runs its check and its predictions anew.
AFTER = {"TABLES", "check", "predict"}
# What a bench never calls of a model: it prints what the page shows beside the listing.
PRINTING = {"main"}


def folder(path: Path) -> Iterator[str]:
    """Restamp the records of a folder's benches where that is right, and say what was done or why not."""
    for bench in scripts_of(path, "bench"):
        now = {source.name: source for source in sources_of(bench)}
        for file in record_files(bench):
            yield _restamp(file, now)


def same(old: str, new: str, name: str) -> bool:
    """Tell whether two texts of a source mean the same to a measurement.

    Raises nvrtc.CompileError when a kernel does not compile.
    """
    if name.endswith(".py"):
        aside = AFTER if name.startswith("bench_") else PRINTING
        return _tree(old, aside) == _tree(new, aside)
    if not nvrtc.compiles_alone(new):
        return _code(old) == _code(new)
    declared = nvrtc.architectures(new)
    return set(declared) >= set(nvrtc.architectures(old)) and all(
        nvrtc.compile_kernels(old, arch) == nvrtc.compile_kernels(new, arch) for arch in nvrtc.architectures(old)
    )


def _code(text: str) -> str:
    """Give a CUDA text without its comments to the end of a line and its spaces: all that can be compared of what NVRTC cannot compile."""
    return "".join(re.sub(r"//[^\n]*", "", text).split())


def _tree(text: str, aside: set[str]) -> str:
    """Give a Python text's syntax tree without docstrings, and without the functions and names that stand aside from a measurement."""
    module = ast.parse(text)
    module.body = [node for node in module.body if not _names(node) & aside]
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(module)


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    return {ast.unparse(target) for target in node.targets} if isinstance(node, ast.Assign) else set()


def _restamp(file: Path, now: dict[str, Path]) -> str:
    record = read_record(file)
    if record["sources"].keys() != now.keys():
        return f"{shown(file)} stays: it was measured with other files ({', '.join(sorted(record['sources'].keys() ^ now.keys()))})"
    for name, path in now.items():
        if digest(path) == record["sources"][name]:
            continue
        old = old_text(path, record["sources"][name])
        if old is None:
            return f"{shown(file)} stays: git holds no {name} with the digest that was measured"
        if not same(old, path.read_text("utf-8"), name):
            return f"{shown(file)} stays: {name} changed in what was measured; measure again with --gpu"
        record["sources"][name] = digest(path)
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    if text == file.read_text("utf-8"):
        return f"{shown(file)} is of these sources"
    file.write_text(text, "utf-8", newline="\n")
    return f"{shown(file)} has the new digests; its date stays {record['recorded']}"


def old_text(path: Path, wanted: str) -> str | None:
    """Find the version of a file that has a digest, newest first."""
    name = shown(path)
    commits = subprocess.run(["git", "log", "--format=%H", "--", name], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    for commit in commits:
        content = subprocess.run(["git", "show", f"{commit}:{name}"], cwd=ROOT, capture_output=True, check=False).stdout
        if hashlib.sha256(content).hexdigest() == wanted:
            return content.decode("utf-8")
    return None
