"""What an answer says about the address that was asked: walls, redirects, pages that only look like pages, anchors."""

import re
from collections.abc import Set as AbstractSet
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from links.address import Address
from links.anchors import names_anchor
from links.encoding import decode_html
from links.failures import unreachable
from links.fetch import Answer
from links.markup import Page, read_page
from links.model import OK, Judgement, Verdict, broken, unchecked
from links.tame import is_tame

_WALLS = {403, 412, 418, 451}
_TRIED_AGAIN = {408, 425}
_PERMANENT = {301, 308}
_CHALLENGE_HEADERS = {"cf-mitigated": "challenge", "x-amzn-waf-action": "challenge", "x-vercel-mitigated": "challenge", "x-datadome": "protected"}
_CHALLENGE = re.compile(
    r"just a moment|making sure you.?re not a bot|attention required! \| cloudflare|checking your browser|ddos-guard"
    r"|verify(?:ing)? (?:that )?you are (?:a )?human|are you a (?:robot|human)|robot check|(?:bot|human) verification"
    r"|security checkpoint|pardon our interruption|人机验证|安全验证|正在验证|请完成验证|访问验证",
    re.IGNORECASE,
)
# What a page that is gone calls itself; a title that only speaks of such pages goes on in another way.
_GONE = re.compile(
    r"\W*(?:"
    r"(?:http\s+)?(?:error|错误|错误代码)?\s*:?\s*404(?!\d)(?:\W*$|\W.*\b(?:not\s+(?:be\s+)?found|error)\b|\W*.{0,6}(?:不存在|找不到|未找到|错误|无法访问|没有找到|已删除))"
    r"|(?:\S+\W+){0,3}?(?:page|file|resource|document)\s+(?:was\s+|could\s+|can\s*)?(?:not|n.t)\s+(?:be\s+)?(?:found|exist)"
    r"|(?:oops\W+)?(?:this\s+|the\s+)?page\s+(?:doesn.t|does\s+not)\s+exist"
    r"|not\s+found(?:\W*$|\s*[|–—:-])"
    r"|.{0,12}(?:页面|网页|文章|内容)(?:不存在|找不到|未找到|没有找到|已删除)了?(?:\W|$)"
    r"|.{0,6}(?:找不到|未找到|没有找到)(?:该|此|您.{0,4}的)?(?:页面|网页)(?:\W|$)"
    r")",
    re.IGNORECASE,
)
_FOR_SALE = re.compile(
    r"domain (?:name )?(?:is |may be )?(?:for sale|available for purchase)|buy this domain|this domain (?:name )?is parked|domain parking"
    r"|parked domain|域名(?:正在|已|可)?(?:出售|转让|停放)|(?:出售|转让)(?:此|该|本)?域名",
    re.IGNORECASE,
)
_ABOUT_GONE = re.compile(r"404|not[-_ ]?found|errors?|status", re.IGNORECASE)
_SCRIPTED_HOSTS = (
    "github.com", "gist.github.com", "gitlab.com", "bitbucket.org", "docs.google.com", "drive.google.com", "colab.research.google.com",
    "groups.google.com", "figma.com", "notion.site", "twitter.com", "x.com", "youtube.com", "matrix.to", "nbviewer.org", "godbolt.org",
)  # fmt: skip
_SCRIPTED = re.compile(
    r"L\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?|[!/].*|issuecomment-\d+|discussion_?r?\d+|discussioncomment-\d+|pullrequestreview-\d+|diff-[0-9a-f]+.*|"
    r"lines-\d.*|(?:file-)?.*-L\d+|note_\d+|commitcomment-\d+|event-\d+|readme|gid=\d+|slide=.*|heading=.*|n\d+"
)
_FEW_WORDS = 400
_CHALLENGED = "a challenge page"
_READABLE_ENCODINGS = {"", "identity", "gzip", "x-gzip", "deflate"}


def judge_answer(asked: Address, answer: Answer) -> Judgement:
    """Judge an answer as to the page alone; a fragment is another matter."""
    status = answer.status
    if any(word in answer.headers.get(name, "").lower() for name, word in _CHALLENGE_HEADERS.items()) or status in _WALLS or not 100 <= status < 600:  # noqa: PLR2004
        return Judgement(Verdict.BLOCKED, f"status {status}: the host turns programs away")
    if status == 429:  # noqa: PLR2004
        return Judgement(Verdict.BLOCKED, "status 429: too many requests, also after waiting")
    behind = f" behind a redirect to {answer.address}" if answer.hops else ""
    if status >= 500 or status in _TRIED_AGAIN:  # noqa: PLR2004
        title = _title(answer)
        return Judgement(Verdict.BLOCKED, _CHALLENGED) if _CHALLENGE.search(title) else unreachable(f"status {status}{behind}")
    if status >= 400:  # noqa: PLR2004
        return broken(f"status {status}{behind}")
    if status == 202 and not answer.body:  # noqa: PLR2004
        return Judgement(Verdict.BLOCKED, "status 202 and nothing else: the host turns programs away")
    return _judge_page(asked, answer)


def judge_fragments(page: Judgement, answer: Answer, fragments: AbstractSet[str]) -> dict[str, Judgement]:
    """Judge fragments of an answer's page, given the judgement of the page itself; one that a redirect brings takes their place."""
    if page.verdict not in {Verdict.OK, Verdict.REDIRECTED}:
        return dict.fromkeys(fragments, unchecked(page.reason) if page.reason == _CHALLENGED else page)
    if not (answer.is_html or answer.media_type == "image/svg+xml"):
        return dict.fromkeys(fragments, page)
    if answer.headers.get("content-encoding", "identity").strip().lower() not in _READABLE_ENCODINGS:
        return dict.fromkeys(fragments, unchecked("the page is sent in an encoding that cannot be read here"))
    text = decode_html(answer.body, _charset(answer))[0]
    if not is_tame(text):
        return dict.fromkeys(fragments, unchecked("the page is nested too deep to be looked through"))
    found = read_page(text)
    brought = answer.address.fragment
    return {
        fragment: page if names_anchor(brought or fragment, found.ids) else _judge_missing(answer, found, brought or fragment)
        for fragment in fragments
    }


def _judge_missing(answer: Answer, page: Page, fragment: str) -> Judgement:
    """Say what it means that a page has no such anchor in its HTML: a script may make it, or the HTML is not all there."""
    if f"user-content-{unquote(fragment).lower()}" in {name.lower() for name in page.ids} or _is_scripted(answer.address, fragment):
        return unchecked("anchors of this kind are made by a script")
    if page.shell:
        return unchecked("the page is written by a script")
    if not answer.whole:
        return unchecked("the page is too long or too slow to be looked through")
    return broken(f"no anchor #{fragment}" + (f" in {answer.address.page}" if answer.hops else ""))


def _judge_page(asked: Address, answer: Answer) -> Judgement:
    """Judge an answer whose status is well: what it calls itself, and where it was found."""
    title = _title(answer)
    if _CHALLENGE.search(title):
        return Judgement(Verdict.BLOCKED, _CHALLENGED)
    if doubt := _doubt(asked, answer, title):
        return Judgement(Verdict.SUSPECT, doubt)
    if answer.hops and answer.hops[0][0] in _PERMANENT:
        return Judgement(Verdict.REDIRECTED, f"moved for good to {answer.address}")
    return OK


def _doubt(asked: Address, answer: Answer, title: str) -> str:
    """Return why a page may not be the one that is meant, or nothing."""
    if _GONE.match(title) and not _ABOUT_GONE.search(asked.path):
        return f"status {answer.status}, but its title says {title[:80]!r}"
    if answer.is_html and (_FOR_SALE.search(title) or _FOR_SALE.search(_few_words(answer))):
        return "the domain seems to be for sale"
    if answer.hops and _is_front(answer.address) and not _is_front(asked) and _same_site(asked.host, answer.address.host):
        return f"sends its reader to the front page {answer.address.page}"
    return ""


def _title(answer: Answer) -> str:
    """Return the title of a page, or its first heading where it has none."""
    if not answer.is_html:
        return ""
    text = decode_html(answer.body[:65536], _charset(answer))[0]
    parser = LexborHTMLParser(text)
    for selector in ("head > title", "h1"):
        node = parser.css_first(selector)
        if node is not None and (words := " ".join(node.text().split())):
            return words
    return ""


def _few_words(answer: Answer) -> str:
    """Return the text of a page that has little of it: a long one may speak of anything."""
    parser = LexborHTMLParser(decode_html(answer.body[:65536], _charset(answer))[0])
    parser.strip_tags(["script", "style", "template", "noscript"])
    words = " ".join(parser.body.text(separator=" ").split()) if parser.body is not None else ""
    return words if len(words) <= _FEW_WORDS else ""


def _charset(answer: Answer) -> str:
    found = re.search(r"charset\s*=\s*[\"']?([^\s\"';]+)", answer.headers.get("content-type", ""), re.IGNORECASE)
    return found[1] if found else ""


def _is_scripted(address: Address, fragment: str) -> bool:
    host = address.host.removeprefix("www.")
    return bool(_SCRIPTED.fullmatch(fragment)) or any(host == name or host.endswith("." + name) for name in _SCRIPTED_HOSTS)


def _is_front(address: Address) -> bool:
    return address.path in {"/", "/index.html", "/index.php"} and not address.query


def _same_site(one: str, other: str) -> bool:
    return one.removeprefix("www.") == other.removeprefix("www.")
