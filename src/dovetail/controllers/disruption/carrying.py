"""Commands that were started, each carried out step by step from what can be seen.

    marked ─▶ replacements ordered ─▶ each node deleted when what it waits for is up ─▶ done
       └──────────────┴──────────── failed: replacements given back, marks removed, pods stay

Everything done so far stands in the cluster before the next thing is done, and a replacement names the claims it was
ordered for. So a process that starts after another died finds what it left: marks, which nobody answers for any more
and which `marks` removes, and replacements whose nodes were never given up, which `leftovers` gives back.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dovetail.controllers.act import Hands
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.disruption import draining, ordering
from dovetail.controllers.disruption.leftovers import Leftovers
from dovetail.controllers.disruption.marks import Marks, is_marked
from dovetail.controllers.disruption.moves import Moves
from dovetail.controllers.disruption.reboots import Reboots
from dovetail.controllers.disruption.resting import Resting
from dovetail.controllers.disruption.telling import Teller
from dovetail.controllers.queue import WorkQueue
from dovetail.controllers.supervision import Later
from dovetail.core.disruption import orchestration
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.orchestration import Next, Running, Seen
from dovetail.core.disruption.reasons import Decision
from dovetail.core.effects import Delete, Ref, Step
from dovetail.core.nodeclaims import INITIALIZED, NodeClaim
from dovetail.core.pods import Pod
from dovetail.kube.errors import Conflict, KubeError
from dovetail.kube.errors import NotFound as ObjectNotFound

_log: Final = logging.getLogger(__name__)
#: Marks that are not written after so long will not be.
MARKED_WITHIN: Final = 60.0


@dataclass(slots=True)
class Started:
    """A command under way. `claims` are those of its candidates, by the names of their nodes."""

    running: Running
    claims: dict[str, str]
    ordered: bool = False
    #: What its replacements say of it to whoever comes after us.
    note: str = ""
    #: Why it is being undone, "" while it is not.
    failure: str = ""

    @property
    def command(self) -> Command:
        return self.running.command


@dataclass(slots=True)
class Carrier:
    cluster: Cluster
    hands: Hands
    marks: Marks
    moves: Moves
    teller: Teller
    reboots: Reboots
    look: Callable[[NodeClaim], None]
    failed: Callable[[Hashable, Exception], None]
    now: Callable[[], float] = time.time
    #: Told when a command is over, one way or the other.
    ended: Callable[[], None] = lambda: None
    #: Told of each replacement, by its pool, whether it came up.
    came_up: Callable[[str, bool, float], None] = lambda pool, ok, now: None
    #: Why a node of a command is not to be given up after all; "" if nothing speaks against it.
    objection: Callable[[Command, str], str] = lambda command, node: ""
    _started: dict[int, Started] = field(default_factory=dict)
    _numbers: int = 0
    #: By the name of a claim, which command it belongs to.
    _by_claim: dict[str, int] = field(default_factory=dict)
    _resting: Resting = field(default_factory=Resting)
    _queue: WorkQueue[int] = field(init=False)
    leftovers: Leftovers = field(init=False)

    def __post_init__(self) -> None:
        self._queue = WorkQueue(self._one, self.failed)
        self.leftovers = Leftovers(self.cluster, self.hands, self._by_claim.__contains__, self.failed)

    # ---- from outside

    @property
    def commands(self) -> tuple[Command, ...]:
        return tuple(one.command for one in self._started.values())

    def listen(self) -> None:
        self.cluster.claims.listen(self._claim_changed)
        self.cluster.nodes.listen(self._node_changed)
        self.cluster.pods.listen(self.moves.changed)

        self.leftovers.listen()

    async def run(self, workers: int = 32) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._queue.run(workers))
            group.create_task(self.leftovers.run())

    def rests(self, command: Command) -> bool:
        """Whether one of its nodes is to be left alone after what went wrong with it."""
        return self._resting.includes(command.names, self.now())

    def rested(self) -> float | None:
        """When the next of these nodes has been left alone for long enough."""
        return self._resting.next_end(self.now())

    def has(self, command: Command) -> bool:
        """Whether one of its nodes is given up already."""
        return any(one.claim.name in self._by_claim for one in command.candidates)

    def start(self, command: Command, drain_by: float | None = None, note: str = "") -> None:
        """From now on its nodes are marked and its pods spoken for; from `drain_by` on they go in any case. `note` is
        written on what it buys."""
        self._numbers += 1
        number, claims = self._numbers, {one.name: one.claim.name for one in command.candidates}
        self._started[number] = Started(Running(command, self.now(), drain_by=drain_by), claims, note=note)
        self._by_claim.update(dict.fromkeys(claims.values(), number))
        self.teller.started(command)
        self._queue.add(number)
        if command.decision is Decision.REBOOT:
            return
        self.marks.want(claims.values(), command.reason)
        for placed in command.group.placed:
            self.moves.plan(self._there(placed.pods), placed.node.name)
        for claim in command.group.claims:
            self.moves.plan(self._there(claim.pods))
        for one in command.candidates:
            self.look(one.claim)

    def _there(self, pods: Iterable[Pod]) -> Iterator[Pod]:
        """Those that are where they were: nobody will tell of a pod that is gone already, and its move would never be
        over."""
        for pod in pods:
            held = self.cluster.pods.get(pod.name, pod.namespace)
            if held is not None and held.uid == pod.uid and held.node == pod.node:
                yield pod

    def _claim_changed(self, old: Any, new: Any) -> None:
        self._wake((new or old).value.name)

    def _node_changed(self, old: Any, new: Any) -> None:
        for claim in self.cluster.claims_of((new or old).value.provider_id):
            self._wake(claim.name)

    def _wake(self, claim: str) -> None:
        number = self._by_claim.get(claim)
        if number is not None:
            self._queue.add(number)

    # ---- one command

    async def _one(self, number: int) -> float | None:
        started = self._started.get(number)
        if started is None:
            return None
        self._notice(started)
        if started.command.decision is Decision.REBOOT:
            await self._reboot(number, started)
            return None
        if started.failure:
            return await self._undo(number, started, started.failure)
        if not started.ordered:
            waiting = self._unmarked(started)
            if waiting and started.running.drain_by is None:
                return await self._wait_for_marks(number, started, waiting)
            problem = await self._order(number, started)
            if problem and started.running.drain_by is None:
                return await self._undo(number, started, problem)
            started.ordered = True  # what goes in any case goes without
        return await self._advance(number, started)

    async def _reboot(self, number: int, started: Started) -> None:
        """Only the request is ours: whoever looks at the claim from now on sees it through."""
        (name,) = started.claims.values()
        claim = self.cluster.claim(name)
        if claim is not None:
            try:
                await self.reboots.request(claim, started.command)
            except Conflict:
                raise Later from None
            self.look(claim)
        self._finish(number, started)

    def _notice(self, started: Started) -> None:
        """Nodes that go already, by our hand or anybody's, are as good as drained."""
        gone = {name for name, claim in started.claims.items() if self._is_going(claim)}
        if not gone <= started.running.drained:
            started.running = replace(started.running, drained=started.running.drained | gone)

    def _is_going(self, claim: str) -> bool:
        found = self.cluster.claim(claim)
        return found is None or found.is_deleting

    def _unmarked(self, started: Started) -> list[str]:
        left = (name for name in started.claims if name not in started.running.drained)
        return [name for name in left if not self._is_marked(started.claims[name])]

    def _is_marked(self, name: str) -> bool:
        claim = self.cluster.claim(name)
        return claim is not None and is_marked(claim, self.cluster.nodes_of(claim.provider_id))

    async def _wait_for_marks(self, number: int, started: Started, waiting: list[str]) -> float | None:
        if self.now() - started.running.started > MARKED_WITHIN:
            return await self._undo(number, started, f"{waiting[0]} could not be marked")
        return MARKED_WITHIN

    async def _order(self, number: int, started: Started) -> str:
        """Write the replacements down; the pods that go there have a place from then on. Returns what went wrong."""
        command = started.command
        try:
            for planned in tuple(ordering.wanted(command))[len(started.running.claims) :]:
                name = await ordering.ordered(planned, ordering.About(command, started.note), self.cluster, self.hands)
                self._by_claim[name] = number
                started.running = replace(started.running, claims=(*started.running.claims, name))
                self.moves.order(name)
                self.moves.plan(self._there(planned.pods), name)
                self.teller.launching(command, name, planned)
        except (KubeError, ordering.Unordered) as problem:
            return str(problem)
        return ""

    async def _advance(self, number: int, started: Started) -> float | None:
        queued = sum(len(one.claims) for one in self._started.values())
        seen = {name: self._seen(name) for name in started.running.claims}
        step = orchestration.next_step(started.running, seen, queued, self.now())
        if step.failed:
            return await self._undo(number, started, step.failed)
        problem = self._objection(started, step)
        if problem:
            return await self._undo(number, started, problem)
        if step.drain:
            await self._drain(started, step)
        self._notice(started)
        if set(started.claims) <= started.running.drained:
            self._finish(number, started)
            return None
        for name, what in seen.items():
            if what is Seen.COMING:
                self.teller.waiting(started.command, name)
        return step.again

    def _objection(self, started: Started, step: Next) -> str:
        """What has come up since it was decided; what goes in any case goes."""
        if not step.drain or started.running.drain_by is not None:
            return ""
        found = (self.objection(started.command, name) for name in step.drain)
        return next((one for one in found if one), "")

    def _seen(self, name: str) -> Seen:
        claim = self.cluster.claim(name)
        if claim is None or claim.is_deleting:
            return Seen.GONE
        nodes = self.cluster.nodes_of(self.cluster.purchases.known(claim).provider_id)
        up = claim.is_true(INITIALIZED) or any(one.is_initialized for one in nodes)
        return Seen.UP if up else Seen.COMING

    async def _drain(self, started: Started, step: Next) -> None:
        """Delete the claims: whoever looks after claims empties the nodes and returns the machines."""
        for name in step.drain:
            claim = self.cluster.claim(started.claims[name])
            if claim is None or claim.is_deleting:
                continue
            try:
                await self.hands.perform(draining.drained(claim, started.command, name, self.now()))
            except (Conflict, ObjectNotFound):
                raise Later from None  # somebody wrote in between; what they wrote is looked at
            self.teller.drained(started.command, name, claim)

    def _finish(self, number: int, started: Started) -> None:
        self._judge_replacements(started)
        self._over(number, started)
        self._resting.forget(started.command.names)
        _log.info("done: %s", started.command)

    async def _undo(self, number: int, started: Started, why: str) -> float | None:
        """Put everything back: what was bought first, or a static pool would find itself with one too many."""
        command, started.failure = started.command, why
        seen = {name: self._seen(name) for name in started.running.claims}
        giving_back = orchestration.given_back(started.running, seen)
        await self.hands.perform(Step(tuple(self._deletions(giving_back))))
        self._judge_replacements(started)
        _log.warning("%s failed: %s", command, why)
        self.teller.failed(command, why, len(giving_back))
        staying = [name for name in started.claims if name not in started.running.drained]
        self._resting.failed(staying, self.now())
        kept = set(staying)
        self.moves.cancel(pod for one in command.candidates if one.name in kept for pod in one.pods)
        self._over(number, started)
        for name in staying:
            claim = self.cluster.claim(started.claims[name])
            if claim is not None:
                self.look(claim)
        return None

    def _judge_replacements(self, started: Started) -> None:
        """Remember how its pools' fresh machines did; of one that nobody waits for any more that is not known yet."""
        wanted = tuple(ordering.wanted(started.command))
        for planned, name in zip(wanted, started.running.claims, strict=False):
            seen = self._seen(name)
            if seen is not Seen.COMING or started.failure:
                self.came_up(planned.pool, seen is Seen.UP, self.now())
                self._note_failure(started, planned.pool, seen)

    def _note_failure(self, started: Started, pool: str, seen: Seen) -> None:
        """One that did not come up leaves nothing behind: the first claim that stays in its stead says so."""
        left = (claim for name, claim in started.claims.items() if name not in started.running.drained)
        first = next(left, None)
        if seen is not Seen.UP and first is not None:
            self.marks.note_failure(first, pool, self.now())

    def _deletions(self, names: Iterable[str]) -> Iterable[Delete]:
        for name in names:
            claim = self.cluster.claim(name)
            if claim is not None and not claim.is_deleting:
                yield Delete(Ref("NodeClaim", name, claim.meta.uid))

    def _over(self, number: int, started: Started) -> None:
        self._started.pop(number, None)
        self._queue.forget(number)
        self.marks.drop(started.claims.values())
        for claim in (*started.claims.values(), *started.running.claims):
            self._by_claim.pop(claim, None)
            self.moves.forget(claim)
        self.ended()
