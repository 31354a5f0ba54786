"""A certificate authority for one run, and the files of what it signs.

Keys are those of the embedded server: elliptic, made in no time, and accepted for service-account tokens too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dovetail.apiserver import certificates
from dovetail.apiserver.certificates import CLIENTS, SERVERS, named


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes

    def write(self, directory: Path, name: str) -> tuple[Path, Path]:
        certificate, key = directory / f"{name}.crt", directory / f"{name}.key"
        certificate.write_bytes(self.certificate)
        write_secret(key, self.key)
        return certificate, key


def write_secret(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)


class Authority:
    """Signs a server certificate for loopback and client certificates for whoever is named."""

    def __init__(self) -> None:
        self._signer = certificates.new_authority("dovetail test authority")

    @property
    def certificate(self) -> bytes:
        return self._signer.pem

    def server(self) -> Pair:
        made = self._signer.sign(named("localhost"), SERVERS, hosts=("localhost", "127.0.0.1"))
        return Pair(made.certificate, made.key)

    def client(self, user: str, group: str = "") -> Pair:
        made = self._signer.sign(named(user, group), CLIENTS)
        return Pair(made.certificate, made.key)


def token_signing_key() -> bytes:
    """The key service-account tokens are signed with; the server reads the public half out of it."""
    return certificates.private_pem(certificates.new_key())
