"""Asking all sources, for as long as the process runs.

A source that fails is asked again after a while that doubles up to five seconds; what it said before stays true
meanwhile. One that has been silent for a minute makes the process unhealthy, for people to see: there is nothing a new
process would do better.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from dovetail.core.errors import BadInput
from dovetail.core.handler.notices import Notice
from dovetail.core.handler.standing import Standing, Told
from dovetail.handler.metadata import MetadataError
from dovetail.handler.sources import Source
from dovetail.kube.clock import Clock

_FIRST_WAIT, _LONGEST_WAIT = 0.25, 5.0
#: How long a source may be silent, beyond what it takes when all is well.
SILENCE: Final = 60.0
_log: Final = logging.getLogger(__name__)


class Listener:
    """What all sources said. `changed` is set whenever that is something else than before."""

    def __init__(self, sources: Iterable[Source], clock: Clock, failed: Callable[[str], None] | None = None) -> None:
        self.sources = tuple(sources)
        self.standing = Standing(tuple(Told(one.name, one.doubts) for one in self.sources))
        self.changed = asyncio.Event()
        self._clock, self._failed = clock, failed
        self._heard = {one.name: clock.now() for one in self.sources}
        self._trouble: dict[str, str] = {}

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for one in self.sources:
                group.create_task(self._listen(one), name=f"listening to {one.name}")

    async def _listen(self, source: Source) -> None:
        failures = 0
        while True:
            try:
                notices = await source.look(self._clock.wall)
            except (MetadataError, BadInput, OSError) as problem:
                self._silent(source.name, str(problem))
                wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(failures, 16))
                failures += 1
                await self._clock.sleep(wait * (0.5 + self._clock.chance() / 2))
                continue
            failures = 0
            self._said(source.name, notices)
            await self._clock.sleep(source.pause)

    def _said(self, name: str, notices: tuple[Notice, ...]) -> None:
        self._heard[name] = self._clock.now()
        if self._trouble.pop(name, None) is not None:
            _log.info("%s: answers again", name)
        was_settled = self.standing.settled
        before, self.standing = self.standing.notices, self.standing.heard(name, notices)
        if self.standing.notices != before or self.standing.settled != was_settled:
            self.changed.set()

    def _silent(self, name: str, problem: str) -> None:
        if self._failed is not None:
            self._failed(name)
        if self._trouble.get(name) != problem:
            _log.warning("%s: %s", name, problem)
        self._trouble[name] = problem

    @property
    def trouble(self) -> str:
        """What keeps a notice from being seen, "" for nothing."""
        now = self._clock.now()
        for one in self.sources:
            silent = now - self._heard[one.name]
            if silent > SILENCE + one.silence:
                return f"{one.name}: no answer for {silent:.0f} s: {self._trouble.get(one.name, 'it takes long')}"
        return ""
