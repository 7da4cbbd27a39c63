"""Reads all files of a site on every core, and survives a file that its parser does not survive.

Results travel as one table of addresses a batch and arrays of numbers, so that hundreds of thousands of links stay small.
"""

import multiprocessing
import os
import signal
from array import array
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import NamedTuple

from links.folder import Site
from links.model import Judgement
from links.reading import READ_ENDINGS, Reading, read_file, unreadable

_BATCHES_A_WORKER = 8
_CPU_SECONDS = 20.0
_CPU_SECONDS_A_MIB = 0.5


class PageFacts(NamedTuple):
    """What links to a page need to know of it."""

    ids: frozenset[str]
    refresh: str | None
    shell: bool


@dataclass
class Scan:
    """Everything that a site's files say: each address once, its uses as numbers, the facts of each page."""

    addresses: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    used_address: "array[int]" = field(default_factory=lambda: array("I"))
    used_in: "array[int]" = field(default_factory=lambda: array("I"))
    used_at: "array[int]" = field(default_factory=lambda: array("I"))
    judged: dict[str, Judgement] = field(default_factory=dict)
    pages: dict[str, PageFacts] = field(default_factory=dict)

    def add(self, reading: Reading, numbers: dict[str, int]) -> None:
        """Take in one file's reading; `numbers` gives each address seen so far its place."""
        self.used_in.extend([len(self.files)] * len(reading.links))
        self.files.append(reading.file)
        for address, line in reading.links:
            self.used_address.append(numbers.setdefault(address, len(numbers)))
            self.used_at.append(line)
        self.judged.update(reading.judged)
        if reading.ids is not None:
            self.pages[reading.file] = PageFacts(reading.ids, reading.refresh, reading.shell)

    def merge(self, other: "Scan", numbers: dict[str, int]) -> None:
        """Take in what another process read."""
        here = array("I", [numbers.setdefault(address, len(numbers)) for address in other.addresses])
        self.used_address.extend(map(here.__getitem__, other.used_address))
        before = len(self.files)
        self.used_in.extend([before + file for file in other.used_in])
        self.used_at.extend(other.used_at)
        self.files += other.files
        self.judged.update(other.judged)
        self.pages.update(other.pages)

    def uses(self, wanted: set[str]) -> dict[str, list[tuple[str, int]]]:
        """Return every place, as file and line, that uses one of these addresses."""
        found: dict[str, list[tuple[str, int]]] = {address: [] for address in self.addresses if address in wanted}
        places = [found.get(address) for address in self.addresses]
        files = self.files
        for number, file, line in zip(self.used_address, self.used_in, self.used_at, strict=True):
            if (place := places[number]) is not None:
                place.append((files[file], line))
        return found


def scan_site(site: Site, workers: int | None = None) -> Scan:
    """Read every page, style sheet, drawing, sitemap and search index of the site.

    Nothing is raised for what a file holds: one that brings its reader down or takes it too long becomes a finding.
    """
    files = sorted(file for file in site.folder.files if file.lower().endswith(READ_ENDINGS))
    workers = workers or _cores()
    scan = Scan()
    numbers: dict[str, int] = {}
    for part in _read_all(site, _batches(site, files, workers * _BATCHES_A_WORKER), workers):
        scan.merge(part, numbers)
    for name, reason in sorted(site.folder.odd.items()):
        if reason.startswith("the folder cannot"):
            scan.add(unreadable(site, name, reason), numbers)
    scan.addresses = list(numbers)
    return scan


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _batches(site: Site, files: list[str], count: int) -> list[list[str]]:
    """Cut the list into runs of about the same number of bytes."""
    sizes = [(site.folder.root / file).stat().st_size + 2000 for file in files]
    share = sum(sizes) / count
    batches: list[list[str]] = [[]]
    filled = 0
    for file, size in zip(files, sizes, strict=True):
        if batches[-1] and filled + size > share:
            batches.append([])
            filled = 0
        batches[-1].append(file)
        filled += size
    return [batch for batch in batches if batch]


def _read_all(site: Site, batches: list[list[str]], workers: int) -> Iterator[Scan]:
    """Yield the batches' scans in their order, whichever worker reads them."""
    with _pool(site, min(workers, len(batches) or 1)) as pool:
        futures: list[Future[Scan]] = [pool.submit(_read_batch, batch) for batch in batches]
        try:
            for future, batch in zip(futures, batches, strict=True):
                try:
                    yield future.result()
                except BrokenProcessPool:
                    yield from _read_apart(site, batch)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _read_apart(site: Site, batch: list[str]) -> Iterator[Scan]:
    """Read a batch whose worker died in ever smaller parts, until the file that kills it stands alone."""
    try:
        with _pool(site, 1) as pool:
            yield pool.submit(_read_batch, batch).result()
    except BrokenProcessPool:
        if len(batch) > 1:
            middle = len(batch) // 2
            yield from _read_apart(site, batch[:middle])
            yield from _read_apart(site, batch[middle:])
            return
        scan, numbers = Scan(), dict[str, int]()
        scan.add(unreadable(site, batch[0], "the file could not be parsed: it is nested too deep or takes too long"), numbers)
        scan.addresses = list(numbers)
        yield scan


def _pool(site: Site, workers: int) -> ProcessPoolExecutor:
    """Start workers by fork where there is one: nothing is imported or sent twice, and no socket is opened."""
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    return ProcessPoolExecutor(workers, multiprocessing.get_context(method), initializer=_start_worker, initargs=(site,))


_worker_sites: list[Site] = []


def _start_worker(site: Site) -> None:
    """Keep the site at hand, and leave Ctrl+C to the parent."""
    _worker_sites[:] = [site]
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _read_batch(files: list[str]) -> Scan:
    scan, numbers = Scan(), dict[str, int]()
    site = _worker_sites[0]
    for file in files:
        _limit_time(site, file)
        scan.add(read_file(site, file), numbers)
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, 0)
    scan.addresses = list(numbers)
    return scan


def _limit_time(site: Site, file: str) -> None:
    """Let the system end this worker when a file takes it too much processor time: nothing in Python could."""
    if hasattr(signal, "setitimer"):
        size = (site.folder.root / file).stat().st_size
        signal.setitimer(signal.ITIMER_PROF, _CPU_SECONDS + _CPU_SECONDS_A_MIB * (size >> 20))
