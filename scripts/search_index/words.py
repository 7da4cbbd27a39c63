"""Cut text into what the search knows: words, identifiers whole and in parts, and at each Chinese character it and the next.

web/src/search/words.js cuts what a reader types in the same way; a test compares the two.
"""

import re
import unicodedata
from collections.abc import Iterable

HAN = "\u3400-\u4dbf\u4e00-\u9fff々"
JOINTS = "_.:/-[]"  # what joins the parts of an identifier

# Each pattern begins with what is rare or simple: a text is gone through once for each.
_HUMP = re.compile(r"[a-z0-9](?=[A-Z])(?:(?<=[a-z])|(?=[A-Z][a-z]))")
_THOUSANDS = re.compile(r",(?=[0-9]{3})(?<=[0-9],)")
_WORD = re.compile(r"[a-z0-9]{2,}")
_CHAIN = re.compile(rf"(?<![a-z0-9])[a-z0-9]++[{re.escape(JOINTS)}]++[a-z0-9][a-z0-9{re.escape(JOINTS)}]*+")
_HAN_RUN = re.compile(f"[{HAN}]+")
_ADDRESS = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8,}|[0-9]+")
# The signs of Chinese text that NFKC changes; a text without them it mostly leaves as it is, and looking is fast.
_WIDE = tuple((sign, unicodedata.normalize("NFKC", sign)) for sign in "，：；（）？！")


def normalised(text: str) -> str:
    """Give a text in one form: full-width letters and signs as ordinary ones, humps of identifiers apart, lower case."""
    if not text.isascii():
        for wide, narrow in _WIDE:
            text = text.replace(wide, narrow)
        text = unicodedata.normalize("NFKC", text)
    text = _HUMP.sub(r"\g<0>_", text).lower()
    return _THOUSANDS.sub("", text) if "," in text else text


def tokens(text: str) -> list[str]:
    """Give the tokens of a normalised text, as often as they occur."""
    found = _WORD.findall(text)
    # All chains at once: none of them holds a blank.
    wholes = joined("\n".join(_CHAIN.findall(text))).split("\n")
    found += [whole for whole in wholes if whole and not whole.isdecimal()]
    if not text.isascii():
        # The last character of a run is alone. A character is found by all tokens that it begins.
        found += [run[start : start + 2] for run in _HAN_RUN.findall(text) for start in range(len(run))]
    return found


def useful(found: Iterable[str]) -> list[str]:
    """Give the tokens of a listing without numbers, addresses and digests."""
    is_address = _ADDRESS.fullmatch
    return [token for token in found if token.isalpha() or not is_address(token)]


def joined(text: str) -> str:
    """Give a normalised text without what separates its words, in which a name of several words is one piece."""
    for joint in JOINTS:
        if joint in text:
            text = text.replace(joint, "")
    return text.replace(" ", "")
