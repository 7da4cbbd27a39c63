"""Compile both lock files from pyproject.toml, with hashes and for every platform. Needs uv: python3 -m pip install uv.

python3 scripts/lock.py             keep the versions that fit, add what is new
python3 scripts/lock.py --upgrade   take the newest versions that fit
"""

import shutil
import subprocess
import sys

from project import ROOT

LOCKS = {"requirements.txt": ["site"], "requirements-dev.txt": ["site", "dev"]}


def main() -> None:
    """Compile each lock file."""
    uv = shutil.which("uv")
    if not uv:
        sys.exit("lock.py: uv is not installed: python3 -m pip install uv")
    if unknown := set(sys.argv[1:]) - {"--upgrade"}:
        sys.exit(f"lock.py: unknown words: {' '.join(unknown)}")
    for name, groups in LOCKS.items():
        status = subprocess.run([uv, *command(name, groups, upgrade="--upgrade" in sys.argv)], cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        if status.returncode:
            sys.exit(status.returncode)
        print(f"wrote {name}")


def command(name: str, groups: list[str], *, upgrade: bool) -> list[str]:
    """Give uv's words for one lock file: no address of an index and no header, so that the same versions give the same bytes."""
    chosen = [word for group in groups for word in ("--group", group)]
    words = ["pip", "compile", "--generate-hashes", "--universal", "--python-version", "3.11", "--no-emit-index-url", "--no-header"]
    return [*words, *chosen, *(["--upgrade"] if upgrade else []), "--output-file", name]


if __name__ == "__main__":
    main()
