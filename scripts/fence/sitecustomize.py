"""What a snippet's Python starts with: a limit on memory, files and processor time, and no network. scripts/fenced.py puts it on the path."""

import os
import sys

REFUSED = {"socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}


def _refuse(event: str, _arguments: tuple[object, ...]) -> None:
    if event in REFUSED:
        raise PermissionError(f"a snippet has no network ({event}): read what it needs from a file beside it")


def _limit(seconds: int, memory: int, written: int) -> None:
    try:
        import resource  # noqa: PLC0415 - Windows has none
    except ImportError:
        return
    for name, most in (("RLIMIT_CPU", seconds), ("RLIMIT_AS", memory), ("RLIMIT_FSIZE", written), ("RLIMIT_CORE", 0)):
        if hasattr(resource, name):
            try:
                resource.setrlimit(getattr(resource, name), (most, most))
            except (ValueError, OSError):  # macOS knows RLIMIT_AS and refuses it
                continue


if _limits := os.environ.pop("WARPWISE_LIMITS", ""):
    sys.addaudithook(_refuse)
    _limit(*map(int, _limits.split()))
