"""Authorities that live as long as a server does, and what they sign: nothing of them is kept."""

from __future__ import annotations

import ipaddress
import os
import ssl
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAYS: Final = 365
#: Clocks differ; a certificate is valid from a little before it was made.
_EARLIER: Final = timedelta(minutes=5)
SERVERS: Final = ExtendedKeyUsageOID.SERVER_AUTH
CLIENTS: Final = ExtendedKeyUsageOID.CLIENT_AUTH


@dataclass(frozen=True, slots=True)
class Signed:
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class Authority:
    """Signs certificates. `pem` is what others trust."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def sign(self, name: x509.Name, *uses: x509.ObjectIdentifier, hosts: Iterable[str] = ()) -> Signed:
        """For somebody of this name, who may be found under these names and addresses."""
        key, public = new_key(), self.key.public_key()
        builder = (
            _builder(name, self.certificate.subject, key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        )
        known = _addresses(hosts)
        if known:
            builder = builder.add_extension(x509.SubjectAlternativeName(known), critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        return Signed(certificate.public_bytes(serialization.Encoding.PEM), private_pem(key))


def new_authority(name: str = "dovetail-apiserver-ca") -> Authority:
    key, subject = new_key(), named(name)
    builder = (
        _builder(subject, subject, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return Authority(key, builder.sign(key, hashes.SHA256()))


def load_server_certificate(context: ssl.SSLContext, authority: Authority, host: str) -> None:
    """Give a context a fresh certificate for a host; connections from now on are shown it."""
    hosts = ("localhost", "kubernetes", "127.0.0.1", "::1", host)
    signed = authority.sign(named("dovetail-apiserver"), SERVERS, hosts=hosts)
    # The ssl module reads certificates from files only. This one is ours alone and gone at once.
    handle, path = tempfile.mkstemp(prefix="dovetail-apiserver-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(signed.key + signed.certificate)
        context.load_cert_chain(path)
    finally:
        os.unlink(path)


def named(user: str, group: str = "") -> x509.Name:
    """Whom a certificate is for; a client's group is the organisation in it."""
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)] if group else []
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def new_key() -> ec.EllipticCurvePrivateKey:
    # P-256: a key takes a tenth of a millisecond, where RSA would take most of the start.
    return ec.generate_private_key(ec.SECP256R1())


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    # The old format with "EC PRIVATE KEY" on top: the one a real API server takes for certificates and for tokens.
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + timedelta(days=_DAYS))
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _addresses(hosts: Iterable[str]) -> list[x509.GeneralName]:
    found: list[x509.GeneralName] = []
    for text in dict.fromkeys(hosts):
        try:
            found.append(x509.IPAddress(ipaddress.ip_address(text)))
        except ValueError:
            found.append(x509.DNSName(text))
    return found
