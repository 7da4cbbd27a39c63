"""Snippets that mean harm, each from a shared link: what the reader sees, that nothing gets out, and that the page stays usable."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page
from running import PAGE, PLAIN, PLAIN_PAGE, STRIDE, block, ended, link, listening, open_link, output, recorded, reset, run, status

TRY = """
import js
from pyodide.ffi import to_js
def attempt(name, action):
    try:
        print(name, "->", action())
    except BaseException as error:
        print(name, "refused:", type(error).__name__, str(error).splitlines()[0][:90])
"""
OBJECT = "to_js({}, dict_converter=js.Object.fromEntries)"


@dataclass
class Harm:
    """A snippet, the states in which its run may end, what the reader reads, and what must not be there."""

    code: str
    states: tuple[str, ...] = ("done",)
    seen: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()


HARMS = {
    "a memory bomb": Harm("kept = []\nwhile True:\n    kept.append(bytearray(10_000_000))", ("failed",), ("MemoryError", "512 MB")),
    "a million prints": Harm("for i in range(1_000_000):\n    print(i)", ("done", "stopped"), ("0\n1\n2\n",)),
    "one long line": Harm('for _ in range(3000):\n    print("x" * 100_000, end="")', seen=("xxx", "10 万字符")),
    "requests": Harm(
        TRY
        + """
request = js.XMLHttpRequest.new()
attempt("xhr", lambda: (request.open("GET", OTHER + "xhr", False), request.send()))
attempt("fetch", lambda: js.fetch(OTHER + "fetch"))
attempt("fetch of the site", lambda: js.fetch(SITE))
attempt("socket", lambda: js.WebSocket.new(OTHER.replace("http", "ws") + "socket"))
attempt("events", lambda: js.EventSource.new(OTHER + "events"))
attempt("scripts", lambda: js.WorkerGlobalScope.prototype.importScripts.call(js, OTHER + "scripts"))
attempt("transport", lambda: js.WebTransport.new(OTHER.replace("http:", "https:") + "transport"))
attempt("worker", lambda: js.Worker.new(OTHER + "worker"))
from pyodide.http import pyfetch
""",
        ("failed",),
        ("xhr refused: JsException NetworkError", "worker refused: AttributeError", "No module named 'pyodide.http'"),
        ("xhr ->",),
    ),
    "code from text and from addresses": Harm(
        TRY
        + """
from pyodide.code import run_js
attempt("eval", lambda: run_js("1 + 1"))
attempt("function", lambda: js.Function.new("return 1")())
attempt("import", lambda: run_js(f"import('{OTHER}import')"))
attempt("timeout", lambda: js.setTimeout(f"fetch('{OTHER}timeout')"))
attempt("import of a blob", lambda: js.importScripts(js.URL.createObjectURL(js.Blob.new(["postMessage('x')"]))))
""",
        seen=("eval refused", "function refused", "import refused", "import of a blob refused"),
        unseen=("eval ->", "function ->", "import ->", "import of a blob ->"),
    ),
    "storage": Harm(
        TRY
        + """
attempt("database", lambda: js.indexedDB.open("x"))
attempt("cookies", lambda: js.document.cookie)
attempt("local storage", lambda: js.localStorage)
attempt("page", lambda: js.parent.document)
attempt("channel", lambda: js.BroadcastChannel.new("warpwise").postMessage("from a snippet"))
def opened(found):
    js.postMessage(to_js({"stream": "out", "text": "OPEN"}, dict_converter=js.Object.fromEntries))
for name, ask in (("caches", lambda: js.caches.keys()), ("files", lambda: js.navigator.storage.getDirectory())):
    attempt(name, lambda: ask().then(opened))
""",
        seen=("database refused: JsException SecurityError", "cookies refused", "local storage refused", "page refused"),
        unseen=("OPEN",),
    ),
    "forged messages": Harm(
        TRY
        + """
def say(**words):
    js.postMessage(to_js(words, dict_converter=js.Object.fromEntries))
say(stream="out", text="<img src=x onerror=document.title='harmed'>")
say(stream="__proto__", text="<script>document.title='harmed'</script>")
say(ready=True); say(ready=True); say(snapshot=to_js(b"1234")); say(flooded=True); say(turn=99, worker={})
say(result='{"seconds": "<b>", "cut": 0, "failed": {"reason": "constructor", "name": "<b>", "line": "<b>"}}')
""",
        ("failed",),
        ("<img src=x onerror=document.title='harmed'>",),
    ),
    "a flood of messages": Harm(
        TRY
        + """
while True:
    js.postMessage(to_js({"stream": "out", "text": "flood"}, dict_converter=js.Object.fromEntries))
""",
        ("stopped",),
        ("flood",),
    ),
    "a recursion without end": Harm("import sys\nsys.setrecursionlimit(10**8)\ndef again(): again()\nagain()", ("failed", "stopped")),
    "an exit": Harm("import os\nprint('before', flush=True)\nos._exit(3)", ("failed", "stopped", "done"), ("before",)),
    "broken built-ins": Harm(
        "import builtins, sys, time\nbuiltins.print = builtins.len = builtins.open = None\nsys.modules.clear()\nsys.path.clear()\ndel time.sleep",
        ("done", "failed", "stopped"),
    ),
    "a job that goes on after its result": Harm(
        TRY
        + """
js.postMessage(to_js({"result": '{"seconds": 0, "cut": false, "svg": null, "failed": null}'}, dict_converter=js.Object.fromEntries))
while True:
    pass
"""
    ),
}

DRAWING = """
if __name__ == "__main__":
    print("drawn")
else:
    print(f'''<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" onload="document.title='harmed'">
    <script>document.title='harmed'; parent.document.title='harmed'</script>
    <image href="{OTHER}image" width="9" height="9"/><style>@import url({OTHER}style);</style>
    <foreignObject width="9" height="9"><iframe xmlns="http://www.w3.org/1999/xhtml" src="{OTHER}frame"/></foreignObject>
    <a href="javascript:document.title='harmed'"><rect width="9" height="9" fill="red"/></a></svg>''')
    raise SystemExit
"""


@pytest.fixture(scope="module")
def other() -> Iterator[tuple[str, list[str]]]:
    with listening() as found:
        yield found


@pytest.fixture(scope="module")
def opened(browser: Browser, address: str) -> Iterator[Page]:
    """One page for all: what one snippet breaks, the next one would show."""
    context = browser.new_context(service_workers="block")
    page = context.new_page()
    page.goto(address + PLAIN_PAGE)
    page.evaluate("() => { globalThis.heard = []; new BroadcastChannel('warpwise').onmessage = ({ data }) => heard.push(data); }")
    assert run(page, PLAIN) == "done"
    yield page
    context.close()


@pytest.mark.parametrize("name", HARMS)
def test_harm_is_contained(name: str, opened: Page, address: str, other: tuple[str, list[str]]) -> None:
    harm, (elsewhere, asked) = HARMS[name], other
    answered: list[str] = []
    opened.on("response", lambda response: answered.append(response.url))
    title = opened.title()
    code = f"OTHER, SITE = {elsewhere!r}, {address!r}\n{harm.code}"
    open_link(opened, link(address + PLAIN_PAGE, code, PLAIN))
    assert block(opened, PLAIN).get_attribute("data-state") == "idle", "nothing of a link runs by itself"
    assert run(opened, PLAIN) in harm.states, output(opened, PLAIN)
    text = output(opened, PLAIN)
    for words in harm.seen:
        assert words in text, text[:1500]
    for words in harm.unseen:
        assert words not in text, text[:1500]
    assert len(text) < 120_000
    assert not asked, f"the other server was asked for {asked}"
    assert not [url for url in answered if url.startswith("http") and not url.endswith("mark.svg")], answered
    assert opened.title() == title
    assert opened.evaluate("heard.length") == 0
    assert not block(opened, PLAIN).locator("output :not(span):not(img)").count(), "what comes out is text or an image"
    still_usable(opened, PLAIN)


def still_usable(page: Page, snippet: str) -> None:
    reset(page, snippet)
    assert run(page, snippet) == "done"
    assert output(page, snippet) == recorded(snippet)


def test_a_drawing_with_a_script_is_only_seen(browser: Browser, address: str, other: tuple[str, list[str]]) -> None:
    context = browser.new_context(service_workers="block")
    page, (elsewhere, asked) = context.new_page(), other
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: troubles.append(dialog.message))
    open_link(page, link(address + PAGE, f"OTHER = {elsewhere!r}\n{DRAWING}"))
    title = page.title()
    assert run(page) == "done"
    assert output(page).startswith("drawn")
    image = block(page).locator("output img")
    image.wait_for()
    assert (image.get_attribute("src") or "").startswith("data:image/svg+xml,")
    image.click()
    page.wait_for_timeout(500)
    assert page.title() == title
    assert not asked
    assert not page.locator("output svg, output script, output iframe").count()
    assert not troubles
    still_usable(page, STRIDE)
    context.close()


def test_an_endless_loop_is_stopped_by_the_reader_and_the_page_stays_alive_meanwhile(opened: Page, address: str) -> None:
    open_link(opened, link(address + PLAIN_PAGE, "print('begun')\nwhile True:\n    pass\n", PLAIN))
    block(opened, PLAIN).locator("[data-action=run]").click()
    stop = block(opened, PLAIN).locator("[data-action=stop]")
    stop.wait_for()
    # The page answers while the snippet is running: frames are drawn.
    frames = "new Promise((resolve) => { let n = 0; const count = () => (++n < 5 ? requestAnimationFrame(count) : resolve(n)); count() })"
    assert opened.evaluate(frames) == 5
    assert "begun" in output(opened, PLAIN)
    stop.click()
    assert ended(opened, PLAIN) == "stopped"
    assert status(opened, PLAIN) == "已停止"
    still_usable(opened, PLAIN)


def test_a_run_ends_after_ten_seconds(opened: Page, address: str) -> None:
    open_link(opened, link(address + PLAIN_PAGE, "while True:\n    pass\n", PLAIN))
    assert run(opened, PLAIN) == "stopped"
    assert status(opened, PLAIN) == "超过 10 秒，已停止"
