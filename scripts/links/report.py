"""What was found, for a terminal, for programs, for a page and for the lines of a pull request."""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from links.model import Link, Verdict

_SHOWN_PLACES = 5
_SHOWN_BROKEN = 1000
_SHOWN_HINTS = 20
_SHOWN_UNCHECKED = 3
_LONGEST_SHOWN = 100
_ORDER = (Verdict.BROKEN, Verdict.UNREACHABLE, Verdict.SUSPECT, Verdict.REDIRECTED, Verdict.BLOCKED)
_MEANING = {
    Verdict.BROKEN: "fails the run",
    Verdict.UNREACHABLE: "no answer this time; broken when it stays so",
    Verdict.SUSPECT: "answered, but looks like a page that is gone: please look",
    Verdict.REDIRECTED: "works, and has moved for good",
    Verdict.BLOCKED: "refuses programs; a reader may well get in",
}


def text_report(links: Sequence[Link]) -> str:
    """Return the report for a terminal: the broken ones in full, hints in short, one line that counts all."""
    parts = []
    for verdict in _ORDER:
        found = [link for link in links if link.judgement.verdict == verdict]
        if not found:
            continue
        shown = found[: _SHOWN_BROKEN if verdict == Verdict.BROKEN else _SHOWN_HINTS]
        parts.append(f"{verdict} ({len(found)}): {_MEANING[verdict]}")
        parts += [_text_entry(link) for link in shown]
        if len(found) > len(shown):
            parts.append(f"  and {len(found) - len(shown)} more: --json names them all")
        parts.append("")
    reasons = Counter(link.judgement.reason for link in links if link.judgement.verdict == Verdict.UNCHECKED)
    if reasons:
        parts.append(f"{Verdict.UNCHECKED} ({reasons.total()}):")
        for reason, count in sorted(reasons.items()):
            some = [_short(link.url) for link in islice((link for link in links if link.judgement == (Verdict.UNCHECKED, reason)), _SHOWN_UNCHECKED)]
            parts.append(f"  {count} {reason}: {', '.join(some)}" + (", …" if count > len(some) else ""))
        parts.append("")
    parts.append(summary(links))
    return "\n".join(line if line.isprintable() else _printable(line) for line in "\n".join(parts).split("\n"))


def json_report(links: Sequence[Link]) -> str:
    """Return every link with its verdict as JSON, one link a line."""
    lines = [
        json.dumps(
            {"url": link.url, "verdict": str(link.judgement.verdict), "reason": link.judgement.reason, "sources": [str(use) for use in link.sources]},
            ensure_ascii=False,
        )
        .encode("utf-8", "backslashreplace")
        .decode()
        for link in links
    ]
    return '{"links": [' + ("\n" + ",\n".join(lines) + "\n" if lines else "") + "]}\n"


def markdown_report(links: Sequence[Link]) -> str:
    """Return the report as a Markdown page, for a summary of a workflow or the text of an issue."""
    parts = ["# Links", "", summary(links)]
    for verdict in _ORDER:
        found = [link for link in links if link.judgement.verdict == verdict]
        if found:
            parts += [
                "",
                f"## {verdict.capitalize()} ({len(found)})",
                "",
                f"{_MEANING[verdict].capitalize()}.",
                "",
                "| address | why | where |",
                "|---|---|---|",
            ]
            parts += [f"| {_cell(link.url)} | {_cell(link.judgement.reason)} | {_cell(_places(link))} |" for link in found]
    return "\n".join(parts) + "\n"


def annotations(links: Sequence[Link]) -> list[str]:
    """Return GitHub's commands that put each broken link, and each suspect one as a warning, at its first line."""
    levels = {Verdict.BROKEN: "error", Verdict.UNREACHABLE: "warning", Verdict.SUSPECT: "warning"}
    found = []
    for link in links:
        level = levels.get(link.judgement.verdict)
        if level and link.sources:
            place = f"file={_property(link.sources[0].file)},line={link.sources[0].line}"
            message = f"{link.url}: {link.judgement.reason}" + (f" ({len(link.sources)} places)" if len(link.sources) > 1 else "")
            found.append(f"::{level} {place},title={link.judgement.verdict} link::{_data(message)}")
    return found


def summary(links: Sequence[Link]) -> str:
    """Return one line with the number of links of each verdict."""
    counts = Counter(link.judgement.verdict for link in links)
    return f"{len(links)} addresses: " + (", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict]) or "none")


def _short(url: str) -> str:
    return url if len(url) <= _LONGEST_SHOWN else url[:_LONGEST_SHOWN] + "…"


def _printable(line: str) -> str:
    """Keep what a page holds from steering the terminal."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)


def _text_entry(link: Link) -> str:
    return f"  {link.url}\n      {link.judgement.reason}\n" + "\n".join(f"      {place}" for place in _places(link).split(", "))


def _places(link: Link) -> str:
    rest = len(link.sources) - _SHOWN_PLACES
    return ", ".join([str(use) for use in link.sources[:_SHOWN_PLACES]] + ([f"and {rest} more"] if rest > 0 else []))


def _cell(text: str) -> str:
    safe = text.replace("\\", "\\\\").replace("|", "\\|").replace("`", "'").replace("<", "&lt;")
    return " ".join(safe.split())


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
