"""Leave out of the site what Material carries for other languages' searches: 1 MB that no page asks for, under licences of its own."""

from pathlib import PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files

LUNR = "assets/javascripts/lunr/"
KEPT = {"lunr.stemmer.support.min.js", "lunr.zh.min.js"}


def on_files(files: Files, config: MkDocsConfig) -> Files:  # noqa: ARG001 - MkDocs's own signature
    """Keep of Lunr's languages the one that the Chinese search loads; web/notices.yml lists it."""
    for file in list(files):
        if file.src_uri.startswith(LUNR) and PurePosixPath(file.src_uri).name not in KEPT:
            files.remove(file)
    return files
