"""What a record's numbers and words may be, before anything is computed from them: a forged one says so itself."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from project import MEASURED, digest, record_files
from rules.cards import SLACK, UNKNOWN, Card, device, limits_of
from rules.problem import Problem, at, line_with

FIELDS = {"versions", "recorded", "command", "sources", "rows"}
MORE = {"compute_capability", "conditions", "csv", "outdated", "differs"}
TIME = re.compile(r"_(?:ns|us|ms|s|cycles)$")
RATE = re.compile(r"_([kmgtp])?(b|flop)_s$")
SCALE = {None: 1e-9, "k": 1e-6, "m": 1e-3, "g": 1.0, "t": 1e3, "p": 1e6}
# An error may exceed the whole, and so do the hit rates that Nsight Compute derives from two passes.
SHARE_OF_MORE = re.compile(r"error|_hit_")
# What is counted in these cannot be negative; a value that a kernel computed can.
UNIT = re.compile(
    r"_(?:ns|us|ms|s|cycles?|bytes|[kmg]b|percent|pct|ratio|mhz|share|slowdown|sectors|wavefronts|conflicts|requests|instructions|launches|warps|lanes)(?:_|$)"
)
ON_CHIP = re.compile(r"\b(?:L1|L2|shared|resident|cache)(?:\b|_)|_l2_|l2_resident", re.IGNORECASE)
# A value stands in a table as code, where only these could end the cell or the code; a name stands in the text around it.
VALUE = re.compile(r"[^`|\\\x00-\x1f\x7f]*")
INNER = re.compile(r"[^`\\\x00-\x1f\x7f]*")  # of a list or an object, which no table shows
PLAIN = re.compile(r"(?:[^<`|\\\x00-\x1f\x7f]|<(?![A-Za-z/!?]))*")
PROSE = re.compile(r"[^<>\[\]{}|\\!\x00-\x1f\x7f]*")
SAME = 5  # so many measured numbers, all equal to another card's, are that card's


def static_problems(path: Path, bench: Path) -> Iterator[Problem]:
    """Check one record by itself; a record with such a problem is compared with nothing."""
    text = Text(path, path.read_text("utf-8"), f"measure again with python3 scripts/record.py {bench.parent.name} --{kind_of(path)}")
    found = list(_shape(text))
    yield from found
    if not found:
        record = parsed(text.raw)
        yield from _card(text, record)
        yield from _day(text, record)
        yield from _words(text, bench, record)
        yield from _numbers(text, record)
        yield from _own(text, bench, record)


@dataclass(frozen=True)
class Text:
    """A record as it is written, to find a word's line in it, and what to do when it cannot be mended."""

    path: Path
    raw: str
    again: str

    def of(self, word: str, rule: str, told: str) -> Problem:
        """Make a problem of the line that holds a field."""
        return at(self.path, line_with(self.raw, rf'"{re.escape(word)}"'), rule, told)

    def in_row(self, name: str, key: str, rule: str, told: str) -> Problem:
        """Make a problem of a row's line, or of a key's in it."""
        start = self.raw.find(f'"{name}"', max(0, self.raw.find('"rows"')))
        found = self.raw.find(f'"{key}"', max(0, start)) if key else start
        return at(self.path, self.raw.count("\n", 0, max(found, 0)) + 1, rule, told)


def _shape(text: Text) -> Iterator[Problem]:
    try:
        record = parsed(text.raw)
    except ValueError as error:
        yield at(text.path, getattr(error, "lineno", 1), "R1", f"{getattr(error, 'msg', error)}: {text.again}")
        return
    kind = kind_of(text.path)
    if missing := {kind, *FIELDS} - record.keys():
        yield at(text.path, 1, "R1", f"It lacks {', '.join(sorted(missing))}: {text.again}")
        return
    for unknown in sorted(record.keys() - FIELDS - MORE - {kind}):
        yield text.of(unknown, "R1", f"{unknown} is no field of a record: delete it")
    shapes = {"versions": dict, "sources": dict, "rows": dict, kind: str, "recorded": str, "command": str}
    for key, shape in shapes.items():
        if not isinstance(record[key], shape):
            yield text.of(key, "R1", f"{key} is a {type(record[key]).__name__}: {text.again}")
    rows = record["rows"]
    if not rows or not isinstance(rows, dict) or not all(isinstance(row, dict) and row for row in rows.values()):
        yield text.of("rows", "R1", f"rows holds no rows, or one that is none: {text.again}")


def _numbers(text: Text, record: dict[str, Any]) -> Iterator[Problem]:
    card = limits_of(record.get("gpu", ""))
    known = f"{record.get('gpu')} can do" if card is not UNKNOWN else "any card does (see scripts/rules/cards.py)"
    for name, row in record["rows"].items():
        for key, value in row.items():
            for told in _number(key, value):
                yield text.in_row(name, key, "R5", f"Row {name}: {key} is {value}{told}: {text.again}")
            for told in _rate(key, value, row, card):
                yield text.in_row(name, key, "R6", f"Row {name}: {key} is {value}, above {told} that {known}: {text.again}")


def kind_of(path: Path) -> str:
    """Tell from a record's name what it was measured on: "gpu", or "cpu"."""
    return "cpu" if path.name.endswith(".cpu.json") else "gpu"


def parsed(raw: str) -> dict[str, Any]:
    """Read a record strictly.

    Raises ValueError for what is no JSON object, a key that stands twice, and numbers that are none.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if twice := {key for key, _ in pairs if sum(key == other for other, _ in pairs) > 1}:
            raise ValueError(f"{min(twice)} stands twice in it")
        return dict(pairs)

    def constant(name: str) -> float:
        raise ValueError(f"it holds {name}, which is no number of JSON")

    record = json.loads(raw, object_pairs_hook=once, parse_constant=constant)
    if not isinstance(record, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - as above
    return record


def _card(text: Text, record: dict[str, Any]) -> Iterator[Problem]:
    if "gpu" not in record:
        return
    parts = text.path.name.split(".")
    if parts[-2] != device(record["gpu"]):
        yield text.of("gpu", "R7", f"{record['gpu']} belongs into {parts[0]}.{device(record['gpu'])}.json: rename it, or {text.again}")
    capability, card = record.get("compute_capability"), limits_of(record["gpu"])
    if not re.fullmatch(r"\d{1,2}\.\d", str(capability)):
        yield text.of("compute_capability" if capability else "gpu", "R7", f"compute_capability is {capability}: a GPU has one, such as 9.0")
    elif card is not UNKNOWN and card.capability != capability:
        yield text.of("compute_capability", "R7", f"compute_capability is {capability}; {record['gpu']} has {card.capability}")


def _day(text: Text, record: dict[str, Any]) -> Iterator[Problem]:
    try:
        day = date.fromisoformat(record["recorded"])
    except ValueError:
        yield text.of("recorded", "R8", f"recorded is {record['recorded']}: a day such as {datetime.now(UTC).date()}")
        return
    # The day is that of the place where the GPU stands, which may be ahead.
    if day > datetime.now(UTC).date() + timedelta(days=1):
        yield text.of("recorded", "R8", f"recorded is {day}, a day to come: measure again")


def _words(text: Text, bench: Path, record: dict[str, Any]) -> Iterator[Problem]:
    kind = kind_of(text.path)
    if not re.fullmatch(rf"python3? scripts/record\.py {re.escape(bench.parent.name)} --{kind}", record["command"]):
        yield text.of("command", "R9", f"command is {record['command'][:60]}: write python3 scripts/record.py {bench.parent.name} --{kind}")
    strings = [(kind, record[kind]), *record["versions"].items(), *record["sources"].items(), ("csv", record.get("csv", ""))]
    cells = [(key, value) for row in record["rows"].values() for key, value in row.items()]
    values = [(key, value) for key, value in cells if isinstance(value, str)]
    inner = [(key, text) for key, value in cells if not isinstance(value, str) for text in _strings(value)]
    strings += [("rows", name) for name in record["rows"]] + [(key, key) for row in record["rows"].values() for key in row]
    prose = [("outdated", record.get("outdated", "")), ("differs", record.get("differs", ""))]
    for key, value in record.get("conditions", {}).items():
        prose += [(key, text) for text in (key, *_strings(value))]
    for allowed, texts in ((PLAIN, strings), (VALUE, values), (INNER, inner), (PROSE, prose)):
        for key, value in texts:
            if not isinstance(value, str) or not allowed.fullmatch(value):
                yield text.of(str(key), "R9", f"{str(key)[:40]} holds {str(value)[:60]}: letters, digits and plain punctuation only")


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for key, inner in value.items() for text in (key, *_strings(inner))]
    if isinstance(value, list):
        return [text for inner in value for text in _strings(inner)]
    return [value] if isinstance(value, str) else []


def _number(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _number("", inner)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if not math.isfinite(value):
        yield ", no finite number"
    elif key.startswith(MEASURED):
        if value < 0 and UNIT.search(key):
            yield ", below zero"
        elif value == 0 and key.startswith("measured_") and (TIME.search(key) or RATE.search(key)):
            yield ", but everything takes time"
        elif value > 101 and key.startswith("counted_") and re.search(r"_(?:percent|pct)$", key) and not SHARE_OF_MORE.search(key):  # noqa: PLR2004 - a whole, rounded
            yield " %, more than the whole"


def _rate(key: str, value: Any, row: dict[str, Any], card: Card) -> Iterator[str]:
    found = RATE.search(key)
    if not found or not key.startswith(MEASURED) or isinstance(value, bool) or not isinstance(value, int | float):
        return
    size = value * SCALE[found[1]]
    if found[2] == "flop":
        if size > card.tflop_s * 1e3 * SLACK:
            yield f"the {card.tflop_s:,.0f} TFLOP/s"
        return
    inputs = [text for name, inner in row.items() if not name.startswith((*MEASURED, "predicted_")) for text in (name, *_strings(inner))]
    on_chip = any(ON_CHIP.search(text) for text in inputs)
    most = card.on_chip_gb_s * 1.2 if on_chip else card.bandwidth_gb_s * SLACK
    if size > most:
        yield f"the {most:,.0f} GB/s{' of its caches' if on_chip else ' of its memory'}"


def _own(text: Text, bench: Path, record: dict[str, Any]) -> Iterator[Problem]:
    """Compare with the other cards' records: a row has the same keys, and its measurements are others."""
    ours = {(name, key): value for name, row in record["rows"].items() for key, value in row.items() if _fraction(key, value)}
    for other in record_files(bench):
        if other == text.path:
            continue
        try:
            theirs = parsed(other.read_text("utf-8"))["rows"]
        except (ValueError, KeyError):
            continue  # that record says so itself
        for name in record["rows"].keys() & theirs.keys() if other.name.endswith(".h200.json") else ():
            if missing := sorted(theirs[name].keys() - record["rows"][name].keys()):
                yield text.in_row(
                    name,
                    "",
                    "R10",
                    f"Row {name} lacks {', '.join(missing)}, which {other.name} has: measure all of it, or leave the row out",
                )
        if text.path.name.endswith(".h200.json") or digest(text.path) == digest(other):
            continue
        same = [key for key, value in ours.items() if theirs.get(key[0], {}).get(key[1]) == value]
        if len(ours) >= SAME and len(same) == len(ours):
            told = f"Its {len(ours)} measured numbers are those of {other.name}: measure on the card that it names"
            yield text.of("rows", "R10", told)


def _fraction(key: str, value: Any) -> bool:
    return key.startswith("measured_") and isinstance(value, float) and value != int(value)
