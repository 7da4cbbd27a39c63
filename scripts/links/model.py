"""The words in which the checker speaks: verdicts, and what was found for a link."""

from enum import StrEnum
from typing import NamedTuple


class Verdict(StrEnum):
    """What is known about an address; only `BROKEN` fails a run."""

    OK = "ok"
    REDIRECTED = "redirected"
    BROKEN = "broken"
    UNREACHABLE = "unreachable"
    BLOCKED = "blocked"
    UNCHECKED = "unchecked"
    SUSPECT = "suspect"


class Judgement(NamedTuple):
    """A verdict and, where it is not plainly ok, why."""

    verdict: Verdict
    reason: str = ""


class Use(NamedTuple):
    """One place at which an address is written."""

    file: str
    line: int

    def __str__(self) -> str:
        """Write the place as editors and terminals link it: `file:line`."""
        return f"{self.file}:{self.line}"


class Link(NamedTuple):
    """An address, its judgement, and every place that uses it."""

    url: str
    judgement: Judgement
    sources: tuple[Use, ...]


class ConfigurationError(Exception):
    """The command line, a rule file or a state file cannot be used as it is."""


OK = Judgement(Verdict.OK)


def broken(reason: str) -> Judgement:
    """Judge as broken for this reason."""
    return Judgement(Verdict.BROKEN, reason)


def unchecked(reason: str) -> Judgement:
    """Judge as left unchecked for this reason."""
    return Judgement(Verdict.UNCHECKED, reason)
