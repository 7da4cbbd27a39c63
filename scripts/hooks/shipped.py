"""Leave out of the site what Material carries and no page asks for.

That is Lunr's other languages (1 MB, under licences of their own), the stylesheets, which are part of site.css, and source maps.
"""

from pathlib import PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files

LUNR = "assets/javascripts/lunr/"
STYLES = "assets/stylesheets/"
KEPT = {"lunr.stemmer.support.min.js", "lunr.zh.min.js"}


def on_files(files: Files, config: MkDocsConfig) -> Files:  # noqa: ARG001 - MkDocs's own signature
    """Keep of Lunr's languages the one that the Chinese search loads; web/notices.yml lists it."""
    for file in list(files):
        unused = file.src_uri.startswith(LUNR) and PurePosixPath(file.src_uri).name not in KEPT
        if unused or file.src_uri.startswith(STYLES) or file.src_uri.endswith(".map"):
            files.remove(file)
    return files
