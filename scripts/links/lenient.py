"""Reads an answer the way browsers do when a strict reader gives up: stray bytes in headers, odd line ends, half a body."""

import asyncio
import re
import ssl
from typing import NamedTuple

from links.address import Address
from links.guard import Guard, GuardedResolver, PrivateHostError

_STATUS = re.compile(rb"\s*HTTP/[0-9](?:\.[0-9]+)?[ \t]+([0-9]{3})(?![0-9])", re.IGNORECASE)
_MOST_HEAD = 1 << 20
_MOST_BODY = 1 << 20
_BODY_SECONDS = 3.0
_CHUNK = re.compile(rb"\s*([0-9A-Fa-f]+)[^\n]*\n")
_HEAD_END = re.compile(rb"\r?\n\r?\n")


class LenientAnswer(NamedTuple):
    """Status, first value of each header under its name in lower case, as much of the body as came, and whether that is all."""

    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool


class NotHttpError(ValueError):
    """What came back is no answer of the web."""


async def ask_leniently(address: Address, headers: dict[str, str], guard: Guard, context: ssl.SSLContext, seconds: float) -> LenientAnswer:
    """Send one GET and read whatever comes back.

    Raises NotHttpError for what no browser would show, PrivateHostError, OSError and TimeoutError.
    """
    async with asyncio.timeout(seconds):
        ip = await _look_up(address, guard)
        secure = address.scheme == "https"
        reader, writer = await asyncio.open_connection(
            ip, address.port, ssl=context if secure else None, server_hostname=address.host if secure else None, limit=_MOST_HEAD
        )
        try:
            place = address.authority.rpartition("@")[2]
            target = address.page.removeprefix(address.origin)
            lines = [
                f"GET {target} HTTP/1.1",
                f"Host: {place}",
                *(f"{name}: {value}" for name, value in headers.items()),
                "Connection: close",
                "",
                "",
            ]
            writer.write("\r\n".join(lines).encode())
            return await _read(reader)
        finally:
            writer.transport.abort()


async def _look_up(address: Address, guard: Guard) -> str:
    host = address.host
    if ":" in host or host.replace(".", "").isdigit():
        if not guard.permits(host, host, address.port):
            raise PrivateHostError(f"{host} is a private host")
        return host
    return (await GuardedResolver(guard).resolve(host, address.port))[0]["host"]


async def _read(reader: asyncio.StreamReader) -> LenientAnswer:
    data = b""
    while True:
        if found := _HEAD_END.search(data):
            status, headers = _parse_head(data[: found.start()])
            data = data[found.end() :]
            if status >= 200 or status == 101:  # noqa: PLR2004 - below are interim answers, which a final one follows
                return LenientAnswer(status, headers, *await _read_body(reader, data, headers))
            continue
        more = await reader.read(1 << 16)
        if not more or len(data) > _MOST_HEAD:
            if not data:
                raise ConnectionResetError("the connection was closed without an answer")
            return LenientAnswer(*_parse_head(data), b"", whole=False)
        data += more


def _parse_head(data: bytes) -> tuple[int, dict[str, str]]:
    status = _STATUS.match(data)
    if not status:
        raise NotHttpError("the answer is not HTTP")
    headers: dict[str, str] = {}
    for line in re.split(rb"\r?\n", data)[1:]:
        name, colon, value = line.partition(b":")
        if colon and not line[:1].isspace():
            headers.setdefault(name.strip().lower().decode("latin-1"), value.strip().decode("utf-8", "surrogateescape"))
    return int(status[1]), headers


async def _read_body(reader: asyncio.StreamReader, data: bytes, headers: dict[str, str]) -> tuple[bytes, bool]:
    length = headers.get("content-length", "")
    wanted = min(int(length), _MOST_BODY) if length.isascii() and length.isdigit() else _MOST_BODY
    chunked = "chunked" in headers.get("transfer-encoding", "").lower()
    closed = False
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            while len(data) < (_MOST_BODY if chunked else wanted) and not (chunked and data.endswith(b"0\r\n\r\n")):
                more = await reader.read(1 << 16)
                if not more:
                    closed = True
                    break
                data += more
    except (OSError, TimeoutError):
        pass  # what came is enough: a browser shows half a page too
    if chunked:
        return _unchunk(data)
    return data[:wanted], closed if wanted == _MOST_BODY else len(data) >= wanted


def _unchunk(data: bytes) -> tuple[bytes, bool]:
    parts: list[bytes] = []
    while found := _CHUNK.match(data):
        size = int(found[1][:8], 16)
        if not size:
            return b"".join(parts), True
        parts.append(data[found.end() : found.end() + size])
        data = data[found.end() + size :]
    return b"".join(parts), False
