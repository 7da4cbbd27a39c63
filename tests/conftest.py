"""What the tests share: the built site, a server for it, a browser."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, sync_playwright

import web_build
from project import ROOT, TEST_SITE_URL
from static_server import serving

# Chromium's own traffic is kept off: every request in the tests is one that a page made.
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site; dev.py test builds it before the tests, a bare pytest builds it here."""
    if folder := os.environ.get("WARPWISE_SITE"):
        return Path(folder)
    if os.environ.get("PYTEST_XDIST_WORKER"):
        pytest.fail("several workers would build the site at once: use python3 scripts/dev.py test, or pytest without -n")
    _bundle()
    folder = str(ROOT / ".cache" / "site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        check=True,
        env={**os.environ, "SITE_URL": TEST_SITE_URL},
    )
    return Path(folder)


def _bundle() -> None:
    """Bundle the browser's part as dev.py does, since a bundle of yesterday's sources fails in ways that do not name it."""
    try:
        web_build.build()
    except SystemExit as reason:
        pytest.fail(f"the site cannot be built: {reason}", pytrace=False)


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The address of a server that gives the site below a path, as a project's page has it."""
    with serving(site, urlsplit(TEST_SITE_URL).path) as found:
        yield found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium: the one that dev.py found."""
    with sync_playwright() as playwright:
        path = os.environ.get("WARPWISE_CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()
