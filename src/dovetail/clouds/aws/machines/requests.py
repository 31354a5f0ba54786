"""What EC2 is asked for: one order → one RunInstances request, the same however often it is made out.

On spot it is always a one-time request whose instance is terminated when EC2 wants it back (R17, R18): a persistent one
would be filled again by EC2 itself (R11, R20), and an instance that is only stopped would come back (R19). No capacity
is asked about beforehand (R13), and nothing is chosen: the type is the object's own (R7).
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from typing import Final

from dovetail.clouds.aws import tags
from dovetail.clouds.aws.machines import disks, marks
from dovetail.clouds.aws.machines.disks import Image
from dovetail.clouds.aws.machines.homes import Home
from dovetail.clouds.aws.machines.places import Place
from dovetail.clouds.aws.machines.specs import Network, Spec, Standing, Wire
from dovetail.clouds.machines import UserData
from dovetail.core.errors import BadValue
from dovetail.core.machines.infra_objects import Purchase, Wanted

#: EC2's limit, before it is encoded.
LONGEST_USER_DATA: Final = 16384
_PACKABLE: Final = "cloud-config"


@dataclass(frozen=True, slots=True)
class Setting:
    """What an order is filled with: the image's disks, the place, what the cluster adds."""

    image: Image
    place: Place
    home: Home = field(default_factory=Home)


def run_instances(purchase: Purchase, spec: Spec, setting: Setting, boot: UserData) -> Wire:
    """Raises BadInput for what cannot be asked for."""
    image, home = setting.image, setting.home
    told = marks.of(purchase, spec.tags, home.tags)
    request: Wire = {
        "ClientToken": purchase.token,
        "MinCount": 1,
        "MaxCount": 1,
        "ImageId": image.id,
        "InstanceType": purchase.wanted.instance_type,
        "NetworkInterfaces": _interfaces(spec.network, setting.place),
        "BlockDeviceMappings": disks.mappings(spec, image),
        "TagSpecifications": [tags.specification(kind, told) for kind in _tagged(purchase.wanted, spec)],
        "UserData": user_data(boot, spec.packs),
        "KeyName": home.key if spec.key is None else spec.key,
        "IamInstanceProfile": {"Name": spec.profile} if spec.profile else None,
        "InstanceMarketOptions": _market(purchase.wanted, spec.standing),
        "Placement": _placement(spec.standing),
        "CapacityReservationSpecification": _reservation(spec.standing),
        "MetadataOptions": dict(spec.metadata),
        "PrivateDnsNameOptions": dict(spec.dns),
        "CpuOptions": dict(spec.cpu),
    }
    return {key: value for key, value in request.items() if value}


def user_data(boot: UserData, packs: bool) -> bytes:
    """As it is if it fits, packed if that makes it fit and it may be: cloud-init unpacks what it is fed."""
    if len(boot.data) <= LONGEST_USER_DATA:
        return boot.data
    packed = gzip.compress(boot.data, mtime=0) if packs and boot.format == _PACKABLE else boot.data
    if len(packed) > LONGEST_USER_DATA:
        also = f", {len(packed)} packed" if packed is not boot.data else ""
        raise BadValue(
            f"bootstrap data is {len(boot.data)} bytes long{also}, and EC2 takes {LONGEST_USER_DATA}; "
            "shorten it, or have it fetched from elsewhere"
        )
    return packed


def _market(wanted: Wanted, standing: Standing) -> Wire:
    if standing.block:
        return {"MarketType": "capacity-block"}
    if not wanted.market.is_interruptible:
        return {}
    options = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
    return {"MarketType": "spot", "SpotOptions": options | ({"MaxPrice": wanted.max_price} if wanted.max_price else {})}


def _interfaces(network: Network, place: Place) -> list[Wire]:
    """Security groups and the subnet stand on the interface: beside it EC2 does not take them."""
    if network.interfaces:
        return [{"DeviceIndex": at, "NetworkInterfaceId": name} for at, name in enumerate(network.interfaces)]
    first: Wire = {"DeviceIndex": 0, "SubnetId": place.subnet, "DeleteOnTermination": True}
    if place.groups:
        first["Groups"] = list(place.groups)
    if network.public is not None:
        first["AssociatePublicIpAddress"] = network.public
    if network.efa:
        first["InterfaceType"] = "efa"
    return [first]


def _tagged(wanted: Wanted, spec: Spec) -> tuple[str, ...]:
    """What is made with an instance; interfaces that were there before are not."""
    kinds = ["instance", "volume"]
    if not spec.network.interfaces:
        kinds.append("network-interface")
    if wanted.market.is_interruptible:
        kinds.append("spot-instances-request")
    return tuple(kinds)


def _placement(standing: Standing) -> Wire:
    told = {"Tenancy": standing.tenancy, "GroupName": standing.group, "PartitionNumber": standing.partition}
    return {key: value for key, value in told.items() if value}


def _reservation(standing: Standing) -> Wire:
    if standing.reservation:
        return {"CapacityReservationTarget": {"CapacityReservationId": standing.reservation}}
    return {"CapacityReservationPreference": standing.preference} if standing.preference else {}
