"""Events in their two versions: `v1`, which is what is kept, and `events.k8s.io/v1`, which renames fields."""

from __future__ import annotations

from typing import Any, Final

_OLD_TO_NEW: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_NEW_TO_OLD: Final = {new: old for old, new in _OLD_TO_NEW.items()}


def newer(event: dict[str, Any]) -> dict[str, Any]:
    return {_OLD_TO_NEW.get(name, name): value for name, value in event.items()}


def older(event: dict[str, Any]) -> dict[str, Any]:
    return {_NEW_TO_OLD.get(name, name): value for name, value in event.items()}


def older_label(label: str) -> str:
    """The stored field a selector of the newer version means."""
    head, dot, rest = label.partition(".")
    return f"{_NEW_TO_OLD.get(head, head)}{dot}{rest}"
