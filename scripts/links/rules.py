"""The host rules in `links.toml`: what asking cannot find out, each with its reason and the day on which it ends."""

import tomllib
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from links.address import Address
from links.model import ConfigurationError, Link, Use, broken
from links.repository import Repository

MODES = {
    "skip": "never asked",
    "no-anchors": "asked, but its anchors are not looked for",
    "slow": "asked one page at a time, with more patience",
}
_KEYS = {"name", "mode", "reason", "expires"}


class HostRule(NamedTuple):
    """How one host, or with `*.` before it all hosts below a name, is to be treated."""

    name: str
    mode: str
    reason: str
    expires: date

    def fits(self, address: Address) -> bool:
        """Say whether the rule is about this address; a name with a port is about that port alone."""
        name, _, port = self.name.partition(":")
        if port and port != str(address.port):
            return False
        return address.host == name or (name.startswith("*.") and (address.host.endswith(name[1:]) or address.host == name[2:]))


class Rules(NamedTuple):
    """What a rule file says, and what is wrong with it."""

    hosts: tuple[HostRule, ...] = ()
    repository: Repository | None = None
    findings: tuple[Link, ...] = ()

    def rule_for(self, address: Address) -> HostRule | None:
        """Return the first rule that is about the address."""
        return next((rule for rule in self.hosts if rule.fits(address)), None)


def find_rules(*folders: Path) -> Path | None:
    """Return the `links.toml` of the first of these folders that has one."""
    return next((folder / "links.toml" for folder in folders if (folder / "links.toml").is_file()), None)


def read_rules(path: Path, today: date | None) -> Rules:
    """Read a rule file; without a day, as offline, no rule ends.

    Raises ConfigurationError where the file is not TOML or has another shape; an unknown or expired rule is a finding.
    """
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path}: {error}") from error
    if unknown := sorted(set(data) - {"host", "repository"}):
        raise ConfigurationError(f"{path}: there is no section {unknown[0]!r}; known are [[host]] and [repository]")
    entries = data.get("host", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and isinstance(entry.get("name"), str) for entry in entries):
        raise ConfigurationError(f"{path}: each [[host]] needs a name")
    hosts, findings = [], []
    for entry in entries:
        if fault := _fault(entry, today):
            findings.append(_finding(path, text, entry["name"], fault))
        else:
            hosts.append(HostRule(entry["name"].lower(), entry["mode"], entry["reason"], entry["expires"]))
    return Rules(tuple(hosts), _repository(path, data.get("repository")), tuple(findings))


def _fault(entry: dict[str, Any], today: date | None) -> str:
    if unknown := sorted(set(entry) - _KEYS):
        return f"unknown key {unknown[0]!r}"
    if entry.get("mode") not in MODES:
        return f"unknown mode {entry.get('mode')!r}; known are {', '.join(MODES)}"
    if not isinstance(entry.get("reason"), str) or not entry["reason"].strip():
        return "a rule needs a reason"
    if type(entry.get("expires")) is not date:
        return "a rule needs a day on which it expires, like expires = 2027-01-31"
    if today is not None and entry["expires"] < today:
        return f"the rule expired on {entry['expires']}: look whether it is still needed"
    return ""


def _finding(path: Path, text: str, name: str, fault: str) -> Link:
    line = next((number for number, written in enumerate(text.splitlines(), 1) if f'"{name}"' in written or f"'{name}'" in written), 1)
    return Link(f"{path.name}: {name}", broken(fault), (Use(path.as_posix(), line),))


def _repository(path: Path, entry: object) -> Repository | None:
    if entry is None:
        return None
    if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()) or "address" not in entry:
        raise ConfigurationError(f"{path}: [repository] needs an address, and may have a branch and a folder")
    return Repository(entry["address"].rstrip("/"), entry.get("branch", "main"), path.resolve().parent / entry.get("folder", "."))
