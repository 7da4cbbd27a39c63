"""Write each language's search index beside its pages: what is in scripts/search_index, fed with the pages as they are built."""

import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

sys.path.append(str(Path(__file__).parent.parent))

from pages import terms
from project import TWIN, is_question
from search_index.reading import Section, sections
from search_index.terms import terms_of
from search_index.weighing import Page as Found
from search_index.writing import Index

GATHERED = ("index.md", "review.md", "tags.md")  # they repeat what other pages say: their titles are enough
HEADING = re.compile(r"^#{1,4} (.+?)(?: \{[^}#]*#([\w-]+)[^}]*\})?\s*$", re.MULTILINE)
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1", re.MULTILINE | re.DOTALL)


# One for each language: MkDocs keeps hooks as modules, and one build runs within the other.
_indexes: dict[str, Index] = {}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Begin anew, with the glossary's names for this language."""
    language = config.theme["language"]
    _indexes[language] = Index(terms_of(terms(), language))
    return config


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> None:  # noqa: ARG001 - MkDocs's own signature
    """Take a page up as it stands, after all that other hooks did to it."""
    name = page.file.src_uri.rpartition("/")[2]
    found = sections(html)
    also = f"{page.meta.get('description', '')} {page.meta.get('measured', '')} {Path(name).stem if name not in GATHERED else ''}"
    if not found[0].heading:
        found[0] = Section("", str(page.title), found[0].prose, found[0].listing)
    if name in GATHERED:
        found = [Section("", found[0].heading, str(page.meta.get("description", "")), "")]
    entry = Found(page.file.src_uri, "" if page.url == "./" else page.url, found, also, _twin(page, config))
    _indexes[config.theme["language"]].add(_kind(page), entry)


@event_priority(100)  # before the English site is built within the Chinese one's end: the memory is free again
def on_post_build(config: MkDocsConfig) -> None:
    """Write this language's index."""
    _indexes.pop(config.theme["language"]).write(Path(config.site_dir) / "search")


def _kind(page: Page) -> str:
    path = page.file.src_uri
    if path.endswith(".ipynb"):
        return "lab"
    if path == "reference/glossary.md":
        return "glossary"
    return "question" if is_question(path) else "other"


def _twin(page: Page, config: MkDocsConfig) -> list[tuple[str, str]]:
    """Give the headings of the page in the other language, by which it is found in that language too."""
    other = Path(config.docs_dir).parent / TWIN[config.theme["language"]] / page.file.src_uri
    if other.suffix != ".md" or not other.is_file() or other.name in GATHERED:
        return []
    text = FENCE.sub("", other.read_text("utf-8"))
    found = [(anchor or "", re.sub(r"[`*]", "", heading)) for heading, anchor in HEADING.findall(text)]
    return [("", found[0][1]), *found[1:]] if found else []
