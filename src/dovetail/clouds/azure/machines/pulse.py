"""Which machines run, asked of Azure once for all of them.

A thousand machines, each looked at every half minute, would be more requests than a subscription is allowed, and most
of the work of a process that has nothing to do. One list of power states answers for all of them. It is believed in one
thing only: that a machine it calls running still does. Whatever else it says of one, or leaves out, is looked into with
a request of its own, so nothing follows from what such a list does not have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from dovetail.clouds.azure.client import Azure
from dovetail.clouds.port import CloudError

#: A list that is older is asked for again.
FRESH_SECONDS: Final = 20.0
#: Fewer machines are looked at one by one: the subscription may have thousands of others.
FEWEST: Final = 25
#: The SDK would make objects of all there is to know of each machine, which takes longer than everything else here.
_VERSION: Final = "2024-07-01"
_RUNNING: Final = "PowerState/running"


class _Status(msgspec.Struct):
    code: str = ""


class _View(msgspec.Struct):
    statuses: tuple[_Status, ...] = ()


class _Properties(msgspec.Struct, rename="camel"):
    instance_view: _View | None = None
    provisioning_state: str = "Succeeded"


class _Machine(msgspec.Struct):
    id: str = ""
    properties: _Properties | None = None

    @property
    def runs(self) -> bool:
        inner = self.properties
        if inner is None or inner.instance_view is None or inner.provisioning_state != "Succeeded":
            return False
        return any(one.code == _RUNNING for one in inner.instance_view.statuses)


class _Page(msgspec.Struct, rename="camel"):
    value: tuple[_Machine, ...] = ()
    next_link: str | None = None


_PAGES: Final = msgspec.json.Decoder(_Page)


class Pulse:
    """Ids of machines that run, as of a few seconds ago."""

    def __init__(self, azure: Azure, now: Callable[[], float]) -> None:
        self._azure, self._now = azure, now
        self._running: frozenset[str] = frozenset()
        self._asked: float | None = None
        self._asking = asyncio.Lock()

    async def beats(self, id_: str) -> bool:
        """Whether it certainly runs; False where that is not known."""
        async with self._asking:
            if self._asked is None or self._now() - self._asked >= FRESH_SECONDS:
                self._asked = self._now()
                self._running = await self._listed()
        return id_.lower() in self._running

    async def _listed(self) -> frozenset[str]:
        """Nobody, where Azure does not answer: each is asked about by itself then, and says so."""
        found: set[str] = set()
        link = f"/subscriptions/{self._azure.subscription}/providers/Microsoft.Compute/virtualMachines"
        link += f"?api-version={_VERSION}&statusOnly=true"
        try:
            while link:
                page = _PAGES.decode(await self._azure.raw(link))
                found |= {one.id.lower() for one in page.value if one.runs}
                link = page.next_link or ""
        except (CloudError, msgspec.DecodeError):
            return frozenset()
        return frozenset(found)
