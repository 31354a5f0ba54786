"""Throw-away authorities, and the certificates they sign for anybody."""

from __future__ import annotations

import ssl
from pathlib import Path

from tools.control_plane.certificates import Pair

from dovetail.apiserver.certificates import CLIENTS, SERVERS, named, new_authority


class Authority:
    def __init__(self, name: str = "authority") -> None:
        self._signer = new_authority(name)
        self.pem = self._signer.pem

    def sign(self, subject: str, *, host: str = "", address: str = "") -> Pair:
        hosts = [one for one in (host, address) if one]
        made = self._signer.sign(named(subject), SERVERS, CLIENTS, hosts=hosts)
        return Pair(made.certificate, made.key)


def serving(signed: Pair, directory: Path, *, clients_of: Authority | None = None) -> ssl.SSLContext:
    """The server's side; `clients_of` demands a certificate that this authority signed."""
    certificate, key = signed.write(directory, "server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if clients_of is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients_of.pem.decode())
    return context
