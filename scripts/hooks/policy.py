"""Let the template write a Content-Security-Policy that trusts Material's few inline scripts by their hash."""

import re
from base64 import b64encode
from hashlib import sha256

from jinja2 import Environment
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files


def on_env(env: Environment, config: MkDocsConfig, files: Files) -> Environment:  # noqa: ARG001 - MkDocs's own signature
    """Add the filter script_hashes."""
    env.filters["script_hashes"] = script_hashes
    return env


def script_hashes(html: str) -> str:
    """Give the policy's words for all inline scripts in a piece of HTML."""
    codes = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    return " ".join(f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'" for code in codes)
