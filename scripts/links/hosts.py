"""Host names as browsers read them: decoded, in ASCII, and every spelling of an IP address in one form."""

import ipaddress
import re
from functools import lru_cache
from urllib.parse import unquote_to_bytes

import idna

_PLAIN = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_-])?\Z")
_FORBIDDEN = re.compile(r"[\x00-\x20#%/:<>?@\[\\\]^|\x7f]")
_NUMERIC = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)\Z")


class BadHostError(ValueError):
    """No browser opens an address with this host."""


@lru_cache(maxsize=65536)
def normal_host(text: str) -> str:
    """Return the host in the one form that a browser would ask for.

    Raises BadHostError for what a browser refuses: forbidden characters, a bad IPv4 or IPv6 address, an empty name.
    """
    if text.startswith("["):
        return _normal_ipv6(text)
    name = text if _PLAIN.match(text) else _to_ascii(unquote_to_bytes(text).decode("utf-8", "replace"))
    if not name:
        raise BadHostError("the host is empty")
    if found := _FORBIDDEN.search(name):
        raise BadHostError(f"the host has a forbidden character {found[0]!r}")
    last = name.removesuffix(".").rpartition(".")[2]
    if last and (last.isdigit() or _NUMERIC.match(last)):
        return _normal_ipv4(name.removesuffix("."))
    return name


def _to_ascii(name: str) -> str:
    """Map a name as UTS 46 does and encode each label; registries' own rules on characters are not a browser's."""
    try:
        mapped = name.lower() if name.isascii() else idna.uts46_remap(name, std3_rules=False, transitional=False)
    except (idna.IDNAError, UnicodeError) as error:
        raise BadHostError("the host has a character that no name may have") from error
    labels = [label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii") for label in re.split("[.\u3002\uff0e\uff61]", mapped)]
    return ".".join(labels)


def _normal_ipv6(text: str) -> str:
    try:
        if not text.endswith("]") or "%" in text:
            raise BadHostError("the IPv6 address is not closed or names a zone")
        return f"[{ipaddress.IPv6Address(text[1:-1]).compressed}]"
    except ValueError as error:
        raise BadHostError(f"{text} is no IPv6 address") from error


def _normal_ipv4(text: str) -> str:
    """Read what browsers read as IPv4: one to four parts, each decimal, octal or hexadecimal."""
    parts = text.split(".")
    most = 4
    if len(parts) > most or not all(_NUMERIC.match(part) for part in parts):
        raise BadHostError(f"{text} is no IPv4 address")
    try:
        numbers = [_number(part) for part in parts]
    except ValueError as error:
        raise BadHostError(f"{text} is no IPv4 address") from error
    *leading, rest = numbers
    if any(number > 255 for number in leading) or rest >= 256 ** (most + 1 - len(parts)):  # noqa: PLR2004 - an octet's range
        raise BadHostError(f"{text} is no IPv4 address")
    for place, number in enumerate(leading):
        rest += number * 256 ** (most - 1 - place)
    return str(ipaddress.IPv4Address(rest))


def _number(part: str) -> int:
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    if len(part) > 1 and part.startswith("0"):
        return int(part, 8)
    return int(part)
