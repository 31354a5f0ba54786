"""Loading the HTTP client without what this process has no use for.

The client reads every certificate the system trusts when it is loaded, a few megabytes, in case somebody asks for a
page without saying whom to trust. We never do: metadata come without TLS, and the API server with an authority of its
own (`kube.tls` reads the system's list where a kubeconfig names none). So while it is loaded that list is empty.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Final

_LISTS: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def load() -> None:
    """Load the client, once and before anybody else does."""
    before = {name: os.environ.get(name) for name in _LISTS}
    os.environ.update(dict.fromkeys(_LISTS, os.devnull))
    try:
        import_module("aiohttp")
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
