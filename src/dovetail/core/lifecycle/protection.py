"""`karpenter.sh/do-not-disrupt` on a pod: for ever, for a while since the pod started, or nothing anybody can read."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Final

from dovetail.core import timestamps
from dovetail.core.effects import Ref, Say
from dovetail.core.errors import BadInput

ANNOTATION: Final = "karpenter.sh/do-not-disrupt"
_FOREVER: Final = "true"


class Unreadable(StrEnum):
    """What an annotation says that protects nothing."""

    VALUE = "neither true nor a duration above zero"


def until(note: str, started: float) -> float | Unreadable | None:
    """Until when a pod is protected: for ever (infinity) also while it has not started, None without the annotation."""
    if not note:
        return None
    if note == _FOREVER:
        return math.inf
    try:
        asked = timestamps.duration(note)
    except BadInput:
        return Unreadable.VALUE
    if asked <= 0:
        return Unreadable.VALUE
    return started + asked if started else math.inf


def holds(note: str, started: float, now: float) -> bool:
    ends = until(note, started)
    return isinstance(ends, float) and now < ends


def told(pod: Ref, note: str, started: float, now: float) -> Say | None:
    """What people hear of it: nothing where it holds for ever."""
    ends = until(note, started)
    if ends is None or (isinstance(ends, float) and math.isinf(ends)):
        return None
    if isinstance(ends, Unreadable):
        said = f"Invalid {ANNOTATION} annotation: {note!r} is {ends.value}, ignoring annotation"
        return Say(pod, "InvalidDoNotDisruptAnnotation", said, warning=True, dedupe=(pod.uid, note))
    if now < ends:
        said = f"The {ANNOTATION} grace period will elapse at {timestamps.text(ends)}"
        return Say(pod, "DoNotDisruptUntil", said, dedupe=(pod.uid, note))
    said = f"The {ANNOTATION} grace period has elapsed, pod is now disruptable"
    return Say(pod, "DoNotDisruptGracePeriodElapsed", said, dedupe=(pod.uid, note))
