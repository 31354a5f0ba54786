"""Whom to trust, and the certificate to show: SSL contexts that follow their files.

Certificates are renewed under running programs: a kubelet rotates its own, cert-manager rewrites a mounted secret, a
cluster moves to a new authority. The files are looked at every few seconds and whenever a handshake fails; what changed
makes a new context, and with it new connections. Files caught in the middle of being written leave the old context.
"""

from __future__ import annotations

import logging
import ssl
import tempfile
from asyncio import sslproto
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dovetail.kube.clock import Clock
from dovetail.kube.credentials import Shown
from dovetail.kube.errors import NoCredentials

_LOOK_AGAIN_AFTER: Final = 10.0
#: Bytes read at once from a connection, and set aside for it: four records.
_AT_ONCE: Final = 2**16
_log: Final = logging.getLogger(__name__)

#: Enough about a file to know that it was replaced.
_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Pem:
    """Certificates or a key, given as they are or in a file."""

    data: bytes = field(default=b"", repr=False)
    path: Path | None = None

    def read(self) -> bytes:
        return self.data if self.path is None else self.path.read_bytes()

    def stamp(self) -> _Stamp | None:
        if self.path is None:
            return None
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


@dataclass(frozen=True, slots=True)
class Trust:
    """Without `authority`, the system's own list is trusted. `server_name` is expected in place of the address."""

    authority: Pem | None = None
    certificate: Pem | None = None
    key: Pem | None = None
    server_name: str = ""
    insecure: bool = False

    def stamps(self) -> tuple[_Stamp | None, ...]:
        return tuple(one.stamp() for one in (self.authority, self.certificate, self.key) if one is not None)


def context_of(trust: Trust, shown: Shown) -> ssl.SSLContext:
    """A new context. Raises OSError (which ssl.SSLError is) or ValueError where the material is unfit."""
    authority = trust.authority.read().decode("ascii", "replace") if trust.authority else None
    if authority is not None and not authority.strip():
        # Python would take an empty one for none, and trust everybody the system trusts.
        raise ValueError("the certificate authority is empty")
    context = ssl.create_default_context(cadata=authority)
    # Python 3.13 refuses authorities without a key identifier, which many clusters have; and a certificate that is
    # trusted by name is trusted whether or not it signed itself. Go, and so every other client, sees both this way.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.set_alpn_protocols(["http/1.1"])
    if trust.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if shown.certificate:
        _show(context, shown.certificate, shown.key)
    elif trust.certificate is not None:
        _show(context, trust.certificate.read(), trust.key.read() if trust.key else b"")
    return context


def _show(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    # The ssl module reads files only. The file is ours alone, and gone when this returns.
    with tempfile.NamedTemporaryFile(prefix="dovetail-", suffix=".pem") as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        # Without a password given, OpenSSL would ask for one at the terminal.
        context.load_cert_chain(file.name, password="")


class Contexts:
    """The context to use now."""

    def __init__(self, trust: Trust, clock: Clock) -> None:
        self._trust = trust
        self._clock = clock
        self._context: ssl.SSLContext | None = None
        self._made_of: tuple[object, ...] = ()
        self._looked_at = 0.0

    def current(self, shown: Shown) -> ssl.SSLContext:
        now = self._clock.now()
        fresh = self._context is not None and now - self._looked_at < _LOOK_AGAIN_AFTER
        if fresh and self._made_of[1:] == (shown.certificate, shown.key):
            assert self._context is not None
            return self._context
        self._looked_at = now
        made_of = (self._trust.stamps(), shown.certificate, shown.key)
        if self._context is None or made_of != self._made_of:
            self._context, self._made_of = self._made(shown, made_of)
        return self._context

    def look_again(self, shown: Shown) -> bool:
        """A handshake failed. Did the files change since?"""
        before = self._context
        self._looked_at = float("-inf")
        return self.current(shown) is not before

    def _made(self, shown: Shown, made_of: tuple[object, ...]) -> tuple[ssl.SSLContext, tuple[object, ...]]:
        try:
            return context_of(self._trust, shown), made_of
        except (OSError, ValueError) as problem:
            why = getattr(problem, "strerror", None) or getattr(problem, "reason", None) or str(problem)
            if self._context is None or self._made_of[1:] != made_of[1:]:
                raise NoCredentials(f"the certificates cannot be used: {why}") from None
            _log.warning("the certificates changed and cannot be used, the ones before are kept: %s", why)
            return self._context, self._made_of


def read_in_small_pieces() -> None:
    """Have asyncio set aside less for each TLS connection than the 256 KiB it does: a controller has some fifty of
    them, and most bring a few lines a minute."""
    sslproto.SSLProtocol.max_size = _AT_ONCE
