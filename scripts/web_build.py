"""Bundle the browser's part: web/src into theme/assets/built, each file named after its content.

esbuild comes with web/node_modules; the same sources give the same bytes.
"""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import run_build
from project import ROOT

WEB = ROOT / "web"
BUILT = ROOT / "theme" / "assets" / "built"
ENTRIES = {"site.js": "esm", "early.js": "iife", "site.css": None}


def main() -> None:
    """Bundle, and say what came out at what size."""
    for name, size in build().items():
        print(f"{name}: {size:,} bytes")


def build(target: Path = BUILT) -> dict[str, int]:
    """Write the bundles and manifest.json, which maps an entry to its file; give the sizes in bytes.

    Raises SystemExit when esbuild refuses a source; its own message names file and line.
    """
    node = shutil.which("node", path=str(Path(sys.executable).parent.absolute())) or shutil.which("node")
    esbuild = WEB / "node_modules" / "esbuild" / "bin" / "esbuild"
    if not node or not esbuild.exists():
        raise SystemExit("the browser's packages are not installed: python3 scripts/dev.py build installs them")
    manifest: dict[str, str] = {}
    sizes: dict[str, int] = {}
    texts: dict[str, bytes] = {}
    for entry, form in ENTRIES.items():
        command = [node, str(esbuild), f"src/{entry}", "--bundle", "--minify", "--target=es2022", "--charset=utf8", "--log-level=warning"]
        done = subprocess.run([*command, *([f"--format={form}"] if form else [])], cwd=WEB, stdout=subprocess.PIPE, check=False)
        if done.returncode:
            raise SystemExit(f"web/src/{entry} was not bundled")
        stem, suffix = entry.rsplit(".", 1)
        manifest[entry] = f"{stem}.{hashlib.sha256(done.stdout).hexdigest()[:8]}.{suffix}"
        texts[manifest[entry]] = done.stdout
        sizes[manifest[entry]] = len(done.stdout)
    for entry, name, content in run_build.built(node):
        manifest[entry], texts[name], sizes[name] = name, content, len(content)
    if target.is_dir() and {path.name for path in target.iterdir()} == {*texts, "manifest.json"}:
        return sizes
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name, content in texts.items():
        (target / name).write_bytes(content)
    (target / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
    return sizes


if __name__ == "__main__":
    main()
