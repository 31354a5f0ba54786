"""Where an instance is put: its subnet and security groups, as the object names them, its AWSCluster or the cluster's
tags.

What is named by its id is taken at its word: EC2 says so itself if there is no such thing. The rest is looked up, once
a minute at most however many machines are made.

The same machine must be asked for in the same zone each time: EC2 knows a token in one zone only, and would sell it
again in another. So without a zone the first that has a subnet is taken, be it full; within the zone one that has an
address left, and of several the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dovetail.clouds.aws import calls, tags
from dovetail.clouds.aws.calls import Call
from dovetail.clouds.aws.machines import marks
from dovetail.clouds.aws.machines.homes import Home
from dovetail.clouds.aws.machines.specs import Filters, Network, Reference
from dovetail.clouds.aws.nodeclass.memory import Memory
from dovetail.clouds.port import Misconfigured
from dovetail.core.machines.infra_objects import Purchase

FRESH_SECONDS: Final = 60.0
#: Roles of the cluster's own groups, as its provider tags them.
_OF_NODES: Final = ("node", "lb")
_OF_CONTROL_PLANES: Final = (*_OF_NODES, "controlplane")


@dataclass(frozen=True, slots=True)
class Place:
    subnet: str = ""
    groups: tuple[str, ...] = ()


class Places:
    """Looks places up."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def of(self, purchase: Purchase, network: Network, home: Home) -> Place:
        """Raises Misconfigured, in a sentence, where there is none."""
        if network.interfaces:
            return Place()
        return Place(await self._subnet(purchase, network, home), await self._groups(purchase, network))

    async def _subnet(self, purchase: Purchase, network: Network, home: Home) -> str:
        wanted = network.subnet
        if wanted is not None and wanted.id:
            return wanted.id
        if wanted is not None:
            found = await self._asked(calls.DESCRIBE_SUBNETS, wanted.filters)
            return _chosen(found, purchase.zone, f"matches {wanted.path}.filters")
        key = marks.kubernetes(purchase.cluster)
        found = home.subnets or await self._asked(calls.DESCRIBE_SUBNETS, (("tag-key", (key,)),))
        other = marks.PRIVATE if network.public else marks.PUBLIC
        where = "is in spec.network.subnets of the AWSCluster" if home.subnets else f"carries the tag {key}"
        missing = f"{where}, and spec.subnet names none"
        return _chosen([one for one in found if _role(one) != other], purchase.zone, missing)

    async def _groups(self, purchase: Purchase, network: Network) -> tuple[str, ...]:
        found: list[str] = []
        for one in network.groups:
            found += [one.id] if one.id else await self._matching(one)
        return tuple(sorted({*found, *await self._own_groups(purchase, network.overrides)}))

    async def _matching(self, wanted: Reference) -> list[str]:
        held = await self._asked(calls.DESCRIBE_SECURITY_GROUPS, wanted.filters)
        if not held:
            raise Misconfigured(f"no security group matches {wanted.path}.filters")
        return [one["GroupId"] for one in held]

    async def _own_groups(self, purchase: Purchase, overrides: Mapping[str, str]) -> list[str]:
        """The cluster's, by role. Where nobody made any there are none, and EC2 takes the network's default group."""
        roles = _OF_CONTROL_PLANES if purchase.control_plane else _OF_NODES
        found = [overrides[role] for role in roles if overrides.get(role)]
        left = tuple(role for role in roles if not overrides.get(role))
        if left:
            owned = (f"tag:{marks.owner(purchase.cluster)}", (marks.OWNED,))
            held = await self._asked(calls.DESCRIBE_SECURITY_GROUPS, (owned, (f"tag:{marks.ROLE}", left)))
            found += [one["GroupId"] for one in held]
        return found

    async def _asked(self, call: Call, filters: Filters) -> Sequence[Mapping[str, Any]]:
        wire = [{"Name": name, "Values": list(values)} for name, values in filters]
        answer = await self._memory.all(call, {"Filters": wire}, FRESH_SECONDS)
        found: Sequence[Mapping[str, Any]] = answer.value
        return found


def _role(subnet: Mapping[str, Any]) -> str:
    return tags.read(subnet.get("Tags")).get(marks.ROLE, "")


def _chosen(found: Sequence[Mapping[str, Any]], zone: str, needed: str) -> str:
    here = [one for one in found if not zone or one.get("AvailabilityZone") == zone]
    if not here:
        elsewhere = sorted({str(one.get("AvailabilityZone")) for one in found})
        where = f"; there are some in {', '.join(elsewhere)}" if elsewhere else ""
        raise Misconfigured(f"no subnet{f' in {zone}' if zone else ''} {needed}{where}")
    first = min(str(one.get("AvailabilityZone")) for one in here)
    there = [one for one in here if one.get("AvailabilityZone") == first]
    return str(min(there, key=lambda one: (not one.get("AvailableIpAddressCount", 1), one["SubnetId"]))["SubnetId"])
