"""Make what a page loads when its reader presses Run: Python for the browser, the frame that it runs in, the editor, the controls.

Each file is named after its content. Python is one gzip file: a line of JSON with the parts' names and lengths, then the parts.
The same packages and sources give the same bytes; what takes seconds is kept in .cache.
"""

import gzip
import hashlib
import json
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from html import escape
from pathlib import Path

from project import ROOT

WEB = ROOT / "web"
RUN = WEB / "src" / "run"
PYODIDE = WEB / "node_modules" / "pyodide"
CACHE = ROOT / ".cache" / "runtime"
COMPILER = ROOT / "scripts" / "compile_library.py"
ADDED = RUN / "_warpwise.py"
ESBUILD = ["--bundle", "--minify", "--target=es2022", "--charset=utf8", "--log-level=warning"]


def built(node: str) -> Iterator[tuple[str, str, bytes]]:
    """Give each file of the run's part: its name in the manifest, its name in the site, its content.

    Raises SystemExit when a source is refused; the tool's own message names file and line.
    """
    files: dict[str, str] = {}
    for entry, content in (
        ("python.bin", _python(node)),
        ("runner.htm", _runner(node)),
        ("editor.js", _bundle(node, "editor.js", "esm")),
        ("run.css", _bundle(node, "run.css")),
    ):
        files[entry] = named(entry, content)
        files[f"{entry} size"] = str(len(content))
        yield entry, files[entry], content
    script = _bundle(node, "run.js", "esm", f"--define:FILES={json.dumps(files)}")
    yield "run.js", named("run.js", script), script
    worker = _bundle(node, "sw.js", "iife")
    yield "sw.js", named("sw.js", worker), worker


def named(entry: str, content: bytes) -> str:
    """Name a file after its content."""
    stem, suffix = entry.rsplit(".", 1)
    return f"{stem}.{hashlib.sha256(content).hexdigest()[:8]}.{suffix}"


def policy(script: str) -> str:
    """Give the policy of the frame: its own script, a worker from a blob, WebAssembly; no address at all."""
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; script-src 'sha256-{digest}' 'wasm-unsafe-eval'; worker-src blob:"


def _python(node: str) -> bytes:
    lock = json.loads((PYODIDE / "pyodide-lock.json").read_text("utf-8"))["info"]
    defined = [f"--define:LOCK_INFO={json.dumps(lock)}", "--define:import.meta.url=self.location.href"]
    worker = _bundle(node, "worker.js", "iife", "--external:node:*", "--external:ws", *defined)
    inputs = [PYODIDE / "pyodide.asm.wasm", PYODIDE / "python_stdlib.zip", COMPILER, ADDED, WEB / "compile.mjs"]
    key = hashlib.sha256(worker + b"".join(path.read_bytes() for path in inputs)).hexdigest()[:16]
    kept = CACHE / f"{key}.bin"
    if not kept.is_file():
        CACHE.mkdir(parents=True, exist_ok=True)
        library = CACHE / f"{key}.zip"
        _output([node, "compile.mjs", COMPILER, PYODIDE / "python_stdlib.zip", library, ADDED], "the page's Python library")
        parts = {"wasm": (PYODIDE / "pyodide.asm.wasm").read_bytes(), "worker": worker, "library": library.read_bytes()}
        head = json.dumps({name: len(content) for name, content in parts.items()}).encode() + b"\n"
        kept.write_bytes(gzip.compress(head + b"".join(parts.values()), 9, mtime=0))
    return kept.read_bytes()


def _runner(node: str) -> bytes:
    """Give the page that holds the sandboxed frame: the frame's policy is inherited from it, so it needs an address of its own."""
    script = _bundle(node, "frame.js", "iife").decode().strip()
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy(script)}"><title>Python</title>'
    inner = f'<!doctype html><html lang="en"><head>{head}</head><body><script>{script}</script></body></html>'
    frame = f'<iframe sandbox="allow-scripts" title="Python" srcdoc="{escape(inner)}"></iframe>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{frame}</body></html>\n'.encode()


def _bundle(node: str, source: str, form: str | None = None, *words: str) -> bytes:
    esbuild = WEB / "node_modules" / "esbuild" / "bin" / "esbuild"
    return _output([node, esbuild, RUN / source, *ESBUILD, *words, *([f"--format={form}"] if form else [])], f"web/src/run/{source}")


def _output(command: list[str | Path], what: str) -> bytes:
    done = subprocess.run(command, cwd=WEB, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(f"{what} was not built")
    return done.stdout
