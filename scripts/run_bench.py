"""Run a bench on a card that its claims were not made on: what it measures is kept, what it claims is only told, what it lacks is named.

    python scripts/run_bench.py snippets/bank-conflicts/bench_stride.py

The page's claims are those of the H200. Where another card contradicts them, that is a result and no failure: record.py
keeps the rows, and the record says that they differ.
"""

import sys
from pathlib import Path
from typing import Any

import ask_bench
import gpu


def main() -> None:
    """Replace the bench's check by one that tells, then run it as itself."""
    bench = Path(sys.argv[1]).resolve()
    module = ask_bench.load(bench)
    claims = module.check

    def check(rows: dict[str, dict[str, Any]]) -> None:
        try:
            claims(rows)
        except (AssertionError, LookupError) as error:
            gpu.say(f"{bench.name}: this card differs from what the page claims: {error}")

    module.check = check  # type: ignore[attr-defined]  # a module's own name
    sys.argv = [str(bench), *sys.argv[2:]]  # gpu.counters starts the bench again by it
    try:
        module.main()
    except ModuleNotFoundError as error:  # PyTorch, for one
        raise gpu.CannotMeasureError(f"it needs {error.name}: .venv/bin/python -m pip install {error.name}") from error


if __name__ == "__main__":
    main()
