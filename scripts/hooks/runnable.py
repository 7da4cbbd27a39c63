"""Tell a page's runnable blocks what they load and what their parameters are; offer a kernel with its bench for download.

What is loaded lies once at the root, for both languages; each file is named after its content.
"""

import functools
import gzip
import hashlib
import io
import json
import logging
import re
import sys
import zipfile
from html import escape
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

sys.path.append(str(Path(__file__).parent.parent))

from parameters import Parameter, parameters
from project import ROOT, SNIPPETS, published, scripts_of, snippet_folders, sources_of

log = logging.getLogger("mkdocs.hooks")

BUILT = ROOT / "theme" / "assets" / "built"
LOADED = ("python.bin", "runner.htm", "editor.js", "run.css", "run.js", "sw.js")
BLOCK = re.compile(r'<div class="language-python highlight"([^>]*?) data-snippet="([\w-]+)/(\w+\.py)"|<code class="parameter">(\w+)</code>')
KERNEL = re.compile(r'<div class="language-cuda highlight"><span class="filename">(\w+\.cu)</span>.*?</code></pre></div>', re.DOTALL)
# A bench is one of these with everything that it imports.
BESIDE = ("gpu.py", "nvrtc.py")
# The address of each folder's files in the site that is being built.
_addresses: dict[str, str] = {}
WORDS = {
    "zh": ("在自己的 GPU 上测：下载 {archive}（{kernel} 和它的 bench），解开后运行", "需要 CuPy 和 Nsight Compute。"),
    "en": ("Measure it on your own GPU: download {archive} ({kernel} and its bench), unpack it and run", " It needs CuPy and Nsight Compute."),
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Publish each folder's files for the page's Python, the archives for a GPU, and the service worker: once, in the Chinese site."""
    manifest = config.extra["built"]  # which assets.py read
    chinese = config.theme["language"] == "zh"
    for folder in snippet_folders():
        _addresses[folder.name], text = _runnable(folder)
        made: list[tuple[str, str | bytes]] = [(_addresses[folder.name], text), *_archives(folder)] if chinese else []
        for name, content in made:
            files.append(File.generated(config, name, content=content))
    for entry in ("sw.js",) if chinese else LOADED:
        _remove(files, f"assets/built/{manifest[entry]}")
    if chinese:
        files.append(File.generated(config, "sw.js", content=(BUILT / manifest["sw.js"]).read_text("utf-8")))
    return files


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - MkDocs's own signature
    """Add to each block and each parameter what the browser needs, and a line below each kernel that a bench measures."""
    root = "" if config.theme["language"] == "zh" else "../"
    manifest = config.extra["built"]  # which assets.py read

    def address(name: str) -> str:
        return root + get_relative_url(name, page.url)

    block: tuple[str, dict[str, Parameter]] | None = None

    def add(match: re.Match[str]) -> str:
        nonlocal block
        attributes, folder, script, name = match.groups()
        if script:
            source = SNIPPETS / folder / script
            try:
                block = (script, _parameters(source.read_text("utf-8")))
            except (OSError, ValueError) as error:
                log.warning("%s: %s", page.file.src_uri, error)
                return match[0]
            given = {
                "run": address(f"assets/built/{manifest['run.js']}"),
                "files": address(_addresses[folder]),
                "python": manifest["python.bin"],
                "size": f"{_loaded_bytes(manifest['python.bin'], manifest['editor.js']) / 1e6:.1f}",
            }
            added = " ".join(f'data-{key}="{value}"' for key, value in given.items())
            return f'<div class="language-python highlight"{attributes} {added} data-snippet="{folder}/{script}"'
        if block is None or name not in block[1]:
            log.warning("%s offers %s, which %s declares with no bounds: see scripts/parameters.py", page.file.src_uri, name, block and block[0])
            return match[0]
        return f'<code class="parameter" data-parameter="{escape(json.dumps(block[1][name].described()))}">{name}</code>'

    offered: set[str] = set()

    def offer(match: re.Match[str]) -> str:
        folder = SNIPPETS / Path(page.file.src_uri).stem
        bench = _bench_of(folder, match[1])
        if not bench or match[1] in offered:
            return match[0]
        offered.add(match[1])
        archive = f"{folder.name}-{bench.stem.removeprefix('bench_')}.zip"
        before, after = WORDS[config.theme["language"]]
        link = f'<a href="{address(f"snippets/{folder.name}/{archive}")}" download>{archive}</a>'
        told = before.format(archive=link, kernel=f"<code>{match[1]}</code>")
        return f'{match[0]}\n<p class="kernel">{told} <code>python {bench.name}</code>{"。" if config.theme["language"] == "zh" else "."}{after}</p>'

    return KERNEL.sub(offer, BLOCK.sub(add, html))


@functools.cache  # the two are named after their content
def _loaded_bytes(python: str, editor: str) -> int:
    """Count what the first press brings: Python, packed as it is, and the editor as a host compresses it."""
    return (BUILT / python).stat().st_size + len(gzip.compress((BUILT / editor).read_bytes()))


_parameters = functools.lru_cache(parameters)


def _remove(files: Files, name: str) -> None:
    if file := files.get_file_from_path(name):
        files.remove(file)


def _runnable(folder: Path) -> tuple[str, str]:
    """Give the address and the text of what the page's Python gets of a folder: models, drawings, the records that they read."""
    scripts = scripts_of(folder, "model", "draw")
    data = [path for path in sorted(folder.glob("*.json")) if any(path.name in script.read_text("utf-8") for script in scripts)]
    text = json.dumps({path.name: published(path) for path in [*scripts, *data]}, ensure_ascii=False)
    return f"snippets/{folder.name}/run.{hashlib.sha256(text.encode()).hexdigest()[:8]}.json", text


def _archives(folder: Path) -> list[tuple[str, bytes]]:
    """Give for each bench an archive of it and of all that it needs, the same bytes each time."""
    made = []
    for bench in scripts_of(folder, "bench"):
        sources = sources_of(bench)
        if not any(path.suffix == ".cu" for path in sources):
            continue
        top = f"{folder.name}-{bench.stem.removeprefix('bench_')}"
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w") as archive:
            for path in [*sources, *(ROOT / "scripts" / name for name in BESIDE)]:
                entry = zipfile.ZipInfo(f"{top}/{path.name}", (1980, 1, 1, 0, 0, 0))
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, published(path))
        made.append((f"snippets/{folder.name}/{top}.zip", target.getvalue()))
    return made


def _bench_of(folder: Path, kernel: str) -> Path | None:
    benches = scripts_of(folder, "bench") if folder.is_dir() else []
    return next((bench for bench in benches if kernel in {path.name for path in sources_of(bench)}), None)
