"""What every bench needs on a GPU: compile a kernel, time it, read its hardware counters.

A bench imports this as `gpu`; it needs CuPy, and Nsight Compute (`ncu`) for counters. Clocks are left alone.
"""

import csv
import functools
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import nvrtc

NO_PERMISSION = (
    "the driver lets only an administrator read hardware counters: run this as root (sudo -E), or write the line\n"
    "    options nvidia NVreg_RestrictProfilingToAdminUsers=0\n"
    "into /etc/modprobe.d/nvidia.conf and start the machine again (on Windows: NVIDIA Control Panel, Developer, Manage GPU Performance Counters)"
)


class CannotMeasureError(SystemExit):
    """What a bench asks for is more than this machine can do. The bench ends with status 77, which record.py understands; the reason is printed."""

    def __init__(self, reason: str) -> None:
        """Print the reason."""
        say(reason)
        super().__init__(77)


def kernel(source: Path, name: str, *options: str) -> Any:
    """Compile a .cu file for the GPU at hand and give one of its kernels; call what comes back with (grid, block, arguments).

    Raises CannotMeasureError when the GPU is none of the architectures that the file's first line declares, nor newer than one of them.
    """
    return _module(source, options).get_function(name)


def milliseconds(function: Callable[[], object], repeat: int = 50, warmup: int = 5) -> float:
    """Time one call on the GPU: the median of `repeat` calls, in milliseconds."""
    from cupyx.profiler import benchmark  # noqa: PLC0415 - a bench is imported without a GPU too

    times = benchmark(function, (), n_repeat=repeat, n_warmup=warmup).gpu_times[0]
    return statistics.median(float(time) for time in times) * 1e3


def counters(metrics: Sequence[str], kernels: str) -> list[dict[str, float]]:
    """Run the calling script again as `script --launch` under ncu and give the metrics, one row a launch, in order.

    kernels is a regular expression; launches of other kernels (fills, copies) are not counted.
    Raises CannotMeasureError where the system forbids it, and SystemExit with ncu's own words when it reads nothing.
    """
    command = [
        find_ncu(), "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
        "--kernel-name", f"regex:{kernels}", "--metrics", ",".join(metrics), sys.executable, sys.argv[0], "--launch",
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in run.stdout.splitlines() if line.startswith('"')]
    if run.returncode or len(lines) < 3:  # noqa: PLR2004 - names, units, at least one launch
        if "ERR_NVGPUCTRPERM" in run.stdout + run.stderr:
            raise CannotMeasureError(NO_PERMISSION)
        raise SystemExit(f"ncu read no counters:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    names, _units, *rows = csv.reader(lines)
    columns = {metric: names.index(metric) for metric in metrics}
    return [{metric: float(row[column].replace(",", "")) for metric, column in columns.items()} for row in rows]


def fitting(source: str, here: int) -> list[str]:
    """Give those of a kernel's declared architectures that mean a GPU such as 90: its own, and earlier ones without an "a"."""
    return [arch for arch in nvrtc.architectures(source) if int(re.sub(r"\D", "", arch)) == here or (not arch.endswith("a") and int(arch[3:]) < here)]


def launching() -> bool:
    """Tell whether this run is the one under ncu, which only launches the kernels once each."""
    return "--launch" in sys.argv


def say(text: str) -> None:
    """Show progress, apart from the record that goes to standard output."""
    print(text, file=sys.stderr, flush=True)


def describe() -> dict[str, Any]:
    """Name the GPU and the versions of what measures on it, as a record keeps them.

    Raises SystemExit, with the way out, where there is no CuPy or no GPU.
    """
    try:
        import cupy  # noqa: PLC0415 - as above
    except ImportError:
        raise SystemExit("CuPy is not installed: .venv/bin/python -m pip install cupy-cuda13x (cupy-cuda12x for a driver before 580)") from None
    try:
        properties = cupy.cuda.runtime.getDeviceProperties(0)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise SystemExit(f"CuPy finds no GPU ({error}): nvidia-smi says whether the driver sees one") from error
    return {
        "gpu": properties["name"].decode(),
        "compute_capability": f"{properties['major']}.{properties['minor']}",
        "versions": {"driver": _driver(), "nvrtc": nvrtc.version(), "cupy": cupy.__version__, "ncu": _ncu_version()},
        "conditions": {"clocks": "not locked"},
    }


def find_ncu() -> str:
    """Find Nsight Compute's command.

    Raises CannotMeasureError where there is none.
    """
    places = [shutil.which("ncu"), *map(str, sorted(Path("/opt/nvidia/nsight-compute").glob("*/ncu"), reverse=True)), "/usr/local/cuda/bin/ncu"]
    for place in places:
        if place and os.access(place, os.X_OK):
            return place
    raise CannotMeasureError("ncu is not installed, so no counters are read: it comes with the CUDA toolkit and with Nsight Compute")


@functools.cache
def _module(source: Path, options: tuple[str, ...]) -> Any:
    import cupy  # noqa: PLC0415 - as above

    text = source.read_text("utf-8")
    here = int(cupy.cuda.Device(0).compute_capability)
    fits = fitting(text, here)
    if not fits:
        raise CannotMeasureError(f"{source.name} is for {' '.join(nvrtc.architectures(text))}; this GPU is sm_{here}")
    exact = f"sm_{here}a" if f"sm_{here}a" in fits else f"sm_{here}"
    # CuPy reads the file when the first kernel is asked for, so it has to outlive this function.
    path = Path(_folder().name) / f"{source.stem}-{len(list(Path(_folder().name).iterdir()))}.cubin"
    path.write_bytes(nvrtc.compile_cubin(text, exact, *options))
    return cupy.RawModule(path=str(path))


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def _driver() -> str:
    run = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()[0].strip()


def _ncu_version() -> str:
    try:
        command = find_ncu()
    except CannotMeasureError:
        return "none"
    run = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"Version (\S+)", run.stdout)
    return found[1] if found else "unknown"
