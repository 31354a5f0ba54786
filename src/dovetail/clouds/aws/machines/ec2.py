"""`Ec2Machines`, the `clouds.machines.Machines` of EC2.

An instance is made by RunInstances with the order's token, so the same order again is the same instance, whether EC2
can be seen to have it or not. The token is also on the instance, as a tag. Where EC2 says that the token was used for
another request, as it does when bootstrap data was renewed in between, the instance that was made then is taken.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from dovetail.api.fields import dotted
from dovetail.clouds.aws import calls, tags
from dovetail.clouds.aws.access import Access
from dovetail.clouds.aws.batching import TERMINATIONS, Window
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.described import STATES, id_of
from dovetail.clouds.aws.ends import Ends
from dovetail.clouds.aws.errors import TOKEN_MISMATCH, code_of
from dovetail.clouds.aws.instances import YOUNG_SECONDS
from dovetail.clouds.aws.machines import disks, homes, looking, marks, requests, rolls, specs, states
from dovetail.clouds.aws.machines.homes import Clusters
from dovetail.clouds.aws.machines.looking import BY_CLIENT_TOKEN, BY_ID, BY_TOKEN, LOOKS, Looks, Young
from dovetail.clouds.aws.machines.places import Places
from dovetail.clouds.aws.nodeclass.memory import Memory
from dovetail.clouds.aws.opening import region_of, tried
from dovetail.clouds.machines import (
    Lost,
    Ordering,
    Sought,
    Underway,
    Unmarked,
    UserData,
    order_sent,
    removed,
    unrecorded,
)
from dovetail.clouds.port import CloudError, Misconfigured, NotFound, Unavailable
from dovetail.core.errors import BadField, BadInput
from dovetail.core.machines.infra_objects import Found, Purchase, Sent, State

#: A token makes asking twice asking once.
_RUN: Final = replace(calls.RUN_INSTANCES, repeat=True)
#: Never sold there, which on a market of many pools is want of capacity, and here, where nothing is chosen, is not.
_NEVER: Final = "Unsupported"
#: EC2 remembers a token longer than the instance it was used for (R10).
_TERMINATED: Final = "IdempotentInstanceTerminated"
_OVER: Final = (State.GOING, State.GONE)


@dataclass(frozen=True, slots=True)
class Habits:
    """Where time comes from, how long looks and ends are collected, and for how long describes may be behind."""

    now: Callable[[], float] = time.time
    looks: Window = LOOKS
    ends: Window = TERMINATIONS
    young_seconds: float = YOUNG_SECONDS


class Ec2Machines:
    """Single instances of one account and region."""

    cloud: Final = "aws"

    def __init__(self, aws: Aws, habits: Habits | None = None, clusters: Clusters = homes.nowhere) -> None:
        chosen = habits or Habits()
        self._aws, self._clusters = aws, clusters
        self._memory = Memory(aws, chosen.now)
        self._places = Places(self._memory)
        self._looks, self._ends = Looks(aws, chosen.looks), Ends(aws, chosen.ends)
        self._young = Young(chosen.young_seconds, chosen.now)

    async def close(self) -> None:
        await self._looks.close()
        await self._ends.close()

    # ---- making

    async def create(self, purchase: Purchase, boot: UserData, ordering: Ordering = unrecorded) -> Found:
        """EC2 knows what became of an order by its token, so one nobody heard of can be sent again."""
        self._young.begin()
        if purchase.sent is Sent.TAKEN:
            return await self._made_once(purchase)
        request = await self._request(purchase, boot)
        await ordering()
        try:
            answer = await self._aws.ask(_RUN, **request)
        except CloudError as refused:
            return await self._made_before(purchase, refused)
        made = answer.get("Instances") or ()
        if not made:
            raise Unavailable("EC2 answered RunInstances with no instance")
        found = states.found(made[0])
        self._young.remember(found, purchase)
        return found

    async def _request(self, purchase: Purchase, boot: UserData) -> specs.Wire:
        try:
            spec = specs.read(purchase.wanted.spec)
            home = homes.read(await self._clusters(purchase.namespace, purchase.cluster), await self._aws.region())
            image = await disks.image_of(self._memory, spec.image)
            place = await self._places.of(purchase, spec.network, home)
            return requests.run_instances(purchase, spec, requests.Setting(image, place, home), boot)
        except BadField as bad:
            raise _misconfigured(str(dotted(bad)), "InvalidConfiguration") from None
        except BadInput as bad:
            raise _misconfigured(str(bad), "InvalidConfiguration") from None

    async def _made_before(self, purchase: Purchase, refused: CloudError) -> Found:
        """The instance a token was used for, if that is why EC2 refuses; raises what the refusal means otherwise."""
        if isinstance(refused, NotFound) or code_of(refused) == _NEVER:
            problem = _misconfigured(str(refused), refused.reason)
            problem.unheard = refused.unheard
            raise problem from refused
        code = code_of(refused)
        if code not in (TOKEN_MISMATCH, _TERMINATED):
            raise refused
        try:
            with order_sent():
                return states.found(await self._looks.by(BY_CLIENT_TOKEN, purchase.token))
        except NotFound:
            pass
        if code == _TERMINATED:
            raise Lost("the instance of this machine was terminated; it is not made again") from refused
        told = "EC2 has made an instance for this machine with other bootstrap data, and does not show it yet"
        raise Underway(told) from refused

    async def _made_once(self, purchase: Purchase) -> Found:
        try:
            return states.found(await self._looks.by(BY_CLIENT_TOKEN, purchase.token))
        except NotFound as gone:
            if not self._young.is_certain:
                raise Underway(f"EC2 has taken the order for {purchase.name}, and shows nothing yet") from gone
            raise Lost(f"the instance of {purchase.name} is gone; it is not made again") from gone

    # ---- looking

    async def find(self, sought: Sought) -> Found:
        self._young.begin()
        try:
            return await self._seen(sought)
        except (NotFound, Unmarked) as problem:
            young = self._young.of(sought)
            if young is not None:
                return young
            # Without an id the order follows, and its token finds the instance.
            if isinstance(problem, NotFound) and sought.provider_id and not self._young.is_certain:
                raise _unsure(sought.provider_id) from None
            raise

    async def _seen(self, sought: Sought) -> Found:
        if not sought.provider_id:
            return states.found(await self._looks.by(BY_TOKEN, sought.token))
        wire = await self._looks.by(BY_ID, id_of(sought.provider_id))
        held, found = tags.read(wire.get("Tags")), states.found(wire)
        if _is_its(held, sought):
            return found
        # EC2 takes the tags off what it has terminated.
        if found.state in _OVER or marks.is_others(held, sought.cluster):
            raise NotFound(f"{sought.provider_id} is no instance of cluster {sought.cluster}")
        raise Unmarked(sought, f"the tag {marks.owner(sought.cluster)}={marks.OWNED}" if sought.cluster else None)

    async def instances(self, cluster: str) -> tuple[Found, ...]:
        self._young.begin()
        filters = [
            {"Name": f"tag:{marks.owner(cluster)}", "Values": [marks.OWNED]},
            {"Name": "tag-key", "Values": [marks.TOKEN]},
            {"Name": "instance-state-name", "Values": list(STATES)},
        ]
        wire = await self._aws.all(calls.DESCRIBE_INSTANCES, Filters=filters)
        seen = [states.found(one) for one in looking.each(wire)]
        known = {one.provider_id: one for one in (*self._young.of_cluster(cluster), *seen)}
        return tuple(known[name] for name in sorted(known))

    async def roll_call(self, fleet: Collection[Sought]) -> frozenset[str]:
        return await rolls.running(self._aws, [one.provider_id for one in fleet])

    # ---- removing

    async def delete(self, sought: Sought) -> None:
        await removed(self._remove, sought)

    async def _remove(self, sought: Sought) -> None:
        held = await self._removable(sought)
        if held.state is State.GONE:
            raise NotFound(f"{held.provider_id} is gone")
        if held.state is State.GOING:
            return
        try:
            await self._ends.terminate(id_of(held.provider_id))
        except NotFound:
            raise _unsure(held.provider_id) from None
        self._young.forget(held.provider_id)

    async def _removable(self, sought: Sought) -> Found:
        """Under an id that is not there, or not ours, there may still be one with the token."""
        try:
            return await self.find(sought)
        except NotFound:
            if not self._young.is_certain:
                raise _unsure(sought.provider_id or sought.name) from None
            if not sought.provider_id:
                raise
        return await self.find(replace(sought, provider_id=""))


def _is_its(held: Mapping[str, str], sought: Sought) -> bool:
    """Whether an instance is the object's: an id is only what somebody wrote. The token of an object that was moved or
    restored differs, since its uid does; its name, namespace and cluster do not. One without a token another provider
    made."""
    token = held.get(marks.TOKEN)
    owned = bool(sought.cluster) and held.get(marks.owner(sought.cluster)) == marks.OWNED
    moved = (held.get(tags.NAME), marks.namespace_in(held)) == (sought.name, sought.namespace)
    return token == sought.token or (owned and (token is None or moved))


def _unsure(name: str) -> Unavailable:
    return Unavailable(f"EC2 knows nothing of {name}, which may have been made a moment ago; it is asked again")


def _misconfigured(message: str, reason: str) -> Misconfigured:
    error = Misconfigured(message)
    error.reason = reason
    return error


@asynccontextmanager
async def opened(
    region: str = "", endpoint: str = "", clusters: Clusters = homes.nowhere
) -> AsyncIterator[Ec2Machines]:
    """EC2, tried on the call without which nothing works; raises BadInput if a person must do something first. What is
    left out is found as every AWS tool finds it; `clusters` knows the AWSCluster of each Cluster."""
    async with Aws(Access(region, endpoint)) as aws:
        await region_of(aws)
        await tried(aws, calls.DESCRIBE_INSTANCES)
        machines = Ec2Machines(aws, clusters=clusters)
        try:
            yield machines
        finally:
            await machines.close()
