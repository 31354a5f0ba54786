"""Compute Engine behind the port of single instances.

Making one is an operation that takes a while and may fail late, for want of capacity most of all. So nobody waits for
it: an order that is not done within a moment is `Underway`, and the next call with the same token finds the same
operation by its request id and hears how it went. Until then an instance that is only being provisioned is not told of
to whoever has no id on record: it may still be refused, and an id on record would make that a machine that was lost.

An operation that failed answers for its request id for an hour, so each attempt has an id of its own. Refusals for want
of capacity are counted on the object, and so survive this process; faults that pass are counted here, and a process
that starts anew hears of the last one once more. The name keeps a zone from having two of an instance all the same.

So an order nobody heard of is sent again, and Compute Engine says what became of the first: one that is done, and whose
instance is not there, was made and taken away, and is not made again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Final

from dovetail.clouds.gcp.client import Gcp
from dovetail.clouds.gcp.errors import ALREADY_EXISTS, NOT_READY, Refusal, sorted_out, was
from dovetail.clouds.gcp.machines import bodies, homes, ownership, rolls
from dovetail.clouds.gcp.machines.answers import Disk, Instance, Operation, last, read
from dovetail.clouds.gcp.machines.homes import Clusters, nowhere
from dovetail.clouds.gcp.machines.ownership import Place
from dovetail.clouds.gcp.machines.reporting import UNSETTLED, found
from dovetail.clouds.machines import (
    Lost,
    Ordering,
    Sought,
    Underway,
    Undone,
    UserData,
    order_sent,
    removed,
    unrecorded,
)
from dovetail.clouds.port import CloudError, Misconfigured, NotFound, Throttled, Unavailable
from dovetail.core.errors import BadInput, BadValue
from dovetail.core.machines.infra_objects import Found, Purchase, Sent

#: An order is waited for so often and so long, and asked about again after a while.
POLLS: Final = 2
POLL_SECONDS: Final = 1.0
UNDERWAY_SECONDS: Final = 3.0
#: What was made is shown after so long at the latest.
SHOWN_SECONDS: Final = 60.0
_WHERE: Final = "set failureDomain of its Machine, or failureDomains of the GCPCluster"


class GcpMachines:
    """Instances of one project."""

    def __init__(self, gcp: Gcp, clusters: Clusters = nowhere, now: Callable[[], float] = time.time) -> None:
        self._gcp, self._clusters, self._now = gcp, clusters, now
        #: By token: how many orders failed in a way that passes.
        self._again: dict[str, int] = {}
        #: What is being deleted: the operation's name.
        self._going: dict[Place, str] = {}

    @property
    def cloud(self) -> str:
        return "gcp"

    # ---- making

    async def create(self, purchase: Purchase, boot: UserData, ordering: Ordering = unrecorded) -> Found:
        purchase, body = await self._order(purchase, boot)
        if purchase.sent is Sent.TAKEN:
            return await self._asked_about(purchase)
        await ordering()
        try:
            made = await self._made(purchase, body)
        except CloudError as refused:
            if was(refused, ALREADY_EXISTS):
                return await self._taken(purchase, refused)
            if isinstance(refused, NotFound):
                # Not the instance, which is not there yet, but its image, subnet or type.
                raise Misconfigured(str(refused)) from refused.__cause__
            raise
        self._again.pop(purchase.token, None)
        try:
            with order_sent():
                return found(self._gcp.project, await self._adopted(purchase))
        except NotFound:
            raise self._not_there(purchase, made) from None

    async def _asked_about(self, purchase: Purchase) -> Found:
        """What became of an order that Compute Engine took; none is sent."""
        try:
            held = await self._adopted(purchase)
        except NotFound:
            listed = await self._gcp.list_operations(ownership.ordered(purchase.zone, purchase.name))
            orders = sorted((read(Operation, one) for one in listed), key=lambda one: one.begun)
            order = orders[-1] if orders else Operation("", "DONE")
            if self._is_over(purchase, order):
                raise self._not_there(purchase, order) from None
        else:
            if held.status not in UNSETTLED:
                return found(self._gcp.project, held)
        raise _at_it(purchase)

    def _not_there(self, purchase: Purchase, made: Operation) -> CloudError:
        """Why nothing is there though its order was carried out."""
        if self._now() - made.begun < SHOWN_SECONDS:
            told = f"GCP has made instance {purchase.name} and does not show it yet"
            return Underway(told, UNDERWAY_SECONDS, taken=True)
        return Lost(f"instance {purchase.name} was made and is gone; it is not made again")

    async def _order(self, purchase: Purchase, boot: UserData) -> tuple[Purchase, bodies.Json]:
        """The order, in the zone it names or else the first of its cluster's."""
        cluster = await self._clusters(purchase.namespace, purchase.cluster)
        try:
            home = homes.home(self._gcp.project, cluster)
            zone = purchase.zone or min(home.zones, default="")
            if not zone:
                raise BadValue(f"no zone is known; {_WHERE}")
            purchase = replace(purchase, zone=zone)
            return purchase, bodies.instance(purchase, boot, home)
        except BadInput as bad:
            raise Misconfigured(f"GCPMachine {purchase.name}: {bad}") from None

    async def _made(self, purchase: Purchase, body: bodies.Json) -> Operation:
        """Order it, or find the order under way; returns once that has made it."""
        token, again = purchase.token, self._again.get(purchase.token, 0)
        request_id = ownership.request_id(token, purchase.attempt, again)
        operation = read(Operation, await self._gcp.insert_instance(purchase.zone, body, request_id))
        for _ in range(POLLS):
            if operation.is_done:
                break
            await asyncio.sleep(POLL_SECONDS)
            with order_sent():
                operation = await self._operation(purchase.zone, operation.name)
        if not self._is_over(purchase, operation):
            raise _at_it(purchase)
        return operation

    def _is_over(self, purchase: Purchase, order: Operation) -> bool:
        """Whether the instance was made; raises why not, if it was not."""
        if order.problem is None or not order.is_done:
            return order.is_done
        failed = _failed(f"make instance {purchase.name} in {purchase.zone}", order)
        if isinstance(failed, Unavailable | Throttled):
            self._again[purchase.token] = self._again.get(purchase.token, 0) + 1
            raise Undone(str(failed)) from failed
        raise failed

    async def _operation(self, zone: str, name: str) -> Operation:
        """One that is forgotten was over long ago."""
        try:
            return read(Operation, await self._gcp.get_operation(zone, name))
        except NotFound:
            return Operation(name, "DONE")

    async def _taken(self, purchase: Purchase, refused: CloudError) -> Found:
        """The name is taken: by this order's own instance most likely, or by a disk somebody kept."""
        if "/disks/" in str(refused):
            raise Misconfigured(f"{refused}; delete it, or give the Machine another name") from refused.__cause__
        try:
            return found(self._gcp.project, await self._adopted(purchase))
        except NotFound as gone:
            raise Unavailable(f"instance {purchase.name} was there, and is not any more") from gone

    async def _adopted(self, purchase: Purchase) -> Instance:
        """The instance of that name, if it is this order's."""
        held = read(Instance, await self._gcp.get_instance(purchase.zone, purchase.name))
        if held.labels.get(ownership.TOKEN) != ownership.label_of(purchase.token):
            raise Misconfigured(
                f"an instance called {purchase.name} is in {purchase.zone} already and is not this Machine's; "
                "delete it, or give the Machine another name"
            )
        return held

    # ---- finding

    async def find(self, sought: Sought) -> Found:
        held = await self._held(sought)
        if not sought.provider_id:
            held = tuple(one for one in held if one.status not in UNSETTLED)
        if not held:
            raise NotFound(f"there is no instance {sought.provider_id or sought.name}")
        return found(self._gcp.project, held[0])

    async def instances(self, cluster: str) -> tuple[Found, ...]:
        key = ownership.cluster_label(cluster)
        if key is None:
            return ()
        listed = await self._gcp.list_instances(ownership.made_for_cluster(key))
        return tuple(found(self._gcp.project, read(Instance, one)) for one in listed)

    async def roll_call(self, fleet: Collection[Sought]) -> frozenset[str]:
        return await rolls.running(self._gcp, fleet)

    async def _held(self, sought: Sought) -> tuple[Instance, ...]:
        """What there is of an instance, the oldest first: one at most, unless somebody made more by hand."""
        place = ownership.place_of(sought.provider_id)
        if sought.provider_id and place is not None:
            return await self._at(place, sought)
        if sought.provider_id:
            return ()
        listed = await self._gcp.list_instances(ownership.made_for(sought.token))
        return tuple(sorted((read(Instance, one) for one in listed), key=lambda one: one.creation_timestamp))

    async def _at(self, place: Place, sought: Sought) -> tuple[Instance, ...]:
        if place.project != self._gcp.project:
            raise self._elsewhere(sought)
        try:
            one = read(Instance, await self._gcp.get_instance(place.zone, place.name))
        except NotFound:
            return ()
        if ownership.is_of(one, sought):
            return (one,)
        if not ownership.is_others(one, sought):
            raise ownership.unmarked(sought)
        return ()

    def _elsewhere(self, sought: Sought) -> Misconfigured:
        """Whether there is something under such an id nobody here can tell."""
        return Misconfigured(f"{sought.provider_id} is in another project than {self._gcp.project}, which is ours")

    # ---- removing

    async def delete(self, sought: Sought) -> None:
        await removed(self._removed, sought)

    async def _removed(self, sought: Sought) -> None:
        """An id is only what somebody wrote: one that is none of ours, or of nothing, must not keep what was made from
        being removed. That is known by its token, and while it is under way by its name."""
        place, own = ownership.place_of(sought.provider_id), replace(sought, provider_id="")
        foreign = place is not None and place.project != self._gcp.project
        held = await self._at(place, sought) if place is not None and not foreign else ()
        held = held or await self._held(own)
        for one in held:
            await self._remove(Place(self._gcp.project, one.zone_name, one.name))
        known = place is not None and not foreign and place.name == sought.name
        if held or (not known and await self._coming(own)) or await self._swept(own):
            return
        if foreign:
            raise self._elsewhere(sought)
        raise NotFound(f"nothing is left of instance {sought.provider_id or sought.name}")

    async def _remove(self, place: Place) -> None:
        if await self._is_going(place):
            return
        try:
            operation = read(Operation, await self._gcp.delete_instance(place.zone, place.name))
        except CloudError as refused:
            if isinstance(refused, NotFound) or was(refused, NOT_READY):
                return
            raise
        self._going[place] = operation.name

    async def _is_going(self, place: Place) -> bool:
        """Whether we asked before and it is under way; raises why it failed, if it did, so that it is asked anew."""
        name = self._going.get(place)
        if name is None:
            return False
        operation = await self._operation(place.zone, name)
        if not operation.is_done:
            return True
        del self._going[place]
        if operation.problem is not None:
            raise _failed(f"delete instance {place.name} in {place.zone}", operation)
        return False

    async def _coming(self, sought: Sought) -> bool:
        """Whether an order is under way whose instance cannot be seen yet: it is waited for, and removed then."""
        listed = await self._gcp.list_operations('(operationType = "insert") (status != "DONE")')
        links = (read(Operation, one).target_link for one in listed)
        return any(last(link) == sought.name and "/instances/" in link for link in links)

    async def _swept(self, sought: Sought) -> bool:
        """Disks that were left, because somebody told Compute Engine to keep them: whether there were any. One that
        somebody attached elsewhere is theirs now."""
        listed = await self._gcp.list_disks(ownership.made_for(sought.token))
        left = [one for one in (read(Disk, each) for each in listed) if not one.users]
        for one in left:
            try:
                await self._gcp.delete_disk(one.zone_name, one.name)
            except CloudError as refused:
                if not (isinstance(refused, NotFound) or was(refused, NOT_READY)):
                    raise
        return bool(left)


def _at_it(purchase: Purchase) -> Underway:
    return Underway(f"GCP is making instance {purchase.name} in {purchase.zone}", UNDERWAY_SECONDS, taken=True)


def _failed(action: str, operation: Operation) -> CloudError:
    problem = operation.problem
    assert problem is not None, "it did not fail"
    return sorted_out(Refusal(action, operation.http_error_status_code, problem.code, problem.message))
