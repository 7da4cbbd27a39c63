"""The state file: good answers are kept for a while, failures never, and an outage is broken in its second week."""

import json
from datetime import date, timedelta
from pathlib import Path

import misbehaving
import pytest
from checking import Checker, page, write_files
from misbehaving import GOOD, Endpoint, Server, answer, first

from links.model import ConfigurationError, Judgement, Verdict, broken
from links.state import State

TODAY = date(2026, 5, 4)
GOOD_ANSWER = Judgement(Verdict.OK)
SILENT = Judgement(Verdict.UNREACHABLE, "timeout")


def later(days: int) -> date:
    """Return a day after the first."""
    return TODAY + timedelta(days=days)


def saved(path: Path, page: str, judgement: Judgement, anchors: set[str], day: date = TODAY) -> None:
    """Let one run learn one thing."""
    state = State(path, day)
    state.learn(page, judgement, anchors)
    state.save()


def test_good_answers_are_kept_for_less_than_two_weeks(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    pages = [f"https://host-{number}.example.org/" for number in range(40)]
    state = State(path, TODAY)
    for name in pages:
        state.learn(name, GOOD_ANSWER, {"a"})
    state.save()
    assert all(State(path, later(9)).known(name, {"a"}) == GOOD_ANSWER for name in pages)
    assert not any(State(path, later(14)).known(name, set()) for name in pages)
    kept = {day: sum(State(path, later(day)).known(name, set()) is not None for name in pages) for day in range(9, 15)}
    assert 0 < kept[12] < len(pages), "they do not all end on one day"
    assert State(path, TODAY).known(pages[0], {"a", "b"}) is None, "an anchor that was never looked for"
    assert State(path, later(-1)).known(pages[0], set()) is None, "an answer from the future"


@pytest.mark.parametrize("judgement", [broken("status 404"), SILENT, Judgement(Verdict.BLOCKED, "x"), Judgement(Verdict.SUSPECT, "x")])
def test_failures_are_never_served(tmp_path: Path, judgement: Judgement) -> None:
    path = tmp_path / "state.json"
    saved(path, "https://a.example.org/", GOOD_ANSWER, set())
    saved(path, "https://a.example.org/", judgement, set())
    assert State(path, TODAY).known("https://a.example.org/", set()) is None


def test_an_outage_is_broken_in_its_second_week_and_mends(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    name = "https://a.example.org/"
    for day, verdict in ((0, Verdict.UNREACHABLE), (1, Verdict.UNREACHABLE), (5, Verdict.UNREACHABLE), (7, Verdict.BROKEN), (14, Verdict.BROKEN)):
        state = State(path, later(day))
        assert state.learn(name, SILENT, set()).verdict == verdict
        state.save()
    assert "2026-05-04" in State(path, later(14)).learn(name, SILENT, set()).reason
    saved(path, name, GOOD_ANSWER, set(), later(15))
    assert State(path, later(21)).learn(name, SILENT, set()).verdict == Verdict.UNREACHABLE


def test_the_file_is_sorted_json_with_one_address_a_line(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    state = State(path, TODAY)
    for name in ("https://b.example.org/页", 'https://a.example.org/?q="x"', "https://c.example.org/"):
        state.learn(name, GOOD_ANSWER, {"z", "a"})
    state.save()
    addresses = json.loads(path.read_text("utf-8"))["addresses"]
    lines = path.read_text("utf-8").splitlines()
    assert list(addresses) == sorted(addresses)
    assert len(lines) == len(addresses) + 2
    before = path.read_bytes()
    State(path, TODAY).save()
    assert path.read_bytes() == before


def test_a_file_cut_in_half_keeps_its_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    state = State(path, TODAY)
    for number in range(20):
        state.learn(f"https://a.example.org/{number}", GOOD_ANSWER, set())
    state.save()
    data = path.read_bytes()
    for size in range(60, len(data) - 1, 97):
        path.write_bytes(data[:size])
        cut = State(path, TODAY)
        assert cut.lost >= 1
        known = sum(cut.known(f"https://a.example.org/{number}", set()) is not None for number in range(20))
        assert known >= data[:size].count(b"},\n") - 1


@pytest.mark.parametrize(
    "line",
    [
        '"https://a/": {"verdict": "ok"}',
        '"https://a/": {"verdict": "broken", "checked": "2026-05-04"}',
        '"https://a/": {"verdict": 3, "checked": "x"}',
        "[]",
    ],
)
def test_lines_of_another_shape_are_lost_not_believed(tmp_path: Path, line: str) -> None:
    path = tmp_path / "state.json"
    State(path, TODAY).save()
    head = path.read_text().splitlines()[0]
    path.write_text(f"{head}\n{line}\n}}}}\n")
    state = State(path, TODAY)
    assert state.lost == 1
    assert state.known("https://a/", set()) is None


def test_another_file_is_not_written_over(tmp_path: Path, check: Checker) -> None:
    path = tmp_path / "notes.json"
    path.write_text('{"mine": 1}')
    with pytest.raises(ConfigurationError):
        State(path, TODAY)
    site = write_files(tmp_path / "site", {"index.html": page("<a href=http://a.example/>x</a>")})
    run = check(site, "--online", "--state", path)
    assert run.status == 2
    assert "not a state file" in run.errors
    assert path.read_text() == '{"mine": 1}'


def test_a_mended_page_is_ok_in_the_next_run_and_a_good_one_is_not_asked_twice(check: Checker) -> None:
    state = check.folder / "state.json"
    endpoints = [Endpoint(15, "/mended", {}, first(1, answer(404))), Endpoint(15, "/good", {}, GOOD), Endpoint(15, "/down", {}, misbehaving.reset)]
    with Server(endpoints) as server:
        links = "".join(f'<a href="http://{server.place}/{name}">x</a>' for name in ("mended", "good", "good#here", "down"))
        site = write_files(check.folder / "site", {"index.html": page(links)})
        options = ("--online", "--allow-private", server.place, "--state", state)
        run = check(site, *options)
        assert sorted(run.verdicts.values()) == ["broken", "ok", "ok", "unreachable"]
        run = check(site, *options)
        assert sorted(run.verdicts.values()) == ["ok", "ok", "ok", "unreachable"]
        assert server.asked["/good"] == 1
        assert server.asked["/mended"] == 2
        text = state.read_text()
        week_ago = (date.fromisoformat(text.partition('"since": "')[2][:10]) - timedelta(days=7)).isoformat()
        state.write_text(text.replace(text.partition('"since": "')[2][:10], week_ago))
        run = check(site, *options)
        assert run.verdicts[f"http://{server.place}/down"] == "broken"
        assert run.status == 1
