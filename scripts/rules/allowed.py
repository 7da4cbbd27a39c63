"""What a page may be made of: elements and their attributes, and which addresses; the same for a page's Markdown and for the built page."""

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from selectolax.lexbor import LexborNode

NONE: frozenset[str] = frozenset()
COMMON = {"class", "id", "lang"}
# What an author may write as HTML, with the attributes that md_in_html and the site's scripts know.
WRITTEN: Mapping[str, AbstractSet[str]] = {
    "br": NONE,
    "div": {"class", "data-filter", "markdown"},
    "figcaption": {"id"},
    "figure": {"markdown"},
    "section": {"data-search-exclude", "markdown"},
}
# Elements without attributes of their own, then those with.
PAGE: Mapping[str, AbstractSet[str]] = {
    **dict.fromkeys(["blockquote", "br", "dd", "del", "dl", "dt", "em", "figcaption", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "p"], NONE),
    **dict.fromkeys(["pre", "span", "strong", "sub", "summary", "sup", "table", "tbody", "thead", "tr", "ul"], NONE),
    "a": {"href", "title", "download"},
    "abbr": {"title"},
    "code": {"data-parameter"},
    "details": {"open"},
    "div": {"data-tabs", "data-filter", "data-draw", "data-snippet", "markdown"},
    "figure": {"markdown"},
    "input": {"name", "type", "checked"},
    "label": {"for"},
    "ol": {"start"},
    "section": {"data-search-exclude", "markdown"},
    "td": {"align"},
    "th": {"align"},
}
PRESENTATION = {
    "clip-path", "clip-rule", "dominant-baseline", "fill", "fill-opacity", "fill-rule", "font-family", "font-size", "font-style", "font-weight",
    "marker-end", "marker-start", "opacity", "stroke", "stroke-dasharray", "stroke-dashoffset", "stroke-linecap", "stroke-linejoin",
    "stroke-miterlimit", "stroke-opacity", "stroke-width", "text-anchor", "transform",
}  # fmt: skip
FIGURE: Mapping[str, AbstractSet[str]] = {
    "svg": {"xmlns", "viewbox", "role", "aria-label", "aria-labelledby", "data-search-exclude", "width", "height", "version", "xmlns:xlink"},
    "circle": {"cx", "cy", "r"}, "clippath": NONE, "defs": NONE, "desc": NONE, "ellipse": {"cx", "cy", "rx", "ry"}, "g": NONE,
    "line": {"x1", "x2", "y1", "y2"}, "marker": {"markerheight", "markerwidth", "orient", "refx", "refy", "viewbox"},
    "path": {"d"}, "pattern": {"x", "y", "width", "height", "patternunits", "patterntransform", "viewbox"},
    "polygon": {"points"}, "polyline": {"points"}, "rect": {"x", "y", "width", "height", "rx", "ry"}, "text": {"x", "y", "dx", "dy", "xml:space"},
    "title": NONE, "tspan": {"x", "y", "dx", "dy"}, "use": {"href", "x", "y"},
}  # fmt: skip
# The build and the theme add these to what a page's Markdown gives.
BUILT: Mapping[str, AbstractSet[str]] = {
    **dict.fromkeys(["article", "aside", "footer", "header", "path", "small"], NONE),
    "a": {"rel", "target", "aria-label"},
    "button": {"type", "title", "hidden", "aria-label"},
    "code": {"tabindex"},
    "div": {"data-run", "data-files", "data-python", "data-size", "data-md-component", "hidden", "role", "aria-label"},
    "nav": {"aria-label"},
    "section": {"data-404"},
    "svg": {"aria-hidden", "focusable"},
    "time": {"datetime"},
    "ul": {"aria-label"},
}

SHORT = 8
ADDRESSES = {"href", "src", "action", "data", "poster", "formaction", "srcset", "xlink:href", "cite", "background"}


def refused(node: LexborNode, *, built: bool = False) -> Iterator[tuple[str, str, str]]:
    """Name what an element may not be or have: the rule, the word to look for in the source, and the sentence."""
    tag = (node.tag or "").lower()
    inside = _inside(node, "svg")
    figure = tag in FIGURE and (tag != "title" or inside)
    known = FIGURE[tag] | PRESENTATION if figure else PAGE.get(tag)
    if built:
        known = (known or set()) | BUILT[tag] if tag in BUILT else known
    if known is None or (inside and not figure):
        # A picture of Markdown stands in the source by its address alone; a short one would match anything.
        source = re.escape((node.attributes.get("src") or "")[:40])
        source = source if len(source) > SHORT else ""
        yield "H1", rf"<\s*{re.escape(tag)}\b{'|' if source else ''}{source}", f"<{tag}> is none of them: write it as Markdown, or leave it out"
        return
    for name, value in node.attributes.items():
        key = name.lower()
        if key not in known | COMMON:
            yield "H1", re.escape(name), f"<{tag}> may not have {name}: delete it"
        elif key == "id" and value and value.startswith("__") and tag != "input":
            yield "H1", re.escape(value), f"The id {value} is one of the site's own: choose another"
        elif key in ADDRESSES:
            yield from _address(tag, value or "", figure=figure)
        elif "url(" in (value or "").lower() and not re.fullmatch(r"\s*url\(#[\w.:-]+\)\s*", value or ""):
            yield "H2", r"url\(", f"{name} of <{tag}> holds {(value or '')[:60]}: only url(#an-id) of the same figure may stand there"


def _address(tag: str, value: str, *, figure: bool) -> Iterator[tuple[str, str, str]]:
    # A browser passes over spaces and control characters in an address, and takes a backslash for a slash.
    plain = re.sub(r"[\x00-\x20]", "", value).replace("\\", "/").lower()
    scheme = re.match(r"[a-z][a-z0-9+.-]*:", plain)
    pattern = re.escape(value.strip()[:20]) or tag
    value = re.sub(r"[\x00-\x1f]", lambda match: f"\\x{ord(match[0]):02x}", value)
    if figure and not plain.startswith("#"):
        yield "H2", pattern, f"<{tag}> refers to {value[:60]}: only #an-id of the same figure may stand there"
    elif plain.startswith("//") or (scheme and scheme[0] not in {"https:", "http:"}):
        yield "H2", pattern, f"The address {value[:60]} is none of these: write https://, or a path of the site"
    elif scheme and scheme[0] == "http:":
        yield "H2", pattern, f"The address {value[:60]} is not encrypted: write https://"


def _inside(node: LexborNode, tag: str) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.tag == tag:
            return True
        parent = parent.parent
    return False
