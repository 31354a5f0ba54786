"""What a CapacityBuffer says of itself: whether its pods are known, and whether there is room for them (§1.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dovetail.core import conditions
from dovetail.core.conditions import Condition, Conditions, Moment, Status

READY: Final = "ReadyForProvisioning"
PROVISIONING: Final = "Provisioning"
RESOLVED: Final = "Resolved"
NO_TEMPLATE: Final = "PodTemplateNotFound"
NO_WORKLOAD: Final = "ScalableRefNotFound"
FAILED: Final = "ResolutionFailed"


@dataclass(frozen=True, slots=True)
class Room:
    """Where the pods of one buffer went in a plan."""

    there: int = 0
    new: int = 0
    refused: int = 0

    @property
    def seen(self) -> int:
        return self.there + self.new + self.refused


def resolved(held: Conditions, reason: str, message: str, at: Moment) -> Conditions:
    """Whether it is known what the buffer consists of; `reason` is `RESOLVED` or why not."""
    status = Status.TRUE if reason == RESOLVED else Status.FALSE
    return conditions.put(held, Condition(READY, status, reason, message), at)


def provisioned(held: Conditions, replicas: int, room: Room, at: Moment) -> Conditions:
    """Whether there is room for it. Of a buffer whose pods were not all in the plan nothing new is known."""
    if not conditions.is_true(held, READY):
        new = Condition(PROVISIONING, Status.FALSE, "NotReadyForProvisioning", "the buffer is not resolved")
    elif not replicas:
        new = Condition(PROVISIONING, Status.FALSE, "BufferEmpty", "the buffer comes to no pods")
    elif room.new or room.refused:
        told = f"{room.new}/{replicas} virtual pods required new capacity, {room.refused} failed"
        new = Condition(PROVISIONING, Status.FALSE, "RequiresNewCapacity", told)
    elif room.there >= replicas:
        told = f"there is room for all {replicas} virtual pods"
        new = Condition(PROVISIONING, Status.TRUE, "FitsExistingCapacity", told)
    else:
        return held
    return conditions.put(held, new, at)
