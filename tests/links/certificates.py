"""Certificates of a local authority, made with openssl: right ones, and wrong in each of the known ways."""

import ssl
import subprocess
from pathlib import Path


class Authority:
    """A root, an intermediate, and servers' certificates that the intermediate signs."""

    def __init__(self, folder: Path) -> None:
        """Make them all in a folder."""
        self._folder = folder
        self.root = folder / "root.pem"
        self._sign("root", "", "basicConstraints=critical,CA:TRUE")
        self._sign("middle", "root", "basicConstraints=critical,CA:TRUE")
        here = "subjectAltName=IP:127.0.0.1"
        self._sign("valid", "middle", here)
        self._sign("expired", "middle", here, days="-1")
        self._sign("missing-intermediate", "middle", here)
        self._sign("self-signed", "", here)
        self._sign("other-host", "middle", "subjectAltName=DNS:elsewhere.example.net")

    def context(self, name: str) -> ssl.SSLContext:
        """Return the context of a server with this certificate, which sends the intermediate unless it is the one that does not."""
        chain = (self._folder / f"{name}.pem").read_text()
        if name not in {"missing-intermediate", "self-signed"}:
            chain += (self._folder / "middle.pem").read_text()
        sent = self._folder / f"{name}-sent.pem"
        sent.write_text(chain)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sent, self._folder / f"{name}.key")
        return context

    def _sign(self, name: str, issuer: str, extension: str, days: str = "2") -> None:
        key, request, extensions = (self._folder / f"{name}.{ending}" for ending in ("key", "request", "extensions"))
        extensions.write_text(extension)
        self._openssl(
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", request, "-subj", f"/CN={name}"
        )
        signed_by: list[str | Path] = (
            ["-CA", self._folder / f"{issuer}.pem", "-CAkey", self._folder / f"{issuer}.key", "-CAcreateserial"] if issuer else ["-signkey", key]
        )
        self._openssl("x509", "-req", "-in", request, *signed_by, "-days", days, "-extfile", extensions, "-out", self._folder / f"{name}.pem")

    def _openssl(self, *arguments: str | Path) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)
