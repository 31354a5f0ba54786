"""What a user may choose about notices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from dovetail.core.handler.notices import Kind


class Response(IntEnum):
    """What follows from a notice; more is more urgent."""

    IGNORE = 0
    #: New pods stay away; those there stay.
    MARK = 1
    DRAIN = 2


RESPONSES: Final[Mapping[Kind, Response]] = MappingProxyType(
    {
        Kind.PREEMPT: Response.DRAIN,
        Kind.REBALANCE: Response.MARK,
        Kind.MAINTENANCE: Response.DRAIN,
        Kind.FREEZE: Response.IGNORE,
        Kind.AGE_LIMIT: Response.DRAIN,
    }
)
NO_SCHEDULE: Final = "NoSchedule"
EFFECTS: Final = (NO_SCHEDULE, "NoExecute", "PreferNoSchedule")


@dataclass(frozen=True, slots=True)
class Policy:
    """`reserve` is what is left of the notice when the last pod has to be gone: a kubelet still has to tell of it."""

    responses: Mapping[Kind, Response] = field(default_factory=lambda: RESPONSES)
    reserve: float = 5.0
    #: What part of the time disruption budgets are respected for.
    force_after: float = 0.5
    #: No pod gets a longer grace than this; None for its own.
    pod_grace: float | None = None
    #: Maintenance further away than this is not acted upon yet.
    lead: float = 900.0
    #: How long a drain may take for which nobody set an end.
    patience: float = 600.0
    taint_effect: str = NO_SCHEDULE
    #: Tell the cluster that the node is out of service once it is empty, so that volumes come off quickly.
    out_of_service: bool = False
    #: Delete the Machine, where no health check does.
    delete_machine: bool = False
    #: Say that we are ready once the node is empty, where the cloud listens.
    acknowledge: bool = True
    #: Say what would be done, and do nothing.
    dry_run: bool = False
