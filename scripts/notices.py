"""Write the notices of third parties: what of others the built site carries to a reader, under which licence, and its text.

web/notices.yml names the components; versions, licences and texts of packages are read from the packages themselves.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import yaml

from project import LANGUAGES, ROOT, SNIPPETS

WEB = ROOT / "web"
PACKAGE = re.compile(r"node_modules/((?:@[^/]+/)?[^/]+)")
HEADS = {"zh": ("名称", "版本", "许可证", "用途"), "en": ("Name", "Version", "Licence", "What for")}
TEXTS = {"zh": ("许可证全文", "texts"), "en": ("Licence texts", "texts")}


@dataclass(frozen=True)
class Component:
    """One thing that the site carries: its own name and its package's, what the table says, and the licence's text."""

    name: str
    package: str
    version: str
    licence: str
    text: str
    entry: dict[str, str]


def notices() -> Iterator[tuple[Path, str]]:
    """Give each language's page part, with its path.

    Raises SystemExit, with the line to add or mend, when web/notices.yml does not name all that is shipped.
    """
    listed = yaml.safe_load((WEB / "notices.yml").read_text("utf-8"))
    components = [_component(entry) for entry in listed["components"]]
    _require_whole(components, listed)
    for language in LANGUAGES:
        yield SNIPPETS / "pages" / f"notices.{language}.md", _page(components, language)


def _component(entry: dict[str, str]) -> Component:
    package = entry.get("npm") or entry.get("python") or entry.get("package") or entry["name"]
    if "npm" in entry:
        folder = WEB / "node_modules" / package
        described = json.loads((folder / "package.json").read_text("utf-8"))
        version, licence, files = described["version"], described["license"], sorted(folder.glob("LICEN[CS]E*"))
    elif "python" in entry:
        found = distribution(package)
        version, licence = found.version, found.metadata["License-Expression"]
        files = [Path(str(file.locate())) for file in found.files or [] if "licenses" in file.parts]
    else:
        version, licence = entry.get("version", ""), entry["licence"]
        files = [WEB / "licences" / f"{package}.txt"]
    if not all(file.is_file() for file in files) or not files:
        raise SystemExit(f"{package} has no licence file: keep its text in web/licences/{package}.txt, the rest of its entry in web/notices.yml")
    text = "\n".join(file.read_text("utf-8").strip("\n") for file in files)
    return Component(entry.get("name", package), package, version, licence, text, entry)


def _require_whole(components: list[Component], listed: dict[str, Any]) -> None:
    material = distribution("mkdocs-material")
    if material.version != listed["material"]:
        raise SystemExit(f"web/notices.yml is of Material {listed['material']}, installed is {material.version}: its first lines say how to compare")
    # Its search, which is a worker, is not shipped.
    maps = [Path(str(file.locate())) for file in material.files or [] if file.name.endswith(".map") and "workers" not in file.parts]
    sources = [source for path in maps for source in json.loads(path.read_text("utf-8"))["sources"]]
    shipped = {found[1] for source in sources if (found := PACKAGE.search(source))}
    locked = json.loads((WEB / "package-lock.json").read_text("utf-8"))["packages"]
    shipped |= {path.split("node_modules/")[-1] for path, package in locked.items() if path and not (package.get("dev") or package.get("optional"))}
    missing = shipped - {component.package for component in components} - set(listed["tools"])
    if missing:
        raise SystemExit(f"the site ships {', '.join(sorted(missing))}: add a line for each to web/notices.yml")


def _page(components: list[Component], language: str) -> str:
    lines = [HEADS[language], ("---",) * 4]
    for component in components:
        name = f"[{component.name}]({component.entry['home']})"
        lines.append((name, component.version or "–", component.licence, component.entry[language]))
    title, anchor = TEXTS[language]
    parts = ["\n".join("| " + " | ".join(line) + " |" for line in lines), f"## {title} {{ #{anchor} }}"]
    for component in components:
        text = "\n".join(f"    {line}".rstrip() for line in component.text.splitlines())
        parts.append(f'??? note "{component.name} ({component.licence})"\n\n    ``` {{ .text }}\n{text}\n    ```')
    return "\n\n".join(parts) + "\n"
