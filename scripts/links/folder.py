"""The folder of a built site, walked once, and the file that a host like GitHub Pages serves for a path.

A path that ends in a slash is that folder's `index.html`; without one it is the file, else the page of that name
(`page` for `page.html`), else the folder, reached by a redirect that adds the slash. Case counts.
"""

import os
from functools import cached_property
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes

from links.address import Address
from links.model import OK, Judgement, Verdict, broken

PAGE_ENDINGS = (".html", ".htm")
_LONGEST_NAME = 4096
_PATH_SAFE = "!$&'()*+,;=:@/~[]"


class Served(NamedTuple):
    """What a path leads to: a file of the folder, or none, and how a browser gets there."""

    file: str | None
    judgement: Judgement


class Folder:
    """Every file below a root, by its path from there; nothing outside the root is ever looked at."""

    def __init__(self, root: Path) -> None:
        """Walk the folder.

        Raises OSError where the root itself cannot be read; what cannot be read below it is kept in `odd`.
        """
        self.root = root
        self.files: set[str] = set()
        self.folders: set[str] = {""}
        self.odd: dict[str, str] = {}
        real_root = os.path.realpath(root)
        waiting = [("", False)]
        os.scandir(root).close()
        while waiting:
            path, linked = waiting.pop()
            for entry in self._entries(path):
                name = f"{path}{entry.name}"
                if entry.is_symlink() and (reason := _odd_link(entry, real_root, linked=linked)):
                    self.odd[name] = reason
                elif entry.is_dir():
                    self.folders.add(name + "/")
                    waiting.append((name + "/", linked or entry.is_symlink()))
                elif entry.is_file():
                    self.files.add(name)
                else:
                    self.odd[name] = "not a regular file"

    def serve(self, path: str) -> Served:
        """Say what a host serves for a percent-encoded path below the site's root, given without its first slash."""
        name = unquote_to_bytes(path).decode("utf-8", "surrogateescape")
        if "//" in name or name.startswith("/"):
            merged = "/".join(part for part in name.split("/") if part) + ("/" if name.endswith("/") else "")
            served = self._find(merged)
            return served if served.file is None else Served(served.file, Judgement(Verdict.REDIRECTED, "a doubled slash"))
        return self._find(name)

    def address_path(self, file: str) -> str:
        """Return the path at which a file is read, percent-encoded and without a first slash: a folder's page is the folder."""
        if file == "index.html" or file.endswith("/index.html"):
            file = file.removesuffix("index.html")
        return quote_from_bytes(os.fsencode(file), safe=_PATH_SAFE)

    def _find(self, name: str) -> Served:
        if name == "" or name.endswith("/"):
            if name + "index.html" in self.files:
                return Served(name + "index.html", OK)
            return Served(None, self._missing(name))
        if name in self.files:
            return Served(name, OK)
        if name + ".html" in self.files:
            return Served(name + ".html", OK)
        if name + "/index.html" in self.files:
            return Served(name + "/index.html", Judgement(Verdict.REDIRECTED, "the slash at the end is missing"))
        return Served(None, self._missing(name))

    def _missing(self, name: str) -> Judgement:
        if len(name) > _LONGEST_NAME:
            return broken("no such file")
        parts = name.rstrip("/").split("/")
        for count in range(1, len(parts) + 1 if self.odd else 0):
            if reason := self.odd.get("/".join(parts[:count])):
                return broken(reason)
        plain = name.rstrip("/")
        other = self._by_lower_case.get(plain.lower())
        if plain + "/" in self.folders or not name:
            return broken("the folder has no index.html")
        if other and other.rstrip("/") != plain:
            return broken(f"no such file; in this case it is written {other}")
        if name != plain and (plain in self.files or plain + ".html" in self.files):
            return broken("no such folder; without the slash it is a page")
        return broken("no such file")

    @cached_property
    def _by_lower_case(self) -> dict[str, str]:
        return {name.lower().rstrip("/"): name for name in sorted(self.files | self.folders)}

    def _entries(self, path: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.root / path) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self.odd[path.rstrip("/")] = f"the folder cannot be read: {error.strerror}"
            return []


def _odd_link(entry: os.DirEntry[str], real_root: str, *, linked: bool) -> str:
    """Say what is wrong with a symbolic link; one below another may never end."""
    target = Path(os.path.realpath(entry.path))
    if not target.is_relative_to(real_root):
        return "a symbolic link out of the folder"
    if not os.path.exists(entry.path):  # noqa: PTH110 - a loop is an error to pathlib and false here
        return "a symbolic link to nothing"
    if entry.is_dir() and (linked or Path(os.path.realpath(Path(entry.path).parent)).is_relative_to(target)):
        return "a symbolic link that leads in circles"
    return ""


class Site:
    """A folder and the address under which it is published."""

    def __init__(self, folder: Folder, root: Address) -> None:
        """Take the folder and the address of its root, which ends in a slash."""
        self.folder = folder
        self.root = root
        plain = {80, 443}
        self._own_hosts = {(root.host, port) for port in ({root.port} | plain if root.port in plain else {root.port})} if root.authority else set()

    def address(self, file: str) -> Address:
        """Return the address at which a file of the folder is read."""
        return self.root._replace(path=self.root.path + self.folder.address_path(file))

    def path_of(self, address: Address) -> str | None:
        """Return what follows the site's root in an address of this site's host, nothing for an address elsewhere.

        An address of this host outside the root has no such path and raises LookupError.
        """
        if address.authority and (address.host, address.port) not in self._own_hosts:
            return None
        if not address.authority and self.root.authority:
            return None
        if address.path.startswith(self.root.path):
            return address.path.removeprefix(self.root.path)
        if address.path + "/" == self.root.path:
            return ""
        raise LookupError(address.path)
