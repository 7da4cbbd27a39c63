"""Keep what the snippets' scripts print, in files beside them; or compare, and change nothing.

    python3 scripts/record.py [id ...]             run the CPU scripts, rebuild tables, labs and gathered pages
    python3 scripts/record.py [id ...] --gpu       run the benches on this machine's GPU, keep their records
    python3 scripts/record.py [id ...] --cpu       run those that need a CPU and libraries that the tests do not install
    python3 scripts/record.py [id ...] --restamp   accept sources that changed in nothing that was measured
    python3 scripts/record.py [id ...] --check     compare all of it with what is kept

A record whose sources changed is measured again, restamped, or carries "outdated": "why, since when".
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import benches
import fenced
import measuring
import restamp
import tables
from project import CANNOT, hand_over, output_of, read_record, record_files, scripts_of, shown, snippet_folders, write
from rules.agreement import folder_records
from rules.problem import Problem, at

SLOWEST = 300  # seconds that one CPU script may take; a bench on a GPU has no limit


class CannotRunError(Exception):
    """A script needs something that this machine lacks; the message is the script's own."""


def main() -> None:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", metavar="id", help="a question's folder, labs or pages; everything when none is named")
    action = parser.add_mutually_exclusive_group()
    for name, text in (("gpu", "run the benches"), ("cpu", "run those for a CPU"), ("restamp", "accept harmless changes"), ("check", "compare only")):
        action.add_argument(f"--{name}", action="store_true", help=text)
    parser.add_argument("--stale", action="store_true", help="with --gpu or --cpu: only the benches without a record of their present sources")
    options = parser.parse_args()
    if not options.cpu:  # a bench for a CPU has libraries of its own, and so its own Python
        hand_over("cupy" if options.gpu else "mkdocs")
    ids = [name for name in options.ids if name not in GATHERED]
    folders = snippet_folders(ids) if ids or not options.ids else []
    extra = [produce for name, produce in GATHERED.items() if not options.ids or name in options.ids]
    if options.gpu or options.cpu:
        raise SystemExit(bool(measuring.measure(folders, "cpu" if options.cpu else "gpu", only_stale=options.stale)))
    if options.restamp:
        print("\n".join(line for folder in folders for line in restamp.folder(folder)))
    elif options.check:
        produced = chain(printed(folders), tables_of(folders), *(produce() for produce in extra))
        problems = [*differences(produced), *(problem for folder in folders for problem in folder_records(folder))]
        print("\n".join(map(str, problems)) or "everything that the scripts print is what is kept")
        raise SystemExit(bool(problems))
    else:
        for path, text in chain(printed(folders), tables_of(folders), *(produce() for produce in extra)):
            write(path, text)


def differences(produced: Iterable[tuple[Path, str]]) -> Iterator[Problem]:
    """Name each kept file that is not what its script gives now, with the command that mends it."""
    for path, text in produced:
        if not path.is_file() or path.read_text("utf-8") != text:
            line = _first_difference(path.read_text("utf-8") if path.is_file() else "", text)
            yield at(path, line, "S8", f"It is not what its script gives: python3 scripts/record.py {path.parent.name}, then read the diff")


def _first_difference(kept: str, given: str) -> int:
    pairs = zip(kept.split("\n"), given.split("\n"), strict=False)
    return next((number for number, (ours, theirs) in enumerate(pairs, 1) if ours != theirs), 1)


def printed(folders: list[Path]) -> Iterator[tuple[Path, str]]:
    """Run the CPU scripts of these folders, two at a time, and give each output file with the text that belongs in it."""
    scripts = [script for folder in folders for script in scripts_of(folder, "model", "asm", "draw")]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for script, text in zip(scripts, pool.map(_run_if_possible, scripts), strict=True):
            if text is not None:
                yield output_of(script), text


def tables_of(folders: list[Path]) -> Iterator[tuple[Path, str]]:
    """Give the tables of these folders' records, a file a bench and language."""
    for folder in folders:
        for bench in scripts_of(folder, "bench"):
            records = [read_record(path) for path in record_files(bench)]
            outdated = [bool(benches.changed_sources(record, bench)) for record in records]
            said = benches.ask(bench, records)
            if said["tables"]:  # without tables is a bench whose record a lab reads
                yield from tables.files(bench, said, records, outdated)


def _labs() -> Iterable[tuple[Path, str]]:
    try:
        import labs  # noqa: PLC0415 - needs packages that a GPU machine lacks
    except ImportError as error:
        raise SystemExit(f"labs need {error.name}: python3 scripts/dev.py check scripts installs it; or name the questions that you mean") from error
    return labs.executed()


def _gathered() -> Iterable[tuple[Path, str]]:
    import pages  # noqa: PLC0415 - as above

    return pages.gathered()


def run(script: Path) -> str:
    """Run one CPU script behind the fence and give what it prints.

    Raises SystemExit, with what the script wrote to standard error, when it fails or takes longer than SLOWEST seconds,
    and CannotRunError when its exit status says that this machine lacks what it needs.
    """
    try:
        status, text, told = fenced.run(script, seconds=SLOWEST)
    except fenced.TooLongError:
        raise SystemExit(f"{shown(script)} took more than {SLOWEST} s") from None
    if status == CANNOT:  # a C++ compiler is missing, say: what is kept of it stays, unchecked
        raise CannotRunError(told.strip())
    if status:
        raise SystemExit(f"{shown(script)} failed with exit status {status}:\n{told}")
    return text


def _run_if_possible(script: Path) -> str | None:
    try:
        return run(script)
    except CannotRunError as reason:
        if os.environ.get("CI"):
            raise SystemExit(f"{shown(script)} was not run, and continuous integration skips nothing: {reason}") from reason
        print(f"{shown(script)} was not run: {reason}", file=sys.stderr)
        return None


GATHERED = {"labs": _labs, "pages": _gathered}


if __name__ == "__main__":
    main()
