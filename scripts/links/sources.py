"""From a page to the Markdown that it was built from: the lines on which an address is written."""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote

from links.address import BadAddressError, Base, OtherSchemeError
from links.folder import Site
from links.model import ConfigurationError, Use

_ENDINGS = (".md", ".markdown", ".ipynb")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_WRITTEN = re.compile(
    r"""\]\(\s*(?:<(?P<pointed>[^<>]*)>|(?P<inline>(?:[^\s()\\]|\\.|\([^\s()]*\))+))
    | ^\s{0,3}\[[^\]]+\]:\s*<?(?P<reference>[^\s<>]+)
    | (?:href|src|poster|data|srcset|content)\s*=\s*\\?["']?(?:[^"'>]*?\burl=)?(?P<attribute>[^"'<>\\\s]+)
    | (?P<bare>https?://[^\s<>"'`\\\]]+)""",
    re.VERBOSE,
)


class SourceFolder(NamedTuple):
    """A folder of Markdown, and where below the site's root its pages are."""

    folder: Path
    prefix: str


def parse_source(text: str) -> SourceFolder:
    """Read `DIR:PREFIX`, where the prefix is a path below the site's root and may be empty.

    Raises ConfigurationError where there is no such folder.
    """
    name, _, prefix = text.rpartition(":") if ":" in text else (text, "", "")
    if not Path(name).is_dir():
        raise ConfigurationError(f"--sources {text}: there is no folder {name or '(empty)'}")
    prefix = prefix.strip("/")
    return SourceFolder(Path(name), prefix + "/" if prefix else "")


class Sources:
    """Turns uses in a site's files into uses in its sources, where those are known."""

    def __init__(self, site: Site, folders: list[SourceFolder]) -> None:
        """Take the site and its source folders; the longest prefix that fits a page wins."""
        self._site = site
        self._root = (site.folder.root / "x").as_posix()[:-1]
        self._folders = sorted(folders, key=lambda source: -len(source.prefix))
        self._written = lru_cache(maxsize=None)(self._read)

    def places(self, address: str, uses: list[tuple[str, int]]) -> tuple[Use, ...]:
        """Return where an address is written: in the Markdown, else in the built file, each place once."""
        if not self._folders:
            return tuple([Use(self._root + file, line) for file, line in sorted(set(uses))])
        places: set[Use] = set()
        for file, line in uses:
            if lines := self._lines(file, address):
                places.update(lines)
            else:
                places.add(Use(self._root + file, line))
        return tuple(sorted(places))

    def _lines(self, file: str, address: str) -> list[Use]:
        for source in self._folders:
            if file.startswith(source.prefix):
                for path in self._candidates(source, file.removeprefix(source.prefix)):
                    if path.is_file():
                        return [Use(path.as_posix(), line) for line in self._written(source, path, file).get(address, [])]
        return []

    def _candidates(self, source: SourceFolder, page: str) -> Iterator[Path]:
        for ending in _ENDINGS:
            if page == "index.html" or page.endswith("/index.html"):
                stem = page.removesuffix("index.html")
                yield from (source.folder / f"{name}{ending}" for name in (stem.rstrip("/") or "index", f"{stem}index", f"{stem}README"))
            elif page.endswith(".html"):
                yield source.folder / (page.removesuffix(".html") + ending)

    def _read(self, source: SourceFolder, path: Path, file: str) -> dict[str, list[int]]:
        """Return the lines of each address in one Markdown file, as it is in the built page."""
        page = Base(self._site.address(file))
        beside = PurePosixPath(path.relative_to(source.folder).as_posix()).parent
        lines: dict[str, list[int]] = {}
        fence = ""
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return {}
        for number, line in enumerate(text.splitlines(), 1):
            if found := _FENCE.match(line):
                fence = "" if fence and found[1].startswith(fence) else fence or found[1]
            if fence:
                continue
            for match in _WRITTEN.finditer(line):
                written = next(group for group in match.groups() if group is not None).rstrip(".,;") if match["bare"] else match[match.lastgroup or 0]
                for address in self._meant(written, page, source, beside):
                    known = lines.setdefault(address, [])
                    if number not in known:
                        known.append(number)
        return lines

    def _meant(self, written: str, page: Base, source: SourceFolder, beside: PurePosixPath) -> set[str]:
        """Return what an address may be in the page: as it stands, and as MkDocs turns a path of Markdown into one."""
        meant = set()
        path, hash_mark, fragment = written.partition("#")
        at = source.prefix + ("" if beside == PurePosixPath() else beside.as_posix() + "/")
        root = Base(self._site.root._replace(path=self._site.root.path + at))
        attempts = [(page, written), (root, written), (page, written.rstrip(")"))]
        if path.endswith(_ENDINGS):
            stem = unquote(path).rpartition(".")[0]
            name = stem.rpartition("/")[2]
            stem = stem.removesuffix(name) if name in {"index", "README"} else stem
            attempts += [(root, f"{stem}{end}{hash_mark}{fragment}") for end in ((".html", "/") if stem and not stem.endswith("/") else ("", "./"))]
        for base, text in attempts:
            try:
                meant.add(base.join(text))
            except (BadAddressError, OtherSchemeError):
                meant.add(written)
        return meant
