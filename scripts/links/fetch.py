"""One GET for one address: its redirects walked by the rules of browsers, its body read only as far as it is needed."""

import asyncio
import ssl
import zlib
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import aiohttp
from yarl import URL

from links.address import Address, BadAddressError, OtherSchemeError, resolve
from links.failures import Failure, Kind, explain
from links.guard import Guard, GuardedResolver, PrivateHostError
from links.lenient import NotHttpError, ask_leniently
from links.model import broken, unchecked

AGENT = "warpwise-links/1 (checks the links of a documentation site; one GET a page)"
_HEADERS = {
    "User-Agent": AGENT,
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "zh-CN,zh;q=0.9,en;q=0.8",
    "Accept-Encoding": "gzip, deflate",
}
_REDIRECTS = {301, 302, 303, 307, 308}
_MOST_HOPS = 20
_MOST_VISITS = 4  # a page may send its reader to itself for a cookie, or until it is ready
_SILENT_SECONDS, _HEAD_SECONDS = 10.0, 20.0
_LONGEST_HEADER, _MOST_HEADERS = 1 << 18, 4096
_MOST_UNPACKED = 16 << 20
_PAGES = {"text/html", "application/xhtml+xml", ""}


class Need(NamedTuple):
    """How much of a body is worth reading: bytes, seconds, and of which types; none means every type."""

    most: int
    seconds: float
    types: frozenset[str]


TITLE = Need(64 << 10, 3.0, frozenset(_PAGES))
ANCHORS = Need(16 << 20, 12.0, frozenset({*_PAGES, "image/svg+xml"}))
TEXT = Need(512 << 10, 3.0, frozenset())


class Answer(NamedTuple):
    """What came back in the end: the hops on the way as pairs of status and address, the last response, and its body."""

    hops: tuple[tuple[int, Address], ...]
    address: Address
    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool

    @property
    def media_type(self) -> str:
        """The type of the body, without parameters and in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def is_html(self) -> bool:
        """Whether a browser would show the body as a page."""
        start = self.body[:512].lstrip().lower()
        return self.media_type in {"text/html", "application/xhtml+xml"} or (not self.media_type and start.startswith((b"<!doctype", b"<html")))


class Client:
    """Asks addresses within the guard's bounds."""

    def __init__(self, session: aiohttp.ClientSession, guard: Guard, context: ssl.SSLContext, patience: float = 1.0) -> None:
        """Take an open session; `open_client` makes one."""
        self._session = session
        self._guard = guard
        self._context = context
        self._patience = patience

    def patient(self, factor: float) -> "Client":
        """Return a client that waits longer by this factor."""
        return Client(self._session, self._guard, self._context, factor)

    async def ask(self, asked: Address, need: Need) -> Answer:
        """Fetch an address and what it redirects to, and of the body what is needed.

        Raises Failure where there is no answer, or none that a browser would show.
        """
        jar = aiohttp.CookieJar(unsafe=True, quote_cookie=False)
        hops: list[tuple[int, Address]] = []
        visits: Counter[tuple[str, str]] = Counter()
        address = asked
        while True:
            if reason := self._guard.refusal(address):
                raise Failure(unchecked(f"not asked: {reason}" + (", behind a redirect" if hops else "")))
            cookie = "; ".join(f"{name}={morsel.coded_value}" for name, morsel in jar.filter_cookies(URL(address.page, encoded=True)).items())
            visits[address.page, cookie] += 1
            if visits[address.page, cookie] > _MOST_VISITS:
                raise Failure(broken("the redirects go in circles"))
            answer = await self._ask_once(address, cookie, jar, need)
            if answer.status not in _REDIRECTS:
                return answer._replace(hops=tuple(hops))
            hops.append((answer.status, address))
            if len(hops) > _MOST_HOPS:
                raise Failure(broken(f"more than {_MOST_HOPS} redirects"))
            address = _follow(address, answer)

    async def _ask_once(self, address: Address, cookie: str, jar: aiohttp.CookieJar, need: Need) -> Answer:
        headers = _HEADERS | ({"Cookie": cookie} if cookie else {})
        url = URL(address.page, encoded=True)
        if str(url) != address.page:
            return await self._ask_leniently(address, headers)  # the library would send something else than what is asked for
        response: aiohttp.ClientResponse | None = None
        try:
            async with asyncio.timeout(_HEAD_SECONDS * self._patience):
                silent = _SILENT_SECONDS * self._patience
                limits = aiohttp.ClientTimeout(total=None, sock_connect=silent, sock_read=silent)
                response = await self._session.get(url, headers=headers, allow_redirects=False, timeout=limits)
            jar.update_cookies_from_headers(response.headers.getall("Set-Cookie", []), response.url)
            found = {name.lower(): value for name, value in reversed(list(response.headers.items()))}
            answer = Answer((), address, response.status, found, b"", whole=True)
            return answer if answer.status in _REDIRECTS else await _with_body(answer, response, need)
        except Exception as error:
            failure = explain(error)  # a server can make a client raise anything, and none of it may end the run
            if failure.kind != Kind.NOT_HTTP:
                raise failure from error
        finally:
            if response is not None:
                response.close()
        return await self._ask_leniently(address, headers)

    async def _ask_leniently(self, address: Address, headers: dict[str, str]) -> Answer:
        try:
            found = await ask_leniently(address, headers, self._guard, self._context, _HEAD_SECONDS * self._patience)
        except (NotHttpError, PrivateHostError, OSError, ValueError) as error:
            raise explain(error) from error
        body, whole = _decompress(found.body, found.headers)
        return Answer((), address, found.status, found.headers, body, whole and found.whole)


@asynccontextmanager
async def open_client(guard: Guard) -> AsyncIterator[Client]:
    """Open a client; one connection serves one request, as an odd server must not spoil its neighbour's answer."""
    context = ssl.create_default_context()
    connector = aiohttp.TCPConnector(limit=0, force_close=True, resolver=GuardedResolver(guard), ssl=context)
    session = aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None),
        max_line_size=_LONGEST_HEADER,
        max_field_size=_LONGEST_HEADER,
        max_headers=_MOST_HEADERS,
    )
    async with session:
        yield Client(session, guard, context)


def _follow(address: Address, answer: Answer) -> Address:
    """Return where a redirect leads; a fragment is inherited unless the new address has one."""
    location = answer.headers.get("location", "").encode("utf-8", "surrogateescape").decode("utf-8", "replace").strip()
    if not location:
        raise Failure(broken(f"status {answer.status} without an address to go to"))
    try:
        target = resolve(location, address)
    except BadAddressError as error:
        raise Failure(broken(f"redirects to what is no address: {error}")) from error
    except OtherSchemeError as error:
        raise Failure(unchecked(f"leads to what is not a web page: {error}")) from error
    return target if target.fragment is not None else target._replace(fragment=address.fragment)


async def _with_body(answer: Answer, response: aiohttp.ClientResponse, need: Need) -> Answer:
    """Read what the judgement needs: nothing of a download, the head of a page, all of it only where an anchor is looked for."""
    if need.types and answer.media_type not in need.types and answer.status != 202:  # noqa: PLR2004 - a 202 with nothing in it is a wall
        return answer
    body = bytearray()
    whole = False
    try:
        async with asyncio.timeout(need.seconds):
            while len(body) < need.most:
                chunk = await response.content.readany()
                if not chunk:
                    whole = True
                    break
                body += chunk
    except (aiohttp.ClientError, OSError, ValueError):
        pass  # a browser shows the half that came
    except TimeoutError:
        pass
    plain, sound = _decompress(bytes(body), answer.headers)
    return answer._replace(body=plain, whole=whole and sound)


def _decompress(body: bytes, headers: dict[str, str]) -> tuple[bytes, bool]:
    """Undo a content encoding as far as it is sound, and say whether that is all; a body that was never encoded stays as it is."""
    encoding = headers.get("content-encoding", "").strip().lower()
    for form in {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}.get(encoding, ()):
        unpacker = zlib.decompressobj(wbits=form)
        parts = bytearray()
        try:
            for start in range(0, len(body), 1 << 14):
                parts += unpacker.decompress(body[start : start + (1 << 14)], _MOST_UNPACKED - len(parts))
                if len(parts) >= _MOST_UNPACKED:
                    break
        except zlib.error:
            pass
        if parts:
            return bytes(parts), unpacker.eof
    return body, True
