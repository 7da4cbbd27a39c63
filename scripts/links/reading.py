"""One file of a site to what it uses and offers: the addresses, resolved, with their lines, and its anchors."""

import gzip
import html
import zlib
from contextlib import suppress
from typing import NamedTuple

from links.address import Address, BadAddressError, Base, OtherSchemeError, resolve
from links.encoding import decode_css, decode_html
from links.folder import PAGE_ENDINGS, Site
from links.lists import SEARCH_INDEXES, BadListError, is_sitemap, search_locations, sitemap_urls
from links.markup import read_page
from links.model import Judgement, broken, unchecked
from links.styles import style_urls
from links.tame import is_tame

READ_ENDINGS = (*PAGE_ENDINGS, ".svg", ".css", ".xml", ".xml.gz", *SEARCH_INDEXES)
LARGEST = 256 << 20
_WINDOW = 1 << 16
_MOST_MISSES = 200
_MOST_TRIES = 20
_SEARCHED_WHOLE = 1 << 18
_LONG_TAG = 1 << 10


class Reading(NamedTuple):
    """What one file says: its links as pairs of address and line, and what other files need to know of it."""

    file: str
    links: list[tuple[str, int]]
    judged: dict[str, Judgement]
    ids: frozenset[str] | None = None
    refresh: str | None = None
    shell: bool = False


def read_file(site: Site, file: str) -> Reading:
    """Read a page, style sheet, drawing, sitemap or search index.

    Nothing is raised: a file that cannot be read is itself a broken link, at its own address.
    """
    try:
        path = site.folder.root / file
        if path.stat().st_size > LARGEST:
            return _problem(site, file, unchecked(f"the file is larger than {LARGEST >> 20} MiB and was not read"))
        data = path.read_bytes()
        if file.endswith(".gz"):
            data = zlib.decompressobj(wbits=31).decompress(data, LARGEST)
    except OSError as error:
        return _problem(site, file, broken(f"the file cannot be read: {error.strerror}"))
    except (zlib.error, gzip.BadGzipFile, EOFError):
        return _problem(site, file, broken("the file cannot be decompressed"))
    name = file.lower()
    if name.endswith((*PAGE_ENDINGS, ".svg")):
        return _read_page(site, file, data)
    if name.endswith(".css"):
        text = decode_css(data)
        return _Writer(site, file, text, Base(site.address(file))).reading([url for url in style_urls(text) if not url.startswith("#")])
    return _read_list(site, file, data.decode("utf-8-sig", "replace"))


def unreadable(site: Site, file: str, reason: str) -> Reading:
    """Return the reading of a file that could not be worked through, for this reason."""
    return _problem(site, file, unchecked(reason))


def _problem(site: Site, file: str, judgement: Judgement) -> Reading:
    address = str(site.address(file))
    return Reading(file, [(address, 1)], {address: judgement})


def _read_page(site: Site, file: str, data: bytes) -> Reading:
    text, encoding = decode_html(data)
    if not is_tame(text):
        return unreadable(site, file, "the file is nested too deep, or a tag of it is too long, to be parsed")
    page = read_page(text)
    own = site.address(file)
    base = Base(own, encoding)
    if page.base is not None:
        with suppress(BadAddressError, OtherSchemeError):  # a browser goes on as if the element were not there
            base = Base(resolve(page.base, own, base.encoding), encoding)
    writer = _Writer(site, file, text, base)
    reading = writer.reading(page.links, [(f"{own.page}{part}", part) for part in page.parts])
    refresh = writer.address(page.refresh) if page.refresh is not None else None
    return reading._replace(ids=page.ids, refresh=refresh, shell=page.shell)


def _read_list(site: Site, file: str, text: str) -> Reading:
    own = site.address(file)
    try:
        if file.endswith(SEARCH_INDEXES):
            above = own.path.rpartition("/")[0]
            root = above.rpartition("/")[0] + "/" if above.endswith("/search") else above + "/"
            return _Writer(site, file, text, Base(own._replace(path=root))).reading(search_locations(text))
        return _Writer(site, file, text, Base(own)).reading(sitemap_urls(text) if is_sitemap(text) else [])
    except BadListError as error:
        return _problem(site, file, broken(str(error)))


class _Writer:
    """Resolves what one file says and finds the line of each use."""

    def __init__(self, site: Site, file: str, text: str, base: Base) -> None:
        self._file = file
        self._text = text
        self._base = base
        self._origin = site.root.origin + "/"
        self._root = site.root.page
        self._judged: dict[str, Judgement] = {}
        self._place = 0
        self._line = 1
        self._counted = 0
        self._misses = 0

    def reading(self, raws: list[str], parts: list[tuple[str, str]] | None = None) -> Reading:
        """Resolve what was found in the order of the text, then what it says of its own parts."""
        links = [(self.address(raw), self._line_of(raw)) for raw in raws]
        self._place, self._line, self._counted = 0, 1, 0
        links += [(address, self._line_of(raw)) for address, raw in parts or []]
        return Reading(self._file, links, self._judged)

    def address(self, raw: str) -> str:
        """Resolve one address; what cannot be one is kept as it is written, with its judgement."""
        try:
            address = self._base.join(raw)
        except BadAddressError as error:
            address = " ".join(raw.split())
            self._judged[address] = broken(f"not an address: {error}")
        except OtherSchemeError as error:
            address = raw.strip()
            self._judged[address] = unchecked(f"not a web link: {error}")
        else:
            outside = not address.startswith(self._root) and address.startswith(self._origin)
            if outside and _is_relative(raw) and address.partition("#")[0].partition("?")[0] + "/" != self._root:
                self._judged[address] = broken(f"outside the site, whose root is {self._root}")
        return address

    def _line_of(self, raw: str) -> int:
        """Find the value behind the last one found; a value that is written in another way stays on that line."""
        place = self._find(raw)
        if place < 0 and self._misses < _MOST_MISSES:
            self._misses += 1
            place = self._find(html.escape(raw, quote=False))
        if place >= 0:
            self._place = place + len(raw)
            self._line += self._text.count("\n", self._counted, place)
            self._counted = place
        return self._line

    def _find(self, written: str) -> int:
        """Return where a value stands next, preferably within a tag: the text around may name the same address."""
        text = self._text
        end = max(len(text) if len(text) < _SEARCHED_WHOLE else 0, self._place + _WINDOW)
        first = place = text.find(written, self._place, end)
        for _ in range(_MOST_TRIES):
            if place < 0 or text.rfind("<", max(0, place - _LONG_TAG), place) > text.rfind(">", max(0, place - _LONG_TAG), place):
                break
            place = text.find(written, place + 1, end)
        return place if place >= 0 else first


def _is_relative(raw: str) -> bool:
    """Say whether an address leaves its host to the page: only then can it have forgotten the site's root."""
    try:
        resolve(raw, Address("", "", "/"))
    except BadAddressError:
        return not raw.strip().replace("\\", "/").startswith("//")
    return False
