"""Judges what a site's folder can answer: its own addresses and their anchors. No socket is opened."""

from collections.abc import Callable

from links.address import Address, parse, resolve
from links.anchors import names_anchor
from links.folder import Served, Site
from links.model import Judgement, Verdict, broken, unchecked
from links.scan import Scan

_ANCHORED = (".html", ".htm", ".svg")
_MOST_REFRESHES = 5


class FolderJudge:
    """Answers for addresses of the site from the files that were read."""

    def __init__(self, site: Site, scan: Scan) -> None:
        """Take the site and what its files say."""
        self._site = site
        self._scan = scan
        self._root = site.root.page
        self._served: dict[str, Served | None] = {}

    def judge(self, address: str) -> Judgement | None:
        """Judge an address of the site; nothing for an address elsewhere, which only its own host can answer for."""
        if found := self._scan.judged.get(address):
            return found
        page, _, fragment = address.partition("#")
        if page not in self._served:
            self._served[page] = self._serve(page)
        served = self._served[page]
        if served is None:
            return None
        if not fragment or served.file is None:
            return served.judgement
        return self._judge_anchor(served.file, fragment, served.judgement)

    def _serve(self, page: str) -> Served | None:
        if page.startswith(self._root):
            return self._site.folder.serve(page[len(self._root) :].partition("?")[0])
        address = self._parse(page)
        try:
            path = self._site.path_of(address)
        except LookupError:
            return None
        if path is None:
            return None
        served = self._site.folder.serve(path)
        if address.path + "/" == self._site.root.path and served.judgement.verdict == Verdict.OK:
            return Served(served.file, Judgement(Verdict.REDIRECTED, "the slash at the end is missing"))
        return served

    def _parse(self, page: str) -> Address:
        return resolve(page, self._site.root) if page.startswith("/") else parse(page)

    def _judge_anchor(self, file: str, fragment: str, reached: Judgement, refreshes: int = 0) -> Judgement:
        if not file.lower().endswith(_ANCHORED):
            return reached
        facts = self._scan.pages.get(file)
        if facts is None:
            return unchecked("the page could not be read for its anchors")
        if names_anchor(fragment, facts.ids) or (file.endswith(".svg") and fragment.startswith("svgView(")):
            return reached
        if facts.shell:
            return unchecked("the page is written by a script")
        if facts.refresh and refreshes < _MOST_REFRESHES:
            return self._judge_behind(facts.refresh, fragment, refreshes + 1)
        return broken(f"no anchor #{fragment} in {file}")

    def _judge_behind(self, refresh: str, fragment: str, refreshes: int) -> Judgement:
        """Look for the anchor where the page sends its reader, if that is a page of the site."""
        page, _, own = refresh.partition("#")
        served = None if refresh in self._scan.judged else self._serve(page)
        if served is None or served.file is None:
            return unchecked("the page sends its reader on, where its anchors are not known")
        if own:
            return Judgement(Verdict.REDIRECTED, f"the page sends its reader on to {refresh}")
        return self._judge_anchor(served.file, fragment, Judgement(Verdict.REDIRECTED, f"the page sends its reader on to {page}"), refreshes)


def judge_site(site: Site, scan: Scan, elsewhere: Callable[[str], Judgement | None] | None = None) -> tuple[dict[str, Judgement], list[str]]:
    """Judge every address of a scan that the folder can answer for; return the others beside, in order.

    `elsewhere` may answer for addresses of other hosts first, for example for links into the site's own repository.
    """
    judge = FolderJudge(site, scan)
    judged: dict[str, Judgement] = {}
    others: list[str] = []
    for address in scan.addresses:
        found = judge.judge(address)
        if found is None and elsewhere is not None:
            found = elsewhere(address)
        if found is None:
            others.append(address)
        else:
            judged[address] = found
    return judged, sorted(others)
