"""The hands: carry out what the core decided, one `case` for each effect.

Before and after each effect `boundary` is called; a test that kills the process at every boundary in turn, and starts
it again, finds no machine lost and none bought twice. What the API server answers to a write is learned at once, so
that the next decision does not wait for the watch to bring it back.

What orders, buys or ends anything is asked of `may_act` first, at the very moment: a process that was stopped for a
minute has lost its lease and does not know yet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, assert_never

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.api.live import claims as claim_wire
from dovetail.api.live import nodes as node_wire
from dovetail.clouds.port import CloudError
from dovetail.controllers.machines import Machines
from dovetail.controllers.supervision import Later
from dovetail.core.effects import (
    Count,
    Create,
    Delete,
    Effect,
    Evict,
    Health,
    Launch,
    Observe,
    Ref,
    Return,
    SaveClaim,
    SaveNode,
    Say,
    Step,
    Terminate,
    soonest,
)
from dovetail.core.instances import Instance
from dovetail.core.lifecycle import finalization, launch, termination
from dovetail.core.nodeclaims import NodeClaim
from dovetail.kube.client import Client
from dovetail.kube.errors import Conflict, Invalid, KubeError, NotFound
from dovetail.kube.patches import JsonPatch, MergePatch

KINDS: dict[str, Kind] = {
    one.name: one for one in (kinds.NODE_CLAIMS, kinds.NODES, kinds.PODS, kinds.NODE_POOLS, kinds.NODE_OVERLAYS)
}


class Ears(Protocol):
    """Where effects go that change nothing in the cluster's state: events, metrics, pool health, the eviction queue."""

    def say(self, event: Say) -> None: ...
    def count(self, one: Count) -> None: ...
    def observe(self, one: Observe) -> None: ...
    def health(self, one: Health) -> None: ...
    def evict(self, one: Evict) -> None: ...


class Learner(Protocol):
    """Told what the API server answered to our own writes, and what was bought."""

    def claim(self, answer: dict[str, Any]) -> None: ...
    def node(self, answer: dict[str, Any]) -> None: ...
    def bought(self, claim: NodeClaim, instance: Instance) -> None: ...
    def pods_of(self, claim: str) -> Iterable[Ref]: ...


class NotLeading(Later):
    """Somebody else may act by now. Nothing was done; if the lease comes back, it is tried again."""


#: What must not be done by two at once.
_ONLY_ONE_DOES: Final = (Create, Return, Launch, Terminate, Delete)


def _nothing(effect: Effect, after: bool) -> None:
    """No boundary is of interest outside tests."""


def _always() -> bool:
    """Nobody else wants to act."""
    return True


@dataclass(slots=True)
class Hands:
    """One per process."""

    client: Client
    machines: Machines
    ears: Ears
    learner: Learner
    now: Callable[[], float] = time.time
    boundary: Callable[[Effect, bool], None] = field(default=_nothing)
    may_act: Callable[[], bool] = field(default=_always)

    async def perform(self, step: Step) -> float | None:
        """Do everything a step asks for, in order; returns when to look again."""
        again = step.again
        for effect in step.effects:
            self._permitted(effect)
            self.boundary(effect, False)
            follow = await self._one(effect)
            self.boundary(effect, True)
            if follow is not None:
                again = soonest(again, await self.perform(follow))
        return again

    async def create(self, effect: Create) -> dict[str, Any] | None:
        """Write a claim down; what the API server made of it, None where nothing is to be written."""
        self._permitted(effect)
        self.boundary(effect, False)
        body = claim_wire.new_body(effect.claim, effect.prefix, effect.types)
        answer: dict[str, Any] = await self.client.create(kinds.NODE_CLAIMS, body)
        self.boundary(effect, True)
        return answer

    def _permitted(self, effect: Effect) -> None:
        if isinstance(effect, _ONLY_ONE_DOES) and not self.may_act():
            raise NotLeading

    async def _one(self, effect: Effect) -> Step | None:
        match effect:
            case Create():
                body = claim_wire.new_body(effect.claim, effect.prefix, effect.types)
                await self.client.create(kinds.NODE_CLAIMS, body)
            case Return(machine):
                await self.machines.give_back(machine)
            case Launch(claim):
                outcome = await self.machines.launch(claim)
                if not isinstance(outcome, Instance):
                    return launch.refused(claim, outcome, self.now(), self.learner.pods_of(claim.name))
                self.learner.bought(claim, outcome)
                return Step((), 0.0)
            case Terminate():
                return await self._terminate(effect)
            case SaveClaim():
                await self._save_claim(effect)
            case SaveNode():
                await self._save_node(effect)
            case Delete(ref):
                await self._delete(ref)
            case Evict():
                self.ears.evict(effect)
            case Say():
                self.ears.say(effect)
            case Count():
                self.ears.count(effect)
            case Observe():
                self.ears.observe(effect)
            case Health():
                self.ears.health(effect)
            case _:
                assert_never(effect)
        return None

    async def _terminate(self, asked: Terminate) -> Step:
        try:
            gone = await self.machines.terminate(asked.claim)
        except CloudError:
            with suppress(KubeError):  # it is the cloud's trouble that is to be heard of
                await self.perform(termination.refused(asked))
            raise
        if asked.node is None:
            return finalization.terminated(asked, gone, self.now())
        return termination.gone(asked, asked.node, gone, self.now())

    async def _save_claim(self, save: SaveClaim) -> None:
        """Labels before status: a claim that says it is launched must have the labels its Node will get. A claim that
        loses its last finalizer is gone, and has no status to be written. A note waits once, not twice: a claim is dear
        to write, and the scheduler has pods to bind."""
        before, after, name = save.before, save.after, save.after.name
        locked, note = save.locked or save.note, save.note
        metadata = claim_wire.metadata_patch(before, after, locked)
        version = before.meta.version
        if metadata is not None:
            answer = await self.client.patch(kinds.NODE_CLAIMS, name, MergePatch(metadata), note=note)
            self.learner.claim(answer)
            version, note = str((answer.get("metadata") or {}).get("resourceVersion") or ""), False
        status = claim_wire.status_patch(before, after, version if locked else "")
        if status is not None and after.meta.finalizers:
            patch = MergePatch(status)
            answer = await self.client.patch(kinds.NODE_CLAIMS, name, patch, subresource="status", note=note)
            self.learner.claim(answer)

    async def _save_node(self, save: SaveNode) -> None:
        operations = node_wire.patch_operations(save.before, save.after)
        if operations:
            try:
                answer = await self.client.patch(kinds.NODES, save.after.name, JsonPatch(operations))
            except Invalid as refused:
                if refused.causes:
                    raise
                # No field is to blame: a `test` failed, which says that somebody wrote in between.
                raise Conflict(refused.sentence, status=refused.status, reason=refused.reason) from refused
            self.learner.node(answer)

    async def _delete(self, ref: Ref) -> None:
        try:
            await self.client.delete(KINDS[ref.kind], ref.name, ref.namespace, uid=ref.uid)
        except NotFound:
            return
