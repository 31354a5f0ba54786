"""From what goes wrong on the way to the server to the error it means.

What counts is whether the server can have seen the request: a connection that never came about makes it safe to ask
again, whatever was asked.
"""

from __future__ import annotations

import os
import ssl

import aiohttp

from dovetail.kube.errors import BadAnswer, KubeError, Unavailable, Unsent, Untrusted

#: What aiohttp raises for anything between us and the server; TimeoutError is Python's own.
TROUBLE = (aiohttp.ClientError, TimeoutError, OSError)


def error_of(problem: Exception, asked: str, server: str) -> KubeError:
    """The error that a failure of the connection means."""
    if is_about_trust(problem):
        return Untrusted(f"{asked}: {server} and this program do not trust each other: {_ssl_reason(problem)}")
    match problem:
        case aiohttp.ClientHttpProxyError():
            return Unsent(f"{asked}: the proxy on the way to {server} answered {problem.status} {problem.message}")
        case aiohttp.ClientConnectorError():
            return Unsent(f"{asked}: {server} cannot be reached: {_os_reason(problem.os_error)}")
        case aiohttp.ConnectionTimeoutError():
            return Unsent(f"{asked}: {server} cannot be reached: no connection in time")
        case TimeoutError():
            return Unavailable(f"{asked}: {server} gave no answer in time", reason="Timeout")
        case aiohttp.ServerDisconnectedError():
            return Unavailable(f"{asked}: {server} closed the connection without an answer")
        case aiohttp.ClientPayloadError():
            return Unavailable(f"{asked}: {server} broke off in the middle of its answer")
        case aiohttp.ClientResponseError():
            return BadAnswer(f"{asked}: {server} does not speak HTTP: {problem.message}", status=problem.status)
        case OSError():
            return Unavailable(f"{asked}: the connection to {server} broke: {_os_reason(problem)}")
        case _:
            return Unavailable(f"{asked}: {server}: {problem or type(problem).__name__}")


def is_about_trust(problem: BaseException) -> bool:
    """Whether one side refused the other's certificate, rather than the line having broken during the handshake.

    Since TLS 1.3 a server refuses a client's certificate only after the handshake, so this may come from any read.
    """
    found = _ssl_error(problem)
    if isinstance(found, ssl.SSLCertVerificationError):
        return True
    reason = (found.reason or "") if found is not None else ""
    return "CERTIFICATE" in reason or "UNKNOWN_CA" in reason


def _ssl_error(problem: BaseException | None) -> ssl.SSLError | None:
    for _ in range(5):
        match problem:
            case None:
                return None
            case aiohttp.ClientConnectorCertificateError():
                problem = problem.certificate_error
            case aiohttp.ClientConnectorError():
                problem = problem.os_error
            case ssl.SSLError():
                return problem
            case _:
                problem = problem.__cause__ or problem.__context__
    return None


def _ssl_reason(problem: BaseException) -> str:
    found = _ssl_error(problem)
    if isinstance(found, ssl.SSLCertVerificationError):
        return found.verify_message
    return (found.reason or str(found)).replace("_", " ").lower() if found is not None else str(problem)


def _os_reason(problem: OSError) -> str:
    if isinstance(problem, ssl.SSLError):
        return f"TLS: {(problem.reason or str(problem)).replace('_', ' ').lower()}"
    if problem.errno and problem.errno > 0:
        return os.strerror(problem.errno).lower()
    return problem.strerror or str(problem) or type(problem).__name__
