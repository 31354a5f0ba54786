"""Machines of Cluster API in the contract suite: objects in memory, and a provider that gives Machines instances."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from dovetail.api import kinds
from dovetail.api.cluster_api import reading
from dovetail.api.documents import Document
from dovetail.api.fields import fields
from dovetail.api.kinds import Kind
from dovetail.clouds import load
from dovetail.clouds.cluster_api.cloud import ClusterApiCloud, Habits
from dovetail.clouds.cluster_api.market import TemplateMarket
from dovetail.clouds.cluster_api.objects import CLAIM
from dovetail.clouds.port import Cloud, CloudError, Throttled
from dovetail.core.instances import Instance, Option
from dovetail.core.machines.objects import Machine
from dovetail.core.nodepools import NodeClassRef

Body = dict[str, Any]
CLASS = NodeClassRef(kinds.AWS_TEMPLATES.group, kinds.AWS_TEMPLATES.name, "default")
BOOT = {"dovetail.dev/bootstrap-secret": "boot"}
listing = cache(load.load)


def template(**spec: Any) -> Body:
    about = {"name": "default", "namespace": "fleet", "annotations": BOOT}
    wanted = {"instanceType": "m5.large", **spec}
    return {"apiVersion": kinds.AWS_TEMPLATES.api_version, "metadata": about, "spec": {"template": {"spec": wanted}}}


def around() -> tuple[Document, ...]:
    """A cluster in a region with five zones."""
    ref = {"apiGroup": kinds.AWS_CLUSTERS.group, "kind": kinds.AWS_CLUSTERS.name, "name": "c"}
    about = {"name": "c", "namespace": "fleet"}
    whole = {"apiVersion": kinds.CLUSTERS.api_version, "kind": "Cluster", "metadata": about}
    infra = {"apiVersion": kinds.AWS_CLUSTERS.api_version, "kind": "AWSCluster", "metadata": about}
    return (
        Document(("c",), {**whole, "spec": {"infrastructureRef": ref}}),
        Document(("c",), {**infra, "spec": {"region": "us-east-1"}}),
    )


class MemoryMachines:
    """`MachineApi` without an API server. A Machine has an instance as soon as its infrastructure machine is there, or
    fails if its zone is sold out; not before it was looked at `slow` times."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str, str], Body] = {}
        self.before: list[CloudError] = []
        self.sold_out: set[str] = set()
        self.slow = 0
        #: Why every new Machine fails, if it does.
        self.failure: Body | None = None
        self.documents = around()
        self._numbers = itertools.count(1)

    def _called(self) -> None:
        if self.before:
            raise self.before.pop(0)

    async def create(self, kind: Kind, body: Body) -> Mapping[str, Any]:
        self._called()
        about = body["metadata"]
        key = (kind.name, about["namespace"], about["name"])
        if key not in self.held:
            made = {"uid": f"uid-{next(self._numbers)}", "creationTimestamp": "2026-11-15T00:00:00Z"}
            self.held[key] = copy.deepcopy(body) | {"metadata": copy.deepcopy(about) | made}
        return self.held[key]

    async def make_machine(self, body: Body) -> Machine:
        return reading.machine(fields(await self.create(kinds.MACHINES, body)))

    async def get(self, kind: Kind, name: str, namespace: str) -> Mapping[str, Any] | None:
        self._called()
        return self.held.get((kind.name, namespace, name))

    async def machine(self, name: str, namespace: str) -> Machine | None:
        self._provided()
        found = await self.get(kinds.MACHINES, name, namespace)
        return None if found is None else reading.machine(fields(found))

    async def machines(self, mark: str = "") -> tuple[Machine, ...]:
        self._called()
        self._provided()
        ours = [one for (kind, _, _), one in self.held.items() if kind == "Machine"]
        said = [(one, one["metadata"].get("labels", {}).get(CLAIM)) for one in ours]
        return tuple(reading.machine(fields(one)) for one, label in said if label is not None and mark in ("", label))

    async def release(self, machine: Machine) -> None:
        self._called()
        key = ("Machine", machine.meta.namespace, machine.name)
        if key in self.held and self.held[key]["metadata"]["uid"] == machine.meta.uid:
            for kind in ("Machine", "AWSMachine"):
                self.held.pop((kind, *key[1:]), None)

    async def around(self) -> tuple[Document, ...]:
        self._called()
        return self.documents

    def _provided(self) -> None:
        """The provider's turn: Machines whose infrastructure machine is there get what they ask for."""
        if self.slow:
            self.slow -= 1
            return
        for (kind, namespace, name), one in self.held.items():
            if kind != "Machine" or ("AWSMachine", namespace, name) not in self.held or one["spec"].get("providerID"):
                continue
            zone = one["spec"].get("failureDomain", "")
            short = {"failureReason": "InsufficientResources", "failureMessage": f"none left in {zone}"}
            failure = self.failure or (short if zone in self.sold_out else None)
            if failure is not None:
                one["status"] = {"deprecated": {"v1beta1": failure}}
            else:
                one["spec"]["providerID"] = f"aws:///{zone}/i-{next(self._numbers):08d}"


async def at_once(seconds: float) -> None:
    """Nobody waits in memory."""


@dataclass
class BridgeWorld:
    """One template on demand, in five zones."""

    api: MemoryMachines = field(default_factory=MemoryMachines)
    node_class: NodeClassRef = CLASS
    restarts: bool = False

    def __post_init__(self) -> None:
        self.clouds: list[ClusterApiCloud] = []
        self.cloud = self.another()

    def another(self) -> ClusterApiCloud:
        cloud = ClusterApiCloud(TemplateMarket(listing), self.api, Habits(sleep=at_once))
        cloud.market.set_around(self.api.documents)
        cloud.set_node_class(self.node_class, template())
        self.clouds.append(cloud)
        return cloud

    def sell_out(self, options: tuple[Option, ...]) -> None:
        self.api.sold_out.update(one.offering.zone or "" for one in options)

    def break_class(self) -> None:
        for cloud in self.clouds:
            cloud.set_node_class(self.node_class, template(spotMarketOptions={"maxPrice": "its subnets are gone"}))

    def remove_class(self) -> None:
        for cloud in self.clouds:
            cloud.set_node_class(self.node_class, None)

    def throttle(self) -> None:
        self.api.before.append(Throttled("too many calls", 2.0))

    async def foreign(self, name: str) -> str:
        """A Machine of a set, say."""
        body = {"metadata": {"name": name, "namespace": "fleet"}, "spec": {}}
        ref = {"kind": "AWSMachine", "name": name, "apiGroup": kinds.AWS_MACHINES.group}
        body["spec"] = {"infrastructureRef": ref, "providerID": f"aws:///a/{name}"}
        await self.api.create(kinds.MACHINES, body)
        return f"aws:///a/{name}"

    async def boots(self, instance: Instance) -> str:
        """An instance starts once (R12): which one a Machine has is all there is to tell."""
        told = (one["spec"].get("providerID") for (kind, _, _), one in self.api.held.items() if kind == "Machine")
        return next(one for one in told if one == instance.provider_id)


#: For type checkers: it is one.
_is_a_cloud: type[Cloud] = ClusterApiCloud
