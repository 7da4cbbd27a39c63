"""Run in the page: what a reader does with a block, in Chromium."""

import gzip
import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page
from running import (
    AXE,
    AXE_RUN,
    DESKTOP,
    PAGE,
    PHONE,
    PLAIN,
    PLAIN_PAGE,
    STRIDE,
    block,
    ended,
    forget,
    link,
    open_link,
    output,
    pages_with_blocks,
    recorded,
    reset,
    run,
    status,
)

from project import ROOT, SNIPPETS, TEST_SITE_URL, published
from static_server import serving

READABILITY = ROOT / "web" / "node_modules" / "@mozilla" / "readability" / "Readability.js"
LOADED = re.compile(r"/(python|editor|run|runner)\.[0-9a-f]{8}\.")


@pytest.fixture
def troubles() -> list[str]:
    """What went wrong in the page; a test that provokes it clears it."""
    return []


@pytest.fixture
def page(browser: Browser, troubles: list[str]) -> Iterator[Page]:
    """A page whose console stays clean."""

    def note(message: ConsoleMessage) -> None:
        # That this browser is told to block service workers is no trouble of the site.
        if message.type in {"error", "warning"} and "Service Worker" not in message.text:
            troubles.append(message.text)

    context = browser.new_context(viewport=DESKTOP, service_workers="block")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.on("console", note)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    yield page
    context.close()
    assert not troubles


def test_every_block_prints_what_is_recorded(site: Path, address: str, page: Page) -> None:
    found = pages_with_blocks(site)
    assert {snippet for _, snippets in found for snippet in snippets} >= {STRIDE, PLAIN}
    for path, snippets in found:
        page.goto(address + path)
        for snippet in snippets:
            here = block(page, snippet)
            assert here.get_attribute("data-state") == "idle"
            assert run(page, snippet) == "done", output(page, snippet)
            assert output(page, snippet) == recorded(snippet)
            if draw := here.get_attribute("data-draw"):
                kept = (SNIPPETS / snippet).parent / f"{draw.removeprefix('draw_').removesuffix('.py')}.svg"
                source = here.locator("output img").get_attribute("src") or ""
                assert shape(unquote(source.partition(",")[2])) == shape(kept.read_text("utf-8")), f"{path}: {draw} draws another picture here"


def shape(svg: str) -> list[str]:
    """Give what a figure draws, whatever its colours and fonts are."""
    return re.findall(r' (?:d|x|y|width|height|points|transform)="[^"]*"|>[^<]+<', svg)


def test_a_page_whose_reader_never_presses_loads_nothing_of_it(site: Path, address: str, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for path, _ in pages_with_blocks(site):
        page.goto(address + path, wait_until="networkidle")
        page.mouse.wheel(0, 5000)
    assert not [url for url in asked if LOADED.search(url)]
    with page.expect_response(LOADED):
        block(page, pages_with_blocks(site)[-1][1][0]).locator("button[data-action=run]").click()


def test_what_is_loaded_is_small(site: Path) -> None:
    built = {path.name.partition(".")[0]: path for path in (site / "assets" / "built").iterdir() if path.suffix != ".css"}
    assert len(built["python"].read_bytes()) <= 6_300_000
    assert len(gzip.compress(built["editor"].read_bytes(), 9)) <= 150_000
    assert len(gzip.compress(built["run"].read_bytes(), 9)) <= 12_000
    # The English site uses the same files.
    assert not [path for path in (site / "en").rglob("*") if LOADED.search(f"/{path.name}") and path.suffix != ".json"]


def test_the_button_says_the_size_once_and_progress_counts_to_it(browser: Browser, site: Path, address: str) -> None:
    size = next((site / "assets" / "built").glob("python.*")).stat().st_size
    context = browser.new_context(service_workers="block")
    page = context.new_page()
    page.goto(f"{address}en/{PLAIN_PAGE}")
    buttons = page.locator("button[data-action=run]")
    for text in buttons.all_inner_texts():
        assert re.fullmatch(r"Run\s*loads 5\.\d MB once", text)
    # A slow line: the transfer takes about three seconds.
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", {"offline": False, "latency": 20, "downloadThroughput": size / 3, "uploadThroughput": size})
    buttons.first.click()
    block(page, PLAIN).page.locator(".run-counted:not(:empty)").wait_for()
    assert re.fullmatch(r"\d\.\d of 5\.\d MB", page.locator(".run-counted").first.inner_text())
    assert float(page.locator("progress").first.get_attribute("max") or 0) == size
    # It can be cancelled, and pressed again.
    page.locator("[data-action=stop]").first.click()
    page.locator("[data-state=loading]").wait_for(state="detached")
    assert page.locator("[data-snippet]").first.get_attribute("data-state") == "idle"
    assert not page.locator("iframe").count()
    session.send("Network.emulateNetworkConditions", {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})
    first = page.locator("[data-snippet]").first.get_attribute("data-snippet") or ""
    assert run(page, first) == "done"
    assert "MB" not in "".join(buttons.all_inner_texts())
    context.close()


def test_a_failed_download_says_so_and_can_be_tried_again(page: Page, address: str, troubles: list[str]) -> None:
    page.route(re.compile(r"/python\."), lambda route: route.abort())
    page.goto(f"{address}en/{PLAIN_PAGE}")
    assert run(page, PLAIN) == "failed"
    assert "Not loaded" in status(page, PLAIN)
    page.unroute_all()
    assert run(page, PLAIN) == "done"
    troubles.clear()  # the browser's own line about the failed download


def test_data_saving_asks_first(browser: Browser, address: str) -> None:
    context = browser.new_context(service_workers="block")
    context.add_init_script("Object.defineProperty(Navigator.prototype, 'connection', { value: { saveData: true } })")
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}en/{PLAIN_PAGE}")
    button = block(page, PLAIN).locator("button[data-action=run]")
    button.click()
    page.locator(".run-status:not(:empty)").wait_for()
    assert re.search(r"loads 5\.\d MB", status(page, PLAIN))
    assert not [url for url in asked if "/python." in url]
    assert run(page, PLAIN) == "done"
    context.close()


@pytest.mark.parametrize("missing", ["WebAssembly", "Worker", "DecompressionStream"])
def test_where_something_is_missing_there_is_no_button(browser: Browser, address: str, missing: str) -> None:
    context = browser.new_context()
    context.add_init_script(f"delete globalThis.{missing}")
    page = context.new_page()
    page.goto(address + PAGE, wait_until="networkidle")
    assert not page.locator("[data-snippet] button:not(.md-code__button)").count()
    assert page.locator(".output code").first.text_content() == recorded(STRIDE)
    context.close()


def test_reader_mode_keeps_code_and_recorded_output_and_no_button(browser: Browser, address: str) -> None:
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    page.goto(address + PAGE)
    page.add_script_tag(path=READABILITY)
    article = page.evaluate("new Readability(document.cloneNode(true)).parse().content")
    assert "def schedule" in re.sub("<[^>]+>", "", article)
    assert "wavefronts/conflicts a load" in article
    assert not re.search(r"<(button|input|select|progress)\b", article)
    context.close()


def test_paper_carries_code_and_recorded_output(page: Page, address: str) -> None:
    page.goto(address + PAGE)
    run(page)
    block(page).locator("[data-action=edit]").click()
    page.locator(".run-editor").wait_for()
    page.emulate_media(media="print")
    assert block(page).locator("pre").first.is_visible()
    assert page.locator(".output", has_text="wavefronts/conflicts a load").is_visible()
    for hidden in (".run-bar", ".run-controls input >> nth=0", ".run-editor", "output"):
        assert not block(page).locator(hidden).is_visible(), hidden


def test_output_is_seen_as_it_comes(page: Page, address: str) -> None:
    code = "import time\nfor i in range(5):\n    print('line', i)\n    time.sleep(0.4)\n"
    open_link(page, link(address + PLAIN_PAGE, code, PLAIN))
    block(page, PLAIN).locator("[data-action=run]").click()
    page.locator("output", has_text="line 1").wait_for()
    assert "line 4" not in output(page, PLAIN)
    assert block(page, PLAIN).get_attribute("data-state") == "running"
    assert ended(page, PLAIN) == "done"
    assert output(page, PLAIN) == "".join(f"line {i}\n" for i in range(5))


FAILURES = {
    "an error": ("def half(n):\n    return 1 / n\n\nhalf(0)\n", 2, "ZeroDivisionError: division by zero", ""),
    "a syntax error": ("print(1)\nfor\n", 2, "SyntaxError: invalid syntax", ""),
    "input": ("print('begin')\nname = input('Who? ')\n", 2, "begin\nWho? ", "Nobody can type in the page"),
    "a missing module": ("import numpy\n", 1, "ModuleNotFoundError: No module named 'numpy'", "standard library and no numpy"),
    "a trimmed module": ("import sqlite3\n", 1, "ModuleNotFoundError", "trimmed and has no sqlite3"),
    "a thread": ("import threading\nthreading.Thread(target=print).start()\n", 2, "RuntimeError: can't start new thread", "cannot start threads"),
    "a process": ("import subprocess\nsubprocess.run(['ls'])\n", 2, "does not support processes", "cannot start threads"),
    "an exit": ("import sys\nsys.exit('no data')\n", None, "no data", ""),
}


def test_errors_name_the_readers_line_and_nothing_of_the_runtime(page: Page, address: str) -> None:
    for code, line, printed, explained in FAILURES.values():
        open_link(page, link(f"{address}en/{PLAIN_PAGE}", code, PLAIN))
        assert run(page, PLAIN) == "failed"
        text = output(page, PLAIN)
        assert printed in text
        assert explained in text
        assert not re.search(r"_warpwise|runpy|pyodide|/snippet", text), text
        if line:
            assert f"line {line}" in status(page, PLAIN)
            marked = block(page, PLAIN).locator(".run-failed")
            assert marked.text_content() == code.splitlines(keepends=True)[line - 1]


def test_editor(page: Page, address: str) -> None:
    page.goto(f"{address}en/{PAGE}")
    here = block(page)
    section = here.locator("pre code").first.text_content() or ""
    here.locator("[data-action=edit]").click()
    editor = here.locator(".cm-content")
    editor.wait_for()
    assert editor.get_attribute("role") == "textbox"
    assert editor.get_attribute("aria-label") == "Editor of stride.py"
    assert page.evaluate("document.activeElement.matches('.run-editor')")
    # The section alone, with the file's line numbers; the whole file on demand; back again.
    assert text_of(page).strip() == section.strip()
    here.get_by_role("button", name="Whole file").click()
    assert text_of(page) == published(SNIPPETS / STRIDE)
    here.get_by_role("button", name="This part only").click()
    assert text_of(page).strip() == section.strip()
    # Indentation, undo, run by keyboard: the whole file runs, whatever is shown.
    page.keyboard.press("Control+End")
    page.keyboard.type("\n\nfor lane in (1,):\nprint('lane', lane)")
    assert text_of(page).endswith("for lane in (1,):\n    print('lane', lane)")
    forget(page)
    page.keyboard.press("Control+Enter")
    assert ended(page) == "done"
    assert output(page).startswith("lane 1\n")
    assert recorded(STRIDE) in output(page)
    # Its failed line is marked.
    page.keyboard.type("\n1 / 0")
    forget(page)
    page.keyboard.press("Control+Enter")
    page.locator("[data-state=failed]").wait_for()
    assert here.locator(".cm-failed").text_content() == "    1 / 0"
    # Tab indents, so Escape leads out.
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.run-editor')")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.action") == "run"
    # An edit stays on this device, in both languages; nothing is loaded to show it.
    edited = here_text(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for path in (f"en/{PAGE}", PAGE):
        page.goto(address + path)
        page.locator(".run-plain").wait_for()
        assert here_text(page) == edited
    assert not [url for url in asked if re.search(r"/(python|editor)\.", url)]
    reset(page)
    assert not page.locator(".run-plain").count()
    page.reload()
    page.wait_for_timeout(300)
    assert not page.locator(".run-plain").count()


def text_of(page: Page) -> str:
    """Give the editor's text. Its lines are drawn as they come into sight, so it is copied."""
    block(page).locator(".cm-content").focus()
    page.keyboard.press("Control+A")
    page.keyboard.press("Control+C")
    text: str = page.evaluate("navigator.clipboard.readText()")
    page.keyboard.press("Control+End")
    return text


def here_text(page: Page) -> str:
    """Give the whole text that a block would run: the one that its button copies."""
    block(page).locator(".run-status").evaluate("(status) => { status.textContent = ''; }")
    block(page).locator("[data-action=copy]").click()
    page.locator(".run-status", has_text=re.compile("copied|已复制")).wait_for()
    copied: str = page.evaluate("navigator.clipboard.readText()")
    return copied


def test_controls_change_the_code_and_redraw(page: Page, address: str) -> None:
    page.goto(f"{address}en/{PAGE}")
    here = block(page)
    assert [label.partition(":")[0] for label in here.locator(".run-controls label").all_inner_texts()] == [
        "STRIDE",
        "ACCESS_BYTES",
        "PADDING",
        "SWIZZLE",
    ]
    move(page, "STRIDE", "32")
    page.locator(".run-status:not(:empty)").wait_for()
    assert "STRIDE = 32  #" in (here.locator("pre code").first.text_content() or "")
    assert here.get_attribute("data-state") == "idle", "before the first press a control loads nothing"
    assert run(page) == "done"
    assert output(page).startswith("stride 32 x 4 B, padding 0 words, swizzle off: 32 wavefronts, 31 conflicts")
    picture = here.locator("output img")
    assert "32 wavefronts, 31 conflicts" in unquote(picture.get_attribute("src") or "")
    assert (picture.get_attribute("alt") or "").startswith("Drawn by draw_banks.py")
    # From here on, moving is running.
    here.locator("[data-name=PADDING]").focus()
    page.keyboard.press("ArrowRight")
    seen(page, "padding 1 words, swizzle off: 1 wavefronts")
    here.locator("[data-name=PADDING]").focus()
    page.keyboard.press("ArrowLeft")
    here.locator("[data-name=SWIZZLE]").check()
    seen(page, "padding 0 words, swizzle on: 1 wavefronts")
    here.locator("[data-name=ACCESS_BYTES]").select_option("16")
    seen(page, "stride 32 x 16 B")
    # The colours are the theme's, in light and in dark.
    light = unquote(picture.get_attribute("src") or "")
    assert "var(" not in light
    page.click("label[for^=__palette_]:visible")
    page.wait_for_timeout(300)
    dark = unquote(picture.get_attribute("src") or "")
    assert light != dark
    assert shape(light) == shape(dark)
    # The editor and the controls are one text.
    here.locator("[data-action=edit]").click()
    here.locator(".cm-content").wait_for()
    assert "SWIZZLE = True  #" in text_of(page)
    move(page, "STRIDE", "5")
    seen(page, "stride 5 x 16 B")
    assert "STRIDE = 5  #" in text_of(page)
    reset(page)
    assert [here.locator(f"[data-name={name}]").input_value() for name in ("STRIDE", "PADDING")] == ["8", "0"]
    assert not here.locator("[data-name=SWIZZLE]").is_checked()


def move(page: Page, name: str, value: str) -> None:
    """Move a slider."""
    block(page).locator(f"[data-name={name}]").fill(value)


def seen(page: Page, words: str) -> None:
    """Wait until a block's output holds these words, and the picture belongs to them."""
    page.locator("output", has_text=words).wait_for()
    assert ended(page) == "done"


def test_a_link_carries_values_or_code_and_runs_nothing_by_itself(page: Page, address: str) -> None:
    page.goto(f"{address}en/{PAGE}")
    move(page, "STRIDE", "32")
    page.locator(".run-status:not(:empty)").wait_for()
    shared = share(page)
    assert shared == f"{address}en/{PAGE}#run={STRIDE}&STRIDE=32"
    block(page).locator("[data-action=edit]").click()
    block(page).locator(".cm-content").wait_for()
    page.keyboard.press("Control+End")
    page.keyboard.type("\n\n\nprint('from a friend')")
    with_code = share(page)
    assert "&code=" in with_code
    page.evaluate("localStorage.clear()")
    other = page.context.new_page()
    other.goto(shared)
    other.locator(".run-status:not(:empty)").wait_for()
    assert "STRIDE = 32  #" in (block(other).locator("pre code").first.text_content() or "")
    other.goto(with_code)
    other.locator(".run-plain").wait_for()
    assert "from a friend" in other.locator(".run-plain").inner_text()
    assert "has not run" in status(other)
    assert block(other).get_attribute("data-state") == "idle"
    assert not other.locator("iframe").count()
    assert run(other) == "done"
    assert "from a friend" in output(other)


@pytest.mark.parametrize("fragment", ["STRIDE=1%2B1", "STRIDE=99", "STRIDE=32;import os", "SWIZZLE=1", "nothing=1", "code=!!!", "code=AAAA", "code="])
def test_a_link_that_carries_something_else_shows_the_original(page: Page, address: str, fragment: str) -> None:
    page.goto(f"{address}{PAGE}#run={STRIDE}&{fragment}")
    page.wait_for_timeout(400)
    assert "STRIDE = 8  #" in (block(page).locator("pre code").first.text_content() or "")
    assert not page.locator(".run-plain").count()


def test_a_link_cannot_fill_the_memory(page: Page, address: str) -> None:
    open_link(page, link(address + PAGE, "#" * 30_000_000))
    assert "读不出来" in status(page)


def share(page: Page) -> str:
    """Press Link and give what is in the clipboard."""
    block(page).locator(".run-status").evaluate("(status) => { status.textContent = ''; }")
    block(page).locator("[data-action=share]").click()
    page.locator(".run-status", has_text=re.compile("Link copied|链接已复制")).wait_for()
    copied: str = page.evaluate("navigator.clipboard.readText()")
    return copied


def test_download_gives_the_file_as_it_is(page: Page, address: str) -> None:
    page.goto(address + PAGE)
    with page.expect_download() as download:
        block(page).locator("[data-action=download]").click()
    assert download.value.suggested_filename == "stride.py"
    assert Path(download.value.path()).read_text("utf-8") == published(SNIPPETS / STRIDE)


def test_another_block_finds_nothing_of_what_ran_before(page: Page, address: str) -> None:
    code = "import sys, math, builtins\nmath.pi = 3\nbuiltins.harm = 1\nsys.modules['html'] = None\nopen('/tmp/x', 'w').write('x')\n"
    open_link(page, link(address + PLAIN_PAGE, code, PLAIN))
    assert run(page, PLAIN) == "done"
    reset(page, PLAIN)
    probe = "import math, builtins, html, os\nprint(math.pi, hasattr(builtins, 'harm'), os.path.exists('/tmp/x'))\n"
    other = "vectorized-access/bandwidth.py"
    open_link(page, link(address + PLAIN_PAGE, probe, other))
    assert run(page, other) == "done"
    assert output(page, other) == "3.141592653589793 False False\n"


def test_where_a_snapshot_fails_a_worker_starts_without_one(page: Page, address: str) -> None:
    page.goto(address + PLAIN_PAGE)
    assert run(page, PLAIN) == "done"
    inner = next(frame for frame in page.frames if frame.parent_frame and frame.parent_frame.parent_frame)
    inner.evaluate(
        """() => {
          const { postMessage } = Worker.prototype;
          Worker.prototype.postMessage = function (message) {
            globalThis.snapshots = [...(globalThis.snapshots ?? []), Boolean(message.snapshot)];
            postMessage.call(this, message.snapshot ? { ...message, snapshot: message.snapshot.slice(0, 4096) } : message);
          };
        }"""
    )
    # Another block gets another worker.
    other = "vectorized-access/bandwidth.py"
    assert run(page, other) == "done"
    assert output(page, other) == recorded(other)
    starts = inner.evaluate("snapshots.slice(0, 3)")
    assert starts == [True, True, False], "from the snapshot, once more from it, then without"


def test_open_again_without_a_network(browser: Browser, site: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    # Below a path, and with a second site of the same host that must not notice.
    with serving(site, urlsplit(TEST_SITE_URL).path) as address:
        page.goto(f"{address}en/{PAGE}")
        assert run(page) == "done"
        page.evaluate("navigator.serviceWorker.ready.then(() => null)")
        # What the page had loaded before the service worker came is kept a moment later.
        page.wait_for_timeout(1500)
        page.goto(f"{address}en/review/")
        page.wait_for_load_state("networkidle")
        scopes = page.evaluate("navigator.serviceWorker.getRegistrations().then((all) => all.map(({ scope }) => scope))")
        assert scopes == [address]
    # The server is gone.
    page.goto(f"{address}en/{PAGE}")
    assert page.locator("h1").inner_text().startswith("What is a bank conflict")
    assert page.evaluate("getComputedStyle(document.querySelector('.run-button')).cursor") == "pointer"
    assert run(page) == "done"
    assert output(page) == recorded(STRIDE)
    block(page).locator("[data-action=edit]").click()
    block(page).locator(".cm-content").wait_for()
    page.goto(f"{address}en/review/")
    assert page.locator("h1").is_visible()
    context.close()


def test_a_new_version_comes_through_at_once_and_the_old_files_go(browser: Browser, site: Path, tmp_path: Path) -> None:
    copy = tmp_path / "site"
    shutil.copytree(site, copy, ignore=shutil.ignore_patterns("en", "*.bin", "snippets"))
    context = browser.new_context()
    page = context.new_page()
    with serving(copy, urlsplit(TEST_SITE_URL).path) as address:
        page.goto(f"{address}review/")
        page.evaluate("navigator.serviceWorker.ready.then(() => null)")
        page.wait_for_timeout(1000)
        page.reload()
        old = next(copy.glob("assets/built/site.*.css")).name
        assert any(url.endswith(old) for url in kept(page))
        # The next version: another style, another text, another service worker.
        style = next(copy.glob("assets/built/site.*.css"))
        style.rename(style.with_name("site.00000000.css"))
        for path in copy.rglob("*.html"):
            path.write_text(path.read_text("utf-8").replace(old, "site.00000000.css").replace("<h1", "<h1 data-new", 1), "utf-8")
        (copy / "sw.js").write_text((copy / "sw.js").read_text("utf-8") + "\n// 2\n", "utf-8")
        page.reload()
        assert page.locator("h1[data-new]").count()
        page.evaluate("navigator.serviceWorker.getRegistration().then((found) => found.update()).then(() => null)")
        page.wait_for_timeout(1500)
        names = {url.rpartition("/")[2] for url in kept(page)}
        assert "site.00000000.css" in names
        assert old not in names
    context.close()


def kept(page: Page) -> list[str]:
    """Give the addresses in the site's caches."""
    found: list[str] = page.evaluate(
        """async () => {
          const lists = [];
          for (const name of await caches.keys()) lists.push(...(await (await caches.open(name)).keys()));
          return lists.map(({ url }) => url);
        }"""
    )
    return found


def test_the_two_policies(site: Path, page: Page, address: str, troubles: list[str]) -> None:
    text = (site / PAGE / "index.html").read_text("utf-8")
    of_page = policies(text)[0]
    assert "wasm" not in of_page
    assert "blob:" not in of_page
    # The runner's page and the frame in it have one policy.
    of_runner = policies(unescape(next((site / "assets" / "built").glob("runner.*")).read_text("utf-8")))
    assert len(of_runner) == 2
    assert of_runner[0] == of_runner[1]
    assert re.fullmatch(r"default-src 'none'; script-src 'sha256-[\w+/]{43}=' 'wasm-unsafe-eval'; worker-src blob:", of_runner[0])
    page.goto(address + PLAIN_PAGE)
    assert run(page, PLAIN) == "done"
    # The frame in which it runs is of no origin, and the page cannot be reached from it.
    frames = [frame for frame in page.frames if frame.parent_frame]
    inner = next(frame for frame in frames if frame.parent_frame and frame.parent_frame.parent_frame)
    assert inner.evaluate("origin") == "null"
    assert page.locator("iframe").get_attribute("sandbox") is None
    assert next(frame for frame in frames if frame != inner).locator("iframe").get_attribute("sandbox") == "allow-scripts"
    for attempt in ("localStorage", "parent.document", "parent.parent.document", "document.cookie = 'a=1'", "indexedDB.open('x')"):
        with pytest.raises(Exception, match=r"SecurityError|Blocked|denied"):
            inner.evaluate(f"(() => {{ {attempt} }})()")
    assert inner.evaluate(f"fetch('{address}').then(() => 'open', () => 'refused')") == "refused"
    troubles.clear()  # the browser's own lines about what it refused


def policies(html: str) -> list[str]:
    """Give the policies that a page holds."""
    found: list[str] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)
    return found


@pytest.mark.parametrize(("scheme", "size"), [("light", PHONE), ("dark", DESKTOP), ("light", DESKTOP), ("dark", PHONE)])
def test_accessible_with_the_editor_open(browser: Browser, address: str, scheme: Any, size: Any) -> None:
    context: BrowserContext = browser.new_context(
        viewport=size, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce", service_workers="block"
    )
    page = context.new_page()
    page.goto(f"{address}en/{PAGE}" if scheme == "dark" else address + PAGE)
    assert run(page) == "done"
    block(page).locator("[data-action=edit]").click()
    block(page).locator(".cm-content").wait_for()
    page.keyboard.press("Control+End")
    page.keyboard.type("\n1 / 0")
    forget(page)
    page.keyboard.press("Control+Enter")
    page.locator("[data-state=failed]").wait_for()
    page.add_script_tag(path=AXE)
    # On a phone the boxes of the whole page scroll, and become reachable as the reader comes near: the block alone is looked at.
    result = page.evaluate(AXE_RUN, "html" if size is DESKTOP else "[data-snippet]")
    found = [f"{rule['id']}: {node['target']} {node['failureSummary']}" for rule in result["violations"] for node in rule["nodes"]]
    assert not found, "\n".join(found[:8])
    context.close()


def test_the_keyboard_alone_is_enough(page: Page, address: str) -> None:
    page.goto(f"{address}en/{PAGE}")
    block(page).locator("[data-action=run]").focus()
    page.keyboard.press("Enter")
    assert ended(page) == "done"
    assert focused(page) == "run"
    page.keyboard.press("Tab")
    assert focused(page) == "edit"
    page.keyboard.press("Enter")
    block(page).locator(".cm-content").wait_for()
    forget(page)
    page.keyboard.press("Control+Enter")
    assert ended(page) == "done"
    page.keyboard.press("Escape")
    order = []
    for _ in range(8):
        order.append(focused(page))
        page.keyboard.press("Tab")
    assert order == ["run", "edit", "copy", "download", "share", "STRIDE", "ACCESS_BYTES", "PADDING"]


def focused(page: Page) -> str:
    """Name what has the focus: a button's action or a control's parameter."""
    name: str = page.evaluate("document.activeElement.dataset.action ?? document.activeElement.dataset.name ?? ''")
    return name
