"""Take a page apart into its sections: a heading, its anchor, its prose, and what stands in code and tables."""

import re
from dataclasses import dataclass
from html import unescape

_EXCLUDED = re.compile(r"<(\w+)[^>]* data-search-exclude.*?</\1>", re.DOTALL)
_HEADING = re.compile(r'<h([1-4])(?: [^>]*?)?(?: id="([^"]*)")[^>]*>(.*?)</h\1>', re.DOTALL)
_NOTE = re.compile(r'<sup id="fnref.*?</sup>', re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_URL = re.compile(r"https?://[^\s<>，。；）]+")
# What no reader of text looks for, and what is code, numbers or references rather than prose: from a sign to its end.
_DROPPED = (("<svg", "</svg>"), ("<math", "</math>"), ("<nav", "</nav>"), ('<a class="headerlink', "</a>"), ('<a class="footnote-backref', "</a>"))
_LISTINGS = (("<pre", "</pre>"), ("<table", "</table>"), ('<div class="footnote"', "</div>"))


@dataclass(frozen=True)
class Section:
    """A part of a page; the first has no anchor and the page's title for its heading."""

    anchor: str
    heading: str
    prose: str
    listing: str


def sections(html: str) -> list[Section]:
    """Give a page's sections in their order, the one before the first heading and below the title first."""
    for beginning, end in _DROPPED:
        if beginning in html:
            html = "".join(_cut(html, beginning, end)[0])
    if "data-search-exclude" in html:
        html = _EXCLUDED.sub("", html)
    pieces = _HEADING.split(html)
    found = [_section("", "", pieces[0])]
    for level, anchor, heading, body in zip(pieces[1::4], pieces[2::4], pieces[3::4], pieces[4::4], strict=True):
        if level == "1" and not found[0].heading:
            first = _section("", _text(heading), body)
            found[0] = Section("", first.heading, f"{found[0].prose} {first.prose}".strip(), first.listing)
        else:
            found.append(_section(anchor, _text(heading), body))
    return found


def _section(anchor: str, heading: str, html: str) -> Section:
    prose, listings = html, list[str]()
    for beginning, end in _LISTINGS:
        if beginning in prose:
            kept, cut = _cut(prose, beginning, end)
            prose = " ".join(kept)
            listings += cut
    if "<sup" in prose:
        prose = _NOTE.sub("", prose)
    return Section(anchor, heading, _text(prose), _text(" ".join(listings)))


def _cut(html: str, beginning: str, end: str) -> tuple[list[str], list[str]]:
    """Give what stands outside of an element, and what stands in it; string methods are many times faster than a pattern here."""
    first, *rest = html.split(beginning)
    kept, cut = [first], []
    for piece in rest:
        inside, _, after = piece.partition(end)
        cut.append(beginning + inside)
        kept.append(after)
    return kept, cut


def _text(html: str) -> str:
    text = _TAG.sub("", html.replace("</span>", ""))
    if "&" in text:
        text = unescape(text)
    return " ".join((_URL.sub("", text) if "://" in text else text).split())
