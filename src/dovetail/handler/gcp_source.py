"""Compute Engine's metadata: a question that is answered when the answer changes.

The first question is answered at once, with an ETag; every later one names the last ETag and waits, up to a minute. A
server that answers at once all the same (some emulators do) is not asked again before a second has passed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol
from urllib.parse import quote

from dovetail.core.handler import gcp
from dovetail.core.handler.notices import Notice
from dovetail.handler.metadata import Answer, Metadata, Refused, Unreachable
from dovetail.handler.sources import ANSWER_SECONDS

_ROOT: Final = "/computeMetadata/v1/"
_HEADERS: Final = {"Metadata-Flavor": "Google"}
_PREEMPTIBLE: Final = "instance/scheduling/preemptible"
#: How much longer than it was told to wait a server may take.
_SLACK: Final = 10.0
#: Between two answers that say the same.
_AT_LEAST: Final = 1.0


class Reading(Protocol):
    async def __call__(self, text: str, now: float) -> tuple[Notice, ...]: ...


class GcpSource:
    """One key, by long polls of `wait` seconds."""

    doubts = 1

    def __init__(self, metadata: Metadata, key: str, read: Reading, wait: float) -> None:
        self.name, self.pause, self.silence = key, 0.0, wait + _SLACK
        self._metadata, self._read, self._wait = metadata, read, wait
        self._etag = ""
        self._said: str | None = None

    async def look(self, now: Callable[[], float]) -> tuple[Notice, ...]:
        before, self._etag = self._etag, ""  # after a failure it begins anew, and is answered at once
        answer = await _asked(self._metadata, _ROOT + self.name + self._query(before), self._patience(before))
        notices = await self._read(answer.text, now())
        self.pause = _AT_LEAST if answer.text == self._said else 0.0
        self._etag, self._said = answer.headers.get("etag", ""), answer.text
        return notices

    def _query(self, etag: str) -> str:
        if not etag:
            return ""
        return f"?wait_for_change=true&last_etag={quote(etag, safe='')}&timeout_sec={int(self._wait)}"

    def _patience(self, etag: str) -> float:
        return self._wait + _SLACK if etag else ANSWER_SECONDS


async def _asked(metadata: Metadata, path: str, within: float) -> Answer:
    answer = await metadata.ask("GET", path, _HEADERS, within=within)
    if answer.status != 200:
        raise Refused(f"GET {path.partition('?')[0]}", answer.status)
    if answer.headers.get("metadata-flavor") != "Google":
        raise Unreachable(f"GET {path.partition('?')[0]}: the answer is not from Google's metadata server")
    return answer


def sources(metadata: Metadata, wait: float) -> tuple[GcpSource, ...]:
    preemptible: list[bool] = []

    async def preempted(text: str, now: float) -> tuple[Notice, ...]:
        return gcp.preempted(text, now)

    async def maintained(text: str, now: float) -> tuple[Notice, ...]:
        # It never changes while the machine runs, and only a stop asks for it.
        if not preemptible and gcp.maintenance(text, now, preemptible=False):
            told = await _asked(metadata, _ROOT + _PREEMPTIBLE, ANSWER_SECONDS)
            preemptible.append(told.text.strip().upper() == "TRUE")
        return gcp.maintenance(text, now, preemptible=any(preemptible))

    return (
        GcpSource(metadata, gcp.PREEMPTED, preempted, wait),
        GcpSource(metadata, gcp.MAINTENANCE, maintained, wait),
    )
