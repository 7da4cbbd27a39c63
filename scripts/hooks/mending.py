"""Let a reader mend what is wrong: a link behind each section's heading that reports an error there.

Only where REPO_URL names a repository, whose form for corrections (.github/ISSUE_TEMPLATE/correction.yml) takes page and section.
"""

import re
from urllib.parse import urlencode

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

SECTION = re.compile(r'(<h2 id="([^"]+)">.*?)(</h2>)', re.DOTALL)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - MkDocs's own signature
    """Add the link to each section's heading, and keep the page's own for the template."""
    if not config.repo_url:
        return html
    page.meta["report"] = _form(page, config, "")
    word = config.extra["words"]["report_section"]

    def add(match: re.Match[str]) -> str:
        address = _form(page, config, match[2]).replace("&", "&amp;")
        return f'{match[1]}<a class="headerlink report" href="{address}" data-search-exclude>{word}</a>{match[3]}'

    return SECTION.sub(add, html)


def _form(page: Page, config: MkDocsConfig, section: str) -> str:
    """Give the address of the form for corrections, with the page's file and the section's id filled in."""
    file = f"docs/{config.theme['language']}/{page.file.src_uri}"
    fields = {"template": "correction.yml", "page": file} | ({"section": section} if section else {})
    return f"{str(config.repo_url).rstrip('/')}/issues/new?{urlencode(fields)}"
