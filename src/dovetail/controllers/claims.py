"""Every claim from order to end, each looked at when something about it happens: the claim, its Node, the Node's pods.

One queue serves them all, by claim name, so that nobody else writes a claim meanwhile; all claims advance at once. A
Node of ours without a claim is ended here too.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from dovetail.api.pod_stream import PodRecord
from dovetail.clouds.port import Cloud, NotFound
from dovetail.controllers.act import Hands
from dovetail.controllers.cluster import Attachment, Cluster
from dovetail.controllers.draining import FINISHED, Pods
from dovetail.controllers.nominations import Nominations
from dovetail.controllers.placing import Places
from dovetail.controllers.pod_events import PodEvents
from dovetail.controllers.queue import WorkQueue
from dovetail.controllers.settling import Settling
from dovetail.core.effects import Effect, SaveClaim, Step, soonest
from dovetail.core.lifecycle import finalization, progress, termination, upkeep
from dovetail.core.lifecycle.registration import NO_HOOKS, Hooked
from dovetail.core.lifecycle.termination import Leaving
from dovetail.core.nodeclaims import (
    CONSOLIDATABLE,
    FINALIZER,
    INITIALIZED,
    LAUNCHED,
    REGISTERED,
    NodeClaim,
    NodeObject,
)
from dovetail.core.pods import TIED_TO_NODE
from dovetail.kube.decoding import Stored
from dovetail.kube.errors import Conflict
from dovetail.kube.errors import NotFound as ObjectNotFound

#: Claims wait for each other (`Places.tell`), so there are never so many at once that one waits to be looked at.
AT_ONCE: Final = 10_000
#: Pods leave a Node in quick succession; it is looked at when the last is gone, and this long after any other.
BEFORE_THE_LAST_SECONDS: Final = 0.25
#: Pods come to a Node in quick succession, too; whether it may still be consolidated is asked this long after one came.
RECONSIDERED_SECONDS: Final = 1.0


async def _nothing_more(claim: NodeClaim, nodes: tuple[NodeObject, ...]) -> float | None:
    """Nobody else has anything to write on a claim."""
    return None


async def _no_hooks(claim: NodeClaim) -> Hooked:
    """Its cloud has nothing to find out."""
    return NO_HOOKS


@dataclass(frozen=True, slots=True)
class Key:
    """A claim by name, or a Node that has none."""

    claim: str = ""
    node: str = ""


@dataclass(slots=True)
class Claims:
    cluster: Cluster
    hands: Hands
    cloud: Cloud
    pods: Pods
    nominations: Nominations
    settling: Settling
    places: Places
    replan: Callable[[], None]
    failed: Callable[[Key, Exception], None]
    now: Callable[[], float] = time.time
    #: How much longer than its life a claim may wait to be replaced within budgets, as a share of it.
    patience: float = 0.0
    #: What else is kept up to date on a claim that lives; it says when it wants to look again.
    also: Callable[[NodeClaim, tuple[NodeObject, ...]], Awaitable[float | None]] = _nothing_more
    #: What its cloud has to find out once a claim's Node is there.
    hooked: Callable[[NodeClaim], Awaitable[Hooked]] = _no_hooks
    _queue: WorkQueue[Key] = field(init=False)
    _since: float = 0.0
    #: Told of a Node that those planned onto it can use from now on.
    opened: Callable[[str], None] = lambda node: None
    pod_events: PodEvents = field(default_factory=PodEvents)

    def __post_init__(self) -> None:
        self._queue = WorkQueue(self._one, self.failed)

    # ---- what happens

    def listen(self) -> None:
        """Hear of everything that may move a claim on."""
        self.cluster.claims.listen(self._claim_changed)
        self.cluster.nodes.listen(self._node_changed)
        self.cluster.pods.listen(self._pod_changed)
        self.cluster.attachments.listen(lambda old, new: self._attachment_changed(old or new))

    def _claim_changed(self, old: Stored[NodeClaim] | None, new: Stored[NodeClaim] | None) -> None:
        if new is None and old is not None:
            self._queue.forget(Key(claim=old.value.name))
            self.pod_events.forget(old.value.name)
            self.cluster.purchases.forget(old.value.name)
            self._lost(old.value.name)
            for node in self.cluster.nodes_of(old.value.provider_id):
                self._queue.add(Key(node=node.name))
        elif new is not None:
            self._queue.add(Key(claim=new.value.name))
            if new.value.is_true(LAUNCHED):
                self.cluster.purchases.forget(new.value.name)
            if new.value.is_true(INITIALIZED):
                self._usable(new.value.name, new.value.node_name)
            if new.value.is_deleting:
                self._lost(new.value.name)

    def _lost(self, claim: str) -> None:
        """A claim is going: its pods have to be planned anew."""
        self.places.not_soon(claim)
        lost = self.nominations.drop_target(claim)
        if lost:
            self.places.take_back(lost)
            self.replan()

    def _usable(self, claim: str, node: str) -> None:
        """Pods planned onto a claim may be bound from now on."""
        for target in {claim, node}:
            if self.nominations.ready(target, self.now()):
                self.settling.stir()
                self.opened(node)

    def _node_changed(self, old: Stored[NodeObject] | None, new: Stored[NodeObject] | None) -> None:
        held = new or old
        if held is not None:
            self.look_at(held.value)
        if new is not None and len(self.nominations) and new.value.is_initialized:
            # Its claim says so later.
            for claim in self.cluster.claims_of(new.value.provider_id):
                self._usable(claim.name, new.value.name)

    def _pod_changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        """A pod that leaves a Node that is leaving lets it go on; any that comes or goes is an event of its Node."""
        held = new or old
        node = self.cluster.node(held.node) if held is not None and held.node else None
        if node is None:
            return
        if node.is_deleting:
            # Until the last is gone there is little to do, and nothing that cannot wait for the next few.
            self.look_at(node, BEFORE_THE_LAST_SECONDS if self.pods.are_left(node.name) else 0.0)
        if _is_event(old, new):
            for claim in self.cluster.claims_of(node.provider_id):
                self._pods_moved(claim)

    def remember(self, pods: Iterable[PodRecord]) -> None:
        """When pods came that are there already, as far as nobody wrote it down."""
        for pod in pods:
            node = self.cluster.node(pod.node) if pod.node and _is_event(None, pod) else None
            for claim in self.cluster.claims_of(node.provider_id) if node is not None else ():
                self.pod_events.remember(claim, pod.scheduled)

    def _pods_moved(self, claim: NodeClaim) -> None:
        self.pod_events.happened(claim.name, self.now())
        due = self.pod_events.due(claim, self.now())
        if due is not None:
            # One that may be consolidated perhaps no longer may.
            again = min(due, RECONSIDERED_SECONDS) if claim.is_true(CONSOLIDATABLE) else due
            self._queue.add(Key(claim=claim.name), again)

    def _attachment_changed(self, one: Stored[Attachment] | None) -> None:
        node = self.cluster.node(one.value.node) if one is not None else None
        if node is not None and node.is_deleting:
            self.look_at(node)

    def look_at_claim(self, claim: NodeClaim) -> None:
        self._queue.add(Key(claim=claim.name))

    def look_at(self, node: NodeObject, after: float = 0.0) -> None:
        claims = self.cluster.claims_of(node.provider_id)
        for one in claims:
            self._queue.add(Key(claim=one.name), after)
        if not claims and node.is_deleting and FINALIZER in node.meta.finalizers:
            self._queue.add(Key(node=node.name), after)

    # ---- what follows

    async def run(self, workers: int = AT_ONCE) -> None:
        self._since = self.now()
        await self._queue.run(workers)

    async def _one(self, key: Key) -> float | None:
        try:
            return await (self._claim(key.claim) if key.claim else self._orphan(key.node))
        except (Conflict, ObjectNotFound):
            # Somebody wrote in between; what they wrote comes by the watch and is looked at then. The time is a belt.
            return 1.0

    async def _claim(self, name: str) -> float | None:
        claim = self.cluster.claim(name)
        if claim is None or not self.cluster.manages(claim):
            return None
        known = self.cluster.purchases.known(claim)
        nodes = self.cluster.nodes_of(known.provider_id)
        if claim.is_deleting and not known.provider_id:
            nodes = self.cluster.nodes_owned_by(claim)  # the machine was not written down by whoever bought it
        leaving = [one for one in nodes if one.is_deleting and FINALIZER in one.meta.finalizers]
        if leaving:
            return await self._leaving(leaving, claim)
        if claim.is_deleting:
            return await self.hands.perform(finalization.finalize(claim, nodes, self.now()))
        joining = bool(nodes) and not claim.is_true(REGISTERED)
        hooked = await self.hooked(known) if joining else NO_HOOKS
        bought = self.cluster.purchases.of(claim)
        if joining and not hooked.pending:
            if await self.places.tell(claim.name, nodes[0].name, at_once=bought is not None):
                return 0.0  # that took a while: it is looked at as it is now
        elif claim.is_true(LAUNCHED):
            self.places.not_soon(claim.name)
        step = self._with_moves(progress.advance(claim, nodes, self.now(), bought, hooked, self._since))
        again = await self.hands.perform(step)
        if any(isinstance(one, SaveClaim) for one in step.effects):
            # What was just written comes back, and is looked at once more.
            return again
        return soonest(again, await self._kept_up(claim, nodes))

    def _with_moves(self, step: Step) -> Step:
        """A claim that is being written anyway, and whose Node can be used, says when pods last came or went."""
        return replace(step, effects=tuple(self._with_move(one) for one in step.effects)) if step.effects else step

    def _with_move(self, effect: Effect) -> Effect:
        if not isinstance(effect, SaveClaim) or not effect.after.is_true(INITIALIZED):
            return effect
        after = self.pod_events.known(effect.after)
        return effect if after is effect.after else replace(effect, after=after)

    async def _kept_up(self, claim: NodeClaim, nodes: tuple[NodeObject, ...]) -> float | None:
        """Expiry, pods that came or went, and consistency, of a claim that nothing else is done to."""
        over = upkeep.is_expired(claim, self.now(), self.patience)
        moving = sum(self.pods.moving(node.name) for node in nodes) if over else 0
        again = await self.hands.perform(upkeep.expired(claim, moving, self.now(), self.patience))
        due = self.pod_events.due(claim, self.now())
        if due == 0.0:
            after = self.pod_events.known(claim)
            await self.hands.perform(Step((SaveClaim(claim, after, note=True),)))
            self.pod_events.said(after)
            return again
        again = soonest(again, due)
        if len(nodes) == 1 and claim.is_true(INITIALIZED):
            step = upkeep.consistent(claim, nodes[0], self.now())
            again = soonest(again, await self.hands.perform(step))
            if any(isinstance(one, SaveClaim) for one in step.effects):
                return again
        return soonest(again, await self.also(claim, nodes))

    async def _leaving(self, nodes: list[NodeObject], claim: NodeClaim | None) -> float | None:
        again: float | None = None
        for node in nodes:
            facts = Leaving(
                node,
                claim,
                self.pods.on(node.name),
                tuple(one.value.volume for one in self.cluster.attachments.by("node", node.name)),
                self.pods.volumes_kept(node.name),
                await self._is_gone(node),
                is_only=len(self.cluster.nodes_of(node.provider_id)) == 1,
            )
            again = soonest(again, await self.hands.perform(termination.terminate(facts, self.now())))
        return again

    async def _is_gone(self, node: NodeObject) -> bool:
        if node.is_ready or not node.provider_id:
            return False
        try:
            await self.cloud.get(node.provider_id)
        except NotFound:
            return True
        return False

    async def _orphan(self, name: str) -> float | None:
        node = self.cluster.node(name)
        if node is None or not node.is_deleting or self.cluster.claims_of(node.provider_id):
            return None
        return await self._leaving([node], None)


def _is_event(old: PodRecord | None, new: PodRecord | None) -> bool:
    """Whether a pod came to its Node or went from it: bound, finished, told to go, or gone. Daemons do not count."""
    known = new or old
    if known is None or known.owner.kind in TIED_TO_NODE:
        return False
    if old is None or new is None:
        return True
    bound = old.node is None and new.node is not None
    finished = old.phase not in FINISHED and new.phase in FINISHED
    return bound or finished or (not old.rare.deletion and bool(new.rare.deletion))
