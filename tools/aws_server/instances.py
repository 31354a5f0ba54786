"""Machines as EC2 tells of them: described, terminated, restarted.

Filters with the same name hold together here; moto keeps the last of them. Describing is quick, since an answer is
a plain dict of what a provisioner may read.
"""

from __future__ import annotations

from typing import Any, Final

from tools.aws_server.graft import Actions, Answer, dry_run, filters_of, matches, page, refused, tags_on
from tools.aws_server.lives import CODES, end, everyone, is_seen, life_of, state_of
from tools.aws_server.reservations import in_reservations
from tools.aws_server.wire import instant
from tools.aws_server.world import WORLD

_LARGEST_PAGE: Final = 1000
_FIELDS: Final = {
    "instance-id": "InstanceId",
    "instance-state-name": "State.Name",
    "instance-state-code": "State.Code",
    "instance-type": "InstanceType",
    "instance-lifecycle": "InstanceLifecycle",
    "image-id": "ImageId",
    "availability-zone": "Placement.AvailabilityZone",
    "subnet-id": "SubnetId",
    "vpc-id": "VpcId",
    "client-token": "ClientToken",
    "capacity-reservation-id": "CapacityReservationId",
    "instance.group-id": "SecurityGroups.GroupId",
    "placement-group-name": "Placement.GroupName",
    "private-dns-name": "PrivateDnsName",
    "spot-instance-request-id": "SpotInstanceRequestId",
}


def view(instance: Any) -> Answer:
    """One machine as DescribeInstances has it."""
    state, life = state_of(instance), life_of(instance)
    gone = state == "terminated"
    return {
        "InstanceId": instance.id,
        "ImageId": instance.image_id,
        "InstanceType": instance.instance_type,
        "State": {"Code": CODES[state], "Name": state},
        "LaunchTime": instant(life.born),
        "Placement": _placement(instance),
        "SubnetId": None if gone else instance.subnet_id,
        "VpcId": None if gone else instance.vpc_id,
        "PrivateIpAddress": None if gone else instance.private_ip_address,
        "PrivateDnsName": "" if gone else instance.private_dns_name,
        "PublicIpAddress": None if gone else instance.public_ip,
        "PublicDnsName": None if gone else instance.public_dns_name,
        "ClientToken": instance.client_token,
        "KeyName": instance.key_name,
        "SecurityGroups": [{"GroupId": one.id, "GroupName": one.name} for one in instance.security_groups],
        "IamInstanceProfile": _profile(instance),
        "Architecture": instance.architecture,
        "InstanceLifecycle": instance.lifecycle,
        "SpotInstanceRequestId": getattr(instance, "spot_instance_request_id", None),
        "CapacityReservationId": getattr(instance, "capacity_reservation_id", None),
        "CapacityReservationSpecification": {
            "CapacityReservationPreference": getattr(instance, "capacity_preference", "open")
        },
        "Monitoring": {"State": instance.monitoring_state},
        "Tags": tags_on(instance),
    }


def _placement(instance: Any) -> Answer:
    held = instance.placement
    return {
        "AvailabilityZone": held.availability_zone,
        "AvailabilityZoneId": getattr(held, "availability_zone_id", None),
        "Tenancy": held.tenancy,
        "GroupId": getattr(held, "group_id", None),
        "GroupName": getattr(held, "group_name", None),
        "PartitionNumber": getattr(held, "partition_number", None),
    }


def _profile(instance: Any) -> Answer | None:
    name = getattr(instance, "profile_name", None)
    return {"Arn": f"arn:aws:iam::{instance.owner_id}:instance-profile/{name}", "Id": name} if name else None


def _describe(response: Any) -> Answer:
    dry_run(response)
    ids = response._get_param("InstanceIds", []) or []
    if ids and response._get_param("MaxResults"):
        raise refused("InvalidParameterCombination", "instancesSet cannot be used with the parameter maxResults")
    backend, filters = response.ec2_backend, filters_of(response)
    in_reservations(backend)
    found = named(backend, ids, seen_only=True) if ids else [one for one in everyone(backend) if is_seen(one)]
    views = [one for one in map(view, found) if matches(one, filters, _FIELDS)]
    here, more = (views, None) if ids else page(response, views, _LARGEST_PAGE)
    reservations = [
        {"ReservationId": f"r-{one['InstanceId'][2:]}", "OwnerId": backend.account_id, "Instances": [one]}
        for one in here
    ]
    return {"Reservations": reservations, "NextToken": more}


def named(backend: Any, ids: list[str], seen_only: bool = False) -> list[Any]:
    """All of these, or the error EC2 gives for the whole call."""
    held = {one.id: one for one in everyone(backend) if not seen_only or is_seen(one)}
    missing = [one for one in ids if one not in held]
    if missing:
        one, many = f"The instance ID '{missing[0]}' does not exist", ", ".join(missing)
        text = one if len(missing) == 1 else f"The instance IDs '{many}' do not exist"
        raise refused("InvalidInstanceID.NotFound", text)
    return [held[one] for one in dict.fromkeys(ids)]


def _terminate(response: Any) -> Answer:
    dry_run(response)
    found = []
    with WORLD.lock:
        for one in named(response.ec2_backend, response._get_param("InstanceIds", [])):
            before = end(one)
            now = state_of(one)
            found.append({"InstanceId": one.id, "CurrentState": _state(now), "PreviousState": _state(before)})
    return {"TerminatingInstances": found}


def _state(name: str) -> Answer:
    return {"Code": CODES[name], "Name": name}


def _reboot(response: Any) -> Answer:
    dry_run(response)
    for one in named(response.ec2_backend, response._get_param("InstanceIds", [])):
        life_of(one).boots += 1
    return {}


ACTIONS: Final[Actions] = {
    "DescribeInstances": _describe,
    "TerminateInstances": _terminate,
    "RebootInstances": _reboot,
}
