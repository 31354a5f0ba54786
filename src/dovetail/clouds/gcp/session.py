"""Compute Engine's REST API without its SDK, for what is asked of machines that run, all the time.

The SDK makes a message of every instance, and text of every message again: a thousand take most of a second of a
processor. Here nobody makes anything of an answer on its way, and the SDK's hundred megabytes need not be there for it.
Credentials are found by Google's own library; errors leave sorted, as those of the SDK do.
"""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import urlencode

from dovetail.clouds.gcp.errors import Refusal, sorted_out
from dovetail.clouds.port import Unavailable

_ADDRESS: Final = "https://compute.googleapis.com"


class Session:
    """Asked from threads."""

    def __init__(self, credentials: Any, endpoint: str, seconds: float) -> None:
        from google.auth.exceptions import GoogleAuthError
        from google.auth.transport.requests import AuthorizedSession

        self._session = AuthorizedSession(credentials)
        self._unauthorized = GoogleAuthError
        self._base, self._seconds = endpoint.rstrip("/") or _ADDRESS, seconds

    def get(self, action: str, path: str, **query: str) -> bytes:
        """What is at a path, as it was sent."""
        try:
            answer = self._session.get(
                f"{self._base}{path}{'?' if query else ''}{urlencode(query)}", timeout=self._seconds
            )
        except self._unauthorized as told:
            raise Unavailable(f"GCP's credentials could not be had when asked to {action}: {told}") from told
        except OSError as lost:
            raise Unavailable(f"GCP did not answer when asked to {action}: {type(lost).__name__}") from lost
        if answer.status_code != 200:
            raise sorted_out(_refusal(action, answer))
        body: bytes = answer.content
        return body


def _refusal(action: str, answer: Any) -> Refusal:
    try:
        told = json.loads(answer.content)["error"]
        first: Any = next(iter(told.get("errors") or ()), {})
        reason, message = str(first.get("reason", "")), str(told.get("message", ""))
    except (ValueError, LookupError, TypeError, AttributeError):
        reason, message = "", f"an answer that is no JSON, {len(answer.content)} bytes"
    try:
        wait: float | None = float(answer.headers.get("Retry-After", ""))
    except ValueError:
        wait = None
    return Refusal(action, answer.status_code, reason, message, wait)
