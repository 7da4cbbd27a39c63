"""Show a lab with this site's own template and Markdown, and check its links as MkDocs does elsewhere."""

import json
import logging
import posixpath
import re
from pathlib import Path
from typing import Any

import yaml
from markdown import Markdown
from markdown.extensions.toc import nest_toc_tokens
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import get_toc
from mkdocs_jupyter.config import settings
from nbconvert.exporters.templateexporter import default_filters

log = logging.getLogger("mkdocs.hooks")

LINK = re.compile(r'href="([^":#?/][^":#?]*)(#[^"]*)?"')
HEADING = re.compile(r'<h([1-6]) id="([^"]+)">(.*?)(?:<a class="headerlink".*?</a>)?</h', re.DOTALL)
# mkdocs-jupyter adds it after every notebook, whatever the template says.
STYLE = re.compile(r"\s*<style>[^<]*</style>\s*$")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give mkdocs-jupyter our template instead of 580 KB of JupyterLab's styles, and this site's Markdown and words."""
    settings.templates_dir = str(Path(__file__).parent.parent.parent / "theme" / "labs")

    def site_markdown(text: str) -> str:
        return Markdown(extensions=config.markdown_extensions, extension_configs=config.mdx_configs).convert(text)

    default_filters["site_markdown"] = site_markdown
    default_filters["site_word"] = config.extra["words"].__getitem__
    return config


def on_page_read_source(page: Page, config: MkDocsConfig) -> str | None:  # noqa: ARG001 - MkDocs's own signature
    """Give a lab the front matter that its script's header holds; its text comes from mkdocs-jupyter."""
    if not is_lab(page):
        return None
    notebook = json.loads(page.file.content_string)
    return f"---\n{yaml.safe_dump(notebook['metadata'].get('page', {}), allow_unicode=True)}---\n"


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - as above
    """Resolve a lab's links, take title and table of contents from its headings, and lead its editor to the script."""
    if not is_lab(page):
        return html

    def resolve(match: re.Match[str]) -> str:
        path, anchor = match[1], match[2] or ""
        source = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), path))
        target = files.get_file_from_path(source)
        if source == page.file.src_uri:
            return match[0]  # the notebook itself lies beside the page
        if target is None:
            log.warning("%s links to %s, which is not there", page.file.src_uri, path)
            return match[0]
        return f'href="{target.url_relative_to(page.file)}{anchor}"'

    html = LINK.sub(resolve, STYLE.sub("\n", html))
    tokens: list[Any] = [
        {"level": int(level), "id": anchor, "name": re.sub("<[^>]+>", "", name).strip(), "html": name, "data-toc-label": ""}
        for level, anchor, name in HEADING.findall(html)
    ]
    if tokens:
        page.title = tokens[0]["name"]
    page.toc = get_toc(nest_toc_tokens(tokens))  # which empties the list
    if page.edit_url:
        page.edit_url = re.sub(r"docs/(\w+)/labs/(.+)\.ipynb$", r"snippets/labs/\2.\1.py", page.edit_url)
    return html


def is_lab(page: Page) -> bool:
    """Tell a lab from the pages that are written in Markdown."""
    return page.file.src_uri.endswith(".ipynb")
