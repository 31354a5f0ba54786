"""An EC2 instance read, and told as the machine the rest of the program knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws import tags
from dovetail.clouds.aws.resolved import CAPACITY_BLOCK, DEFAULT_RESERVATION, NO_TAGS
from dovetail.clouds.port import NotFound
from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.instances import Instance
from dovetail.core.requirements import EMPTY, Requirements
from dovetail.core.resources import NOTHING, Resources

#: The states in which there is a machine; a terminated one is gone.
STATES: Final = ("pending", "running", "stopping", "stopped", "shutting-down")
LEAVING: Final = ("shutting-down", "terminated")
#: What an instance that runs in a reservation we named says about it.
ONLY_RESERVED: Final = "capacity-reservations-only"
INTERRUPTIBLE: Final = "interruptible-capacity-reservation"
EFA: Final = "vpc.amazonaws.com/efa"
_EFA_KINDS: Final = ("efa", "efa-only")
_PROVIDER_ID: Final = re.compile(r"aws:///(?P<zone>[^/]*)/(?P<id>i-[0-9a-z]+)", re.ASCII)
#: Labels that say which reservation a machine is in; a type's requirements list all it could be in.
_OF_RESERVATIONS: Final = frozenset(
    {aws_labels.RESERVATION_ID, aws_labels.RESERVATION_TYPE, aws_labels.RESERVATION_INTERRUPTIBLE}
)


@dataclass(frozen=True, slots=True)
class Machine:
    """One EC2 instance."""

    id: str
    instance_type: str
    zone: str
    capacity_type: str
    zone_id: str = ""
    image_id: str = ""
    state: str = "running"
    launched: float = 0.0
    #: "" unless it runs in a reservation that it named.
    reservation_id: str = ""
    reservation_kind: str = DEFAULT_RESERVATION
    interruptible: bool = False
    subnet_id: str = ""
    security_groups: tuple[str, ...] = ()
    tenancy: str = "default"
    placement_group_id: str = ""
    partition: int = 0
    profile: str = ""
    private_dns_name: str = ""
    #: Whether it has interfaces for EFA; a type that may have them has none unless they were asked for.
    efa: bool = False
    tags: Mapping[str, str] = field(default_factory=lambda: NO_TAGS)

    @property
    def provider_id(self) -> str:
        return f"aws:///{self.zone}/{self.id}"

    @property
    def is_leaving(self) -> bool:
        return self.state in LEAVING

    @property
    def claims(self) -> tuple[str, ...]:
        """For whom it may have been bought."""
        return tags.claims_in(self.tags)

    @property
    def pool(self) -> str:
        return self.tags.get(tags.NODE_POOL, "")


def id_of(provider_id: str) -> str:
    """The instance id in a provider id; NotFound if it is no machine of EC2."""
    found = _PROVIDER_ID.fullmatch(provider_id)
    if found is None:
        raise NotFound(f"{provider_id!r} is not the provider id of an EC2 instance (aws:///zone/i-…)")
    return found["id"]


def of_wire(wire: Mapping[str, Any]) -> Machine:
    """One entry of DescribeInstances."""
    where, lifecycle = wire.get("Placement") or {}, wire.get("InstanceLifecycle") or ""
    reservation = _reservation(wire)
    return Machine(
        id=wire["InstanceId"],
        instance_type=wire.get("InstanceType", ""),
        zone=where.get("AvailabilityZone", ""),
        zone_id=where.get("AvailabilityZoneId", ""),
        capacity_type=_capacity_type(wire, reservation),
        image_id=wire.get("ImageId", ""),
        state=(wire.get("State") or {}).get("Name", ""),
        launched=_seconds(wire.get("LaunchTime")),
        reservation_id=reservation,
        reservation_kind=CAPACITY_BLOCK if lifecycle == CAPACITY_BLOCK else DEFAULT_RESERVATION,
        interruptible=lifecycle == INTERRUPTIBLE,
        subnet_id=wire.get("SubnetId", ""),
        security_groups=tuple(sorted(one["GroupId"] for one in wire.get("SecurityGroups") or ())),
        tenancy=where.get("Tenancy", "default"),
        placement_group_id=where.get("GroupId", ""),
        partition=where.get("PartitionNumber", 0),
        profile=(wire.get("IamInstanceProfile") or {}).get("Arn", "").rpartition("/")[2],
        private_dns_name=wire.get("PrivateDnsName", ""),
        efa=any(one.get("InterfaceType") in _EFA_KINDS for one in wire.get("NetworkInterfaces") or ()),
        tags=MappingProxyType(tags.read(wire.get("Tags"))),
    )


def _reservation(wire: Mapping[str, Any]) -> str:
    """One that runs in an open reservation without having named it is on-demand to us: it was not planned there."""
    wish = (wire.get("CapacityReservationSpecification") or {}).get("CapacityReservationPreference", "")
    return str(wire.get("CapacityReservationId") or "") if wish == ONLY_RESERVED else ""


def _capacity_type(wire: Mapping[str, Any], reservation: str) -> str:
    if reservation:
        return labels.RESERVED
    return labels.SPOT if wire.get("SpotInstanceRequestId") else labels.ON_DEMAND


def _seconds(when: object) -> float:
    return when.timestamp() if isinstance(when, datetime) else 0.0


def instance_of(
    machine: Machine, kind: InstanceType | None, wanted: Requirements = EMPTY, claim: str | None = None
) -> Instance:
    """The machine as its claim will remember it. `kind` is None for a type the catalog has not heard of. `wanted`
    decides where a type leaves a label several values, such as its operating system; then the alphabet does."""
    names = machine.claims
    named = claim if claim is not None else (names[0] if len(names) == 1 else "")
    return Instance(
        provider_id=machine.provider_id,
        claim=named,
        pool=machine.pool,
        image_id=machine.image_id,
        labels=MappingProxyType(labels_of(machine, kind, wanted)),
        capacity=_offered(kind.capacity, machine) if kind else NOTHING,
        allocatable=_offered(kind.allocatable, machine) if kind else NOTHING,
        created=machine.launched,
        leaving=machine.is_leaving,
    )


def _offered(amounts: Resources, machine: Machine) -> Resources:
    """What of a type's resources the machine has."""
    if machine.efa or not amounts.of(EFA):
        return amounts
    return Resources({name: amount for name, amount in amounts.items() if name != EFA})


def labels_of(machine: Machine, kind: InstanceType | None, wanted: Requirements = EMPTY) -> dict[str, str]:
    found = dict(_of_kind(kind, wanted)) if kind else {labels.INSTANCE_TYPE: machine.instance_type}
    found |= {labels.ZONE: machine.zone, labels.CAPACITY_TYPE: machine.capacity_type}
    found[aws_labels.TENANCY] = machine.tenancy
    if machine.zone_id:
        found[aws_labels.ZONE_ID] = machine.zone_id
    if machine.pool:
        found[labels.NODEPOOL] = machine.pool
    if machine.reservation_id:
        found[aws_labels.RESERVATION_ID] = machine.reservation_id
        found[aws_labels.RESERVATION_TYPE] = machine.reservation_kind
        found[aws_labels.RESERVATION_INTERRUPTIBLE] = "true" if machine.interruptible else "false"
    if machine.placement_group_id:
        found[aws_labels.PLACEMENT_GROUP_ID] = machine.placement_group_id
    if machine.partition:
        found[aws_labels.PLACEMENT_GROUP_PARTITION] = str(machine.partition)
    return found


def _of_kind(kind: InstanceType, wanted: Requirements) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in kind.spec.requirements:
        if one.complement or not one.values or one.key in _OF_RESERVATIONS:
            continue
        asked = wanted.get(one.key)
        values = sorted(value for value in one.values if asked is None or asked.admits(value))
        found[one.key] = (values or sorted(one.values))[0]
    return found
