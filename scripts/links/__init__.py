"""The link checker's parts; `scripts/check_links.py` puts them together."""
