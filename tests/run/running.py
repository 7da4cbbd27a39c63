"""What the tests of runnable blocks share: the blocks, links that carry code, a second server that must stay unasked."""

import base64
import http.server
import re
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page

from project import ROOT, SNIPPETS

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
# Off: Material's phone navigation labels a section's list with the words of its heading, twice in the drawer.
AXE_RUN = """(where) => axe.run(where, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], rules: {'landmark-unique': {enabled: false}}
})"""
PHONE: Any = {"width": 390, "height": 844}
DESKTOP: Any = {"width": 1400, "height": 900}
ENDED = "[data-state=done], [data-state=failed], [data-state=stopped]"
BLOCK = re.compile(r'data-snippet="([\w-]+/\w+\.py)"')
# The block with controls and a drawing, and one with neither.
STRIDE, PAGE = "bank-conflicts/stride.py", "memory/bank-conflicts/"
PLAIN, PLAIN_PAGE = "vectorized-access/sectors.py", "memory/vectorized-access/"


def pages_with_blocks(site: Path) -> list[tuple[str, list[str]]]:
    """Give each page that has runnable blocks: its path below the site, its snippets."""
    found = [(path.relative_to(site).as_posix().removesuffix("index.html"), BLOCK.findall(path.read_text("utf-8"))) for path in site.rglob("*.html")]
    return sorted((path, snippets) for path, snippets in found if snippets)


def block(page: Page, snippet: str = STRIDE) -> Locator:
    """Give a page's block."""
    return page.locator(f'[data-snippet="{snippet}"]')


def run(page: Page, snippet: str = STRIDE, *, patience: int = 60) -> str:
    """Press Run and give the state in which the block ends."""
    forget(page, snippet)
    block(page, snippet).locator("button[data-action=run]").click()
    return ended(page, snippet, patience=patience)


def forget(page: Page, snippet: str = STRIDE) -> None:
    """Take the state of an earlier run away, so that the next one's can be waited for."""
    block(page, snippet).evaluate("(element) => { element.dataset.state = 'idle'; }")


def ended(page: Page, snippet: str = STRIDE, *, patience: int = 60) -> str:
    """Wait for the end of a run and give the state; patience in seconds, for a machine that does other work."""
    page.locator(f'[data-snippet="{snippet}"]:is({ENDED})').wait_for(timeout=patience * 1000)
    return block(page, snippet).get_attribute("data-state") or ""


def reset(page: Page, snippet: str = STRIDE) -> None:
    """Bring the original back."""
    button = block(page, snippet).locator("[data-action=reset]")
    button.click()
    button.wait_for(state="hidden")


def output(page: Page, snippet: str = STRIDE) -> str:
    """Give what a block's run printed."""
    return block(page, snippet).locator("output").text_content() or ""


def status(page: Page, snippet: str = STRIDE) -> str:
    """Give the sentence beside the buttons."""
    return block(page, snippet).locator(".run-status").text_content() or ""


def recorded(snippet: str) -> str:
    """Give the output that is kept beside a snippet."""
    return (SNIPPETS / snippet).with_suffix(".txt").read_text("utf-8")


def link(address: str, code: str | None = None, snippet: str = STRIDE, **values: str) -> str:
    """Make a link that carries a block's code or values, as the page makes it."""
    fragment = {"run": snippet, **values}
    if code is not None:
        packer = zlib.compressobj(wbits=-15)
        fragment["code"] = base64.urlsafe_b64encode(packer.compress(code.encode()) + packer.flush()).decode().rstrip("=")
    return f"{address}#{urlencode(fragment)}"


def open_link(page: Page, address: str) -> None:
    """Open a link, in the page that is open already or in a new one, and wait until its code stands there."""
    # Without the buttons' sentence of before, so that the new one can be waited for.
    if page.url.startswith(address.partition("#")[0]):
        page.evaluate("for (const status of document.querySelectorAll('.run-status')) status.textContent = ''")
    page.goto(address)
    page.locator(".run-status:not(:empty)").first.wait_for()


@contextmanager
def listening() -> Iterator[tuple[str, list[str]]]:
    """Run a server on another port; give its address and the list of what it was asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        """Answer everything, to everyone."""

        def do_GET(self) -> None:
            asked.append(f"{self.command} {self.path}")
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Content-Type", "text/javascript")
            self.end_headers()

        do_POST = do_HEAD = do_OPTIONS = do_GET  # noqa: N815 - the base class's own names

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class's own signature
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", asked
    finally:
        server.shutdown()
        server.server_close()
