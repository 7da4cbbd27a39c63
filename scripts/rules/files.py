"""What any file of a contribution must be, before anything reads it: plain, small, text that shows what it says."""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from project import ROOT
from rules.problem import Problem, at

LARGEST = 1_000_000
TEXT = {".md", ".py", ".cu", ".json", ".csv", ".txt", ".svg", ".yml", ".yaml", ".toml", ".ipynb", ".html", ".js", ".mjs", ".css", ".j2", ".cff"}
DOCS = {".md", ".ipynb"}
NAME = re.compile(r"[a-z0-9_][a-z0-9_.-]*")
# Signs without a shape, or that turn the order of what follows: a reviewer does not see what a compiler sees.
HIDDEN = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def file_problems(path: Path) -> Iterator[Problem]:
    """Check one file by its place, size and bytes; what comes after this may read it."""
    inside = path.relative_to(ROOT)
    if path.is_symlink() or any((ROOT / parent).is_symlink() for parent in inside.parents if parent.parts):
        yield at(path, 1, "F1", "It is a link: put the file itself there")
        return
    if not path.is_file():
        return
    if path.stat().st_size > LARGEST:
        yield at(path, 1, "F2", f"It has {path.stat().st_size:,} bytes: keep what the page shows, and leave the rest out")
        return
    top = inside.parts[0]
    if top in {"docs", "snippets"} and (bad := next((part for part in inside.parts if not NAME.fullmatch(part)), None)):
        yield at(path, 1, "F4", f"{bad} is not: rename it, such as {_plain(bad)}")
    if top == "docs" and path.suffix not in DOCS and not (path.suffix == ".yml" and len(inside.parts) == 2):  # noqa: PLR2004 - docs and its name
        yield at(path, 1, "F5", f"{path.suffix or path.name} is neither: a figure is an SVG that a draw_ script prints into snippets/<id>")
    if path.suffix in TEXT or top in {"docs", "snippets"}:
        yield from _text(path)


def _text(path: Path) -> Iterator[Problem]:
    data = path.read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        yield at(path, data.count(b"\n", 0, error.start) + 1, "F3", "Its bytes are no UTF-8: save it in this encoding")
        return
    if "\r" in text:
        yield at(path, text.count("\n", 0, text.index("\r")) + 1, "F3", "It has carriage returns: save it with the line ends of Unix (LF)")
        return
    for found in HIDDEN.finditer(text):
        sign = f"U+{ord(found[0]):04X} {unicodedata.name(found[0], 'a control character')}"
        yield at(path, text.count("\n", 0, found.start()) + 1, "F3", f"It holds {sign}: delete it, or write it as an escape")


def _plain(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9_.-]+", "-", plain).strip("-.") or "a-name"
