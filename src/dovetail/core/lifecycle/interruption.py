"""A cloud says that it will take a machine away: its claim leaves now, in good order, while there is time.

Pods drain as they do from any node that leaves, and those that wait then are planned anew. What was taken away once is
not bought again for a while.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from dovetail.core import labels, timestamps
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.effects import Count, Delete, Effect, Ref, SaveClaim, Say, Step
from dovetail.core.lifecycle import reasons
from dovetail.core.nodeclaims import TERMINATION_TIME, NodeClaim, NodeObject

SPOT: Final = "spot_interrupted"
#: The cloud thinks that it may take the machine away before long; nothing has to happen at once.
REBALANCE: Final = "rebalance_recommendation"
STOPPED: Final = "instance_stopped"
TERMINATED: Final = "instance_terminated"
#: Maintenance is planned: a reboot, a retirement, a move to another host.
SCHEDULED: Final = "scheduled_change"
EVENT_STATUS: Final = "event_status"
#: Somebody takes back what was lent from a reservation, or the reservation's time is over.
RESERVATION: Final = "capacity_reservation_interrupted"
EXPIRING: Final = "capacity_reservation_expiring"
#: The cloud lets a machine live so long and no longer.
LIFETIME: Final = "lifetime_ending"
#: The cloud's own checks of a machine, or of its host, have failed for a while.
INSTANCE_STATUS: Final = "instance_status"
SYSTEM_STATUS: Final = "system_status"
#: A machine that is broken cannot end its pods in good order: nobody waits for them, nor for disruption budgets.
FORCEFUL: Final = frozenset({INSTANCE_STATUS, SYSTEM_STATUS})
#: How every cloud's label ends that says in which reservation a machine runs.
_RESERVATION_ID: Final = "/capacity-reservation-id"
_TERMINATING: Final = "TerminatingOnInterruption"
#: What a cloud may say, with the event that tells people of it.
EVENTS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        SPOT: ("SpotInterrupted", "Spot interruption warning was triggered"),
        REBALANCE: ("SpotRebalanceRecommendation", "Spot rebalance recommendation was triggered"),
        STOPPED: ("InstanceStopping", "Instance is stopping"),
        TERMINATED: ("InstanceTerminating", "Instance is terminating"),
        SCHEDULED: ("InstanceUnhealthy", "An instance health event is scheduled"),
        EVENT_STATUS: ("InstanceUnhealthy", "The cloud has planned maintenance of this instance"),
        INSTANCE_STATUS: ("InstanceUnhealthy", "The cloud's check of this instance has failed"),
        SYSTEM_STATUS: ("InstanceUnhealthy", "The cloud's check of this instance's host has failed"),
        RESERVATION: (
            "CapacityReservationInstanceInterrupted",
            "Capacity reservation interruption warning was triggered",
        ),
        EXPIRING: ("CapacityReservationExpiring", "The capacity block this instance runs in is about to end"),
        LIFETIME: ("LifetimeEnding", "The cloud ends this instance before long; there is time to drain it now"),
    }
)


def interrupted(claim: NodeClaim, kind: str, ends: float | None, nodes: Iterable[NodeObject] = ()) -> Step:
    """End the claim of a machine that will be taken away. People are told on the claim, and on its nodes."""
    if claim.is_deleting:
        return Step()
    ref = Ref("NodeClaim", claim.name, claim.meta.uid)
    effects: list[Effect] = [
        *_told(ref, kind, ends),
        *(said for one in nodes for said in _told(Ref("Node", one.name, one.meta.uid), kind, ends)),
        *((SaveClaim(claim, _by(claim, ends)),) if kind in FORCEFUL and ends is not None else ()),
        Delete(ref),
        Count("nodeclaims_disrupted_total", reasons.disrupted(claim, kind)),
    ]
    return Step(tuple(effects))


def _told(about: Ref, kind: str, ends: float | None) -> Iterator[Say]:
    """What the cloud said, and beside it what follows from that."""
    event, message = EVENTS.get(kind, (_TERMINATING, "The cloud will take this machine away"))
    when = f" (until {timestamps.text(ends)})" if ends is not None else ""
    yield Say(about, event, f"{message}{when}", warning=kind != REBALANCE, dedupe=(about.kind, about.name))
    if kind != REBALANCE and event != _TERMINATING:
        follows = f"Interruption triggered termination for the {about.kind}"
        yield Say(about, _TERMINATING, follows, warning=True, dedupe=(about.kind, about.name))


def _by(claim: NodeClaim, deadline: float) -> NodeClaim:
    """The claim with the time by which its pods are gone."""
    notes = MappingProxyType({**claim.meta.annotations, TERMINATION_TIME: timestamps.text(deadline)})
    return replace(claim, meta=replace(claim.meta, annotations=notes))


def shortage(claim: NodeClaim, kind: str) -> Shortage | None:
    """What the market evidently has too few of: the spot pool, or the reservation whose owner wants it back."""
    told = claim.meta.labels
    name, zone, capacity_type = told.get(labels.INSTANCE_TYPE), told.get(labels.ZONE), told.get(labels.CAPACITY_TYPE)
    if name is None:
        return None
    if kind == SPOT and capacity_type == labels.SPOT:
        return Shortage(name, zone, labels.SPOT)
    if kind == RESERVATION and capacity_type == labels.RESERVED:
        reserved = next((told[key] for key in sorted(told) if key.endswith(_RESERVATION_ID)), None)
        return None if reserved is None else Shortage(name, zone, labels.RESERVED, reserved)
    return None
