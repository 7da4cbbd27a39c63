"""Publish the snippets beside the pages: what a page shows, runs and offers for download is one text."""

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path.append(str(Path(__file__).parent.parent))

from project import published, snippet_folders

SUFFIXES = {".py", ".cu", ".json", ".csv", ".txt"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add each folder's sources and records, without the marks of their sections."""
    for folder in snippet_folders():
        for path in sorted(folder.iterdir()):
            if path.suffix in SUFFIXES:
                files.append(File.generated(config, f"snippets/{folder.name}/{path.name}", content=published(path)))
    return files
