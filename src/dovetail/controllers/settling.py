"""Pods that were planned, and that the scheduler did not bind where they were planned to go.

The scheduler does not know the plan: it binds each pod to the first node that suits it best, so some find their room
taken, while the room of those who took it is free elsewhere or on its way. To plan such a pod at once buys a node for
room that exists. So they are left alone for as long as machines are coming up and the scheduler binds pods; when that
is over, those still left are planned together, without waiting for a batch: it is no burst, and all are known.

Pods that were to go just where they were planned are another matter: all other room is kept for others, by name, and
two names for one room keep each other from it. So when a node turns out to hold less than all that are on it and meant
for it, whoever is over is planned anew soon, with those displaced in the same moment, while the rest are being bound.

How long that may last is bounded by each nomination's own time (`Nominations.lapsed`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from dovetail.controllers.nominations import Nominations

#: The scheduler is done when it has bound nobody for this long.
CALM_SECONDS: Final = 0.5
#: Pods that are displaced within so long of each other are planned together.
TOGETHER_SECONDS: Final = 0.5


class Settling:
    def __init__(self, nominations: Nominations, replan: Callable[[], None]) -> None:
        self._nominations, self._replan = nominations, replan
        self._timer: asyncio.TimerHandle | None = None
        self._displaced: asyncio.TimerHandle | None = None

    def stir(self) -> None:
        """A planned pod was bound, or changed, or its machine came up: wait for calm from here."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if len(self._nominations) and not self._nominations.coming:
            self._timer = asyncio.get_running_loop().call_later(CALM_SECONDS, self._calm)

    def _calm(self) -> None:
        self._timer = None
        if len(self._nominations) and not self._nominations.coming:
            self._replan()

    def displaced(self) -> None:
        """Some pod's room was taken, and none other is kept for it."""
        if self._displaced is None:
            self._displaced = asyncio.get_running_loop().call_later(TOGETHER_SECONDS, self._plan_displaced)

    def _plan_displaced(self) -> None:
        self._displaced = None
        self._replan()

    def close(self) -> None:
        for timer in (self._timer, self._displaced):
            if timer is not None:
                timer.cancel()
        self._timer = self._displaced = None
