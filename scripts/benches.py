"""What a bench says without a GPU: its tables, its predictions, its claims; and which of its sources a record was measured with."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import fenced
from project import ROOT, digest, shown, sources_of

SECONDS = 120  # that a bench may take to predict and check all rows of its records


def ask(bench: Path, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Give a bench's tables, and for each record what the model predicts for its rows and whether the bench's claims hold.

    Without records, give what came of trying it: the rows that it predicts, and what failed; None for a bench without inputs().
    The bench runs behind the fence. Raises SystemExit, with its own words, when it fails.
    """
    state = tuple(digest(path) for path in sorted(bench.parent.glob("*.py")))
    answer: dict[str, Any] = json.loads(_ask(bench, state, json.dumps([record["rows"] for record in records])))
    return answer


def changed_sources(record: dict[str, Any], bench: Path) -> list[str]:
    """Name the sources of a bench that are not those that the record was measured with."""
    now = {path.name: digest(path) for path in sources_of(bench)}
    return sorted(name for name in now.keys() | record["sources"].keys() if now.get(name) != record["sources"].get(name))


@lru_cache(maxsize=128)
def _ask(bench: Path, _state: tuple[str, ...], rows: str) -> str:
    try:
        status, printed, told = fenced.run(ROOT / "scripts" / "ask_bench.py", str(bench), seconds=SECONDS, given=rows, where=bench.parent)
    except fenced.TooLongError:
        raise SystemExit(f"{shown(bench)} took more than {SECONDS} s to predict and check its records: make its model faster") from None
    if status:
        raise SystemExit(f"{shown(bench)} could not be asked for its tables and predictions, exit status {status}:\n{told[-1500:]}")
    return printed
