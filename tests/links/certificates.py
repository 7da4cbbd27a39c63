"""Certificates of a local authority, made anew each time: right ones, and wrong in each of the known ways."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """A root, an intermediate, and servers' certificates that the intermediate signs."""

    def __init__(self, folder: Path) -> None:
        """Make them all in a folder."""
        self._folder = folder
        self.root = folder / "root.pem"
        self._keys: dict[str, ec.EllipticCurvePrivateKey] = {}
        authority = x509.BasicConstraints(ca=True, path_length=None)
        self._sign("root", "", authority)
        self._sign("middle", "root", authority)
        here = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
        self._sign("valid", "middle", here)
        self._sign("expired", "middle", here, days=-1)
        self._sign("missing-intermediate", "middle", here)
        self._sign("self-signed", "", here)
        self._sign("other-host", "middle", x509.SubjectAlternativeName([x509.DNSName("elsewhere.example.net")]))

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

    def _sign(self, name: str, issuer: str, extension: x509.ExtensionType, days: int = 2) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        self._keys[name] = key
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(_named(name))
            .issuer_name(_named(issuer or name))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=3))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
            .sign(self._keys[issuer or name], hashes.SHA256())
        )
        (self._folder / f"{name}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        (self._folder / f"{name}.key").write_bytes(secret)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
