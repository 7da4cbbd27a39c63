"""Every runnable block in Firefox, where the machine has one."""

import json
from pathlib import Path

import firefox
import pytest
from running import PLAIN, PLAIN_PAGE, link, listening, pages_with_blocks, recorded

PRESS = """new Promise((resolve) => {
  const block = document.querySelector('[data-snippet="%s"]');
  const ended = () => ["done", "failed", "stopped"].includes(block.dataset.state);
  new MutationObserver(() => ended() && resolve(JSON.stringify([block.dataset.state, block.querySelector("output").textContent])))
    .observe(block, { attributes: true, attributeFilter: ["data-state"] });
  block.querySelector("button[data-action=run]").click();
})"""
HARM = """
import js
def attempt(name, action):
    try:
        print(name, "->", action())
    except BaseException as error:
        print(name, "refused")
request = js.XMLHttpRequest.new()
attempt("request", lambda: (request.open("GET", OTHER, False), request.send()))
attempt("page", lambda: js.parent.document)
attempt("storage", lambda: js.localStorage)
js.fetch(OTHER)
"""


@pytest.mark.skipif(not firefox.find(), reason="no Firefox on this machine")
def test_every_block_prints_what_is_recorded_in_firefox(site: Path, address: str) -> None:
    with firefox.running(firefox.find() or "") as browser, listening() as (other, asked):
        for path, snippets in pages_with_blocks(site):
            browser.open(address + path)
            for snippet in snippets:
                assert json.loads(browser.evaluate(PRESS % snippet)) == ["done", recorded(snippet)], f"{path}: {snippet}"
        browser.open(link(address + PLAIN_PAGE, f"OTHER = {other!r}\n{HARM}", PLAIN))
        browser.evaluate("new Promise((resolve) => setTimeout(resolve, 1000))")
        state, text = json.loads(browser.evaluate(PRESS % PLAIN))
        assert text.splitlines() == ["request refused", "page refused", "storage refused"], (state, text)
        assert not asked
