"""Measure the site as a reader and a maintainer feel it: Lighthouse's scores, the weight of a first view, the build time.

    python scripts/bench_site.py [--runs 5] [--pages 50 200 1000] [--only lighthouse | weight | build]

Run `python3 scripts/dev.py test` once before: it installs Lighthouse, finds a Chromium and builds .cache/site.
"""

import argparse
import gzip
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from pages import questions
from project import LANGUAGES, ROOT, TEST_SITE_URL
from static_server import serving

SITE = ROOT / ".cache" / "site"
PREFIX = urlsplit(TEST_SITE_URL).path
VIEWS = ("memory/bank-conflicts/", "", "reference/glossary/")
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
TARGETS = {"mobile": (98, 100, 100, 100), "desktop": (100, 100, 100, 100)}
FIRST_VIEW = 80 * 1024  # bytes, compressed
SLOWER = 1.3  # at most this many times stock Material's build time
# Where Material's search cuts words, as its documentation has it for code, and with the signs of Chinese text.
SEPARATORS = {
    "zh": r"""[\s\u200b\u3000\-、。，．？！；：“”（）【】/.()\[\]{},;:!?`"'']+""",
    "en": r"""[\s\-,:!=\[\]()"`/]+|\.(?!\d)|&[lg]t;""",
}
SECTION = 25  # pages a section of the generated nav


def main() -> None:
    """Print the tables, and whether each target is met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="runs of Lighthouse a page, of which the median counts")
    parser.add_argument("--pages", type=int, nargs="*", default=[50, 200, 1000], help="sizes of the generated site")
    parser.add_argument("--only", choices=("lighthouse", "weight", "build"))
    options = parser.parse_args()
    if options.only in (None, "weight"):
        print("first view, compressed (gzip -9)")
        for language in ("", "en/"):
            for view in VIEWS:
                size = weight(SITE, language + view)
                print(f"  /{language + view:<28} {size / 1024:6.1f} KiB  {_verdict(size <= FIRST_VIEW)}")
    if options.only in (None, "lighthouse"):
        print(f"Lighthouse, median of {options.runs}: {', '.join(CATEGORIES)}")
        with serving(SITE, PREFIX) as address:
            for form, targets in TARGETS.items():
                for language in ("", "en/"):
                    for view in VIEWS:
                        scores = lighthouse(address + language + view, form, options.runs)
                        verdict = _verdict(all(score >= target for score, target in zip(scores, targets, strict=True)))
                        print(f"  {form:<8} /{language + view:<28} {' '.join(f'{score:5.0f}' for score in scores)}  {verdict}", flush=True)
    if options.only in (None, "build"):
        print("build of both languages, beside stock Material on the same pages: seconds, median of three")
        for count in options.pages:
            ours, stock = build_times(count)
            print(
                f"  {count:5} pages  ours {ours:6.2f}  stock {stock:6.2f}  {ours / stock:.2f} times  {_verdict(ours / stock <= SLOWER)}", flush=True
            )


def weight(site: Path, path: str) -> int:
    """Give the compressed bytes that a first view of a page asks for: the page, its styles, scripts, images and icon."""
    page = site / path / "index.html"
    text = page.read_text("utf-8")
    names = re.findall(r'(?:<link rel="(?:stylesheet|icon)" href|<script(?: type="module")? src|<img[^>]* src)="([^"]+)"', text)
    files = {page, *((page.parent / name).resolve() for name in names)}
    return sum(len(gzip.compress(file.read_bytes(), 9)) for file in files)


def lighthouse(address: str, form: str, runs: int) -> list[float]:
    """Give the median scores of a page, in the order of CATEGORIES, 0 to 100.

    Raises SystemExit with Lighthouse's own words when it fails.
    """
    node = shutil.which("node", path=str(Path(sys.executable).parent.absolute())) or "node"
    chromium = os.environ.get("WARPWISE_CHROMIUM") or next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), "")
    scores: list[list[float]] = []
    for _ in range(runs):
        command = [
            node, "node_modules/lighthouse/cli/index.js", address, "--quiet", "--output=json",
            f"--only-categories={','.join(CATEGORIES)}", "--chrome-flags=--headless=new --no-sandbox --disable-gpu --disable-background-networking",
            *(["--preset=desktop"] if form == "desktop" else []),
        ]  # fmt: skip
        done = subprocess.run(command, cwd=ROOT / "web", env={**os.environ, "CHROME_PATH": chromium}, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"Lighthouse failed on {address}:\n{done.stderr[-2000:]}")
        report = json.loads(done.stdout)
        scores.append([100 * (report["categories"][name]["score"] or 0) for name in CATEGORIES])
    return [statistics.median(column) for column in zip(*scores, strict=True)]


def build_times(count: int, runs: int = 3) -> tuple[float, float]:
    """Build generated sites of `count` pages a language; give the median seconds of ours and of stock Material, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        ours, stock = generate(Path(folder) / "ours", count, stock=False), generate(Path(folder) / "stock", count, stock=True)
        times: dict[Path, list[float]] = {ours: [], stock: []}
        for _ in range(runs):
            for tree, taken in times.items():
                began = time.perf_counter()
                configurations = ["mkdocs.yml", "mkdocs.en.yml"] if tree == stock else ["mkdocs.yml"]
                for name in configurations:
                    # Not strict: the generated pages repeat the real ones, whose relative links assume their folder.
                    command = [sys.executable, "-m", "mkdocs", "build", "--no-strict", "--quiet", "--config-file", name]
                    subprocess.run(command, cwd=tree, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
                taken.append(time.perf_counter() - began)
        return statistics.median(times[ours]), statistics.median(times[stock])


def generate(tree: Path, count: int, *, stock: bool) -> Path:
    """Copy the project to a folder, with `count` pages made of the question pages in place of the real ones, and give the folder."""
    ignored = shutil.ignore_patterns(".git", ".venv", ".cache", "site", "node_modules", "labs", "templates", "__pycache__")
    shutil.copytree(ROOT, tree, ignore=ignored, symlinks=True)
    shutil.copytree(ROOT / "theme" / "labs", tree / "theme" / "labs")
    (tree / "docs" / "zh" / "templates").mkdir()
    sections = [f"part{number // SECTION}" for number in range(count)]
    for language in LANGUAGES:
        sources = [ROOT / "docs" / language / page.path for page in questions(language)]
        for path in list((tree / "docs" / language).iterdir()):
            if path.is_dir() and path.name != "templates":
                shutil.rmtree(path)
        for number, section in enumerate(sections):
            folder = tree / "docs" / language / section
            folder.mkdir(parents=True, exist_ok=True)
            text = sources[number % len(sources)].read_text("utf-8")
            (folder / f"page{number}.md").write_text(re.sub(r"^# ", f"# {number} ", text, count=1, flags=re.MULTILINE), "utf-8")
        (tree / "docs" / language / "index.md").write_text("# Generated { #generated }\n", "utf-8")
        (tree / "docs" / language / "review.md").unlink(missing_ok=True)
    grouped = {section: [f"{section}/page{number}.md" for number in range(count) if sections[number] == section] for section in sections}
    nav: list[Any] = ["index.md", *({section: paths} for section, paths in grouped.items())]
    for name in ("mkdocs.yml", "mkdocs.en.yml"):
        text = (tree / name).read_text("utf-8")
        if name == "mkdocs.yml":
            text = text[: text.index("\nnav:")] + "\n" + yaml.safe_dump({"nav": nav})
        (tree / name).write_text(stocked(text, name) if stock else text, "utf-8")
    return tree


def stocked(text: str, name: str) -> str:
    """Give a configuration of the project as one of stock Material: without hooks and templates, with Material's own search."""
    text = re.sub(r"^  (?:custom_dir|favicon): .*\n", "", _without(text, "hooks:", "  mkdocs-jupyter:"), flags=re.MULTILINE)
    language = "zh" if name == "mkdocs.yml" else "en"
    search = f"  material/search: {{lang: [{language}], separator: '{SEPARATORS[language]}'}}\n"
    return text.replace("plugins:\n", f"plugins:\n{search}") if "plugins:\n" in text else f"{text}plugins:\n{search}"


def _without(text: str, *beginnings: str) -> str:
    """Drop the YAML blocks that begin with these lines: the line and what is indented below it."""
    kept: list[str] = []
    dropping: int | None = None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if dropping is not None and line.strip() and indent <= dropping:
            dropping = None
        if dropping is None and line.startswith(beginnings):
            dropping = indent
        if dropping is None:
            kept.append(line)
    return "\n".join(kept) + "\n"


def _verdict(met: bool) -> str:  # noqa: FBT001 - one word for one flag
    return "met" if met else "MISSED"


if __name__ == "__main__":
    main()
