"""What is shown to the API server to say who is asking.

    Credentials
    ├── Anonymous     nothing, or a client certificate from the kubeconfig
    ├── FixedToken    a token that stands in the kubeconfig
    ├── TokenFile     a token that somebody else renews in a file; it is read again at least every minute
    └── ExecPlugin    a token or a certificate that a program hands out (`kube.exec_plugin`)

A server that answers 401 makes the client call `renew` once, and ask once more where that brought something new.
Nothing here is ever printed: a token has no `repr`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from dovetail.kube.clock import Clock
from dovetail.kube.errors import NoCredentials

#: Projected tokens live for an hour and are renewed at four fifths; half a minute is far inside what is left then.
_READ_AGAIN_AFTER: Final = 30.0


@dataclass(frozen=True, slots=True)
class Shown:
    """What goes into one request: a bearer token, and a certificate with its key (PEM); empty where there is none."""

    token: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)


def usable(token: str) -> bool:
    """Whether a token can stand in a header: one word of plain letters."""
    return token.isascii() and token.isprintable() and " " not in token


class Credentials(Protocol):
    async def current(self) -> Shown:
        """What to show now. Raises NoCredentials with a sentence where there is nothing to show."""

    async def renew(self, refused: Shown) -> bool:
        """The server refused this; is there something else to try?"""


@dataclass(frozen=True, slots=True)
class Anonymous:
    async def current(self) -> Shown:
        return Shown()

    async def renew(self, refused: Shown) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class FixedToken:
    token: str = field(repr=False)

    async def current(self) -> Shown:
        return Shown(self.token)

    async def renew(self, refused: Shown) -> bool:
        return False


class TokenFile:
    """A file that holds a token. While it cannot be read, the last token read from it, or `otherwise`, is shown."""

    def __init__(self, path: Path, *, otherwise: str = "", clock: Clock | None = None) -> None:
        self._path = path
        self._token = otherwise
        self._clock = clock or Clock()
        self._read_at: float | None = None

    async def current(self) -> Shown:
        now = self._clock.now()
        if self._read_at is None or now - self._read_at >= _READ_AGAIN_AFTER:
            self._read(now)
        return Shown(self._token)

    async def renew(self, refused: Shown) -> bool:
        self._read(self._clock.now())
        return self._token != refused.token

    def _read(self, now: float) -> None:
        problem = "is empty"
        try:
            # Far more than any token, far less than what would hurt.
            with self._path.open(encoding="ascii") as file:
                text = file.read(2**20).strip()
        except OSError as error:
            problem, text = f"cannot be read: {error.strerror or error}", ""
        except UnicodeDecodeError:
            text = "\0"
        if not usable(text):
            problem, text = "holds something that is no token", ""
        if text:
            self._token = text
            self._read_at = now
        elif not self._token:
            raise NoCredentials(f"the token file {self._path} {problem}")
