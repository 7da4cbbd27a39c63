"""Make what bench_search.py looks at: stock Material's build of the same pages, Pagefind's index of them, larger sites of their parts."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bench_site import stocked
from pages import questions, terms
from project import LANGUAGES, ROOT
from search_index.reading import Section, sections
from search_index.terms import terms_of
from search_index.weighing import Page
from search_index.writing import Index

sys.path.append(str(ROOT / "tests" / "search"))

from searching import name_of, queries

ARTICLE = re.compile(r"<article[^>]*>(.*?)</article>", re.DOTALL)
SPAN = re.compile(r"</?span[^>]*>")
MIXED = 0.5  # of a generated page's parts come from other pages
SEED = 7


def stock(tree: Path) -> Path:
    """Build the project's pages with stock Material, both languages, and give the site."""
    shutil.rmtree(tree, ignore_errors=True)
    ignored = shutil.ignore_patterns(".git", ".venv", ".cache", "site", "node_modules", "__pycache__", "*.ipynb")
    shutil.copytree(ROOT, tree, ignore=ignored, symlinks=True)
    for name in ("mkdocs.yml", "mkdocs.en.yml"):
        (tree / name).write_text(stocked((tree / name).read_text("utf-8"), name), "utf-8")
        command = [sys.executable, "-m", "mkdocs", "build", "--no-strict", "--quiet", "--config-file", name]
        path = f"{tree.parent / 'python'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        subprocess.run(command, cwd=tree, check=True, env={**os.environ, "PYTHONPATH": path, "NO_MKDOCS_2_WARNING": "1"}, stderr=subprocess.DEVNULL)
    return tree / "site"


def pagefind(site: Path, folder: Path) -> Path:
    """Copy a built site and add Pagefind's index of its articles."""
    target = folder / "pagefind"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(site, target)
    _index_by_pagefind(target, folder)
    return target


def libraries(site: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """Ask the libraries the test set's queries: for each and each language its index's size, the pages found, the time."""
    found: dict[str, dict[str, Any]] = {}
    for language in LANGUAGES:
        documents = [_document(kind, page, part) for kind, page in real_pages(site, language) for part in page.sections]
        named = [(name, term.names[0]) for term in terms_of(terms(), language) for name in [*term.names[1:], *term.wrong]]
        names = [(re.sub(r"[^\w]", "", name.lower()), main) for name, main in named]
        (folder / "documents.json").write_text(json.dumps({"sections": documents, "names": names}), "utf-8")
        (folder / "queries.json").write_text(json.dumps([query.query for query in queries(language)]), "utf-8")
        node = shutil.which("node", path=str(Path(sys.executable).parent.absolute())) or "node"
        files = [folder, folder / "documents.json", folder / "queries.json"]
        command: list[str | Path] = [node, "--no-warnings", ROOT / "scripts" / "search_libraries.mjs", *files]
        answers = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout)
        for name, answer in answers.items():
            found.setdefault(name, {})[language] = answer
    return found


def _document(kind: str, page: Page, part: Section) -> dict[str, str]:
    heading = part.heading if part.anchor else page.also
    text = f"{part.prose} {part.listing}"
    return {"page": name_of(page.address), "kind": kind, "title": page.sections[0].heading, "heading": heading, "text": text}


def real_pages(site: Path, language: str) -> Iterator[tuple[str, Page]]:
    """Give the pages of a built site that the search knows whole, with their kinds."""
    wanted = {page.path.removesuffix(".md"): "question" for page in questions(language)}
    wanted |= {"labs/roofline": "lab", "reference/glossary": "glossary", "reference/myths": "other", "reference/notices": "other"}
    for path, kind in wanted.items():
        yield kind, Page(f"{path}.md", f"{path}/", sections(article(site, language, path)), path.rpartition("/")[2])


def article(site: Path, language: str, path: str) -> str:
    """Give the article of a built page."""
    text = (site / ("" if language == "zh" else "en") / path / "index.html").read_text("utf-8")
    found = ARTICLE.search(text)
    return found[1] if found else ""


def scaled(count: int, folder: Path) -> dict[str, Path]:
    """Make the Chinese site with generated pages, for each of the three searches."""
    site = Path(os.environ.get("WARPWISE_SITE") or ROOT / ".cache" / "site")
    generated = list(mixed(site, count))
    made = {name: folder / f"{name}-{count}" for name in ("ours", "material", "pagefind")}
    for target in made.values():
        shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(site, made["ours"], ignore=shutil.ignore_patterns("en", "snippets"))
    _index(generated, made["ours"] / "search")
    shutil.copytree(stock(folder / "stock"), made["material"], ignore=shutil.ignore_patterns("en", "snippets"))
    _write_materials(made["material"] / "search" / "search_index.json", count)
    for number, text in enumerate(generated):
        (made["pagefind"] / f"page{number}").mkdir(parents=True)
        body = f"<body><article>{SPAN.sub('', text)}</article></body>"
        page = f'<!doctype html><html lang="zh"><meta charset="utf-8"><title>{number}</title>{body}</html>'
        (made["pagefind"] / f"page{number}" / "index.html").write_text(page, "utf-8")
    for name in ("index.html", "404.html"):
        shutil.copy(made["pagefind"] / "page0" / "index.html", made["pagefind"] / name)
    _index_by_pagefind(made["pagefind"], folder)
    return {"this site's": made["ours"], "stock Material": made["material"], "Pagefind": made["pagefind"]}


def mixed(site: Path, count: int) -> Iterator[str]:
    """Give generated articles: each the title of a question with a number, and its parts, about half of them exchanged for others'."""
    chance = random.Random(SEED)  # noqa: S311 - the same pages each time
    parts = [re.split(r"(?=<h2 )", article(site, "zh", page.path.removesuffix(".md"))) for page in questions("zh")]
    pool = [part for page in parts for part in page[1:]]
    for number in range(count):
        first, *rest = parts[number % len(parts)]
        yield re.sub(r"(<h1[^>]*>)", rf"\g<1>{number} ", first) + "".join(chance.choice(pool) if chance.random() < MIXED else part for part in rest)


def build_time(count: int) -> float:
    """Give the milliseconds of work that the search's part of a build is for each page, the glossary's reading included."""
    site = Path(os.environ.get("WARPWISE_SITE") or ROOT / ".cache" / "site")
    # A new folder: on ext4 a file costs ten times as much for a while after others were deleted.
    with tempfile.TemporaryDirectory() as folder:
        return 1000 * _index(mixed(site, count), Path(folder, "search")) / count


def _index(generated: Iterable[str], folder: Path) -> float:
    """Write the index of generated articles, and give the seconds of work, without those of making the articles."""
    began = time.process_time()
    index = Index(terms_of(terms(), "zh"))
    taken = time.process_time() - began
    for number, text in enumerate(generated):
        began = time.process_time()
        index.add("question", Page(f"part/page{number}.md", f"part/page{number}/", sections(text), f"page{number}"))
        taken += time.process_time() - began
    began = time.process_time()
    index.write(folder)
    return taken + time.process_time() - began


def _write_materials(path: Path, count: int) -> None:
    index = json.loads(path.read_text("utf-8"))
    wanted = [f"{page.path.removesuffix('.md')}/" for page in questions("zh")]
    pages = [[entry for entry in index["docs"] if entry["location"].partition("#")[0] == address] for address in wanted]
    chance = random.Random(SEED)  # noqa: S311 - the same pages each time
    pool = [entry for page in pages for entry in page[1:]]
    docs: list[dict[str, str]] = []
    for number in range(count):
        first, *rest = pages[number % len(pages)]
        docs.append({**first, "location": f"part/page{number}/", "title": f"{number} {first['title']}"})
        for place, entry in enumerate(rest):
            taken = chance.choice(pool) if chance.random() < MIXED else entry
            docs.append({**taken, "location": f"part/page{number}/#part{place}"})
    path.write_text(json.dumps({**index, "docs": docs}, ensure_ascii=False), "utf-8")


def _index_by_pagefind(target: Path, folder: Path) -> None:
    node = shutil.which("node", path=str(Path(sys.executable).parent.absolute())) or "node"
    command = folder / "node_modules" / "pagefind" / "lib" / "runner" / "bin.cjs"
    words = ["--site", str(target), "--root-selector", "article", "--quiet"]
    subprocess.run([node, str(command), *words], check=True, stdout=subprocess.DEVNULL)
