"""Cut text into what the search knows: words, identifiers whole and in parts, Chinese characters alone and in pairs.

web/src/search/words.js cuts what a reader types in the same way; a test compares the two.
"""

import re
import unicodedata

HAN = "\u3400-\u4dbf\u4e00-\u9fff々"
JOINTS = "_.:/-[]"  # what joins the parts of an identifier

# Each pattern begins with what is rare or simple: a text is gone through once for each.
_HUMP = re.compile(r"[a-z0-9](?=[A-Z])(?:(?<=[a-z])|(?=[A-Z][a-z]))")
_THOUSANDS = re.compile(r",(?=[0-9]{3})(?<=[0-9],)")
_WORD = re.compile(r"[a-z0-9]{2,}")
_CHAIN = re.compile(rf"[a-z0-9]+[{re.escape(JOINTS)}]+[a-z0-9][a-z0-9{re.escape(JOINTS)}]*")
_SIGN = re.compile(f"[{HAN}]")
_PAIR = re.compile(f"(?=([{HAN}]{{2}}))")
_ADDRESS = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8,}|[0-9]+")


def normalised(text: str) -> str:
    """Give a text in one form: full-width letters and signs as ordinary ones, humps of identifiers apart, lower case."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    text = _HUMP.sub(r"\g<0>_", text).lower()
    return _THOUSANDS.sub("", text) if "," in text else text


def tokens(text: str) -> list[str]:
    """Give the tokens of a normalised text, as often as they occur."""
    found = _WORD.findall(text)
    for chain in _CHAIN.findall(text):
        whole = joined(chain)
        if not whole.isdecimal():
            found.append(whole)
    if not text.isascii():
        found += _SIGN.findall(text)
        found += _PAIR.findall(text)
    return found


def useful(token: str) -> bool:
    """Tell a word from the numbers, addresses and digests in a listing."""
    return token.isalpha() or not _ADDRESS.fullmatch(token)


def joined(text: str) -> str:
    """Give a normalised text without what separates its words, in which a name of several words is one piece."""
    for joint in JOINTS:
        if joint in text:
            text = text.replace(joint, "")
    return text.replace(" ", "")
