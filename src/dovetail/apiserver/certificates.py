"""Certificates of an authority that lives as long as the server: nothing of it is kept."""

from __future__ import annotations

import ipaddress
import os
import ssl
import tempfile
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


@dataclass(frozen=True, slots=True)
class Authority:
    """Signs server certificates. `pem` is what clients trust."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)


def new_authority() -> Authority:
    # P-256: a key takes a tenth of a millisecond, where RSA would take most of the start.
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("dovetail-apiserver-ca")
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    builder = (
        _builder(name, name, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return Authority(key, builder.sign(key, hashes.SHA256()))


def load_server_certificate(context: ssl.SSLContext, authority: Authority, host: str) -> None:
    """Give a context a fresh certificate for a host; connections from now on are shown it."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder(_name("dovetail-apiserver"), authority.certificate.subject, key)
        .add_extension(x509.SubjectAlternativeName(_addresses(host)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
    )
    certificate = builder.sign(authority.key, hashes.SHA256())
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    # The ssl module reads certificates from files only. This one is ours alone and gone at once.
    handle, path = tempfile.mkstemp(prefix="dovetail-apiserver-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secret + certificate.public_bytes(serialization.Encoding.PEM))
        context.load_cert_chain(path)
    finally:
        os.unlink(path)


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


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _addresses(host: str) -> list[x509.GeneralName]:
    found: list[x509.GeneralName] = [x509.DNSName("localhost"), x509.DNSName("kubernetes")]
    for text in dict.fromkeys(("127.0.0.1", "::1", host)):
        try:
            found.append(x509.IPAddress(ipaddress.ip_address(text)))
        except ValueError:
            found.append(x509.DNSName(text))
    return found
