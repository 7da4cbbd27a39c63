"""Bring in what web_build.py made: its files are named after their content, so that they can be cached for ever."""

import json
from pathlib import Path

from jinja2 import Environment
from mkdocs.config.config_options import ExtraScriptValue
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import ConfigurationError
from mkdocs.structure.files import Files

BUILT = Path(__file__).parent.parent.parent / "theme" / "assets" / "built"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Link the site's style and script on every page; leave edit links out where no repository is known.

    Raises ConfigurationError when the browser's part is not built yet.
    """
    try:
        manifest = json.loads((BUILT / "manifest.json").read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigurationError("the browser's part is not built: python3 scripts/dev.py build, or python scripts/web_build.py") from None
    config.extra["built"] = manifest
    script = ExtraScriptValue(f"assets/built/{manifest['site.js']}")
    script.type = "module"
    config.extra_javascript.append(script)
    if not config.repo_url:
        config.edit_uri = None
    return config


def on_env(env: Environment, config: MkDocsConfig, files: Files) -> Environment:  # noqa: ARG001 - MkDocs's own signature
    """Leave out the lines that template logic alone would leave blank: a page's first view is counted in bytes."""
    env.trim_blocks = env.lstrip_blocks = True
    return env
