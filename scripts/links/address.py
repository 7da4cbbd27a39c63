"""Addresses as browsers read them: what `href` and `src` become, following the WHATWG URL standard for web addresses.

The standard library's `urljoin` follows an older rule: it keeps backslashes, tabs, raw spaces and non-ASCII text,
and stays silent about hosts that no browser opens.
"""

import re
from typing import NamedTuple

from links.hosts import BadHostError, normal_host

DEFAULT_PORTS = {"http": 80, "https": 443}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_PLACE = re.compile(r"(\[[^\]]*\]|[^:]*)(?::([0-9]*))?")
_MOST_LEVELS = 16
_SURROGATE = re.compile("[\ud800-\udfff]")
_EDGES = "".join(map(chr, range(0x21)))
_DROPPED = str.maketrans("", "", "\t\n\r")
_PATH_UNSAFE = re.compile("[^!$-;=@-Z\\[\\]_a-z~]")
_QUERY_UNSAFE = re.compile("[^!$-&(-;=?-~]")
_FRAGMENT_UNSAFE = re.compile("[^!#-;=?-_a-~]")
_USER_UNSAFE = re.compile("[^!$-.0-9A-Z_a-z~%]")
_DOT = re.compile(r"\.|%2e", re.IGNORECASE)
_SIMPLE = re.compile(r"(?:\.\./)*(?![./])(?:[A-Za-z0-9_\-]+(?:\.[A-Za-z0-9_\-]+)*/?)*(?:#[A-Za-z0-9_.\-]*)?\Z")


class BadAddressError(ValueError):
    """No browser can open this address."""


class OtherSchemeError(ValueError):
    """The address is not one of the web: mail, telephone, script, data and the like; the message is the scheme."""


class Address(NamedTuple):
    """A web address in its parts; an empty authority stands for the root of a site whose host is not known."""

    scheme: str
    authority: str
    path: str
    query: str | None = None
    fragment: str | None = None

    def __str__(self) -> str:
        """Write the address as a browser shows it in `location.href`."""
        return self.page + ("" if self.fragment is None else f"#{self.fragment}")

    @property
    def origin(self) -> str:
        """Scheme, host and port, or nothing for a site whose host is not known."""
        return f"{self.scheme}://{self.authority}" if self.authority else ""

    @property
    def page(self) -> str:
        """The address without its fragment: what goes over the network."""
        return self.origin + self.path + ("" if self.query is None else f"?{self.query}")

    @property
    def host(self) -> str:
        """The host alone, without brackets."""
        return self._place()[0].strip("[]")

    @property
    def port(self) -> int:
        """The port, the scheme's own where none is written."""
        return int(self._place()[1] or DEFAULT_PORTS[self.scheme])

    def _place(self) -> tuple[str, str]:
        found = _PLACE.fullmatch(self.authority.rpartition("@")[2])
        return (found[1], found[2]) if found else ("", "")


class Base:
    """The address that the relative ones of one document are resolved against."""

    def __init__(self, address: Address, encoding: str = "utf-8") -> None:
        """Take the document's address and the encoding in which its queries are sent."""
        self.address = address
        self.encoding = "utf-8" if encoding.startswith("utf") else encoding
        folders = address.path.split("/")[:-1]
        # _above[n] is the address of the folder n levels up, for the many plain links that only climb and descend.
        self._above = [address.origin + "/".join(folders[: len(folders) - up]) + "/" for up in range(min(len(folders), _MOST_LEVELS))]

    def join(self, raw: str) -> str:
        """Return the address that `raw` means in this document.

        Raises BadAddressError for what no browser opens and OtherSchemeError for what is not of the web.
        """
        if raw and _SIMPLE.match(raw):
            if raw[0] == "#":
                return self.address.page + raw
            up = raw.count("../")
            if up < len(self._above):
                return self._above[up] + raw[3 * up :]
        return str(resolve(raw, self.address, self.encoding))


def parse(text: str) -> Address:
    """Read an absolute web address.

    Raises BadAddressError and OtherSchemeError as `resolve` does.
    """
    return resolve(text, Address("", "", "/"))


def resolve(raw: str, base: Address, encoding: str = "utf-8") -> Address:
    """Return the address that `raw` means in a document at `base`.

    Raises BadAddressError for what no browser opens and OtherSchemeError for what is not of the web.
    """
    text = raw.strip(_EDGES).translate(_DROPPED)
    if not text.isascii():
        text = _SURROGATE.sub("\ufffd", text)
    scheme = base.scheme
    if found := _SCHEME.match(text):
        scheme = found[1].lower()
        if scheme not in DEFAULT_PORTS:
            raise OtherSchemeError(scheme)
        text = text[found.end() :]
        if scheme != base.scheme:
            text = "//" + text.lstrip("/\\")
    elif not scheme:
        raise BadAddressError("the address has no scheme")
    text, mark, fragment_text = text.partition("#")
    fragment = _encode(fragment_text, _FRAGMENT_UNSAFE) if mark else None
    text, mark, query_text = text.partition("?")
    query = _encode(query_text, _QUERY_UNSAFE, encoding) if mark else None
    text = text.replace("\\", "/")
    if text.startswith("//"):
        authority, slash, rest = text.lstrip("/").partition("/")
        return Address(scheme, _authority(authority, scheme), _normal_path(slash + rest), query, fragment)
    if not text:
        return Address(scheme, base.authority, base.path, base.query if query is None else query, fragment)
    if not text.startswith("/"):
        text = base.path.rpartition("/")[0] + "/" + text
    return Address(scheme, base.authority, _normal_path(text), query, fragment)


def _encode(text: str, unsafe: re.Pattern[str], encoding: str = "utf-8") -> str:
    """Percent-encode what a browser would; a character that the encoding lacks becomes a character reference."""

    def escape(found: re.Match[str]) -> str:
        try:
            code = found[0].encode(encoding)
        except UnicodeEncodeError:
            return f"%26%23{ord(found[0])}%3B"
        return "".join(f"%{byte:02X}" for byte in code)

    return unsafe.sub(escape, text)


def _normal_path(path: str) -> str:
    """Encode a path and walk its dots; what climbs above the root stays at the root."""
    segments: list[str] = []
    parts = path.split("/")[1:] or [""]
    for place, part in enumerate(parts):
        dots = _DOT.sub(".", part) if len(part) <= len("%2e%2e") else part
        if dots in {".", ".."}:
            if dots == ".." and segments:
                segments.pop()
            if place == len(parts) - 1:
                segments.append("")
        else:
            segments.append(_encode(part, _PATH_UNSAFE))
    return "/" + "/".join(segments)


def _authority(text: str, scheme: str) -> str:
    user, _, place = text.rpartition("@")
    found = _PLACE.fullmatch(place)
    if not found:
        raise BadAddressError("the port is not a number, or the host holds a colon")
    try:
        host = normal_host(found[1])
    except BadHostError as error:
        raise BadAddressError(str(error)) from error
    port = int(found[2] or DEFAULT_PORTS[scheme])
    if port >= 1 << 16:
        raise BadAddressError(f"there is no port {port}")
    name, _, password = (_encode(part, _USER_UNSAFE) for part in user.partition(":"))
    signed = name + (":" + password if password else "")
    return (signed + "@" if signed else "") + host + ("" if port == DEFAULT_PORTS[scheme] else f":{port}")
