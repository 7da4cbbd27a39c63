"""Leave out what a page says to its writers: HTML comments, the marks of its sections among them."""

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)  # in code, < is written &lt;


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - MkDocs's own signature
    """Take the comments out of a page's HTML."""
    return COMMENT.sub("", html)
