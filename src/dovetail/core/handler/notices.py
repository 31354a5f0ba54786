"""What a cloud says about the end of a machine, in one shape for all clouds.

A *notice* has an identity that stays the same while the cloud repeats itself, so that an answer given every second is
still one notice. Times that nobody said are guessed when the notice is first seen, and marked as guesses: the first
guess holds, for guessing anew at every look would push the end away for ever.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from dovetail.core import timestamps
from dovetail.core.errors import BadValue

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HTTP_DATE: Final = re.compile(
    r"(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) (?:GMT|UTC)", re.ASCII
)


class Kind(StrEnum):
    """Why a machine is spoken of; what follows from each is the policy's to say."""

    #: It is taken away: spot interruption, preemption, a deletion that was announced.
    PREEMPT = "preempt"
    #: It may be taken away before long.
    REBALANCE = "rebalance"
    #: It is stopped, rebooted or moved with its disks lost.
    MAINTENANCE = "maintenance"
    #: It stands still for seconds and goes on: a live migration.
    FREEZE = "freeze"
    #: It has run for nearly as long as it may.
    AGE_LIMIT = "age-limit"


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing a cloud said. `deadline` is in seconds since 1970, None where there is no end in sight."""

    id: str
    kind: Kind
    source: str
    deadline: float | None
    #: Whether the machine is gone for good afterwards, so that its Machine has to be replaced.
    ends: bool = True
    #: Whether nobody said the deadline.
    guessed: bool = False
    #: What the cloud called it.
    about: str = ""
    #: What may be acknowledged once the node is empty, so that nobody waits for the rest of the notice.
    acknowledge: str = ""


def http_date(written: str) -> float:
    """`Mon, 19 Sep 2016 18:29:47 GMT`, with or without the day of the week, in seconds since 1970."""
    found = _HTTP_DATE.fullmatch(written.strip())
    if found is None or found[2] not in _MONTHS:
        raise BadValue(f"{written[:40]!r} is not a time such as Mon, 19 Sep 2016 18:29:47 GMT")
    month = _MONTHS.index(found[2]) + 1
    return timestamps.seconds(f"{found[3]}-{month:02d}-{int(found[1]):02d}T{found[4]}Z")
