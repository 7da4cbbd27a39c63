"""Read a page as text: what is prose, what is code, and where each stands; all texts keep their length, so an offset is a place."""

import re
from functools import lru_cache

FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
FENCE = re.compile(r"^[ \t]*(```+|~~~+)[^\n]*\n.*?^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
CODE = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n\n).)+?(?<!`)\1(?!`)", re.DOTALL)
EMBED = re.compile(r'^[ \t]*-+8<-+[ \t]+"([^"\n]*)"[ \t]*$', re.MULTILINE)
# Addresses, attribute lists, HTML tags, footnote marks, formulas: what stands in prose and is none.
MARKUP = re.compile(
    r"<https?://[^>\s]+>|https?://[^\s)>，。；）]+|\]\([^)\n]*\)|\{ ?[:#.][^}\n]*\}|\{[^}\n]*=[^}\n]*\}"
    r"|</?[A-Za-z][^>\n]*>|\[\^[\w-]+\]:?|\$[^$\n]+\$|\\\(.+?\\\)"
)


def _sign(match: re.Match[str]) -> str:
    """Put signs in a match's place that are neither letters nor punctuation nor spaces, and keep its lines."""
    return re.sub(r"[^\n]", "\x00", match[0])


def blank(match: re.Match[str]) -> str:
    """Put spaces in a match's place and keep its lines."""
    return re.sub(r"[^\n]", " ", match[0])


def without_code(text: str) -> str:
    """Blank blocks of code, comments and inline code."""
    return CODE.sub(blank, without_blocks(text))


@lru_cache(maxsize=64)
def without_blocks(text: str) -> str:
    """Blank blocks of code and comments."""
    return COMMENT.sub(blank, FENCE.sub(blank, text))


@lru_cache(maxsize=64)
def words(text: str) -> str:
    """Blank all but what is read: code, includes, addresses and other markup.

    Inline code, markup and comments become signs that are neither letters nor punctuation nor spaces, since a sentence goes on across them.
    """
    text = COMMENT.sub(_sign, FENCE.sub(blank, FRONT_MATTER.sub(_values, text, count=1)))
    return MARKUP.sub(_sign, CODE.sub(_sign, EMBED.sub(blank, text)))


def _values(head: re.Match[str]) -> str:
    """Keep of the front matter the sentences."""
    lines = head[0].split("\n")
    kept = [re.sub(r"^\w+:", blank, line) if line.startswith(("description:", "measured:", "title:")) else " " * len(line) for line in lines]
    return "\n".join(kept)
