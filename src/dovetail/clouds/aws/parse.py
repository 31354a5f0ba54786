"""EC2's answers made into a listing, without asking anybody anything.

Every type EC2 describes is listed, also those that can never become a node; the rows of the latter are there with
their prices and are not available, and `refusal` says why. A type nobody sells in the region has no rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.wire import NetworkRow, TypeAnswer, ZoneRow
from dovetail.clouds.interned import Interned
from dovetail.clouds.options import DEFAULTS, LoadOptions
from dovetail.clouds.pricelist import PriceList
from dovetail.clouds.sorting import sorted_types
from dovetail.core import labels
from dovetail.core.catalog.allocatable import NodeRules
from dovetail.core.catalog.density import ByInterface
from dovetail.core.catalog.hardware import Disk, Hardware, Interfaces
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import Offering, sorted_offerings
from dovetail.core.errors import BadField
from dovetail.core.kubelet import ReserveStrategy
from dovetail.core.requirements import Requirements
from dovetail.core.resources import GIB, MIB, NOTHING, Resources

RULES: Final = NodeRules(density=ByInterface(), reserve=ReserveStrategy.EKS)
EBS_DRIVER: Final = "ebs.csi.aws.com"
_DISK_BYTES: Final = 20 * GIB
#: Graviton's firmware keeps this much before the operating system starts.
_ARM_FIRMWARE_BYTES: Final = 64 * MIB
_NOT_RESERVED: Final = {
    aws_labels.RESERVATION_ID: None,
    aws_labels.RESERVATION_TYPE: None,
    aws_labels.RESERVATION_INTERRUPTIBLE: None,
}
_GPU_RESOURCES: Final = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "habana": "habana.ai/gaudi"}


@dataclass(frozen=True, slots=True)
class Answers:
    """All that is known about a region: what EC2 answered, or the files that hold its answers."""

    region: str
    types: Iterable[TypeAnswer]
    zones: Sequence[ZoneRow]
    prices: PriceList = field(default_factory=PriceList)
    network: Mapping[str, NetworkRow] = field(default_factory=dict)
    source: str = "EC2 DescribeInstanceTypes"
    problems: tuple[BadField, ...] = ()


def listing_of(answers: Answers, options: LoadOptions = DEFAULTS) -> Listing:
    """Sort a region's answers into a listing; a type that cannot be read costs only itself."""
    reading = _Reading(answers, options)
    found = sorted_types(
        answers.types,
        answers.source,
        lambda one: one.instance_type,
        lambda one: (reading.hardware(one), sorted_offerings(reading.rows(one))),
    )
    return found.listing("aws", answers, RULES, aws_labels.DIALECT)


def refusal(one: TypeAnswer) -> str | None:
    """Why no node can be made of a type, or None."""
    if aws_labels.is_mac(one):
        return "a Mac, which runs macOS on a dedicated host"
    if aws_labels.architecture(one) is None:
        return "neither x86_64 nor arm64"
    if one.supported_virtualization_types and "hvm" not in one.supported_virtualization_types:
        return "paravirtual only; node images are made for hvm"
    return None


def devices_of(one: TypeAnswer, network: NetworkRow | None) -> Resources:
    """What pods can ask for besides the usual."""
    found: dict[str, int] = {}
    for gpu in one.gpu_info.gpus:
        resource = _GPU_RESOURCES.get(gpu.manufacturer.lower())
        if resource and gpu.devices:
            found[resource] = found.get(resource, 0) + gpu.devices
    neuron = one.neuron_info.neuron_devices
    if neuron:
        found["aws.amazon.com/neuron"] = sum(device.count for device in neuron)
        found["aws.amazon.com/neuroncore"] = sum(device.count * device.core_info.count for device in neuron)
    efa = one.network_info.efa_info
    if efa and efa.maximum_efa_interfaces:
        found["vpc.amazonaws.com/efa"] = efa.maximum_efa_interfaces
    if network and network.is_trunking_compatible and network.branch_enis:
        found["vpc.amazonaws.com/pod-eni"] = network.branch_enis
    return Resources(found) if found else NOTHING


def volume_limit(one: TypeAnswer) -> int | None:
    """How many EBS volumes pods can count on.

    EC2's number leaves room for the first network interface, local disks and GPUs, and for nothing else. One
    attachment is the root volume's, and where the limit is shared every further interface takes one. Interfaces come
    as pods do, so all of them are taken off: a volume that finds no slot leaves its pod waiting on a node it cannot
    leave.
    """
    ebs = one.ebs_info
    if ebs.maximum_ebs_attachments is None:
        return None
    left = ebs.maximum_ebs_attachments - 1
    if ebs.attachment_limit_type == "shared":
        left -= max(0, one.network_info.maximum_network_interfaces - 1)
    return max(1, left)


class _Reading:
    """One pass over one region's answers: what rows and types share is made once and handed around."""

    def __init__(self, answers: Answers, options: LoadOptions) -> None:
        self._answers = answers
        self._windows = options.windows
        self._disk = Disk(_DISK_BYTES if options.disk_bytes is None else options.disk_bytes)
        self._interned = Interned()
        self._interfaces: dict[tuple[int, int], Interfaces] = {}
        self._sold_in: dict[str, list[str]] = {}
        self._places: dict[tuple[str, str], Requirements] = {}
        self._anywhere = self._interned.requirements({labels.CAPACITY_TYPE: labels.ON_DEMAND, **_NOT_RESERVED})
        for zone in answers.zones:
            for name in zone.instance_types:
                self._sold_in.setdefault(name, []).append(zone.zone_name)
            for capacity_type in (labels.ON_DEMAND, labels.SPOT):
                self._places[zone.zone_name, capacity_type] = self._place(zone, capacity_type)

    def _place(self, zone: ZoneRow, capacity_type: str) -> Requirements:
        """What all rows of a zone and a capacity type have in common: everything but the price.

        Such a row is never in a reservation. Said here, so that a pool which demands one is not sold another.
        """
        pairs = {labels.ZONE: zone.zone_name, labels.CAPACITY_TYPE: capacity_type, **_NOT_RESERVED}
        return self._interned.requirements({**pairs, aws_labels.ZONE_ID: zone.zone_id} if zone.zone_id else pairs)

    def hardware(self, one: TypeAnswer) -> Hardware:
        labels.check_value(one.instance_type)
        network = self._answers.network.get(one.instance_type)
        told = aws_labels.of_type(one, network, self._answers.region, self._windows)
        why_not, limit = refusal(one), volume_limit(one)
        return Hardware(
            name=one.instance_type,
            cpu_millis=one.v_cpu_info.default_v_cpus * 1000,
            memory_bytes=one.memory_info.size_in_mib * MIB,
            firmware_bytes=_ARM_FIRMWARE_BYTES if told[labels.ARCH] == "arm64" else 0,
            requirements=self._interned.requirements(told),
            devices=devices_of(one, network),
            interfaces=self._interfaces_of(one),
            disk=self._disk,
            family=one.instance_type.partition(".")[0],
            volume_limits=() if limit is None else ((EBS_DRIVER, limit),),
            source=self._answers.source if why_not is None else f"{self._answers.source}; not launched: {why_not}",
        )

    def _interfaces_of(self, one: TypeAnswer) -> Interfaces | None:
        shape = (one.network_info.default_card_interfaces, one.network_info.ipv4_addresses_per_interface)
        if not all(shape):
            return None
        known = self._interfaces.get(shape)
        if known is None:
            known = self._interfaces[shape] = Interfaces(*shape)
        return known

    def rows(self, one: TypeAnswer) -> Iterator[Offering]:
        name = one.instance_type
        zones = self._sold_in.get(name, [])
        available = refusal(one) is None
        prices = self._answers.prices
        if labels.ON_DEMAND in one.supported_usage_classes:
            price = prices.on_demand.get(name)
            if not self._answers.zones and price is not None:
                yield Offering(self._anywhere, None, labels.ON_DEMAND, price, available)
            for zone in zones:
                place = self._places[zone, labels.ON_DEMAND]
                yield Offering(place, zone, labels.ON_DEMAND, price, available)
        if labels.SPOT in one.supported_usage_classes:
            for zone, price in zip(zones, prices.spot_in(name, zones), strict=True):
                place = self._places[zone, labels.SPOT]
                sold = available and (price is not None or not prices.spot_whole)
                yield Offering(place, zone, labels.SPOT, price, sold)
