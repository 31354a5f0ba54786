"""Capacity reservations: on demand, in blocks, interruptible.

How many are free follows from the machines that run in them. A machine that asks for no particular reservation and does
not opt out takes one that is open to it, as on EC2. When a reservation ends its machines go on on-demand, except those
of a block, which EC2 takes back half an hour before its end.
"""

from __future__ import annotations

import datetime as dt
import itertools
import uuid
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from tools.aws_server.graft import Actions, Answer, dry_run, filters_of, matches, page, refused, tag_list, tags_in
from tools.aws_server.lives import end, everyone, is_live
from tools.aws_server.wire import instant
from tools.aws_server.world import WORLD

ACCOUNT: Final = "123456789012"
BLOCK: Final = "capacity-block"
_LARGEST_PAGE: Final = 1000
_BLOCK_LEAD: Final = dt.timedelta(minutes=30)
_FIELDS: Final = {
    "state": "State",
    "owner-id": "OwnerId",
    "instance-type": "InstanceType",
    "availability-zone": "AvailabilityZone",
    "instance-match-criteria": "InstanceMatchCriteria",
    "reservation-type": "ReservationType",
    "tenancy": "Tenancy",
    "end-date-type": "EndDateType",
}
_numbers = itertools.count(1)


def reserve(instance_type: str, zone: str, count: int, **more: Any) -> str:
    """A reservation, as if somebody had made it; `more` are fields of EC2's answer. Its id."""
    ends = more.get("EndDate")
    found = {
        "CapacityReservationId": f"cr-{next(_numbers):017x}",
        "OwnerId": ACCOUNT,
        "InstanceType": instance_type,
        "InstancePlatform": "Linux/UNIX",
        "AvailabilityZone": zone,
        "Tenancy": "default",
        "TotalInstanceCount": count,
        "State": "active",
        "EndDateType": "limited" if ends else "unlimited",
        "InstanceMatchCriteria": "targeted",
        "ReservationType": "default",
        "Interruptible": False,
        "CreateDate": instant(WORLD.now),
        "StartDate": instant(WORLD.now),
        "Tags": [],
        **more,
    }
    WORLD.reservations[found["CapacityReservationId"]] = found
    return str(found["CapacityReservationId"])


def views(backend: Any, held: Iterable[Answer]) -> list[Answer]:
    """Reservations as EC2 describes them now."""
    used = Counter(one.capacity_reservation_id for one in in_reservations(backend))
    return [_view(one, used[one["CapacityReservationId"]]) for one in held]


def _view(one: Answer, used: int) -> Answer:
    free = max(one["TotalInstanceCount"] - used, 0) if is_open(one) else 0
    state = one["State"] if one["State"] != "active" or is_open(one) else "expired"
    return {**one, "State": state, "AvailableInstanceCount": free}


def is_open(one: Answer) -> bool:
    return one["State"] == "active" and (one.get("EndDate") is None or instant(WORLD.now) < one["EndDate"])


def free(backend: Any, reservation_id: str) -> int:
    held = WORLD.reservations.get(reservation_id)
    return views(backend, [held])[0]["AvailableInstanceCount"] if held else 0


def in_reservations(backend: Any) -> list[Any]:
    """Live machines that run in a reservation; those whose reservation has ended are let go of first."""
    found = []
    for one in everyone(backend):
        name = getattr(one, "capacity_reservation_id", None)
        if name is None or not is_live(one):
            continue
        held = WORLD.reservations.get(name)
        if held is not None and held["ReservationType"] == BLOCK and _reclaimed(held):
            end(one)
        elif held is None or not is_open(held):
            one.capacity_reservation_id = None
        else:
            found.append(one)
    return found


def _reclaimed(block: Answer) -> bool:
    return block.get("EndDate") is not None and instant(WORLD.now) >= block["EndDate"] - _BLOCK_LEAD


def open_to(backend: Any, instance_type: str, zone: str) -> str | None:
    """An open reservation that a machine without a wish would run in."""
    for one in views(backend, WORLD.reservations.values()):
        wanted = (one["InstanceMatchCriteria"], one["InstanceType"], one["AvailabilityZone"], one["ReservationType"])
        if wanted == ("open", instance_type, zone, "default") and one["AvailableInstanceCount"] > 0:
            return str(one["CapacityReservationId"])
    return None


def _create(response: Any) -> Answer:
    dry_run(response)
    get = response._get_param
    more = {
        "InstancePlatform": get("InstancePlatform"),
        "Tenancy": get("Tenancy") or "default",
        "InstanceMatchCriteria": get("InstanceMatchCriteria") or "open",
        "Tags": tag_list(tags_in(response, "capacity-reservation")),
        "CapacityReservationId": f"cr-{uuid.uuid4().hex[:17]}",
    }
    if ends := get("EndDate"):
        more["EndDate"] = dt.datetime.fromisoformat(ends) if isinstance(ends, str) else ends
    name = reserve(get("InstanceType"), get("AvailabilityZone"), int(get("InstanceCount")), **more)
    return {"CapacityReservation": views(response.ec2_backend, [WORLD.reservations[name]])[0]}


def _describe(response: Any) -> Answer:
    dry_run(response)
    ids = response._get_param("CapacityReservationIds", []) or []
    if ids and response._get_param("MaxResults"):
        raise refused("InvalidParameterCombination", "MaxResults cannot be used with CapacityReservationIds")
    held = [_held(one) for one in ids] if ids else [WORLD.reservations[one] for one in sorted(WORLD.reservations)]
    filters = filters_of(response)
    found = [one for one in views(response.ec2_backend, held) if matches(one, filters, _FIELDS)]
    here, more = page(response, found, _LARGEST_PAGE)
    return {"CapacityReservations": here, "NextToken": more}


def _cancel(response: Any) -> Answer:
    dry_run(response)
    _held(response._get_param("CapacityReservationId"))["State"] = "cancelled"
    return {"Return": True}


def _modify(response: Any) -> Answer:
    dry_run(response)
    held = _held(response._get_param("CapacityReservationId"))
    if (count := response._get_param("InstanceCount")) is not None:
        held["TotalInstanceCount"] = int(count)
    if (ends := response._get_param("EndDate")) is not None:
        held["EndDate"] = dt.datetime.fromisoformat(ends) if isinstance(ends, str) else ends
        held["EndDateType"] = "limited"
    return {"Return": True}


def _held(name: str) -> Answer:
    try:
        return WORLD.reservations[name]
    except KeyError:
        missing = f"The capacity reservation ID '{name}' does not exist"
        raise refused("InvalidCapacityReservationId.NotFound", missing) from None


ACTIONS: Final[Actions] = {
    "CreateCapacityReservation": _create,
    "DescribeCapacityReservations": _describe,
    "CancelCapacityReservation": _cancel,
    "ModifyCapacityReservation": _modify,
}
