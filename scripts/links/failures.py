"""What can go wrong on the way to an answer, and what each says about the address."""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable
from enum import StrEnum

import aiohttp

from links.guard import PrivateHostError
from links.lenient import NotHttpError
from links.model import Judgement, Verdict, broken, unchecked

# OpenSSL's reasons why a chain of certificates is not believed.
_EXPIRED, _NOT_YET, _SELF_SIGNED, _OTHER_HOST, _OTHER_IP = 10, 9, 18, 62, 64
_NO_ISSUER = {2, 19, 20, 21}
_NOT_TLS = ("WRONG_VERSION_NUMBER", "UNSUPPORTED_PROTOCOL", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")
_REFUSALS = {
    _EXPIRED: "has expired",
    _NOT_YET: "is not yet valid",
    _SELF_SIGNED: "is self-signed",
    _OTHER_HOST: "is another host's",
    _OTHER_IP: "is another host's",
}


class Kind(StrEnum):
    """How a failure may be met: not at all, or by asking again after a while."""

    FINAL = "final"
    TIMEOUT = "timeout"
    DRIP = "drip"
    RESET = "reset"
    REFUSED = "refused"
    NOT_HTTP = "not HTTP"


class Failure(Exception):  # noqa: N818 - it is a result that travels as an exception
    """An address gave no answer: what to make of it, and whether to ask again."""

    def __init__(self, judgement: Judgement, kind: Kind = Kind.FINAL) -> None:
        """Take the judgement that stands if asking again does not help."""
        super().__init__(judgement.reason)
        self.judgement = judgement
        self.kind = kind


def unreachable(reason: str) -> Judgement:
    """Judge as silent this time for this reason."""
    return Judgement(Verdict.UNREACHABLE, reason)


def explain(error: BaseException) -> Failure:
    """Turn what the network raised into what it says about the address."""
    for types, explanation in _EXPLANATIONS:
        if isinstance(error, types):
            return explanation(error)
    return Failure(unreachable(f"the request failed: {type(error).__name__}: {error}"), Kind.NOT_HTTP)


def _explain_private(error: BaseException) -> Failure:
    return Failure(unchecked(f"not asked: {error}"))


def _explain_dns(error: BaseException) -> Failure:
    inner = error.os_error if isinstance(error, aiohttp.ClientConnectorDNSError) else error
    unknown = {getattr(socket, name) for name in ("EAI_NONAME", "EAI_NODATA") if hasattr(socket, name)}
    if getattr(inner, "errno", None) in unknown:
        return Failure(broken("no such host"), Kind.REFUSED)
    return Failure(unreachable("the name of the host could not be looked up"), Kind.RESET)


def _explain_certificate(error: BaseException) -> Failure:
    error = error.certificate_error if isinstance(error, aiohttp.ClientConnectorCertificateError) else error
    code = getattr(error, "verify_code", 0)
    if code in _NO_ISSUER:
        return Failure(Judgement(Verdict.BLOCKED, "chain: the certificate's issuer is not sent or not known here"))
    return Failure(broken(f"the certificate {_REFUSALS.get(code) or 'is refused: ' + str(getattr(error, 'verify_message', error))}"))


def _explain_tls(error: BaseException) -> Failure:
    if any(sign in str(error) for sign in _NOT_TLS):
        return Failure(broken("the host does not speak TLS as browsers do"))
    return Failure(unreachable("the TLS handshake failed"), Kind.RESET)


def _explain_timeout(_error: BaseException) -> Failure:
    return Failure(unreachable("timeout"), Kind.TIMEOUT)


def _explain_drip(_error: BaseException) -> Failure:
    """Something came all the time, and never an answer: waiting once more would end the same way."""
    return Failure(unreachable("timeout"), Kind.DRIP)


def _explain_nonsense(_error: BaseException) -> Failure:
    return Failure(unreachable("the answer is not HTTP"), Kind.NOT_HTTP)


def _explain_reset(_error: BaseException) -> Failure:
    return Failure(unreachable("the connection was reset"), Kind.RESET)


def _explain_connection(error: BaseException) -> Failure:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.ECONNREFUSED or (number is None and f"Errno {errno.ECONNREFUSED}]" in str(error)):
        return Failure(broken("the connection was refused"), Kind.REFUSED)
    if number == errno.ETIMEDOUT:
        return Failure(unreachable("timeout"), Kind.TIMEOUT)
    return Failure(unreachable("no connection"), Kind.RESET)


# In the order in which they are tried: the libraries' classes are each other's children.
_EXPLANATIONS: tuple[tuple[tuple[type[BaseException], ...], Callable[[BaseException], Failure]], ...] = (
    ((PrivateHostError,), _explain_private),
    ((aiohttp.ClientConnectorDNSError, socket.gaierror), _explain_dns),
    ((aiohttp.ClientConnectorCertificateError, ssl.SSLCertVerificationError), _explain_certificate),
    ((aiohttp.ClientSSLError, ssl.SSLError), _explain_tls),
    ((aiohttp.ServerTimeoutError,), _explain_timeout),
    ((TimeoutError, asyncio.TimeoutError), _explain_drip),
    ((aiohttp.ClientResponseError, NotHttpError), _explain_nonsense),
    ((aiohttp.ClientConnectorError, ConnectionRefusedError), _explain_connection),
    ((aiohttp.ClientError, OSError, EOFError), _explain_reset),
)
