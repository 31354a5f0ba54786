"""Pods come in bursts: wait until a burst is over before planning it, and never for long."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """A batch ends when nothing came for `idle` seconds, or `longest` seconds after the first."""

    idle: float = 1.0
    longest: float = 10.0


#: Silence is listened to in so many parts. A loop that was busy, or had no processor, wakes late and has not read yet
#: what came meanwhile, so of a part that took longer than it should the rest is no silence.
_PARTS = 4


class Batcher:
    """Collects triggers into batches."""

    def __init__(self, window: Window | None = None) -> None:
        self.window = window or Window()
        self._triggered = asyncio.Event()
        self._last = 0.0
        self._known: set[str] = set()

    def trigger(self, uid: str = "") -> None:
        """Something wants to be planned; what has said so in this batch already does not make it wait longer."""
        if uid:
            if uid in self._known:
                return
            self._known.add(uid)
        self._last = asyncio.get_running_loop().time()
        self._triggered.set()

    def trigger_now(self) -> None:
        """Something wants to be planned that no more can join; a burst under way is still waited for."""
        if not self._triggered.is_set():
            self._last = float("-inf")
            self._triggered.set()

    async def batch(self) -> None:
        """Return when a batch is complete."""
        await self._triggered.wait()
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            now = loop.time()
            left = min(self._last + self.window.idle, began + self.window.longest) - now
            if left <= 0:
                break
            part = min(left, self.window.idle / _PARTS)
            await asyncio.sleep(part)
            woken = loop.time()
            self._last = min(self._last + (woken - now - part), woken)
        self._triggered.clear()
        self._known.clear()
