"""What earlier runs learned: a text file with one address a line, sorted, so that git shows what changed.

Good answers are kept for two weeks less some days that differ by address, so that not all of them end on one day.
A failure is never answered from here; only the day on which it began is kept, to tell a dead host from a bad week.
"""

import json
import os
import re
import zlib
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from links.model import ConfigurationError, Judgement, Verdict

_HEAD = '{"links of check_links": 1, "addresses": {'
_ENTRY = re.compile(r"\s*(\"(?:[^\"\\]|\\.)*\")\s*:\s*(\{.*\})\s*,?\s*")
_KEPT_DAYS, _JITTER_DAYS = 14, 4
_SECOND_WEEK_DAYS = 6
_FORGOTTEN_DAYS = 60
_GOOD = {Verdict.OK, Verdict.REDIRECTED}


class State:
    """The known state of addresses, by their page without a fragment."""

    def __init__(self, path: Path | None, today: date) -> None:
        """Read the file, if there is one; lines that a cut left unreadable are dropped and counted in `lost`.

        Raises ConfigurationError for a file that is no state at all: it is not ours to write over.
        """
        self._path = path
        self._today = today
        self._entries: dict[str, dict[str, Any]] = {}
        self.lost = 0
        if path is not None and path.exists():
            self._read(path)

    def known(self, page: str, fragments: set[str]) -> Judgement | None:
        """Return the good judgement that is still fresh and holds for all these fragments."""
        entry = self._entries.get(page)
        if entry is None or entry["verdict"] not in _GOOD or not fragments <= set(entry.get("anchors", [])):
            return None
        age = (self._today - date.fromisoformat(entry["checked"])).days
        jitter = zlib.crc32(page.encode("utf-8", "replace")) % (_JITTER_DAYS + 1)
        return Judgement(Verdict(entry["verdict"]), entry.get("reason", "")) if 0 <= age < _KEPT_DAYS - jitter else None

    def learn(self, page: str, judgement: Judgement, anchors: set[str]) -> Judgement:
        """Keep what a run found out; return the judgement, which an outage in its second week makes broken."""
        today = self._today.isoformat()
        if judgement.verdict in _GOOD:
            self._entries[page] = {"verdict": str(judgement.verdict), "checked": today}
            if judgement.reason:
                self._entries[page]["reason"] = judgement.reason
            if anchors:
                self._entries[page]["anchors"] = sorted(anchors)
            return judgement
        if judgement.verdict != Verdict.UNREACHABLE:
            self._entries.pop(page, None)
            return judgement
        before = self._entries.get(page, {})
        since = before["since"] if before.get("verdict") == Verdict.UNREACHABLE else today
        self._entries[page] = {"verdict": str(Verdict.UNREACHABLE), "checked": today, "reason": judgement.reason, "since": since}
        if (self._today - date.fromisoformat(since)).days >= _SECOND_WEEK_DAYS:
            return Judgement(Verdict.BROKEN, f"no good answer since {since}: {judgement.reason}")
        return judgement

    def save(self) -> None:
        """Write the file as a whole or not at all; addresses that no run has asked for long are forgotten.

        Raises OSError where the file cannot be written.
        """
        if self._path is None:
            return
        oldest = (self._today - timedelta(days=_FORGOTTEN_DAYS)).isoformat()
        lines = [
            f"{json.dumps(page, ensure_ascii=False)}: {json.dumps(entry, ensure_ascii=False, sort_keys=True)}"
            for page, entry in sorted(self._entries.items())
            if entry["checked"] >= oldest
        ]
        new = self._path.with_name(self._path.name + ".new")
        new.write_text(_HEAD + "\n" + ",\n".join(lines) + "\n}}\n", encoding="utf-8", errors="backslashreplace")
        os.replace(new, self._path)  # noqa: PTH105 - the one call that is atomic on every system

    def _read(self, path: Path) -> None:
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
        if lines and lines[0].strip() != _HEAD:
            raise ConfigurationError(f"{path} is not a state file of this checker: it is left as it is")
        for line in lines[1:]:
            if line.strip() in {"", "}}"}:
                continue
            found = _ENTRY.fullmatch(line)
            entry = _entry(found[2]) if found else None
            if found and entry:
                self._entries[json.loads(found[1])] = entry
            else:
                self.lost += 1
        if not lines or lines[-1].strip() != "}}":
            self.lost += not self.lost


def _entry(text: str) -> dict[str, Any] | None:
    """Return one address's entry if it has the shape that this file gives it."""
    try:
        entry = json.loads(text)
        date.fromisoformat(entry["checked"])
        date.fromisoformat(entry.get("since", entry["checked"]))
        fit = entry["verdict"] in {*_GOOD, Verdict.UNREACHABLE} and all(isinstance(anchor, str) for anchor in entry.get("anchors", []))
        if entry["verdict"] == Verdict.UNREACHABLE and "since" not in entry:
            return None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return entry if fit and isinstance(entry.get("reason", ""), str) else None
