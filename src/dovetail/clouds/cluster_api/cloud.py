"""`clouds.port.Cloud` over machines of Cluster API.

A launch makes the claim's Machine and what belongs to it, and waits a little for the instance. One that takes longer is
no failure: the claim says that its instance is pending, and asks again; every step finds what the one before it made. A
Machine that failed for want of capacity is removed, and the next zone of the template is tried (R14); what is not had
anywhere is a shortage. A Machine that had an instance and lost it is gone, and nobody makes it another (R10).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from dovetail.api.documents import Document
from dovetail.api.kinds import INFRA_TEMPLATES, MACHINES, Kind
from dovetail.clouds.cluster_api import objects
from dovetail.clouds.cluster_api.market import Held, TemplateMarket
from dovetail.clouds.cluster_api.objects import Body
from dovetail.clouds.port import (
    CloudError,
    Listener,
    Misconfigured,
    NoCapacity,
    NotFound,
    Notice,
    RepairPolicy,
    Unavailable,
)
from dovetail.clouds.sim.turns import Turns
from dovetail.core import labels
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.instances import Instance, Option, Order
from dovetail.core.lifecycle import interruption
from dovetail.core.machines import names
from dovetail.core.machines.objects import Machine
from dovetail.core.nodeclaims import NodeClaim
from dovetail.core.nodepools import NodeClassRef

#: How long a launch waits for its instance, and how often it looks. A claim has five minutes in all.
PATIENCE_SECONDS: Final = 15.0
LOOK_SECONDS: Final = 2.0
#: How often clusters and sets are looked at.
AROUND_SECONDS: Final = 30.0
#: A node that is not well is replaced; machines of Cluster API are never restarted (R12).
POLICIES: Final = (RepairPolicy("Ready", "False", 1800.0), RepairPolicy("Ready", "Unknown", 1800.0, ".*"))
_CAPACITY: Final = (names.INSUFFICIENT_RESOURCES,)
_FOR_A_PERSON: Final = (names.INVALID_CONFIGURATION,)


class MachineApi(Protocol):
    """Where machines are kept: the cluster's API server. Its troubles are `CloudError`s."""

    async def create(self, kind: Kind, body: Body) -> Mapping[str, Any]:
        """Make an object, or return the one of that name that is there."""

    async def make_machine(self, body: Body) -> Machine:
        """The same for a Machine."""

    async def get(self, kind: Kind, name: str, namespace: str) -> Mapping[str, Any] | None: ...

    async def machine(self, name: str, namespace: str) -> Machine | None: ...

    async def machines(self, mark: str = "") -> tuple[Machine, ...]:
        """Every Machine that was made for a claim, or those with this mark."""

    async def release(self, machine: Machine) -> None:
        """Delete a Machine whose node was drained: it need not be drained again. One that is gone is no trouble."""

    async def around(self) -> tuple[Document, ...]:
        """Clusters, their infrastructure, templates, and the sets that use them."""


class Pending(Unavailable):
    """Nothing is wrong but that it takes time."""

    reason = "InstancePending"


@dataclass(frozen=True, slots=True)
class Habits:
    """How it goes about things."""

    patience: float = PATIENCE_SECONDS
    look: float = LOOK_SECONDS
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    now: Callable[[], float] = time.time


class ClusterApiCloud:
    """`clouds.port.Cloud`."""

    name = "cluster-api"
    node_classes: None = None
    repair_policies = POLICIES

    def __init__(
        self,
        market: TemplateMarket,
        api: MachineApi,
        habits: Habits | None = None,
        templates: tuple[Kind, ...] = INFRA_TEMPLATES,
    ) -> None:
        """`templates` are the kinds that are served here."""
        self.market = market
        self.node_class_kinds = templates
        self._api, self._habits = api, habits or Habits()
        self._turns = Turns()
        #: By claim, what could not be had for it so far.
        self._missed: dict[str, dict[Shortage, None]] = {}
        self._listeners: list[Listener] = []
        #: Machines whose end was told of.
        self._told: set[str] = set()

    # ---- what it is told

    def set_node_class(self, ref: NodeClassRef, wire: Mapping[str, object] | None) -> None:
        self.market.put(ref, wire)

    def resume(self, claims: Iterable[NodeClaim]) -> None:
        """Nothing is kept on claims: their Machines say all there is to know."""

    def on_notice(self, listener: Listener) -> None:
        """Notices come to the node itself, and its handler marks it. Told of here are machines whose day is known to
        come (R24, R42)."""
        self._listeners.append(listener)

    async def look(self) -> None:
        """See which clusters there are, and who uses which template."""
        self.market.set_around(await self._api.around())

    async def run(self) -> None:
        """Keep looking; what cannot be seen now is seen later."""
        while True:
            await self._habits.sleep(AROUND_SECONDS)
            try:
                await self.look()
                await self.tell_of_ends()
            except CloudError:
                continue

    async def tell_of_ends(self) -> None:
        """Have machines replaced that their cloud would end before long, while there is time to drain them."""
        now = self._habits.now()
        there = {one.provider_id: one for one in await self._api.machines() if objects.is_ours(one)}
        self._told &= there.keys()
        for provider_id, one in there.items():
            leaves = objects.leaves_at(one)
            over = leaves is not None and now >= leaves and objects.is_there(one) and not one.is_deleting
            if over and provider_id not in self._told:
                self._told.add(provider_id)
                for listener in self._listeners:
                    listener(Notice(provider_id, interruption.LIFETIME))

    # ---- buying

    async def launch(self, order: Order) -> Instance:
        claim = order.claim
        held = self.market.held(claim.node_class)
        async with self._turns.of(claim.name):
            missed = self._missed.setdefault(claim.name, {})
            found = await self._of_claim(claim.name)
            while found is None or not objects.is_there(found):
                if found is None:
                    found = await self._made(held, order, missed)
                await self._completed(held, found)
                found = await self._settled(found, missed)
            del self._missed[claim.name]
            kind = order.options[0] if order.options else None
            return replace(objects.instance(found, kind), missed=tuple(missed))

    async def _of_claim(self, claim: str) -> Machine | None:
        return next((one for one in await self._api.machines(objects.mark(claim)) if objects.is_ours(one)), None)

    async def _made(self, held: Held, order: Order, missed: Mapping[Shortage, None]) -> Machine:
        option = next((one for one in order.options if _shortage(one) not in missed), None)
        if option is None:
            raise NoCapacity(f"no zone that would do has a {held.template.wanted.instance_type}", tuple(missed))
        made = await self._api.make_machine(objects.machine(held, order.claim, option))
        if made.meta.annotations.get(objects.CLAIM) != order.claim.name:
            raise CloudError(f"a Machine {made.meta.namespace}/{made.name} is there already and is not the claim's")
        return made

    async def _completed(self, held: Held, machine: Machine) -> None:
        """What the Machine refers to, made by whoever gets so far."""
        if machine.provider_id or machine.failure is not None or machine.is_deleting:
            return
        await self._configured(held, machine)
        await self._api.create(*objects.infra(held, machine))

    async def _configured(self, held: Held, machine: Machine) -> None:
        """What it boots from comes first: a Machine with an instance is never looked at again."""
        ref = held.spec.get("bootstrap", {}).get("configRef")
        if not ref or machine.secret:
            return
        kind = objects.config_kind(ref)
        template = await self._api.get(kind, str(ref.get("name")), held.namespace)
        if template is None:
            raise Misconfigured(f"there is no {kind.name} {held.namespace}/{ref.get('name')}")
        await self._api.create(*objects.config(held, machine, kind, template))

    async def _settled(self, machine: Machine, missed: dict[Shortage, None]) -> Machine | None:
        """The Machine once it has an instance; None once it is gone because it failed."""
        waited = 0.0
        while True:
            if machine.failure is not None:
                await self._given_up(machine, missed)
            elif objects.is_there(machine):
                return machine
            if waited >= self._habits.patience:
                raise Pending(f"Machine {machine.meta.namespace}/{machine.name} has no instance yet")
            found = await self._api.machine(machine.name, machine.meta.namespace)
            if found is None or found.meta.uid != machine.meta.uid:
                return None
            if found != machine:
                machine = found
                continue
            await self._habits.sleep(self._habits.look)
            waited += self._habits.look

    async def _given_up(self, machine: Machine, missed: dict[Shortage, None]) -> None:
        """A Machine without an instance (R14): another zone is tried, if it was for want of capacity. One that had an
        instance and lost it gets no other (R10): the claim is given up, and its Machine goes with it."""
        why = machine.failure
        if machine.provider_id:
            raise NoCapacity(f"the instance {machine.provider_id} was lost before it became a node")
        if not machine.is_deleting:
            await self._api.release(machine)
        if why is not None and why.reason in _CAPACITY:
            missed[_shortage_of(objects.instance(machine))] = None
            return
        if why is not None and why.reason in _FOR_A_PERSON:
            raise Misconfigured(why.message)
        raise CloudError(why.message if why is not None else "")

    # ---- returning

    async def terminate(self, claim: NodeClaim) -> None:
        async with self._turns.of(claim.name):
            found = await self._of_claim(claim.name) or await self._with_id(claim.provider_id)
            if found is None:
                self._missed.pop(claim.name, None)
                raise NotFound(f"there is no Machine for {claim.name}")
            if not found.is_deleting:
                await self._api.release(found)

    async def _with_id(self, provider_id: str) -> Machine | None:
        if not provider_id:
            return None
        ours = (one for one in await self._api.machines() if objects.is_ours(one))
        return next((one for one in ours if one.provider_id == provider_id), None)

    # ---- looking

    async def get(self, provider_id: str) -> Instance:
        found = await self._with_id(provider_id)
        if found is None or not objects.is_there(found):
            raise NotFound(f"there is no Machine with the instance {provider_id}")
        return objects.instance(found)

    async def instances(self) -> tuple[Instance, ...]:
        ours = (one for one in await self._api.machines() if objects.is_ours(one))
        return tuple(objects.instance(one) for one in ours if objects.is_there(one))

    # ---- the rest

    async def drifted(self, claim: NodeClaim) -> str:
        """Templates cannot change, and another template is another node class, which the pool's hash tells of."""
        return ""

    async def reboot(self, claim: NodeClaim, operation: str) -> None:
        found = await self._of_claim(claim.name) or await self._with_id(claim.provider_id)
        if found is None:
            raise NotFound(f"there is no Machine for {claim.name}")
        raise CloudError(f"{MACHINES.name} {found.name} cannot be restarted: machines of Cluster API are replaced")


def _shortage(option: Option) -> Shortage:
    row = option.offering
    return Shortage(option.instance_type.name, row.zone, row.capacity_type)


def _shortage_of(bought: Instance) -> Shortage:
    told = bought.labels
    return Shortage(told.get(labels.INSTANCE_TYPE), told.get(labels.ZONE), told.get(labels.CAPACITY_TYPE))
