"""What EC2's own checks say of machines, asked once a minute; it needs no queue (`spec/aws` §7).

    instance_status   the machine does not answer: its network, its kernel, its disk         ended at once
    system_status     its host does not: power, network, hardware                           ended at once
    event_status      a reboot, a retirement or maintenance is planned                       drained before that

A check counts when it has failed for two minutes, since the first minutes of many a machine look like that. What its
disks report is left to whoever watches disks. Who may not ask is told so once and not asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from dovetail.clouds.aws import calls
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.nodeclass.verdicts import is_denied
from dovetail.clouds.port import Misconfigured, Notice
from dovetail.core.lifecycle import interruption

#: A little less than a round of `upkeep`, so that none is left out.
SECONDS: Final = 55.0
#: A check that fails for less may be a start, or a hiccup.
IMPAIRED_SECONDS: Final = 120.0
EVENTS: Final = ("instance-reboot", "system-reboot", "system-maintenance", "instance-retirement", "instance-stop")
#: What EC2 writes before the description of an event that is over.
_OVER: Final = ("[Completed]", "[Canceled]")
_IMPAIRED: Final = "impaired"
Wire = Mapping[str, Any]


def nobody(category: str) -> None:
    """Nobody counts."""


@dataclass(slots=True)
class Checks:
    """`counted` hears the category of each machine found unwell, once for each."""

    aws: Aws
    now: Callable[[], float]
    counted: Callable[[str], None] = nobody
    #: Why EC2 is not asked any more, "" as long as it is.
    refused: str = ""
    _due: float = 0.0
    _told: set[tuple[str, str]] = field(default_factory=set)

    async def look(self, ours: Mapping[str, str]) -> tuple[Notice, ...]:
        """Machines of ours, instance id to provider id, that are unwell and were not yet told of. CloudError if that
        cannot be known this time."""
        now = self.now()
        if self.refused or not ours or now < self._due:
            return ()
        self._due = now + SECONDS
        try:
            found = [(category, await self._asked(filters)) for category, filters in _QUESTIONS]
        except Misconfigured as refused:
            if is_denied(refused):
                self.refused = str(refused)
            raise
        self._told &= {(name, category) for name in ours for category, _ in _QUESTIONS}
        return tuple(self._new(found, ours, now))

    async def _asked(self, filters: Mapping[str, Iterable[str]]) -> tuple[Wire, ...]:
        wire = [{"Name": name, "Values": list(values)} for name, values in filters.items()]
        return await self.aws.all(calls.DESCRIBE_INSTANCE_STATUS, Filters=wire)

    def _new(self, found: list[tuple[str, tuple[Wire, ...]]], ours: Mapping[str, str], now: float) -> Iterable[Notice]:
        for category, statuses in found:
            for wire in statuses:
                name = str(wire.get("InstanceId", ""))
                ends = _ends(category, wire, now)
                if name not in ours or ends is None or (name, category) in self._told:
                    continue
                self._told.add((name, category))
                self.counted(category)
                yield Notice(ours[name], category, ends)


_QUESTIONS: Final[tuple[tuple[str, Mapping[str, Iterable[str]]], ...]] = (
    (interruption.INSTANCE_STATUS, {"instance-status.status": (_IMPAIRED,)}),
    (interruption.SYSTEM_STATUS, {"system-status.status": (_IMPAIRED,)}),
    (interruption.EVENT_STATUS, {"event.code": EVENTS}),
)
_CHECKS: Final = {interruption.INSTANCE_STATUS: "InstanceStatus", interruption.SYSTEM_STATUS: "SystemStatus"}


def _ends(category: str, wire: Wire, now: float) -> float | None:
    """By when its pods have to be gone, None if it is well."""
    if category == interruption.EVENT_STATUS:
        coming = [one for one in wire.get("Events") or () if _is_coming(one)]
        return min((_seconds(one.get("NotBefore"), now) for one in coming), default=None)
    details = (wire.get(_CHECKS[category]) or {}).get("Details") or ()
    since = min((_seconds(one.get("ImpairedSince"), now) for one in details if one.get("ImpairedSince")), default=now)
    return now if now - since >= IMPAIRED_SECONDS else None


def _is_coming(event: Wire) -> bool:
    return event.get("Code") in EVENTS and not str(event.get("Description", "")).startswith(_OVER)


def _seconds(when: object, otherwise: float) -> float:
    return when.timestamp() if isinstance(when, datetime) else otherwise
