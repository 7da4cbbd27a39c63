"""The queries of zh.yml and en.yml, typed into the dialog of the built site: what stands first, what is said, what finds nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from searching import LANGUAGES, Answer, Query, name_of, pages_of, queries, scored

from pages import questions

FIRST, THREE = 0.95, 0.99
ENOUGH, BLIND = 250, 85  # a third was written blind; later ones come from what readers typed


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    yield context.new_page()
    context.close()


def opened(page: Page, address: str) -> None:
    page.goto(address)
    page.keyboard.press("/")
    page.wait_for_selector("dialog.search[open] input")


def asked(page: Page, query: Query) -> Answer:
    page.fill("dialog.search input", query.query)
    page.wait_for_selector("dialog.search[data-state=ready]")
    found = page.evaluate("""() => [[...document.querySelectorAll("a[data-result]")].map((link) => link.href),
        [...document.querySelectorAll("[data-said]")].map((note) => note.dataset.said)]""")
    return Answer([name_of(address) for address in found[0]], found[1])


@pytest.mark.parametrize("language", LANGUAGES)
def test_queries_find_their_pages(site: Path, address: str, page: Page, language: str) -> None:
    opened(page, address + LANGUAGES[language])
    unsaid: list[str] = []

    def answer(query: Query) -> Answer:
        found = asked(page, query)
        if query.said and query.said not in found.said:
            unsaid.append(f"{query.query}: {query.said} is not said, but {found.said}")
        return found

    score = scored(queries(language), pages_of(site, language), answer)
    report = "\n".join([f"{score.asked} asked, {score.left_out} wait for their page", *score.misses, *unsaid])
    print(report)
    assert score.rate(score.first) >= FIRST, report
    assert score.rate(score.three) >= THREE, report
    assert score.identifiers_first == score.identifiers, report
    assert not unsaid, report


def test_the_queries_are_enough_and_over_every_question() -> None:
    all_of_them = [query for language in LANGUAGES for query in queries(language)]
    assert len(all_of_them) >= ENOUGH
    assert sum(query.blind for query in all_of_them) >= BLIND
    assert len({(query.language, query.query) for query in all_of_them}) == len(all_of_them)
    for language in LANGUAGES:
        wanted = {page for query in all_of_them if query.language == language for page in query.first}
        for question in questions(language):
            assert Path(question.path).stem in wanted, f"no query of tests/search/{language}.yml is for {question.path}"
