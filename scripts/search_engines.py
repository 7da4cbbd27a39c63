"""Drive the searches that are compared, in a browser: this site's dialog, stock Material's, Pagefind's interface."""

import json
from dataclasses import dataclass
from typing import ClassVar

from playwright.sync_api import Browser, Page

from static_server import StaticHost

PATIENCE = 300_000  # milliseconds

# Each sets window.ask(query), which resolves with [addresses, milliseconds] when the results stand, and opens what has to be opened.
OURS = """async () => {
    document.querySelector(".search-open").click();
    const dialog = document.querySelector("dialog.search"), input = dialog.querySelector("input");
    window.ask = (query) => new Promise((resolve) => {
        const began = performance.now();
        const look = () => {
            if (!["ready", "idle"].includes(dialog.dataset.state)) return false;
            watch.disconnect();
            resolve([[...dialog.querySelectorAll("a[data-result]")].map((link) => link.href), performance.now() - began]);
            return true;
        };
        const watch = new MutationObserver(look);
        watch.observe(dialog, { attributes: true, attributeFilter: ["data-state"] });
        input.value = query;
        input.dispatchEvent(new InputEvent("input", { bubbles: true }));
    });
}"""
# Material says when it has results, not when it has none: after so long without a change there are none.
MATERIAL = """async () => {
    document.querySelector("#__search").click();
    const input = document.querySelector("[data-md-component=search-query]"), list = document.querySelector("[data-md-component=search-result]");
    input.focus();
    let first = true;
    window.ask = (query) => new Promise((resolve) => {
        const began = performance.now();
        let last = 0, timer;
        const done = () => {
            watch.disconnect();
            first = false;
            const links = [...list.querySelectorAll(".md-search-result__item > .md-search-result__link")].map((link) => link.href);
            resolve([list.querySelector(".md-search-result__list").children.length ? links : [], last || performance.now() - began]);
        };
        const watch = new MutationObserver(() => { last = performance.now() - began; clearTimeout(timer); timer = setTimeout(done, 120); });
        watch.observe(list, { childList: true, subtree: true, characterData: true });
        timer = setTimeout(done, first ? 150000 : 2500);
        input.value = query;
        for (const name of ["input", "keyup"]) input.dispatchEvent(new Event(name, { bubbles: true }));
    });
}"""
PAGEFIND = """async (base) => {
    const pagefind = await import(`${base}pagefind/pagefind.js`);
    await pagefind.init();
    window.ask = async (query) => {
        const began = performance.now();
        const { results } = await pagefind.search(query);
        const shown = await Promise.all(results.slice(0, 8).map((result) => result.data()));
        return [shown.map(({ url }) => url), performance.now() - began];
    };
}"""


@dataclass(frozen=True)
class Engine:
    """A search in a browser: how it is opened."""

    name: str
    script: str


ENGINES = [Engine("this site's", OURS), Engine("Pagefind", PAGEFIND), Engine("stock Material", MATERIAL)]


@dataclass
class Cold:
    """What a first query costs a reader whose browser holds nothing."""

    milliseconds: float
    bytes: int


def ask(page: Page, query: str) -> tuple[list[str], float]:
    """Ask an opened search, and give the addresses found and the milliseconds until they stood."""
    addresses, milliseconds = page.evaluate(f"ask({json.dumps(query)})")
    return addresses, milliseconds


def opened(browser: Browser, address: str, engine: Engine, base: str = "") -> Page:
    """Open a page of a site in a browser that holds nothing, and its search, whose files lie below `base`."""
    page = _page(browser, address)
    page.evaluate(engine.script, base or address)
    return page


def _page(browser: Browser, address: str) -> Page:
    # Pagefind is WebAssembly, which the site's policy refuses.
    page = browser.new_context(bypass_csp=True, service_workers="block", viewport={"width": 1400, "height": 900}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address, wait_until="networkidle", timeout=PATIENCE)
    return page


class CountingHost(StaticHost):
    """A host that remembers how many bytes it sent for a search, whoever in the browser asked for them."""

    sent: ClassVar[list[int]] = []

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        """Send an answer, and count it where its path is a search's."""
        if any(part in self.path for part in ("search", "pagefind", "lunr")):
            self.sent.append(len(body))
        super().answer(status, body, headers)


def cold(browser: Browser, address: str, engine: Engine, query: str) -> Cold:
    """Open the search and ask once; give the time from the opening to the results, and the bytes that came for it since the page was asked for."""
    CountingHost.sent.clear()
    page = _page(browser, address)
    script = f"""async (base) => {{
        const began = performance.now();
        await ({engine.script})(base);
        await ask({json.dumps(query)});
        return performance.now() - began;
    }}"""
    milliseconds = page.evaluate(script, address)
    # Of this site's: with the first excerpt, which comes after the results stand.
    page.wait_for_function("!document.querySelector('.search-excerpt') || document.querySelector('.search-excerpt:not(:empty)')")
    found = Cold(milliseconds, sum(CountingHost.sent))
    page.context.close()
    return found


def typed(page: Page, queries: list[str]) -> list[float]:
    """Type queries letter by letter, and give the milliseconds of each letter."""
    times: list[float] = []
    for query in queries:
        times += [ask(page, query[:end])[1] for end in range(1, len(query) + 1)]
    return times


def percentile(values: list[float], share: float = 0.95) -> float:
    """Give the value that a share of the values does not exceed."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
