"""RunInstances: one machine, of just the type and in just the subnet that were asked for.

As on EC2: the same client token is the same machine, an error with another request, and another error once the machine
is gone; a spot price above the bid, a
pool without stock, a key, group, image or placement group nobody has, and user data that is too long are refused, each
with its own code. What was asked for is kept in `WORLD.runs` for tests to look up: EC2 does not tell all of it again.
"""

from __future__ import annotations

import base64
import json
from typing import Any, Final

from tools.aws_server.buying import SPOT, NotSold, Offer, buy, subnet_named
from tools.aws_server.graft import Actions, Answer, dry_run, refused, tags_in
from tools.aws_server.instances import view
from tools.aws_server.lives import everyone, state_of
from tools.aws_server.world import WORLD

_USER_DATA_BYTES: Final = 16384
_ROOT_GIB: Final = 8
_TAGGED: Final = ("instance", "volume", "network-interface", "spot-instances-request")


def _run(response: Any) -> Answer:
    dry_run(response)
    request, backend = dict(response.params), response.ec2_backend
    if "LaunchTemplate" in request:
        raise refused("InvalidParameterValue", "launch templates are known to fleets only here")
    with WORLD.lock:
        token = request.get("ClientToken", "")
        digest = json.dumps(request, sort_keys=True, default=str)
        known = WORLD.run_tokens.get(token) if token else None
        if known is not None and known[0] != digest:
            text = "The request uses the same client token as a previous, but non-identical request."
            raise refused("IdempotentParameterMismatch", text)
        if known is not None:
            made = next(one for one in everyone(backend) if one.id == known[1])
            if state_of(made) == "terminated":
                text = f"The client token was used for instance {made.id}, which has been terminated."
                raise refused("IdempotentInstanceTerminated", text)
        else:
            tags = {kind: tags_in(response, kind) for kind in _TAGGED}
            made = _bought(backend, request, tags)
            WORLD.runs.append(request)
            if token:
                WORLD.run_tokens[token] = (digest, made.id)
    return {"ReservationId": f"r-{made.id[2:]}", "OwnerId": backend.account_id, "Instances": [view(made)]}


def _bought(backend: Any, request: Answer, tags: dict[str, dict[str, str]]) -> Any:
    _refuse_what_cannot_be(backend, request)
    subnet = _subnet(backend, request)
    _refuse_strange_groups(backend, request, subnet)
    market = request.get("InstanceMarketOptions") or {}
    kind = str(market.get("MarketType") or "on-demand")
    if kind == SPOT:
        _refuse_low_bid(market.get("SpotOptions") or {}, request["InstanceType"], subnet.availability_zone)
    first = _first(request)
    more = {
        "key_name": request.get("KeyName"),
        "client_token": request.get("ClientToken"),
        "associate_public_ip": _flag(first.get("AssociatePublicIpAddress")),
        "block_device_mappings": _disks(backend.amis.get(request.get("ImageId")), request),
    }
    brought = [one for one in request.get("NetworkInterfaces") or [] if one.get("NetworkInterfaceId")]
    if brought:
        more["nics"] = brought
    override = {"SubnetId": subnet.id, "InstanceType": request["InstanceType"], "ImageId": request.get("ImageId")}
    sold = buy(backend, Offer({}, override, request, kind, more), tags)
    if isinstance(sold, NotSold):
        raise refused(sold.code, sold.message)
    made = sold.instance
    made.brought_nics = {one["NetworkInterfaceId"] for one in brought}
    for one in made.nics.values():
        if one.id not in made.brought_nics:
            one.add_tags(tags["network-interface"])
    return made


def _first(request: Answer) -> Answer:
    listed = request.get("NetworkInterfaces") or [{}]
    return dict(min(listed, key=lambda one: int(one.get("DeviceIndex") or 0)))


def _flag(value: Any) -> bool | None:
    return None if value is None else str(value).lower() == "true"


def _subnet(backend: Any, request: Answer) -> Any:
    first = _first(request)
    brought = first.get("NetworkInterfaceId")
    if brought:
        held = backend.enis.get(brought)
        if held is None:
            text = f"The networkInterface ID '{brought}' does not exist"
            raise refused("InvalidNetworkInterfaceID.NotFound", text)
        return held.subnet
    name = first.get("SubnetId") or request.get("SubnetId")
    found = subnet_named(backend, name)
    if found is None:
        raise refused("InvalidSubnetID.NotFound", f"The subnet ID '{name}' does not exist")
    return found


def _refuse_what_cannot_be(backend: Any, request: Answer) -> None:
    if request.get("NetworkInterfaces") and (request.get("SubnetId") or request.get("SecurityGroupIds")):
        text = "Network interfaces and an instance-level subnet ID may not be specified on the same request"
        raise refused("InvalidParameterCombination", text)
    if (str(request.get("MinCount")), str(request.get("MaxCount"))) != ("1", "1"):
        raise refused("InvalidParameterValue", "one machine at a time is sold here")
    if len(base64.b64decode(request.get("UserData") or "")) > _USER_DATA_BYTES:
        raise refused("InvalidParameterValue", f"User data is limited to {_USER_DATA_BYTES} bytes")
    key = request.get("KeyName")
    if key and key not in backend.key_pairs:
        raise refused("InvalidKeyPair.NotFound", f"The key pair '{key}' does not exist")
    group = (request.get("Placement") or {}).get("GroupName")
    if group and group not in WORLD.placement_groups:
        raise refused("InvalidPlacementGroup.Unknown", f"The Placement Group '{group}' is unknown.")
    spot = (request.get("InstanceMarketOptions") or {}).get("MarketType") == SPOT
    wish = request.get("CapacityReservationSpecification") or {}
    if spot and wish.get("CapacityReservationTarget"):
        text = "A capacity reservation target cannot be specified with a spot instance"
        raise refused("InvalidParameterCombination", text)


def _refuse_strange_groups(backend: Any, request: Answer, subnet: Any) -> None:
    for name in _first(request).get("Groups") or []:
        held = backend.get_security_group_from_id(name)
        if held is None:
            raise refused("InvalidGroup.NotFound", f"The security group '{name}' does not exist")
        if held.vpc_id != subnet.vpc_id:
            text = f"Security group {name} and subnet {subnet.id} belong to different networks."
            raise refused("InvalidParameter", text)


def _refuse_low_bid(options: Answer, instance_type: str, zone: str) -> None:
    price, most = WORLD.spot.get((instance_type, zone)), options.get("MaxPrice")
    if price is not None and most and float(most) < price:
        told = f"Your Spot request price of {most} is lower than the minimum required Spot request fulfillment price"
        raise refused("SpotMaxPriceTooLow", f"{told} of {price:g}.")


def _disks(image: Any, request: Answer) -> list[Answer]:
    """Those of the image, each as the request changes it, and then the request's own."""
    held = {one["DeviceName"]: dict(one["Ebs"]) for one in image.block_device_mappings} if image else {}
    for one in request.get("BlockDeviceMappings") or []:
        held.setdefault(one["DeviceName"], {"VolumeSize": _ROOT_GIB}).update(_ebs(one.get("Ebs") or {}))
    return [{"DeviceName": name, "Ebs": {"VolumeSize": _ROOT_GIB, **ebs}} for name, ebs in held.items()]


def _ebs(wire: Answer) -> Answer:
    flags = {key: bool(_flag(wire[key])) for key in ("DeleteOnTermination", "Encrypted") if key in wire}
    sizes = {key: int(wire[key]) for key in ("VolumeSize",) if key in wire}
    return {**wire, **flags, **sizes}


ACTIONS: Final[Actions] = {"RunInstances": _run}
