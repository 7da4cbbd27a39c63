"""A snippet's script is run behind a fence: it finds no network and none of the caller's secrets, and it ends in time, in memory and in output."""

import os
import sys
import time
from pathlib import Path

import pytest

import fenced
import record
from project import ROOT

linux = pytest.mark.skipif(sys.platform != "linux", reason="the other systems have fewer limits; fenced.py says which")
CALL = "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9/', timeout=3)\n"
RAW = "import socket\ns = socket.socket()\ns.settimeout(3)\ns.connect(('127.0.0.1', 9))\n"


def script(folder: Path, text: str) -> Path:
    path = folder / "hostile.py"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("text", [CALL, RAW], ids=["a request", "a socket"])
@pytest.mark.parametrize("namespace", [True, False], ids=["namespace", "guard"])
def test_no_network(text: str, namespace: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001 - a parameter
    if not namespace:
        monkeypatch.setattr(fenced, "without_network", list)
    status, _, told = fenced.run(script(tmp_path, text), seconds=20)
    assert status
    assert "a snippet has no network" in told


@linux
def test_no_network_for_a_program_that_it_starts(tmp_path: Path) -> None:
    text = f"import subprocess, sys\nsys.exit(subprocess.run([sys.executable, '-I', '-c', {RAW!r}]).returncode)\n"
    status, _, told = fenced.run(script(tmp_path, text), seconds=20)
    assert status
    # Without a namespace of its own (a container may forbid it) only Python itself is guarded.
    assert "unreachable" in told or "refused" in told


def test_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_TOKEN", "ACTIONS_RUNTIME_TOKEN", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK"):
        monkeypatch.setenv(name, "secret-of-mine")
    _, printed, _ = fenced.run(script(tmp_path, "import os\nprint(os.environ, os.path.expanduser('~'))\n"), seconds=20)
    assert "secret-of-mine" not in printed
    assert printed.endswith("\n")
    assert str(Path.home()) != printed.split()[-1], "its home is a folder of its own"


def test_it_ends_in_time_with_all_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    child = f"import time, pathlib\ntime.sleep(3)\npathlib.Path({str(mark)!r}).touch()"
    text = f"import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', {child!r}])\ntime.sleep(60)\n"
    began = time.monotonic()
    with pytest.raises(fenced.TooLongError):
        fenced.run(script(tmp_path, text), seconds=1)
    assert time.monotonic() - began < 10
    if os.name == "posix":
        time.sleep(3)
        assert not mark.exists()


@linux
@pytest.mark.parametrize(
    ("text", "told"),
    [("x = bytearray(20 << 30)\n", "MemoryError"), ("while True: print('x' * 1_000_000)\n", "File too large")],
    ids=["memory", "output"],
)
def test_it_ends_in_memory_and_in_output(text: str, told: str, tmp_path: Path) -> None:
    status, _, errors = fenced.run(script(tmp_path, text), seconds=60)
    assert status
    assert told in errors


def test_a_script_that_fails_says_so_by_name(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"hostile\.py failed with exit status 1"):
        record.run(script(tmp_path, "raise ValueError('no')\n"))


def test_a_system_without_namespaces_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fenced.without_network.cache_clear()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert fenced.without_network() == []
    assert "no limit on memory" in capsys.readouterr().err
    fenced.without_network.cache_clear()


def test_nothing_runs_a_strangers_script_outside() -> None:
    for path in [ROOT / "scripts" / name for name in ("record.py", "benches.py", "tables.py", "concerns.py")]:
        assert "exec_module" not in path.read_text("utf-8")


def test_a_lab_has_no_network_and_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import labs

    monkeypatch.setenv("GITHUB_TOKEN", "secret-of-mine")
    (tmp_path / "secret.en.py").write_text("# %%\nimport os\nprint('secret-of-mine' in str(os.environ))\n", "utf-8")
    assert '"False\\n"' in labs.execute(tmp_path / "secret.en.py")
    (tmp_path / "call.en.py").write_text(f"# %%\n{RAW}", "utf-8")
    with pytest.raises(SystemExit, match="a snippet has no network"):
        labs.execute(tmp_path / "call.en.py")
