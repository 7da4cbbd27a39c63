"""The one fixture that the link checker's tests share."""

from pathlib import Path

import pytest
from checking import Checker


@pytest.fixture
def check(tmp_path: Path) -> Checker:
    """Return the command, ready to run in a folder of its own."""
    folder = tmp_path / "cwd"
    folder.mkdir()
    return Checker(folder)
