"""Bytes to text as browsers do it: the byte order mark, then the server's word, then the page's own, then UTF-8."""

import codecs
import re

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
# Names that browsers give to another encoding than Python does.
_ALIASES = {
    "gb2312": "gb18030", "gbk": "gb18030", "x-gbk": "gb18030", "gb_2312-80": "gb18030", "chinese": "gb18030", "csgb2312": "gb18030",
    "iso-8859-1": "cp1252", "latin1": "cp1252", "latin-1": "cp1252", "iso8859-1": "cp1252", "l1": "cp1252", "us-ascii": "cp1252", "ascii": "cp1252",
    "iso-8859-9": "cp1254", "latin5": "cp1254", "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932", "x-sjis": "cp932",
    "ks_c_5601-1987": "cp949", "euc-kr": "cp949", "korean": "cp949", "big5": "big5hkscs", "x-x-big5": "big5hkscs", "big5-hkscs": "big5hkscs",
    "tis-620": "cp874", "iso-8859-11": "cp874", "unicode": "utf-16-le", "utf8": "utf-8", "unicode-1-1-utf-8": "utf-8", "x-user-defined": "cp1252",
}  # fmt: skip
_NOT_IN_BROWSERS = {"utf-7", "utf-32", "utf-32-le", "utf-32-be", "idna", "punycode", "unicode_escape", "raw_unicode_escape"}
_META = re.compile(rb"<meta[\s/][^>]*?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.\-]+)", re.IGNORECASE)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_CHARSET_RULE = re.compile(rb'@charset "([^"]*)";')
_SNIFFED = 1024


def decode_html(data: bytes, declared: str = "") -> tuple[str, str]:
    """Return a page's text and the encoding that it was read in; `declared` is the server's charset, if it names one.

    Nothing is raised: bytes that the encoding does not know become replacement characters.
    """
    found = _META.search(_COMMENT.sub(b"", data[:_SNIFFED]))
    own = _known(found[1].decode("ascii")) if found else ""
    if own.startswith("utf-16"):
        own = "utf-8"  # a page that says so in ASCII bytes is not what it says
    return _decode(data, _known(declared) or own)


def decode_css(data: bytes) -> str:
    """Return a style sheet's text, read as its `@charset` says or as UTF-8."""
    found = _CHARSET_RULE.match(data)
    return _decode(data, _known(found[1].decode("latin-1")) if found else "")[0]


def _decode(data: bytes, encoding: str) -> tuple[str, str]:
    for mark, marked in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(marked, "replace"), marked
    return data.decode(encoding or "utf-8", "replace"), encoding or "utf-8"


def _known(label: str) -> str:
    """Return Python's name of a text encoding, or nothing for one that it does not have."""
    label = label.strip().lower()
    try:
        name = _ALIASES.get(label) or codecs.lookup(label).name
        return "" if name in _NOT_IN_BROWSERS or b"".decode(name) else name
    except (LookupError, ValueError, UnicodeError):
        return ""
