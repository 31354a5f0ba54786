"""Who may ask the API server next: priority between levels, fairness inside one.

Five levels share one rate of requests, each with seats of its own for requests under way:

    leases   who leads must be able to say so, whatever else goes on: never held back by the rate nor by a pause
    writes   carrying out what was decided
    reads    looking
    notes    writing down what has come about, where nobody waits for it
    events   telling people about it

A higher level goes first, except that somebody who has waited longer than `patience` is not made to wait for his
betters again: writes without end would otherwise starve a list for ever. No note begins while a write waits; one that
has waited twice as long as `patience` is a write like any other, for it may not stay unsaid. Inside a level, flows (one
for each kind of object) take turns, so a hundred pod evictions do not hold up one node. A server that says it is busy
pauses the level it said it to.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType, TracebackType
from typing import Final

from dovetail.kube.clock import Clock
from dovetail.kube.counts import Counts


class Level(IntEnum):
    """Smaller goes first."""

    LEASES = 0
    WRITES = 1
    READS = 2
    NOTES = 3
    EVENTS = 4


#: Sixteen writes under way are two hundred a second, the usual rate, where each takes 80 ms. More make a server that is
#: busy no faster, only the scheduler's writes wait longer; and answers that come all at once keep the event loop long.
#: Two notes under way are two hundred a second on a server with nothing else to do, and few on one that is busy.
_SEATS: Final[Mapping[Level, int]] = MappingProxyType(
    {Level.LEASES: 8, Level.WRITES: 16, Level.READS: 32, Level.NOTES: 2, Level.EVENTS: 4}
)


@dataclass(frozen=True, slots=True)
class Limits:
    """`rate` requests a second, `burst` of them at once; `seats` under way for each level; `patience` in seconds."""

    rate: float = 200.0
    burst: int = 300
    seats: Mapping[Level, int] = field(default_factory=lambda: _SEATS)
    patience: float = 5.0

    def __post_init__(self) -> None:
        if not (self.rate > 0 and self.burst >= 1 and all(self.seats.get(level, 0) >= 1 for level in Level)):
            raise ValueError("a rate above 0, a burst and seats of at least 1 are needed, or nothing could be asked")


@dataclass(slots=True)
class _Waiter:
    turn: asyncio.Future[None]
    since: float
    level: Level


class _Queue:
    """The flows of one level, each in order of arrival, taking turns."""

    def __init__(self, seats: int) -> None:
        self.seats = seats
        self.under_way = 0
        self.paused_until = 0.0
        self._flows: OrderedDict[str, deque[_Waiter]] = OrderedDict()

    def add(self, flow: str, waiter: _Waiter) -> None:
        self._flows.setdefault(flow, deque()).append(waiter)

    def take(self) -> _Waiter:
        flow, waiting = self._flows.popitem(last=False)
        waiter = waiting.popleft()
        if waiting:
            self._flows[flow] = waiting
        return waiter

    def give_up(self, limit: float) -> list[tuple[str, _Waiter]]:
        """Those who came before, with their flows; they wait here no longer."""
        found: list[tuple[str, _Waiter]] = []
        for flow in list(self._flows):
            waiting = self._flows[flow]
            while waiting and waiting[0].since <= limit:
                found.append((flow, waiting.popleft()))
            if not waiting:
                del self._flows[flow]
        return found

    def oldest(self) -> float | None:
        """When the one who waits longest came, or None; those who gave up are forgotten on the way."""
        if not self._flows:
            return None
        for flow in list(self._flows):
            waiting = self._flows[flow]
            while waiting and waiting[0].turn.done():
                waiting.popleft()
            if not waiting:
                del self._flows[flow]
        return min((waiting[0].since for waiting in self._flows.values()), default=None)


class Fairness:
    """Hands out turns. Lives in one event loop; `close` ends its one timer."""

    def __init__(self, limits: Limits, clock: Clock, counts: Counts) -> None:
        self._limits = limits
        self._clock = clock
        self._counts = counts
        self._queues = {level: _Queue(limits.seats[level]) for level in Level}
        self._note_patience = 2 * limits.patience
        self._tokens = float(limits.burst)
        self._refilled = clock.now()
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_at = 0.0

    def turn(self, level: Level, flow: str) -> Turn:
        """`async with fairness.turn(Level.READS, "pods"):` around one request."""
        return Turn(self, level, flow)

    def pause(self, level: Level, seconds: float) -> None:
        """Start nothing of this level for so long; leases go on."""
        if level is not Level.LEASES:
            queue = self._queues[level]
            queue.paused_until = max(queue.paused_until, self._clock.now() + seconds)

    def close(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    async def enter(self, level: Level, flow: str) -> Level:
        """Wait for a turn. The level to leave, for a note that waited long has a seat among writes."""
        queue = self._queues[level]
        now = self._clock.now()
        if queue.oldest() is None and self._may_start(level, now):
            self._start(level)
            return level
        waiter = _Waiter(asyncio.get_running_loop().create_future(), now, level)
        queue.add(flow, waiter)
        self._dispatch()
        try:
            await waiter.turn
        except asyncio.CancelledError:
            if waiter.turn.done() and not waiter.turn.cancelled():
                self.leave(waiter.level)  # the turn came in the same instant as the cancellation
            raise
        self._counts.waits[level.name.lower()] += 1
        self._counts.waited[level.name.lower()] += self._clock.now() - now  # type: ignore[assignment]
        return waiter.level

    def leave(self, level: Level) -> None:
        self._queues[level].under_way -= 1
        self._dispatch()

    def _refill(self, now: float) -> None:
        earned = (now - self._refilled) * self._limits.rate
        self._tokens = min(float(self._limits.burst), self._tokens + earned)
        self._refilled = now

    def _may_start(self, level: Level, now: float) -> bool:
        queue = self._queues[level]
        if queue.under_way >= queue.seats or queue.paused_until > now or self._waits_for_writes(level):
            return False
        self._refill(now)
        # Leases may run up a debt, which the others pay.
        return level is Level.LEASES or self._tokens >= 1.0

    def _waits_for_writes(self, level: Level) -> bool:
        return level is Level.NOTES and self._queues[Level.WRITES].oldest() is not None

    def _start(self, level: Level) -> None:
        self._queues[level].under_way += 1
        self._tokens -= 1.0

    def _dispatch(self) -> None:
        now = self._clock.now()
        for flow, waiter in self._queues[Level.NOTES].give_up(now - self._note_patience):
            waiter.level = Level.WRITES
            self._queues[Level.WRITES].add(flow, waiter)
        while (level := self._next(now)) is not None:
            self._start(level)
            self._queues[level].take().turn.set_result(None)
        self._arm(now)

    def _next(self, now: float) -> Level | None:
        """The level whose turn it is: in order, but after leases whoever has lost patience."""
        ready = [
            (since, level)
            for level, queue in self._queues.items()
            if (since := queue.oldest()) is not None and self._may_start(level, now)
        ]
        if not ready:
            return None
        first = min(level for _, level in ready)
        since, longest = min(ready)
        return longest if first is not Level.LEASES and now - since > self._limits.patience else first

    def _arm(self, now: float) -> None:
        """Look again when time alone will have let somebody start; a seat that falls free looks by itself."""
        moments = [
            max(queue.paused_until, now + max(0.0, 1.0 - self._tokens) / self._limits.rate)
            for level, queue in self._queues.items()
            if queue.oldest() is not None and queue.under_way < queue.seats and not self._waits_for_writes(level)
        ]
        noted = self._queues[Level.NOTES].oldest()
        if noted is not None:
            moments.append(noted + self._note_patience)
        if not moments:
            return
        soonest = min(moments)
        if self._alarm is not None and not self._alarm.done():
            if self._alarm_at <= soonest:
                return
            self._alarm.cancel()
        self._alarm_at = soonest
        self._alarm = asyncio.get_running_loop().create_task(self._ring(soonest - now))

    async def _ring(self, delay: float) -> None:
        await self._clock.sleep(delay)
        self._alarm = None
        self._dispatch()


class Turn:
    """One turn, held for as long as the request is under way."""

    __slots__ = ("_fairness", "_flow", "_level")

    def __init__(self, fairness: Fairness, level: Level, flow: str) -> None:
        self._fairness = fairness
        self._level = level
        self._flow = flow

    async def __aenter__(self) -> None:
        self._level = await self._fairness.enter(self._level, self._flow)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._fairness.leave(self._level)
