"""The simulated cloud: a market with stock whose machines are Node objects, so that they outlive this process.

Where what is remembered, so that dying at any moment loses no machine and buys none twice:

    the machine            its Node, named after the claim: writing it twice finds the first
    a machine that joins   its claim: labels say what was bought, the annotation `joins-at` says when the Node is due.
      later                Whoever starts next makes the promise again from there (`resume`); a process that died before
                           the claim was written had bought nothing that anybody could see
    what is sold           Nodes and claims again: the market's ledger is settled from them at the start
    a machine returned     nowhere: forgetting it makes the machine live a little longer, until it is returned again

A Node that is being deleted is a machine that drains; the machine is gone once it was returned (`terminate`), and its
Node goes when whoever put a finalizer on it lets it.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.clouds.kwok.labels import RESERVATION_ID
from dovetail.clouds.port import CloudError, Listener, NoCapacity, NotFound, Notice, RepairPolicy, Unavailable
from dovetail.clouds.sim import nodes
from dovetail.clouds.sim.classes import SimClasses
from dovetail.clouds.sim.market import Sale, SimMarket
from dovetail.clouds.sim.nodes import Body
from dovetail.clouds.sim.turns import Turns
from dovetail.core import labels
from dovetail.core.catalog.offerings import OfferingKey
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.instances import Instance, Option, Order
from dovetail.core.nodeclaims import REGISTERED, NodeClaim, NodeObject
from dovetail.core.nodepools import NodeClassRef

PARTITION: Final = "a"
#: A Node that could not be written down when it should join is tried again after this long.
REJOIN_SECONDS: Final = 1.0
#: `spec/newest` §10: two of them are faults that tests put on a Node.
POLICIES: Final = (
    RepairPolicy("Ready", "False", 600.0, "", 0.0),
    RepairPolicy("Ready", "Unknown", 600.0, ".*", 0.0),
    RepairPolicy("KWOKUnhealthy", "True", 30.0, ".*", 45.0),
    RepairPolicy("KWOKRebootRequired", "True", 30.0, ".*", 60.0, action="RebootNode"),
)
_CHOSEN: Final = (labels.INSTANCE_TYPE, labels.ZONE, labels.CAPACITY_TYPE)


class NodeApi(Protocol):
    """Where machines are kept: the cluster's own API server. Its troubles are `CloudError`s."""

    async def create(self, body: Body) -> NodeObject:
        """Make a Node, or return the one of that name that is there."""

    async def get(self, name: str) -> NodeObject | None: ...

    async def all(self) -> tuple[NodeObject, ...]: ...

    async def delete(self, name: str, uid: str) -> None:
        """A Node that is gone already is no trouble."""

    async def set_boot_id(self, name: str, boot_id: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Habits:
    """How this cloud goes about things. `shutdown` is how many seconds a machine takes to go."""

    partition: str = PARTITION
    shutdown: float = 0.0
    now: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(slots=True)
class _Promise:
    """A machine whose Node is not there yet; without a task it never will be."""

    machine: Instance
    joins: asyncio.Task[None] | None = None


class SimCloud:
    """`clouds.port.Cloud` over a `SimMarket`."""

    name = "kwok"
    node_class_kinds: tuple[Kind, ...] = (kinds.KWOK_NODE_CLASSES,)
    node_classes: None = None
    repair_policies = POLICIES

    def __init__(self, market: SimMarket, api: NodeApi, habits: Habits | None = None) -> None:
        self.market = market
        self._api, self._habits = api, habits or Habits()
        self._classes = SimClasses()
        self._turns = Turns()
        self._promised: dict[str, _Promise] = {}
        self._held_back: dict[str, float] = {}
        self._gone_at: dict[str, float] = {}
        self._listeners: list[Listener] = []

    # ---- what it is told

    def set_node_class(self, ref: NodeClassRef, wire: Mapping[str, object] | None) -> None:
        self._classes.put(ref, wire)

    def resume(self, claims: Iterable[NodeClaim]) -> None:
        """What is sold, from the claims that hold it, and the promises that nobody is left to keep."""
        ours = [one for one in claims if one.provider_id.startswith(nodes.PREFIX)]
        sales = ((nodes.name_of(one), nodes.sale_of(one.meta)) for one in ours)
        self.market.settle({name: sale for name, sale in sales if sale is not None})
        for claim in ours:
            at = nodes.joins_at(claim)
            if at is not None and not claim.is_true(REGISTERED) and not claim.is_deleting:
                self._promise(claim, nodes.promised(claim), at)

    def hold_back(self, claim: str, seconds: float) -> None:
        """For whoever wants trouble: the machine of this claim will join so much later, or never (infinity)."""
        self._held_back[claim] = seconds

    def on_notice(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def interrupt(self, provider_id: str, seconds: float = 120.0) -> None:
        """Tell that a machine will be taken away."""
        notice = Notice(provider_id, ends=self._habits.now() + seconds)
        for listener in self._listeners:
            listener(notice)

    # ---- buying

    async def launch(self, order: Order) -> Instance:
        claim = order.claim
        delay = self._classes.delay(claim.node_class) + self._held_back.get(claim.name, 0.0)
        async with self._turns.of(claim.name):
            promise = self._promised.get(claim.name)
            if promise is not None:
                return promise.machine
            # A first order is not looked for: writing its Node down finds what is there.
            again = delay > 0 or claim.name in self.market.ledger
            known = await self._known(claim.name) if again else None
            return known or await self._bought(order, delay)

    async def _known(self, name: str) -> Instance | None:
        """The machine that was bought before, by us or by somebody who died; never a Node that only has its name."""
        node = await self._api.get(name)
        return None if node is None else self._recognised(node, name)

    def _recognised(self, node: NodeObject, name: str) -> Instance:
        if node.provider_id != f"{nodes.PREFIX}{name}":
            raise CloudError(
                f"a Node named {name} is there already and is no machine of this cloud; delete one of them"
            )
        sale = nodes.sale_of(node.meta)
        if sale is not None:
            self.market.hold(name, sale)
        return nodes.instance_of(node, name in self._gone_at)

    async def _bought(self, order: Order, delay: float) -> Instance:
        claim, now = order.claim, self._habits.now()
        chosen = self._chosen(order)
        if not isinstance(chosen, _Chosen):
            known = await self._known(claim.name)
            if known is not None:
                return known
            raise NoCapacity(_sentence(len(order.options), len(chosen)), chosen)
        machine = nodes.bought(chosen.option, claim, chosen.sale, self._habits.partition, now)
        if delay > 0:
            return replace(self._promise(claim, machine, nodes.joins_at(claim) or now + delay), missed=chosen.missed)
        return replace(await self._written(claim, machine), missed=chosen.missed)

    async def _written(self, claim: NodeClaim, machine: Instance) -> Instance:
        """Its Node, or the one that was there first. A sale nobody can be sure of is undone: if the Node is there
        after all, it is recognised, and counted, when the same order comes again."""
        try:
            node = await self._made(claim, machine)
        except BaseException:
            self.market.give_back(claim.name)
            raise
        if nodes.sale_of(node.meta) != _unpriced(self.market.ledger.get(claim.name)):
            self.market.give_back(claim.name)
        return self._recognised(node, claim.name)

    async def _made(self, claim: NodeClaim, machine: Instance) -> NodeObject:
        """Its Node. One that had the name before it may be gone: this one is not."""
        node = await self._api.create(nodes.body(machine, claim))
        if not node.is_deleting:
            self._gone_at.pop(node.name, None)
        return node

    def _chosen(self, order: Order) -> _Chosen | tuple[Shortage, ...]:
        """The first option that is not sold out, or all that is missing."""
        missing: dict[Shortage, None] = {}
        self.market.give_back(order.claim.name)
        for option in _agreeing(order):
            row = option.offering
            key = OfferingKey(option.instance_type.name, row.zone, row.capacity_type)
            for reservation in _reservations(option, order.claim):
                got = self.market.sell(key, reservation, order.claim.name)
                if isinstance(got, Sale):
                    return _Chosen(option, got, tuple(missing))
                missing[got] = None
        self.market.missed()
        return tuple(missing)

    # ---- joining

    def _promise(self, claim: NodeClaim, machine: Instance, at: float) -> Instance:
        name = machine.provider_id.removeprefix(nodes.PREFIX)
        if math.isinf(at):
            self._promised[name] = _Promise(machine)
            return machine
        dated = nodes.joining(machine, at)
        joins = asyncio.get_running_loop().create_task(self._join(claim, machine, at), name=f"{name} joins")
        self._promised[name] = _Promise(dated, joins)
        return dated

    async def _join(self, claim: NodeClaim, machine: Instance, at: float) -> None:
        name = machine.provider_id.removeprefix(nodes.PREFIX)
        while True:
            await self._habits.sleep(max(0.0, at - self._habits.now()))
            async with self._turns.of(name):
                try:
                    await self._made(claim, machine)
                    del self._promised[name]
                    return
                except CloudError:
                    at = self._habits.now() + REJOIN_SECONDS

    # ---- returning

    async def terminate(self, claim: NodeClaim) -> None:
        name = nodes.name_of(claim)
        async with self._turns.of(name):
            promise = self._promised.pop(name, None)
            if promise is not None and promise.joins is not None:
                promise.joins.cancel()
            node = await self._api.get(name)
            if node is None or node.provider_id != f"{nodes.PREFIX}{name}":
                self._forget(name)
                raise NotFound(f"there is no machine {name}")
            if not node.is_deleting:
                await self._api.delete(name, node.meta.uid)
            self.market.give_back(name)
            now = self._habits.now()
            if now >= self._gone_at.setdefault(name, now + self._habits.shutdown):
                raise NotFound(f"the machine {name} is gone")

    def _forget(self, name: str) -> None:
        self._held_back.pop(name, None)
        self._gone_at.pop(name, None)
        self.market.give_back(name)

    # ---- looking

    async def get(self, provider_id: str) -> Instance:
        name = provider_id.removeprefix(nodes.PREFIX)
        promise = self._promised.get(name)
        if promise is not None:
            return promise.machine
        node = await self._api.get(name)
        if node is None or node.provider_id != provider_id or self._is_gone(name):
            raise NotFound(f"there is no machine {name}")
        return nodes.instance_of(node, name in self._gone_at)

    async def instances(self) -> tuple[Instance, ...]:
        found = [one for one in await self._api.all() if one.provider_id == f"{nodes.PREFIX}{one.name}"]
        names = {one.name for one in found}
        for name in [one for one in self._gone_at if one not in names]:
            self._forget(name)
        held = [nodes.instance_of(one, one.name in self._gone_at) for one in found if not self._is_gone(one.name)]
        return (*held, *(one.machine for name, one in self._promised.items() if name not in names))

    def _is_gone(self, name: str) -> bool:
        return self._habits.now() >= self._gone_at.get(name, math.inf)

    # ---- the rest

    async def drifted(self, claim: NodeClaim) -> str:
        return ""

    async def reboot(self, claim: NodeClaim, operation: str) -> None:
        name, boot_id = nodes.name_of(claim), f"kwok-{operation}"
        if name in self._promised:
            raise Unavailable(f"the machine {name} has not joined yet")
        node = await self._api.get(name)
        if node is None or node.provider_id != f"{nodes.PREFIX}{name}" or self._is_gone(name):
            raise NotFound(f"there is no machine {name}")
        if node.boot_id != boot_id:
            await self._api.set_boot_id(name, boot_id)


@dataclass(frozen=True, slots=True)
class _Chosen:
    option: Option
    sale: Sale
    missed: tuple[Shortage, ...]


def _agreeing(order: Order) -> Iterator[Option]:
    """The options that agree with what the claim's labels say was chosen: someone may have died after writing those
    and before writing that it was launched, and labels, once written, stay."""
    told = order.claim.meta.labels
    chosen = {key: told[key] for key in _CHOSEN if key in told}
    for option in order.options:
        row = option.offering
        has = {labels.INSTANCE_TYPE: option.instance_type.name, labels.ZONE: row.zone}
        has[labels.CAPACITY_TYPE] = row.capacity_type
        if all(has[key] in (None, value) for key, value in chosen.items()):
            yield option


def _reservations(option: Option, claim: NodeClaim) -> tuple[str | None, ...]:
    """Which reservations to ask for, roomiest first; None leaves it to the market."""
    if option.offering.capacity_type != labels.RESERVED:
        return (None,)
    told = claim.meta.labels.get(RESERVATION_ID)
    keys = [one.key for one in option.offering.requirements if one.key.endswith(nodes.RESERVATION_SUFFIX)]
    wishes = [wish for key in keys if (wish := claim.requirements.get(key)) is not None]
    if told is None and not wishes:
        return (None,)
    held = sorted(option.offering.reservations, key=lambda one: (-one.available, one.id))
    fitting = (one.id for one in held if told in (None, one.id))
    return tuple(one for one in fitting if all(wish.admits(one) for wish in wishes))


def _unpriced(sale: Sale | None) -> Sale | None:
    return None if sale is None else replace(sale, price=None)


def _sentence(options: int, missing: int) -> str:
    if not missing:
        return "none of the offerings agrees with the labels that the claim was given when it was launched before"
    return f"all {options} offerings that would do are sold out"
