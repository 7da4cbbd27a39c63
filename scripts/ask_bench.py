"""Ask a bench, behind the fence, what it has to say without a GPU: its tables, its predictions for given rows, whether its claims hold.

python scripts/ask_bench.py bench_stride.py < records    the records as a JSON list of their rows; the answer is JSON too
"""

import contextlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

NOT_INPUTS = ("predicted_", "counted_", "measured_")


def main() -> None:
    """Read the rows of each record, and print what the bench says of them."""
    with contextlib.redirect_stdout(sys.stderr):
        module = load(Path(sys.argv[1]).resolve())
        answer = {
            "tables": module.TABLES,
            "device": getattr(module, "DEVICE", "gpu"),
            "records": [_of(module, rows) for rows in json.load(sys.stdin)],
        }
    print(json.dumps(answer))


def load(script: Path) -> ModuleType:
    """Import a script of a snippet's folder with its siblings."""
    sys.path.insert(0, str(script.parent))
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec, script
    assert spec.loader, script
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _of(module: ModuleType, rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    predicted = {}
    for name, row in rows.items():
        try:
            predicted[name] = module.predict({key: value for key, value in row.items() if not key.startswith(NOT_INPUTS)})
        except Exception as error:  # noqa: BLE001 - a forged row may do anything to a model
            predicted[name] = {"error": f"{type(error).__name__}: {error}"}
    try:
        module.check(rows)
    except Exception as error:  # noqa: BLE001 - as above
        return {"predicted": predicted, "differs": f"{'' if isinstance(error, AssertionError) else type(error).__name__ + ': '}{error}"}
    return {"predicted": predicted, "differs": None}


if __name__ == "__main__":
    main()
