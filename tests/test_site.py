"""The built site as a whole: valid, complete, self-contained, the same bytes each time, under any path."""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bench_site
import lonely
import pages
import project
from project import LANGUAGES, ROOT

# Addresses that are no request: XML namespaces, the links that a reader may follow, the site's own canonical address.
NOT_REQUESTED = re.compile(r'<a\b[^>]*>|<link rel="(?:canonical|prev|next|alternate)"[^>]*>|xmlns(?::\w+)?="[^"]*"')
REQUESTING = re.compile(
    r'(?:src|href|srcset|data|poster|action)="((?:https?:)?//[^"]+)"|url\(["\']?((?:https?:)?//[^)"\']+)|@import\s+["\']((?:https?:)?//[^"\']+)'
)


def pages_of(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_no_page_asks_another_host(site: Path) -> None:
    for path in [*pages_of(site), *site.rglob("*.css"), *site.rglob("*.svg")]:
        text = NOT_REQUESTED.sub("", path.read_text("utf-8"))
        found = [next(filter(None, match.groups())) for match in REQUESTING.finditer(text)]
        assert not found, f"{path.relative_to(site)} would ask {found}"


def test_every_page_has_the_policy_and_a_description(site: Path) -> None:
    for path in pages_of(site):
        text = path.read_text("utf-8")
        policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)"', text)
        assert policy, path
        scripts = policy[1].split("script-src ")[1].split(";")[0]
        assert "unsafe-inline" not in policy[1], path
        assert "connect-src 'self'" in policy[1], path
        # Every inline script that the page holds is one whose hash the policy names.
        inline = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
        assert inline
        assert len(scripts.split()) == 1 + len(set(inline)), path
        assert re.search(r'<meta name="description" content="[^"]{10,}"', text), path


def test_what_a_page_says_to_its_writers_is_left_out(site: Path) -> None:
    for path in pages_of(site):
        assert "<!--" not in re.sub(r"<(script|style)\b.*?</\1>", "", path.read_text("utf-8"), flags=re.DOTALL), path


def test_html_is_valid(site: Path) -> None:
    node = shutil.which("node", path=str(Path(sys.executable).parent)) or shutil.which("node")
    if not node or not (ROOT / "web" / "node_modules" / "html-validate").is_dir():
        pytest.fail("html-validate is not installed: python3 scripts/dev.py test installs it", pytrace=False)
    command = [node, "node_modules/html-validate/bin/html-validate.mjs", "--config", "html-validate.mjs", f"{site}/**/*.html"]
    done = subprocess.run(command, cwd=ROOT / "web", capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout[-6000:] + done.stderr[-2000:]


def test_links_and_anchors(site: Path) -> None:
    done = subprocess.run(
        [sys.executable, "scripts/check_links.py", site, "--site-url", project.TEST_SITE_URL], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stdout[-6000:] + done.stderr[-2000:]


def test_published_sources_are_those_that_the_pages_show(site: Path) -> None:
    for folder in project.snippet_folders():
        for path in [*folder.glob("*.py"), *folder.glob("*.cu"), *folder.glob("*.json")]:
            for root in (site, site / "en"):
                assert (root / "snippets" / folder.name / path.name).read_text("utf-8") == project.published(path)
                assert "--8<--" not in project.published(path)


def test_the_not_found_page_of_the_root_speaks_both_languages(site: Path) -> None:
    text = (site / "404.html").read_text("utf-8")
    assert 'data-404="zh"' in text
    assert 'data-404="en"' in text


def test_sitemap_joins_the_languages(site: Path) -> None:
    alone = lonely.files(ROOT)
    for ours, name in (("zh", "sitemap.xml"), ("en", "en/sitemap.xml")):
        text = (site / name).read_text("utf-8")
        for language in LANGUAGES:
            assert text.count(f'hreflang="{language}"') == text.count("<url>") - sum(file.startswith(f"docs/{ours}/") for file in alone)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project at another path, with other file times, whose name has a space."""
    target = tmp_path_factory.mktemp("other place") / "a copy"
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)
    shutil.copytree(ROOT / "theme" / "assets" / "built", target / "theme" / "assets" / "built")
    return target


def build(copy: Path, tool: str = "mkdocs", **environment: str) -> Path:
    target = copy / ".cache" / f"site-{tool}-{len(environment)}"
    epoch = {"SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", "1790000000")}
    done = subprocess.run(
        [sys.executable, "-m", tool, "build", "--strict", "--site-dir", target],
        cwd=copy,
        env={**os.environ, **epoch, "NO_MKDOCS_2_WARNING": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stdout[-3000:] + done.stderr[-3000:]
    return target


def digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def test_the_same_sources_give_the_same_bytes_elsewhere_and_on_another_day(copy: Path) -> None:
    ours = digests(build(copy))
    (copy.parent / "b").mkdir()
    moved = copy.parent / "b" / "moved"
    shutil.copytree(copy, moved, ignore=shutil.ignore_patterns(".cache"))
    for path in moved.rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    assert digests(build(moved)) == ours


def test_properdocs_builds_the_same_site(copy: Path) -> None:
    ours, theirs = build(copy), build(copy, "properdocs")
    assert digests(ours).keys() == digests(theirs).keys()
    for name in digests(ours):
        if name.endswith(".html"):
            texts = [re.sub(r'<meta name="generator"[^>]*>', "", (folder / name).read_text("utf-8")) for folder in (ours, theirs)]
            assert texts[0] == texts[1], name
        elif not name.endswith(".gz"):
            assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name
        else:
            assert gzip.decompress((ours / name).read_bytes()) == gzip.decompress((theirs / name).read_bytes()), name


def test_edit_links_lead_to_files_and_a_sub_path_changes_addresses_only(copy: Path) -> None:
    repository = "https://git.example/warpwise/warpwise"
    target = build(copy, REPO_URL=repository, SITE_URL="https://pages.example/warpwise/")
    found = 0
    for path in pages_of(target):
        for link in re.findall(rf'href="{re.escape(repository)}/edit/main/([^"]+)"', path.read_text("utf-8")):
            found += 1
            assert (copy / link).is_file(), f"{path.relative_to(target)} links to {link} for editing, and there is no such file"
    assert found
    canonical = re.search(r'<link rel="canonical" href="([^"]+)"', (target / "en" / "review" / "index.html").read_text("utf-8"))
    assert canonical
    assert canonical[1] == "https://pages.example/warpwise/en/review/"


def test_without_a_repository_there_are_no_edit_links(site: Path) -> None:
    if os.environ.get("REPO_URL"):
        pytest.skip("REPO_URL is set")
    assert not [path for path in pages_of(site) if 'rel="edit"' in path.read_text("utf-8")]


def test_no_page_uses_a_class_whose_styles_were_left_out(site: Path) -> None:
    patterns = {re.compile(pattern): why for pattern, why in json.loads((ROOT / "web" / "unused.json").read_text("utf-8")).items()}
    classes = {name for path in pages_of(site) for names in re.findall(r' class="([^"]+)"', path.read_text("utf-8")) for name in names.split()}
    assert len(classes) > 50
    for name in classes:
        reasons = [why for pattern, why in patterns.items() if pattern.search(name)]
        assert not reasons, f"class {name} is in use, but web/unused.json leaves its styles out: {reasons}"


def test_question_pages_are_light(site: Path) -> None:
    for language, prefix in (("zh", ""), ("en", "en/")):
        for page in pages.questions(language):
            size = bench_site.weight(site, prefix + page.path.removesuffix(".md"))
            assert size <= bench_site.FIRST_VIEW, f"docs/{language}/{page.path}: {size / 1024:.1f} KiB compressed on first view"
