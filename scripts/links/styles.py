"""The addresses in a style sheet that a browser would fetch: `url()`, `@import` and `image-set()`, by CSS's own tokens.

A `url()` in a comment or a string is none; nor is the name in `@namespace`, or an `@import` behind the first rule.
"""

import re
import sys

_TOKEN = re.compile(
    r"""
    (?P<comment>/\*.*?(?:\*/|\Z))
    | (?P<string>"(?:[^"\\\n]|\\.)*+(?:"|(?=\n)|\Z|\\\Z)|'(?:[^'\\\n]|\\.)*+(?:'|(?=\n)|\Z|\\\Z))
    | (?P<function>[-A-Za-z_\x80-\U0010ffff][-\w\x80-\U0010ffff]*\()
    | (?P<at>@[-\w]+)
    | (?P<name>[-\w\x80-\U0010ffff]+|\\.)
    | (?P<mark>[(){};])
    """,
    re.VERBOSE | re.DOTALL,
)
_BARE = re.compile(r"[ \t\n\r\f]*((?:[^\\\s\"'()\x00-\x08\x0b\x0e-\x1f\x7f]|\\[^\n])*)[ \t\n\r\f]*(?:\)|\Z)")
_QUOTED = re.compile(r"[ \t\n\r\f]*(?=[\"'])")
_BAD_REST = re.compile(r"(?:[^\\)]|\\.)*+\)?", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([0-9A-Fa-f]{1,6})[ \t\n\r\f]?|(\n)|(.)|\Z)", re.DOTALL)
_SURROGATES = range(0xD800, 0xE000)
_BEFORE_IMPORTS = {"@charset", "@import", "@layer"}


def style_urls(text: str, *, sheet: bool = True) -> list[str]:
    """Return what a style sheet fetches, as written; with `sheet` false the text is the value of a `style` attribute."""
    if "url" not in (lower := text.lower()) and "@import" not in lower and "image-set" not in lower:
        return []
    return _Reader(text, sheet=sheet).urls


class _Reader:
    """One pass over a sheet's tokens; where a string stands decides whether it is an address."""

    def __init__(self, text: str, *, sheet: bool) -> None:
        self.urls: list[str] = []
        self._text = text
        self._imports_allowed = sheet
        self._rule = ""
        self._functions: list[str] = []
        place = 0
        while found := _TOKEN.search(text, place):
            place = found.end()
            kind = found.lastgroup
            if kind == "function":
                place = self._function(found["function"][:-1].lower(), place)
            elif kind == "string":
                if place == len(text) or found["string"][-1] == found["string"][0] != found["string"]:
                    self._string(_unescape(found["string"]))
                elif self._functions:
                    self._functions[-1] = "one that a broken string has spoilt"
            elif kind == "at":
                self._rule = found["at"].lower()
                self._imports_allowed = self._imports_allowed and self._rule in _BEFORE_IMPORTS
            elif kind == "mark":
                self._mark(found["mark"])

    def _function(self, name: str, place: int) -> int:
        if name != "url" or _QUOTED.match(self._text, place):
            self._functions.append(name)
            return place
        found = _BARE.match(self._text, place)
        if found:
            self._add(_unescape(found[1]))
            return found.end()
        rest = _BAD_REST.match(self._text, place)
        return rest.end() if rest else place

    def _string(self, value: str) -> None:
        inside = self._functions[-1] if self._functions else ""
        if inside in {"url", "image-set", "-webkit-image-set"} or (self._rule == "@import" and not inside):
            self._add(value)
            if inside == "url":
                self._functions[-1] = "url that has its address"

    def _add(self, url: str) -> None:
        if self._rule == "@namespace" or (self._rule == "@import" and not self._imports_allowed):
            return
        if self._rule == "@import":
            self._rule = "an import whose address is read"
        if url.strip():
            self.urls.append(url)

    def _mark(self, mark: str) -> None:
        if mark == "(":
            self._functions.append("")
        elif mark == ")":
            del self._functions[-1:]
        else:
            self._rule = ""
            self._functions.clear()
            self._imports_allowed = self._imports_allowed and mark != "{"


def _unescape(text: str) -> str:
    if text[:1] in {'"', "'"}:
        text = text[1:-1] if len(text) > 1 and text[-1] == text[0] else text[1:]

    def plain(found: re.Match[str]) -> str:
        if found[1]:
            code = int(found[1], 16)
            return chr(code) if 0 < code <= sys.maxunicode and code not in _SURROGATES else "\ufffd"
        return found[3] or ""

    return _ESCAPE.sub(plain, text) if "\\" in text else text
