"""Let the template write a Content-Security-Policy that trusts Material's few inline scripts by their hash."""

import re
from base64 import b64encode
from hashlib import sha256
from typing import Literal

from jinja2 import Environment
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files

_serving = False


def on_startup(command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:  # noqa: FBT001, ARG001 - MkDocs's own signature
    """Remember the command: live reload is an inline script of its own, so serve goes without the policy."""
    global _serving  # noqa: PLW0603 - MkDocs keeps hooks as modules
    _serving = command == "serve"


def on_env(env: Environment, config: MkDocsConfig, files: Files) -> Environment:  # noqa: ARG001 - as above
    """Add the filter script_hashes and the word `serving`."""
    env.filters["script_hashes"] = script_hashes
    config.extra["serving"] = _serving
    return env


def script_hashes(html: str) -> str:
    """Give the policy's words for all inline scripts in a piece of HTML."""
    codes = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    return " ".join(f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'" for code in codes)
