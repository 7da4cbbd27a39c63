"""The two commands: what stands in the way is said in one line, with the way out."""

import hashlib
import importlib.util
import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

import dev
from project import ROOT


def in_one_line(error: pytest.ExceptionInfo[dev.SetupError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    return text


def recording(place: Path, ran: list[tuple[object, ...]]) -> Callable[..., int]:
    """Stand in for the start of a program: keep the command, make the folder that venv would make, succeed."""

    def run(*command: object, **_: object) -> int:
        ran.append(command)
        (place / ".venv").mkdir(exist_ok=True)
        return 0

    return run


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which dev.py finds nothing installed, and starts no program."""
    monkeypatch.setattr(dev, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(dev, "PYTHON", tmp_path / ".venv" / "bin" / "python")
    monkeypatch.setattr(dev, "WEB", tmp_path / "web")
    return tmp_path


def test_a_port_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(dev.SetupError) as error:
            dev.serve(port)
    assert f"port {port} is in use" in in_one_line(error)
    assert "--port" in str(error.value)


def test_no_port() -> None:
    with pytest.raises(dev.SetupError) as error:
        dev.serve(70000)
    assert "70000" in in_one_line(error)


def test_no_venv_module(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - the fixture keeps the real one out of reach
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(dev.SetupError) as error:
        dev.build()
    assert "-venv" in in_one_line(error)


def test_no_network(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev, "_run", lambda *command, **_: int("pip" in command))
    (place / ".venv").mkdir()
    with pytest.raises(dev.SetupError) as error:
        dev.build()
    assert "network" in in_one_line(error)


def test_a_half_made_venv_is_made_anew(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[object, ...]] = []
    monkeypatch.setattr(dev, "_run", recording(place, ran))
    leftover = place / ".venv" / "leftover"
    leftover.parent.mkdir()
    leftover.touch()
    dev.python_packages("requirements.txt")
    assert not leftover.exists()
    assert [command[1:3] for command in ran] == [("-m", "venv"), ("-m", "pip")]
    assert (place / ".venv" / ".requirements.txt.stamp").read_text() == hashlib.sha256((ROOT / "requirements.txt").read_bytes()).hexdigest()


def test_nothing_is_installed_twice(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[object, ...]] = []
    monkeypatch.setattr(dev, "_run", recording(place, ran))
    monkeypatch.setattr(dev, "_works", lambda _python: (place / ".venv").exists())
    dev.python_packages("requirements-dev.txt")
    installed = len(ran)
    dev.python_packages("requirements-dev.txt")
    dev.python_packages("requirements.txt")
    assert len(ran) == installed


def test_locks_hold_hashes_and_no_addresses() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        text = (ROOT / name).read_text("utf-8")
        assert "://" not in text
        packages = re.findall(r"^[a-z][\w.-]*==.*?(?=^[a-z]|\Z)", text, re.MULTILINE | re.DOTALL)
        assert len(packages) > 50
        assert all("--hash=sha256:" in package for package in packages)
    lock = (ROOT / "web" / "package-lock.json").read_text("utf-8")
    assert '"resolved"' not in lock
    assert lock.count('"integrity"') > 5


@pytest.mark.parametrize(("changed", "packages"), [("docs/en/index.md", "requirements.txt"), ("snippets/x/x.py", "requirements-dev.txt")])
def test_a_changed_sentence_needs_the_sites_packages_alone(changed: str, packages: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("changes.changed_files", lambda: [ROOT / changed])
    monkeypatch.setattr(dev, "python_packages", asked.append)
    monkeypatch.setattr(dev, "_run", lambda *_words, **_options: 0)
    assert dev.check([]) == 0
    assert asked == [packages]
