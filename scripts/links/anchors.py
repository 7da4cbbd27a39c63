"""Fragments as browsers look for them: the id as it stands, then the id decoded once, then the top."""

from collections.abc import Set as AbstractSet
from urllib.parse import unquote

_DIRECTIVE = ":~:"


def names_anchor(fragment: str, ids: AbstractSet[str]) -> bool:
    """Say whether a page with these ids has a place for the fragment, given as it stands in a resolved address."""
    name = fragment.partition(_DIRECTIVE)[0]
    if not name or name in ids:
        return True
    decoded = unquote(name, errors="replace") if "%" in name else name
    return decoded in ids or decoded.lower() == "top"
