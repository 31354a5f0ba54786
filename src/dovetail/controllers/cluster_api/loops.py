"""The loops: each object is looked at whenever it, or something it depends on, changes, and when it asked to be.

What changes wakes who depends on it: a Machine its infrastructure, its set and the checks of its cluster; an
infrastructure machine its Machine; a Node the Machine with its provider id; a Cluster everything in it.

A process looks after the Machines of its own kinds of infrastructure and leaves the others alone, so that one process
for each cloud makes one core between them. A check may span clouds: it is judged where its first Machine is looked
after.

Clouds tell nothing, they are asked: about machines on their way up or out one by one, about many that run all together
(`rounds`). A Machine whose Node was healthy and is not any more is asked about at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.clouds.machines import Machines, Sought
from dovetail.controllers.cluster_api import cloning, drains
from dovetail.controllers.cluster_api.hands import MachineHands
from dovetail.controllers.cluster_api.rounds import Rounds, is_at_rest
from dovetail.controllers.cluster_api.stores import CLUSTER, NODE, PROVIDER, MachineStores
from dovetail.controllers.queue import WorkQueue
from dovetail.core.effects import Delete, Say
from dovetail.core.machines import deletion, health, names, progress, remediation, sets
from dovetail.core.machines import infra as lifecycle
from dovetail.core.machines.effects import Effect, Step, reference
from dovetail.core.machines.infra_objects import InfraMachine
from dovetail.core.machines.objects import HealthCheck, Machine
from dovetail.core.nodeclaims import NodeObject
from dovetail.kube.client import Client
from dovetail.kube.watch import Options

WORKERS: Final = 8
#: A check is judged at most so often, however much happens to its machines.
CHECK_SECONDS: Final = 1.0
#: So is a set: a look at a thousand Machines for each change of one of them would be a million.
SET_SECONDS: Final = 0.5
#: A set waits so long for machines it made and has not seen yet; each of them wakes it when it comes.
COMING_LOOK_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Key:
    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.name} {self.namespace}/{self.name}"


@dataclass(slots=True)
class MachineController:
    """All loops of one process. With `core`, Machines, sets and checks are looked after too (see `switch`)."""

    client: Client
    clouds: Mapping[str, Machines]
    infra_kinds: tuple[Kind, ...]
    core: bool
    failed: Callable[[Hashable, Exception], None]
    say: Callable[[Say], None] = lambda event: None
    now: Callable[[], float] = time.time
    options: Options | None = None
    boundary: Callable[[Effect, bool], None] | None = None
    may_act: Callable[[], bool] | None = None
    stores: MachineStores = field(init=False)
    hands: MachineHands = field(init=False)
    _queue: WorkQueue[Key] = field(init=False)
    _rounds: dict[str, Rounds[Key]] = field(init=False)

    def __post_init__(self) -> None:
        self.stores = MachineStores(self.infra_kinds, core=self.core)
        self.hands = MachineHands(self.client, self.stores, self.clouds, self.say, self.now)
        if self.boundary is not None:
            self.hands.boundary = self.boundary
        if self.may_act is not None:
            self.hands.may_act = self.may_act
        self._queue = WorkQueue(self._one, self.failed)
        self._rounds = {
            name: Rounds(cloud, partial(self._fleet, name), self._queue.add, partial(self.failed, f"rounds on {name}"))
            for name, cloud in self.clouds.items()
        }

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.stores.watch(self.client, self.options), name="machines: watches")
            await self.stores.synced()
            self._listen()
            group.create_task(self._queue.run(WORKERS), name="machines: loops")
            for name, rounds in self._rounds.items():
                group.create_task(rounds.run(), name=f"machines: rounds on {name}")

    # ---- who is woken by what

    def _listen(self) -> None:
        stores = self.stores
        stores.machines.listen(self._machine_changed)
        stores.clusters.listen(lambda old, new: self._cluster_changed(_either(old, new).key))
        stores.sets.listen(lambda old, new: self._add(kinds.MACHINE_SETS, _either(old, new).key))
        stores.checks.listen(lambda old, new: self._add(kinds.HEALTH_CHECKS, _either(old, new).key))
        stores.nodes.listen(self._node_changed)
        for kind, store in stores.infra.items():
            store.listen(partial(self._infra_changed, kind))
            for one in store:
                self._add(kind, one.key)
        for held in stores.machines:
            self._machine_changed(None, held)
        for held_set in stores.sets:
            self._add(kinds.MACHINE_SETS, held_set.key)
        for check in stores.checks:
            self._add(kinds.HEALTH_CHECKS, check.key)

    def _add(self, kind: Kind, key: tuple[str, str], after: float = 0.0) -> None:
        self._queue.add(Key(kind, *key), after)

    def _machine_changed(self, old: Any, new: Any) -> None:
        stored = _either(old, new)
        machine: Machine = stored.value
        if self.core:
            self._woken(stored)
        if old is None or new is None or _concerns_infra(old.value, new.value):
            for kind in self.stores.infra:
                if kind.name == machine.infrastructure.kind:
                    self._add(kind, (machine.meta.namespace, machine.infrastructure.name))

    def _woken(self, stored: Any) -> None:
        """A Machine, and who counts it. Its instance is not asked about: that costs a call to the cloud."""
        machine: Machine = stored.value
        namespace = machine.meta.namespace
        self._add(kinds.MACHINES, stored.key)
        for one in self.stores.sets:
            if one.key[0] == namespace and one.value.cluster == machine.cluster:
                self._add(kinds.MACHINE_SETS, one.key, SET_SECONDS)
        for check in self.stores.checks:
            if check.key[0] == namespace and check.value.cluster == machine.cluster:
                self._add(kinds.HEALTH_CHECKS, check.key, CHECK_SECONDS)

    def _infra_changed(self, kind: Kind, old: Any, new: Any) -> None:
        """What we write of its status ourselves is no reason to ask the cloud again."""
        infra: InfraMachine = _either(old, new).value
        namespace = infra.meta.namespace
        if old is None or new is None or _asked_for(old.value) != _asked_for(new.value):
            self._add(kind, (namespace, infra.name))
        owner = infra.meta.controller
        if self.core and owner is not None:
            # Until its Machine takes it over, it belongs to the set and has the Machine's name.
            self._add(kinds.MACHINES, (namespace, owner.name if owner.kind == kinds.MACHINES.name else infra.name))

    def _cluster_changed(self, key: tuple[str, str]) -> None:
        for one in self.stores.machines.by(CLUSTER, key):
            self._machine_changed(None, one)
        for kind, store in ((kinds.MACHINE_SETS, self.stores.sets), (kinds.HEALTH_CHECKS, self.stores.checks)):
            for held in store:
                if held.key[0] == key[0] and held.value.cluster == key[1]:
                    self._add(kind, held.key)

    def _node_changed(self, old: Any, new: Any) -> None:
        """By provider id or by name; a Machine that has neither on record yet is woken by its infrastructure. That a
        kubelet says once more what it said before is no change: of a thousand, one does so all the time."""
        node: NodeObject = _either(old, new).value
        if old is not None and new is not None and _as_seen(old.value) == _as_seen(new.value):
            return
        found = {one.key: one for one in self.stores.machines.by(NODE, node.name)}
        if node.provider_id:
            found |= {one.key: one for one in self.stores.machines.by(PROVIDER, node.provider_id)}
        for one in found.values():
            self._woken(one)

    # ---- one look

    async def _one(self, key: Key) -> float | None:
        if key.kind in self.stores.infra:
            return await self._infra(key)
        if key.kind == kinds.MACHINES:
            return await self._machine(key)
        if key.kind == kinds.MACHINE_SETS:
            return await self._set(key)
        return await self._check(key)

    async def _infra(self, key: Key) -> float | None:
        held = self.stores.infra[key.kind].get(key.name, key.namespace)
        if held is None:
            self._queue.forget(key)
            return None
        infra = held.value
        machine = self.stores.owner_of(infra)
        named = self.stores.machines.get(infra.name, key.namespace)
        if self.core and cloning.is_left_over(infra, named.value if named else None, self.now()):
            return await self.hands.perform(Step((Delete(reference(infra.kind, infra.meta)),)))
        cluster = self.stores.cluster(key.namespace, machine.cluster) if machine is not None else None
        boot = bool(machine is not None and machine.secret)
        rounds = self._rounds.get(infra.wanted.cloud)
        pace = rounds.pace(infra.name, len(self.stores.infra[key.kind])) if rounds is not None else 0.0
        seen = lifecycle.Seen(infra, machine, cluster, boot, pace=pace)
        again = await self.hands.perform(lifecycle.advance(seen, self.now()), seen)
        return again if machine is not None or infra.is_deleting else cloning.LEFT_OVER_SECONDS

    def _fleet(self, cloud: str) -> dict[Key, Sought]:
        """Machines of a cloud that are known to run."""
        return {
            Key(kind, *held.key): self.hands.sought(held.value, self.stores.owner_of(held.value))
            for kind, store in self.stores.infra.items()
            for held in store
            if held.value.wanted.cloud == cloud and is_at_rest(held.value)
        }

    def _is_ours(self, machine: Machine) -> bool:
        """Of a Machine, or of what a set makes Machines from."""
        kind = machine.infrastructure.kind.removesuffix(cloning.TEMPLATE)
        return any(one.name == kind for one in self.infra_kinds)

    async def _machine(self, key: Key) -> float | None:
        held = self.stores.machines.get(key.name, key.namespace)
        if held is None:
            self._queue.forget(key)
            return None
        machine = held.value
        if not self._is_ours(machine):
            return None
        cluster = self.stores.cluster(key.namespace, machine.cluster)
        infra = self.stores.infra_of(machine)
        bound = self.stores.nodes.get(machine.node) if machine.node else None
        if machine.is_deleting:
            return await self._ending(machine, infra, bound.value if bound else None)
        nodes = self.stores.nodes_of(machine, infra.provider_id if infra is not None else "")
        seen = progress.Seen(machine, cluster, infra, None, nodes, bound.value if bound else None)
        return await self.hands.perform(progress.advance(seen, self.now()))

    async def _ending(self, machine: Machine, infra: InfraMachine | None, node: NodeObject | None) -> float | None:
        if infra is not None and infra.is_anothers(machine):
            infra = None
        if not machine.node:
            node = _only(self.stores.nodes_of(machine, infra.provider_id if infra is not None else ""))
        pods, attached = await drains.on_node(self.client, node.name) if node is not None else ((), ())
        cluster = self.stores.cluster(machine.meta.namespace, machine.cluster)
        going = deletion.Ending(
            machine, cluster, infra.is_deleting if infra is not None else None, None, node, pods, attached
        )
        return await self.hands.perform(deletion.finalize(going, self.now()))

    async def _set(self, key: Key) -> float | None:
        held = self.stores.sets.get(key.name, key.namespace)
        if held is None:
            self._queue.forget(key)
            return None
        one = held.value
        if one.template is not None and not self._is_ours(one.template):
            return None
        if self.hands.coming.is_awaited(one, lambda name: (key.namespace, name) in self.stores.machines, self.now()):
            return COMING_LOOK_SECONDS
        machines = self.stores.machines_of(key.namespace, one.cluster)
        seen = sets.Seen(one, self.stores.cluster(key.namespace, one.cluster), machines)
        return await self.hands.perform(sets.advance(seen, self.now()))

    async def _check(self, key: Key) -> float | None:
        held = self.stores.checks.get(key.name, key.namespace)
        if held is None:
            self._queue.forget(key)
            return None
        check = held.value
        known = [one for one in self._within(check) if check.looks_after(one) and _is_known(one)]
        if known and not self._is_ours(min(known, key=lambda one: one.name)):
            return None
        cluster = self.stores.cluster(key.namespace, check.cluster)
        requests = await self.hands.requests.seen(check, cluster, self._within(check), self.now())
        requests = replace(requests, others=self._others(check))
        targets = tuple(
            health.Target(one, found.value if (found := self.stores.nodes.get(one.node)) else None)
            for one in self._within(check)
        )
        return await self.hands.perform(remediation.advance(check, cluster, targets, self.now(), requests))

    def _within(self, check: HealthCheck) -> tuple[Machine, ...]:
        return self.stores.machines_of(check.meta.namespace, check.cluster)

    def _others(self, check: HealthCheck) -> tuple[HealthCheck, ...]:
        """Other checks of the namespace, whose requests are theirs."""
        near = (one.value for one in self.stores.checks if one.key[0] == check.meta.namespace)
        return tuple(one for one in near if one.name != check.name)


def _only(nodes: tuple[NodeObject, ...]) -> NodeObject | None:
    """The Node of a Machine that was deleted before anybody wrote down which it is; of two nobody can say."""
    return nodes[0] if len(nodes) == 1 else None


def _either(old: Any, new: Any) -> Any:
    return old if new is None else new


def _is_known(machine: Machine) -> bool:
    """Whether some process of ours looks after it."""
    return any(one.name == machine.infrastructure.kind for one in kinds.INFRA_MACHINES)


def _concerns_infra(old: Machine, new: Machine) -> bool:
    """Whether the instance is asked about: something about it changed, or its Node is not well any more."""
    lost = old.is_true(names.NODE_HEALTHY) and not new.is_true(names.NODE_HEALTHY)
    return lost or _seen_by_infra(old) != _seen_by_infra(new)


def _seen_by_infra(machine: Machine) -> tuple[object, ...]:
    """What the loop of infrastructure machines looks at of a Machine."""
    meta = machine.meta
    return meta.uid, meta.deleting, meta.is_of_control_plane, meta.controller, machine.secret, machine.zone


def _as_seen(node: NodeObject) -> NodeObject:
    """A Node whatever its version; times of heartbeats are not read at all."""
    return replace(node, meta=replace(node.meta, version=""))


def _asked_for(infra: InfraMachine) -> tuple[object, ...]:
    """What others write of an infrastructure machine."""
    held = {key: value for key, value in infra.meta.annotations.items() if key not in names.LAUNCH_NOTES}
    return replace(infra.meta, version="", annotations=held), infra.wanted
