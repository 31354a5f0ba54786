"""What the metadata of a Compute Engine instance says of its end: two words, and never when."""

from __future__ import annotations

from typing import Final

from dovetail.core.errors import BadValue
from dovetail.core.handler.notices import Kind, Notice

PREEMPTED: Final = "instance/preempted"
MAINTENANCE: Final = "instance/maintenance-event"
#: From the ACPI signal to the plug; what a preempted instance gets at most.
LEAD_SECONDS: Final = 30.0
#: From the word to the stop of an instance that cannot be moved while it runs.
MAINTENANCE_LEAD_SECONDS: Final = 3600.0


def preempted(text: str, now: float) -> tuple[Notice, ...]:
    """`TRUE` or `FALSE`."""
    match text.strip().upper():
        case "FALSE":
            return ()
        case "TRUE":
            deadline = now + LEAD_SECONDS
            return (Notice("preempted", Kind.PREEMPT, PREEMPTED, deadline, guessed=True, about="preempted"),)
        case _:
            raise BadValue(f"{PREEMPTED}: {text[:60]!r} is neither TRUE nor FALSE")


def maintenance(text: str, now: float, *, preemptible: bool) -> tuple[Notice, ...]:
    """`NONE`, or what happens to the instance. A preemptible one is not started again, and has half a minute."""
    said = text.strip().upper()
    match said:
        case "NONE":
            return ()
        case "MIGRATE_ON_HOST_MAINTENANCE":
            return (Notice("host-maintenance", Kind.FREEZE, MAINTENANCE, None, ends=False, about="live migration"),)
        case "TERMINATE_ON_HOST_MAINTENANCE":
            kind = Kind.PREEMPT if preemptible else Kind.MAINTENANCE
            deadline = now + (LEAD_SECONDS if preemptible else MAINTENANCE_LEAD_SECONDS)
            about = "stop for host maintenance"
            return (
                Notice("host-maintenance", kind, MAINTENANCE, deadline, ends=preemptible, guessed=True, about=about),
            )
        case _:
            raise BadValue(f"{MAINTENANCE}: {text[:60]!r} is no maintenance event")
