"""Drift: whether a machine is still what its node class says, and if not in what. Pure; the first difference decides.

    drifted(claim, machine, resolved, kind) -> "" or a word such as AMIDrift

`resolved` is the class as it is now (`nodeclass.Resolver.resolved`), `machine` a fresh look at the instance and `kind`
its type in the catalogue, None where it is not sold any more. A class that is not resolved is an error, not drift:
whoever calls this lets `Resolver.resolved` raise. Drift from the NodePool is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.described import Machine
from dovetail.clouds.aws.launching import HASH, HASH_VERSION
from dovetail.clouds.aws.resolved import ResolvedClass
from dovetail.clouds.port import Unavailable
from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.nodeclaims import NodeClaim

NODE_CLASS: Final = "NodeClassDrift"
IMAGE: Final = "AMIDrift"
SECURITY_GROUP: Final = "SecurityGroupDrift"
SUBNET: Final = "SubnetDrift"
RESERVATION: Final = "CapacityReservationDrift"
PLACEMENT_GROUP: Final = "PlacementGroupDrift"


@dataclass(frozen=True, slots=True)
class _Facts:
    claim: NodeClaim
    machine: Machine
    resolved: ResolvedClass
    kind: InstanceType | None


def drifted(claim: NodeClaim, machine: Machine, resolved: ResolvedClass, kind: InstanceType | None) -> str:
    facts = _Facts(claim, machine, resolved, kind)
    return next((word for word, differs in RULES if differs(facts)), "")


def _class(one: _Facts) -> bool:
    """Numbers of different versions say nothing about each other."""
    notes, now = one.claim.meta.annotations, one.resolved
    if not now.hash or HASH not in notes or notes.get(HASH_VERSION) != now.hash_version:
        return False
    return notes[HASH] != now.hash


def _image(one: _Facts) -> bool:
    """A type gets one image, the first that suits it. Of a type nobody knows any image of the class will do."""
    has = one.machine.image_id or one.claim.image_id
    if not has:
        return False
    if one.kind is None:
        return has not in {image.id for image in one.resolved.images}
    image = one.resolved.image_for(one.kind)
    if image is None:
        raise Unavailable(
            f"no image of {one.resolved.ref.name} is for {one.kind.name}: whether {has} is old is not known"
        )
    return has != image.id


def _groups(one: _Facts) -> bool:
    has = set(one.machine.security_groups)
    return bool(has) and has != set(one.resolved.security_groups)


def _subnet(one: _Facts) -> bool:
    has = one.machine.subnet_id
    return bool(has) and has not in {subnet.id for subnet in one.resolved.subnets}


def _reservation(one: _Facts) -> bool:
    """Only a machine that runs in a reservation: one that fell back to on-demand is not moved because one went away
    (S3.11), and one whose reservation ended is on-demand."""
    has = one.machine.reservation_id
    return bool(has) and has not in one.resolved.reservations


def _placement(one: _Facts) -> bool:
    wanted = one.resolved.placement_group
    has = one.claim.meta.labels.get(aws_labels.PLACEMENT_GROUP_ID, "") or one.machine.placement_group_id
    return has != (wanted.id if wanted else "")


RULES: Final[tuple[tuple[str, Callable[[_Facts], bool]], ...]] = (
    (NODE_CLASS, _class),
    (IMAGE, _image),
    (SECURITY_GROUP, _groups),
    (SUBNET, _subnet),
    (RESERVATION, _reservation),
    (PLACEMENT_GROUP, _placement),
)
