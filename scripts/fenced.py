"""Run a snippet's script where it can do little: bounded time, memory and output, no network, nothing of the caller's environment.

A pull request brings scripts that nobody has read yet. On Linux the network is taken away by a namespace of its own where the system
allows one; elsewhere a guard within Python refuses it. macOS has no limit on memory, Windows only the one on time; both are said once.
"""

import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from project import ROOT

MEMORY = 6 << 30  # bytes of address space: NVRTC maps two
WRITTEN = 64 << 20  # bytes of one file, standard output too
# What a Python program needs of its surroundings; tokens and keys are none of it.
KEPT = {
    "CI", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "NUMBER_OF_PROCESSORS", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PATH", "PATHEXT",
    "PROCESSOR_ARCHITECTURE", "SOURCE_DATE_EPOCH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "TZ", "VIRTUAL_ENV", "WINDIR",
}  # fmt: skip


class TooLongError(Exception):
    """A script took more than its time."""


def run(script: Path, *words: str, seconds: int, given: str = "", where: Path | None = None) -> tuple[int, str, str]:
    """Run a script behind the fence, in its own folder, and give its exit status, what it printed, and what it wrote to standard error.

    Raises TooLongError when it takes more than the seconds, and then nothing that it started is left.
    """
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as told:
        process = subprocess.Popen(
            [*without_network(), sys.executable, str(script), *words],
            cwd=where or script.parent,
            env=environment(seconds + 5) | {"HOME": home, "USERPROFILE": home},
            stdin=subprocess.PIPE,
            stdout=printed,
            stderr=told,
            start_new_session=os.name == "posix",
        )
        try:
            process.communicate(given.encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            raise TooLongError from None
        finally:
            _end(process)
        texts = []
        for file in (printed, told):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace").replace("\r\n", "\n"))
    return process.returncode, texts[0], texts[1]


def environment(seconds: int) -> dict[str, str]:
    """Give what a script finds around it: of the caller's variables those that it needs, and its own limits."""
    fixed = {"PYTHONPATH": os.pathsep.join([str(ROOT / "scripts" / "fence"), str(ROOT / "scripts")]), "PYTHONNOUSERSITE": "1"}
    fixed |= {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1", "WARPWISE_LIMITS": f"{seconds} {MEMORY} {WRITTEN}"}
    return {key: value for key, value in os.environ.items() if key.upper() in KEPT} | fixed


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what a script left running, and the script itself when it is still there."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()


@functools.cache
def without_network() -> list[str]:
    """Give the words before a command that take the network from it, or none where the system cannot; then that is said once."""
    command = ["unshare", "--user", "--map-root-user", "--net"]
    if sys.platform == "linux" and shutil.which("unshare") and not subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        return command
    missing = "" if sys.platform == "linux" else "; no limit on memory" if sys.platform == "darwin" else "; no limit but on time"
    print(f"note: this system gives a snippet no network of its own, so a guard within Python refuses it{missing}", file=sys.stderr, flush=True)
    return []
