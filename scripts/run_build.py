"""Make what a page loads when its reader presses Run: Python for the browser, the frame that it runs in, the editor, the controls.

Each file is named after its content. Python is one gzip file: a line of JSON with the parts' names and lengths, then the parts.
The same packages and sources give the same bytes; what takes seconds is kept in .cache.
"""

import gzip
import hashlib
import json
from base64 import b64encode
from collections.abc import Callable
from html import escape
from pathlib import Path

from project import ROOT

WEB = ROOT / "web"
PYODIDE = WEB / "node_modules" / "pyodide"
CACHE = ROOT / ".cache" / "runtime"
COMPILER = ROOT / "scripts" / "compile_library.py"
ADDED = ROOT / "scripts" / "_warpwise.py"
Tool = Callable[..., bytes]


def built(esbuild: Tool, node: Tool) -> dict[str, bytes]:
    """Give each file of the run's part by its name in the manifest; the two tools are web_build.py's."""
    texts = {
        "python.bin": _python(esbuild, node),
        "runner.htm": _runner(esbuild),
        "editor.js": _bundle(esbuild, "editor.js", "esm"),
        "run.css": _bundle(esbuild, "run.css"),
    }
    files = {name: named(name, text) for name, text in texts.items()} | {"size": len(texts["python.bin"])}
    texts["run.js"] = _bundle(esbuild, "run.js", "esm", f"--define:FILES={json.dumps(files)}")
    texts["sw.js"] = _bundle(esbuild, "sw.js", "iife")
    return texts


def named(entry: str, content: bytes) -> str:
    """Name a file after its content."""
    return f"{Path(entry).stem}.{hashlib.sha256(content).hexdigest()[:8]}{Path(entry).suffix}"


def policy(script: str) -> str:
    """Give the policy of the frame: its own script, a worker from a blob, WebAssembly; no address at all."""
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; script-src 'sha256-{digest}' 'wasm-unsafe-eval'; worker-src blob:"


def _python(esbuild: Tool, node: Tool) -> bytes:
    lock = json.loads((PYODIDE / "pyodide-lock.json").read_text("utf-8"))["info"]
    defined = [f"--define:LOCK_INFO={json.dumps(lock)}", "--define:import.meta.url=self.location.href"]
    worker = _bundle(esbuild, "worker.js", "iife", "--external:node:*", "--external:ws", *defined)
    inputs = [PYODIDE / "pyodide.asm.wasm", PYODIDE / "python_stdlib.zip", COMPILER, ADDED, WEB / "compile.mjs"]
    key = hashlib.sha256(worker + b"".join(path.read_bytes() for path in inputs)).hexdigest()[:16]
    kept = CACHE / f"{key}.bin"
    if not kept.is_file():
        CACHE.mkdir(parents=True, exist_ok=True)
        library = CACHE / f"{key}.zip"
        node("compile.mjs", *map(str, (COMPILER, PYODIDE / "python_stdlib.zip", library, ADDED)))
        parts = {"wasm": (PYODIDE / "pyodide.asm.wasm").read_bytes(), "worker": worker, "library": library.read_bytes()}
        head = json.dumps({name: len(content) for name, content in parts.items()}).encode() + b"\n"
        kept.write_bytes(gzip.compress(head + b"".join(parts.values()), 9, mtime=0))
    return kept.read_bytes()


def _runner(esbuild: Tool) -> bytes:
    """Give the page that holds the sandboxed frame: the frame's policy is inherited from it, so it needs an address of its own."""
    script = _bundle(esbuild, "frame.js", "iife").decode().strip()
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy(script)}"><title>Python</title>'
    inner = f'<!doctype html><html lang="en"><head>{head}</head><body><script>{script}</script></body></html>'
    frame = f'<iframe sandbox="allow-scripts" title="Python" srcdoc="{escape(inner)}"></iframe>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{frame}</body></html>\n'.encode()


def _bundle(esbuild: Tool, source: str, form: str | None = None, *words: str) -> bytes:
    return esbuild(f"src/run/{source}", "--bundle", *words, *([f"--format={form}"] if form else []))
