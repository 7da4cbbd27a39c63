"""Attribute values with a grammar of their own: image candidates and the refresh header."""

import re

_SPACE = " \t\n\f\r"
_WIDTH = re.compile(r"[0-9]+w")
_HEIGHT = re.compile(r"[0-9]+h")
_DENSITY = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?x")
_REFRESH = re.compile(r"[ \t\n\f\r]*([0-9]*)(?:\.[0-9.]*)?(.*)", re.DOTALL)
_REFRESH_URL = re.compile(r"[ \t\n\f\r]*[;,]?[ \t\n\f\r]*(?:(url)[ \t\n\f\r]*=[ \t\n\f\r]*)?(.*)", re.DOTALL | re.IGNORECASE)


def srcset_urls(value: str) -> list[str]:
    """Return the addresses of the candidates that a browser would choose from; a candidate with bad descriptors is none."""
    urls: list[str] = []
    place = 0
    while True:
        while place < len(value) and value[place] in _SPACE + ",":
            place += 1
        if place >= len(value):
            return urls
        start = place
        while place < len(value) and value[place] not in _SPACE:
            place += 1
        url = value[start:place]
        if url.endswith(","):
            urls.append(url.rstrip(","))
            continue
        descriptors, place = _descriptors(value, place)
        if _valid(descriptors):
            urls.append(url)


def refresh_url(content: str) -> tuple[int, str] | None:
    """Return the seconds and the address of a `<meta http-equiv="refresh">`, or nothing where it only reloads."""
    found = _REFRESH.match(content)
    if not found or (not found[1] and not content.lstrip(_SPACE).startswith(".")):
        return None
    rest = found[2]
    if not rest or rest[0] not in _SPACE + ";,":
        return None
    target = _REFRESH_URL.match(rest)
    url = target[2] if target else ""
    if url[:1] in {"'", '"'}:
        url = url[1:].partition(url[0])[0]
    return (min(int(found[1] or 0), 1 << 31), url.strip(_SPACE)) if url.strip(_SPACE) else None


def _descriptors(value: str, place: int) -> tuple[list[str], int]:
    """Read up to the comma that ends the candidate; commas within parentheses do not."""
    words = [""]
    depth = 0
    while place < len(value):
        letter = value[place]
        place += 1
        if letter == "," and not depth:
            break
        if letter in _SPACE and not depth:
            words.append("")
            continue
        depth = 1 if letter == "(" or (depth and letter != ")") else 0
        words[-1] += letter
    return [word for word in words if word], place


def _valid(descriptors: list[str]) -> bool:
    widths = [word for word in descriptors if _WIDTH.fullmatch(word)]
    heights = [word for word in descriptors if _HEIGHT.fullmatch(word)]
    densities = [word for word in descriptors if _DENSITY.fullmatch(word)]
    if len(widths) + len(heights) + len(densities) != len(descriptors):
        return False
    if any(int(word[:-1]) == 0 for word in widths + heights) or any(float(word[:-1]) < 0 for word in densities):
        return False
    if densities:
        return len(densities) == 1 and len(descriptors) == 1
    return len(widths) <= 1 and len(heights) <= len(widths)
