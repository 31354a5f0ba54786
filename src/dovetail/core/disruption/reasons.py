"""Why a node is disrupted, and how hard each reason may push."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """The reasons a budget may name, and those it cannot: expiry and interruption are not asked."""

    EMPTY = "Empty"
    DRIFTED = "Drifted"
    UNDERUTILIZED = "Underutilized"
    UNHEALTHY = "Unhealthy"
    EXPIRED = "Expired"
    INTERRUPTED = "Interrupted"

    @property
    def is_eventual(self) -> bool:
        """Whether a claim's terminationGracePeriod lets it pass pods that would otherwise hold the node."""
        return self in (Reason.DRIFTED, Reason.UNHEALTHY, Reason.EXPIRED, Reason.INTERRUPTED)


#: The reasons budgets and windows are asked about.
BUDGETED: Final = (Reason.EMPTY, Reason.DRIFTED, Reason.UNDERUTILIZED, Reason.UNHEALTHY, Reason.EXPIRED)


class ConsolidationPolicy(StrEnum):
    WHEN_EMPTY = "WhenEmpty"
    WHEN_UNDERUTILIZED = "WhenEmptyOrUnderutilized"
    BALANCED = "Balanced"


class Decision(StrEnum):
    """What a command does; also a label of the counters."""

    DELETE = "delete"
    REPLACE = "replace"
    TERMINATE_FIRST = "terminate-first"
    REBOOT = "reboot"
