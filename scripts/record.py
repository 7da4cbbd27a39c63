"""Keep what the snippets' scripts print, in files beside them; or compare, and change nothing.

    python scripts/record.py [id ...]             run the CPU scripts, rebuild tables, labs and gathered pages
    python scripts/record.py [id ...] --gpu       run the benches on this machine's GPU, keep their records
    python scripts/record.py [id ...] --cpu       run those that need a CPU and libraries that the tests do not install
    python scripts/record.py [id ...] --restamp   accept sources that changed in nothing that was measured
    python scripts/record.py [id ...] --check     compare all of it with what is kept

A record whose sources changed is measured again, restamped, or carries "outdated": "why, since when".
"""

import argparse
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

import restamp
import tables
from project import ROOT, digest, output_of, read_record, record_files, scripts_of, shown, snippet_folders, sources_of

SLOWEST = 300  # seconds that one CPU script may take; a bench has no limit
CANNOT = 77  # exit status of a script whose tools (a C++ compiler, say) this machine lacks: what is kept of it stays, unchecked


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
    ids = [name for name in options.ids if name not in GATHERED]
    folders = snippet_folders(ids) if ids or not options.ids else []
    extra = [produce for name, produce in GATHERED.items() if not options.ids or name in options.ids]
    if options.gpu or options.cpu:
        failures = [measure(folder, "cpu" if options.cpu else "gpu", only_stale=options.stale) for folder in folders]
        raise SystemExit(any(failures))
    if options.restamp:
        print("\n".join(line for folder in folders for line in restamp.folder(folder)))
    elif options.check:
        produced = chain(printed(folders), tables_of(folders), *(produce() for produce in extra))
        problems = [*differences(produced), *record_problems(folders)]
        print("\n".join(problems) or "everything that the scripts print is what is kept")
        raise SystemExit(bool(problems))
    else:
        for path, text in chain(printed(folders), tables_of(folders), *(produce() for produce in extra)):
            write(path, text)


def differences(produced: Iterable[tuple[Path, str]]) -> Iterator[str]:
    """Name each kept file that is not what its script gives now, with the command that mends it."""
    for path, text in produced:
        if not path.is_file() or path.read_text("utf-8") != text:
            yield f"{shown(path)} is not what its script gives: python scripts/record.py {path.parent.name}, then read the diff"


def record_problems(folders: list[Path]) -> Iterator[str]:
    """Name each record that is not of its sources, that the model contradicts, or that fails its bench's own claims."""
    for folder in folders:
        for bench in scripts_of(folder, "bench"):
            files = record_files(bench)
            if not any(path.name.endswith((".h200.json", ".cpu.json")) for path in files):
                where = "--cpu" if kind_of(bench) == "cpu" else "--gpu, on an H200"
                yield f"{shown(bench)} has no record: python scripts/record.py {folder.name} {where}"
            for path in files:
                yield from problems_of(path, bench)


def problems_of(path: Path, bench: Path) -> Iterator[str]:
    """Name what is wrong with one record; a record with "outdated", or of another GPU, may be of older sources."""
    record, kind = read_record(path), "cpu" if path.name.endswith(".cpu.json") else "gpu"
    missing = {kind, "versions", "recorded", "command", "sources", "rows"} - record.keys()
    if missing:
        yield f"{shown(path)} lacks {', '.join(sorted(missing))}: measure it again with python scripts/record.py {bench.parent.name} --{kind}"
        return
    counters = path.with_suffix(".csv")
    if "csv" in record and (not counters.is_file() or digest(counters) != record["csv"]):
        yield f"{shown(counters)} is not what was read with {path.name}: restore it from git, or measure both again with --{kind}"
    changed = changed_sources(record, bench)
    if changed and "outdated" not in record and path.name.endswith((".h200.json", ".cpu.json")):
        yield (
            f"{shown(path)} was measured with another {', '.join(changed)}: if nothing that was measured changed, python scripts/record.py "
            f'{bench.parent.name} --restamp; else measure again with --{kind}, or add "outdated": "why, since when" to the record'
        )
        return
    if changed:
        return  # what older sources measured is not compared with today's model
    module = load(bench)
    for name, row in record["rows"].items():
        predicted = {key: value for key, value in row.items() if key.startswith("predicted_")}
        inputs = {key: value for key, value in row.items() if not key.startswith(("predicted_", "counted_", "measured_"))}
        now = module.predict(inputs)
        if now != predicted:
            yield f"{shown(path)}: row {name} holds {predicted}, the model says {now}: one of them is wrong"
    try:
        module.check(record["rows"])
    except AssertionError as error:
        yield f"{shown(path)}: {shown(bench)} claims what the rows do not show: {error}"


def changed_sources(record: dict[str, Any], bench: Path) -> list[str]:
    """Name the sources of a bench that are not those that the record was measured with."""
    now = {path.name: digest(path) for path in sources_of(bench)}
    return sorted(name for name in now.keys() | record["sources"].keys() if now.get(name) != record["sources"].get(name))


def kind_of(bench: Path) -> str:
    """Tell what a bench runs on: "gpu", or the "cpu" where it says DEVICE = "cpu"."""
    return getattr(load(bench), "DEVICE", "gpu")


def measure(folder: Path, kind: str, *, only_stale: bool = False) -> int:
    """Run a folder's benches of a kind, write a record for each, named after the GPU or "cpu", and count those that failed."""
    import gpu  # noqa: PLC0415 - needs CuPy to describe a GPU

    benches = [bench for bench in scripts_of(folder, "bench") if kind_of(bench) == kind]
    if not benches:
        return 0
    described: dict[str, Any] = gpu.describe() if kind == "gpu" else {"cpu": platform.machine(), "versions": {}, "conditions": {}}
    device, failed = re.sub(r"nvidia|geforce|\W", "", described.get("gpu", "cpu").lower()), 0
    for bench in benches:
        path = bench.with_name(f"{bench.stem.removeprefix('bench_')}.{device}.json")
        if only_stale and path.is_file() and not changed_sources(read_record(path), bench):
            continue
        gpu.say(f"{shown(bench)} on {described.get('gpu', 'a CPU')} ...")
        try:
            printout = json.loads(run(bench, timeout=None))
        except SystemExit as error:
            gpu.say(str(error))
            failed += 1
            continue
        conditions = described["conditions"] | printout.get("conditions", {})
        versions = described["versions"] | printout.get("versions", {})
        record = described | {"versions": versions, "conditions": conditions} | {
            "recorded": date.today().isoformat(),  # noqa: DTZ011 - the day where the GPU stands
            "command": f"python scripts/record.py {folder.name} --{kind}",
            "sources": {path.name: digest(path) for path in sources_of(bench)},
            "rows": printout["rows"],
        }  # fmt: skip
        if "csv" in printout:  # the counters as they were read, of which the rows keep what the page shows
            write(path.with_suffix(".csv"), printout["csv"])
            record["csv"] = digest(path.with_suffix(".csv"))
        write(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    return failed


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
            # Without tables is a bench whose record a lab reads.
            if (records := [read_record(path) for path in record_files(bench)]) and (module := load(bench)).TABLES:
                yield from tables.files(bench, module, records, [bool(changed_sources(record, bench)) for record in records])


def _labs() -> Iterable[tuple[Path, str]]:
    import labs  # noqa: PLC0415 - needs packages that a GPU machine lacks

    return labs.executed()


def _gathered() -> Iterable[tuple[Path, str]]:
    import pages  # noqa: PLC0415 - as above

    return pages.gathered()


def run(script: Path, timeout: int | None = SLOWEST) -> str:
    """Run one script and give what it prints.

    Raises SystemExit, with what the script wrote to standard error, when it fails or takes longer than the timeout in seconds,
    and CannotRunError when its exit status says that this machine lacks what it needs.
    """
    environment = os.environ | {"PYTHONPATH": str(ROOT / "scripts"), "PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    stderr = subprocess.PIPE if timeout else None
    try:
        done = subprocess.run(
            [sys.executable, script],
            cwd=script.parent,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SystemExit(f"{shown(script)} took more than {timeout} s") from error
    if done.returncode == CANNOT:
        raise CannotRunError((done.stderr or "").strip())
    if done.returncode:
        raise SystemExit(f"{shown(script)} failed:\n{done.stderr or ''}")
    return done.stdout


def _run_if_possible(script: Path) -> str | None:
    try:
        return run(script)
    except CannotRunError as reason:
        if os.environ.get("CI"):
            raise SystemExit(f"{shown(script)} was not run, and continuous integration skips nothing: {reason}") from reason
        print(f"{shown(script)} was not run: {reason}", file=sys.stderr)
        return None


def load(script: Path) -> ModuleType:
    """Import a script of a snippet's folder, with its siblings, under a name of its own."""
    before, siblings = list(sys.path), {path.stem for path in script.parent.glob("*.py")}
    sys.path.insert(0, str(script.parent))
    for name in siblings:
        sys.modules.pop(name, None)
    try:
        spec = importlib.util.spec_from_file_location(f"{script.parent.name}.{script.stem}", script)
        assert spec, script
        assert spec.loader, script
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
        for name in siblings:
            sys.modules.pop(name, None)
    return module


def write(path: Path, text: str) -> None:
    """Write a file if its text is another one, and say so."""
    if not path.is_file() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="\n")
        print(f"wrote {shown(path)}")


GATHERED = {"labs": _labs, "pages": _gathered}


if __name__ == "__main__":
    main()
