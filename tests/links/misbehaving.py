"""A server of endpoints that misbehave in known ways, each with the verdict that is right for it. It listens on loopback only."""

import asyncio
import gzip
import socket
import ssl
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from time import time
from typing import NamedTuple, Self
from urllib.parse import quote

OK, REDIRECTED, BROKEN, UNREACHABLE = "ok", "redirected", "broken", "unreachable"
BLOCKED, UNCHECKED, SUSPECT = "blocked", "unchecked", "suspect"


class Request(NamedTuple):
    """What a client sent, which time it is that it asks for this target, and where the bytes of a long body are counted."""

    method: str
    target: str
    headers: dict[str, str]
    number: int
    sent: Counter[str]


_HANDSHAKE = b"\x16"
Handler = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]
Reply = bytes | Handler


class Endpoint(NamedTuple):
    """One endpoint: the kind that it is of, the links to it as written in a page, with their verdicts, and its reply."""

    kind: int
    target: str
    links: dict[str, str]
    reply: Reply


def answer(status: int, body: str | bytes = b"", *headers: str, kind: str = "text/html; charset=utf-8") -> bytes:
    """Return a sound response."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Word", f"Content-Length: {len(data)}", *([f"Content-Type: {kind}"] if kind else []), *headers, "", ""]
    return "\r\n".join(lines).encode() + data


def html(body: str, title: str = "A page") -> str:
    """Return a page with enough text to be one."""
    return f"<!doctype html><html><head><title>{title}</title></head><body><h1 id=head>{title}</h1>{body}</body></html>"


GOOD = answer(200, html("<p id=here>words</p>"))


def first(times: int, bad: Reply, then: Reply = GOOD) -> Handler:
    """Misbehave the first times and be well from then on."""

    async def reply(request: Request, writer: asyncio.StreamWriter) -> None:
        await send(bad if request.number <= times else then, request, writer)

    return reply


async def send(reply: Reply, request: Request, writer: asyncio.StreamWriter) -> None:
    """Send a reply, whatever its form."""
    if isinstance(reply, bytes):
        writer.write(reply)
        await writer.drain()
    else:
        await reply(request, writer)


async def reset(_request: Request, writer: asyncio.StreamWriter) -> None:
    """Reset the connection."""
    if (connection := writer.get_extra_info("socket")) is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def hang(_request: Request, _writer: asyncio.StreamWriter) -> None:
    """Say nothing for longer than anyone waits."""
    await asyncio.sleep(120)


def after(seconds: float, reply: Reply) -> Handler:
    """Reply late."""

    async def late(request: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        await send(reply, request, writer)

    return late


def drip(head: bytes, piece: bytes, pause: float = 0.5, most: int = 200) -> Handler:
    """Send a head and then the same piece over and over."""

    async def dripping(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        for _ in range(most):
            writer.write(piece)
            await writer.drain()
            request.sent[request.target] += len(piece)
            await asyncio.sleep(pause)

    return dripping


def letters(reply: bytes, seconds: float) -> Handler:
    """Send a reply piece by piece, evenly over so many seconds."""

    async def dripping(_request: Request, writer: asyncio.StreamWriter) -> None:
        size = max(1, len(reply) // 40)
        for start in range(0, len(reply), size):
            writer.write(reply[start : start + size])
            await writer.drain()
            await asyncio.sleep(seconds / 40)

    return dripping


def only(method: str, bad: Reply) -> Handler:
    """Be well for every method but one."""

    async def reply(request: Request, writer: asyncio.StreamWriter) -> None:
        await send(bad if request.method == method else GOOD, request, writer)

    return reply


async def browsers_only(request: Request, writer: asyncio.StreamWriter) -> None:
    """Turn away every agent that does not pass for a browser."""
    await send(GOOD if "Mozilla/5.0" in request.headers.get("user-agent", "") else answer(403, "no"), request, writer)


async def wants_cookie(request: Request, writer: asyncio.StreamWriter) -> None:
    """Send a reader without a cookie to the same page with one."""
    known = "visit=1" in request.headers.get("cookie", "")
    await send(GOOD if known else answer(302, "", f"Location: {request.target}", "Set-Cookie: visit=1; Path=/"), request, writer)


async def dated(request: Request, writer: asyncio.StreamWriter) -> None:
    """Ask for a wait until a date, once."""
    await send(answer(429, "", f"Retry-After: {formatdate(time() + 2, usegmt=True)}") if request.number == 1 else GOOD, request, writer)


def to(target: str, status: int = 302, *headers: str) -> bytes:
    """Redirect."""
    return answer(status, "", f"Location: {target}", *headers)


def chain(name: str, length: int, status: int = 302) -> list[Endpoint]:
    """Return hops that lead one to the next; only the first is linked to."""
    return [Endpoint(0, f"/{name}/{hop}", {}, to(f"/{name}/{hop + 1}" if hop + 1 < length else "/plain", status)) for hop in range(1, length)]


def endpoint(kind: int, name: str, verdict: str, reply: Reply, **fragments: str) -> Endpoint:
    """Return an endpoint under its own name, linked to as it is and with each fragment."""
    target = f"/{kind}/{name}"
    return Endpoint(kind, target, {target: verdict} | {f"{target}#{fragment}": word for fragment, word in fragments.items()}, reply)


def raw(kind: int, written: str, target: str, verdict: str = OK) -> Endpoint:
    """Return an endpoint that is only reached if the address arrives as a browser would send it."""
    return Endpoint(kind, target, {written: verdict}, GOOD)


HAN = "共享内存"
README = html('<h2 id="user-content-install">x</h2><h2 id="user-content-中文">x</h2>')
SHELL = '<!doctype html><html><head><title>App</title><script src="/app.js"></script></head><body><div id="root"></div></body></html>'
ANUBIS = html("<p>Protected by a wall</p><script>1</script>", "Making sure you're not a bot!")
IDS = html(
    f'<h2 id="{HAN}">x</h2><h2 id="%E5%8E%9F">x</h2><h2 id="a b">x</h2><h2 id="🚀">x</h2><h2 id="Case">x</h2><a name="old">x</a><i id="%2541">x</i>'
)
LONG = html("<p>words and words</p>" * 60_000 + "<p id=end>x</p>")
ZIPPED = gzip.compress(html("<p id=here>x</p>").encode())
CHUNKED = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"


def make_endpoints() -> list[Endpoint]:
    """Return all endpoints."""
    moved = answer(301, "", "Location: /plain")
    return [
        Endpoint(0, "/", {"/": OK}, answer(200, html("front", "Front page"))),
        Endpoint(0, "/plain", {"/plain": OK, "/plain#here": OK, "/plain#gone": BROKEN, "/plain#top": OK, "/plain#": OK}, GOOD),
        Endpoint(0, "/app.js", {}, answer(200, "", kind="text/javascript")),
        Endpoint(0, "/robots.txt", {}, answer(200, "User-agent: *\nDisallow: /25/disallowed\n", kind="text/plain")),
        endpoint(1, "challenge", BLOCKED, answer(403, ANUBIS, "cf-mitigated: challenge"), x=BLOCKED),
        endpoint(1, "plain-403", BLOCKED, answer(403, "Forbidden")),
        endpoint(1, "browsers-only", BLOCKED, browsers_only),
        endpoint(1, "challenge-503", BLOCKED, answer(503, html("wait", "Just a moment..."))),
        endpoint(1, "behind-redirect", BLOCKED, to("/1/plain-403")),
        endpoint(1, "challenge-404", BLOCKED, answer(404, "x", "cf-mitigated: challenge")),
        *[endpoint(2, f"status-{status}", BLOCKED, answer(status, "")) for status in (999, 418, 412, 451, 202)],
        endpoint(2, "status-202-chunked", BLOCKED, b"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        endpoint(2, "status-202-with-body", OK, answer(202, html("x"))),
        endpoint(2, "status-202-json", OK, answer(202, "{}", kind="application/json")),
        endpoint(2, "status-999-body", BLOCKED, answer(999, html("x", "Request denied"))),
        endpoint(3, "seconds", OK, first(1, answer(429, "", "Retry-After: 2"))),
        endpoint(3, "date", OK, dated),
        endpoint(3, "no-header", OK, first(1, answer(429))),
        endpoint(3, "no-header-twice", OK, first(2, answer(429))),
        endpoint(3, "nonsense", OK, first(1, answer(429, "", "Retry-After: soon"))),
        endpoint(3, "zero", OK, first(2, answer(429, "", "Retry-After: 0"))),
        endpoint(3, "past", OK, first(1, answer(429, "", "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"))),
        endpoint(3, "hour", BLOCKED, answer(429, "", "Retry-After: 3600")),
        endpoint(3, "year", BLOCKED, answer(429, "", "Retry-After: Wed, 21 Oct 2099 07:28:00 GMT")),
        endpoint(3, "for-ever", BLOCKED, answer(429)),
        endpoint(3, "busy", OK, first(1, answer(503, "", "Retry-After: 1"))),
        endpoint(3, "busy-hour", UNREACHABLE, answer(503, "", "Retry-After: 3600")),
        Endpoint(4, "/4/readme", {"/4/readme": OK, "/4/readme#install": UNCHECKED, "/4/readme#Install": UNCHECKED, "/4/readme#user-content-install": OK,
                                  f"/4/readme#{quote('中文')}": UNCHECKED, "/4/readme#gone": BROKEN}, answer(200, README)),
        Endpoint(4, "/4/code", {"/4/code#L10": UNCHECKED, "/4/code#L10-L20": UNCHECKED, "/4/code#issuecomment-12": UNCHECKED, "/4/code#discussion_r1": UNCHECKED,
                                "/4/code#!/route": UNCHECKED, "/4/code#Lines": BROKEN}, answer(200, html("<p>code</p>"))),
        endpoint(5, "shell", OK, answer(200, SHELL), section=UNCHECKED),
        endpoint(5, "shell-noscript", OK, answer(200, SHELL.replace("<div", "<noscript>Please enable JavaScript.</noscript><div")), section=UNCHECKED),
        endpoint(5, "shell-loading", OK, answer(200, SHELL.replace("></div>", ">Loading...</div>")), section=UNCHECKED),
        endpoint(5, "anubis", BLOCKED, answer(200, ANUBIS), x=UNCHECKED),
        endpoint(5, "moment", BLOCKED, answer(200, html("", "Just a moment...")), x=UNCHECKED),
        endpoint(5, "page-with-script", OK, answer(200, html("<p id=a>x</p><script>1</script>")), a=OK, b=BROKEN),
        Endpoint(6, "/6/ids", {f"/6/ids#{HAN}": OK, f"/6/ids#{quote(HAN).lower()}": OK, "/6/ids#%E5%8E%9F": OK, "/6/ids#%e5%8e%9f": BROKEN, "/6/ids#a%20b": OK,
                               "/6/ids#%F0%9F%9A%80": OK, "/6/ids#case": BROKEN, "/6/ids#old": OK, "/6/ids#%2541": OK, "/6/ids#A": BROKEN, "/6/ids#内存": BROKEN}, answer(200, IDS)),
        endpoint(6, "gbk-header", OK, answer(200, "<title>x</title><p id=内存>x</p>".encode("gbk"), kind="text/html; charset=gbk"), 内存=OK, 外存=BROKEN),
        endpoint(6, "gbk-meta", OK, answer(200, "<meta charset=gb2312><title>x</title><p id=内存>x</p>".encode("gbk"), kind="text/html"), 内存=OK, 外存=BROKEN),
        endpoint(7, "moved", REDIRECTED, moved, here=REDIRECTED, gone=BROKEN),
        endpoint(7, "found", OK, to("/plain"), here=OK, gone=BROKEN),
        endpoint(7, "own-fragment", OK, to("/plain#here"), whatever=OK),
        endpoint(7, "own-fragment-gone", OK, to("/plain#gone")),
        endpoint(7, "long", OK, answer(200, LONG), end=OK, gone=BROKEN),
        endpoint(7, "zipped", OK, answer(200, ZIPPED, "Content-Encoding: gzip"), here=OK, gone=BROKEN),
        endpoint(7, "deflated", OK, answer(200, zlib.compress(html("<p id=here>").encode()), "Content-Encoding: deflate"), here=OK, gone=BROKEN),
        endpoint(7, "brotli", OK, answer(200, b"\x0b\x02\x80hello\x03", "Content-Encoding: br"), here=UNCHECKED),
        endpoint(7, "chunked", OK, (CHUNKED + "1b\r\n<title>x</title><p id=here>\r\n0\r\n\r\n").encode(), here=OK, gone=BROKEN),
        endpoint(7, "text", OK, answer(200, "words", kind="text/plain"), here=OK),
        endpoint(7, "pdf", OK, answer(200, "%PDF", kind="application/pdf"), **{"page=3": OK}),
        endpoint(7, "drawing", OK, answer(200, '<svg xmlns="http://www.w3.org/2000/svg"><g id="a"/></svg>', kind="image/svg+xml"), a=OK, b=BROKEN),
        endpoint(7, "untyped", OK, answer(200, html("<p id=here>"), kind=""), here=OK, gone=BROKEN),
        endpoint(10, "reset-once", OK, first(1, reset)),
        endpoint(10, "reset-twice", OK, first(2, reset)),
        endpoint(10, "empty-once", OK, first(1, b"")),
        *[endpoint(10, f"status-{status}-once", OK, first(1, answer(status))) for status in (500, 502, 503, 504, 408, 425)],
        endpoint(10, "status-502-twice", OK, first(2, answer(502))),
        endpoint(10, "slow", OK, after(3, GOOD)),
        endpoint(10, "hang-once", OK, first(1, hang)),
        endpoint(11, "hang", UNREACHABLE, hang, x=UNREACHABLE),
        endpoint(11, "hang-too", UNREACHABLE, hang),
        endpoint(11, "dripping-head", UNREACHABLE, drip(b"HTTP/1.1 200 OK\r\n", b"X-Word: x\r\n")),
        endpoint(11, "endless", OK, drip(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>x</title><p id=here>", b"<p>words" * 8192, 0, 4000), here=OK, gone=UNCHECKED),
        endpoint(11, "endless-file", OK, drip(b"HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\n\r\n", b"x" * 65536, 0, 2000)),
        endpoint(11, "dripping-all", OK, letters(GOOD, 13)),
        endpoint(11, "dripping-body", OK, drip(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9999\r\n\r\n<title>x</title><p id=here>", b"x"), here=OK),
        *[endpoint(12, f"head-{status}", OK, only("HEAD", answer(status))) for status in (403, 404, 405, 500, 501)],
        endpoint(12, "head-hang", OK, only("HEAD", hang)),
        endpoint(16, "moved-301", REDIRECTED, moved),
        endpoint(16, "moved-308", REDIRECTED, to("/plain", 308)),
        *[endpoint(16, f"found-{status}", OK, to("/plain", status)) for status in (302, 303, 307)],
        endpoint(16, "chain-of-5", OK, to("/chain5/1")), *chain("chain5", 5),
        endpoint(16, "moved-chain", REDIRECTED, to("/chain301/1", 301)), *chain("chain301", 4, 301),
        endpoint(16, "chain-of-19", OK, to("/chain19/1")), *chain("chain19", 19),
        endpoint(16, "chain-of-40", BROKEN, to("/chain40/1")), *chain("chain40", 40),
        endpoint(16, "self", BROKEN, to("/16/self")),
        endpoint(16, "loop", BROKEN, to("/16/pool")), endpoint(16, "pool", BROKEN, to("/16/loop", 301)),
        endpoint(16, "no-location", BROKEN, answer(302, "x")),
        endpoint(16, "empty-location", BROKEN, answer(301, "x", "Location: ")),
        endpoint(16, "bad-location", BROKEN, to("http://[::1")),
        endpoint(16, "relative", OK, to("../plain")),
        endpoint(16, "query-only", OK, to("?x=1")), Endpoint(0, "/16/query-only?x=1", {}, GOOD),
        endpoint(16, "han-location", OK, answer(302, "", "Location: /16/页 面?查=1")), Endpoint(0, f"/16/{quote('页')}%20{quote('面')}?{quote('查')}=1", {}, GOOD),
        endpoint(16, "cookie", OK, wants_cookie),
        endpoint(16, "login", OK, to("/16/login-page?next=/x")), Endpoint(0, "/16/login-page?next=/x", {}, answer(200, html("log in"))),
        endpoint(16, "to-404", BROKEN, to("/status/404", 301)),
        endpoint(16, "to-mail", UNCHECKED, to("mailto:a@example.org")),
        endpoint(16, "to-private", UNCHECKED, to("http://169.254.169.254/latest/")),
        endpoint(16, "to-private-name", UNCHECKED, to("http://localhost:1/")),
        endpoint(19, "file", OK, drip(b"HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\nContent-Length: 2147483648\r\n\r\n", b"x" * 65536, 0, 32768)),
        endpoint(19, "page", OK, drip(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2147483648\r\n\r\n<title>x</title>", b"<p>x" * 16384, 0, 4000)),
        endpoint(19, "bomb", OK, answer(200, gzip.compress(b"<p>" + b"x" * 60_000_000), "Content-Encoding: gzip"), x=UNCHECKED),
        raw(20, "/20/a%2Fb", "/20/a%2Fb"), raw(20, "/20/a%2fb", "/20/a%2fb"), raw(20, "/20/a%2A", "/20/a%2A"), raw(20, "/20/a%5Cb", "/20/a%5Cb"),
        raw(20, "/20/a\\b", "/20/a/b"), raw(20, "/20/q?a=1&amp;b=2", "/20/q?a=1&b=2"), raw(20, "/20/q?a=1&c=2", "/20/q?a=1&c=2"),
        raw(20, "/20/中文", "/20/%E4%B8%AD%E6%96%87"), raw(20, "/20/q?q=中文", "/20/q?q=%E4%B8%AD%E6%96%87"), raw(20, "/20/a b", "/20/a%20b"),
        raw(20, "/20/a+b", "/20/a+b"), raw(20, "/20/%7Euser", "/20/%7Euser"), raw(20, "/20/a//b", "/20/a//b"), raw(20, "/20/x/../y", "/20/y"),
        raw(20, "/20/%41", "/20/%41"), raw(20, "/20/a'b(c)*!", "/20/a'b(c)*!"), raw(20, "/20/q?a='b'", "/20/q?a=%27b%27"), raw(20, "/20/q?", "/20/q?"),
        raw(20, "/20/a;b=1,2@c:d", "/20/a;b=1,2@c:d"), raw(20, "/20/q?u=http://x/%3F?&%", "/20/q?u=http://x/%3F?&%"), raw(20, "/20/[x]|^", "/20/[x]%7C%5E"),
        endpoint(21, "han", SUSPECT, answer(200, html("没有", "404 - 页面不存在"))),
        endpoint(21, "english", SUSPECT, answer(200, html("sorry", "Page not found | A site"))),
        endpoint(21, "curt", SUSPECT, answer(200, html("sorry", "404 Not Found"))),
        endpoint(21, "for-sale", SUSPECT, answer(200, html("<p>This domain is for sale. Make an offer.</p>", "somewhere.org"))),
        endpoint(21, "deep", SUSPECT, to("/", 301)),
        endpoint(21, "deep-302", SUSPECT, to("/")),
        endpoint(21, "about", OK, answer(200, html("<p>long words</p>" * 50, "How we answer requests for pages that are not found in the cache"))),
        endpoint(21, "article-404-errors", OK, answer(200, html("what it means", "404 Not Found - HTTP"))),
        endpoint(21, "number", OK, answer(200, html("x", "404 ways to cook rice"))),
        endpoint(24, "long-header", OK, answer(200, html("x"), "X-Long: " + "y" * 20_000)),
        endpoint(24, "many-headers", OK, answer(200, html("x"), *[f"X-{number}: {number}" for number in range(500)])),
        endpoint(24, "utf8-header", OK, answer(200, html("x"), "X-Name: 中文")),
        endpoint(24, "latin-header", OK, GOOD.replace(b"\r\n\r\n", b"\r\nX-Name: \xe9\xff\r\n\r\n", 1)),
        endpoint(24, "early-hints", OK, b"HTTP/1.1 103 Early Hints\r\nLink: </x.css>; rel=preload\r\n\r\n" + GOOD),
        endpoint(24, "continue", OK, b"HTTP/1.1 100 Continue\r\n\r\n" + GOOD),
        endpoint(24, "http-10", OK, GOOD.replace(b"HTTP/1.1", b"HTTP/1.0")),
        endpoint(24, "short-body", OK, GOOD.replace(b"Content-Length: ", b"Content-Length: 9"), here=OK),
        endpoint(24, "bad-gzip", OK, answer(200, ZIPPED[:30] + b"garbage", "Content-Encoding: gzip")),
        endpoint(24, "not-gzip", OK, answer(200, html("<p id=here>"), "Content-Encoding: gzip"), here=OK),
        endpoint(24, "line-feeds", OK, GOOD.replace(b"\r\n", b"\n")),
        endpoint(24, "no-reason", OK, GOOD.replace(b" Word", b"")),
        endpoint(24, "no-colon", OK, GOOD.replace(b"Word\r\n", b"Word\r\nthis is no header\r\n")),
        endpoint(24, "space-before-colon", OK, GOOD.replace(b"Word\r\n", b"Word\r\nX-Odd : y\r\n")),
        endpoint(24, "folded", OK, GOOD.replace(b"Word\r\n", b"Word\r\nX-Odd: y\r\n  and more\r\n")),
        endpoint(24, "same-lengths", OK, answer(200, html("x"), f"Content-Length: {len(html('x'))}")),
        endpoint(24, "length-and-chunks", OK, (CHUNKED.replace("\r\n\r\n", "\r\nContent-Length: 5\r\n\r\n") + "10\r\n<title>x</title>\r\n0\r\n\r\n").encode()),
        endpoint(24, "broken-chunks", OK, (CHUNKED + "10\r\n<title>x</title>\r\nzz\r\n").encode(), here=UNCHECKED),
        endpoint(24, "odd-cookie", OK, answer(200, html("x"), "Set-Cookie: =;;; é{[}]=\x01;x", "Set-Cookie: a=b; Expires=never; Path=")),
        endpoint(24, "no-headers", OK, b"HTTP/1.1 200 OK\r\n\r\n" + html("<p id=here>").encode(), here=OK),
        endpoint(24, "odd-length", OK, GOOD.replace(b"Content-Length: ", b"Content-Length: x")),
        endpoint(24, "no-content", OK, b"HTTP/1.1 204 No Content\r\n\r\n"),
        endpoint(24, "odd-name", OK, GOOD.replace(b"Word\r\n", b"Word\r\nX-(Odd)@: y\r\n: nameless\r\n")),
        endpoint(24, "nul", OK, GOOD.replace(b"Word\r\n", b"Word\r\nX-Nul: a\x01b\r\n")),
        endpoint(24, "lower-case", OK, GOOD.replace(b"HTTP/1.1", b"http/1.1")),
        endpoint(25, "disallowed", UNCHECKED, GOOD),
        *[Endpoint(0, f"/status/{status}", {f"/status/{status}": BROKEN}, answer(status, html("x", "An error"))) for status in
          (400, 401, 402, 404, 405, 406, 409, 410, 411, 414, 415, 416, 422, 423, 426, 431)],
        Endpoint(0, "/status/404-empty", {"/status/404-empty": BROKEN, "/status/404-empty#x": BROKEN}, answer(404)),
        *[Endpoint(0, f"/status/{status}", {f"/status/{status}": UNREACHABLE}, answer(status, "x")) for status in (500, 501, 502, 503, 504, 520, 522, 530)],
        Endpoint(0, "/status/reset", {"/status/reset": UNREACHABLE}, reset),
        Endpoint(0, "/status/empty", {"/status/empty": UNREACHABLE}, b""),
        Endpoint(0, "/status/garbage", {"/status/garbage": UNREACHABLE}, b"\x00\x01\x02 this is no answer\r\n\r\n"),
    ]  # fmt: skip


class Server:
    """Serves the endpoints from a thread of its own, and counts what it is asked and what it sends."""

    def __init__(self, endpoints: list[Endpoint], context: ssl.SSLContext | None = None) -> None:
        """Take the endpoints, and a context to speak TLS with; nothing listens before the server is entered."""
        self._context = context
        self.replies = {endpoint.target: endpoint.reply for endpoint in endpoints}
        self.asked: Counter[str] = Counter()
        self.methods: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.at_once = 0
        self.most_at_once = 0
        self.slots = 1 << 30
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Start to listen on a port of loopback."""
        self._thread.start()
        self._ready.wait(10)
        return self

    @property
    def place(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.port}"

    def __exit__(self, *_: object) -> None:
        """Stop, whatever still hangs."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20, ssl=self._context))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if (start := await reader.readexactly(1)) == _HANDSHAKE and self._context is None:
                writer.write(answer(400, "this is not TLS"))
                return
            head = (start + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = head[0].split(" ", 2)
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
            self.asked[target] += 1
            self.methods[method] += 1
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            try:
                if self.at_once > self.slots:
                    writer.write(answer(429))
                else:
                    await send(
                        self.replies.get(target, answer(404, "no such endpoint")),
                        Request(method, target, headers, self.asked[target], self.sent),
                        writer,
                    )
                await writer.drain()
            finally:
                self.at_once -= 1
        except (OSError, EOFError, asyncio.CancelledError, asyncio.LimitOverrunError, ValueError):
            pass  # the client went away
        finally:
            writer.close()
