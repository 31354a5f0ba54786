"""CreateFleet: what is asked, and what came of it. Pure: no call is made here.

A `Fleet` holds nothing of any one claim, so that equal fleets of many claims are one call with a larger count. Its
pools are told apart by type and zone: EC2 refuses fleets in which two have both in common.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dovetail.clouds.aws import tags
from dovetail.clouds.aws.described import INTERRUPTIBLE
from dovetail.clouds.aws.errors import NO_SPOT_ROLE, Refusal, Row, row_of, sorted_out
from dovetail.clouds.aws.resolved import CAPACITY_BLOCK
from dovetail.clouds.port import CloudError
from dovetail.core import labels
from dovetail.core.catalog.prices import SourceKind
from dovetail.core.catalog.shortages import Shortage

#: Prices EC2 does not know: it must be told the order.
OWN_PRICES: Final = frozenset({SourceKind.IMPORTED, SourceKind.OVERRIDE, SourceKind.OVERLAY})
_LATEST: Final = "$Latest"
#: What there is too little of whether a placement group was asked for or not.
_ANYWHERE: Final = frozenset(
    {"MaxSpotInstanceCountExceeded", "VcpuLimitExceeded", "MaxFleetCountExceeded", "InsufficientFreeAddressesInSubnet"}
)


@dataclass(frozen=True, slots=True)
class Pool:
    """One way a fleet may be filled."""

    instance_type: str
    zone: str
    subnet_id: str
    image_id: str
    template: str
    priority: float
    reservation_id: str = ""

    @property
    def override(self) -> dict[str, Any]:
        """The zone is in the subnet already; it is there so that errors can be told apart."""
        return {
            "InstanceType": self.instance_type,
            "SubnetId": self.subnet_id,
            "ImageId": self.image_id,
            "AvailabilityZone": self.zone,
            "Priority": self.priority,
        }


@dataclass(frozen=True, slots=True)
class Fleet:
    """What a call asks for, but for how many and for whom. `market` is what `contents.market_of` says of its
    reservations; `own_prices` has EC2 go by our order and not by its own price list."""

    capacity_type: str
    pools: tuple[Pool, ...]
    tags: tuple[tuple[str, str], ...]
    market: str = ""
    own_prices: bool = False
    context: str = ""
    #: The placement group its machines stand in, and the part of it that was asked for, as labels.
    within: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Miss:
    """A pool that had none, or was refused."""

    pool: Pool
    code: str
    message: str

    @property
    def row(self) -> Row:
        return row_of("ec2", self.code, self.message)


@dataclass(frozen=True, slots=True)
class Bought:
    instance_id: str
    pool: Pool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a fleet: machines, and the pools that gave none. Both may be there. `unplaced` are machines of which
    the answer does not say from which pool they are."""

    bought: tuple[Bought, ...]
    missed: tuple[Miss, ...]
    unplaced: tuple[str, ...] = ()


def request(fleet: Fleet, names: Sequence[str], token: str) -> dict[str, Any]:
    """The call that buys one machine for each of these claims."""
    told = dict(fleet.tags)
    body: dict[str, Any] = {
        "Type": "instant",
        "ClientToken": token,
        "LaunchTemplateConfigs": _configs(fleet.pools),
        "TargetCapacitySpecification": {
            "TotalTargetCapacity": len(names),
            "DefaultTargetCapacityType": _target(fleet),
        },
        "TagSpecifications": [
            tags.specification("instance", {**told, **tags.of_claims(names)}),
            tags.specification("volume", told),
            tags.specification("fleet", told),
        ],
        **_options(fleet),
    }
    return {**body, "Context": fleet.context} if fleet.context else body


def token_of(cluster: str, attempts: Mapping[str, int]) -> str:
    """EC2 sells one fleet for one token: claims by name and uid, and how often each has had a final answer. So asking
    again after an answer was lost buys nothing new, also in another process."""
    text = "\n".join((cluster, *(f"{name} {count}" for name, count in sorted(attempts.items()))))
    return hashlib.sha256(text.encode()).hexdigest()[:64]


def _configs(pools: Iterable[Pool]) -> list[dict[str, Any]]:
    by_template: dict[str, list[Pool]] = {}
    for pool in pools:
        by_template.setdefault(pool.template, []).append(pool)
    return [
        {
            "LaunchTemplateSpecification": {"LaunchTemplateName": name, "Version": _LATEST},
            "Overrides": [pool.override for pool in held],
        }
        for name, held in by_template.items()
    ]


def _target(fleet: Fleet) -> str:
    if fleet.market == CAPACITY_BLOCK:
        return CAPACITY_BLOCK
    if fleet.market == INTERRUPTIBLE:
        return "reserved-capacity"
    return "spot" if fleet.capacity_type == labels.SPOT else "on-demand"


def _options(fleet: Fleet) -> dict[str, Any]:
    if fleet.market == CAPACITY_BLOCK:
        return {}
    if fleet.market == INTERRUPTIBLE:
        return {"ReservedCapacityOptions": {"ReservationTypes": [INTERRUPTIBLE]}}
    if fleet.capacity_type == labels.SPOT:
        strategy = "capacity-optimized-prioritized" if fleet.own_prices else "price-capacity-optimized"
        return {"SpotOptions": {"AllocationStrategy": strategy}}
    return {"OnDemandOptions": {"AllocationStrategy": "prioritized" if fleet.own_prices else "lowest-price"}}


# ---- what came of it


def outcome(fleet: Fleet, answer: Mapping[str, Any]) -> Outcome:
    pools = {(pool.instance_type, pool.zone): pool for pool in fleet.pools}
    subnets = {pool.subnet_id: pool.zone for pool in fleet.pools}

    def pool_of(entry: Mapping[str, Any]) -> Pool | None:
        override = (entry.get("LaunchTemplateAndOverrides") or {}).get("Overrides") or {}
        zone = override.get("AvailabilityZone") or subnets.get(override.get("SubnetId", ""), "")
        return pools.get((override.get("InstanceType") or entry.get("InstanceType", ""), zone))

    bought: list[Bought] = []
    missed: list[Miss] = []
    unplaced: list[str] = []
    for entry in answer.get("Instances") or ():
        pool = pool_of(entry)
        ids = entry.get("InstanceIds") or ()
        if pool is not None:
            bought += (Bought(one, pool) for one in ids)
        else:
            unplaced += ids
    for entry in answer.get("Errors") or ():
        pool = pool_of(entry)
        code, message = entry.get("ErrorCode", ""), entry.get("ErrorMessage", "")
        missed += (Miss(one, code, message) for one in ((pool,) if pool is not None else fleet.pools))
    in_order = tuple(sorted(bought, key=lambda one: one.instance_id))
    return Outcome(in_order, tuple(dict.fromkeys(missed)), tuple(sorted(unplaced)))


def shortages(fleet: Fleet, missed: Iterable[Miss]) -> tuple[Shortage, ...]:
    """What the catalog may believe for a while (S0.3): the pool, the reservation, or all of spot. What there is no room
    for in a placement group others may have; one that spreads its machines and is full in a zone takes no type there.
    """
    found: dict[Shortage, None] = {}
    for miss in missed:
        pool = miss.pool
        if miss.code == NO_SPOT_ROLE:
            found[Shortage(capacity_type=labels.SPOT)] = None
        elif miss.row.scarce:
            held, within = pool.reservation_id or None, () if miss.code in _ANYWHERE else fleet.within
            found[Shortage(pool.instance_type, pool.zone, fleet.capacity_type, held, within=within)] = None
            if within and _is_spread_out(miss):
                others = (one for one in fleet.pools if one.zone == pool.zone)
                found |= {
                    Shortage(one.instance_type, one.zone, fleet.capacity_type, within=within): None for one in others
                }
    return tuple(found)


def _is_spread_out(miss: Miss) -> bool:
    told = miss.message.lower()
    return "spread" in told and ("limit" in told or "maximum" in told)


def refusal(missed: Sequence[Miss]) -> CloudError | None:
    """The first error that is no shortage: the request itself is bad, and other pools would not help."""
    for miss in missed:
        if not miss.row.scarce and miss.code != NO_SPOT_ROLE:
            return sorted_out(Refusal("ec2", "CreateFleet", miss.code, miss.message))
    return None
