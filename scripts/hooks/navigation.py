"""Name the sections after their index pages, leave out pages that this language lacks, tell templates about twins."""

import logging
import sys
from pathlib import Path
from typing import Any

from jinja2 import Environment
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page

sys.path.append(str(Path(__file__).parent.parent))

import lonely
from project import TWIN

log = logging.getLogger("mkdocs.hooks")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take out of the nav what has no page in this language but has one in the other."""
    here, other = Path(config.docs_dir), _other(config)
    config.nav = _present(config.nav or [], here, other)
    config.extra["lonely"] = sorted(lonely.pages(here) ^ lonely.pages(other))
    return config


def on_env(env: Environment, config: MkDocsConfig, files: Files) -> Environment:  # noqa: ARG001 - MkDocs's own signature
    """Give each section its index page's title, now that the pages are read."""
    for section in _sections(getattr(on_nav, "nav", None)):
        index = next((child for child in section.children if isinstance(child, Page) and child.is_index), None)
        if index:
            section.title = index.title or section.title
    return env


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:  # noqa: ARG001 - as above
    """Keep the nav for on_env, which comes after the pages are read."""
    on_nav.nav = nav  # type: ignore[attr-defined]  # MkDocs keeps hooks as modules; this is its only state
    return nav


def on_page_context(context: dict[str, Any], page: Page, config: MkDocsConfig, nav: Navigation) -> dict[str, Any]:  # noqa: ARG001 - as above
    """Tell the template whether the other language has this page."""
    context["has_twin"] = page.file.src_uri not in config.extra["lonely"]
    return context


def on_post_build(config: MkDocsConfig) -> None:
    """Close the build with the number of pages that stand in one language only."""
    alone = config.extra["lonely"]
    if config.theme["language"] == "zh":
        log.info("%d pages in one language only%s", len(alone), f": {', '.join(alone)}" if alone else "")


def _other(config: MkDocsConfig) -> Path:
    return Path(config.docs_dir).parent / TWIN[config.theme["language"]]


def _present(items: list[Any], here: Path, other: Path) -> list[Any]:
    kept: list[Any] = []
    for item in items:
        if isinstance(item, dict):
            sections = {name: _present(children, here, other) if isinstance(children, list) else children for name, children in item.items()}
            kept += [{name: children} for name, children in sections.items() if children]
        elif (here / item).is_file() or not (other / item).is_file():
            kept.append(item)  # what neither language has stays, for the strict build to report
    return kept


def _sections(nav: Navigation | None) -> list[Section]:
    return [item for item in nav.items if isinstance(item, Section)] if nav else []
