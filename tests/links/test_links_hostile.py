"""Hostile sites: each ends with a verdict or a clear error, none with a traceback, none without end."""

import gzip
import json
import os
import socket
import time
from pathlib import Path

import pytest
from checking import Checker, Run, broken_of, page, write_files

import check_links
from links import scan
from links.address import Address
from links.folder import Folder, Site
from links.reading import Reading, read_file

ROOT_USER = hasattr(os, "geteuid") and os.geteuid() == 0


def sound(run: Run) -> Run:
    """Return the run if it ended in an orderly way."""
    assert run.status in {0, 1, 2}, run.errors
    assert "Traceback" not in run.output + run.errors
    return run


def test_a_page_with_a_hundred_thousand_links(tmp_path: Path, check: Checker) -> None:
    body = "".join(f"<a href=p{number}#x>" for number in range(100_000))
    site = write_files(tmp_path / "site", {"index.html": page(body), "p7.html": page("<i id=x>")})
    run = check(site)
    assert len(sound(run).links) == 100_000
    assert run.verdicts["/p7#x"] == "ok"
    assert len(broken_of(run)) == 99_999


def test_a_page_that_no_parser_survives_in_time(tmp_path: Path, check: Checker) -> None:
    site = write_files(
        tmp_path / "site",
        {
            "index.html": page('<a href="deep.html">x</a><a href="deep.html#x">x</a><a href="gone">x</a>'),
            "deep.html": "<div>" * 1_000_000,
            "wide.html": "<a " + "b=c " * 400_000,
        },
    )
    began = time.monotonic()
    run = sound(check(site))
    assert time.monotonic() - began < 20
    assert run.verdicts["/deep.html#x"] == "unchecked"
    assert "/wide.html" in run.output
    assert broken_of(run) == ["/gone"]


def test_a_reader_that_dies_takes_only_its_file_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"{number}.html": page(f'<a href="{number + 1}.html">x</a>') for number in range(20)}
    site = Site(Folder(write_files(tmp_path / "site", files)), Address("https", "", "/"))

    def dying(site: Site, file: str) -> Reading:
        if file == "7.html":
            os.kill(os.getpid(), 9)
        return read_file(site, file)

    monkeypatch.setattr(scan, "read_file", dying)
    found = scan.scan_site(site, workers=2)
    assert len(found.pages) == 19
    assert "could not be parsed" in found.judged["/7.html"].reason


@pytest.mark.parametrize(
    "text",
    [
        "<template>" * 100_000 + '<a href="no">', "<svg>" * 50_000 + '<a href="no">', "<b>" * 3000 + "</b>" * 3000, "<!--" * 100_000, "<a href='" * 50_000, "&" * 500_000,
        "<iframe srcdoc='" + "&lt;iframe srcdoc=" * 1000 + "'>", "<style>" + "url(" * 200_000, '<img srcset="' + "a," * 200_000 + '">', "<noscript>" * 50_000,
        "<noscript " + "a='" * 100_000, "<style>" + "a{b:url('" * 100_000, "<p style='" + "(" * 200_000 + "url(x)'>", "<base href='" + "a/" * 100_000 + "'><a href=b>",
        "<a href='" + "../" * 200_000 + "x'>", "<a href='http://" + "a." * 100_000 + "'>", "<a href='http://" + "0x" * 50_000 + "'>", "<meta charset=" + "x" * 5000 + ">",
        "<script>" * 50_000 + "<div id=root>", "<div>" * 9000 + "<script>1</script>",
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_pathological_markup(tmp_path: Path, check: Checker, text: str) -> None:
    site = write_files(tmp_path / "site", {"index.html": page('<a href="odd.html">x</a><a href="gone.html">x</a>'), "odd.html": text})
    began = time.monotonic()
    run = sound(check(site))
    assert run.verdicts["/gone.html"] == "broken"
    assert run.verdicts["/odd.html"] != "broken"
    assert time.monotonic() - began < 15


def test_bytes_that_are_no_text(tmp_path: Path, check: Checker) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_bytes(
        b'\x00\xff\xfe<a href="b.html\x00">\xc3\x28</a><a href="c.html#\xff">x</a><a href="gone\xe9.html">x</a><p id="a\x00b">\x80'
    )
    (site / "c.html").write_bytes(b"<meta charset=utf-7><i id=x>" + bytes(range(256)) * 50)
    (site / "d.html").write_bytes(b"\xfe\xff\x00<\x00a")
    (site / "e.css").write_bytes(b'@charset "no-such"; a { b: url(\xff.png) }')
    (site / "sitemap.xml").write_bytes(b"<urlset>\x00\xff<loc>")
    (site / "search_index.json").write_bytes(b'{"docs": [\x00')
    (site / "sitemap.xml.gz").write_bytes(gzip.compress(b"<urlset></urlset>")[:15])
    (site / "f.svg").write_bytes(b"\x89PNG<svg>")
    run = sound(check(site))
    assert run.verdicts["/sitemap.xml"] == "broken"
    assert run.verdicts["/search_index.json"] == "broken"
    assert run.status == 1


def test_names_that_are_no_text(tmp_path: Path, check: Checker) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text(page('<a href="%FF.html">x</a><a href="%FE.html">x</a><a href="new%0Aline.html">x</a>'))
    (site / os.fsdecode(b"\xff.html")).write_text(page('<a href="gone">x</a>'))
    (site / "new\nline.html").write_text(page("<a href=gone-too>"))
    run = sound(check(site))
    assert run.verdicts["/%FF.html"] == "ok"
    assert run.verdicts["/new%0Aline.html"] == "ok"
    assert set(broken_of(run)) == {"/%FE.html", "/gone", "/gone-too"}


def test_links_and_files_that_are_none(tmp_path: Path, check: Checker) -> None:
    names = (
        "out.html",
        "outdir/x.html",
        "nowhere.html",
        "loop/loop/index.html",
        "in.html",
        "indir/",
        "pipe.html",
        "socket.html",
        "secret.html",
        "self.html",
    )
    site = write_files(tmp_path / "site", {"index.html": page("".join(f'<a href="{name}">x</a>' for name in names)), "real/index.html": page("x")})
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.html").write_text(page("<a href=never-seen>"))
    for name, target in (
        ("out.html", "../outside/x.html"), ("outdir", "../outside"), ("nowhere.html", "nothing"), ("loop", "."), ("in.html", "real/index.html"), ("indir", "real"),
        ("self.html", "self.html"),
    ):  # fmt: skip
        (site / name).symlink_to(target)
    os.mkfifo(site / "pipe.html")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.relpath(site / "socket.html"))
    listener.close()
    (site / "secret.html").write_text(page("x"))
    (site / "secret.html").chmod(0)
    run = sound(check(site))
    wrong = {"/out.html", "/outdir/x.html", "/nowhere.html", "/loop/loop/index.html", "/pipe.html", "/socket.html", "/self.html"}
    assert set(broken_of(run)) == (wrong if ROOT_USER else wrong | {"/secret.html"})
    assert "symbolic link out of the folder" in run.output
    assert "/never-seen" not in run.verdicts


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(Folder(write_files(tmp_path / "site", {"index.html": page("x")})), Address("https", "", "/"))

    def refuse(_path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    reading = read_file(site, "index.html")
    assert reading.judged["/"].verdict == "broken"
    assert "cannot be read: Permission denied" in reading.judged["/"].reason


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["nowhere"], "no folder"), (["."], "no page"), (["site", "--site-url", "ftp://x/"], "not the address"), (["site", "--site-url", "https://h/?q"], "no query"),
        (["site", "--site-url", "x"], "not the address"), (["site", "--allow-private", "x"], "HOST:PORT"), (["site", "--allow-private", "h:99999"], "HOST:PORT"),
        (["site", "--sources", "none:"], "no folder"), (["site", "--max-time", "-1"], "positive"), (["site", "--markdown", "none/x.md"], "cannot be written"),
        (["site", "--state", "site", "--online"], "folder"), (["site", "--no-such-option"], "unrecognized"), (["site", "--max-time", "x"], "invalid float"),
        (["index.html"], "no folder"), ([], "required"),
    ],
)  # fmt: skip
def test_wrong_use_is_status_2_and_says_why(check: Checker, options: list[str], says: str) -> None:
    write_files(check.folder, {"site/index.html": page("x"), "index.html": "x"} if "." not in options else {"a.txt": "x"})
    run = check(*options)
    assert run.status == 2
    assert says in run.errors
    assert "Traceback" not in run.errors


@pytest.mark.parametrize(
    ("rules", "status", "says"),
    [
        ("[[host]\n", 2, "links.toml"), ("[[host]]\nmode = 'skip'\n", 2, "needs a name"), ("[other]\n", 2, "no section"), ("host = 3", 2, "needs a name"),
        ("[repository]\nurl = 'x'\n", 2, "needs an address"), ("[[host]]\nname = 'a.b'\nmode = 'often'\nreason = 'r'\nexpires = 2999-01-01\n", 1, "unknown mode 'often'"),
        ("[[host]]\nname = 'a.b'\nmode = 'skip'\nexpires = 2999-01-01\n", 1, "needs a reason"), ("[[host]]\nname = 'a.b'\nmode = 'skip'\nreason = 'r'\n", 1, "expires"),
        ("[[host]]\nname = 'a.b'\nmode = 'skip'\nreason = 'r'\nexpires = 2999-01-01\ncolour = 1\n", 1, "unknown key 'colour'"),
        ("[[host]]\nname = 'a.b'\nmode = 'skip'\nreason = 'r'\nexpires = 2001-01-01\n", 0, "ok"),
    ],
)  # fmt: skip
def test_rules_that_are_wrong(check: Checker, rules: str, status: int, says: str) -> None:
    site = write_files(check.folder / "site", {"index.html": page("<a href=index.html>x</a>")})
    (check.folder / "links.toml").write_text(rules)
    run = check(site)
    assert run.status == status
    assert says in run.output + run.errors


def test_a_fault_of_its_own_is_status_3_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_site: object) -> None:
        raise ZeroDivisionError("made up")

    monkeypatch.setattr(check_links, "scan_site", fail)
    assert check_links.main([str(write_files(tmp_path / "site", {"index.html": "x"}))]) == 3
    said = capsys.readouterr().err
    assert "made up" in said
    assert "test_links_hostile.py" in said
    assert "Traceback" not in said


def test_output_is_sound_whatever_the_names_are(tmp_path: Path, check: Checker) -> None:
    site = write_files(tmp_path / "site", {"index.html": page('<a href="http://\x1b[31m|`<b>">x</a><a href="gone\u2028%0A|x">x</a>')})
    run = check(site, "--markdown", check.folder / "report.md")
    assert "\x1b" not in run.output
    table = [line for line in (check.folder / "report.md").read_text("utf-8").splitlines() if line.startswith("| ")]
    assert all(line.replace("\\|", "").count("|") == 4 for line in table)
    assert json.loads((check.folder / "report.json").read_text("utf-8"))
