"""Files that list a site's own pages: sitemaps and the search indexes of MkDocs and Zensical."""

import html
import json
import re

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_LOCATION = re.compile(r"<(?:[\w.-]+:)?loc\b[^>]*>\s*(?:<!\[CDATA\[(?P<raw>.*?)\]\]>|(?P<text>[^<]*))", re.DOTALL)
_ALTERNATE = re.compile(r"<(?:[\w.-]+:)?link\b[^>]*?\shref\s*=\s*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)')")
_START = re.compile(r"<(?:[\w.-]+:)?(?:urlset|sitemapindex)\b")
_STARTS_WITHIN = 4096
SEARCH_INDEXES = ("search_index.json", "search.json")


class BadListError(ValueError):
    """The file is not what its name says."""


def is_sitemap(text: str) -> bool:
    """Say whether an XML text is a sitemap or an index of sitemaps."""
    return bool(_START.search(text[:_STARTS_WITHIN]))


def sitemap_urls(text: str) -> list[str]:
    """Return every location and every alternate of a sitemap, as written.

    Raises BadListError where the file breaks off.
    """
    text = _COMMENT.sub("", text)
    if not re.search(r"</(?:[\w.-]+:)?(?:urlset|sitemapindex)\s*>\s*\Z", text) and not re.search(r"<(?:urlset|sitemapindex)\b[^>]*/>\s*\Z", text):
        raise BadListError("the sitemap breaks off before its end")
    found = sorted([*_LOCATION.finditer(text), *_ALTERNATE.finditer(text)], key=lambda match: match.start())
    urls = []
    for match in found:
        groups = match.groupdict()
        raw = groups.get("raw")
        urls.append(
            (raw if raw is not None else html.unescape(next(value for name, value in groups.items() if value is not None and name != "raw"))).strip()
        )
    return [url for url in urls if url]


def search_locations(text: str) -> list[str]:
    """Return the locations in a search index, relative to the site that it serves; none for another kind of JSON.

    Raises BadListError where the file is not JSON.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadListError("the search index is not JSON") from error
    entries = (data.get("docs") or data.get("items")) if isinstance(data, dict) else None
    if not isinstance(entries, list):
        return []
    return [entry["location"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("location"), str)]
