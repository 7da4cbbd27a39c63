"""Checks the links of a built site: its own pages and anchors from the folder and, with --online, the rest of the web."""

import gc
import os
import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from links.folder import PAGE_ENDINGS, Folder, Site
from links.model import ConfigurationError, Judgement, Link, Verdict, unchecked
from links.offline import judge_site
from links.options import Options, parse_options
from links.report import annotations, json_report, markdown_report, text_report
from links.repository import Repository, RepositoryJudge
from links.rules import Rules, find_rules, read_rules
from links.scan import Scan, scan_site
from links.sources import Sources

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, report, and return the exit status: 0 clean, 1 broken, 2 usage or configuration, 3 a fault of its own."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _run(parse_options(arguments))
    except ConfigurationError as error:
        print(f"check_links: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("check_links: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last resort: a fault of the checker must not read as a broken link
        place = traceback.extract_tb(error.__traceback__)[-1]
        print(
            f"check_links: a fault of its own, please report it: {type(error).__name__}: {error} ({place.filename}:{place.lineno})", file=sys.stderr
        )
        return 3


def _run(options: Options) -> int:
    rules = _rules(options)
    try:
        site = Site(Folder(options.site), options.root)
    except OSError as error:
        raise ConfigurationError(f"{options.site} cannot be read: {error.strerror}") from error
    if not any(file.lower().endswith(PAGE_ENDINGS) for file in site.folder.files):
        raise ConfigurationError(f"{options.site} has no page: is it the folder of the built site?")
    scan = scan_site(site)
    own = RepositoryJudge(rules.repository, [source.folder for source in options.sources])
    judged, others = judge_site(site, scan, own.judge)
    interrupted = False
    if options.online:
        from links.online import ask_all  # noqa: PLC0415 - offline runs neither need nor load the network's modules

        gc.enable()
        answers, interrupted = ask_all(others, options, rules)
        judged.update(answers)
    else:
        judged.update(dict.fromkeys(others, unchecked("not asked: the run is offline")))
    links = _links(options, site, scan, judged, rules)
    _report(options, links)
    if interrupted:
        return INTERRUPTED
    return int(any(link.judgement.verdict == Verdict.BROKEN for link in links))


def _rules(options: Options) -> Rules:
    """Read the rules of the folder where the command runs, or of this project; REPO_URL, as the build knows it, names the repository."""
    project = Path(__file__).resolve().parent.parent
    path = find_rules(Path.cwd(), project)
    rules = read_rules(path, datetime.now(UTC).date() if options.online else None) if path else Rules()
    if rules.repository is None and (address := os.environ.get("REPO_URL", "").rstrip("/")):
        return rules._replace(repository=Repository(address, "main", project))
    return rules


def _links(options: Options, site: Site, scan: Scan, judged: dict[str, Judgement], rules: Rules) -> list[Link]:
    """Join verdicts and places; the places of what is well are only looked up for the report that names them."""
    silent = set() if options.json else {Verdict.OK, Verdict.UNCHECKED}
    uses = scan.uses({address for address, judgement in judged.items() if judgement.verdict not in silent})
    sources = Sources(site, options.sources)
    links = [Link(address, judgement, sources.places(address, uses.get(address, []))) for address, judgement in judged.items()]
    return sorted([*links, *rules.findings])


def _report(options: Options, links: list[Link]) -> None:
    for path, text in ((options.json, json_report), (options.markdown, markdown_report)):
        if path is not None:
            try:
                path.write_text(text(links), encoding="utf-8")
            except OSError as error:
                raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from error
    if os.environ.get("GITHUB_ACTIONS") == "true":
        print("\n".join(annotations(links)))
    print(text_report(links))


if __name__ == "__main__":
    gc.disable()  # hundreds of thousands of small tuples and no cycles: looking for some would take a third of the time
    sys.exit(main())
