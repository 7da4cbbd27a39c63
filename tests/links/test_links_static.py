"""The static cases: every link of every kind, with exactly its verdict; the kinds' other tests stand beside it."""

from collections import Counter
from pathlib import Path

import pytest
import static_cases
from checking import Checker, Run

ORIGIN = "https://docs.example.net"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Check the whole site of cases once."""
    folder = tmp_path_factory.mktemp("static")
    static_cases.write_site(folder / "site", ORIGIN)
    (folder / "cwd").mkdir()
    return Checker(folder / "cwd")(folder / "site", "--site-url", f"{ORIGIN}/repo/")


@pytest.mark.parametrize("name", list(static_cases.expected(ORIGIN)))
def test_each_case_has_exactly_its_links_and_verdicts(run: Run, name: str) -> None:
    assert run.found_in(name) == static_cases.expected(ORIGIN)[name]


def test_broken_is_found_with_full_recall_and_precision(run: Run) -> None:
    wanted = {(name, address) for name, links in static_cases.expected(ORIGIN).items() for address, verdict in links.items() if verdict == "broken"}
    found = {(name, address) for name in static_cases.expected(ORIGIN) for address, verdict in run.found_in(name).items() if verdict == "broken"}
    assert found == wanted
    total = sum(len(links) for links in static_cases.expected(ORIGIN).values())
    assert total >= 200
    assert len(wanted) >= 80
    assert run.status == 1


def test_every_offline_kind_has_cases() -> None:
    kinds = Counter(case.kind for case in static_cases.CASES)
    assert set(kinds) >= {4, 5, 6, 7, 8, 9, 13, 17, 20, 22, 25}


def test_the_same_bytes_give_the_same_report(tmp_path: Path, check: Checker) -> None:
    static_cases.write_site(tmp_path / "site", ORIGIN)
    first = check(tmp_path / "site")
    report = (check.folder / "report.json").read_bytes()
    second = check(tmp_path / "site")
    assert first.output == second.output
    assert (check.folder / "report.json").read_bytes() == report
