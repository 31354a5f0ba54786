"""DescribeInstanceStatus: health checks, and events that are coming."""

from __future__ import annotations

from typing import Any, Final

from tools.aws_server.graft import Actions, Answer, dry_run, filters_of, matches, page, refused
from tools.aws_server.instances import named
from tools.aws_server.lives import CODES, everyone, is_seen, state_of
from tools.aws_server.wire import instant
from tools.aws_server.world import WORLD

_LARGEST_PAGE: Final = 1000
_MOST_IDS: Final = 100
_FIELDS: Final = {
    "instance-state-name": "InstanceState.Name",
    "availability-zone": "AvailabilityZone",
    "instance-status.status": "InstanceStatus.Status",
    "system-status.status": "SystemStatus.Status",
    "attached-ebs-status.status": "AttachedEbsStatus.Status",
    "event.code": "Events.Code",
}


def impair(instance_id: str, check: str = "InstanceStatus", since: float | None = None) -> None:
    """Have a check of a machine fail; `check` is InstanceStatus, SystemStatus or AttachedEbsStatus."""
    began = instant(WORLD.now if since is None else since)
    details = [{"Name": "reachability", "Status": "failed", "ImpairedSince": began}]
    WORLD.impaired.setdefault(instance_id, {})[check] = {"Status": "impaired", "Details": details}


def schedule(instance_id: str, code: str, at: float) -> None:
    """Have AWS plan something with a machine: instance-retirement, system-reboot …"""
    event = {
        "InstanceEventId": f"instance-event-{len(WORLD.impaired):017x}",
        "Code": code,
        "Description": f"The instance is scheduled for {code}",
        "NotBefore": instant(at),
    }
    WORLD.impaired.setdefault(instance_id, {}).setdefault("Events", []).append(event)


def _view(instance: Any) -> Answer:
    state = state_of(instance)
    status = "ok" if state == "running" else "not-applicable"
    well = {"Status": status, "Details": [{"Name": "reachability", "Status": "passed"}]}
    return {
        "InstanceId": instance.id,
        "AvailabilityZone": instance.availability_zone,
        "InstanceState": {"Code": CODES[state], "Name": state},
        "InstanceStatus": well,
        "SystemStatus": well,
        "AttachedEbsStatus": well,
        "Events": [],
        **WORLD.impaired.get(instance.id, {}),
    }


def _describe(response: Any) -> Answer:
    dry_run(response)
    ids = response._get_param("InstanceIds", []) or []
    if ids and response._get_param("MaxResults"):
        raise refused("InvalidParameterCombination", "instancesSet cannot be used with the parameter maxResults")
    if len(ids) > _MOST_IDS:
        raise refused("InvalidParameterValue", f"more than {_MOST_IDS} instance IDs")
    backend, filters = response.ec2_backend, filters_of(response)
    everything = bool(response._get_param("IncludeAllInstances", False))
    held = named(backend, ids, seen_only=True) if ids else [one for one in everyone(backend) if is_seen(one)]
    found = [_view(one) for one in held if everything or state_of(one) == "running"]
    here, more = page(response, [one for one in found if matches(one, filters, _FIELDS)], _LARGEST_PAGE)
    return {"InstanceStatuses": here, "NextToken": more}


ACTIONS: Final[Actions] = {"DescribeInstanceStatus": _describe}
