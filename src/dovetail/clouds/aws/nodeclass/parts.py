"""The parts of a class that were looked at, and what they are together: a class to launch with, and a status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from dovetail.clouds.aws import class_hash
from dovetail.clouds.aws.bootstrap import Home
from dovetail.clouds.aws.nodeclass import booting, places, reservations, statuses, verdicts
from dovetail.clouds.aws.nodeclass.rights import Early
from dovetail.clouds.aws.nodeclass.spec import ClassSpec
from dovetail.clouds.aws.nodeclass.verdicts import Look, Verdict
from dovetail.clouds.aws.resolved import Image, PlacementGroup, ResolvedClass
from dovetail.core.nodepools import NodeClassRef

Wire = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Parts:
    """The looks at one class."""

    images: Look[tuple[Image, ...]]
    reservations: Look[tuple[reservations.Seen, ...]]
    placement: Look[PlacementGroup]
    subnets: Look[tuple[Wire, ...]]
    groups: Look[tuple[Wire, ...]]
    profile: Look[str]

    @property
    def all(self) -> tuple[Look[Any], ...]:
        return (self.images, self.reservations, self.placement, self.subnets, self.groups, self.profile)


def networked(parts: Parts) -> list[Verdict]:
    """What is to be said of each part. Groups that exist, and stand in another network than the subnets, are no use."""
    found = [one.verdict for one in parts.all]
    differ = places.networks_differ(parts.subnets.value or (), parts.groups.value or ())
    if not differ:
        return found
    told = verdicts.bad(verdicts.GROUPS, "SecurityGroupSubnetVPCMismatch", differ)
    return [told if one.type == verdicts.GROUPS else one for one in found]


def early_of(ref: NodeClassRef, spec: ClassSpec, parts: Parts) -> Early:
    """What there is of a class that is not whole."""
    images, subnets, groups = parts.images.value or (), parts.subnets.value or (), parts.groups.value or ()
    return Early(
        ref.name,
        tuple(sorted(spec.tags.items())),
        images[0].id if images else "",
        str(subnets[0]["SubnetId"]) if subnets else "",
        tuple(str(one["GroupId"]) for one in groups),
    )


def resolved_of(ref: NodeClassRef, spec: ClassSpec, parts: Parts, home: Home, number: str) -> ResolvedClass | None:
    """None as long as a part is not known, or has nothing in it."""
    seen, profile = parts.reservations.value, parts.profile.value
    images, subnets, groups = parts.images.value, parts.subnets.value, parts.groups.value
    known = seen is not None and profile and images and subnets and groups
    if not known or (spec.placement is not None and parts.placement.value is None):
        return None
    return ResolvedClass(
        ref=ref,
        subnets=places.subnets_of(subnets or ()),
        security_groups=tuple(str(one["GroupId"]) for one in groups or ()),
        images=images or (),
        profile=profile or "",
        user_data=booting.user_data(spec, home),
        disks=spec.disks,
        metadata=spec.metadata,
        network=replace(spec.network, ipv6=home.is_ipv6),
        tags=spec.tags,
        reservations=MappingProxyType({one.held.id: one.held for one in seen or ()}),
        placement_group=parts.placement.value,
        detailed_monitoring=spec.detailed_monitoring,
        nested_virtualization=spec.nested_virtualization,
        enclaves=spec.enclaves,
        context=spec.context,
        hash=number,
        hash_version=class_hash.VERSION,
    )


def status_of(parts: Parts) -> dict[str, object]:
    """What was found; what could not be looked at is left as it is."""
    found: dict[str, object] = {}
    if parts.images.value is not None:
        found["amis"] = statuses.images(parts.images.value)
    if parts.subnets.value is not None:
        found["subnets"] = statuses.subnets(places.subnets_of(parts.subnets.value))
    if parts.groups.value is not None:
        found["securityGroups"] = statuses.groups(parts.groups.value)
    if parts.reservations.value is not None:
        found["capacityReservations"] = reservations.status(parts.reservations.value)
    if parts.profile.value is not None:
        found["instanceProfile"] = parts.profile.value
    return found
