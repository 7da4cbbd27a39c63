"""Small rules that the cases cannot reach one by one: addresses, private hosts, waits, style sheets, candidates."""

import ipaddress
from email.utils import formatdate
from time import time

import pytest

from links.address import BadAddressError, Base, OtherSchemeError, parse
from links.answers import judge_answer
from links.failures import Kind
from links.fetch import Answer
from links.gate import Gate
from links.guard import Guard, is_public
from links.retry import LONGEST_WAIT, tries, wait_before
from links.styles import style_urls
from links.values import refresh_url, srcset_urls

PAGE = Base(parse("https://host.example/repo/a/b.html?q=1"))


@pytest.mark.parametrize(
    ("raw", "address"),
    [
        ("../c", "https://host.example/repo/c"), ("../../../../c", "https://host.example/c"), ("#x", "https://host.example/repo/a/b.html?q=1#x"),
        ("", "https://host.example/repo/a/b.html?q=1"), ("?", "https://host.example/repo/a/b.html?"), ("//other.example", "https://other.example/"),
        ("\\\\other.example\\x", "https://other.example/x"), ("https:x", "https://host.example/repo/a/x"), ("http:x", "http://x/"), (" /x\t\ny ", "https://host.example/xy"),
        ("HTTP://A.EXAMPLE:80/%7e", "http://a.example/%7e"), ("http://例子.测试", "http://xn--fsqu00a.xn--0zwm56d/"), ("http://faß.de/", "http://xn--fa-hia.de/"),
        ("http://0x7F.1/", "http://127.0.0.1/"), ("http://2130706433/", "http://127.0.0.1/"), ("http://[0:0::1]/", "http://[::1]/"), ("http://u:p@h/", "http://u:p@h/"),
        ("///x.example", "https://x.example/"), ("a/./b/../c/", "https://host.example/repo/a/a/c/"), ("%2E%2e/x", "https://host.example/repo/x"), ("'\"<>`{}|^", "https://host.example/repo/a/'%22%3C%3E%60%7B%7D%7C%5E"),
        ("?'\"<>`{}|^", "https://host.example/repo/a/b.html?%27%22%3C%3E`{}|^"), ("#'\"<>`{}|^", "https://host.example/repo/a/b.html?q=1#'%22%3C%3E%60{}|^"),
        ("./x:y", "https://host.example/repo/a/x:y"), ("/\ud800", "https://host.example/%EF%BF%BD"),
    ],
)  # fmt: skip
def test_addresses_are_resolved_as_browsers_do(raw: str, address: str) -> None:
    assert PAGE.join(raw) == address


@pytest.mark.parametrize(
    "raw",
    [
        "http://",
        "https://?x",
        "http://h:99999/",
        "http://h:x/",
        "http://[::1",
        "http://[x]/",
        "http://a b/",
        "http://1.2.3.4.5/",
        "http://256.1.1.1/",
        "http://09.1/",
        "http://a%/",
        "http://@/",
    ],
)
def test_addresses_that_no_browser_opens(raw: str) -> None:
    with pytest.raises(BadAddressError):
        PAGE.join(raw)


@pytest.mark.parametrize("raw", ["mailto:x", "JavaScript:x", "x-y+z.1:q", "data:,", "file:///x"])
def test_addresses_of_other_schemes(raw: str) -> None:
    with pytest.raises(OtherSchemeError):
        PAGE.join(raw)


@pytest.mark.parametrize(
    "ip",
    ["127.0.0.1", "10.1.2.3", "172.31.0.1", "192.168.0.1", "100.64.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1",  # noqa: S104 - none is bound to
     "::1", "::", "fe80::1", "fd00::1", "fec0::1", "ff02::1", "2001:db8::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::", "2001::1"],
)  # fmt: skip
def test_private_addresses(ip: str) -> None:
    assert not is_public(ipaddress.ip_address(ip))
    assert Guard().refusal(parse(f"http://[{ip}]/" if ":" in ip else f"http://{ip}/"))
    assert not Guard().permits("public.org", ip, 80)


@pytest.mark.parametrize("ip", ["8.8.8.8", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_public_addresses(ip: str) -> None:
    assert is_public(ipaddress.ip_address(ip))
    assert Guard().permits("public.org", ip, 80)


def test_only_the_allowed_place_is_let_through() -> None:
    guard = Guard([("127.0.0.1", 8000)])
    assert not guard.refusal(parse("http://127.0.0.1:8000/"))
    assert guard.refusal(parse("http://127.0.0.1:8001/"))
    assert guard.permits("name.org", "127.0.0.1", 8000)
    assert not guard.permits("name.org", "127.0.0.1", 80)
    assert not guard.refusal(parse("https://docs.python.org/"))


def reply(status: int, url: str = "http://h.org/x", body: bytes = b"<title>x</title>", **headers: str) -> Answer:
    """Return an answer without redirects."""
    return Answer(
        (), parse(url), status, {"content-type": "text/html", **{name.replace("_", "-"): value for name, value in headers.items()}}, body, whole=True
    )


@pytest.mark.parametrize(("header", "seconds"), [("5", 5), ("0", 0), ("3600", 3600), ("1.5", 1.5), ("date", -100), ("date", 30)])
def test_retry_after_is_read_in_each_form(header: str, seconds: float) -> None:
    header = formatdate(time() + seconds, usegmt=True) if header == "date" else header
    assert wait_before(reply(429, retry_after=header), 1) == pytest.approx(max(seconds, 0), abs=1.7)


def test_waits_stay_within_reason() -> None:
    assert wait_before(reply(429, retry_after="86400"), 1) > LONGEST_WAIT
    assert wait_before(reply(429, retry_after="-5 minutes"), 1) < 5
    assert sum(wait_before(reply(429), tried) for tried in range(1, tries(reply(429)))) < 15
    assert sum(wait_before(Kind.RESET, tried) for tried in range(1, tries(Kind.RESET))) < 5
    assert tries(Kind.FINAL) == 1


def test_a_gate_narrows_for_a_crowd_and_widens_in_calm() -> None:
    gate = Gate()
    start = gate.width
    for _ in range(40):
        gate.note(gate.generation, crowded=True)
    assert gate.width == 1
    for _ in range(5000):
        gate.note(gate.generation, crowded=False)
    assert gate.width > start
    narrowed = gate.generation
    gate.note(narrowed - 1, crowded=True)
    assert gate.generation == narrowed


@pytest.mark.parametrize(
    ("title", "verdict"),
    [
        ("404 - 页面不存在", "suspect"), ("404", "suspect"), ("Error 404", "suspect"), ("404 Not Found", "suspect"), ("404: This page could not be found", "suspect"), ("Page not found", "suspect"),
        ("Page Not Found · GitHub Pages", "suspect"), ("Oops! This page does not exist", "suspect"), ("Not Found", "suspect"), ("抱歉，页面不存在", "suspect"), ("您访问的页面找不到了", "suspect"),
        ("找不到页面 - 某站", "suspect"), ("404错误", "suspect"), ("HTTP Error 404", "suspect"),
        ("404 ways to cook rice", "ok"), ("Room 4041", "ok"), ("The page cache", "ok"), ("Why symbols are not found at link time", "ok"), ("Area code 404", "ok"), ("CUDA 404 driver notes", "ok"),
        ("如何处理页面不存在的问题：从缓存到重定向", "ok"), ("Lost and found", "ok"), ("Peugeot 404", "ok"),
    ],
)  # fmt: skip
def test_soft_404s_are_told_by_their_titles(title: str, verdict: str) -> None:
    assert judge_answer(parse("http://h.org/x"), reply(200, body=f"<meta charset=utf-8><title>{title}</title>".encode())).verdict == verdict


@pytest.mark.parametrize(
    ("status", "verdict"),
    [(200, "ok"), (204, "ok"), (206, "ok"), (304, "ok"), (403, "blocked"), (418, "blocked"), (429, "blocked"), (451, "blocked"), (999, "blocked"), (404, "broken"), (410, "broken"),
     (401, "broken"), (407, "broken"), (421, "broken"), (500, "unreachable"), (599, "unreachable"), (408, "unreachable"), (425, "unreachable"), (600, "blocked")],
)  # fmt: skip
def test_statuses(status: int, verdict: str) -> None:
    assert judge_answer(parse("http://h.org/x"), reply(status)).verdict == verdict


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("a{b:url(x)}", ["x"]), ("a{b:url( 'x y' )}", ["x y"]), ("a{b:url(x y)}", []), ("a{b:URL(x)}", ["x"]), ("a{b:url(\\78)}", ["x"]), ("a{b:url(x\\)y)}", ["x)y"]), ("/*url(x)*/", []),
        ("a{b:'url(x)'}", []), ("a{b:'\\'url(x)'}", []), ("@import 'x';", ["x"]), ("@import url(x) print;", ["x"]), ("a{}@import 'x';", []), ("@charset 'u';@layer l;@import 'x';", ["x"]),
        ("@namespace url(x);a{b:url(y)}", ["y"]), ("@media print{a{b:url(x)}}", ["x"]), ("a{b:image-set('x' 1x,url(y) 2x,'z' type('image/avif'))}", ["x", "y", "z"]),
        ("a{b:url(x", ["x"]), ("a{b:url('x", ["x"]), ("a{b:url('x\n);c:url(y)}", ["y"]), ("a{b:url('x\n');c:url(y)}", []), ("a{b:my-url(x)}", []), ("@font-face{src:local('x'),url(y)format('z')}", ["y"]), ("a{b:url()}", []),
        ("@import 'x' layer(y) supports(display:grid);", ["x"]), ("a{b:url(data:a,b)}", ["data:a,b"]), ("a[href='url(x)']{}", []),
    ],
)  # fmt: skip
def test_style_sheets(text: str, urls: list[str]) -> None:
    assert style_urls(text) == urls


@pytest.mark.parametrize(
    ("value", "urls"),
    [
        ("a", ["a"]), ("a 1x,b 2x", ["a", "b"]), ("a,b", ["a,b"]), ("a, b", ["a", "b"]), (",a,,", ["a"]), ("a 1x, ,b 2x", ["a", "b"]), ("a 1w 2h", ["a"]), ("a 1h", []), ("a 1x 2w", []), ("a x", []),
        ("a 1e2x", ["a"]), ("a -1x", []), ("a 1.5w", []), ("a (1x, b 2x) 3x, c", ["c"]), ("data:a,b 1x", ["data:a,b"]), ("a\t1x,\nb", ["a", "b"]), ("", []), (" , ", []),
    ],
)  # fmt: skip
def test_candidates(value: str, urls: list[str]) -> None:
    assert srcset_urls(value) == urls


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("0; url=x", (0, "x")),
        ("5", None),
        ("0;URL='x y' z", (0, "x y")),
        ("0 , x", (0, "x")),
        ("1.9;url=x", (1, "x")),
        ("url=x", None),
        ("0;url=", None),
        ("x;url=y", None),
        ("0;url=a;b", (0, "a;b")),
    ],
)
def test_refreshes(content: str, found: tuple[int, str] | None) -> None:
    assert refresh_url(content) == found
