"""Run a snippet's scripts as `python script.py` would, within the page's worker; compiled into the library that the worker starts with."""

import builtins
import io
import json
import linecache
import os
import sys
import time
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

FOLDER = "/snippet"
LONGEST_OUTPUT = 100_000  # characters of a run that reach the page
LONGEST_HELD = 1000  # writes without the end of a line
LONGEST_PICTURE = 1_000_000  # characters of an SVG
AT_ONCE, PAUSE = 20, 0.05  # so many lines are sent as they come; then one message in so many seconds

Send = Callable[[str, str], None]  # which stream, and its text
_builtins = dict(builtins.__dict__)
_sleep = time.sleep


class NoInputError(EOFError):
    """A snippet asked for a line that nobody can type."""


class Output(io.TextIOBase):
    """A standard stream: what is written goes to the page as it comes, in few messages, up to a length."""

    encoding = "utf-8"

    def __init__(self, name: str, send: Send, sent: "Sent") -> None:
        """Send under this name; `sent` is what the streams of one run share."""
        self.name, self._send, self._sent = name, send, sent
        self._held: list[str] = []

    def write(self, text: str) -> int:
        """Take a text; send what is held at the end of a line, unless much was sent just before."""
        sent = self._sent
        if sent.left > 0:
            self._held.append(text)
            sent.left -= len(text)
            if ("\n" in text or len(self._held) > LONGEST_HELD or sent.left <= 0) and sent.may_send():
                self.flush()
        return len(text)

    def flush(self) -> None:
        """Send what is held, the last of it cut where the run's length ends."""
        if self._held:
            text = "".join(self._held)
            self._held.clear()
            if self._sent.left < 0:
                text = text[: self._sent.left] if self._sent.left > -len(text) else ""
                self._sent.cut, self._sent.left = True, 0
            self._send(self.name, text)

    def writable(self) -> bool:
        """Say yes."""
        return True


class Sent:
    """How much of one run the page has got: characters that it still takes, and messages at this moment."""

    def __init__(self) -> None:
        """Begin with the full length."""
        self.left, self.cut = LONGEST_OUTPUT, False
        self._begun, self._messages = 0.0, 0

    def may_send(self) -> bool:
        """Tell whether a message may go now: some at once, then a few in a second."""
        now = time.perf_counter()
        if self.left <= 0:
            return True  # the last one
        if now - self._begun > PAUSE:
            self._begun, self._messages = now, max(0, self._messages - AT_ONCE // 4)
        elif self._messages >= AT_ONCE:
            return False
        self._messages += 1
        return True


class NoInput(io.TextIOBase):
    """A standard input that says that there is none."""

    def readable(self) -> bool:
        """Say yes: what follows explains."""
        return True

    def read(self, size: int | None = -1) -> NoReturn:
        """Refuse."""
        raise NoInputError(f"nobody can type here ({size})")

    def readline(self, size: int | None = -1) -> NoReturn:
        """Refuse."""
        raise NoInputError(f"nobody can type here ({size})")


def run(job: str, send: Send) -> str:
    """Run the job's scripts one after the other and give the result, both as JSON.

    A job is {"files": name -> text, "script": the one whose output is shown, "draw": one that prints an SVG, or null}.
    A result has seconds, cut, svg, and, when a script raised, failed: {reason, name, line} with the traceback already sent.
    """
    wanted = json.loads(job)
    _place(wanted["files"])
    sent = Sent()
    streams = {name: Output(name, send, sent) for name in ("out", "err")}
    result: dict[str, Any] = {"svg": None}
    began = time.perf_counter()
    result["failed"] = _script(wanted["script"], streams["out"], streams["err"])
    result["seconds"] = time.perf_counter() - began
    if wanted["draw"] and not result["failed"]:
        picture = io.StringIO()
        result["failed"] = _script(wanted["draw"], picture, streams["err"])
        result["svg"] = picture.getvalue() if len(picture.getvalue()) <= LONGEST_PICTURE else None
    result["cut"] = sent.cut
    return json.dumps(result)


def _place(files: dict[str, str]) -> None:
    """Make the snippet's folder hold these files and nothing else."""
    folder = Path(FOLDER)
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.name not in files and path.is_file():
            path.unlink()
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    os.chdir(folder)


def _script(name: str, out: io.TextIOBase, err: Output) -> dict[str, Any] | None:
    """Run one script as the main module; give what is to be said of its failure, or None."""
    _forget()
    source = (Path(FOLDER) / name).read_text("utf-8")
    # The traceback's lines are read from here, whatever the script does to its folder.
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    module = types.ModuleType("__main__")
    module.__file__ = f"{FOLDER}/{name}"
    sys.modules["__main__"] = module
    sys.argv, sys.path[0] = [name], FOLDER
    sys.stdout, sys.stderr, sys.stdin = out, err, NoInput()

    def ask(prompt: object = "") -> NoReturn:
        out.write(str(prompt))
        raise NoInputError("input() has nobody to ask")

    def sleep(seconds: Any, /) -> None:
        flush()
        _sleep(seconds)

    def flush() -> None:
        if isinstance(out, Output):
            out.flush()
        err.flush()

    builtins.input, time.sleep = ask, sleep
    try:
        exec(compile(source, name, "exec", dont_inherit=True), vars(module))  # noqa: S102 - this is what the page is for
    except SystemExit as error:
        if error.code is None or error.code == 0:
            return None
        sys.stderr.write(f"{error.code}\n" if isinstance(error.code, str) else f"exit {error.code}\n")
        return {"reason": "exit", "name": None, "line": None}
    except BaseException as error:  # noqa: BLE001 - whatever it is, the reader sees it
        flush()
        return _failure(error, name, err)
    finally:
        sys.stdout, sys.stderr = out, err  # whatever the script put there, the end of its output still goes out
        flush()
        _restore()
    return None


def _restore() -> None:
    """Give the next script the built-in names as they were."""
    names = builtins.__dict__
    names.update(_builtins)
    for name in [name for name in names if name not in _builtins]:
        del names[name]
    time.sleep = _sleep


def _failure(error: BaseException, script: str, err: Output) -> dict[str, Any]:
    """Send the traceback without this module's frames, and say where and why the script failed."""
    place = error.__traceback__.tb_next if error.__traceback__ else None
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == script else None
    for frame, number in traceback.walk_tb(place):
        if frame.f_code.co_filename == script:
            line = number
    if not isinstance(error, NoInputError):
        told = "".join(traceback.TracebackException(type(error), error, place, compact=True).format())
        err.write(told.replace(f'"{FOLDER}/', '"'))
        err.flush()
    reason, name = "error", None
    if isinstance(error, NoInputError):
        reason = "input"
    elif isinstance(error, ModuleNotFoundError):
        reason, name = "module", error.name
        if name in sys.stdlib_module_names or (name or "").partition(".")[0] in sys.stdlib_module_names:
            reason = "library"
    elif isinstance(error, MemoryError):
        reason = "memory"
    elif "can't start new thread" in str(error) or "does not support processes" in str(error):
        reason = "process"
    return {"reason": reason, "name": name, "line": line}


def _forget() -> None:
    """Drop what an earlier script of the folder left among the modules: the next one reads its siblings anew."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "") or "").startswith(f"{FOLDER}/"):
            del sys.modules[name]
    sys.path_importer_cache.pop(FOLDER, None)
    linecache.clearcache()
