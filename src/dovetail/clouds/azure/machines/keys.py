"""A key to log in with that nobody has.

Azure makes no Linux machine without a way to log in, and most manifests name none. The private half of this key is
forgotten as soon as the public one is known.
"""

from __future__ import annotations


def nobodys() -> str:
    """A new public key, as a line of `authorized_keys`."""
    from cryptography.hazmat.primitives.asymmetric import ed25519
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    public = ed25519.Ed25519PrivateKey.generate().public_key()
    return public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
