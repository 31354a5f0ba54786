"""A cloud says that it will take a machine away: its claim leaves now, in good order, while there is time.

Pods drain as they do from any node that leaves, and those that wait then are planned anew. What was taken away once is
not bought again for a while.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dovetail.core import labels, timestamps
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.effects import Count, Delete, Effect, Ref, Say, Step
from dovetail.core.lifecycle import reasons
from dovetail.core.nodeclaims import NodeClaim

SPOT: Final = "spot_interrupted"
#: The cloud thinks that it may take the machine away before long; nothing has to happen at once.
REBALANCE: Final = "rebalance_recommended"
#: What a cloud may say, with the event that tells people of it.
EVENTS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        SPOT: ("SpotInterrupted", "Spot interruption warning was triggered"),
        REBALANCE: ("SpotRebalanceRecommendation", "Spot rebalance recommendation was triggered"),
        "instance_stopped": ("InstanceStopping", "Instance is stopping"),
        "instance_terminated": ("InstanceTerminating", "Instance is terminating"),
        "capacity_reservation_interrupted": (
            "CapacityReservationInstanceInterrupted",
            "Capacity reservation interruption warning was triggered",
        ),
    }
)


def interrupted(claim: NodeClaim, kind: str, ends: float | None) -> Step:
    """End the claim of a machine that will be taken away."""
    if claim.is_deleting:
        return Step()
    ref = Ref("NodeClaim", claim.name, claim.meta.uid)
    event, message = EVENTS.get(kind, ("TerminatingOnInterruption", "The cloud will take this machine away"))
    when = f" (until {timestamps.text(ends)})" if ends is not None else ""
    effects: list[Effect] = [
        Say(ref, event, f"{message}{when}", warning=True, dedupe=(claim.name,)),
        Delete(ref),
        Count("nodeclaims_disrupted_total", reasons.disrupted(claim, kind)),
    ]
    return Step(tuple(effects))


def shortage(claim: NodeClaim, kind: str) -> Shortage | None:
    """What the market evidently has too few of."""
    told = claim.meta.labels
    if kind != SPOT or told.get(labels.CAPACITY_TYPE) != labels.SPOT or labels.INSTANCE_TYPE not in told:
        return None
    return Shortage(told[labels.INSTANCE_TYPE], told.get(labels.ZONE), labels.SPOT)
