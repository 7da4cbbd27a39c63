"""Chromium confirms the verdicts of the static cases: what it sees as a link, what it fetches, and whether it finds the anchor."""

from collections.abc import Iterator
from urllib.parse import unquote, urldefrag

import pytest
import static_cases
from pages_host import serving_pages
from playwright.sync_api import Browser, Page

# Every link of a document, of its shadow roots and of the documents written into it, as the browser resolves them.
SEEN = """() => {
  const found = [];
  const look = (root, at) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.matches("a, area") && (element.hasAttribute("href") || element.hasAttribute("xlink:href"))) {
        const raw = element.getAttribute("href") ?? element.getAttribute("xlink:href");
        const address = typeof element.href === "string" ? element.href : new URL(raw, at.baseURI).href;
        if (at === document || !raw.startsWith("#")) found.push(URL.canParse(address) ? address : raw.trim());
      }
      if (element.shadowRoot) look(element.shadowRoot, at);
      if (element.srcdoc) look(element.contentDocument, element.contentDocument);
    }
  };
  look(document, document);
  return found;
}"""


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the cases on loopback and return their origin."""
    folder = tmp_path_factory.mktemp("published")
    with serving_pages(folder) as origin:
        static_cases.write_site(folder, origin)
        yield origin


def verdict(tab: Page, address: str) -> str:
    """Return what a browser makes of an address: not there, reached by a redirect, without the anchor, or well."""
    answer = tab.context.request.get(address, max_redirects=0)
    moved = answer.status == 301
    if moved:
        answer = tab.context.request.get(address)
    if answer.status == 404:
        return "broken"
    fragment = urldefrag(address).fragment.partition(":~:")[0]
    if fragment and answer.headers["content-type"] in {"text/html", "image/svg+xml"} and unquote(fragment).lower() != "top":
        tab.goto("about:blank")  # from the same page the old target may still be there when the new one is asked for
        tab.goto(address, wait_until="commit")
        tab.wait_for_load_state("domcontentloaded")
        if tab.evaluate("document.querySelector(':target') === null"):
            return "broken"
    return "redirected" if moved else "ok"


def test_chromium_confirms_every_verdict_that_a_browser_can_have(origin: str, browser: Browser) -> None:
    tab = browser.new_page()
    differing, confirmed = [], 0
    wanted = {address: word for found in static_cases.expected(origin).values() for address, word in found.items()}
    for address, word in sorted(wanted.items()):
        if not address.startswith(origin) or word == "unchecked":
            continue
        if "/moved/#" in address or f"{static_cases.ROOT}/" in address:
            continue  # that page sends its reader on at once; and what a doubled slash leads to is the host's affair
        confirmed += 1
        if (seen := verdict(tab, address)) != word:
            differing.append(f"{address}: {word} here, {seen} in Chromium")
    assert not differing, "\n".join(differing)
    assert confirmed > 150


def test_chromium_sees_the_same_links_and_fetches_nothing_else(origin: str, browser: Browser) -> None:
    tab = browser.new_page()
    tab.route(lambda url: not url.startswith(origin), lambda route: route.abort())
    fetched: set[str] = set()
    tab.on("request", lambda request: fetched.add(urldefrag(request.url).url))
    differing = []
    before: set[str] = set()
    for case in static_cases.CASES:
        wanted = static_cases.expected(origin)[case.page]
        fetched.clear()
        tab.goto(f"{origin}{static_cases.ROOT}{case.page}", wait_until="load")
        seen = {"%20".join(address.split()) for address in tab.evaluate(SEEN)}
        known = {"%20".join(address.split()).replace("MAILTO:", "mailto:") for address in wanted}
        differing += [f"{case.page}: Chromium sees the link {address}" for address in sorted(seen - known)]
        own = {f"{origin}{static_cases.ROOT}{case.page}", f"{origin}/favicon.ico"}
        inner = {urldefrag(frame.url).url for frame in tab.frames} | fetched_by_others(origin, wanted)
        here = {urldefrag(address).url for address in wanted}
        others = fetched - here - before - own - inner  # an icon may be fetched when its page is already gone
        before = here
        differing += [f"{case.page}: Chromium fetches {address}" for address in sorted(others) if not address.startswith(("data:", "about:"))]
    assert not differing, "\n".join(differing)


def fetched_by_others(origin: str, wanted: dict[str, str]) -> set[str]:
    """Return what a page's style sheet or frames fetch in their turn, which their own files answer for."""
    found: set[str] = set()
    for name, content in static_cases.FILES.items():
        if f"{origin}{static_cases.ROOT}{name}" in wanted and name.endswith(".css") and isinstance(content, str) and "url(" in content:
            found.add(f"{origin}{static_cases.ROOT}img/a.png")
    return found
