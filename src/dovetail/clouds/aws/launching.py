"""Launching: an order goes down its ladder until some fleet sells it a machine.

The same claim is launched once, however often and from wherever it is asked for: within this process by the book of
deals, across processes as `sales` describes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Final

from dovetail.clouds.aws import fleet as fleets
from dovetail.clouds.aws import tags
from dovetail.clouds.aws.addresses import Addresses
from dovetail.clouds.aws.choices import ladder
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.dealing import Deals
from dovetail.clouds.aws.described import Machine, instance_of
from dovetail.clouds.aws.errors import NO_ADDRESSES
from dovetail.clouds.aws.fleet import Fleet, Miss
from dovetail.clouds.aws.instances import Instances
from dovetail.clouds.aws.resolved import ResolvedClass
from dovetail.clouds.aws.sales import Habits, Sale, Sales
from dovetail.clouds.aws.shapes import Shape, Shaper, machine_of
from dovetail.clouds.aws.templates import Templates
from dovetail.clouds.port import CloudError, NoCapacity, NotFound
from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.instances import Instance, Order
from dovetail.core.nodeclaims import NodeClaim

#: A rung is tried again when another subnet may have addresses, or when somebody has deleted its templates.
TRIES: Final = 3
HASH: Final = "karpenter.k8s.aws/ec2nodeclass-hash"
HASH_VERSION: Final = "karpenter.k8s.aws/ec2nodeclass-hash-version"
PROFILE: Final = "karpenter.k8s.aws/instance-profile-name"


def _among_options(order: Order, name: str) -> InstanceType | None:
    return next((one.instance_type for one in order.options if one.instance_type.name == name), None)


@dataclass(frozen=True, slots=True)
class Ties:
    """Whom a launcher knows outside: who hears of every pool that had none, and who knows a type that is no longer
    among an order's options, as happens when a machine is found again after prices have moved."""

    missed: Callable[[Fleet, Miss], None] = lambda fleet, miss: None
    kind_of: Callable[[Order, str], InstanceType | None] = _among_options


class Launcher:
    """Buys machines, one for each claim."""

    def __init__(
        self, aws: Aws, instances: Instances, templates: Templates, habits: Habits, ties: Ties | None = None
    ) -> None:
        self._instances, self._habits, self._ties = instances, habits, ties or Ties()
        self._addresses = Addresses(polled=habits.polled)
        self._shaper = Shaper(habits.cluster, templates, self._addresses)
        self._deals = Deals()
        self._sales = Sales(aws, instances, self._deals, habits)
        self._under_way: dict[str, asyncio.Task[Instance]] = {}

    async def close(self) -> None:
        for one in list(self._under_way.values()):
            one.cancel()
        await self._sales.close()

    def resume(self, claims: Iterable[NodeClaim]) -> None:
        """After a start: every claim there is."""
        self._deals.resume(claims)

    def ended(self, name: str) -> None:
        """The claim's machine is gone, and nobody will ask for it again."""
        self._deals.ended(name)
        self._sales.ended(name)

    def claim_of(self, machine: Machine) -> str:
        """For which claim a machine was bought, as far as anybody knows."""
        return self._deals.claim_of(machine)

    async def settled(self, name: str) -> None:
        """Wait until nothing is being bought for a claim any more, whatever comes of it."""
        task = self._under_way.get(name)
        if task is not None:
            await asyncio.wait([task])

    async def find(self, name: str) -> Machine | None:
        """The machine a claim's order bought, known by the claim's name alone."""
        known = self._deals.of(name)
        return known or self._deals.free_for(name, await self._instances.of_claim(name))

    async def launch(self, order: Order, resolved: ResolvedClass) -> Instance:
        """One machine for the order's claim. Who stops waiting does not stop the purchase: it could not be undone."""
        name = order.claim.name
        task = self._under_way.get(name)
        if task is None:
            task = self._under_way[name] = asyncio.create_task(self._launched(order, resolved), name=f"launch {name}")
            task.add_done_callback(partial(self._over, name))
        return await asyncio.shield(task)

    def _over(self, name: str, task: asyncio.Task[Instance]) -> None:
        self._under_way.pop(name, None)
        # Nobody may be left who wants to know; then the next who asks will hear it.
        if not task.cancelled():
            task.exception()

    # ---- one order

    async def _launched(self, order: Order, resolved: ResolvedClass) -> Instance:
        name = order.claim.name
        known = self._deals.of(name)
        if known is None and self._deals.is_doubtful(name):
            known = await self.find(name)
        if known is not None:
            self._deals.deal(name, known)
            return self._told(known, order, resolved)
        return await self._bought(order, resolved)

    async def _bought(self, order: Order, resolved: ResolvedClass) -> Instance:
        missing: dict[Shortage, None] = {}
        try:
            return await self._climbed(order, resolved, missing)
        except CloudError as failed:
            failed.shortages = tuple({**missing, **dict.fromkeys(failed.shortages)})
            raise

    async def _climbed(self, order: Order, resolved: ResolvedClass, missing: dict[Shortage, None]) -> Instance:
        """Down the ladder of offerings until one is had; what could not be had on the way is added to `missing`."""
        codes: dict[str, None] = {}
        for rung in ladder(order, resolved):
            for _ in range(TRIES):
                shape = await self._shaper.shape(rung, order.claim, resolved)
                if shape is None:
                    codes[NO_ADDRESSES] = None
                    break
                sale = await self._sale(shape, order.claim)
                if sale is None:
                    continue
                codes |= dict.fromkeys(one.code for one in sale.missed)
                if sale.bought is None and self._other_subnet(sale, resolved):
                    continue
                missing |= dict.fromkeys(fleets.shortages(shape.fleet, sale.missed))
                if sale.bought is not None:
                    machine = self._dealt(sale, shape, order.claim)
                    return replace(self._told(machine, order, resolved), missed=tuple(missing))
                break
        raise NoCapacity(_sentence(order, codes), tuple(missing))

    async def _sale(self, shape: Shape, claim: NodeClaim) -> Sale | None:
        """A share of a fleet, None if its templates were gone; they are made again."""
        subnets = (pool.subnet_id for pool in shape.fleet.pools)
        try:
            with self._addresses.on_the_way(subnets, shape.addresses):
                sale = await self._sales.buy(shape.fleet, claim)
        except NotFound as gone:
            if gone.reason != "LaunchTemplateNotFound":
                raise
            self._shaper.forget(shape.fleet)
            return None
        for miss in sale.missed:
            self._ties.missed(shape.fleet, miss)
            if miss.code == NO_ADDRESSES:
                self._addresses.ran_out(miss.pool.subnet_id)
        problem = fleets.refusal(sale.missed)
        if sale.bought is None and problem is not None:
            problem.shortages = tuple(fleets.shortages(shape.fleet, sale.missed))
            raise problem
        return sale

    def _other_subnet(self, sale: Sale, resolved: ResolvedClass) -> bool:
        """Whether a zone that had no addresses has another subnet to try."""
        left = self._addresses.chosen(resolved.subnets)
        return any(miss.code == NO_ADDRESSES and miss.pool.zone in left for miss in sale.missed)

    def _dealt(self, sale: Sale, shape: Shape, claim: NodeClaim) -> Machine:
        bought = sale.bought
        assert bought is not None
        if isinstance(bought, Machine):
            return bought
        told = MappingProxyType({**dict(shape.fleet.tags), tags.NODE_CLAIM: claim.name})
        machine = machine_of(bought, shape, told, self._habits.now())
        self._addresses.took(machine.subnet_id, shape.addresses)
        self._instances.remember(machine)
        self._deals.deal(claim.name, machine)
        return machine

    def _told(self, machine: Machine, order: Order, resolved: ResolvedClass) -> Instance:
        claim, kind = order.claim, self._ties.kind_of(order, machine.instance_type)
        instance = instance_of(machine, kind, claim.requirements, claim.name)
        told = {HASH: resolved.hash, HASH_VERSION: resolved.hash_version, PROFILE: resolved.profile}
        annotations = MappingProxyType({key: value for key, value in told.items() if value})
        return replace(instance, pool=claim.pool or "", annotations=annotations)


def _sentence(order: Order, codes: Iterable[str]) -> str:
    told = ", ".join(codes)
    if not told:
        return "the node class has no subnet, or no image, for any of the offerings that would do"
    return f"none of the {len(order.options)} offerings that would do could be had ({told})"
