"""AWS as a `clouds.port.Cloud`: everything in this room, joined.

    order ─▶ launching ─▶ CreateFleet          what could not be had ─▶ market (subnets), counts (reservations), ears
    class ─▶ nodeclass ─▶ selling ─▶ market     DescribeInstances ─▶ drift, garbage collection

`run` is what goes on beside that for as long as the cloud is in use: prices and types kept up to date, launch templates
nobody uses swept, interruptions heard. Without it everything works, and slowly grows old.

Where what is remembered, so that dying at any moment loses no machine and buys none twice: a machine's tags say for
which claims it was bought, a client token makes the same purchase the same fleet (`sales`), and the claim has its
machine's id once that is written. Nothing else needs to outlive the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.clouds.aws import drift, repairs, tags
from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.described import Machine, id_of, instance_of
from dovetail.clouds.aws.discovery import Discovery
from dovetail.clouds.aws.discovery import Habits as Asking
from dovetail.clouds.aws.errors import NO_ADDRESSES, RESERVATION_FULL, unavailable
from dovetail.clouds.aws.fleet import Fleet
from dovetail.clouds.aws.fleet import Miss as FleetMiss
from dovetail.clouds.aws.instances import YOUNG_SECONDS, Instances
from dovetail.clouds.aws.interruption import Habits as Listening
from dovetail.clouds.aws.interruption import Interruptions
from dovetail.clouds.aws.launching import Launcher, Ties
from dovetail.clouds.aws.market import AwsMarket, Defaults
from dovetail.clouds.aws.nodeclass import Kit, Resolver
from dovetail.clouds.aws.options import Deaf, Ears, Habits, Miss, Options
from dovetail.clouds.aws.partitions import Partitions
from dovetail.clouds.aws.region import Region
from dovetail.clouds.aws.reservation_counts import Counts
from dovetail.clouds.aws.resolved import PlacementGroup
from dovetail.clouds.aws.sales import Habits as Buying
from dovetail.clouds.aws.selling import SellingClasses
from dovetail.clouds.aws.shifts import Change, Shifts, zone_of
from dovetail.clouds.aws.templates import Templates
from dovetail.clouds.aws.upkeep import Habits as Tending
from dovetail.clouds.aws.upkeep import Upkeep
from dovetail.clouds.port import CloudError, Listener, NotFound, Notice, Unavailable
from dovetail.core import conditions
from dovetail.core.catalog.offerings import InstanceType, instance_type
from dovetail.core.instances import Instance, Order
from dovetail.core.nodeclaims import LAUNCHED, NodeClaim
from dovetail.core.nodepools import NodeClassRef, NodePool

GONE: Final = "terminated"
#: The word for the `Launched` condition of a claim for which no type is known.
NO_TYPES: Final = "InstanceTypeResolutionFailed"
#: How often unused launch templates are looked for.
SWEEP_SECONDS: Final = 300.0
#: For so long what a look at all machines showed is good enough to judge drift by: none of it changes by itself.
LOOKED_SECONDS: Final = 300.0
_log: Final = logging.getLogger(__name__)


class AwsCloud:
    """One account and region, seen by one cluster."""

    name = "aws"
    node_class_kinds: tuple[Kind, ...] = (kinds.EC2_NODE_CLASSES,)

    def __init__(
        self, aws: Aws, region: Region, options: Options, habits: Habits | None = None, ears: Ears | None = None
    ) -> None:
        self._aws, self._options = aws, options
        self._habits, self._ears = habits or Habits(), ears or Deaf()
        now, cluster = self._habits.now, options.home.name
        self.repair_policies = repairs.policies(options.reboots)
        self.counts = Counts()
        self.market = AwsMarket(region, self.counts, Defaults(options.rules, now))
        self.discovery = Discovery(aws, self.market, Asking(options.isolated, now=now, sleep=self._habits.sleep))
        self._instances = Instances(aws, cluster, self._habits.windows, self._ears.batched, now)
        self._templates = Templates(aws, cluster, now)
        self._launcher = self._made_launcher()
        kit = Kit(
            *(aws, self._templates, options.home, options.kubernetes, self.counts, now),
            probes=options.probes,
            read_only=options.read_only,
            isolated=options.isolated,
            reserved=options.reserved,
            name_server=options.name_server,
            standing=self.discovery.standing,
            intervals=options.intervals,
            sample=self.market.sample,
            formulas=options.formulas,
            unworkable=self.market.unworkable,
        )
        self.node_classes = SellingClasses(Resolver(kit), self.market, options.reserved)
        self.shifts = Shifts(aws, cluster, now)
        tending = Tending(self._ears.unhealthy, options.read_only, now, self._habits.sleep, self.shifts.hide)
        self.keeper = Upkeep(aws, self._instances, cluster, tending)
        self.hooks = (Partitions(self._instances, self._group_of),)
        self._listeners: list[Listener] = []
        self._resumed = asyncio.Event()
        self._shift_listeners: list[Callable[[Change], None]] = []
        self._counted: set[str] = set()
        self._ending: dict[str, Machine] = {}
        self._restarted: dict[str, str] = {}
        self._looked: dict[str, Machine] = {}
        self._looked_at = float("-inf")
        #: The provider ids of machines of this cluster that anybody has heard of, by instance id.
        self._ours: dict[str, str] = {}

    def _made_launcher(self) -> Launcher:
        habits, ears = self._habits, self._ears
        buying = Buying(
            self._options.home.name,
            habits.fleets,
            habits.now,
            lambda size, seconds: ears.batched("create_fleet", size, seconds),
            self._options.intervals.subnets,
        )
        return Launcher(self._aws, self._instances, self._templates, buying, Ties(self._missed, self._kind_of))

    # ---- as long as it is in use

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number, loop in enumerate(self._background()):
                group.create_task(loop, name=f"aws background {number}")

    async def close(self) -> None:
        await self._launcher.close()
        await self._instances.close()

    def _background(self) -> Iterable[Coroutine[Any, Any, None]]:
        """Everything that goes on by itself."""
        yield self.discovery.run()
        if self._options.zonal_shift:
            yield self._followed()
        if self._options.read_only:
            return
        yield self._swept()
        if self._options.queue:
            yield self._listened()

    async def _listened(self) -> None:
        """From when on it is known whose the machines are: of a message about nobody's nothing is left to read later,
        and after a change of leaders many may be waiting."""
        await self._resumed.wait()
        await self._interruptions().run()

    def _interruptions(self) -> Interruptions:
        habits = Listening(self._ears.interruptions, self._habits.now, self._habits.sleep)
        return Interruptions(self._aws, self._options.queue, self.tell, self.provider_id, habits)

    async def _followed(self) -> None:
        await self.shifts.follow(lambda: self.market.region.zones, self._shifted, self._habits.sleep)

    async def _swept(self) -> None:
        """Templates of processes that are no more are known after the first look, and go when nobody uses them."""
        adopted = False
        while True:
            try:
                if not adopted:
                    await self._templates.adopt()
                    adopted = True
                await self._templates.sweep()
            except CloudError as failed:
                _log.warning("unused launch templates stay for now: %s", failed)
            await self._habits.sleep(SWEEP_SECONDS)

    # ---- what it is told

    def set_node_class(self, ref: NodeClassRef, wire: Mapping[str, object] | None) -> None:
        self.node_classes.note(ref, wire)

    def resume(self, claims: Iterable[NodeClaim]) -> None:
        held = tuple(claims)
        self._launcher.resume(held)
        for one in held:
            self._remember(one.provider_id)
        self._resumed.set()

    def _remember(self, provider_id: str) -> None:
        with contextlib.suppress(NotFound):
            self._ours[id_of(provider_id)] = provider_id

    def on_notice(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def on_shift(self, listener: Callable[[Change], None]) -> None:
        self._shift_listeners.append(listener)

    def _shifted(self, changes: Iterable[Change]) -> None:
        self.market.set_shifted(self.shifts.zones)
        for change in changes:
            for listener in self._shift_listeners:
                listener(change)

    def tell(self, notice: Notice) -> Awaitable[object] | None:
        """A machine will be taken away. What is returned is over when everybody has acted upon it."""
        acts = [act for listener in self._listeners if (act := listener(notice)) is not None]
        return asyncio.gather(*acts) if acts else None

    # ---- buying

    async def launch(self, order: Order) -> Instance:
        resolved = self.node_classes.resolver.resolved(order.claim.node_class)
        if not order.options:
            self._check_types()
        instance = await self._launcher.launch(order, resolved)
        self._remember(instance.provider_id)
        held = instance.labels.get(aws_labels.RESERVATION_ID)
        if held and order.claim.name not in self._counted:
            self._counted.add(order.claim.name)
            self.counts.launched(held, instance.created)
        return instance

    def _check_types(self) -> None:
        """Where no type is known nothing is sold out: it is not known what there is."""
        region = self.market.region
        if region.types and region.listing.offerings:
            return
        told = f"no instance types, or none in any zone, are known of {region.name}; they are asked for again"
        raise unavailable(told, NO_TYPES)

    def _missed(self, fleet: Fleet, miss: FleetMiss) -> None:
        pool = miss.pool
        if miss.code == NO_ADDRESSES:
            self.market.mark_subnet(pool.subnet_id)
        if miss.code == RESERVATION_FULL and pool.reservation_id:
            self.counts.exhausted(pool.reservation_id, self._habits.now())
        self._ears.missed(Miss(pool.zone, self._zone_id(pool.zone), fleet.capacity_type, miss.code))

    def _zone_id(self, name: str) -> str:
        return next((one.zone_id for one in self.market.region.zones if one.zone_name == name), "")

    def _kind_of(self, order: Order, name: str) -> InstanceType | None:
        among = (one.instance_type for one in order.options if one.instance_type.name == name)
        pool = order.pool or NodePool(order.claim.pool or "", order.claim.node_class)
        return next(among, None) or self._sold(pool, name)

    def _group_of(self, ref: NodeClassRef) -> PlacementGroup | None:
        try:
            return self.node_classes.resolver.resolved(ref).placement_group
        except CloudError:
            return None

    def _sold(self, pool: NodePool, name: str) -> InstanceType | None:
        """A type as a pool sees it, None for one nobody has heard of."""
        spec = self.market.specs(pool).get(name)
        return None if spec is None else instance_type(spec, self.market.offerings(pool).get(name, ()))

    # ---- returning

    async def terminate(self, claim: NodeClaim) -> None:
        self.shifts.spare(claim.provider_id, f"ending {claim.name}")
        await self._launcher.settled(claim.name)
        try:
            await self._told_to_go(claim)
        except NotFound:
            self._ended(claim)
            raise
        except CloudError:
            zone = zone_of(claim.provider_id)
            self._ears.kept(zone, self._zone_id(zone))
            raise

    async def _told_to_go(self, claim: NodeClaim) -> None:
        instance_id = await self._id(claim)
        try:
            machine = await self._instances.get(instance_id)
        except NotFound:
            if not self._is_young(claim):
                raise
            machine = None
        if machine is not None:
            self._ending[claim.name] = machine
            if machine.is_leaving:
                return
        if await self._end(instance_id, machine) == GONE:
            raise NotFound(f"the instance {instance_id} of {claim.name} is gone")

    async def _end(self, instance_id: str, seen: Machine | None) -> str:
        try:
            return await self._instances.terminate(instance_id)
        except NotFound:
            if seen is None:
                told = f"EC2 does not know yet of {instance_id}, which it sold a moment ago; it is asked again"
                raise Unavailable(told) from None
            raise

    async def _id(self, claim: NodeClaim) -> str:
        """The machine a claim has, is losing, or may have got without being told."""
        if claim.provider_id:
            return id_of(claim.provider_id)
        known = self._ending.get(claim.name) or await self._launcher.find(claim.name)
        if known is None:
            raise NotFound(f"nothing was bought for {claim.name}")
        return known.id

    def _is_young(self, claim: NodeClaim) -> bool:
        """Whether EC2's describes may not know its machine yet: they are behind, also with what others bought."""
        launched = conditions.found(claim.conditions, LAUNCHED)
        since = launched.since if launched is not None else claim.meta.created
        return bool(claim.provider_id) and self._habits.now() - since < YOUNG_SECONDS

    def _ended(self, claim: NodeClaim) -> None:
        """Its machine is gone; what it had reserved is free again, once."""
        machine = self._ending.pop(claim.name, None)
        if machine is not None:
            self._restarted.pop(machine.id, None)
            self._ours.pop(machine.id, None)
            if machine.reservation_id:
                self.counts.ended(machine.reservation_id, self._habits.now())
        self._counted.discard(claim.name)
        self._launcher.ended(claim.name)

    # ---- looking

    async def get(self, provider_id: str) -> Instance:
        name = id_of(provider_id)
        known = self._looked.get(name) if self.shifts.hide(provider_id) else None
        return self._instance(known or await self._instances.get(name))

    async def instances(self) -> tuple[Instance, ...]:
        hidden = {one.id: one for one in self._looked.values() if self.shifts.hide(one.provider_id)}
        found = hidden | {one.id: one for one in await self._instances.ours() if one.id not in hidden}
        self._looked, self._looked_at = found, self._habits.now()
        self._ours |= {one.id: one.provider_id for one in found.values()}
        return tuple(map(self._instance, found.values()))

    def provider_id(self, instance_id: str) -> str | None:
        """Of a machine of this cluster that anybody has heard of."""
        return self._ours.get(instance_id)

    def _instance(self, machine: Machine) -> Instance:
        return instance_of(machine, self._kind(machine), claim=self._launcher.claim_of(machine))

    def _kind(self, machine: Machine) -> InstanceType | None:
        kind = kinds.EC2_NODE_CLASSES
        ref = NodeClassRef(kind.group, kind.name, machine.tags.get(tags.NODE_CLASS, ""))
        return self._sold(NodePool(machine.pool, ref), machine.instance_type)

    # ---- the rest

    async def drifted(self, claim: NodeClaim) -> str:
        resolved = self.node_classes.resolver.resolved(claim.node_class)
        instance_id = id_of(claim.provider_id)
        fresh = self._habits.now() - self._looked_at < LOOKED_SECONDS
        known = self._looked.get(instance_id) if fresh else None
        machine = known or await self._instances.get(instance_id)
        found = drift.drifted(claim, machine, resolved, self._kind(machine))
        if known is not None and found == drift.RESERVATION:
            # A reservation that has ended leaves its machine on demand; the last look may be older than that.
            machine = await self._instances.get(instance_id)
            found = drift.drifted(claim, machine, resolved, self._kind(machine))
        return found

    async def reboot(self, claim: NodeClaim, operation: str) -> None:
        """EC2 has no tokens for this, so the machine itself remembers: whoever dies in between restarts it again."""
        machine = await self._instances.get(await self._id(claim))
        if operation in (machine.tags.get(tags.RESTARTED), self._restarted.get(machine.id)):
            return
        await self._instances.reboot(machine.id)
        self._restarted[machine.id] = operation
        await self._instances.tag(machine.id, {tags.RESTARTED: operation})
