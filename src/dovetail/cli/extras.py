"""What only some verbs need is an extra; a verb that lacks its own says what to install."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from dovetail.core.errors import BadInput

#: Not everybody who plans needs a server.
_SERVER: Final = ("cel", "cryptography")


def need_server() -> None:
    missing = [name for name in _SERVER if find_spec(name) is None]
    if missing:
        raise BadInput(f"{', '.join(missing)} is not installed; run: pip install 'dovetail[apiserver]'")
