"""Bundle the browser's part: web/src into theme/assets/built, each file named after its content.

esbuild comes with web/node_modules; the same sources give the same bytes.
"""

import json
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import run_build
from material_script import trimmed
from project import ROOT

WEB = ROOT / "web"
BUILT = ROOT / "theme" / "assets" / "built"
MATERIAL = Path(str(files("material"))) / "templates" / "assets"
SCRIPTS = {"site.js": "site.js", "search.js": "search/search.js"}


def main() -> None:
    """Bundle, and say what came out at what size."""
    for name, size in build().items():
        print(f"{name}: {size:,} bytes")


def build(target: Path = BUILT) -> dict[str, int]:
    """Write the bundles and manifest.json, which maps an entry to its file; give the sizes in bytes.

    Raises SystemExit when esbuild refuses a source; its own message names file and line.
    """
    texts = {entry: _esbuild(f"src/{source}", "--bundle", "--format=esm") for entry, source in SCRIPTS.items()}
    (bundle,) = (MATERIAL / "javascripts").glob("bundle.*.min.js")
    texts["material.js"] = _esbuild("--bundle", "--format=iife", text=trimmed(bundle).encode())
    # One stylesheet: Material's, less what the site never shows, and then the site's own.
    own = b"".join((WEB / "src" / name).read_bytes() for name in ("site.css", "run/offered.css"))
    texts["site.css"] = _esbuild("--loader=css", text=_node("material.mjs", str(MATERIAL / "stylesheets")) + own)
    texts |= run_build.built(_esbuild, _node)
    manifest = {entry: run_build.named(entry, text) for entry, text in texts.items()}
    sizes = {manifest[entry]: len(text) for entry, text in texts.items()}
    if target.is_dir() and {path.name for path in target.iterdir()} == {*sizes, "manifest.json"}:
        return sizes
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for entry, text in texts.items():
        (target / manifest[entry]).write_bytes(text)
    (target / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
    return sizes


def _esbuild(*words: str, text: bytes | None = None) -> bytes:
    return _node("node_modules/esbuild/bin/esbuild", *words, "--minify", "--target=es2022", "--charset=utf8", "--log-level=warning", text=text)


def _node(script: str, *words: str, text: bytes | None = None) -> bytes:
    node = shutil.which("node", path=str(Path(sys.executable).parent.absolute())) or shutil.which("node")
    if not node or not (WEB / "node_modules").is_dir():
        raise SystemExit("the browser's packages are not installed: python3 scripts/dev.py build installs them")
    done = subprocess.run([node, script, *words], cwd=WEB, input=text, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(f"web/{script} {' '.join(words)} failed")
    return done.stdout


if __name__ == "__main__":
    main()
