"""The simulated cloud in the contract suite: over Nodes in memory, and the same behind chaos that does nothing."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import msgspec

from dovetail.api.live.nodes import NodeReader, NodeWire
from dovetail.clouds.port import Cloud, CloudError, Throttled
from dovetail.clouds.sim.chaos import ChaosCloud
from dovetail.clouds.sim.cloud import Habits, SimCloud
from dovetail.clouds.sim.market import SimMarket
from dovetail.core import timestamps
from dovetail.core.catalog.offerings import OfferingKey
from dovetail.core.conditions import Condition, Status
from dovetail.core.instances import Instance, Option
from dovetail.core.nodeclaims import FINALIZER, LAUNCHED, NodeClaim, NodeObject
from dovetail.core.nodepools import NodeClassRef

NAME = "general-a1b2c"
SPOT = OfferingKey("m-4x-amd64-linux", "test-zone-a", "spot")
HELD = OfferingKey("m-4x-amd64-linux", "test-zone-a", "reserved")
CLASS = NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default")
READY: dict[str, Any] = {
    "metadata": {"name": "default"},
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
}


class MemoryNodes:
    """`NodeApi` without an API server. `troubles` are raised one by one: before anything is done, or after it was."""

    def __init__(self) -> None:
        self.held: dict[str, NodeObject] = {}
        self.bodies: dict[str, dict[str, Any]] = {}
        self.before: list[CloudError] = []
        self.after: list[CloudError] = []
        self.calls: list[str] = []
        self.now = 1_000_000.0
        self._uids = itertools.count(1)
        self._reader = NodeReader()

    def _called(self, verb: str) -> None:
        self.calls.append(verb)
        if self.before:
            raise self.before.pop(0)

    async def create(self, body: dict[str, Any]) -> NodeObject:
        self._called("create")
        name = body["metadata"]["name"]
        if name not in self.held:
            made = {"uid": f"node-{next(self._uids)}", "creationTimestamp": timestamps.text(self.now)}
            wire = {**body, "metadata": {**body["metadata"], **made}}
            self.held[name] = self._reader.of(msgspec.convert(wire, NodeWire))
            self.bodies[name] = body
        if self.after:
            raise self.after.pop(0)
        return self.held[name]

    async def get(self, name: str) -> NodeObject | None:
        self._called("get")
        return self.held.get(name)

    async def all(self) -> tuple[NodeObject, ...]:
        self._called("all")
        return tuple(self.held.values())

    async def delete(self, name: str, uid: str) -> None:
        self._called("delete")
        node = self.held.get(name)
        if node is None or node.meta.uid != uid:
            return
        if node.meta.finalizers:
            self.held[name] = replace(node, meta=replace(node.meta, deleting=self.now))
        else:
            del self.held[name]

    async def set_boot_id(self, name: str, boot_id: str) -> None:
        self._called("set_boot_id")
        self.held[name] = replace(self.held[name], boot_id=boot_id)

    def finalize(self, name: str) -> None:
        """The Node was registered: it stays until somebody lets it go."""
        node = self.held[name]
        self.held[name] = replace(node, meta=replace(node.meta, finalizers=(FINALIZER,)))


@dataclass
class SimWorld:
    market: SimMarket = field(default_factory=SimMarket)
    api: MemoryNodes = field(default_factory=MemoryNodes)
    habits: Habits = field(default_factory=Habits)
    node_class: NodeClassRef = CLASS

    def __post_init__(self) -> None:
        self.clouds: list[Cloud] = []
        self.cloud = self.another()

    def another(self) -> Cloud:
        cloud = self.made()
        cloud.set_node_class(self.node_class, READY)
        self.clouds.append(cloud)
        return cloud

    def made(self) -> Cloud:
        return SimCloud(self.market, self.api, self.habits)

    def sell_out(self, options: tuple[Option, ...]) -> None:
        for one in options:
            row = one.offering
            self.market.restock(OfferingKey(one.instance_type.name, row.zone, row.capacity_type), 0)

    def break_class(self) -> None:
        bad = {"type": "Ready", "status": "False", "message": "its subnets are gone"}
        for cloud in self.clouds:
            cloud.set_node_class(self.node_class, {**READY, "status": {"conditions": [bad]}})

    def remove_class(self) -> None:
        for cloud in self.clouds:
            cloud.set_node_class(self.node_class, None)

    def throttle(self) -> None:
        self.api.before.append(Throttled("too many calls", 2.0))

    async def foreign(self, name: str) -> str:
        await self.api.create({"metadata": {"name": name}, "spec": {"providerID": f"aws:///a/{name}"}})
        return f"aws:///a/{name}"

    async def boots(self, instance: Instance) -> str:
        return self.api.held[instance.provider_id.removeprefix("kwok://")].boot_id


class CalmChaosWorld(SimWorld):
    """Chaos in which nothing happens is the cloud itself."""

    def made(self) -> Cloud:
        return ChaosCloud(super().made())


class SlowWorld(SimWorld):
    """Machines take their time to go."""

    def __init__(self) -> None:
        self.time = itertools.count(1_000_000, 1)
        super().__init__(habits=Habits(shutdown=3.0, now=lambda: float(next(self.time))))


def delayed(cloud: Any, seconds: str) -> None:
    cloud.set_node_class(CLASS, {**READY, "spec": {"nodeRegistrationDelay": seconds}})


def launched(bought: NodeClaim, instance: Instance, **more: Any) -> NodeClaim:
    """The claim as it is written down after a launch."""
    told = {**instance.labels, **bought.meta.labels}
    meta = replace(bought.meta, labels=MappingProxyType(told), annotations=instance.annotations)
    return replace(
        bought,
        meta=meta,
        provider_id=instance.provider_id,
        capacity=instance.capacity,
        allocatable=instance.allocatable,
        conditions=(Condition(LAUNCHED, Status.TRUE),),
        **more,
    )
