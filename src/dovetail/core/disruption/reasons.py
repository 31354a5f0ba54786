"""Why a node is disrupted, and how hard each reason may push."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """The reasons a budget may name, and those it cannot: expiry and interruption are not asked.
    docs/reference/reasons.md is made from this."""

    EMPTY = "Empty"
    """nothing runs on it but daemons, for as long as `consolidateAfter` says"""
    DRIFTED = "Drifted"
    """it is not what its NodePool or node class asks for any more"""
    UNDERUTILIZED = "Underutilized"
    """its pods fit elsewhere, or on something cheaper, and the move pays"""
    UNHEALTHY = "Unhealthy"
    """a condition that is to be repaired has held for too long (gate `NodeRepair`)"""
    EXPIRED = "Expired"
    """it is older than `expireAfter`; budgets are asked with `--staggered-expiry` alone"""
    INTERRUPTED = "Interrupted"
    """its cloud takes it away, or warned that it will"""

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
