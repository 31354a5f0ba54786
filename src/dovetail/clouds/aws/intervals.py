"""How often EC2 is asked what node classes select."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: Answers are let go so much early: a class that is looked at again after exactly an interval would find the old one
#: every second time.
EARLY_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Intervals:
    """For how many seconds an answer is used. Classes are looked at as often as these defaults say, whatever is set, so
    that less than them means nothing."""

    images: float = 300.0
    subnets: float = 60.0
    groups: float = 300.0
