"""Ask a bench, behind the fence, what it has to say without a GPU: its tables, its predictions for given rows, whether its claims hold.

python scripts/ask_bench.py bench_stride.py < records    the records as a JSON list of their rows; the answer is JSON too

Without a record a bench that holds inputs() is tried: it predicts its rows, and its claims are asked of what it predicts.
"""

import contextlib
import importlib.util
import json
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from project import MEASURED

NOT_INPUTS = ("predicted_", *MEASURED)


def main() -> None:
    """Read the rows of each record, and print what the bench says of them."""
    with contextlib.redirect_stdout(sys.stderr):
        module = load(Path(sys.argv[1]).resolve())
        records = json.load(sys.stdin)
        answer = {
            "tables": module.TABLES,
            "device": getattr(module, "DEVICE", "gpu"),
            "records": [_of(module, rows) for rows in records],
            "trial": None if records or not hasattr(module, "inputs") else tried(module),
        }
    print(json.dumps(answer))


class NotMeasuredError(Exception):
    """A claim needs a measured value as a plain number: it cannot be tried without one."""


class NotMeasured:
    """A value that nobody has measured yet: whatever is computed of it is not measured either, and whatever is claimed of it holds."""

    def __repr__(self) -> str:
        """Say so where a claim prints it."""
        return "not measured"

    def _same(self, *_others: object) -> "NotMeasured":
        return self

    def _holds(self, _other: object = None) -> bool:
        return True

    def _cannot(self, *_words: object) -> Any:
        raise NotMeasuredError

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _same
    __mod__ = __rmod__ = __pow__ = __rpow__ = __abs__ = __neg__ = __round__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __bool__ = _holds
    __float__ = __int__ = __index__ = __len__ = __iter__ = __getitem__ = __hash__ = _cannot


class Row(dict[str, Any]):
    """A row of inputs and predictions before anything is measured."""

    as_predicted = False  # whether its counters are what was predicted of them

    def __missing__(self, key: str) -> Any:
        """Stand in for what a GPU would give."""
        if not key.startswith(MEASURED):
            raise KeyError(key)
        predicted = f"predicted_{key.removeprefix('counted_')}"
        return self[predicted] if self.as_predicted and key.startswith("counted_") and predicted in self else NotMeasured()

    def get(self, key: str, default: Any = None) -> Any:
        """Stand in here too."""
        return self[key] if key in self or key.startswith(MEASURED) else default


class AsPredicted(Row):
    """A row whose counters read what was predicted of them."""

    as_predicted = True


def tried(module: ModuleType) -> dict[str, Any]:
    """Let a bench predict its rows, then ask its claims of them.

    "wrong" says what cannot run: a prediction, a name in a claim. "doubt" says what the claims refuse where the counters are as
    predicted, which may be meant.
    """
    began, rows, where = time.monotonic(), {}, "inputs"
    wrong = doubt = ""
    try:
        for name, given in module.inputs().items():
            where = f"predict, row {name}"
            rows[name] = given | module.predict(dict(given))
    except Exception as error:  # noqa: BLE001 - a bench that is being written may do anything
        wrong = f"{where}: {_said(error)}"
    else:
        failed = _refusal(module, {name: Row(row) for name, row in rows.items()})
        wrong = f"check: {_said(failed)}" if failed and not isinstance(failed, AssertionError) else ""
        doubt = _said(_refusal(module, {name: AsPredicted(row) for name, row in rows.items()})) if not wrong else ""
    return {"rows": rows, "wrong": wrong, "doubt": doubt, "seconds": time.monotonic() - began}


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
            predicted[name] = {"error": _said(error)}
    return {"predicted": predicted, "differs": _said(_refusal(module, rows)) or None}


def _refusal(module: ModuleType, rows: dict[str, dict[str, Any]]) -> Exception | None:
    """Give the error by which a bench refuses rows."""
    try:
        module.check(rows)
    except NotMeasuredError:
        return None
    except Exception as error:  # noqa: BLE001 - as above
        return error
    return None


def _said(error: Exception | None) -> str:
    """Give an error's words; of an assertion without words, its line."""
    if error is None:
        return ""
    words = str(error) or traceback.extract_tb(error.__traceback__)[-1].line or "no words"
    return words if isinstance(error, AssertionError) else f"{type(error).__name__}: {words}"


if __name__ == "__main__":
    main()
