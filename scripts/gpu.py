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


def kernel(source: Path, name: str, *options: str) -> Any:
    """Compile a .cu file for the GPU at hand and give one of its kernels; call what comes back with (grid, block, arguments).

    Raises SystemExit when the GPU is none of the architectures that the file's first line declares, or newer than all.
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
    Raises SystemExit with ncu's own words when it reads nothing.
    """
    command = [
        find_ncu(), "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
        "--kernel-name", f"regex:{kernels}", "--metrics", ",".join(metrics), sys.executable, sys.argv[0], "--launch",
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in run.stdout.splitlines() if line.startswith('"')]
    if run.returncode or len(lines) < 3:  # noqa: PLR2004 - names, units, at least one launch
        raise SystemExit(f"ncu read no counters:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    names, _units, *rows = csv.reader(lines)
    columns = {metric: names.index(metric) for metric in metrics}
    return [{metric: float(row[column].replace(",", "")) for metric, column in columns.items()} for row in rows]


def launching() -> bool:
    """Tell whether this run is the one under ncu, which only launches the kernels once each."""
    return "--launch" in sys.argv


def say(text: str) -> None:
    """Show progress, apart from the record that goes to standard output."""
    print(text, file=sys.stderr, flush=True)


def describe() -> dict[str, Any]:
    """Name the GPU and the versions of what measures on it, as a record keeps them."""
    import cupy  # noqa: PLC0415 - as above

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    return {
        "gpu": properties["name"].decode(),
        "compute_capability": f"{properties['major']}.{properties['minor']}",
        "versions": {"driver": _driver(), "nvrtc": nvrtc.version(), "cupy": cupy.__version__, "ncu": _ncu_version()},
        "conditions": {"clocks": "not locked"},
    }


def find_ncu() -> str:
    """Find Nsight Compute's command.

    Raises SystemExit where there is none.
    """
    places = [shutil.which("ncu"), *map(str, sorted(Path("/opt/nvidia/nsight-compute").glob("*/ncu"), reverse=True)), "/usr/local/cuda/bin/ncu"]
    for place in places:
        if place and os.access(place, os.X_OK):
            return place
    raise SystemExit("ncu is not installed: it comes with the CUDA toolkit and with Nsight Compute")


@functools.cache
def _module(source: Path, options: tuple[str, ...]) -> Any:
    import cupy  # noqa: PLC0415 - as above

    text = source.read_text("utf-8")
    major, minor = divmod(int(cupy.cuda.Device(0).compute_capability), 10)
    here = 10 * major + minor
    declared = nvrtc.architectures(text)
    # An architecture with an "a" runs on that one alone; the others also mean every later one.
    fits = [arch for arch in declared if int(re.sub(r"\D", "", arch)) == here or (not arch.endswith("a") and int(arch[3:]) < here)]
    if not fits:
        raise SystemExit(f"{source.name} is for {' '.join(declared)}; this GPU is sm_{here}")
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
    run = subprocess.run([find_ncu(), "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"Version (\S+)", run.stdout)
    return found[1] if found else "unknown"
