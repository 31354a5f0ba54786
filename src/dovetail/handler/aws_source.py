"""EC2's metadata service, version 2: every question carries a token, and tokens are had for a while.

A token that is refused is thrown away and asked for once more. Where none can be had the service is asked without,
which version 1 allows, and for a token again now and then: it may know version 1 alone, as mocks and old set-ups do,
and tokens travel one hop, so that a pod that does not use the host's network never gets an answer to its request for
one. Where a token is needed all the same, the error says what to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from dovetail.core.handler import aws
from dovetail.core.handler.notices import Notice
from dovetail.handler.metadata import Answer, Metadata, MetadataError, Refused
from dovetail.handler.sources import ANSWER_SECONDS

_TOKEN: Final = "/latest/api/token"  # noqa: S105  (a path)
_DATA: Final = "/latest/meta-data/"
_TTL: Final = 3600
_TTL_HEADER: Final = "X-aws-ec2-metadata-token-ttl-seconds"
_TOKEN_HEADER: Final = "X-aws-ec2-metadata-token"  # noqa: S105  (a header)
#: A token this close to its end is not used any more.
_NEARLY_OVER: Final = 15.0
#: How long a service that gives no tokens is taken at its word.
_WITHOUT: Final = 300.0
_ADVICE: Final = "without a token it answers 401: use the host's network, or a hop limit of 2"
_NOTHING: Final = 404
_UNAUTHORIZED: Final = 401

Read = Callable[[str | None, float], tuple[Notice, ...]]


class Imds:
    """Answers of the service, whatever it takes in tokens. One for all sources of a machine."""

    def __init__(self, metadata: Metadata, clock: Callable[[], float]) -> None:
        self._metadata, self._clock = metadata, clock
        self._token = ""
        self._until = float("-inf")
        #: Why there is no token, where there is none.
        self._why = ""
        self._asking = asyncio.Lock()

    async def get(self, path: str) -> str | None:
        """The text at a path, None where there is none."""
        token = await self._current()
        answer = await self._asked(path, token)
        if answer.status == _UNAUTHORIZED:
            if token == self._token:
                self._until = float("-inf")
            answer = await self._asked(path, await self._current())
            if answer.status == _UNAUTHORIZED and self._why:
                raise MetadataError(f"{self._why}; {_ADVICE}")
        if answer.status == _NOTHING:
            return None
        if answer.status != 200:
            raise Refused(f"GET {path}", answer.status)
        return answer.text

    async def _asked(self, path: str, token: str) -> Answer:
        headers = {_TOKEN_HEADER: token} if token else {}
        return await self._metadata.ask("GET", _DATA + path, headers, within=ANSWER_SECONDS)

    async def _current(self) -> str:
        """The token to show; those who need a new one at once share it."""
        async with self._asking:
            if self._clock() >= self._until:
                await self._renew()
            return self._token

    async def _renew(self) -> None:
        try:
            answer = await self._metadata.ask("PUT", _TOKEN, {_TTL_HEADER: str(_TTL)}, within=ANSWER_SECONDS)
            if answer.status != 200 or not answer.text or not answer.text.isprintable():
                raise Refused(f"PUT {_TOKEN}", answer.status)
        except MetadataError as problem:
            self._token, self._until, self._why = "", self._clock() + _WITHOUT, str(problem)
            return
        told = answer.headers.get(_TTL_HEADER.lower(), "")
        seconds = int(told) if told.isascii() and told.isdigit() else _TTL
        self._token, self._why = answer.text, ""
        self._until = self._clock() + max(1.0, min(seconds, _TTL) - _NEARLY_OVER)


class AwsSource:
    """One path of the service."""

    def __init__(self, imds: Imds, path: str, read: Read, pause: float, doubts: int = 3) -> None:
        self.name, self.pause, self.doubts = path, pause, doubts
        self.silence = pause + 2 * ANSWER_SECONDS
        self._imds, self._read = imds, read

    async def look(self, now: Callable[[], float]) -> tuple[Notice, ...]:
        return self._read(await self._imds.get(self.name), now())


def sources(metadata: Metadata, clock: Callable[[], float], poll: float) -> tuple[AwsSource, ...]:
    """Interruptions at every poll; what is not so urgent less often."""
    imds = Imds(metadata, clock)
    return (
        AwsSource(imds, aws.INSTANCE_ACTION, aws.interruption, poll),
        AwsSource(imds, aws.REBALANCE, aws.rebalance, 5 * poll, doubts=2),
        AwsSource(imds, aws.MAINTENANCE, aws.maintenance, 15 * poll, doubts=2),
    )
