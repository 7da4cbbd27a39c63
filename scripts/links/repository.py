"""Links into the site's own repository, judged from the checkout: a new page's edit link is right before it is pushed."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from links.model import OK, Judgement, broken, unchecked

_VIEWS = re.compile(r"/(?:-/)?(?:edit|_edit|blob|raw|tree|blame|src/branch)/(?P<rest>[^?#]+)")
_EDIT = re.compile(r"https?://[^/?#]+/[^?#]*?/(?:-/)?(?:edit|_edit)/(?P<rest>[^?#]+)")


class Repository(NamedTuple):
    """The address of a repository, the branch that is published, and the folder that holds its checkout."""

    address: str
    branch: str
    folder: Path


class RepositoryJudge:
    """Answers for addresses in the repository's views of a file; others are left to be asked."""

    def __init__(self, repository: Repository | None, sources: Sequence[Path]) -> None:
        """Take the repository, if the rules name one, and the folders of Markdown, whose edit links are known without it."""
        self._repository = repository
        self._sources = [source.resolve() for source in sources]

    def judge(self, address: str) -> Judgement | None:
        """Judge a link to a file of the checkout; nothing for any other address."""
        own = self._repository
        if own and address.startswith(own.address + "/issues/new"):
            return unchecked("a form for signed-in readers")
        if own and (address == own.address or address.startswith(own.address + "/")):
            found = _VIEWS.match(address, len(own.address))
            rest = unquote(found["rest"]) if found else ""
            if not rest.startswith(own.branch + "/"):
                return None
            path = rest.removeprefix(own.branch + "/")
            return OK if _is_below(own.folder, path) else broken(f"the repository has no {path}")
        if found := _EDIT.match(address):
            return self._judge_edit(unquote(found["rest"]).split("/"))
        return None

    def _judge_edit(self, parts: list[str]) -> Judgement | None:
        """Find the file whatever the branch is called: a link to edit another project's file is not ours to judge."""
        tails = ["/".join(parts[start:]) for start in range(1, len(parts))]
        for source in self._sources:
            root = next((folder for folder in source.parents if (folder / ".git").exists()), source.parent)
            inside = source.relative_to(root).as_posix() + "/"
            for tail in tails:
                if tail.startswith(inside):
                    return OK if _is_below(root, tail) else broken(f"the repository has no {tail}")
        return None


def _is_below(folder: Path, path: str) -> bool:
    if "\0" in path or ".." in path.split("/"):
        return False
    return (folder / path).exists()
