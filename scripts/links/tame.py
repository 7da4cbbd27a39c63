"""Tells a page that a parser works through quickly from one that was made to hang it."""

import re

_SMALL = 1 << 18
_DEEPEST = 10_000
_LONGEST_TAG = 1 << 18
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*)")
_LONG_TAG = re.compile(rf"<[A-Za-z][^<>]{{{_LONGEST_TAG},}}")
# Elements that hold nothing, or that the next one of their kind closes.
_FLAT = {
    "a", "area", "base", "body", "br", "circle", "col", "colgroup", "dd", "dt", "embed", "g", "head", "hr",
    "html", "img", "input", "li", "line", "link", "meta", "optgroup", "option", "p", "path", "rect", "rp", "rt",
    "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "use", "wbr",
}  # fmt: skip


def is_tame(text: str) -> bool:
    """Say whether a page nests and fills its tags within reason; both cost a parser the square of their number."""
    if len(text) <= _SMALL:
        return True
    if _LONG_TAG.search(text):
        return False
    depth = 0
    for close, name in _TAG.findall(text):
        if name.lower() not in _FLAT:
            depth = max(0, depth - 1) if close else depth + 1
            if depth > _DEEPEST:
                return False
    return True
