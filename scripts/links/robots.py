"""Whether a host wants programs to stay away from a page: its robots.txt, read once, and taken as a wish only if it answers."""

import asyncio
from urllib.robotparser import RobotFileParser

from links.address import Address
from links.encoding import decode_html
from links.failures import Failure
from links.fetch import TEXT, Client

_NAME = "warpwise-links"
_SECONDS = 4.0


class Robots:
    """Remembers each host's wishes for one run."""

    def __init__(self) -> None:
        """Start with no host known."""
        self._known: dict[str, asyncio.Task[RobotFileParser | None]] = {}

    async def allow(self, client: Client, address: Address) -> bool:
        """Say whether a page may be asked; a host without a readable robots.txt has no wishes."""
        if address.origin not in self._known:
            self._known[address.origin] = asyncio.create_task(_read(client, address._replace(path="/robots.txt", query=None, fragment=None)))
        rules = await asyncio.shield(self._known[address.origin])
        return rules is None or rules.can_fetch(_NAME, address.page)


async def _read(client: Client, address: Address) -> RobotFileParser | None:
    try:
        async with asyncio.timeout(_SECONDS):
            answer = await client.ask(address, TEXT)
    except (Failure, TimeoutError):
        return None
    if answer.status != 200 or answer.is_html:  # noqa: PLR2004 - only a plain answer holds wishes
        return None
    rules = RobotFileParser()
    rules.parse(decode_html(answer.body)[0].splitlines())
    return rules
