"""The online half against servers on loopback: every misbehaving endpoint, crowds, certificates, time limits and interrupts."""

import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path

import misbehaving
import pytest
from certificates import Authority
from checking import CHECKER, Checker, Run, page, write_files
from misbehaving import GOOD, Endpoint, Server, answer, endpoint, html

from links import fetch, robots
from links.address import parse, resolve
from links.online import ask_all
from links.options import parse_options
from links.rules import Rules


def ask(check: Checker, server: Server, links: list[str], *options: str, scheme: str = "http", environment: dict[str, str] | None = None) -> Run:
    """Check one page with these links to the server, online."""
    base = f"{scheme}://{server.place}"
    site = write_files(check.folder / "site", {"index.html": page("\n".join(f'<a href="{base}{link}">x</a>' for link in links))})
    return check(site, "--online", "--allow-private", server.place, *options, environment=environment, timeout=90)


def verdicts(run: Run, server: Server) -> dict[str, str]:
    """Return the verdicts by what follows the server's origin."""
    return {re.sub(rf"^https?://{server.place}", "", url): verdict for url, verdict in run.verdicts.items()}


def wanted(endpoints: list[Endpoint]) -> dict[str, str]:
    """Return the right verdict of each link as a browser writes it."""
    return {
        str(resolve(unescape(link), parse("http://h/"))).removeprefix("http://h"): verdict
        for endpoint in endpoints
        for link, verdict in endpoint.links.items()
    }


def test_every_misbehaving_endpoint_gets_its_verdict_in_time(check: Checker) -> None:
    endpoints = misbehaving.make_endpoints()
    links = [link for endpoint in endpoints for link in endpoint.links]
    kinds = {endpoint.kind for endpoint in endpoints if endpoint.links}
    assert kinds >= {1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 16, 19, 20, 21, 24, 25}
    assert sum(bool(endpoint.links) for endpoint in endpoints) >= 100
    with Server(endpoints) as server:
        began = time.monotonic()
        run = ask(check, server, links)
        took = time.monotonic() - began
        found = verdicts(run, server)
    right = wanted(endpoints)
    differing = {link: (word, found.get(link)) for link, word in right.items() if found.get(link) != word}
    assert differing == {}
    assert {link for link, word in found.items() if word == "broken"} == {link for link, word in right.items() if word == "broken"}
    assert run.status == 1
    assert took < 45
    assert set(server.methods) == {"GET"}
    assert server.asked["/plain"] < 40  # once for itself, and once for each redirect that leads there
    assert server.asked["/6/ids"] == 1
    assert server.asked["/3/hour"] == 1
    assert all(server.sent[name] < 10_000_000 for name in ("/19/file", "/19/page", "/11/endless-file"))


def test_a_host_with_four_places_serves_two_hundred_links(check: Checker) -> None:
    endpoints = [endpoint(3, f"page-{number}", "ok", misbehaving.after(0.05, GOOD)) for number in range(200)]
    with Server(endpoints) as server:
        server.slots = 4
        run = ask(check, server, [endpoint.target for endpoint in endpoints])
        assert set(run.verdicts.values()) == {"ok"}
        assert len(run.verdicts) == 200
        assert server.most_at_once > 4  # the limit was met, not missed by luck
    assert run.status == 0


@pytest.mark.parametrize("slots", [1, 2, 7])
def test_other_limits_are_learned_too(check: Checker, slots: int) -> None:
    endpoints = [endpoint(3, f"page-{number}", "ok", misbehaving.after(0.01, GOOD)) for number in range(60)]
    with Server(endpoints) as server:
        server.slots = slots
        assert set(ask(check, server, [endpoint.target for endpoint in endpoints]).verdicts.values()) == {"ok"}


def test_certificates(check: Checker, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    right = {"valid": "ok", "expired": "broken", "missing-intermediate": "blocked", "self-signed": "broken", "other-host": "broken"}
    endpoints = [Endpoint(14, "/", {"/": "ok"}, GOOD)]
    found, reasons = {}, {}
    for name in right:
        with Server(endpoints, authority.context(name)) as server:
            run = ask(check, server, ["/"], scheme="https", environment={"SSL_CERT_FILE": str(authority.root)})
            found[name] = verdicts(run, server)["/"]
            reasons[name] = run.links[0]["reason"]
    assert found == right
    assert "chain" in reasons["missing-intermediate"]
    with Server(endpoints) as server:
        assert verdicts(ask(check, server, ["/"], scheme="https"), server)["/"] == "broken"


def test_refused_and_unknown_hosts_are_broken(check: Checker) -> None:
    with Server([]) as server:
        port = server.port
    site = write_files(
        check.folder / "site", {"index.html": page(f'<a href="http://127.0.0.1:{port}/x">x</a><a href="http://127.0.0.1:{port}/x#y">x</a>')}
    )
    run = check(site, "--online", "--allow-private", f"127.0.0.1:{port}")
    assert set(run.verdicts.values()) == {"broken"}
    assert all("refused" in link["reason"] for link in run.links)


def test_nothing_private_is_asked(check: Checker) -> None:
    with Server([Endpoint(25, "/", {}, GOOD)]) as server:
        links = [
            f"http://{host}:{server.port}/"
            for host in ("127.0.0.1", "localhost", "0x7f.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "a.localhost")  # noqa: S104 - nothing is bound to it
        ]
        links += [
            "http://10.0.0.1/",
            "http://100.64.0.1/",
            "http://169.254.1.1/",
            "http://[fd00::1]/",
            "http://example.invalid/",
            "http://a.test/",
            "http://printer/",
        ]
        site = write_files(check.folder / "site", {"index.html": page("".join(f'<a href="{link}">x</a>' for link in links))})
        run = check(site, "--online")
        assert set(run.verdicts.values()) == {"unchecked"}
        assert server.asked.total() == 0
        run = check(site, "--online", "--allow-private", f"localhost:{server.port}")
        assert {url for url, verdict in run.verdicts.items() if verdict == "ok"} == {f"http://localhost:{server.port}/"}


def test_own_addresses_and_edit_links_are_never_asked(check: Checker) -> None:
    with Server([]) as server:
        base = f"http://{server.place}"
        body = (
            f'<a href="{base}/docs/new/">x</a><a href="{base}/docs/gone/">x</a><a href="{base}/team/site/edit/main/docs/new.md">x</a>'
            f'<a href="{base}/team/site/edit/main/docs/gone.md">x</a><a href="{base}/team/site/blob/main/docs/new.md#L3">x</a>'
        )
        site = write_files(
            check.folder / "site", {"index.html": page(body), "new/index.html": page("new", f'<link rel=canonical href="{base}/docs/new/">')}
        )
        write_files(check.folder / "docs", {"new.md": "# new", "index.md": "# front"})
        (check.folder / "links.toml").write_text(f'[repository]\naddress = "{base}/team/site"\n')
        run = check(site, "--online", "--site-url", f"{base}/docs/", "--allow-private", server.place, "--sources", f"{check.folder / 'docs'}:")
        assert server.asked.total() == 0
    assert verdicts(run, server) == {
        "/docs/new/": "ok", "/docs/gone/": "broken", "/team/site/edit/main/docs/new.md": "ok", "/team/site/edit/main/docs/gone.md": "broken",
        "/team/site/blob/main/docs/new.md#L3": "ok",
    }  # fmt: skip


def test_the_time_limit_loses_nothing(check: Checker) -> None:
    endpoints = [
        endpoint(11, "hang", "unreachable", misbehaving.hang),
        endpoint(0, "good", "ok", GOOD),
        endpoint(3, "wait", "blocked", answer(429, "", "Retry-After: 50")),
    ]
    with Server(endpoints) as server:
        began = time.monotonic()
        run = ask(check, server, [endpoint.target for endpoint in endpoints], "--max-time", "2")
        assert time.monotonic() - began < 6
        assert verdicts(run, server) == {"/11/hang": "unreachable", "/0/good": "ok", "/3/wait": "blocked"}
    assert run.status == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_is_done(check: Checker, number: signal.Signals) -> None:
    endpoints = [endpoint(11, "hang", "unreachable", misbehaving.hang), endpoint(0, "good", "ok", GOOD)]
    with Server(endpoints) as server:
        links = "".join(f'<a href="http://{server.place}{endpoint.target}">x</a>' for endpoint in endpoints)
        site = write_files(check.folder / "site", {"index.html": page(links)})
        state, report = check.folder / "state.json", check.folder / "report.json"
        command: list[str | Path] = [sys.executable, CHECKER, site, "--online", "--allow-private", server.place, "--state", state, "--json", report]
        process = subprocess.Popen(command, cwd=check.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(100):
            time.sleep(0.1)
            if server.asked["/0/good"] and server.asked["/11/hang"]:
                break
        time.sleep(0.5)
        process.send_signal(number)
        output, errors = process.communicate(timeout=10)
    assert process.returncode == 130
    assert "Traceback" not in output + errors
    assert '/0/good": {' in state.read_text()
    assert '"verdict": "ok"' in report.read_text()
    assert "interrupted" in report.read_text()


def test_a_silent_host_is_not_waited_for_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_SILENT_SECONDS", 0.5)
    monkeypatch.setattr(robots, "_SECONDS", 0.5)
    endpoints = [endpoint(11, f"hang-{number}", "unreachable", misbehaving.hang) for number in range(200)]
    with Server([*endpoints, Endpoint(0, "/robots.txt", {}, misbehaving.hang)]) as server:
        options = parse_options([str(tmp_path), "--online", "--allow-private", server.place])
        addresses = [f"http://{server.place}{endpoint.target}" for endpoint in endpoints]
        # In a thread of its own: where a browser's tests came before, this one has a running event loop.
        with ThreadPoolExecutor(1) as thread:
            judged, interrupted = thread.submit(ask_all, addresses, options, Rules()).result()
        assert server.asked.total() < 60
    assert not interrupted
    assert len(judged) == 200
    assert {judgement.verdict for judgement in judged.values()} == {"unreachable"}
    assert all("timeout" in judgement.reason for judgement in judged.values())


def test_rules_leave_out_and_loosen(check: Checker) -> None:
    endpoints = [Endpoint(0, "/", {}, answer(200, html("x")))]
    with Server(endpoints) as server:
        rule = f'[[host]]\nname = "{server.place}"\nmode = "MODE"\nreason = "tests"\nexpires = 2999-01-01\n'
        (check.folder / "links.toml").write_text(rule.replace("MODE", "skip"))
        run = ask(check, server, ["/", "/#gone"])
        assert verdicts(run, server) == {"/": "unchecked", "/#gone": "unchecked"}
        assert server.asked.total() == 0
        (check.folder / "links.toml").write_text(rule.replace("MODE", "no-anchors"))
        assert verdicts(ask(check, server, ["/", "/#gone"]), server) == {"/": "ok", "/#gone": "unchecked"}
        (check.folder / "links.toml").write_text(rule.replace("MODE", "slow"))
        assert verdicts(ask(check, server, ["/", "/#gone"]), server) == {"/": "ok", "/#gone": "broken"}
        (check.folder / "links.toml").write_text(rule.replace("MODE", "skip").replace("2999", "2001"))
        run = ask(check, server, ["/"])
        assert verdicts(run, server)["/"] == "ok"
        expired = next(link for link in run.links if link["url"].startswith("links.toml"))
        assert (expired["verdict"], run.status) == ("broken", 1)
        assert expired["sources"] == [f"{check.folder / 'links.toml'}:2"]
