"""What an answer says about the address that was asked: walls, redirects, pages that only look like pages, anchors."""

import re

from selectolax.lexbor import LexborHTMLParser

from links.address import Address
from links.anchors import names_anchor
from links.encoding import decode_html
from links.failures import unreachable
from links.fetch import Answer
from links.markup import read_page
from links.model import OK, Judgement, Verdict, broken, unchecked
from links.tame import is_tame

_WALLS = {403, 412, 418, 451}
_TRIED_AGAIN = {408, 425}
_PERMANENT = {301, 308}
_CHALLENGE_HEADERS = {"cf-mitigated": "challenge", "x-amzn-waf-action": "challenge", "x-vercel-mitigated": "challenge", "x-datadome": "protected"}
_CHALLENGE = re.compile(
    r"just a moment|making sure you.?re not a bot|attention required! \| cloudflare|checking your browser|ddos-guard|verify(?:ing)? (?:that )?you are "
    r"(?:a )?human|are you a (?:robot|human)|robot check|bot verification|human verification|security checkpoint|pardon our interruption|"
    r"人机验证|安全验证|正在验证|请完成验证|访问验证",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"\W*(?:(?:http )?(?:error|错误|错误代码)?\s*:?\s*404(?!\d)(?:\W*$|\W+.*\b(?:not found|error)\b|\W*.*(?:不存在|找不到|未找到|错误|无法访问|没有找到|已删除))"
    r"|(?:\S+\W+){0,3}?(?:page|file|resource|document)\s+(?:was\s+|could\s+|can\s*)?(?:not|n.t)\s+(?:be\s+)?(?:found|exist)"
    r"|(?:oops\W+)?(?:this |the )?page (?:doesn.t|does not) exist|not found(?:\W*$|\s*[|\-–—:])|(?:404\W+)?.{0,12}(?:页面|网页|文章|内容)(?:不存在|找不到|未找到|没有找到|已删除)"
    r"|.{0,6}(?:找不到|未找到|没有找到)(?:该|此|您.{0,4}的)?(?:页面|网页))",
    re.IGNORECASE,
)
_FOR_SALE = re.compile(
    r"domain (?:name )?(?:is |may be )?(?:for sale|available for purchase)|buy this domain|this domain (?:name )?is parked|domain parking|parked domain|"
    r"域名(?:正在|已|可)?(?:出售|转让|停放)|(?:出售|转让)(?:此|该|本)?域名",
    re.IGNORECASE,
)
_ABOUT_GONE = re.compile(r"404|not[-_ ]?found|errors?|status", re.IGNORECASE)
_SCRIPTED_HOSTS = ("github.com", "gist.github.com", "gitlab.com", "bitbucket.org", "docs.google.com", "drive.google.com", "colab.research.google.com",
                   "groups.google.com", "figma.com", "notion.site", "twitter.com", "x.com", "youtube.com", "matrix.to", "nbviewer.org", "godbolt.org")  # fmt: skip
_SCRIPTED = re.compile(
    r"L\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?|[!/].*|issuecomment-\d+|discussion_?r?\d+|discussioncomment-\d+|pullrequestreview-\d+|diff-[0-9a-f]+.*|"
    r"lines-\d.*|(?:file-)?.*-L\d+|note_\d+|commitcomment-\d+|event-\d+|readme|gid=\d+|slide=.*|heading=.*|n\d+"
)
_FEW_WORDS = 400


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
        return Judgement(Verdict.BLOCKED, "a challenge page") if _CHALLENGE.search(title) else unreachable(f"status {status}{behind}")
    if status >= 400:  # noqa: PLR2004
        return broken(f"status {status}{behind}")
    if status == 202 and not answer.body:  # noqa: PLR2004
        return Judgement(Verdict.BLOCKED, "status 202 and nothing else: the host turns programs away")
    return _judge_page(asked, answer)


def judge_fragment(page: Judgement, answer: Answer, fragment: str) -> Judgement:
    """Judge an address with a fragment, given the judgement of its page; the fragment may be one that a redirect brought."""
    if answer.hops and answer.address.fragment is not None and answer.address.fragment != answer.hops[0][1].fragment:
        fragment = answer.address.fragment
    if page.verdict not in {Verdict.OK, Verdict.REDIRECTED} or not fragment.partition(":~:")[0]:
        return unchecked(page.reason) if page.reason.startswith("a challenge page") else page
    if not (answer.is_html or answer.media_type == "image/svg+xml"):
        return page
    if answer.body[:2] != b"\x1f\x8b" and answer.headers.get("content-encoding", "identity").strip().lower() in {
        "",
        "identity",
        "gzip",
        "x-gzip",
        "deflate",
    }:
        text = decode_html(answer.body, _charset(answer))[0]
        if not is_tame(text):
            return unchecked("the page is nested too deep to be looked through")
        found = read_page(text)
        if names_anchor(fragment, found.ids):
            return page
        if f"user-content-{fragment.lower()}" in {name.lower() for name in found.ids}:
            return unchecked("the anchor is made by a script")
        if found.shell:
            return unchecked("the page is written by a script")
        if _CHALLENGE.search(found.title):
            return unchecked("a challenge page")
        if _is_scripted(answer.address, fragment):
            return unchecked("anchors of this kind are made by a script")
        if not answer.whole:
            return unchecked("the page is too long or too slow to be looked through")
        return broken(f"no anchor #{fragment}" + (f" in {answer.address.page}" if answer.hops else ""))
    return unchecked("the page is sent in an encoding that cannot be read here")


def _judge_page(asked: Address, answer: Answer) -> Judgement:
    if answer.is_html:
        title = _title(answer)
        if _CHALLENGE.search(title):
            return Judgement(Verdict.BLOCKED, "a challenge page")
        if _GONE.match(title) and not _ABOUT_GONE.search(asked.path):
            return Judgement(Verdict.SUSPECT, f"status {answer.status}, but its title says {title[:80]!r}")
        if _FOR_SALE.search(title) or _FOR_SALE.search(_few_words(answer)):
            return Judgement(Verdict.SUSPECT, "the domain seems to be for sale")
    if not answer.hops:
        return OK
    if _is_front(answer.address) and not _is_front(asked) and _same_site(asked.host, answer.address.host):
        return Judgement(Verdict.SUSPECT, f"sends its reader to the front page {answer.address.page}")
    if answer.hops[0][0] in _PERMANENT:
        return Judgement(Verdict.REDIRECTED, f"moved for good to {answer.address}")
    return OK


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
