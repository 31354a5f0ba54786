"""What EventBridge puts into the queue, read: which machines will be taken away, why, and when.

    source       detail-type                                          read as
    aws.ec2      EC2 Spot Instance Interruption Warning               spot_interrupted, two minutes from then
    aws.ec2      EC2 Instance Rebalance Recommendation                rebalance_recommendation, nobody says when
    aws.ec2      EC2 Instance State-change Notification               instance_stopped, instance_terminated, or nothing
    aws.ec2      EC2 Capacity Reservation Instance Interruption …     capacity_reservation_interrupted, with its end
    aws.health   AWS Health Event, EC2, scheduledChange               scheduled_change, from its start on
    anything else                                                     no_op

A message is bad if it cannot be read at all, or is one of these and lacks what they have: `BadInput`. Of one that is
somebody else's business nothing is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Any, Final

import msgspec

from dovetail.core import timestamps
from dovetail.core.errors import BadInput, BadValue
from dovetail.core.lifecycle import interruption

#: Somebody else's business.
NO_OP: Final = "no_op"
#: How long after the warning EC2 takes a spot machine back.
SPOT_SECONDS: Final = 120.0
_VERSION: Final = "0"
_STATES: Final = MappingProxyType(
    {
        "stopping": interruption.STOPPED,
        "stopped": interruption.STOPPED,
        "shutting-down": interruption.TERMINATED,
        "terminated": interruption.TERMINATED,
    }
)


@dataclass(frozen=True, slots=True)
class Event:
    """One message. `kind` is a word of `core.lifecycle.interruption`, or `NO_OP`; `at` is when EventBridge says that it
    happened, `ends` when the machines go, as far as anybody knows."""

    kind: str
    id: str = ""
    instances: tuple[str, ...] = ()
    at: float | None = None
    ends: float | None = None


Wire = Mapping[str, Any]


def read(body: str) -> Event:
    """One message's body. BadInput for one that cannot be read."""
    try:
        wire = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeEncodeError) as bad:
        raise BadValue(f"the message is no JSON: {bad}") from bad
    if not isinstance(wire, dict):
        raise BadValue(f"the message is no event but a {type(wire).__name__}")
    reader = _READERS.get((str(wire.get("source")), str(wire.get("detail-type"))))
    if wire.get("version") != _VERSION or reader is None:
        return Event(NO_OP, str(wire.get("id") or ""))
    return reader(wire)


def _event(wire: Wire, kind: str, ends: Callable[[Wire, float | None], float | None]) -> Event:
    at = _moment(wire.get("time"))
    return Event(kind, _text(wire, "id"), (_text(_detail(wire), "instance-id"),), at, ends(_detail(wire), at))


def _spot(wire: Wire) -> Event:
    return _event(wire, interruption.SPOT, lambda _, at: None if at is None else at + SPOT_SECONDS)


def _rebalance(wire: Wire) -> Event:
    return _event(wire, interruption.REBALANCE, lambda *_: None)


def _state(wire: Wire) -> Event:
    kind = _STATES.get(_text(_detail(wire), "state"))
    return Event(NO_OP, str(wire.get("id") or "")) if kind is None else _event(wire, kind, lambda *_: None)


def _reservation(wire: Wire) -> Event:
    def ends(detail: Wire, at: float | None) -> float | None:
        return _moment(detail.get("instance-termination-time")) or (None if at is None else at + SPOT_SECONDS)

    return _event(wire, interruption.RESERVATION, ends)


def _health(wire: Wire) -> Event:
    detail = _detail(wire)
    if detail.get("service") != "EC2" or detail.get("eventTypeCategory") != "scheduledChange":
        return Event(NO_OP, str(wire.get("id") or ""))
    entities = detail.get("affectedEntities")
    if not isinstance(entities, list):
        raise BadValue("detail.affectedEntities of a health event is no list")
    ids = [one.get("entityValue") for one in entities if isinstance(one, dict)]
    named = tuple(one for one in ids if isinstance(one, str) and one)
    at = _moment(wire.get("time"))
    return Event(interruption.SCHEDULED, _text(wire, "id"), named, at, _moment(detail.get("startTime")))


_READERS: Final[Mapping[tuple[str, str], Callable[[Wire], Event]]] = MappingProxyType(
    {
        ("aws.ec2", "EC2 Spot Instance Interruption Warning"): _spot,
        ("aws.ec2", "EC2 Instance Rebalance Recommendation"): _rebalance,
        ("aws.ec2", "EC2 Instance State-change Notification"): _state,
        ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"): _reservation,
        # AWS's documentation has had it under this name too.
        ("aws.ec2", "EC2 Interruptible Capacity Reservation Instance Interruption Warning"): _reservation,
        ("aws.health", "AWS Health Event"): _health,
    }
)


def _detail(wire: Wire) -> Wire:
    detail = wire.get("detail")
    if not isinstance(detail, dict):
        raise BadValue("the event has no detail")
    return detail


def _text(wire: Wire, key: str) -> str:
    value = wire.get(key)
    if not isinstance(value, str) or not value:
        raise BadValue(f"the event has no {key}")
    return value


def _moment(written: object) -> float | None:
    """A time as EventBridge or, in words, as AWS Health writes it; None for one that cannot be read: that a machine
    goes is worth more than when."""
    if not isinstance(written, str):
        return None
    try:
        return timestamps.seconds(written)
    except BadInput:
        pass
    try:
        return parsedate_to_datetime(written).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
