"""Build the English site inside the Chinese one, so that one command gives both."""

from typing import Literal

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig

_serving = False


def on_startup(command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:  # noqa: FBT001, ARG001 - MkDocs's own signature
    """Remember the command, for the nested build and the policy: live reload is an inline script, so serve goes without one."""
    global _serving  # noqa: PLW0603 - MkDocs keeps hooks as modules
    _serving = command == "serve"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Tell the templates whether the site is being served."""
    config.extra["serving"] = _serving
    return config


def on_post_build(config: MkDocsConfig) -> None:
    """Build English after Chinese, with the same strictness and under the same address."""
    if config.theme["language"] != "zh":
        return
    english = load_config("mkdocs.en.yml", site_dir=f"{config.site_dir}/en", site_url=f"{config.site_url}en/", strict=config.strict)
    english.plugins.on_startup(command="serve" if _serving else "build", dirty=False)
    try:
        build(english)
    finally:
        english.plugins.on_shutdown()
