"""The command line of the link checker."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from links.address import Address, BadAddressError, OtherSchemeError, parse
from links.hosts import BadHostError, normal_host
from links.model import ConfigurationError
from links.sources import SourceFolder, parse_source

_LONGEST_RUN = 1800.0
_STATUSES = "exit status: 0 clean, 1 broken links, 2 wrong use or configuration, 3 a fault of the checker itself, 130 interrupted"


@dataclass(frozen=True)
class Options:
    """What the command line asks for."""

    site: Path
    root: Address
    online: bool
    state: Path | None
    json: Path | None
    markdown: Path | None
    sources: list[SourceFolder]
    max_time: float
    allowed: frozenset[tuple[str, int]]


def parse_options(arguments: Sequence[str] | None) -> Options:
    """Read the command line; the parser itself ends the program with status 2 where it is not understood.

    Raises ConfigurationError for values that cannot be used: no such folder, a root that is no address, and the like.
    """
    parser = argparse.ArgumentParser(prog="check_links.py", description="Checks the links of a built site.", epilog=_STATUSES, allow_abbrev=False)
    parser.add_argument("site", metavar="SITE", type=Path, help="the folder of a built site")
    parser.add_argument("--site-url", metavar="URL", default="/", help="where the site is published; its own addresses are judged from the folder")
    parser.add_argument("--online", action="store_true", help="ask other hosts too; without it no socket is opened")
    parser.add_argument("--state", metavar="FILE", type=Path, help="remembers good answers for two weeks, and since when a host has been silent")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every link with its verdict")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write the report as a page")
    parser.add_argument(
        "--sources", metavar="DIR:PREFIX", nargs="+", action="extend", default=[], help="Markdown that the pages below a prefix are built from"
    )
    parser.add_argument(
        "--max-time", metavar="S", type=float, default=_LONGEST_RUN, help="end the online run after so many seconds (default %(default)g)"
    )
    parser.add_argument("--allow-private", metavar="HOST:PORT", nargs="+", action="extend", default=[], help="ask this private host too")
    read = parser.parse_args(arguments)
    if not read.site.is_dir():
        raise ConfigurationError(f"there is no folder {read.site}")
    if not read.max_time > 0:
        raise ConfigurationError("--max-time needs a positive number of seconds")
    for path in (read.state, read.json, read.markdown):
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            raise ConfigurationError(f"{path} cannot be written: {'it is a folder' if path.is_dir() else 'its folder does not exist'}")
    return Options(
        read.site,
        _root(read.site_url),
        read.online,
        read.state,
        read.json,
        read.markdown,
        [parse_source(text) for text in read.sources],
        read.max_time,
        frozenset(_place(text) for text in read.allow_private),
    )


def _root(text: str) -> Address:
    if re.fullmatch(r"/(?:[^/?#\\][^?#\\]*)?", text):
        root = Address("https", "", text)
    else:
        try:
            root = parse(text)
        except (BadAddressError, OtherSchemeError) as error:
            raise ConfigurationError(f"--site-url {text}: not the address of a site: {error}") from error
    if root.query is not None or root.fragment is not None:
        raise ConfigurationError(f"--site-url {text}: the address of a site has no query and no fragment")
    return root if root.path.endswith("/") else root._replace(path=root.path + "/")


def _place(text: str) -> tuple[str, int]:
    found = re.fullmatch(r"(\[[^\]]+\]|[^:]+):([0-9]{1,5})", text)
    try:
        if found and 0 < int(found[2]) < 1 << 16:
            return normal_host(found[1].lower()).strip("[]"), int(found[2])
    except BadHostError:
        pass
    raise ConfigurationError(f"--allow-private {text}: needs HOST:PORT")
