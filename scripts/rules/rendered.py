"""A page as Markdown makes it, with what it includes: for the rules that look at elements and not at text."""

import re
from functools import lru_cache
from typing import Any

from markdown import Markdown
from selectolax.lexbor import LexborHTMLParser, LexborNode

import configuration
from pages import CONFIG
from project import ROOT


def tree_of(text: str) -> LexborHTMLParser:
    """Parse a page's Markdown, front matter aside, as a browser would parse what the build makes of it."""
    body = re.sub(r"\A---\n.*?\n---\n", "", text, count=1, flags=re.DOTALL)
    return LexborHTMLParser(_converter(CONFIG.read_text("utf-8"), str(ROOT)).reset().convert(body))


def elements(tree: LexborHTMLParser | LexborNode) -> list[LexborNode]:
    """Give the elements of a page in order, those of its figures too."""
    return [node for node in tree.css("*") if node.tag not in {"html", "head", "body"}]


@lru_cache(maxsize=2)
def _converter(text: str, root: str) -> Markdown:
    extensions: dict[str, Any] = configuration.parsed(text)["markdown_extensions"]
    snippets = extensions.get("pymdownx.snippets", {})
    # Missing files are another rule's, and here they would stop the rest.
    snippets |= {"base_path": [f"{root}/{folder}" for folder in snippets.get("base_path", [])], "check_paths": False}
    return Markdown(extensions=list(extensions), extension_configs=extensions)
