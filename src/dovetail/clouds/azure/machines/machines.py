"""Azure behind the port `clouds.machines.Machines`.

An address is made first, then interfaces, then the virtual machine that holds them: who dies in between leaves what
costs nothing or little, has the name the next look will use, and is made again by an order that changes nothing.
The virtual machine is made only where there is none of its name (`If-None-Match: *`), so two that order at once, or a
second process, end with one. Whether there is room for it shows later: until then it is `Underway`, and a machine
there was no room for is removed, so that the next attempt starts from nothing.

A machine that Azure takes away with the policy Delete leaves nothing behind, its interfaces included. They are there
before it is ordered, and that it is ordered is on record; so an order nobody heard of, and no interface, is a machine
that was there and is gone, and is not made again.

Removing goes the other way round. The virtual machine takes its parts along, since each says so (`deleteOption`); what
stays behind all the same, or was made for a machine that never came, is found by its name and removed piece by piece.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Final

from dovetail.clouds.azure import errors
from dovetail.clouds.azure.client import Azure
from dovetail.clouds.azure.machines import ids, keys, places, pulse, states, tags
from dovetail.clouds.azure.machines.bodies import Order, custom_data
from dovetail.clouds.azure.machines.ids import Lies
from dovetail.clouds.azure.machines.leftovers import Leftovers
from dovetail.clouds.azure.machines.places import Clusters, Place
from dovetail.clouds.azure.machines.wishes import wish
from dovetail.clouds.azure.resources import ADDRESS, DISK, EVERY, INTERFACE, PARTS, VIRTUAL_MACHINE, Resource
from dovetail.clouds.machines import Lost, Ordering, Sought, Underway, Undone, Unmarked, UserData, removed, unrecorded
from dovetail.clouds.port import CloudError, Misconfigured, NotFound, Throttled, Unavailable
from dovetail.core.machines.infra_objects import Found, Purchase, Sent, State
from dovetail.core.machines.objects import Address

Wire = dict[str, Any]
#: A part of the network is mostly there at once; it is looked at this often, and waited for so long.
LOOK_SECONDS: Final = 1.0
LOOKS: Final = 5
#: A virtual machine takes longer; nobody waits for it.
UNDERWAY_SECONDS: Final = 5.0
#: What Azure answers to `new` where one of that name is there, or is being made.
_TAKEN: Final = (409, 412)
_ALIVE: Final = (State.PENDING, State.RUNNING, State.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Pace:
    """Where time comes from."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class AzureMachines:
    """Virtual machines of one subscription, one at a time."""

    cloud: str = "azure"

    def __init__(self, azure: Azure, clusters: Clusters, pace: Pace | None = None) -> None:
        self._azure, self._clusters, self._pace = azure, clusters, pace or Pace()
        #: Of machines that were seen alive: they do not change, and asking costs a call.
        self._addresses: dict[str, tuple[Address, ...]] = {}
        self._leftovers = Leftovers(azure)

    # -------------------------------------------------------------------------------------------- making

    async def create(self, purchase: Purchase, boot: UserData, ordering: Ordering = unrecorded) -> Found:
        order = await self._order(purchase)
        custom_data(boot)
        known = await self._known(order)
        if known is None and await self._was_made(order):
            raise Lost(f"virtual machine {order.name} was made and is gone; it is not made again")
        made = known if known is not None else await self._ordered(order, boot, ordering)
        if states.has_failed(made):
            await self._remove(VIRTUAL_MACHINE, order.place.group, order.name)
            raise _for_now(states.problem(made))
        if states.is_undecided(made):
            said = states.provisioning(made)
            told = f"Azure is at virtual machine {order.name}: {said}"
            # What is being removed may be one that failed before, of an order that is over.
            raise Underway(told, UNDERWAY_SECONDS, taken=said != states.DELETING)
        return await self._found(made)

    async def _was_made(self, order: Order) -> bool:
        """Whether there was a machine, of which nothing is left."""
        if order.purchase.sent is not Sent.UNHEARD:
            return order.purchase.sent is Sent.TAKEN
        try:
            await self._azure.get(INTERFACE, order.place.group, ids.interface(order.name, order.token, 0))
        except NotFound:
            return True
        return False

    async def _ordered(self, order: Order, boot: UserData, ordering: Ordering) -> Wire:
        interfaces = await self._network(order)
        body = order.virtual_machine(boot, order.wish.key or keys.nobodys())
        await ordering()
        try:
            made = await self._azure.put(VIRTUAL_MACHINE, order.place.group, order.name, body, new=True)
        except CloudError as refused:
            made = await self._made_meanwhile(order, refused)
        if not order.wish.public:
            # An interface's own answer does not say which public address it has.
            self._addresses[_key(made)] = states.addresses_of(order.name, interfaces)
        return made

    async def _order(self, purchase: Purchase) -> Order:
        if len(purchase.name) > ids.LONGEST_NAME or ids.NAME.fullmatch(purchase.name) is None:
            raise Misconfigured(f"metadata.name: {purchase.name} is no name Azure takes: 64 letters, digits, - and .")
        wanted = wish(purchase.wanted, self._azure.subscription)
        place = await self._place(purchase.namespace, purchase.cluster)
        if place is None:
            raise Unavailable(f"Cluster {purchase.cluster} has no AzureCluster, so nobody knows where to make machines")
        return Order(purchase, wanted, place)

    async def _known(self, order: Order) -> Wire | None:
        """The machine, if it was made before. One of somebody else's is never touched."""
        try:
            found = await self._azure.get(VIRTUAL_MACHINE, order.place.group, order.name)
        except NotFound:
            return None
        if tags.token_in(found.get("tags")) != order.token:
            where = order.place.group
            raise Misconfigured(
                f"metadata.name: resource group {where} has a virtual machine {order.name} of somebody else's"
            )
        return found

    async def _made_meanwhile(self, order: Order, refused: CloudError) -> Wire:
        """Somebody ordered the same at the same time, or Azure took our own order twice; or an attempt that failed left
        disks behind, whose names are taken then."""
        if errors.status_of(refused) not in _TAKEN:
            raise refused
        known = await self._known(order)
        if known is not None:
            return known
        group = order.place.group
        left = await self._leftovers.of(DISK, group, ids.prefix(order.name, order.token))
        for name in left:
            await self._remove(DISK, group, name)
        if left:
            raise Underway(f"Azure is removing disks of virtual machine {order.name} that failed", UNDERWAY_SECONDS)
        raise refused

    async def _network(self, order: Order) -> list[Wire]:
        group = order.place.group
        if order.wish.public:
            await self._made(ADDRESS, group, ids.address(order.name, order.token), order.address())
        return [await self._made(INTERFACE, group, name, body) for name, body in order.interfaces()]

    async def _made(self, kind: Resource, group: str, name: str, body: Wire) -> Wire:
        """Ordered again and again it is the same; returns when it can be used."""
        one = await self._azure.put(kind, group, name, body)
        for _ in range(LOOKS):
            said = states.provisioning(one)
            if said == states.SUCCEEDED:
                return one
            if said == states.FAILED:
                raise Unavailable(f"Azure failed to make {kind.noun} {name}; it is ordered again")
            await self._pace.sleep(LOOK_SECONDS)
            one = await self._azure.get(kind, group, name)
        raise Underway(f"Azure is making {kind.noun} {name}", UNDERWAY_SECONDS)

    # -------------------------------------------------------------------------------------------- looking

    async def find(self, sought: Sought) -> Found:
        """Without an id on record, one that may still be refused is not told of: `create` hears how it went."""
        vm = await self._held(sought, await self._where(sought))
        if not sought.provider_id and (states.is_undecided(vm) or states.has_failed(vm)):
            raise NotFound(f"virtual machine {sought.name} is {states.provisioning(vm)}, and may never be")
        return await self._found(vm)

    async def instances(self, cluster: str) -> tuple[Found, ...]:
        """Whether each of them runs is not said in a list."""
        listed = await self._azure.all(VIRTUAL_MACHINE)
        mine = (one for one in listed if tags.is_of(one.get("tags"), cluster))
        return tuple(states.found(one, self._azure.subscription) for one in mine)

    async def roll_call(self, fleet: Collection[Sought]) -> frozenset[str]:
        alive = await pulse.running(self._azure)
        return frozenset(one.provider_id for one in fleet if ids.resource_id(one.provider_id).lower() in alive)

    async def _held(self, sought: Sought, where: Lies) -> Wire:
        """The virtual machine. Azure calls machines by their names, so one that has ours may be another's."""
        found = await self._azure.get(VIRTUAL_MACHINE, where.group, where.name)
        held = found.get("tags")
        token, owned = tags.token_in(held), tags.is_owned(held, sought.cluster)
        # An id is only what somebody wrote. One without a token was made by another provider, for this cluster. An
        # object that was moved or restored has another uid, and so another token, but its name and namespace still.
        moved = (where.name, tags.namespace_in(held)) == (sought.name, sought.namespace)
        if token == sought.token or (sought.provider_id and owned and (not token or moved)):
            return found
        if sought.provider_id and not tags.is_others(held, sought.cluster):
            mark = f"the tag {tags.cluster_tag(sought.cluster)}={tags.OWNED}"
            raise Unmarked(sought, mark if sought.cluster else None)
        raise NotFound(f"virtual machine {where.name} in resource group {where.group} is somebody else's")

    async def _where(self, sought: Sought) -> Lies:
        if sought.provider_id:
            return ids.of_provider_id(sought.provider_id, self._azure.subscription)
        place = await self._place(sought.namespace, sought.cluster)
        if place is not None:
            return Lies(place.group, sought.name)
        return await self._anywhere(sought, (VIRTUAL_MACHINE,))

    async def _anywhere(self, sought: Sought, kinds: tuple[Resource, ...]) -> Lies:
        """Its cluster is gone, or was never known: whatever carries its token will do."""
        for kind in kinds:
            for one in await self._azure.all(kind):
                if tags.token_in(one.get("tags")) == sought.token or _is_part(one, sought):
                    return Lies(ids.group_of(str(one.get("id", ""))), sought.name)
        raise NotFound(f"nothing in the subscription was made for {sought.name}")

    async def _place(self, namespace: str, cluster: str) -> Place | None:
        spec = await self._clusters(namespace, cluster) if cluster else None
        return places.place(spec, cluster, self._azure.subscription) if spec is not None else None

    async def _found(self, vm: Wire) -> Found:
        found = states.found(vm, self._azure.subscription)
        if found.state not in _ALIVE:
            self._addresses.pop(_key(vm), None)
            return found
        held = self._addresses.get(_key(vm)) or await self._asked_addresses(vm)
        return states.found(vm, self._azure.subscription, held)

    async def _asked_addresses(self, vm: Wire) -> tuple[Address, ...]:
        """A machine without an interface, as one that is just going may be, has no addresses."""
        interfaces = []
        for one in states.interface_ids(vm):
            try:
                interfaces.append(await self._azure.get(INTERFACE, ids.group_of(one), one.rpartition("/")[2]))
            except NotFound:
                continue
        found = states.addresses_of(str(vm.get("name", "")), interfaces)
        if found:
            self._addresses[_key(vm)] = found
        return found

    # -------------------------------------------------------------------------------------------- removing

    async def delete(self, sought: Sought) -> None:
        await removed(self._removed, sought)

    async def _removed(self, sought: Sought) -> None:
        """An id is only what somebody wrote: one that is none of ours, or of nothing, must not keep what was made from
        being removed. That is known by its name and its token."""
        id_, subscription = sought.provider_id, self._azure.subscription
        foreign = ids.is_foreign(id_, subscription)
        written = ids.of_provider_id(id_, subscription) if ids.is_readable(id_) and not foreign else None
        if written is not None and await self._is_going(sought, written):
            return
        own = replace(sought, provider_id="")
        where = await self._made_at(own)
        if where is not None and not where.is_at(written) and await self._is_going(own, where):
            return
        groups = {one.group.lower(): one.group for one in (written, where) if one is not None}
        for group in groups.values():
            if await self._is_part_left(group, own):
                return
        if foreign:
            ids.of_provider_id(id_, subscription)
        raise NotFound(f"nothing is left of {sought.name}")

    async def _made_at(self, sought: Sought) -> Lies | None:
        """Where what was made for it lies, whatever its id says, and even if its cluster cannot be read any more."""
        try:
            place = await self._place(sought.namespace, sought.cluster)
        except Misconfigured:
            place = None
        if place is not None:
            return Lies(place.group, sought.name)
        try:
            return await self._anywhere(sought, EVERY)
        except NotFound:
            return None

    async def _is_going(self, sought: Sought, where: Lies) -> bool:
        """Whether there was a virtual machine, which is told to go now."""
        try:
            vm = await self._held(sought, where)
        except NotFound:
            return False
        self._addresses.pop(_key(vm), None)
        if states.provisioning(vm) != states.DELETING:
            await self._remove(VIRTUAL_MACHINE, where.group, where.name)
        return True

    async def _is_part_left(self, group: str, sought: Sought) -> bool:
        """What is left without its machine is removed; an address goes after the interface that holds it. In a group
        that is not there nothing is."""
        left = 0
        for kind in PARTS:
            if kind is ADDRESS and left:
                break
            try:
                names = await self._leftovers.of(kind, group, ids.prefix(sought.name, sought.token))
            except NotFound:
                return False
            for name in names:
                left += 1
                await self._remove(kind, group, name)
        return left > 0

    async def _remove(self, kind: Resource, group: str, name: str) -> None:
        """One that is held will be let go, and is asked about again; one that is gone is what was wanted."""
        try:
            await self._azure.delete(kind, group, name)
        except NotFound:
            return
        except CloudError as refused:
            if errors.code_of(refused) not in errors.HELD:
                raise


def _for_now(problem: CloudError) -> CloudError:
    """Why a machine failed that was removed for it; for a reason that passes, another may be ordered."""
    return Undone(str(problem)) if isinstance(problem, Unavailable | Throttled) else problem


def _is_part(one: Wire, sought: Sought) -> bool:
    return str(one.get("name", "")).startswith(ids.prefix(sought.name, sought.token))


def _key(vm: Wire) -> str:
    return str(vm.get("id", "")).lower()
