"""Build, run and time TensorRT engines from a bench: the jobs go to scripts/trt_worker.py in an interpreter that has TensorRT.

TensorRT 8.6.0 is a wheel for CPython 3.10 alone, and its licence forbids to pass it on, so a bench finds it where
WARPWISE_TENSORRT says: a Python that can `import tensorrt` and `import numpy`. To make one:

    python3.10 -m venv trt && trt/bin/pip install tensorrt==8.6.0 "numpy<2"
    export WARPWISE_TENSORRT=$PWD/trt/bin/python
"""

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from project import CANNOT

LONGEST = 90  # seconds that one job may take; the process with TensorRT ends after that
VARIABLE = "WARPWISE_TENSORRT"
LIMITS = {
    "zh": "TensorRT {tensorrt}，tactic 来源中关闭了 cuBLAS、cuBLASLt 与 cuDNN",
    "en": "TensorRT {tensorrt}, with cuBLAS, cuBLASLt and cuDNN left out of the tactic sources",
}


class TensorRTError(Exception):
    """TensorRT refused or failed; the message is its own, .log what it had said before."""

    def __init__(self, message: str, log: list[str]) -> None:
        """Keep the log beside the message."""
        super().__init__(message)
        self.log = log


def interpreter() -> str:
    """Give the Python that has TensorRT.

    Exits with status 77, and says how to make one, where there is none.
    """
    path = os.environ.get(VARIABLE, "")
    if not path or not os.access(path, os.X_OK):
        print(f"{VARIABLE} names no Python with TensorRT 8.6: see scripts/trt.py", file=sys.stderr)
        raise SystemExit(CANNOT)
    return path


class Worker:
    """A process with TensorRT, used as a context: `with trt.Worker() as worker: worker.build("fp16", path, flags=["fp16"])`."""

    def __init__(self) -> None:
        """Start the process; its folder holds the arrays that travel."""
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        self.process = subprocess.Popen(
            [interpreter(), str(Path(__file__).with_name("trt_worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self.log: list[str] = []
        self.count = 0
        self.versions: dict[str, Any] = self.job("hello")

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the process and drop the folder."""
        assert self.process.stdin, "the process was started with a pipe"
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.folder.cleanup()

    def job(self, op: str, **arguments: Any) -> Any:
        """Have one job done; self.log is what TensorRT warned of meanwhile.

        Raises TensorRTError with TensorRT's words when it fails.
        """
        assert self.process.stdin, "the process was started with pipes"
        assert self.process.stdout, "the process was started with pipes"
        try:
            self.process.stdin.write(json.dumps({"op": op} | arguments) + "\n")
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], LONGEST)[0]:
                self.process.kill()
                raise TensorRTError(f"{op} took more than {LONGEST} s", [])
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise TensorRTError(f"the process with TensorRT ended during {op}, status {self.process.wait(30)}", [])
        answer = json.loads(line)
        self.log = answer["log"]
        if "error" in answer:
            raise TensorRTError(answer["error"], answer["log"])
        return answer["ok"]

    def file(self, suffix: str) -> Path:
        """Give a fresh name in the folder."""
        self.count += 1
        return self.path / f"{self.count}{suffix}"

    def save(self, **arrays: Any) -> str:
        """Keep arrays for the process and give the file's name."""
        import numpy as np  # noqa: PLC0415 - a bench is imported without it too

        path = self.file(".npz")
        np.savez(path, **arrays)
        return str(path)

    def build(self, name: str, model: bytes | str | Path, **options: Any) -> dict[str, Any]:
        """Build an engine from an ONNX model (its bytes, or a path) and keep it in the process under this name: trt_worker's do_build."""
        if isinstance(model, bytes):
            path = self.file(".onnx")
            path.write_bytes(model)
            model = path
        found: dict[str, Any] = self.job("build", name=name, onnx=str(model), **options)
        return found | {"log": self.log}

    def run(self, name: str, chunk: int = 64, **inputs: Any) -> dict[str, Any]:
        """Run an engine over all rows of its inputs and give its outputs."""
        import numpy as np  # noqa: PLC0415 - as above

        path = self.file(".npz")
        self.job("run", name=name, inputs=self.save(**inputs), outputs=str(path), chunk=chunk)
        with np.load(path) as arrays:
            return {key: arrays[key] for key in arrays.files}

    def time(self, names: Sequence[str], **options: Any) -> dict[str, float]:
        """Time engines in turn; the median of each in milliseconds."""
        return {name: found["ms"] for name, found in self.job("time", names=list(names), **options).items()}

    def profile(self, name: str, **options: Any) -> dict[str, float]:
        """Time an engine layer by layer, in milliseconds."""
        found: dict[str, float] = self.job("profile", name=name, **options)
        return found

    def free(self, *names: str) -> None:
        """Forget engines."""
        self.job("free", names=list(names))

    def conditions(self) -> dict[str, dict[str, str]]:
        """Say for the record which TensorRT it was and what was off."""
        return {"tensorrt": {language: text.format(**self.versions) for language, text in LIMITS.items()}}
