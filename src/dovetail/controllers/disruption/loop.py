"""When to decide, and what becomes of what was decided.

    something changed, or a time has come ─▶ judge again what is due ─▶ decide ─▶ start, or keep for a while

A pass looks at the whole cluster, beside the event loop. It is made when something changed that it could see, once the
change has settled for a moment, and never so often that it takes more than a share of the time, and a small one of the
event loop's: gathering what a pass looks at, and telling what came of it, is done there. A command that saves
money is kept until its time has come and budgets have room for it, and judged again then; its nodes are spoken for
meanwhile, and say that they would rather have no pods. If nothing changed in between, what was found still holds.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final, ParamSpec, Protocol, TypeVar

from dovetail.clouds.port import CloudError
from dovetail.controllers.disruption import worlds
from dovetail.controllers.disruption.carrying import Carrier
from dovetail.controllers.disruption.memory import Memory
from dovetail.controllers.disruption.telling import Teller
from dovetail.controllers.disruption.worlds import Worlds
from dovetail.controllers.supervision import Rest, keep_on
from dovetail.core.disruption import passes, validation
from dovetail.core.disruption.again import Judgements
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import Code, Refusal
from dovetail.core.disruption.validation import Again, Turn
from dovetail.core.scheduling.shelf import Shelf
from dovetail.kube.errors import KubeError

_log: Final = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")
#: Shorter than any clock can tell.
_INSTANT: Final = 1e-4
#: A moment that has come while a pass was made is looked at after this.
_SOON: Final = 0.1
#: A change is left to settle for so long, and never longer than this after the first of several.
QUIET_SECONDS, LONGEST_SECONDS = 0.5, 10.0
#: Judging takes at most about one part of so many of the time, and the event loop, which has nodes to bring up
#: meanwhile, is kept by it for one part of so many.
SHARE, LOOP_SHARE = 4, 80
#: So often it is asked whether a price has changed.
LOOK_SECONDS: Final = 10.0
#: While a part of the cluster is out of sight, this often whether it is back.
BLIND_SECONDS: Final = 1.0
#: And so often everything is judged, whatever happened.
WHATEVER_SECONDS: Final = 60.0
#: After a fault of ours it is tried again later and later, at most after so long.
LONGEST_REST_SECONDS: Final = 300.0


class Beside(Protocol):
    """Has something worked out beside the event loop, or right here."""

    def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]: ...


def pause(took: float, kept_loop: float) -> float:
    """For how many seconds changes may go on before there is a pass, after one that took so long and kept the event
    loop from its work for so long of that."""
    return min(LONGEST_SECONDS, max(2 * QUIET_SECONDS, SHARE * took, LOOP_SHARE * kept_loop))


@dataclass(frozen=True, slots=True)
class Kept:
    """A command that waits for its second look, and how many changes there had been when it was decided."""

    command: Command
    changes: int
    due: float
    #: From when on it may be judged otherwise though nothing happens: a window closes.
    holds_until: float = inf
    #: Its time had come, and budgets had no room for it.
    is_ready: bool = False


@dataclass(frozen=True, slots=True)
class _Next:
    """What a pass leaves behind: for how many seconds of it the event loop was free, and when to look again."""

    beside: float
    #: In so many seconds whatever happens.
    longest: float
    #: When all that was found may be judged otherwise, though nothing happens.
    turns: float
    #: When another node may be consolidated.
    opens: float


@dataclass(slots=True)
class Disruption:
    worlds: Worlds
    carrier: Carrier
    teller: Teller
    beside: Beside
    #: Whether all there is to decide from has been seen.
    is_ready: Callable[[], bool]
    failed: Callable[[Hashable, Exception], None]
    now: Callable[[], float] = time.time
    #: Decide and tell only.
    dry_run: bool = False
    #: Commands that save money are kept no longer than this before they are judged again.
    settling: float = validation.SETTLING_SECONDS
    #: Told of every command that is started.
    started: Callable[[Command], None] = lambda command: None
    #: Told of the claims that will be given up soon, whenever those may be others.
    expected: Callable[[frozenset[str]], None] = lambda claims: None
    memory: Memory = field(default_factory=Memory)
    kept: list[Kept] = field(default_factory=list)
    #: How many changes there have been that a decision could see.
    changes: int = 0
    _shelf: Shelf = field(default_factory=Shelf)
    #: What the last pass knew: only what changed since is judged anew.
    _known: Judgements = field(default_factory=Judgements)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    #: By the loop's clock: when the first change came that was not looked at yet, and when the last one did.
    _first: float = 0.0
    _last: float = 0.0
    #: When to look though nothing changes.
    _wake: float = 0.0
    #: How long the last pass took, and for how long of that nothing else could be done.
    _took: float = 0.0
    _kept_loop: float = 0.0
    _busy: bool = False
    _seen: object = None
    _told: set[tuple[str, ...]] = field(default_factory=set)

    def trigger(self) -> None:
        """Something changed."""
        now = asyncio.get_running_loop().time()
        if not self._changed.is_set():
            self._first = now
        self._last = now
        self.changes += 1
        self._changed.set()

    @property
    def is_calm(self) -> bool:
        """Whether everything there is has been judged as it is."""
        return not self._changed.is_set() and not self._busy

    # ---- when

    async def run(self) -> None:
        await keep_on(self._turn, self._broke, Rest(LOOK_SECONDS, LONGEST_REST_SECONDS))

    async def _turn(self) -> float:
        await self._woken()
        if not self.is_ready():
            # Part of the cluster is out of sight: nothing is decided from what is not known.
            return BLIND_SECONDS
        self._busy = True
        try:
            await self.once()
        except (CloudError, KubeError) as failed:
            self.failed("pass", failed)
            self._wake = asyncio.get_running_loop().time() + LOOK_SECONDS
        finally:
            self._busy = False
        return 0.0

    def _broke(self, fault: Exception) -> None:
        """What is remembered may be what broke it."""
        self.failed("pass", fault)
        self._known, self._shelf, self._wake = Judgements(), Shelf(), 0.0

    async def _woken(self) -> None:
        """Return when there is something to do."""
        loop = asyncio.get_running_loop()
        while True:
            if self._changed.is_set():
                longest = pause(self._took, self._kept_loop)
                left = min(self._last + QUIET_SECONDS, self._first + longest) - loop.time()
                if left <= _INSTANT:
                    return
                await asyncio.sleep(left)
                continue
            left = min(self._due(), self._wake) - loop.time()
            if left <= _INSTANT:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, LOOK_SECONDS)):
                    await self._changed.wait()
            if not self._changed.is_set() and self._looks_different():
                self.trigger()

    def _due(self) -> float:
        """When, by the loop's clock, the next command is to be judged again."""
        if not self.kept:
            return inf
        return asyncio.get_running_loop().time() + min(one.due for one in self.kept) - self.now()

    def _looks_different(self) -> bool:
        """Whether a price, or something else turned that nobody tells of."""
        try:
            now = self._look()
        except CloudError:
            return False  # the next pass says so; nothing is known to have turned
        seen, self._seen = self._seen, now
        return seen is not None and seen != now

    def _look(self) -> object:
        of = self.worlds
        return (of.prices(), len(of.nominations), sum(1 for _ in of.buffers.pods()))

    # ---- what

    async def once(self) -> None:
        """Judge again what is due, then look at everything if anything changed."""
        loop = asyncio.get_running_loop()
        # Whoever is woken an instant early must find the work he was woken for, or he would be woken for ever.
        due = [one for one in self.kept if one.is_ready or one.due <= self.now() + _INSTANT]
        if due:
            await self._judge_again(self._affordable(due))
        self._tell_expected()
        if not self._changed.is_set() and loop.time() + _INSTANT < self._wake:
            return
        self._changed.clear()
        began = time.perf_counter()
        after = await self._decide()
        self._took = time.perf_counter() - began
        self._kept_loop = self._took - after.beside
        # Nodes' times come one after another: like changes, they leave room between two passes.
        opens = max(after.opens - self.now(), pause(self._took, self._kept_loop))
        self._wake = loop.time() + min(after.longest, opens, max(after.turns - self.now(), _SOON))
        self._tell_expected()

    def world(self) -> World:
        """The cluster now, with all that is spoken for."""
        world = self.worlds.take(self.carrier.commands, self.memory)
        waiting = tuple(one.command for one in self.kept)
        return self.memory.recall(replace(world, waiting=waiting, ahead=self.settling > 0 and not self.dry_run))

    def _tell_expected(self) -> None:
        """What is empty goes as it is; the others' nodes would only be given more pods to evict."""
        soon = (one.command for one in self.kept if one.command.reason is Reason.UNDERUTILIZED)
        claims = (one.claim.name for command in soon for one in command.candidates)
        self.expected(frozenset() if self.dry_run else frozenset(claims))

    def _affordable(self, due: list[Kept]) -> list[Kept]:
        """Those budgets have room for now. The others go on waiting; what may not go at all is told and forgotten."""
        later = self.now() + LOOK_SECONDS
        going, waiting = [], []
        found = validation.turns((one.command for one in due), self.world())
        for one, (command, turn, why) in zip(due, found, strict=True):
            match turn:
                case Turn.NOW:
                    going.append(one)
                case Turn.LATER:
                    waiting.append(replace(one, is_ready=True, due=later))
                case Turn.NEVER:
                    self._wake = 0.0
                    self.teller.judged_again(command, Again((), ((command.names, Refusal(Code.BUDGET, why)),)))
        self.kept = [*waiting, *(one for one in self.kept if one not in due)]
        return going

    async def _judge_again(self, due: list[Kept]) -> None:
        """Start what still holds. What was decided with nothing changing since holds as it is, all of it together."""
        now = self.now()
        unchanged = [one for one in due if one.changes == self.changes and now < one.holds_until]
        same = [one.command for one in unchanged]
        if same:
            world = self.world()
            for command in same:
                self.start(command, world)
        left = [one.command for one in due if one not in unchanged]
        if not left:
            return
        world = self.world()
        judged = await self.beside(validation.judge_all, left, world, self._shelf)
        for command, again in zip(left, judged, strict=True):
            self.teller.judged_again(command, again)
            if again.refusals:
                self._wake = 0.0  # its nodes are free again: nothing that is watched tells of it
            for found in again.commands:
                self.start(found, world)

    async def _decide(self) -> _Next:
        """A pass, and when to make the next."""
        world, changes = self.world(), self.changes
        opens = self.worlds.opens
        self._seen = self._look()
        began = time.perf_counter()
        decided = await self.beside(passes.decide, world, self._shelf, self._known, time.perf_counter)
        beside = time.perf_counter() - began
        unsaid = self.teller.passed(world, decided, beside)
        turns = worlds.next_change(world)
        holds_until = inf if turns is None else world.now + turns
        for command in decided.commands:
            if self.carrier.rests(command):
                continue
            settling = min(validation.settling(command), self.settling)
            if settling > 0:
                self.kept.append(Kept(command, changes, command.at + settling, holds_until))
            else:
                self.start(command, world)
        rested = self.carrier.rested()
        longest = LOOK_SECONDS if unsaid else WHATEVER_SECONDS
        return _Next(beside, longest, min(holds_until, inf if rested is None else rested), opens)

    def start(self, command: Command, world: World, drain_by: float | None = None) -> bool:
        """Have a command carried out, unless something else became of its nodes meanwhile."""
        if self.dry_run:
            if command.names not in self._told:
                self._told.add(command.names)
                _log.info("would start: %s: %s", command, command.sentence)
            return False
        if self.carrier.has(command):
            return False
        _log.info("%s: %s", command, command.sentence)
        self.carrier.start(command, drain_by, self.memory.started(command, world))
        self.started(command)
        return True
