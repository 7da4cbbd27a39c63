"""Leave out of the site what Material carries and no page asks for.

That is its search, for which the site has its own, its script and stylesheets, which web_build.py trims, and source maps.
"""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files

UNUSED = ("assets/javascripts/", "assets/stylesheets/")


def on_files(files: Files, config: MkDocsConfig) -> Files:  # noqa: ARG001 - MkDocs's own signature
    """Take them out before they are copied."""
    for file in list(files):
        if file.src_uri.startswith(UNUSED) or file.src_uri.endswith(".map"):
            files.remove(file)
    return files
