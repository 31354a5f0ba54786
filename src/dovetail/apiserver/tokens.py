"""Who may come in: whoever has a token. Tokens are compared in constant time."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from datetime import datetime


class Tokens:
    """The tokens that open the door, some for a while only."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._known: dict[str, datetime | None] = {}

    def issue(self, token: str = "", expires: datetime | None = None) -> str:
        token = token or secrets.token_urlsafe(32)
        self._known[token] = expires
        return token

    def revoke(self, token: str) -> None:
        self._known.pop(token, None)

    def admits(self, header: str) -> bool:
        """Whether an `Authorization` header holds a token that is good now."""
        scheme, _, token = header.partition(" ")
        return scheme.lower() == "bearer" and self.knows(token.strip())

    def knows(self, token: str) -> bool:
        given = token.encode()
        found = False
        for known, expires in self._known.items():
            # Every token is compared, so that the time taken says nothing about any of them.
            same = hmac.compare_digest(known.encode(), given)
            found = found or (same and (expires is None or self._now() < expires))
        return found
