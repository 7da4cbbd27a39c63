"""The site's search: what the build writes for it. The browser's half is web/src/search."""
