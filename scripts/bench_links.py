"""Measures the link checker beside others on the same cases: recall and precision of what is broken, and seconds.

    python scripts/bench_links.py FOLDER [--lychee PATH] [--linkchecker PATH] [--linkinator PATH] [--pages 5000]

A checker that is not given is left out. FOLDER keeps the generated sites. All servers listen on loopback only.
"""

import argparse
import csv
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from html import unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "links"))

from misbehaving import Server, make_endpoints  # noqa: E402 - the cases stand beside the tests that use them
from pages_host import serving_pages  # noqa: E402
from static_cases import ROOT, expected, write_site  # noqa: E402

from links.address import parse, resolve  # noqa: E402

LINKS_A_PAGE = 120
LONGEST = 900
_LYCHEE = ("--no-progress", "--include-fragments=full", "--index-files", "index.html")
_LINKCHECKER = ("-o", "csv", "--no-status", "--no-warnings", "-r", "3")
_LINKINATOR = ("--format", "json", "--check-fragments")


class Outcome(NamedTuple):
    """One run of one checker: wall and processor seconds, and the addresses that it calls broken."""

    wall: float
    user: float
    broken: set[str]


Programs = dict[str, Path]
Reader = Callable[[str], Iterable[str]]


def main() -> None:
    """Run every checker that is given on the static cases, the misbehaving server and the large site."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    for name in ("lychee", "linkchecker", "linkinator"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--pages", type=int, default=5000)
    options = parser.parse_args()
    folder = options.folder.resolve()
    given = {name: getattr(options, name).absolute() for name in ("lychee", "linkchecker", "linkinator") if getattr(options, name)}
    print("static cases")
    measure_static(folder / "static", given)
    print("misbehaving server")
    measure_server(folder / "server", given)
    print(f"{options.pages} pages, {options.pages * LINKS_A_PAGE} links, offline")
    measure_large(folder / "large", options.pages, given)


def measure_static(folder: Path, given: Programs) -> None:
    """Compare on the site of known verdicts, offline where a checker can, from a host of it where not."""
    site = folder / ROOT.strip("/")
    with serving_pages(site) as origin:
        write_site(site, origin)
        right = {link for links in expected(origin).values() for link, verdict in links.items() if verdict == "broken"}
        known = {link for links in expected(origin).values() for link in links}
        print(score("check_links", own(site, folder, "--site-url", origin + ROOT), right, known))
        if path := given.get("lychee"):
            places: list[str | Path] = ["--root-dir", folder, "--base-url", f"{origin}{ROOT}", "--remap", f"{origin}/ file://{folder}/"]
            command: list[str | Path] = [path, *_LYCHEE, "--format", "json", "--offline", "--fallback-extensions", "html", *places, site]
            print(
                score("lychee", run(command, lambda text: (link.replace(f"file://{folder}", origin) for link in lychee_broken(text))), right, known)
            )
        # The others follow links, so the front page gets one to every case.
        front = site / "index.html"
        front.write_text(front.read_text() + "".join(f'<a href="{name}">x</a>' for name in expected(origin) if name.endswith(".html")))
        if path := given.get("linkchecker"):
            print(score("LinkChecker", run([path, *_LINKCHECKER, f"{origin}{ROOT}"], linkchecker_broken), right, known))
        if path := given.get("linkinator"):
            crawl: list[str | Path] = [path, f"{origin}{ROOT}", *_LINKINATOR, "--recurse", "--check-css", "--skip", "^https?://(?!127)"]
            print(score("linkinator", run(crawl, linkinator_broken), right, known))


def measure_server(folder: Path, given: Programs) -> None:
    """Compare on the misbehaving endpoints; each checker gets a server of its own, as some endpoints change with each request."""
    folder.mkdir(parents=True, exist_ok=True)
    endpoints = make_endpoints()
    runners: dict[str, Callable[[str, str], Outcome]] = {
        "check_links": lambda place, _: own(folder / "site", folder, "--online", "--allow-private", place)
    }
    if "lychee" in given:
        runners["lychee"] = lambda _, page: run([given["lychee"], *_LYCHEE, "--format", "json", page], lychee_broken)
    if "linkchecker" in given:
        runners["LinkChecker"] = lambda _, page: run([given["linkchecker"], *_LINKCHECKER, "--check-extern", page], linkchecker_broken)
    if "linkinator" in given:
        runners["linkinator"] = lambda _, page: run([given["linkinator"], page, *_LINKINATOR], linkinator_broken)
    for name, runner in runners.items():
        with Server(endpoints) as server:
            base = f"http://{server.place}"
            links = {str(resolve(unescape(link), parse(base + "/"))): verdict for endpoint in endpoints for link, verdict in endpoint.links.items()}
            page = folder / "site" / "index.html"
            page.parent.mkdir(exist_ok=True)
            written = "\n".join(f'<a href="{base}{link}">x</a>' for endpoint in endpoints for link in endpoint.links)
            page.write_text(f'<!doctype html><meta charset="utf-8"><title>x</title>{written}', encoding="utf-8")
            print(score(name, runner(server.place, str(page)), {link for link, verdict in links.items() if verdict == "broken"}, set(links)))


def measure_large(folder: Path, pages: int, given: Programs) -> None:
    """Compare the time for a large site, twice each, as other work may run on the machine."""
    if not folder.exists():
        write_large(folder, pages)
    for _ in range(2):
        print(f"  check_links  {timing(own(folder, folder.parent))}; with --json as here")
        print(f"  check_links  {timing(run([sys.executable, HERE / 'check_links.py', folder], lambda _: ()))}; text alone")
        if path := given.get("lychee"):
            print(f"  lychee       {timing(run([path, *_LYCHEE, '--offline', folder], lambda _: ()))}")
    print(f"  most memory of any process: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10} MiB")


def write_large(folder: Path, pages: int) -> None:
    """Write a site whose pages link to each other's sections; the same bytes each time."""
    choose = random.Random(7)  # noqa: S311 - nothing is secret here
    for number in range(pages):
        place = folder / f"topic-{number // 50}" / f"page-{number}"
        place.mkdir(parents=True)
        parts = [f'<!doctype html><meta charset="utf-8"><title>Page {number}</title><link rel="stylesheet" href="../../site.css">']
        parts += [f'<li><a href="../../topic-{topic}/page-{topic * 50}/">topic {topic}</a></li>\n' for topic in range(min(20, pages // 50 or 1))]
        for section in range(12):
            parts.append(f'<h2 id="s-{section}">Section {section}<a href="#s-{section}">¶</a></h2>\n<p>')
            for _ in range(7):
                other = choose.randrange(pages)
                target = f"../../topic-{other // 50}/page-{other}/#s-{choose.randrange(12)}"
                parts.append(f'Some words on <code>banks</code>, see <a href="{target}">page {other}</a>.\n')
        parts += [f'<img src="../../picture-{picture}.png" alt="">' for picture in range(3)]
        (place / "index.html").write_text("".join(parts), encoding="utf-8")
    (folder / "site.css").write_text("body {}")
    for picture in range(3):
        (folder / f"picture-{picture}.png").write_bytes(b"")
    (folder / "index.html").write_text('<a href="topic-0/page-0/">x</a>')


def own(site: Path, folder: Path, *arguments: str) -> Outcome:
    """Run the project's checker."""
    report = folder / "report.json"
    outcome = run([sys.executable, HERE / "check_links.py", site, "--json", report, *arguments], lambda _: ())
    links = json.loads(report.read_text("utf-8"))["links"]
    return outcome._replace(broken={unquote(link["url"]) for link in links if link["verdict"] == "broken"})


def run(command: Sequence[str | Path], read: Reader) -> Outcome:
    """Run one checker to its end, and read what it calls broken."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
    wall = time.monotonic() - began
    return Outcome(wall, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, {unquote(link) for link in read(done.stdout)})


def lychee_broken(text: str) -> list[str]:
    """Read lychee's JSON."""
    data = json.loads(text)
    return [entry["url"] for name in ("error_map", "timeout_map") for entries in data.get(name, {}).values() for entry in entries]


def linkchecker_broken(text: str) -> list[str]:
    """Read LinkChecker's table."""
    rows = csv.DictReader((line for line in text.splitlines() if not line.startswith("#")), delimiter=";")
    return [row["url"] for row in rows if row.get("valid") == "False"]


def linkinator_broken(text: str) -> list[str]:
    """Read linkinator's JSON."""
    return [link["url"] for link in json.loads(text[text.index("{") :])["links"] if link["state"] == "BROKEN"]


def score(name: str, outcome: Outcome, right: set[str], known: set[str]) -> str:
    """Return one line: of the broken ones how many were found, and of those called broken how many are."""
    right, known = {unquote(link) for link in right}, {unquote(link) for link in known}
    found = outcome.broken & known
    hits = len(found & right)
    return f"  {name:12} recall {hits / len(right):.3f}  precision {hits / max(len(found), 1):.3f}  {timing(outcome)}"


def timing(outcome: Outcome) -> str:
    """Return the seconds of a run."""
    return f"{outcome.wall:.1f} s wall, {outcome.user:.1f} s user"


if __name__ == "__main__":
    main()
