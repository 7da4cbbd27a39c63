"""Keeps the checker on the public web: no private address is ever connected to, whatever name or redirect leads there."""

import ipaddress
import socket
from collections.abc import Iterable

from aiohttp import ThreadedResolver
from aiohttp.abc import AbstractResolver, ResolveResult

from links.address import Address

# Names that no public resolver should be asked for, by RFC 2606, 6761, 6762, 7686, 8375 and 9476 and ICANN's `internal`.
_LOCAL_ENDINGS = ("localhost", "local", "internal", "lan", "home", "intranet", "home.arpa", "onion", "alt")
_EXAMPLE_ENDINGS = ("example", "invalid", "test", "example.com", "example.net", "example.org")
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")


class PrivateHostError(Exception):
    """A name or an address leads to a host that is not of the public web."""


class Guard:
    """Says which hosts may be asked."""

    def __init__(self, allowed: Iterable[tuple[str, int]] = ()) -> None:
        """Take the private places, as host and port, that may be asked all the same."""
        self._allowed = frozenset(allowed)

    def refusal(self, address: Address) -> str:
        """Return why an address may not be asked, or nothing; a name's IP addresses are only known when it is looked up."""
        host = address.host.removesuffix(".")
        if (host, address.port) in self._allowed:
            return ""
        if ip := _ip(host):
            return "" if is_public(ip) else "a private address"
        if _ends_with(host, _EXAMPLE_ENDINGS):
            return "an example host"
        if "." not in host or _ends_with(host, _LOCAL_ENDINGS):
            return "a host of a local network"
        return ""

    def permits(self, name: str, ip: str, port: int) -> bool:
        """Say whether this IP address may be connected to for this name."""
        if (name.removesuffix("."), port) in self._allowed or (ip, port) in self._allowed:
            return True
        found = _ip(ip)
        return found is not None and is_public(found)


class GuardedResolver(AbstractResolver):
    """A resolver that keeps private answers to itself, so that a name cannot lead where an address may not."""

    def __init__(self, guard: Guard) -> None:
        """Take the guard that knows what is private."""
        self._guard = guard
        self._inner = ThreadedResolver()

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[ResolveResult]:
        """Look a name up.

        Raises PrivateHostError where all that it leads to is private, and OSError where it leads to nothing.
        """
        found = await self._inner.resolve(host, port, family)
        public = [result for result in found if self._guard.permits(host, result["host"], port)]
        if found and not public:
            raise PrivateHostError(f"{host} is a private host")
        return public

    async def close(self) -> None:
        """Close the resolver behind."""
        await self._inner.close()


def is_public(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Say whether an IP address is one of the public web, looking through those that carry another within."""
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _TRANSLATED else None)
        if inner is not None:
            return is_public(inner)
        if ip.teredo is not None or ip.is_site_local:
            return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved and not ip.is_unspecified


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _ends_with(host: str, endings: tuple[str, ...]) -> bool:
    return any(host == ending or host.endswith("." + ending) for ending in endings)
