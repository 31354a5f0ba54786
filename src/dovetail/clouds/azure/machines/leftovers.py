"""What is left of machines that are gone, known by how its name begins.

Many machines may go at once, each asking for the same lists. Whoever asks while a list is on its way waits for the next
one, which shows what was there when they asked, and everybody who waits shares it.
"""

from __future__ import annotations

import asyncio

from dovetail.clouds.azure.client import Azure
from dovetail.clouds.azure.resources import Resource

_Key = tuple[str, str]
_Names = tuple[str, ...]


class Leftovers:
    """Names in a resource group, by kind."""

    def __init__(self, azure: Azure) -> None:
        self._azure = azure
        self._turns: dict[_Key, asyncio.Lock] = {}
        self._next: dict[_Key, asyncio.Task[_Names]] = {}

    async def of(self, kind: Resource, group: str, prefix: str) -> _Names:
        """Those that begin so, as of now or later."""
        key = (kind.type, group.lower())
        task = self._next.get(key)
        if task is None:
            task = self._next[key] = asyncio.create_task(self._listed(kind, group, key), name=f"azure {kind.type}")
        names = await asyncio.shield(task)
        return tuple(one for one in names if one.startswith(prefix))

    async def _listed(self, kind: Resource, group: str, key: _Key) -> _Names:
        """One at a time; from its beginning on, who asks is too late for it."""
        async with self._turns.setdefault(key, asyncio.Lock()):
            del self._next[key]
            return tuple(str(one.get("name", "")) for one in await self._azure.all(kind, group))
