"""The search's dialog as a reader meets it: keyboard, focus, phone, what is said, what is fetched, offline, accessibility."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from project import ROOT, TEST_SITE_URL
from static_server import serving

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
AXE_RUN = """axe.run(document.querySelector('dialog.search'), {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
})"""
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1400, "height": 900}
READY = "dialog.search[data-state=ready]"
RESULTS = "a[data-result]"
# So many files of the index were asked for, shards and cards.
KEPT = r"""(whole) => {
    const named = performance.getEntriesByType('resource').map(({ name }) => /search\/[wc]\d+\./.exec(name)?.[0]);
    return new Set(named.filter(Boolean)).size === whole;
}"""
QUERIES = {"": "存储体冲突", "en/": "bank confict padding"}


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=DESKTOP)  # type: ignore[arg-type]
    yield context
    context.close()


def watched(context: BrowserContext, address: str) -> tuple[Page, list[str], list[str]]:
    """Open a page of which is kept what it asks for, and its troubles: another host, failed requests, errors on the console."""
    page, asked, troubles = context.new_page(), list[str](), list[str]()
    page.on("request", lambda request: (asked if request.url.startswith((address, "data:")) else troubles).append(request.url))
    page.on("response", lambda response: troubles.append(f"{response.status} {response.url}") if response.status >= 400 else None)
    page.on("console", lambda message: troubles.append(f"console: {message.text}") if message.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    return page, asked, troubles


def searched(page: Page, query: str) -> None:
    page.fill("dialog.search input", query)
    page.wait_for_selector(READY)


def test_nothing_is_fetched_before_it_is_opened_and_nothing_from_another_host(address: str, context: BrowserContext) -> None:
    for language, query in QUERIES.items():
        page, fetched, troubles = watched(context, address)
        page.goto(f"{address}{language}memory/bank-conflicts/", wait_until="networkidle")
        assert not [url for url in fetched if "search" in url]
        page.keyboard.press("Control+k")
        searched(page, query)
        page.wait_for_load_state("networkidle")
        assert [url for url in fetched if "/search/index.json" in url]
        assert not troubles
        page.close()


def test_letters_typed_at_once_are_not_lost(address: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{address}en/")
    page.keyboard.press("/")
    page.keyboard.type("float4")
    assert page.input_value("dialog.search input") == "float4"
    page.wait_for_selector(READY)
    expect(page.locator(RESULTS).first).to_have_attribute("href", re.compile("vectorized-access"))


def test_keys_move_open_and_close_and_the_focus_comes_back(address: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{address}memory/vectorized-access/")
    page.focus("a.language")
    page.keyboard.press("Control+k")
    searched(page, "bank冲突")
    focused = "[...document.querySelectorAll('a[data-result]')].indexOf(document.activeElement)"  # the field is -1
    for key, place in (("ArrowDown", 0), ("ArrowDown", 1), ("ArrowUp", 0), ("ArrowUp", -1)):
        page.keyboard.press(key)
        assert page.evaluate(focused) == place
    page.keyboard.press("ArrowDown")
    page.keyboard.press("x")
    assert page.input_value("dialog.search input").endswith("x")
    page.keyboard.press("Escape")
    assert not page.locator("dialog.search[open]").count()
    assert page.evaluate("document.activeElement.matches('a.language')")
    page.click(".search-open")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.matches('.search-open')")


def test_enter_opens_the_first_or_the_chosen_and_the_page_is_marked(address: str, context: BrowserContext) -> None:
    page = context.new_page()
    for language, query in (("", "谓词执行"), ("en/", "predication")):
        for keys in (["Enter"], ["ArrowDown", "Enter"]):
            page.goto(address + language)
            page.keyboard.press("/")
            searched(page, query)
            for key in keys:
                page.keyboard.press(key)
            page.wait_for_url("**/execution/warp-divergence/**")
            page.wait_for_selector("article mark")
            assert "?" not in page.url
            assert page.url.endswith("#predication")
            assert page.evaluate("Math.abs(document.querySelector('#predication').getBoundingClientRect().top) < innerHeight")


def test_slash_is_a_letter_in_a_field(address: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(address)
    page.click(".question-filter input")
    page.keyboard.type("a/b")
    assert page.input_value(".question-filter input") == "a/b"
    assert not page.locator("dialog.search[open]").count()


@pytest.mark.parametrize("language", ["", "en/"])
def test_an_address_with_a_query_opens_with_its_results(address: str, context: BrowserContext, language: str) -> None:
    page = context.new_page()
    page.goto(f"{address}{language}?q=bank%20conflict")
    page.wait_for_selector(READY)
    assert page.input_value("dialog.search input") == "bank conflict"
    assert "/memory/bank-conflicts/" in (page.get_attribute(RESULTS, "href") or "")
    assert page.locator(f"{RESULTS} mark").count()
    page.keyboard.press("Escape")
    # A function, not an expression: the page's policy forbids to evaluate one anew at each look.
    page.wait_for_function("() => !location.search")


@pytest.mark.parametrize(("language", "query"), [("", "线程束分化"), ("en/", "warp divergance")])
def test_what_was_changed_is_said_and_can_be_searched_literally(address: str, context: BrowserContext, language: str, query: str) -> None:
    page = context.new_page()
    page.goto(f"{address}{language}")
    page.click(".search-open")
    searched(page, query)
    assert query.rpartition(" ")[2] in page.inner_text("[data-said]")
    page.click("[data-said] button")
    page.wait_for_function("() => !document.querySelector('[data-said]')")
    assert page.input_value("dialog.search input") == f'"{query}"'
    page.click(".search-said button")
    page.wait_for_selector("[data-said]")
    assert page.input_value("dialog.search input") == query


def test_nothing_found_is_announced_with_near_terms(address: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{address}en/?q=qqqqz%20flashatention")
    page.wait_for_selector(READY)
    assert not page.locator(RESULTS).count()
    assert "Nothing found" in page.inner_text("dialog.search [role=status]")
    page.click(".search-near button >> text=FlashAttention")
    page.wait_for_selector(RESULTS)
    assert "results" in page.inner_text("dialog.search [role=status]")


def test_composing_chinese_waits_for_its_end(address: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(address)
    page.click(".search-open")
    searched(page, "warp")
    session = context.new_cdp_session(page)
    session.send("Input.imeSetComposition", {"text": "fen'zhi", "selectionStart": 7, "selectionEnd": 7})
    before = page.locator(RESULTS).first.get_attribute("href")
    page.keyboard.press("Enter")
    assert page.locator("dialog.search[open]").count()
    assert page.locator(RESULTS).first.get_attribute("href") == before
    session.send("Input.insertText", {"text": "分支"})
    page.wait_for_function("() => document.querySelector('dialog.search input').value.includes('分支')")
    page.wait_for_selector(READY)
    assert "warp-divergence" in (page.locator(RESULTS).first.get_attribute("href") or "")


def test_on_a_phone_it_fills_the_screen(browser: Browser, address: str) -> None:
    context = browser.new_context(viewport=PHONE)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address)
    page.click(".search-open")
    searched(page, "共享内存 寄存器 warp 冲突")
    box = page.locator("dialog.search").bounding_box()
    assert box
    assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, PHONE["width"], PHONE["height"])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible(browser: Browser, address: str, scheme: Any, size: Any) -> None:
    context = browser.new_context(color_scheme=scheme, viewport=size, bypass_csp=True, reduced_motion="reduce")
    page = context.new_page()
    for language, query in QUERIES.items():
        for text in (query, "", "qqqqz flashatention"):
            page.goto(f"{address}{language}")
            page.click(".search-open")
            page.wait_for_selector("dialog.search .search-hint")
            if text:
                searched(page, text)
                page.wait_for_load_state("networkidle")
            page.add_script_tag(path=AXE)
            result = page.evaluate(AXE_RUN)
            found = [f"{rule['id']}: {node['target']} {node['failureSummary']}" for rule in result["violations"] for node in rule["nodes"]]
            assert not found, f"{language} {text} ({scheme}):\n" + "\n".join(found)
            assert page.get_attribute("dialog", "aria-label")
    context.close()


def test_it_answers_offline_once_it_was_open(browser: Browser, site: Path, address: str) -> None:
    context = browser.new_context(service_workers="allow")
    page = context.new_page()
    page.goto(f"{address}en/", wait_until="networkidle")
    page.wait_for_function("() => navigator.serviceWorker.controller || navigator.serviceWorker.ready.then(() => true)")
    page.reload()
    page.wait_for_function("() => navigator.serviceWorker.controller")
    page.keyboard.press("/")
    searched(page, "warp divergence")
    # The whole index comes in the background; it is here when its last file is.
    core = json.loads((site / "en" / "search" / "index.json").read_text("utf-8"))
    whole = len(core["shards"]) - (-core["kinds"][-1] // core["cards"])
    page.wait_for_function(KEPT, arg=whole)
    page.wait_for_timeout(300)  # until the service worker has kept it
    context.set_offline(offline=True)
    page.reload()
    page.keyboard.press("/")
    for query, name in (("warp divergence", "warp-divergence"), ("LDG.E.128", "vectorized-access")):
        searched(page, query)
        assert name in (page.locator(RESULTS).first.get_attribute("href") or "")
    context.close()


def test_a_new_service_worker_keeps_the_index_of_now_and_drops_that_of_before(browser: Browser, site: Path, tmp_path: Path) -> None:
    copy = tmp_path / "site"
    shutil.copytree(site, copy, ignore=shutil.ignore_patterns("en", "*.bin", "snippets"))
    core = json.loads((copy / "search" / "index.json").read_text("utf-8"))
    digest, whole = core["digest"], len(core["shards"]) - (-core["kinds"][-1] // core["cards"])
    context = browser.new_context()
    page = context.new_page()
    # DevTools watches here, and then Chromium forgets a request in an old worker that it stops for a new one: the page waits for ever.
    # So the new one comes when nothing is asked for, and only an activated one, which has swept, is looked at.
    took_over = """() => navigator.serviceWorker.getRegistration().then(
        ({ installing, waiting, active }) => !installing && !waiting && active.state === "activated")"""
    kept = "caches.keys().then((names) => caches.open(names[0])).then((cache) => cache.keys()).then((all) => all.map(({ url }) => url))"
    with serving(copy, urlsplit(TEST_SITE_URL).path) as address:
        page.goto(f"{address}review/")
        page.evaluate("navigator.serviceWorker.ready.then(() => null)")
        page.reload()
        for version, now in ((2, digest), (3, "0123456789")):
            for path in (copy / "search").glob(f"*.{digest}.json"):
                path.rename(path.with_name(path.name.replace(digest, now)))
            index = copy / "search" / "index.json"
            index.write_text(index.read_text("utf-8").replace(digest, now), "utf-8")
            page.goto(f"{address}review/", wait_until="commit")
            page.wait_for_selector(".search-open")
            page.wait_for_function("() => document.readyState === 'complete'")
            page.keyboard.press("/")
            searched(page, "warp")
            page.wait_for_function(KEPT, arg=whole)
            (copy / "sw.js").write_text((copy / "sw.js").read_text("utf-8") + f"// {version}\n", "utf-8")
            page.evaluate("navigator.serviceWorker.getRegistration().then((found) => found.update()).then(() => null)")
            page.wait_for_function(took_over)
            for _ in range(60):
                page.wait_for_timeout(500)
                names = [url for url in page.evaluate(kept) if "/search/" in url and not url.endswith("index.json")]
                if names and all(now in name for name in names):
                    break
            else:
                pytest.fail(f"kept {names}, but the index is {now}")
    context.close()


def test_without_an_answer_it_says_so_and_can_be_asked_again(browser: Browser, address: str) -> None:
    context = browser.new_context(service_workers="block")
    page = context.new_page()
    page.goto(f"{address}en/")
    page.route("**/search/index.json", lambda route: route.abort())
    page.click(".search-open")
    page.fill("dialog.search input", "warp")
    page.wait_for_selector("dialog.search[data-state=failed]")
    page.unroute("**/search/index.json")
    page.click(".search-notes button")
    page.wait_for_selector(RESULTS)
    context.close()


def test_without_javascript_there_is_no_button(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert not page.locator(".search-open:visible").count()
    context.close()


def test_the_site_ships_no_other_search(site: Path) -> None:
    shipped = [path.name for path in site.rglob("*") if "lunr" in path.name or path.name == "search_index.json" or path.parent.name == "workers"]
    assert not shipped
