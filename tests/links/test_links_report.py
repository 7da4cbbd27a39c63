"""Reports: each broken target once, at every Markdown line that uses it, in every form."""

import socket
import sys
from pathlib import Path

import pytest
from checking import Checker, page, write_files

import check_links

PAGE = '<a href="../gone/">a</a><a href="../real/#no">b</a><a href="https://elsewhere.example.net/a_(b)">c</a><img src="../img/gone.png" alt="">'


def make(folder: Path) -> Path:
    """Write a small site of two languages, with the Markdown that it might have been built from."""
    write_files(
        folder / "docs",
        {
            "zh/index.md": "# 首页\n\n[坏](gone.md)\n",
            "zh/a.md": "# A\n\n文字 [坏](gone.md) 和 [锚](real.md#no)\n\n```\n[坏](gone.md)\n```\n\n![图](img/gone.png)\n\n又一次 [坏](gone.md)。<https://elsewhere.example.net/a_(b)>\n",
            "zh/topic/index.md": '# T\n\n见 [坏][r]，<a href="../gone/">坏</a>\n\n[r]: ../gone.md\n',
            "zh/real.md": "# R\n",
            "en/a.md": "# A\n\n[bad](gone.md)\n",
        },
    )
    nav = '<nav><a href="{0}missing-from-nav/">n</a></nav>'
    return write_files(
        folder / "site",
        {
            "index.html": page('<a href="gone/">x</a>' + nav.format("")),
            "a/index.html": page(f"\n\n{nav.format('../')}\n{PAGE}"),
            "topic/index.html": page('<a href="../gone/">x</a>'),
            "real/index.html": page("x"),
            "en/a/index.html": page('\n<a href="../gone/">x</a>'),
            "en/b/index.html": page('\n\n<a href="../../gone/">x</a>'),
        },
    )


def test_sources_are_markdown_lines_once_per_target(check: Checker) -> None:
    site = make(check.folder)
    run = check("site", "--sources", "docs/zh:", "docs/en:en/")
    places = {link["url"]: link["sources"] for link in run.links}
    assert places["/gone/"] == [
        "docs/zh/a.md:3",
        "docs/zh/a.md:11",
        "docs/zh/index.md:3",
        "docs/zh/topic/index.md:3",
        "docs/zh/topic/index.md:5",
        "site/en/b/index.html:3",
    ]
    assert places["/real/#no"] == ["docs/zh/a.md:3"]
    assert places["/img/gone.png"] == ["docs/zh/a.md:9"]
    assert places["https://elsewhere.example.net/a_(b)"] == ["docs/zh/a.md:11"]
    assert places["/en/gone/"] == ["docs/en/a.md:3"]
    assert places["/missing-from-nav/"] == ["site/a/index.html:3", "site/index.html:1"]
    assert run.output.count("  /gone/\n") == 1
    assert site.is_dir()


def test_without_sources_the_built_files_are_named(check: Checker) -> None:
    make(check.folder)
    places = {link["url"]: link["sources"] for link in check("site").links}
    assert places["/gone/"] == ["site/a/index.html:4", "site/en/b/index.html:3", "site/index.html:1", "site/topic/index.html:1"]


def test_lines_of_a_built_file_are_those_of_the_uses(check: Checker) -> None:
    rows = [
        "<a href='x'></a>",
        '<a href="y&amp;z"></a>',
        "<a href=x></a>",
        '<p>"x"</p>',
        '<img srcset="x 1x, w 2x">',
        '<p style="background: url(v)">',
    ]
    body = "\n".join([*rows, "<a\nhref=\n'u'>"])
    write_files(check.folder / "site", {"index.html": body})
    places = {link["url"]: link["sources"] for link in check("site").links}
    lines = {url: [int(use.rpartition(":")[2]) for use in uses] for url, uses in places.items()}
    assert lines == {"/x": [1, 3, 5], "/y&z": [2], "/w": [5], "/v": [6], "/u": [9]}


def test_annotations_only_on_github(check: Checker) -> None:
    make(check.folder)
    run = check("site", "--sources", "docs/zh:", environment={"GITHUB_ACTIONS": "true"})
    errors = [line for line in run.output.splitlines() if line.startswith("::error ")]
    gone = [line for line in errors if "link::/gone/: " in line]
    assert gone == ["::error file=docs/zh/a.md,line=3,title=broken link::/gone/: no such file (6 places)"]
    assert len(errors) == len([link for link in run.links if link["verdict"] == "broken"])
    assert "::error" not in check("site").output


def test_exit_status_and_clean_report(check: Checker) -> None:
    write_files(check.folder / "site", {"index.html": page("<a href=a>x</a><a href=mailto:x@y>x</a>"), "a/index.html": page("x")})
    run = check("site")
    assert run.status == 0
    assert "1 redirected" in run.output
    assert "1 unchecked" in run.output


def test_markdown_report(check: Checker) -> None:
    make(check.folder)
    check("site", "--markdown", "report.md")
    text = (check.folder / "report.md").read_text("utf-8")
    assert "## Broken (5)" in text
    assert "| /gone/ | no such file | site/a/index.html:4" in text


def test_offline_no_socket_is_opened(check: Checker, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    make(check.folder)
    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "socketpair", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.chdir(check.folder)
    assert check_links.main(["site"]) == 1


def test_offline_needs_no_network_library(check: Checker) -> None:
    make(check.folder)
    (check.folder / "aiohttp.py").write_text("raise RuntimeError('not wanted')")
    run = check("site", environment={"PYTHONPATH": str(check.folder)})
    assert run.status == 1, run.errors
    assert sys.version_info >= (3, 11)
