"""Read mkdocs.yml where MkDocs itself is not at hand."""

from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """Passes over MkDocs's own tags."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: None)  # noqa: ARG005 - the loader's own signature


def parsed(text: str) -> dict[str, Any]:
    """Give a configuration's values; those that have one of MkDocs's own tags are None."""
    found: dict[str, Any] = yaml.load(text, _Loader)  # noqa: S506 - derived from the safe one
    return found
