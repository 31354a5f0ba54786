"""The capacity reservations a class may use (S3.1, S3.2): selected, counted, and told of before they end.

A capacity block is taken back half an hour before its end, and nodes need ten minutes to be drained before that: from
forty minutes before its end on it is expiring, and nothing more is bought from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from dovetail.clouds.aws import calls, selecting
from dovetail.clouds.aws.nodeclass.memory import Memory
from dovetail.clouds.aws.nodeclass.spec import Term, shown
from dovetail.clouds.aws.nodeclass.verdicts import RESERVATIONS, Look, Verdict, failed, good
from dovetail.clouds.aws.resolved import CAPACITY_BLOCK, DEFAULT_RESERVATION, HeldReservation
from dovetail.clouds.port import CloudError, NotFound
from dovetail.core import timestamps

SECONDS: Final = 55.0
AGAIN: Final = 60.0
EXPIRY_LEAD: Final = 40 * 60.0
#: An object may have a megabyte and a half, and an entry takes some 300 bytes; all are used, so many are shown.
MOST_SHOWN: Final = 1000
_KINDS: Final = (DEFAULT_RESERVATION, CAPACITY_BLOCK)
_CRITERIA: Final = ("open", "targeted")


@dataclass(frozen=True, slots=True)
class Seen:
    """A reservation as EC2 told of it, and when it was asked."""

    held: HeldReservation
    criteria: str
    available: int
    total: int
    asked: float


async def look(memory: Memory, terms: Sequence[Term]) -> Look[tuple[Seen, ...]]:
    """All that the terms select, by id."""
    by_id: dict[str, Seen] = {}
    strange: list[str] = []
    idle: list[int] = []
    problem = None
    for at, question in enumerate(selecting.reservations(terms)):
        try:
            answer = await memory.all(calls.DESCRIBE_RESERVATIONS, question, SECONDS)
        except NotFound:
            idle.append(at)
            continue
        except CloudError as error:
            return Look(failed(RESERVATIONS, error), None, AGAIN, error)
        problem = problem or answer.problem
        open_ones = [one for one in answer.value if _is_open(one, memory.now())]
        strange += [_strange(one) for one in open_ones if not _is_known(one)]
        by_id |= {one["CapacityReservationId"]: _seen(one, answer.at) for one in open_ones if _is_known(one)}
        if not open_ones:
            idle.append(at)
    seen = tuple(_stated(by_id[name], memory.now()) for name in sorted(by_id))
    return Look(_judged(terms, seen, idle, strange), seen, _again(seen, memory.now()), problem)


def _ends(wire: Mapping[str, Any]) -> float | None:
    end = wire.get("EndDate")
    return end.timestamp() if isinstance(end, datetime) else None


def _is_open(wire: Mapping[str, Any], now: float) -> bool:
    end = _ends(wire)
    return end is None or end > now


def _is_known(wire: Mapping[str, Any]) -> bool:
    return wire.get("InstanceMatchCriteria") in _CRITERIA and _kind(wire) in _KINDS


def _kind(wire: Mapping[str, Any]) -> str:
    return str(wire.get("ReservationType") or DEFAULT_RESERVATION)


def _strange(wire: Mapping[str, Any]) -> str:
    return f"{wire['CapacityReservationId']} ({_kind(wire)}, {wire.get('InstanceMatchCriteria')})"


def _seen(wire: Mapping[str, Any], asked: float) -> Seen:
    held = HeldReservation(
        wire["CapacityReservationId"],
        wire["InstanceType"],
        wire["AvailabilityZone"],
        _kind(wire),
        bool(wire.get("Interruptible")),
        str(wire.get("OwnerId", "")),
        _ends(wire),
    )
    free, total = int(wire.get("AvailableInstanceCount", 0)), int(wire.get("TotalInstanceCount", 0))
    return Seen(held, str(wire["InstanceMatchCriteria"]), free, total, asked)


def _stated(one: Seen, now: float) -> Seen:
    """Whether it is about to end changes while the answer is remembered."""
    held = one.held
    soon = held.kind == CAPACITY_BLOCK and held.ends_at is not None and now >= held.ends_at - EXPIRY_LEAD
    return replace(one, held=replace(held, expiring=soon)) if soon else one


def _again(seen: Iterable[Seen], now: float) -> float:
    """In a minute, or when the first of them ends, or begins to."""
    moments = []
    for one in seen:
        if one.held.ends_at is not None:
            moments.append(one.held.ends_at - now)
            if one.held.kind == CAPACITY_BLOCK:
                moments.append(one.held.ends_at - EXPIRY_LEAD - now)
    return max(1.0, min((AGAIN, *(one for one in moments if one > 0))))


def _judged(terms: Sequence[Term], seen: Sequence[Seen], idle: Sequence[int], strange: Sequence[str]) -> Verdict:
    """Never bad for what is not there: without a reservation nodes are bought as the pool otherwise allows."""
    told = []
    if idle:
        told.append(f"no open reservation is selected by {shown(terms, 'capacityReservationSelectorTerms', idle)}")
    if strange:
        told.append(f"of a kind this version does not know: {', '.join(strange)}")
    if len(seen) > MOST_SHOWN:
        told.append(f"{len(seen)} are selected and used, of which the status shows {MOST_SHOWN}")
    return good(RESERVATIONS, "; ".join(told))


def status(seen: Sequence[Seen]) -> list[dict[str, object]]:
    """`status.capacityReservations`. Where there are more than fit, those with room are shown first."""
    shown_ones = seen
    if len(seen) > MOST_SHOWN:
        roomy = sorted(seen, key=lambda one: (one.available == 0, one.held.id))[:MOST_SHOWN]
        shown_ones = sorted(roomy, key=lambda one: one.held.id)
    return [_entry(one) for one in shown_ones]


def _entry(one: Seen) -> dict[str, object]:
    held = one.held
    entry: dict[str, object] = {
        "id": held.id,
        "availabilityZone": held.zone,
        "instanceType": held.instance_type,
        "ownerID": held.owner,
        "instanceMatchCriteria": one.criteria,
        "reservationType": held.kind,
        "interruptible": held.interruptible,
        "state": "expiring" if held.expiring else "active",
        "availableInstanceCount": one.available,
        "totalInstanceCount": one.total,
    }
    return entry if held.ends_at is None else {**entry, "endTime": timestamps.text(held.ends_at)}
