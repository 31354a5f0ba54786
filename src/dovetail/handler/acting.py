"""What follows from what stands, one tick at a time.

A tick looks at everything anew: the notices, the Node, its pods, the time. It may fail at any point, because the API
server is away or somebody else was faster, and the next one begins where the world is then. So there is nothing to
resume after a crash, a second handler on the same node does the same things to no effect, and an API server that comes
back finds the handler at its door.

    nothing stands ──▶ take off whatever is on ──▶ wait for a notice
    a notice stands ─▶ mark ─▶ delete the Machine, if wanted ─▶ ask pods to leave ─▶ empty: acknowledge ─▶ wait
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from dovetail.api.kinds import NODES, PODS
from dovetail.core import timestamps
from dovetail.core.handler import drain, marks, standing
from dovetail.core.handler.drain import PodFacts
from dovetail.core.handler.marks import NodeFacts
from dovetail.core.handler.notices import Kind
from dovetail.core.handler.policy import Policy, Response
from dovetail.core.handler.standing import Standing, Task
from dovetail.handler import objects
from dovetail.handler.evicting import Evictions
from dovetail.handler.listening import Listener
from dovetail.handler.machines import delete_machine
from dovetail.handler.metadata import MetadataError
from dovetail.handler.objects import NodeWire, PodWire
from dovetail.handler.telling import Telling
from dovetail.kube.client import Client
from dovetail.kube.clock import Clock
from dovetail.kube.errors import Conflict, KubeError

#: How long one call may take, with its repetitions: half a minute is all there may be.
_CALL_SECONDS: Final = 2.0
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 1.0
#: Between two looks at pods that are on their way out.
_DRAINING_SECONDS: Final = 0.5
#: Before something that failed is tried again on an empty node.
_AGAIN_SECONDS: Final = 2.0
#: How often there is a tick while a node is marked, and how old what is known of the Node may be: others write, too.
_MARKED_SECONDS, _FRESH_SECONDS = 10.0, 5.0
#: Somebody else may be faster so often before a tick gives up.
_CONFLICTS: Final = 5
_log: Final = logging.getLogger(__name__)

Acknowledge = Callable[[str], Awaitable[None]]


class Actor:
    """Acts for one node. `node` is None until it has been seen once."""

    def __init__(
        self, client: Client, name: str, policy: Policy, telling: Telling, clock: Clock, own_pod: str = ""
    ) -> None:
        self.node: NodeFacts | None = None
        self.turns = 0
        self.acknowledge: Acknowledge | None = None
        self.policy = policy
        self._client, self._name = client.within(_CALL_SECONDS), name
        self._telling, self._clock, self._own = telling, clock, own_pod
        self._evictions = Evictions(self._client, telling, clock.wall)
        self._marked_for: tuple[str, Response, float | None] | None = None
        self._touched = False
        self._looked = float("-inf")
        self._told: set[str] = set()
        self._done: set[tuple[str, str]] = set()
        self._failures = 0

    async def first_look(self) -> NodeFacts:
        """The Node, however long it takes to get an answer."""
        while True:
            try:
                return await self._look()
            except KubeError as problem:
                await self._clock.sleep(self._after(problem))

    async def run(self, listener: Listener) -> None:
        while True:
            listener.changed.clear()
            try:
                wait = await self.tick(listener)
                self._failures = 0
            except KubeError as problem:
                wait = self._after(problem)
            self.turns += 1
            await _changed_or(listener.changed, wait)

    async def tick(self, listener: Listener) -> float | None:
        """Do what follows now; when to look again, None for when something is heard."""
        now = self._clock.wall()
        self._remember(listener)
        task = standing.chosen(listener.standing, self.policy, now)
        if task is None:
            if listener.standing.settled:
                await self._stand_down()
            return _MARKED_SECONDS if listener.standing.notices else None
        if self.policy.dry_run:
            return self._would(task)
        node = await self._mark(task, listener.standing)
        if task.replaces and self.policy.delete_machine:
            await self._once(task, "delete-machine", lambda: delete_machine(self._client, node))
        if task.response is not Response.DRAIN:
            return _MARKED_SECONDS
        return await self._drain(task, node)

    def _would(self, task: Task) -> float:
        """Say it once, and change nothing."""
        if task.notice.id not in self._told:
            self._told.add(task.notice.id)
            self._telling.noticed(task.notice, self._clock.wall())
            _log.warning("%s; a dry run does nothing about it", _sentence(task))
        return _MARKED_SECONDS

    def _remember(self, listener: Listener) -> None:
        """An earlier process may have seen the notice first."""
        record = marks.record_of(self.node) if self.node is not None else None
        if record is not None and record.deadline is not None:
            listener.standing = listener.standing.reminded(record.id, record.deadline)

    # ---- the Node

    async def _look(self) -> NodeFacts:
        wire = await self._client.get(NODES, self._name, into=NodeWire)
        self.node, self._looked = objects.node_facts(wire), self._clock.now()
        return self.node

    async def _mark(self, task: Task, stands: Standing) -> NodeFacts:
        """The Node with everything on it that the notice asks for, and nothing that only a withdrawn one did."""
        notice = task.notice
        wanted = (notice.id, task.response, notice.deadline)
        recently = self._clock.now() - self._looked < _FRESH_SECONDS
        if self.node is not None and self._marked_for == wanted and recently:
            return self.node
        now = self._clock.wall()
        if notice.id not in self._told:
            self._telling.noticed(notice, now)
            self._told.add(notice.id)
        self._touched = True  # before the first write: one that fails may have come through
        ended = self.node is not None and self.node.terminating == marks.REQUESTED
        heard = stands.settled
        node = await self._changed(
            lambda one: marks.marked(one, task, self.policy, now, heard_all=heard), _sentence(task)
        )
        if ended and not node.terminating:
            self._telling.say(node, marks.WITHDRAWN, "the notice was withdrawn: the machine stays")
        if heard:
            self._forget_but({one.id for one in stands.notices})
        if self._marked_for != wanted:
            self._telling.say(node, _reason(task), _sentence(task), warning=True)
            self._telling.count("termination_actions_total", action="mark", status="done")
        self._marked_for = wanted
        return node

    async def _stand_down(self) -> None:
        """Take off what is on, where nobody says any more why it is."""
        if not self._touched and (self.node is None or not marks.is_marked(self.node)):
            return
        sentence = "the notice was withdrawn: the node is open again"
        node = await self._changed(marks.unmarked, sentence)
        self._marked_for, self._touched = None, False
        self._told.clear()
        self._done.clear()
        self._evictions.forget()
        self._telling.say(node, marks.WITHDRAWN, sentence)
        self._telling.count("termination_actions_total", action="unmark", status="done")

    def _forget_but(self, stand: set[str]) -> None:
        """What was said and done for notices that are gone: one that comes again is a new one."""
        self._told &= stand
        self._done = {(notice, what) for notice, what in self._done if notice in stand}

    async def _changed(self, change: Callable[[NodeFacts], NodeFacts], sentence: str) -> NodeFacts:
        """Read, change, write; again where somebody wrote in between."""
        for attempt in range(_CONFLICTS):
            before = await self._look()
            after = change(before)
            try:
                if (patch := objects.node_patch(before, after)) is not None:
                    await self._client.patch(NODES, self._name, patch)
                told = objects.condition_patch(before, after, sentence, self._clock.wall())
                if told is not None:
                    await self._client.patch(NODES, self._name, told, subresource="status")
            except Conflict:
                if attempt + 1 == _CONFLICTS:
                    raise
                continue
            self.node = after
            return after
        raise AssertionError("the last conflict is raised")

    # ---- its pods

    async def _drain(self, task: Task, node: NodeFacts) -> float:
        record = marks.record_of(node)
        now = self._clock.wall()
        time = drain.window(task, record.began if record is not None else now, self.policy)
        pods = await self._pods()
        left = drain.leaving(pods)
        if left:
            await self._evictions.carry_out(drain.asks(pods, time, self.policy, now, self._evictions.promised))
            if now > time.ends:
                self._count_once(task, "late", len(left))
            return _DRAINING_SECONDS
        await self._once(task, "drained", lambda: self._drained(node, now - time.began))
        event = task.notice.acknowledge
        if event and self.policy.acknowledge and self.acknowledge is not None:
            answer = self.acknowledge
            if not await self._once(task, "acknowledge", lambda: _answered(answer, event)):
                return _AGAIN_SECONDS
        return _MARKED_SECONDS

    async def _pods(self) -> tuple[PodFacts, ...]:
        listed = await self._client.list(PODS, fields=f"spec.nodeName={self._name}", into=PodWire, on_bad=_unreadable)
        found = (objects.pod_facts(one) for one in listed.items)
        return tuple(one for one in found if f"{one.namespace}/{one.name}" != self._own)

    async def _drained(self, node: NodeFacts, seconds: float) -> None:
        if self.policy.out_of_service:
            await self._changed(lambda one: marks.out_of_service(one, self._clock.wall()), "")
        self._telling.drained(seconds)
        self._telling.say(node, "Drained", f"every pod that could leave has left, after {seconds:.1f} s")

    def _count_once(self, task: Task, what: str, pods: int) -> None:
        if (task.notice.id, what) not in self._done:
            self._done.add((task.notice.id, what))
            self._telling.count("termination_pods_left_total", float(pods))
            _log.warning("the time is over and %d pods are still there", pods)

    async def _once(self, task: Task, what: str, act: Callable[[], Awaitable[None]]) -> bool:
        """Do it, but not again for the same notice. What failed is tried again at the next tick, and told of once."""
        if (task.notice.id, what) in self._done:
            return True
        try:
            await act()
        except (KubeError, MetadataError) as problem:
            self._telling.count("termination_actions_total", action=what, status="failed")
            failed = (task.notice.id, f"{what} failed")
            if failed not in self._done:
                self._done.add(failed)
                _log.warning("%s: %s", what, problem)
            return False
        self._telling.count("termination_actions_total", action=what, status="done")
        self._done.add((task.notice.id, what))
        return True

    def _after(self, problem: KubeError) -> float:
        if not self._failures or self._failures % 100 == 0:
            _log.warning("%s", problem.sentence)
        wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(self._failures, 10))
        self._failures += 1
        return wait * (0.5 + self._clock.chance() / 2)


async def _answered(answer: Acknowledge, event: str) -> None:
    await answer(event)
    _log.info("told the cloud that event %s may begin", event)


async def _changed_or(changed: asyncio.Event, wait: float | None) -> None:
    if wait is None:
        await changed.wait()
        return
    try:
        async with asyncio.timeout(wait):
            await changed.wait()
    except TimeoutError:
        return


def _reason(task: Task) -> str:
    if task.notice.kind is Kind.REBALANCE:
        return "RebalanceRecommendation"
    return "TerminationNotice" if task.replaces else "MaintenanceNotice"


def _sentence(task: Task) -> str:
    notice = task.notice
    until = "" if notice.deadline is None else f", by {timestamps.text(notice.deadline)}"
    return f"the cloud gave notice ({notice.source}): {notice.about}{until}"


def _unreadable(name: str, problem: str) -> None:
    _log.warning("pod %s cannot be read and is left alone: %s", name, problem)
