"""Take a page apart into its sections: a heading, its anchor, its prose, and what stands in code and tables."""

import re
from dataclasses import dataclass
from html import unescape

_EXCLUDED = re.compile(r"<(\w+)[^>]* data-search-exclude.*?</\1>", re.DOTALL)
_HEADING = re.compile(r'<h([1-4])(?: [^>]*?)?(?: id="([^"]*)")[^>]*>(.*?)</h\1>', re.DOTALL)
_NOTE = re.compile(r'<sup id="fnref.*?</sup>', re.DOTALL)
_TEXT = re.compile(r">([^<]+)")  # what follows a tag: half as many as there are tags
_URL = re.compile(r"https?://[^\s<>，。；）]+")
# What no reader of text looks for, and what is code, numbers or references rather than prose: where it begins, and where it ends.
_DROPPED = {"<svg": "</svg>", "<math": "</math>", "<nav": "</nav>", '<a class="headerlink': "</a>", '<a class="footnote-backref': "</a>"}
_LISTINGS = {"<pre": "</pre>", "<table": "</table>", '<div class="footnote"': "</div>"}
_DROP, _LIST = (re.compile("|".join(ends)) for ends in (_DROPPED, _LISTINGS))


@dataclass(frozen=True)
class Section:
    """A part of a page; the first has no anchor and the page's title for its heading."""

    anchor: str
    heading: str
    prose: str
    listing: str


def sections(html: str) -> list[Section]:
    """Give a page's sections in their order, the one before the first heading and below the title first."""
    html = "".join(_cut(html, _DROP, _DROPPED)[0])
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
    kept, listings = _cut(html, _LIST, _LISTINGS)
    prose = " ".join(kept)
    if "<sup" in prose:
        prose = _NOTE.sub("", prose)
    return Section(anchor, heading, _text(prose), _text(" ".join(listings)))


def _cut(html: str, beginnings: re.Pattern[str], ends: dict[str, str]) -> tuple[list[str], list[str]]:
    """Give what stands outside of some elements; and what stands in them, by kind. Looking for all beginnings at once is what makes it fast."""
    kept: list[str] = []
    cut: dict[str, list[str]] = {beginning: [] for beginning in ends}
    done = 0
    for found in beginnings.finditer(html):
        start, beginning = found.start(), found[0]
        if start < done:
            continue
        kept.append(html[done:start])
        before, end = html.find(ends[beginning], start), ends[beginning]
        if before < 0:
            before = len(html)
        cut[beginning].append(html[start:before])
        done = before + len(end)
    return [*kept, html[done:]], [inside for kind in cut.values() for inside in kind]


def _text(html: str) -> str:
    text = "".join(_TEXT.findall(f">{html}"))
    if "&" in text:
        text = unescape(text)
    return " ".join((_URL.sub("", text) if "://" in text else text).split())
