"""A host with the rules of GitHub Pages, written apart from the checker's own; it listens on loopback only."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import static_cases

TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webm": "video/webm",
    ".pdf": "application/pdf",
}


class Host(BaseHTTPRequestHandler):
    """Serves a folder below the sub-path by the rules of GitHub Pages, written apart from the checker's own."""

    folder = Path()

    def do_GET(self) -> None:
        """Answer with a file, a redirect that adds a slash, or 404."""
        path = unquote(self.path.partition("?")[0]).replace("//", "/")
        name = path.removeprefix(static_cases.ROOT) if path.startswith(static_cases.ROOT) else None
        if path + "/" == static_cases.ROOT:
            self.answer(301, b"", location=static_cases.ROOT)
            return
        for candidate in [] if name is None else [f"{name}index.html"] if name == "" or name.endswith("/") else [name, name + ".html"]:
            if (self.folder / candidate).is_file() and not (candidate == name and name.endswith("/")):
                self.answer(200, (self.folder / candidate).read_bytes(), TYPES.get(Path(candidate).suffix, "text/plain"))
                return
        if name and (self.folder / name / "index.html").is_file():
            self.answer(301, b"", location=self.path.partition("?")[0] + "/")
        else:
            self.answer(404, b"<!doctype html><title>404</title>")

    def answer(self, status: int, body: bytes, kind: str = "text/html", location: str = "") -> None:
        """Send one response."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if location:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the standard library's
        """Say nothing."""


@contextmanager
def serving_pages(folder: Path) -> Iterator[str]:
    """Serve a folder below the cases' sub-path and give the origin."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("SiteHost", (Host,), {"folder": folder}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
