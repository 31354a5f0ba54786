"""The hands: carry out what was decided about machines, one `case` for each effect.

Before and after each effect `boundary` is called; a test that ends the process at every boundary in turn and starts it
again finds one instance for each Machine, and none where there is no Machine. What the cloud answers is judged by the
core, and what follows is carried out too. `may_act` is asked at the very moment: a process that was stopped for a
while may have lost its lease without having heard of it.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, assert_never

from dovetail.api import kinds
from dovetail.api.cluster_api import writing
from dovetail.api.cluster_api.writing import Patches
from dovetail.api.kinds import Kind
from dovetail.api.live import nodes as node_wire
from dovetail.clouds.machines import Machines, Sought, UserData, refusal, sought
from dovetail.clouds.port import CloudError, NotFound
from dovetail.controllers.cluster_api import cloning
from dovetail.controllers.cluster_api.requests import RemediationRequests
from dovetail.controllers.cluster_api.stores import MachineStores
from dovetail.controllers.supervision import Later
from dovetail.core.effects import Delete, Evict, Ref, SaveNode, Say, soonest
from dovetail.core.machines import external, names, sets
from dovetail.core.machines import infra as lifecycle
from dovetail.core.machines.effects import (
    Buy,
    Cordon,
    Discard,
    DropRequest,
    Effect,
    Look,
    MakeMachine,
    MakeRequests,
    Own,
    SaveCheck,
    SaveInfra,
    SaveMachine,
    SaveSet,
    Step,
)
from dovetail.core.machines.infra_objects import Found, InfraMachine, Missing, token_of
from dovetail.core.machines.objects import Machine, MachineSet, Meta
from dovetail.kube.client import Client
from dovetail.kube.errors import Conflict, Forbidden, Invalid, TooManyRequests, UnknownKind
from dovetail.kube.errors import NotFound as NoSuchObject
from dovetail.kube.patches import JsonPatch, MergePatch

KINDS: Final = {
    one.name: one
    for one in (
        *(kinds.CLUSTERS, kinds.MACHINES, kinds.MACHINE_SETS, kinds.HEALTH_CHECKS, kinds.NODES, kinds.PODS),
        *kinds.INFRA_MACHINES,
    )
}
#: A check looks so soon at the requests it made.
REQUESTED_SECONDS: Final = 1.0


def _nothing(effect: Effect, after: bool) -> None:
    """No boundary is of interest outside tests."""


def _always() -> bool:
    """Nobody else wants to act."""
    return True


@dataclass(slots=True)
class MachineHands:
    """One per process. `clouds` are by name: aws, gcp, azure."""

    client: Client
    stores: MachineStores
    clouds: Mapping[str, Machines]
    say: Callable[[Say], None]
    now: Callable[[], float] = time.time
    boundary: Callable[[Effect, bool], None] = field(default=_nothing)
    may_act: Callable[[], bool] = field(default=_always)
    coming: cloning.Coming = field(default_factory=cloning.Coming)
    requests: RemediationRequests = field(init=False)

    def __post_init__(self) -> None:
        self.requests = RemediationRequests(self.client)

    async def perform(self, step: Step, seen: lifecycle.Seen | None = None) -> float | None:
        """Do everything a step asks for, in order; returns when to look again."""
        again = step.again
        for effect in step.effects:
            if not self.may_act():
                raise Later("another process holds the lease")
            self.boundary(effect, False)
            follow = await self._one(effect, seen)
            self.boundary(effect, True)
            if follow is not None:
                again = soonest(again, await self.perform(follow, seen))
        return again

    async def _one(self, effect: Effect, seen: lifecycle.Seen | None) -> Step | None:
        match effect:
            case Say():
                self.say(effect)
            case SaveMachine(before, after):
                await self._save(kinds.MACHINES, before.meta, writing.machine(before, after, self.now()))
            case SaveInfra(before, after):
                kind = KINDS[before.kind]
                await self._save(kind, before.meta, writing.infra(kind, before, after))
            case SaveSet(before, after):
                await self._save(kinds.MACHINE_SETS, before.meta, writing.machine_set(before, after))
            case SaveCheck(before, after):
                await self._save(kinds.HEALTH_CHECKS, before.meta, writing.health_check(before, after))
            case Look() | Buy() | Discard():
                return await self._asked(effect, seen)
            case MakeRequests():
                return await self._requested(effect)
            case DropRequest(of, request):
                why = await self.requests.drop(of, request, self.now())
                return external.kept(of, request, why) if why else None
            case _:
                await self._changed(effect)
        return None

    async def _changed(self, effect: SaveNode | Own | MakeMachine | Delete | Evict | Cordon) -> None:
        match effect:
            case SaveNode(before, after):
                operations = node_wire.patch_operations(before, after)
                await self._patch_node(before.name, operations)
            case Cordon(node):
                await self._patch_node(node.name, [{"op": "add", "path": "/spec/unschedulable", "value": True}])
            case Own():
                await self._own(effect)
            case MakeMachine(of, name):
                await self._make(of, name)
            case Delete(ref):
                await self._delete(ref)
            case Evict():
                await self._evict(effect)
            case _:
                assert_never(effect)

    # ---- writing

    async def _save(self, kind: Kind, meta: Meta, patches: Patches) -> None:
        """The object first, then its status, each only if nobody else has written in between."""
        version = meta.version
        try:
            if patches.whole:
                about = {**patches.whole.get("metadata", {}), "resourceVersion": version}
                body = MergePatch({**patches.whole, "metadata": about})
                answer = await self.client.patch(kind, meta.name, body, meta.namespace)
                version = answer["metadata"]["resourceVersion"]
                self.stores.learn(kind, answer)
            if patches.status:
                body = MergePatch({"metadata": {"resourceVersion": version}, "status": patches.status})
                answer = await self.client.patch(kind, meta.name, body, meta.namespace, subresource="status")
                self.stores.learn(kind, answer)
        except (Conflict, NoSuchObject) as changed:
            raise Later(str(changed)) from None

    async def _patch_node(self, name: str, operations: list[dict[str, Any]]) -> None:
        try:
            await self.client.patch(kinds.NODES, name, JsonPatch(operations))
        except NoSuchObject:
            return
        except Conflict as changed:
            raise Later(str(changed)) from None

    async def _own(self, effect: Own) -> None:
        """The new controller in place of the old; owners that control nothing stay."""
        kind = KINDS.get(effect.ref.kind)
        if kind is None:
            return
        found = await self.client.get(kind, effect.ref.name, effect.namespace)
        held = [one for one in found["metadata"].get("ownerReferences") or [] if not one.get("controller")]
        about = {
            "resourceVersion": found["metadata"]["resourceVersion"],
            "labels": {"cluster.x-k8s.io/cluster-name": effect.cluster},
            "ownerReferences": [*held, writing.owner_body(effect.owner)],
        }
        try:
            answer = await self.client.patch(kind, effect.ref.name, MergePatch({"metadata": about}), effect.namespace)
        except Conflict as changed:
            raise Later(str(changed)) from None
        self.stores.learn(kind, answer)

    async def _make(self, of: MachineSet, name: str) -> None:
        """What keeps a set from making machines stands in its status: a template that is gone, a policy, a quota."""
        try:
            for kind, body in await cloning.copies(self.client, of, name):
                await cloning.create(self.client, kind, body)
        except (cloning.CannotCopy, NoSuchObject, UnknownKind, Invalid, Forbidden) as problem:
            held = self.stores.sets.get(of.name, of.meta.namespace)
            if held is not None and held.uid == of.meta.uid:
                await self.perform(sets.stuck(held.value, str(problem), self.now()))
            raise Later(str(problem)) from None
        self.coming.made(of, name, self.now())

    async def _requested(self, effect: MakeRequests) -> Step:
        """What could not be made is told by the check and its Machines as they were written last."""
        failed = await self.requests.make(effect.of, effect.machines, self.now())
        if not failed:
            return Step((), REQUESTED_SECONDS)
        meta = effect.of.meta
        check = self.stores.checks.get(meta.name, meta.namespace)
        machines = [self.stores.machines.get(one.name, meta.namespace) for one in effect.machines if one.name in failed]
        held = [one.value for one in machines if one is not None]
        if check is None or check.uid != meta.uid or not held:
            return Step()
        return external.unmade(check.value, tuple((one, failed[one.name]) for one in held), self.now())

    async def _delete(self, ref: Ref) -> None:
        kind = KINDS.get(ref.kind)
        if kind is None:
            return
        try:
            await self.client.delete(kind, ref.name, ref.namespace, uid=ref.uid)
        except (NoSuchObject, Conflict):
            return

    async def _evict(self, effect: Evict) -> None:
        """A deadline that is over means that nobody is left to end the pod politely."""
        pod, grace = effect.pod, 1 if effect.deadline is not None else None
        try:
            await self.client.evict(pod.name, pod.namespace, uid=pod.uid, grace=grace)
        except (NoSuchObject, Conflict, TooManyRequests):
            return

    # ---- the cloud

    async def _asked(self, effect: Look | Buy | Discard, seen: lifecycle.Seen | None) -> Step:
        infra = effect.infra
        cloud = self.clouds.get(infra.wanted.cloud)
        if cloud is None or seen is None:
            return Step((), lifecycle.UNASKED_SECONDS)
        known = replace(seen, infra=self._current(infra), answer=None)
        match effect:
            case Look():
                return await self._look(cloud, known)
            case Buy():
                return await self._buy(cloud, known, effect)
            case Discard():
                return await self._discard(cloud, known)

    def _current(self, infra: InfraMachine) -> InfraMachine:
        """As it was written last: what follows is compared with that, not with what was there before."""
        held = self.stores.infra[KINDS[infra.kind]].get(infra.name, infra.meta.namespace)
        return held.value if held is not None and held.uid == infra.meta.uid else infra

    async def _look(self, cloud: Machines, seen: lifecycle.Seen) -> Step:
        secret = lifecycle.awaited_secret(seen)
        if secret and await self._user_data(seen.infra.meta.namespace, secret) is None:
            return lifecycle.unbooted(seen, secret, self.now())
        try:
            answer: Found | Missing = await cloud.find(self.sought(seen.infra, seen.machine))
        except NotFound:
            answer = Missing()
        except CloudError as error:
            return lifecycle.unanswered(seen.infra, refusal(error), self.now())
        return lifecycle.advance(replace(seen, answer=answer), self.now())

    async def _buy(self, cloud: Machines, seen: lifecycle.Seen, effect: Buy) -> Step:
        boot = await self._user_data(effect.purchase.namespace, effect.purchase.secret)
        if boot is None:
            return lifecycle.unbooted(seen, effect.purchase.secret, self.now())

        async def ordering() -> None:
            infra = self._current(effect.infra)
            if infra.is_deleting:
                raise Later(f"{infra.name} is being deleted")
            await self.perform(lifecycle.ordering(infra, self.now()))

        try:
            found = await cloud.create(effect.purchase, boot, ordering)
        except CloudError as error:
            said = refusal(error, effect.purchase.sent)
            told = replace(said, message=boot.left_out(said.message))
            return lifecycle.refused(self._after(seen), told, self.now())
        return lifecycle.bought(self._after(seen), found, self.now())

    def _after(self, seen: lifecycle.Seen) -> lifecycle.Seen:
        """With what was written while the cloud was at it."""
        return replace(seen, infra=self._current(seen.infra))

    async def _discard(self, cloud: Machines, seen: lifecycle.Seen) -> Step:
        try:
            await cloud.delete(self.sought(seen.infra, seen.machine))
        except NotFound:
            return lifecycle.discarded(seen.infra, gone=True, now=self.now())
        except CloudError as error:
            return lifecycle.unanswered(seen.infra, refusal(error), self.now())
        return lifecycle.discarded(seen.infra, gone=False, now=self.now())

    def sought(self, infra: InfraMachine, machine: Machine | None) -> Sought:
        """Its Machine and Cluster may be gone before it; the label says whose it is even then."""
        cluster = machine.cluster if machine is not None else ""
        known = cluster or infra.meta.labels.get(names.CLUSTER_NAME, "")
        return sought(infra, known, token_of(infra.meta.uid))

    async def _user_data(self, namespace: str, name: str) -> UserData | None:
        if not name:
            return None
        try:
            secret = await self.client.get(kinds.SECRETS, name, namespace)
        except NoSuchObject:
            return None
        data = secret.get("data") or {}
        try:
            value = base64.b64decode(data["value"], validate=True)
            form = base64.b64decode(data.get("format", ""), validate=True).decode()
        except (KeyError, ValueError):
            return None
        return UserData(value, form or "cloud-config")
