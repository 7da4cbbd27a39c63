"""Whether a record is of its sources and agrees with the model: the rules for which the bench itself is asked."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import benches
import changes
import restamp
from project import digest, has_record, read_record, record_files, scripts_of
from rules.problem import Problem, at, line_with
from rules.records import kind_of, static_problems


def folder_records(folder: Path) -> Iterator[Problem]:
    """Check the records of a question's folder."""
    for bench in scripts_of(folder, "bench"):
        if not has_record(bench):
            yield from _unmeasured(bench)
        for path in record_files(bench):
            yield from record_problems(path, bench)


def _unmeasured(bench: Path) -> Iterator[Problem]:
    """Say that a bench waits for its record, and what came of trying it until then."""
    said = benches.ask(bench, [])
    where, trial = "--cpu" if said["device"] == "cpu" else "--gpu, on an H200", said["trial"]
    told = f"it predicts {len(trial['rows'])} rows in {trial['seconds']:.1f} s" if trial and not trial["wrong"] else ""
    if told and trial["doubt"]:
        told += f"; where the counters are as predicted, check refuses them, which has to be meant: {trial['doubt'][:200]}"
    yield at(bench, 1, "R11", f"It has none yet, and the page says so{told and '; '}{told}: python3 scripts/record.py {bench.parent.name} {where}")
    if not trial:
        line = line_with(bench.read_text("utf-8"), r"^def predict")
        yield at(bench, line, "S9", "It lacks inputs: write inputs(), which gives the inputs of each row by its name, and use it in main")
    elif trial["wrong"]:
        line = line_with(bench.read_text("utf-8"), rf"^def {re.split(r'[^a-z]', trial['wrong'])[0]}\b")
        yield at(bench, line, "S9", f"It does not run: {trial['wrong'][:300]}; mend it before a GPU runs it")


def record_problems(path: Path, bench: Path) -> Iterator[Problem]:
    """Name what is wrong with one record; one with "outdated", or of another GPU, may be of an earlier version of the sources."""
    found = list(static_problems(path, bench))
    yield from found
    if found:
        return
    record, again = read_record(path), f"measure again with python3 scripts/record.py {bench.parent.name} --{kind_of(path)}"
    line = line_with(path.read_text("utf-8"), r'"sources"')
    counters = path.with_suffix(".csv")
    if "csv" in record and (not counters.is_file() or digest(counters) != record["csv"]):
        yield at(counters if counters.is_file() else path, 1, "S3", f"It is not what was read with {path.name}: restore it from git, or {again}")
    changed = benches.changed_sources(record, bench)
    if changed and "outdated" not in record and path.name.endswith((".h200.json", ".cpu.json")):
        told = (
            f"It was measured with another {', '.join(changed)}: if nothing that was measured changed, python3 scripts/record.py {bench.parent.name}"
        )
        yield at(path, line, "R2", f'{told} --restamp; else {again}, or add "outdated": "why, since when" to the record')
        return
    if changed and changes.is_new(path):
        yield at(path, line, "R2", f"It was measured with another {', '.join(changed)}, and a new record has to be of the present sources: {again}")
    elif changed:
        yield from _earlier(path, bench, record, changed)
    else:
        yield from _agrees(path, bench, record)


def _earlier(path: Path, bench: Path, record: dict[str, Any], changed: list[str]) -> Iterator[Problem]:
    """Take the sources that were measured from git, and ask that bench."""
    line = line_with(path.read_text("utf-8"), r'"sources"')
    with tempfile.TemporaryDirectory() as place:
        for name, wanted in record["sources"].items():
            source = bench.with_name(Path(name).name)
            text = restamp.old_text(source, wanted) if name in changed else source.read_text("utf-8")
            if text is None and "outdated" in record:
                return  # it says itself that it cannot be compared
            if text is None:
                way = "the clone is shallow: git fetch --unshallow, then again" if changes.is_shallow() else "measure with files that are in git"
                yield at(path, line, "R2", f"git holds no {name} with the digest that was measured: {way}")
                return
            (Path(place) / source.name).write_text(text, "utf-8", newline="\n")
        if (Path(place) / bench.name).is_file():
            yield from _agrees(path, Path(place) / bench.name, record)


def _agrees(path: Path, bench: Path, record: dict[str, Any]) -> Iterator[Problem]:
    raw = path.read_text("utf-8")
    [answer] = benches.ask(bench, [record])["records"]
    for name, row in record["rows"].items():
        predicted = {key: value for key, value in row.items() if key.startswith("predicted_")}
        if (now := answer["predicted"][name]) != predicted:
            line = line_with(raw[raw.find('"rows"') :], rf'"{name}"') + raw[: raw.find('"rows"')].count("\n")
            yield at(path, line, "R3", f"Row {name} holds {predicted}, the model says {now}: one of them is wrong")
    if answer["differs"] and "differs" not in record:
        told = f"{bench.name} claims what the rows do not show: {answer['differs'][:300]}"
        how = "" if path.name.endswith(".h200.json") else '; if this card is another in this, record.py --gpu writes "differs" into the record'
        yield at(path, line_with(raw, r'"rows"'), "R4", f"{told}{how}")
    elif "differs" in record and (not answer["differs"] or path.name.endswith(".h200.json")):
        yield at(path, line_with(raw, r'"differs"'), "R4", "It says that it differs, but its rows show what the bench claims: delete differs")
