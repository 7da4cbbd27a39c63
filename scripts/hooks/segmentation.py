"""Keep jieba, with which Material's search cuts Chinese into words, quiet and inside the project."""

from pathlib import Path

import jieba  # type: ignore[import-untyped]
from mkdocs.config.defaults import MkDocsConfig


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Send its log nowhere and its cache to .cache."""
    jieba.setLogLevel("WARNING")
    cache = Path(config.config_file_path).parent / ".cache"
    cache.mkdir(exist_ok=True)
    jieba.dt.tmp_dir = str(cache)
    return config
