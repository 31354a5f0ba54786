"""What stands in a launch template: a node class, an image and a way of buying, in EC2's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dovetail.clouds.aws import tags
from dovetail.clouds.aws.described import INTERRUPTIBLE, ONLY_RESERVED
from dovetail.clouds.aws.resolved import CAPACITY_BLOCK, Disk, HeldReservation, Interface, Network, ResolvedClass
from dovetail.clouds.aws.templates import encoded
from dovetail.core import labels

#: Pods that ask for it are to run in an enclave.
SANDBOX: Final = "eks.amazonaws.com/nitro-sandbox"
Wire = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Content:
    """Everything a template depends on besides its node class."""

    image_id: str
    user_data: str
    capacity_type: str
    reservation: HeldReservation | None = None
    efas: int = 0
    tenancy: str = "default"
    partition: int = 0
    enclaves: bool = False


def data_of(content: Content, resolved: ResolvedClass, told: Mapping[str, str]) -> Wire:
    """LaunchTemplateData. `told` are the tags of what the machine brings with it."""
    service = resolved.metadata
    data: Wire = {
        "ImageId": content.image_id,
        "IamInstanceProfile": {"Name": resolved.profile},
        "Monitoring": {"Enabled": resolved.detailed_monitoring},
        "NetworkInterfaces": _interfaces(content, resolved),
        "MetadataOptions": {
            "HttpEndpoint": service.endpoint,
            "HttpProtocolIpv6": service.ipv6,
            "HttpPutResponseHopLimit": service.hops,
            "HttpTokens": service.tokens,
            "InstanceMetadataTags": "disabled",
        },
        "TagSpecifications": _tags(content, told),
    }
    if content.reservation is not None or resolved.opts_out:
        data["CapacityReservationSpecification"] = _reservation(content.reservation)
    if content.user_data:
        data["UserData"] = encoded(content.user_data)
    if resolved.disks:
        data["BlockDeviceMappings"] = [_disk(one) for one in resolved.disks]
    if placement := _placement(content, resolved):
        data["Placement"] = placement
    if resolved.nested_virtualization:
        data["CpuOptions"] = {"NestedVirtualization": resolved.nested_virtualization}
    if resolved.enclaves or content.enclaves:
        data["EnclaveOptions"] = {"Enabled": True}
    if market := market_of(content.reservation):
        data["InstanceMarketOptions"] = {"MarketType": market}
    return data


def _reservation(held: HeldReservation | None) -> Wire:
    """A machine runs in the reservation it names, or in none: not in whichever is open to it (S3.8)."""
    if held is None:
        return {"CapacityReservationPreference": "none"}
    target = {"CapacityReservationId": held.id}
    return {"CapacityReservationPreference": ONLY_RESERVED, "CapacityReservationTarget": target}


def market_of(held: HeldReservation | None) -> str:
    """The kind of capacity EC2 must be asked for, "" for what every fleet may ask for."""
    if held is None:
        return ""
    return INTERRUPTIBLE if held.interruptible else CAPACITY_BLOCK if held.kind == CAPACITY_BLOCK else ""


def _tags(content: Content, told: Mapping[str, str]) -> list[Wire]:
    found = [tags.specification("network-interface", told)]
    if content.capacity_type == labels.SPOT:
        found.append(tags.specification("spot-instances-request", told))
    return found


def _placement(content: Content, resolved: ResolvedClass) -> Wire:
    found: Wire = {} if content.tenancy == "default" else {"Tenancy": content.tenancy}
    if resolved.placement_group is not None:
        found["GroupId"] = resolved.placement_group.id
        if content.partition:
            found["PartitionNumber"] = content.partition
    return found


def _disk(one: Disk) -> Wire:
    ebs = {
        "VolumeSize": one.size_gib,
        "VolumeType": one.volume_type,
        "Iops": one.iops,
        "Throughput": one.throughput,
        "VolumeInitializationRate": one.initialization_rate,
        "SnapshotId": one.snapshot_id,
        "KmsKeyId": one.kms_key_id,
        "Encrypted": one.encrypted,
        "DeleteOnTermination": one.delete_on_termination,
    }
    return {"DeviceName": one.device, "Ebs": {key: value for key, value in ebs.items() if value is not None}}


# ---- network interfaces: security groups stand on them, not on the machine


def _interfaces(content: Content, resolved: ResolvedClass) -> list[Wire]:
    network = resolved.network
    if network.interfaces:
        return [_interface(one, resolved) for one in network.interfaces]
    if content.efas:
        return [_efa(number, resolved) for number in range(content.efas)]
    return [_interface(Interface(0, 0), resolved)]


def _interface(one: Interface, resolved: ResolvedClass) -> Wire:
    found: Wire = {
        "DeviceIndex": one.device,
        "InterfaceType": "efa-only" if one.efa_only else "interface",
        "Groups": sorted(resolved.security_groups),
        "DeleteOnTermination": True,
    }
    if one.card:
        found["NetworkCardIndex"] = one.card
    if one.efa_only:
        return found
    return {**found, **_tracking(resolved.network), **(_first(resolved.network) if _is_first(one) else {})}


def _efa(number: int, resolved: ResolvedClass) -> Wire:
    """As many EFAs as were asked for, each on a card of its own; the first is the machine's own interface."""
    network = resolved.network
    found: Wire = {
        "DeviceIndex": 0 if number == 0 else 1,
        "NetworkCardIndex": number,
        "InterfaceType": "efa",
        "Groups": sorted(resolved.security_groups),
        "DeleteOnTermination": True,
    }
    return {**found, **_tracking(network), **(_first(network) if number == 0 else {})}


def _is_first(one: Interface) -> bool:
    return (one.card, one.device) == (0, 0)


def _first(network: Network) -> Wire:
    """What only the first interface can have: addresses."""
    found: Wire = {}
    if network.public_address is not None:
        found["AssociatePublicIpAddress"] = network.public_address
    if network.ipv6:
        found |= {"PrimaryIpv6": True, "Ipv6AddressCount": 1}
    if network.prefixes:
        found["Ipv6PrefixCount" if network.ipv6 else "Ipv4PrefixCount"] = network.prefixes
    return found


def _tracking(network: Network) -> Wire:
    held = network.tracking
    if held is None:
        return {}
    found = {
        "TcpEstablishedTimeout": held.tcp_established,
        "UdpStreamTimeout": held.udp_stream,
        "UdpTimeout": held.udp,
    }
    return {"ConnectionTrackingSpecification": {key: value for key, value in found.items() if value is not None}}
