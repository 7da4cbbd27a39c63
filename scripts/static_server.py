"""A static host for tests and benchmarks, on this machine alone: compressed text, long caching of named content, a 404 page."""

import gzip
import http.server
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

TEXT = {".html", ".css", ".js", ".mjs", ".svg", ".json", ".xml", ".txt", ".py", ".cu", ".md", ".ipynb"}


class StaticHost(http.server.SimpleHTTPRequestHandler):
    """Serve a folder below a path, as a project's pages are served."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: the second would wait 40 ms for the first's acknowledgement

    def __init__(self, *arguments: object, site: Path, prefix: str) -> None:
        """Serve `site` below `prefix`, which begins and ends with a slash."""
        self.site, self.prefix = site, prefix
        super().__init__(*arguments)  # type: ignore[arg-type]  # the base class's own arguments, passed along

    def do_GET(self) -> None:
        """Answer with a file, a redirect to a folder's address, or the site's 404 page."""
        path = self.path.partition("?")[0].partition("#")[0]
        below = path.removeprefix(self.prefix) if path.startswith(self.prefix) else "404.html/missing"
        file = (self.site / below).resolve()
        if file.is_dir() and not path.endswith("/"):
            self.answer(301, b"", {"Location": f"{path}/"})
            return
        if file.is_dir():
            file /= "index.html"
        found = file.is_file() and file.is_relative_to(self.site.resolve())
        if not found:
            file = self.site / "404.html"
        headers = {"Content-Type": _type(file), "Cache-Control": "max-age=31536000, immutable" if "/built/" in path else "max-age=600"}
        compressed = file.suffix in TEXT and "gzip" in self.headers.get("Accept-Encoding", "")
        if compressed:
            headers["Content-Encoding"] = "gzip"
        self.answer(200 if found else 404, _body(file, file.stat().st_mtime_ns, compressed=compressed), headers)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class's own signature
        """Say nothing."""

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        """Send an answer."""
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def prepared(files: Iterable[Path]) -> None:
    """Compress files before they are asked for, as hosts do."""
    for file in files:
        _body(file.resolve(), file.stat().st_mtime_ns, compressed=True)


@contextmanager
def serving(site: Path, prefix: str = "/", host: type[StaticHost] = StaticHost) -> Iterator[str]:
    """Serve a folder on a free port of 127.0.0.1 and give the address, which ends with the prefix."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(host, site=site, prefix=prefix))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{prefix}"
    finally:
        server.shutdown()
        server.server_close()


def _type(file: Path) -> str:
    known = {".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm", ".ipynb": "application/x-ipynb+json"}
    found = known.get(file.suffix) or http.server.SimpleHTTPRequestHandler.extensions_map.get(file.suffix) or _guess(file)
    return f"{found}; charset=utf-8" if file.suffix in TEXT else found


def _guess(file: Path) -> str:
    import mimetypes  # noqa: PLC0415 - rarely needed

    return mimetypes.guess_type(file.name)[0] or "application/octet-stream"


@cache
def _body(file: Path, _changed: int, *, compressed: bool) -> bytes:
    return gzip.compress(file.read_bytes(), 9, mtime=0) if compressed else file.read_bytes()
