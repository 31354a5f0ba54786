"""Throw-away authorities, and the certificates they sign."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_BORN = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
_DIES = dt.datetime(2120, 1, 1, tzinfo=dt.UTC)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(subject: str, issuer: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_BORN)
        .not_valid_after(_DIES)
    )


@dataclass(frozen=True)
class Signed:
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes

    def write(self, directory: Path, name: str) -> tuple[Path, Path]:
        certificate, key = directory / f"{name}.crt", directory / f"{name}.key"
        certificate.write_bytes(self.certificate)
        key.write_bytes(self.key)
        return certificate, key


class Authority:
    def __init__(self, name: str = "authority") -> None:
        self._name = name
        self._key = ec.generate_private_key(ec.SECP256R1())
        made = _builder(name, name, self._key).add_extension(x509.BasicConstraints(True, None), critical=True)
        self.pem = made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def sign(self, subject: str, *, host: str = "", address: str = "") -> Signed:
        key = ec.generate_private_key(ec.SECP256R1())
        made = _builder(subject, self._name, key)
        names: list[x509.GeneralName] = [x509.DNSName(host)] if host else []
        names += [x509.IPAddress(ipaddress.ip_address(address))] if address else []
        if names:
            made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        pem = made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        plain = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return Signed(pem, plain)


def serving(signed: Signed, directory: Path, *, clients_of: Authority | None = None) -> ssl.SSLContext:
    """The server's side; `clients_of` demands a certificate that this authority signed."""
    certificate, key = signed.write(directory, "server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if clients_of is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients_of.pem.decode())
    return context
