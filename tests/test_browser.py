"""Each page as a reader meets it: in Chromium, both languages, light and dark, phone and desktop, below a path."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from project import ROOT

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
# Off: Material's phone navigation labels a section's list with the words of its heading, twice in the drawer.
AXE_RUN = """axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], rules: {'landmark-unique': {enabled: false}}
})"""
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1400, "height": 900}
KINDS = [
    "",
    "review/",
    "memory/",
    "memory/bank-conflicts/",
    "labs/roofline/",
    "reference/glossary/",
    "reference/myths/",
    "reference/tags/",
    "reference/notices/",
    "no-such-page/",
]


def addresses(site: Path) -> list[str]:
    """Give every page's path below the site's address."""
    found = [path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html"))]
    return [name.removesuffix("index.html") for name in found]


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=DESKTOP)  # type: ignore[arg-type]
    yield context
    context.close()


def watched(context: BrowserContext, address: str) -> tuple[Page, list[str]]:
    """Open a page whose troubles are kept: requests to another host, failed requests, errors on the console."""
    page, troubles = context.new_page(), []
    page.on("request", lambda request: troubles.append(f"asked {request.url}") if not request.url.startswith((address, "data:", "blob:")) else None)
    page.on("response", lambda response: troubles.append(f"{response.status} {response.url}") if response.status >= 400 else None)
    page.on("console", lambda message: troubles.append(f"console: {message.text}") if message.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    return page, troubles


def test_every_page_opens_without_trouble_and_without_another_host(site: Path, address: str, context: BrowserContext) -> None:
    page, troubles = watched(context, address)
    for path in addresses(site):
        page.goto(address + path, wait_until="networkidle")
        assert not troubles, f"{path}: {troubles}"


def test_no_page_scrolls_sideways_on_a_phone(site: Path, address: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    for path in addresses(site):
        page.goto(address + path)
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0, path


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible(browser: Browser, address: str, scheme: Any, size: Any) -> None:
    # A new context for each scheme: a stored palette would let dark pass unseen.
    context = browser.new_context(color_scheme=scheme, viewport=size, bypass_csp=True, reduced_motion="reduce")
    page = context.new_page()
    seen = {"light": "default", "dark": "slate"}[scheme]
    for path in [language + kind for language in ("", "en/") for kind in KINDS]:
        page.goto(address + path, wait_until="networkidle")
        assert page.evaluate("document.body.dataset.mdColorScheme") == seen
        page.add_script_tag(path=AXE)
        result = page.evaluate(AXE_RUN)
        found = [f"{rule['id']}: {node['target']} {node['failureSummary']}" for rule in result["violations"] for node in rule["nodes"]]
        assert not found, f"{path} ({scheme}):\n" + "\n".join(found[:8])
        assert len(result["passes"]) > 10
    context.close()


def test_the_switch_leads_to_the_twin_and_back(address: str, context: BrowserContext) -> None:
    page = context.new_page()
    for path in ("", "memory/bank-conflicts/", "reference/glossary/"):
        page.goto(address + path)
        page.click("a.language")
        assert page.url == f"{address}en/{path}"
        assert page.get_attribute("html", "lang") == "en"
        page.click("a.language")
        assert page.url == address + path
        assert page.get_attribute("html", "lang") == "zh"


def test_the_not_found_page_speaks_the_language_of_the_address(address: str, context: BrowserContext) -> None:
    page = context.new_page()
    for path, language in (("nowhere/", "zh"), ("en/nowhere/", "en")):
        page.goto(address + path)
        visible = [section.get_attribute("data-404") for section in page.query_selector_all("[data-404]") if section.is_visible()]
        # The server gives the root's page for both, below a path as well as at the root.
        assert language in visible


def test_the_palette_is_kept(address: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(address)
    before = page.evaluate("document.body.dataset.mdColorScheme")
    page.click("label[for^=__palette_]:visible")
    page.goto(f"{address}review/")
    assert page.evaluate("document.body.dataset.mdColorScheme") != before


def test_the_palette_follows_the_system_until_one_is_chosen(browser: Browser, address: str) -> None:
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()

    def shown() -> list[str]:
        # The page hears of the system's colours with its next frame.
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")
        found: list[str] = page.evaluate("""[document.body.dataset.mdColorScheme, document.querySelector("meta[name=color-scheme]").content,
            getComputedStyle(document.querySelector("header")).colorScheme]""")
        return found

    # Before any script that is fetched: the first paint is dark already.
    page.route("**/*.js", lambda route: route.abort())
    page.goto(address)
    assert shown() == ["slate", "dark", "dark"]
    page.unroute("**/*.js")
    page.goto(address)
    page.emulate_media(color_scheme="light")
    assert shown() == ["default", "light", "light"]
    page.click("label[for^=__palette_]:visible")
    assert shown() == ["slate", "dark", "dark"]
    page.emulate_media(color_scheme="dark")
    page.emulate_media(color_scheme="light")
    assert shown() == ["slate", "dark", "dark"]
    page.focus("[name=__palette]:checked")
    page.keyboard.press("Enter")
    assert shown() == ["default", "light", "light"]
    context.close()


def test_no_script_has_the_style_of_the_whole_page_worked_out_anew(browser: Browser, address: str) -> None:
    page = browser.new_context(viewport=PHONE).new_page()  # type: ignore[arg-type]
    session = page.context.new_cdp_session(page)
    events: list[dict[str, Any]] = []
    ended: list[object] = []
    session.on("Tracing.dataCollected", lambda data: events.extend(data["value"]))
    session.on("Tracing.tracingComplete", lambda data: ended.append(data))  # noqa: PLW0108 - Playwright marks what it is given
    categories = ["devtools.timeline", "disabled-by-default-devtools.timeline", "disabled-by-default-devtools.timeline.stack"]
    session.send("Tracing.start", {"transferMode": "ReportEvents", "traceConfig": {"includedCategories": categories}})
    page.goto(f"{address}memory/bank-conflicts/", wait_until="networkidle")
    page.wait_for_timeout(500)
    session.send("Tracing.end")
    while not ended:
        page.wait_for_timeout(50)
    every = page.evaluate("document.querySelectorAll('*').length")
    counts = [event["args"].get("elementCount", 0) for event in events if event["name"] == "UpdateLayoutTree" and event.get("ph") == "X"]
    # The parser comes to every element once; what the scripts change touches few.
    assert every <= sum(counts) < 1.5 * every, counts
    page.context.close()


def test_the_table_of_questions_can_be_filtered_and_shared(address: str, context: BrowserContext) -> None:
    page = context.new_page()
    for language, word in (("", "float4"), ("en/", "float4")):
        page.goto(address + language)
        rows = page.locator("[data-filter] tbody tr:visible")
        every = rows.count()
        assert every >= 3
        page.fill(".question-filter input", word)
        assert rows.count() == 1
        page.reload()
        assert page.input_value(".question-filter input") == word
        assert rows.count() == 1
        page.fill(".question-filter input", "")
        page.select_option(".question-filter select >> nth=1", index=1)
        assert 0 < rows.count() < every


def test_pages_read_without_javascript(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    for path in ("memory/bank-conflicts/", "en/memory/bank-conflicts/", "en/labs/roofline/"):
        page.goto(address + path)
        assert page.locator("article svg").first.is_visible()
        assert page.locator("article table").first.is_visible()
        assert page.locator("article pre").first.is_visible()
        assert not page.locator("button:visible").count()
    context.close()


def test_a_review_prints_on_few_pages(browser: Browser, address: str, tmp_path: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    for path in ("review/", "en/review/"):
        page.goto(address + path)
        paper = tmp_path / "review.pdf"
        page.pdf(path=paper, format="A4")
        topics = page.locator("article h2").count()
        assert paper.read_bytes().count(b"/Type /Page\n") <= 2 * topics
    context.close()


def test_boxes_that_scroll_can_be_reached_by_keyboard(address: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.goto(f"{address}memory/bank-conflicts/")
    scrolling = 0
    for box in page.query_selector_all("figure, pre > code, .md-typeset__scrollwrap"):
        box.scroll_into_view_if_needed()
        if box.evaluate("(box) => box.scrollWidth > box.clientWidth + 1"):
            scrolling += 1
            box.wait_for_element_state("visible")
            page.wait_for_function("(box) => box.tabIndex === 0", arg=box)
    assert scrolling > 5
