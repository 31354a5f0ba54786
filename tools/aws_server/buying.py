"""One machine of one pool: whether EC2 would sell it, and what it is like."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES
from moto.iam.models import iam_backends
from tools.aws_server import reservations
from tools.aws_server.graft import Answer, tags_of
from tools.aws_server.lives import begin
from tools.aws_server.world import WORLD

SPOT: Final = "spot"
#: How a machine's lifecycle is called, by the kind of capacity its fleet asked for.
LIFECYCLES: Final = {
    SPOT: "spot",
    "capacity-block": "capacity-block",
    "reserved-capacity": "interruptible-capacity-reservation",
}
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Offer:
    """A way a fleet may be filled: a template and an override of it. Or what one machine was asked for as, with
    `more` that moto is to be told."""

    specification: Answer
    override: Answer
    template: Answer
    capacity_type: str
    more: Answer = field(default_factory=dict)

    @property
    def instance_type(self) -> str:
        return str(self.override.get("InstanceType") or self.template.get("InstanceType") or "")

    @property
    def zone(self) -> str:
        return str(self.override.get("AvailabilityZone") or "")

    @property
    def reservation(self) -> str | None:
        target = self._wish.get("CapacityReservationTarget") or {}
        return target.get("CapacityReservationId")

    @property
    def preference(self) -> str:
        return str(self._wish.get("CapacityReservationPreference") or "open")

    @property
    def _wish(self) -> Answer:
        return self.template.get("CapacityReservationSpecification") or {}

    @property
    def market(self) -> str:
        return str((self.template.get("InstanceMarketOptions") or {}).get("MarketType") or "")

    @property
    def image(self) -> str:
        return str(self.override.get("ImageId") or self.template.get("ImageId") or "")


@dataclass(frozen=True, slots=True)
class Sold:
    instance: Any


@dataclass(frozen=True, slots=True)
class NotSold:
    code: str
    message: str


def buy(backend: Any, offer: Offer, tags: dict[str, dict[str, str]]) -> Sold | NotSold:
    name = offer.override.get("SubnetId")
    subnet = subnet_named(backend, name)
    if subnet is None:
        return NotSold("InvalidSubnetID.NotFound", f"The subnet ID '{name}' does not exist")
    zone = subnet.availability_zone
    problem = _problem(backend, offer, zone) or _stock(backend, offer, zone)
    if problem is None and int(subnet.available_ip_address_count) <= 0:
        problem = NotSold(
            "InsufficientFreeAddressesInSubnet",
            f"There are not enough free addresses in subnet '{subnet.id}' for the requested number of instances.",
        )
    return problem or Sold(_machine(backend, offer, subnet, tags))


def subnet_named(backend: Any, name: str | None) -> Any:
    return next((held[name] for held in backend.subnets.values() if name in held), None)


def _problem(backend: Any, offer: Offer, zone: str) -> NotSold | None:
    """What is wrong with the request, whatever the market has."""
    name = offer.instance_type
    if name not in INSTANCE_TYPES and name not in WORLD.extra_types:
        return NotSold("InvalidInstanceType", f"The following supplied instance types do not exist: [{name}]")
    if name in INSTANCE_TYPES and not _sold_in(backend.region_name, zone, name):
        text = f"Your requested instance type ({name}) is not supported in your requested Availability Zone ({zone})."
        return NotSold("Unsupported", text)
    image = backend.amis.get(offer.image)
    if image is None:
        return NotSold("InvalidAMIID.NotFound", f"The image id '[{offer.image}]' does not exist")
    if name in INSTANCE_TYPES and image.architecture not in _architectures(name):
        text = f"The architecture '{image.architecture}' of the specified AMI does not match that of {name}."
        return NotSold("InvalidParameterValue", text)
    profile = (offer.template.get("IamInstanceProfile") or {}).get("Name")
    if profile and profile not in _profiles(backend):
        return NotSold("InvalidParameterValue", f"Value ({profile}) for parameter iamInstanceProfile.name is invalid. "
                       "Invalid IAM Instance Profile name")  # fmt: skip
    return None


def _stock(backend: Any, offer: Offer, zone: str) -> NotSold | None:
    """Whether there is one left: in the reservation that was named, or on the market."""
    if offer.reservation is not None:
        held = WORLD.reservations.get(offer.reservation)
        fits = held is not None and (held["InstanceType"], held["AvailabilityZone"]) == (offer.instance_type, zone)
        if not fits or not _asked_right(offer, held or {}) or reservations.free(backend, offer.reservation) < 1:
            return NotSold(
                "ReservationCapacityExceeded",
                "The requested reservation does not have sufficient compatible and available capacity.",
            )
    elif offer.preference == "capacity-reservations-only" or offer.capacity_type in (
        "capacity-block",
        "reserved-capacity",
    ):
        return NotSold("ReservationCapacityExceeded", "No reservation was named that could be used.")
    code = WORLD.taken((offer.capacity_type if offer.reservation is None else "reserved", offer.instance_type, zone))
    if not code:
        return None
    text = f"We currently do not have sufficient {offer.instance_type} capacity in the Availability Zone you requested"
    return NotSold(code, f"{text} ({zone}).")


def _asked_right(offer: Offer, held: Answer) -> bool:
    """A block and an interruptible reservation are bought by fleets of their own kind."""
    kind = "capacity-block" if held["ReservationType"] == reservations.BLOCK else "on-demand"
    if held["Interruptible"]:
        kind = "reserved-capacity"
    market = {"capacity-block": "capacity-block", "reserved-capacity": "interruptible-capacity-reservation"}
    return offer.capacity_type == kind and offer.market == market.get(kind, "")


def _machine(backend: Any, offer: Offer, subnet: Any, tags: dict[str, dict[str, str]]) -> Any:
    template = offer.template
    groups = [group for nic in template.get("NetworkInterfaces") or [{}] for group in nic.get("Groups") or []]
    groups += template.get("SecurityGroupIds") or []
    own = tags_of(template.get("TagSpecifications"), "instance")
    if offer.specification:
        own |= {"aws:ec2launchtemplate:id": offer.specification["LaunchTemplateId"]}
    made = backend.run_instances(
        offer.image,
        1,
        template.get("UserData"),
        [],
        instance_type=offer.instance_type,
        is_instance_type_default=True,
        subnet_id=subnet.id,
        security_group_ids=list(dict.fromkeys(groups)),
        tags={"instance": {**own, **tags.get("instance", {})}, "volume": tags.get("volume", {})},
        lifecycle=LIFECYCLES.get(offer.capacity_type),
        metadata_options=template.get("MetadataOptions") or {},
        monitoring_state="enabled" if (template.get("Monitoring") or {}).get("Enabled") else "disabled",
        **offer.more,
    )
    instance = made.instances[0]
    _dressed(backend, instance, offer, subnet)
    begin(instance)
    return instance


def _dressed(backend: Any, instance: Any, offer: Offer, subnet: Any) -> None:
    """The fields of a machine that moto leaves out."""
    placement = offer.template.get("Placement") or {}
    instance.placement.availability_zone_id = subnet.availability_zone_id
    instance.placement.tenancy = placement.get("Tenancy") or "default"
    instance.placement.group_id = placement.get("GroupId")
    instance.placement.group_name = placement.get("GroupName")
    instance.placement.partition_number = placement.get("PartitionNumber") or _part_of(backend, placement)
    instance.profile_name = (offer.template.get("IamInstanceProfile") or {}).get("Name")
    instance.capacity_preference = offer.preference
    instance.capacity_reservation_id = offer.reservation
    if offer.capacity_type == SPOT:
        instance.spot_instance_request_id = f"sir-{next(_numbers):08x}"
    elif offer.reservation is None and offer.preference == "open":
        instance.capacity_reservation_id = reservations.open_to(backend, offer.instance_type, subnet.availability_zone)


def _part_of(backend: Any, placement: Answer) -> int | None:
    """The part of a placement group that EC2 chooses where nobody did: the one with the fewest machines."""
    names = (placement.get("GroupId"), placement.get("GroupName"))
    groups = WORLD.placement_groups.values()
    group = next((one for one in groups if one["GroupId"] in names or one["GroupName"] in names), None)
    if group is None or group["Strategy"] != "partition":
        return None
    held = Counter(
        getattr(one.placement, "partition_number", None)
        for made in backend.reservations.values()
        for one in made.instances
        if getattr(one.placement, "group_id", None) == group["GroupId"]
    )
    return min(range(1, group["PartitionCount"] + 1), key=lambda number: (held[number], number))


def _profiles(backend: Any) -> set[str]:
    held = iam_backends[backend.account_id]["aws"].instance_profiles
    return {one.name for one in held.values()}


@cache
def _sold_in(region: str, zone: str, name: str) -> bool:
    rows = INSTANCE_TYPE_OFFERINGS["availability-zone"].get(region, [])
    return any(row["InstanceType"] == name and row["Location"] == zone for row in rows)


@cache
def _architectures(name: str) -> frozenset[str]:
    return frozenset(INSTANCE_TYPES[name]["ProcessorInfo"]["SupportedArchitectures"])
