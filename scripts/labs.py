"""Execute the labs: percent scripts in, notebooks with their outputs out, the same bytes on each run.

A lab is snippets/labs/<id>.<language>.py; its notebook is docs/<language>/labs/<id>.ipynb, which the build only renders.
A figure is cleaned for the site: a strict policy forbids inline styles, its ink follows light and dark, and its words are
those of the cell's caption: # %% caption="What the figure shows."
"""

import os
import re
import tempfile
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, DeadKernelError
from traitlets import default

import fenced
from project import ROOT, SNIPPETS, shown

SLOWEST = 120  # seconds that one cell may take
MOST_CELLS = 5  # so many of the slowest may a lab have
METADATA = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}
INK, PAPER = "#010101", "#fefefe"  # what a lab draws with where the page's own colours shall stand

SVG, XLINK = "http://www.w3.org/2000/svg", "{http://www.w3.org/1999/xlink}"
# matplotlib's <style> element says this for all shapes; on the root it is inherited.
INHERITED = {"stroke-linejoin": "round", "stroke-linecap": "butt"}
PRESENTATION = {
    "clip-path", "fill", "fill-opacity", "fill-rule", "font-size", "font-style", "font-weight", "opacity", "stroke", "stroke-dasharray",
    "stroke-dashoffset", "stroke-linecap", "stroke-linejoin", "stroke-miterlimit", "stroke-opacity", "stroke-width", "text-anchor",
}  # fmt: skip
ET.register_namespace("", SVG)


class LabError(ValueError):
    """A cell's output is not fit for the site; the message says what to change in the cell."""


class FencedKernel(AsyncKernelManager):  # type: ignore[misc]  # its package has no types
    """A kernel behind the fence: it talks to its client by files, so that it needs no network and gets none."""

    @default("transport")
    def _files_and_no_ports(self) -> str:
        return "ipc" if os.name == "posix" else "tcp"

    @default("ip")
    def _place_of_the_files(self) -> str:
        # An absolute path, since the kernel starts in another folder than its client.
        self.folder = tempfile.TemporaryDirectory()
        return f"{self.folder.name}/kernel" if os.name == "posix" else "127.0.0.1"

    def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
        """Start it where there is no network."""
        return [*fenced.without_network(), *super().format_kernel_cmd(extra_arguments=extra_arguments)]


def executed(folder: Path = SNIPPETS / "labs") -> list[tuple[Path, str]]:
    """Execute each percent script of a folder, side by side, and give each notebook's file with its text.

    Raises SystemExit that names the script and the cell when a cell fails or leaves what the site cannot show.
    """
    scripts = sorted(folder.glob("*.*.py"))
    with ThreadPoolExecutor() as pool:
        return list(zip(map(notebook_of, scripts), pool.map(execute, scripts), strict=True))


def notebook_of(script: Path) -> Path:
    """Name the notebook that a percent script gives."""
    name, language = script.stem.split(".")
    return ROOT / "docs" / language / "labs" / f"{name}.ipynb"


def execute(script: Path) -> str:
    """Execute one percent script in its folder and give its notebook's text."""
    notebook = jupytext.read(script, fmt="py:percent")
    started: list[int] = []
    client = NotebookClient(
        notebook,
        timeout=SLOWEST,
        kernel_name="python3",
        kernel_manager_class=FencedKernel,
        coalesce_streams=True,  # else a pause between two prints makes two outputs
        resources={"metadata": {"path": str(script.parent)}},
        on_cell_start=lambda cell, cell_index: started.append(cell_index),  # noqa: ARG005 - nbclient's own names
        # The kernel says on every start that it talks over TCP; only its errors matter here.
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
    )
    try:
        client.execute(env=_environment())
    except (CellControlSignal, DeadKernelError) as error:
        raise SystemExit(f"{_place(script, notebook, started[-1])} failed:\n{_end(error)}") from error
    for number, cell in enumerate(notebook.cells):
        try:
            _settle(cell, f"c{number}")
        except LabError as error:
            raise SystemExit(f"{_place(script, notebook, number)}: {error}") from error
    notebook.metadata = nbformat.from_dict(METADATA | {"page": notebook.metadata.get("page", {})})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"


def cleaned_svg(text: str, prefix: str, label: str) -> str:
    """Give a figure of matplotlib's as the site shows it: no style, no metadata, ids of its own, an accessible name."""
    root = ET.fromstring(text)  # noqa: S314 - matplotlib wrote it a moment ago
    for parent in list(root.iter()):
        for child in list(parent):
            if _name(child) in {"metadata", "style"}:
                parent.remove(child)
    for element in root.iter():
        _clean(element)
    _rename_ids(root, prefix)
    _flatten(root)
    root.attrib |= INHERITED | {"role": "img", "aria-label": label}
    return ET.tostring(root, encoding="unicode").strip()


def _clean(element: ET.Element) -> None:
    """Turn an element's style into attributes, and the placeholders into the page's colours."""
    for declaration in filter(str.strip, element.attrib.pop("style", "").split(";")):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key == "font-family":
            continue  # the page's own font is inherited
        if key not in PRESENTATION:
            raise LabError(f"the figure sets {key}, which is no presentation attribute: add it to scripts/labs.py if SVG 1.1 has it")
        element.set(key, value)
    for key, value in list(element.attrib.items()):
        if key.startswith(XLINK):
            del element.attrib[key]
            element.set(key.removeprefix(XLINK), value)
        elif value in {INK, PAPER}:
            element.set(key, "currentColor" if value == INK else "none")
    # Paths come a point a line; one line holds them as well, and no line is blank.
    if "d" in element.attrib:
        element.set("d", " ".join(element.get("d", "").split()))
    element.text, element.tail = (part if part and part.strip() else None for part in (element.text, element.tail))


def _rename_ids(root: ET.Element, prefix: str) -> None:
    """Keep the ids that something refers to, under names that no other figure of the page has."""
    text = ET.tostring(root, encoding="unicode")
    names: dict[str, str] = {}
    for element in root.iter():
        name = element.attrib.pop("id", "")
        if f'"#{name}"' in text or f"url(#{name})" in text:
            element.set("id", names.setdefault(name, f"{prefix}-{len(names) + 1}"))
    for element in root.iter():
        for key, value in element.attrib.items():
            if value.startswith("#") and value[1:] in names:
                element.set(key, f"#{names[value[1:]]}")
            elif value.startswith("url(#") and value[5:-1] in names:
                element.set(key, f"url(#{names[value[5:-1]]})")


def _flatten(parent: ET.Element) -> None:
    """Take out groups that say nothing, and write one element a line, so that a change shows in a diff."""
    if _name(parent) == "text":
        return  # white space within it would show
    for child in list(parent):
        _flatten(child)
        if _name(child) == "g" and not child.attrib:
            place = list(parent).index(child)
            parent[place : place + 1] = list(child)
    for element in (parent, *parent):
        element.tail = "\n"


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _settle(cell: Any, name: str) -> None:
    """Give a cell its fixed id, and its outputs without what changes from run to run."""
    cell.id = name
    cell.metadata = nbformat.from_dict({key: value for key, value in cell.metadata.items() if key == "caption"})
    if cell.cell_type != "code":
        return
    # What goes to standard error (a cache being filled, a warning of one version) is not the lab's.
    cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    for output in cell.outputs:
        data = output.get("data", {})
        if image := next((kind for kind in data if kind.startswith("image/") and kind != "image/svg+xml"), None):
            raise LabError(f'the cell leaves {image}: call set_matplotlib_formats("svg") in the first code cell')
        if "image/svg+xml" in data:
            if not cell.metadata.get("caption"):
                raise LabError('its figure has no name: write # %% caption="What the figure shows." above the cell')
            data["image/svg+xml"] = cleaned_svg(data["image/svg+xml"], name, cell.metadata["caption"])
            data["text/plain"] = cell.metadata["caption"]


def _environment() -> dict[str, str]:
    """Give the kernel an environment in which a reader's settings change nothing, and no secret is."""
    fixed = {"MPLCONFIGDIR": str(ROOT / ".cache" / "matplotlib")}
    kept = {key: value for key, value in os.environ.items() if key.upper() in {"HOME", "USERPROFILE"}}
    return fenced.environment(SLOWEST * MOST_CELLS) | kept | fixed


def _place(script: Path, notebook: Any, number: int) -> str:
    """Name a cell as its author finds it: by number and first line."""
    return f"{shown(script)}: cell {number + 1}, which begins with {notebook.cells[number].source.partition(chr(10))[0]!r},"


def _end(error: Exception) -> str:
    """Give the last lines of what went wrong, without a terminal's colours."""
    return "\n".join(re.sub(r"\x1b\[[0-9;]*m", "", str(error)).rstrip().splitlines()[-15:])
