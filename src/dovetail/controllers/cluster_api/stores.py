"""What is known of machines: a store for each kind, kept by a reflector, and the look-ups the loops need."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

from dovetail.api import kinds
from dovetail.api.cluster_api import infra_reading, reading
from dovetail.api.fields import Fields, fields
from dovetail.api.kinds import Kind
from dovetail.api.live.nodes import NodeReader, NodeWire
from dovetail.api.pod_stream import version_of
from dovetail.core.machines.infra_objects import InfraMachine
from dovetail.core.machines.objects import Cluster, HealthCheck, Machine, MachineSet
from dovetail.core.nodeclaims import NodeObject
from dovetail.kube.decoding import Plain, Stored, Typed
from dovetail.kube.store import Store
from dovetail.kube.watch import Options, Reflector, Source

PROVIDER: Final = "provider"
CLUSTER: Final = "cluster"
NODE: Final = "node"
V = TypeVar("V")


class MachineStores:
    """All stores. `core` is whether Machines, sets and checks are looked after too; Machines are read in any case."""

    def __init__(self, infra_kinds: tuple[Kind, ...], *, core: bool) -> None:
        self.clusters: Store[Stored[Cluster]] = Store()
        self.machines: Store[Stored[Machine]] = Store(
            {
                CLUSTER: lambda one: ((one.key[0], one.value.cluster),),
                PROVIDER: lambda one: (one.value.provider_id,) if one.value.provider_id else (),
                NODE: lambda one: (one.value.node,) if one.value.node else (),
            }
        )
        self.sets: Store[Stored[MachineSet]] = Store()
        self.checks: Store[Stored[HealthCheck]] = Store()
        self.nodes: Store[Stored[NodeObject]] = Store(
            {PROVIDER: lambda one: (one.value.provider_id,) if one.value.provider_id else ()}
        )
        self.infra: dict[Kind, Store[Stored[InfraMachine]]] = {kind: Store() for kind in infra_kinds}
        self._nodes = NodeReader()
        self._reads: dict[Kind, tuple[Callable[[Fields], Any], Store[Any]]] = {
            kinds.CLUSTERS: (reading.cluster, self.clusters),
            kinds.MACHINES: (reading.machine, self.machines),
            **{kind: (partial(infra_reading.infra_machine, kind), store) for kind, store in self.infra.items()},
        }
        if core:
            self._reads[kinds.MACHINE_SETS] = (reading.machine_set, self.sets)
            self._reads[kinds.HEALTH_CHECKS] = (reading.health_check, self.checks)
        self.core = core
        self.reflectors: tuple[Reflector[Any], ...] = ()

    async def watch(self, client: Source, options: Options | None = None) -> None:
        """Keep every store up to date until cancelled."""
        plain = [Reflector(client, kind, Plain(read), store, options) for kind, (read, store) in self._reads.items()]
        nodes: list[Reflector[Any]] = []
        if self.core:
            nodes = [Reflector(client, kinds.NODES, Typed(NodeWire, self._node), self.nodes, options)]
        self.reflectors = (*plain, *nodes)
        async with asyncio.TaskGroup() as group:
            for one in self.reflectors:
                group.create_task(one.run(), name=f"watch {one.kind}")

    @property
    def is_synced(self) -> bool:
        return bool(self.reflectors) and all(one.synced.is_set() for one in self.reflectors)

    async def synced(self) -> None:
        while not self.reflectors:
            await asyncio.sleep(0)
        for one in self.reflectors:
            await one.synced.wait()

    def _node(self, wire: NodeWire) -> Stored[NodeObject]:
        about = wire.metadata
        return Stored(("", about.name), about.uid, version_of(about.resource_version), self._nodes.of(wire))

    def learn(self, kind: Kind, answer: dict[str, Any]) -> None:
        """What the API server answered to a write of our own."""
        read, store = self._reads[kind]
        whole = fields(answer)
        about = whole.map("metadata")
        key = (about.text("namespace") or "", about.required("name"))
        store.learn(Stored(key, about.text("uid") or "", version_of(about.text("resourceVersion") or ""), read(whole)))

    # ---- looking things up

    def cluster(self, namespace: str, name: str) -> Cluster | None:
        return _value(self.clusters.get(name, namespace))

    def infra_of(self, machine: Machine) -> InfraMachine | None:
        for kind, store in self.infra.items():
            if (kind.group, kind.name) == (machine.infrastructure.group, machine.infrastructure.kind):
                return _value(store.get(machine.infrastructure.name, machine.meta.namespace))
        return None

    def owner_of(self, infra: InfraMachine) -> Machine | None:
        """The Machine that controls it."""
        owner = infra.meta.controller
        if owner is None or owner.kind != kinds.MACHINES.name:
            return None
        found = _value(self.machines.get(owner.name, infra.meta.namespace))
        return found if found is not None and found.meta.uid == owner.uid else None

    def nodes_of(self, machine: Machine, provider_id: str) -> tuple[NodeObject, ...]:
        wanted = machine.provider_id or provider_id
        return tuple(one.value for one in self.nodes.by(PROVIDER, wanted)) if wanted else ()

    def machines_of(self, namespace: str, cluster: str) -> tuple[Machine, ...]:
        return tuple(one.value for one in self.machines.by(CLUSTER, (namespace, cluster)))


def _value(found: Stored[V] | None) -> V | None:
    return found.value if found is not None else None
