"""Show a lab with this site's own template and Markdown, and check its links as MkDocs does elsewhere."""

import logging
import posixpath
import re
from pathlib import Path

from markdown import Markdown
from markdown.extensions.toc import nest_toc_tokens
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import get_toc
from mkdocs_jupyter.config import settings
from nbconvert.exporters.templateexporter import default_filters

log = logging.getLogger("mkdocs.hooks")

LINK = re.compile(r'href="([^":#?]+\.(?:md|ipynb))(#[^"]*)?"')
HEADING = re.compile(r'<h([1-6]) id="([^"]+)">(.*?)(?:<a class="headerlink".*?</a>)?</h', re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give mkdocs-jupyter our template instead of 580 KB of JupyterLab's styles, and this site's Markdown."""
    settings.templates_dir = str(Path(__file__).parent.parent.parent / "theme" / "labs")

    def site_markdown(text: str) -> str:
        return Markdown(extensions=config.markdown_extensions, extension_configs=config.mdx_configs).convert(text)

    default_filters["site_markdown"] = site_markdown
    return config


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - MkDocs's own signature
    """Resolve a lab's links to pages, and take its table of contents from its headings."""
    if not page.file.src_uri.endswith(".ipynb"):
        return html

    def resolve(match: re.Match[str]) -> str:
        path, anchor = match[1], match[2] or ""
        target = files.get_file_from_path(posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), path)))
        if target is None:
            log.warning("%s links to %s, which is no page", page.file.src_uri, path)
            return match[0]
        return f'href="{target.url_relative_to(page.file)}{anchor}"'

    html = LINK.sub(resolve, html)
    tokens = [
        {"level": int(level), "id": anchor, "name": re.sub("<[^>]+>", "", name).strip(), "html": name, "data-toc-label": ""}
        for level, anchor, name in HEADING.findall(html)
    ]
    page.toc = get_toc(nest_toc_tokens(tokens))  # type: ignore[arg-type]  # its own token type is private
    return html
