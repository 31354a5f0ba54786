"""Many machines that run, looked at with few calls.

Each machine is looked at every half minute, and a project may ask only so often. So machines known to run share two
lists: one of those of the cluster that do not run, which is short and asked for every few seconds, and one of them
all, which tells who is not there any more. Who is in neither is asked about alone, and that alone is the word on an
instance that is gone: a list may be behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from dovetail.clouds.gcp.client import Gcp
from dovetail.clouds.gcp.machines import ownership
from dovetail.clouds.gcp.machines.answers import Instance, read
from dovetail.clouds.gcp.machines.ownership import Place

#: How old each list may be. Reading that of a thousand machines takes most of a second of a processor.
CHANGED_SECONDS: Final = 5.0
ALL_SECONDS: Final = 120.0
_RUNNING: Final = "RUNNING"


def _now() -> float:
    return asyncio.get_running_loop().time()


@dataclass(slots=True)
class Watch:
    """The machines of one cluster that run, as far as is known."""

    gcp: Gcp
    key: str
    now: Callable[[], float] = _now
    _running: dict[Place, Instance] = field(default_factory=dict)
    #: When each of them was seen to run, and when those that do not were listed.
    _seen: dict[Place, float] = field(default_factory=dict)
    _changed: dict[Place, Instance] = field(default_factory=dict)
    _listed: float = float("-inf")
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def at(self, place: Place) -> Instance | None:
        """The instance, if lists can tell; None says nothing at all."""
        if place not in self._seen:
            return None
        async with self._lock:
            # Whoever waited for the lock finds the lists made by whoever had it.
            if self.now() - self._seen.get(place, 0.0) > ALL_SECONDS:
                await self._list_all()
            elif self.now() - self._listed > CHANGED_SECONDS:
                await self._list_changed()
        return self._changed.get(place) or self._running.get(place)

    def learn(self, place: Place, instance: Instance) -> None:
        """Keep one that runs and that lists would show."""
        if instance.status == _RUNNING and ownership.TOKEN in instance.labels:
            self._running[place], self._seen[place] = instance, self.now()
            self._changed.pop(place, None)
        else:
            self.forget(place)

    def forget(self, place: Place) -> None:
        for held in (self._running, self._seen, self._changed):
            held.pop(place, None)

    async def _list_all(self) -> None:
        now = self.now()
        listed = await self._list("")
        self._running = {place: one for place, one in listed.items() if one.status == _RUNNING}
        self._seen = dict.fromkeys(self._running, now)
        self._changed, self._listed = {place: one for place, one in listed.items() if place not in self._seen}, now

    async def _list_changed(self) -> None:
        now = self.now()
        self._changed, self._listed = await self._list(f' (status != "{_RUNNING}")'), now

    async def _list(self, more: str) -> dict[Place, Instance]:
        wire = await self.gcp.list_instances(ownership.made_for_cluster(self.key) + more)
        found = (read(Instance, one) for one in wire)
        return {Place(self.gcp.project, one.zone_name, one.name): one for one in found}
