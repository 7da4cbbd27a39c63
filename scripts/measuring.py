"""Measure on this machine's GPU: each bench that the card can run leaves a record named after the card; the others are named with the reason."""

import json
import platform
import re
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import benches
import gpu
import nvrtc
from project import CANNOT, digest, fixed_environment, read_record, scripts_of, shown, sources_of, write
from rules.agreement import record_problems
from rules.cards import device

REFERENCES = {"h200", "cpu"}  # what the pages' claims are of


def measure(folders: list[Path], kind: str, *, only_stale: bool = False) -> int:
    """Run these folders' benches of a kind, "gpu" or "cpu", write their records, say what was left out, and count what failed."""
    wanted = [bench for folder in folders for bench in scripts_of(folder, "bench") if benches.ask(bench, [])["device"] == kind]
    if not wanted:
        return 0
    described = _described(kind)
    named = device(described.get("gpu", "cpu"))
    skipped, failed, written = [], [], []
    for bench in wanted:
        path = bench.with_name(f"{bench.stem.removeprefix('bench_')}.{named}.json")
        if only_stale and path.is_file() and not benches.changed_sources(read_record(path), bench):
            continue
        if kind == "gpu" and (reason := missing_architecture(bench, described["compute_capability"])):
            skipped.append(f"{shown(bench)}: {reason}")
            continue
        gpu.say(f"{shown(bench)} on {described.get('gpu', 'a CPU')} ...")
        status, printed = run_bench(bench, tolerant=named not in REFERENCES)
        if status == CANNOT:
            skipped.append(f"{shown(bench)}: the reason stands above")
        elif status:
            failed.append(f"{shown(bench)}: exit status {status}; the reason stands above")
        else:
            _keep(path, bench, described, json.loads(printed), kind)
            written.append(path)
            failed += [str(problem) for problem in record_problems(path, bench)]
    for title, lines in (("skipped", skipped), ("failed", failed), ("written", [shown(path) for path in written])):
        for line in lines:
            gpu.say(f"{title}: {line}")
    if written:
        gpu.say("next: python3 scripts/record.py (the tables gain this card's column), read git diff, and open a pull request")
    return len(failed)


def _described(kind: str) -> dict[str, Any]:
    if kind == "cpu":
        return {"cpu": platform.machine(), "versions": {}, "conditions": {}}
    described = gpu.describe()
    gpu.say(f"{described['gpu']} (compute capability {described['compute_capability']}), {described['versions']}")
    if described["versions"]["ncu"] == "none":
        gpu.say("ncu is not installed: benches that read counters are skipped. It comes with the CUDA toolkit and with Nsight Compute")
    return described


def missing_architecture(bench: Path, capability: str) -> str:
    """Say which of a bench's kernels this card cannot run, or nothing; a bench is skipped whole, so that its tables stay comparable."""
    here = int(capability.replace(".", ""))
    for source in sources_of(bench):
        if source.suffix == ".cu" and not gpu.fitting(text := source.read_text("utf-8"), here):
            return f"{source.name} is for {' '.join(nvrtc.architectures(text))}, and this card is sm_{here}"
    return ""


def run_bench(bench: Path, *, tolerant: bool) -> tuple[int, str]:
    """Run a bench and give its exit status and what it printed; tolerant, it keeps rows that contradict its claims.

    It runs as the person who measures: it needs the GPU, ncu and their environment, and takes as long as it takes.
    """
    command = [sys.executable, *([str(Path(__file__).with_name("run_bench.py"))] if tolerant else []), str(bench)]
    done = subprocess.run(command, cwd=bench.parent, env=fixed_environment(), stdout=subprocess.PIPE, text=True, encoding="utf-8", check=False)
    return done.returncode, done.stdout


def _keep(path: Path, bench: Path, described: dict[str, Any], printout: dict[str, Any], kind: str) -> None:
    versions = described["versions"] | printout.get("versions", {})
    conditions = described["conditions"] | printout.get("conditions", {})
    record = described | {"versions": versions, "conditions": conditions} | {
        "recorded": date.today().isoformat(),  # noqa: DTZ011 - the day where the GPU stands
        "command": f"python scripts/record.py {bench.parent.name} --{kind}",
        "sources": {source.name: digest(source) for source in sources_of(bench)},
        "rows": printout["rows"],
    }  # fmt: skip
    differs = benches.ask(bench, [record])["records"][0]["differs"]
    if differs and path.name.split(".")[-2] not in REFERENCES:
        record["differs"] = re.sub(r"[<>\[\]{}|\\!\s]+", " ", differs).strip()[:300]
    if "csv" in printout:  # the counters as they were read, of which the rows keep what the page shows
        write(path.with_suffix(".csv"), printout["csv"])
        record["csv"] = digest(path.with_suffix(".csv"))
    write(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
