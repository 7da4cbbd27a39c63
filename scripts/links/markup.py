"""A page as a browser that runs scripts sees it: the addresses that it uses, and the anchors that one can link to.

What stands in comments, scripts, `<template>`, `<noscript>`, `<textarea>` or escaped in text is no link.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from links.styles import style_urls
from links.values import refresh_url, srcset_urls

Attributes = dict[str, str | None]

# Said to the browser or to other programs, never fetched as a page: asking would prove nothing.
_NOT_FETCHED = {"preconnect", "dns-prefetch", "pingback", "edituri", "wlwmanifest", "profile", "webmention", "schema.dc", "schema.dcterms"}
_SCRIPT_TYPES = re.compile(r"(?:module|(?:text|application)/(?:x-)?(?:javascript|ecmascript|jscript|livescript)(?:1\.[0-5])?)?", re.IGNORECASE)
_SOURCES = {"iframe": "src", "frame": "src", "embed": "src", "object": "data", "body": "background", "table": "background", "td": "background",
            "th": "background", "audio": "src", "track": "src"}  # fmt: skip
_SVG = {"use", "image", "feImage", "textPath", "mpath", "linearGradient", "radialGradient", "pattern", "filter", "animate", "animateMotion",
        "animateTransform", "set", "cursor"}  # fmt: skip
_PAINTS = ("style", "fill", "stroke", "filter", "clip-path", "mask", "marker", "marker-start", "marker-mid", "marker-end", "cursor")
# Everything in which `<noscript>` is only text, then `<noscript>` itself, whose content is text where scripts run.
_NOSCRIPT = re.compile(
    r"""<!--.*?(?:--!?>|\Z)
    | <(?P<raw>script|style|textarea|title|xmp|iframe|noembed|noframes)\b.*?(?:</(?P=raw)(?=[\s/>])|\Z)
    | (?P<open><noscript\b(?:[^>"']|"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))*+>?)(?P<hidden>.*?)(?P<close></noscript(?=[\s/>])|\Z)
    | <[a-z/](?:[^>"']|"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))*+>?""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_DEEPEST = 8


class Page(NamedTuple):
    """What a page says, as written: addresses in the order in which they stand, and the ids that a fragment may name.

    `parts` are references to parts of the page itself (`url(#x)`, `<use href="#x">`), which `<base>` does not move.
    """

    links: list[str]
    parts: list[str]
    ids: frozenset[str]
    base: str | None
    refresh: str | None
    title: str
    shell: bool


def read_page(text: str) -> Page:
    """Read a page. Nothing is raised, whatever the text holds."""
    if "<noscript" in text.lower():
        text = _NOSCRIPT.sub(lambda found: found["open"] + found["close"] if found["open"] else found[0], text)
    reader = _Reader(paints="url(" in text.lower())
    parser = LexborHTMLParser(text)
    if parser.root is not None:
        reader.walk(parser.root, 0)
    title = parser.css_first("head > title") if reader.scripts or "<title" in text[:65536].lower() else None
    shell = reader.scripts > 0 and not reader.content and parser.body is not None and _is_shell(parser.body)
    return Page(reader.links, reader.parts, frozenset(reader.ids), reader.base, reader.refresh, title.text().strip() if title else "", shell)


class _Reader:
    """One walk over a page's elements."""

    def __init__(self, *, paints: bool) -> None:
        self.links: list[str] = []
        self.parts: list[str] = []
        self.ids: set[str] = set()
        self.base: str | None = None
        self.refresh: str | None = None
        self.scripts = 0
        self.content = False
        self._paints = paints

    def walk(self, root: LexborNode, depth: int) -> None:
        """Read every element below `root`; what is below the top document has no anchors of its own to offer."""
        add_id = self.ids.add if depth == 0 else set[str]().add
        for node in root.traverse():
            tag = node.tag or ""
            attributes = node.attributes
            if attributes and (name := attributes.get("id")):
                add_id(name)
            if tag == "a":
                if attributes:
                    self._anchor(node, attributes)
                    if name := attributes.get("name"):
                        add_id(name)
            elif read := _READERS.get(tag):
                read(self, node, attributes, depth)
            if self._paints and attributes:
                self._paint(attributes)

    def _anchor(self, node: LexborNode, attributes: Attributes) -> None:
        self.content = True
        if "href" in attributes:
            self.links.append(attributes["href"] or "")
        elif "xlink:href" in attributes and _within_svg(node):
            self.links.append(attributes["xlink:href"] or "")

    def _paint(self, attributes: Attributes) -> None:
        for name in _PAINTS:
            if (value := attributes.get(name)) and "(" in value:
                self._fetched(style_urls(value, sheet=False))

    def area(self, _node: LexborNode, attributes: Attributes, _depth: int) -> None:
        """Read `<area>`: a link within a picture."""
        if "href" in attributes:
            self.links.append(attributes["href"] or "")

    def base_element(self, _node: LexborNode, attributes: Attributes, depth: int) -> None:
        """Read `<base>`: the first with an address counts, for every link of the page."""
        if self.base is None and depth == 0 and "href" in attributes:
            self.base = attributes["href"] or ""

    def link(self, _node: LexborNode, attributes: Attributes, _depth: int) -> None:
        """Read `<link>`: what its `rel` says; one without `rel` does nothing."""
        relations = set((attributes.get("rel") or "").lower().split())
        if not relations or relations <= _NOT_FETCHED:
            return
        self._one(attributes.get("href"))
        if "preload" in relations:
            self.links += srcset_urls(attributes.get("imagesrcset") or "")

    def meta(self, _node: LexborNode, attributes: Attributes, _depth: int) -> None:
        """Read `<meta http-equiv="refresh">`: where the page sends its reader."""
        if (attributes.get("http-equiv") or "").strip().lower() == "refresh" and (found := refresh_url(attributes.get("content") or "")):
            self.links.append(found[1])
            if self.refresh is None and found[0] == 0:
                self.refresh = found[1]

    def script(self, node: LexborNode, attributes: Attributes, _depth: int) -> None:
        """Read `<script>`: its file, unless its type makes it data."""
        if not _SCRIPT_TYPES.fullmatch((attributes.get("type") or "").strip()):
            return
        self.scripts += 1
        self._one(attributes.get("src"))
        if "src" not in attributes and _within_svg(node):
            self._one(attributes.get("href", attributes.get("xlink:href")))

    def style(self, node: LexborNode, attributes: Attributes, _depth: int) -> None:
        """Read `<style>`: what its rules fetch."""
        if (attributes.get("type") or "text/css").strip().lower() == "text/css":
            self._fetched(style_urls(node.text()))

    def image(self, _node: LexborNode, attributes: Attributes, _depth: int) -> None:
        """Read `<img>`: its source and every candidate."""
        self._one(attributes.get("src"))
        self.links += srcset_urls(attributes.get("srcset") or "")

    def source(self, node: LexborNode, attributes: Attributes, _depth: int) -> None:
        """Read `<source>`: candidates in a picture, a file in media, nothing elsewhere."""
        parent = node.parent.tag if node.parent is not None else ""
        if parent == "picture":
            self.links += srcset_urls(attributes.get("srcset") or "")
        elif parent in {"audio", "video"}:
            self._one(attributes.get("src"))

    def video(self, _node: LexborNode, attributes: Attributes, _depth: int) -> None:
        """Read `<video>`: its file and its poster."""
        self._one(attributes.get("src"))
        self._one(attributes.get("poster"))

    def input(self, _node: LexborNode, attributes: Attributes, _depth: int) -> None:
        """Read `<input>`: a picture, where it is one."""
        self.content = True
        if (attributes.get("type") or "").lower() == "image":
            self._one(attributes.get("src"))

    def iframe(self, _node: LexborNode, attributes: Attributes, depth: int) -> None:
        """Read `<iframe>`: its page, or the document written into it."""
        if "srcdoc" not in attributes:
            self._one(attributes.get("src"))
        elif depth < _DEEPEST:
            inner = LexborHTMLParser(attributes["srcdoc"] or "")
            if inner.root is not None:
                self._walk_below(inner.root, depth)

    def template(self, node: LexborNode, attributes: Attributes, depth: int) -> None:
        """Read `<template>`: inert, unless it declares a shadow root."""
        if (attributes.get("shadowrootmode") or "").lower() in {"open", "closed"} and depth < _DEEPEST:
            self.content = True
            for content in node.template_fragments()[:1]:
                self._walk_below(content, depth)

    def source_attribute(self, node: LexborNode, attributes: Attributes, _depth: int) -> None:
        """Read an element with one attribute that names a file."""
        self._one(attributes.get(_SOURCES[node.tag or ""]))

    def svg_reference(self, _node: LexborNode, attributes: Attributes, _depth: int) -> None:
        """Read an SVG element that refers to another; the plain attribute wins over the old one."""
        self._fetched([attributes.get("href", attributes.get("xlink:href")) or ""])

    def heading(self, _node: LexborNode, _attributes: Attributes, _depth: int) -> None:
        """Note an element that a page has and an application's empty frame does not."""
        self.content = True

    def _one(self, url: str | None) -> None:
        """Keep a source; an empty one is not fetched."""
        if url and url.strip():
            self.links.append(url)

    def _fetched(self, urls: list[str]) -> None:
        for url in urls:
            if url.startswith("#"):
                self.parts.append(url)
            else:
                self._one(url)

    def _walk_below(self, root: LexborNode, depth: int) -> None:
        """Read a tree within the page; its fragments are its own matter."""
        before, parts = len(self.links), len(self.parts)
        self.walk(root, depth + 1)
        del self.parts[parts:]
        self.links[before:] = [url for url in self.links[before:] if not url.startswith("#")]


_READERS: dict[str, Callable[[_Reader, LexborNode, Attributes, int], None]] = {
    "area": _Reader.area, "base": _Reader.base_element, "link": _Reader.link, "meta": _Reader.meta, "script": _Reader.script,
    "style": _Reader.style, "img": _Reader.image, "source": _Reader.source, "video": _Reader.video, "input": _Reader.input,
    "template": _Reader.template,
    **dict.fromkeys(_SOURCES, _Reader.source_attribute), "iframe": _Reader.iframe, **dict.fromkeys(_SVG, _Reader.svg_reference),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "li", "table", "article", "form"), _Reader.heading),
}  # fmt: skip


def _within_svg(node: LexborNode) -> bool:
    parent = node.parent
    while parent is not None and parent.tag != "svg":
        parent = parent.parent
    return parent is not None


_WAITING = re.compile(
    r"[\s.…]*(?:loading|please wait|one moment|starting|正在加载|加载中|请稍候|请稍等|.{0,80}\bjava ?script\b.{0,80})?[\s.…!]*", re.IGNORECASE
)


def _is_shell(body: LexborNode) -> bool:
    """Say whether a page is only the frame into which a script will write: nothing to read, and a place to put it."""
    places = sum(1 for node in body.traverse() if node.tag not in {"body", "script", "style", "noscript", "template", "link", "meta"})
    if not places:
        return False
    words = LexborHTMLParser(body.html or "")
    words.strip_tags(["script", "style", "noscript", "template"])
    return bool(_WAITING.fullmatch(words.body.text(separator=" ").strip() if words.body is not None else ""))
