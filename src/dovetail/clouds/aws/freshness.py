"""How old what we know is, and since when it could not be renewed: one line for each thing that is asked for.

A price list that cannot be had for a week is no reason to stop: the old one stays in force, its age grows where people
and metrics can see it, and after a while a sentence says so.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from dovetail.core import timestamps

#: What is older than so many of its own intervals is worth a sentence in a condition.
PATIENCE: Final = 2.0
_DAY: Final = 86_400.0


class Subject(StrEnum):
    """What is asked for, each at its own pace."""

    TYPES = "instance types"
    ON_DEMAND = "on-demand prices"
    SPOT = "spot prices"


@dataclass(frozen=True, slots=True)
class Fresh:
    """One subject. `as_of` is when it was true, in seconds since 1970: when it was heard, or the date of the files.
    `problem` is why it was not renewed since; `skipped` why nobody tries."""

    live: bool = False
    as_of: float | None = None
    problem: str = ""
    failing_since: float | None = None
    failures: int = 0
    skipped: str = ""

    def age(self, now: float) -> float | None:
        return None if self.as_of is None else max(0.0, now - self.as_of)

    def dated(self, subject: Subject) -> str:
        """In a sentence that stays the same until something changes: a condition is not written every minute."""
        origin = "heard from AWS" if self.live else "as bundled with this program"
        when = "of unknown date" if self.as_of is None else f"as of {timestamps.text(self.as_of)}"
        why = self.skipped or self.problem
        return f"{subject}: {origin}, {when}{'; ' + why if why else ''}"

    def told(self, subject: Subject, now: float) -> str:
        """In a sentence."""
        origin = "heard from AWS" if self.live else "as bundled with this program"
        age = self.age(now)
        old = "of unknown age" if age is None else f"{_length(age)} old"
        why = self.skipped or self.problem
        return f"{subject}: {origin}, {old}{'; ' + why if why else ''}"


@dataclass(slots=True)
class Freshness:
    """All subjects. Changed by `discovery`, read by metrics and conditions."""

    by_subject: dict[Subject, Fresh] = field(default_factory=lambda: dict.fromkeys(Subject, Fresh()))

    def bundled(self, dates: Mapping[Subject, str | None]) -> None:
        for subject, date in dates.items():
            self.by_subject[subject] = Fresh(as_of=_moment(date))

    def heard(self, subject: Subject, at: float) -> None:
        self.by_subject[subject] = Fresh(live=True, as_of=at)

    def failed(self, subject: Subject, why: str, at: float) -> int:
        """It could not be had, once more. How often in a row."""
        old = self.by_subject[subject]
        since = old.failing_since if old.failing_since is not None else at
        self.by_subject[subject] = replace(old, problem=why, failing_since=since, failures=old.failures + 1)
        return old.failures + 1

    def skipped(self, subject: Subject, why: str) -> None:
        self.by_subject[subject] = replace(self.by_subject[subject], skipped=why)

    def ages(self, now: float) -> Mapping[Subject, float]:
        """For a metric: seconds, of those whose age is known."""
        found = {subject: one.age(now) for subject, one in self.by_subject.items()}
        return {subject: age for subject, age in found.items() if age is not None}

    def stale(self, intervals: Mapping[Subject, float], now: float) -> tuple[Subject, ...]:
        """What has failed for longer than a hiccup."""
        return tuple(
            subject
            for subject, one in self.by_subject.items()
            if one.failing_since is not None and now - one.failing_since >= PATIENCE * intervals[subject]
        )

    def complaints(self, intervals: Mapping[Subject, float], now: float) -> tuple[str, ...]:
        """For people: what is stale, and how old by now."""
        return tuple(self.by_subject[subject].told(subject, now) for subject in self.stale(intervals, now))


def _moment(date: str | None) -> float | None:
    if not date:
        return None
    try:
        return dt.datetime.fromisoformat(date).replace(tzinfo=dt.UTC).timestamp()
    except ValueError:
        return None


def _length(seconds: float) -> str:
    if seconds >= 2 * _DAY:
        return f"{seconds / _DAY:.0f} days"
    if seconds >= 2 * 3600:
        return f"{seconds / 3600:.0f} hours"
    return f"{seconds / 60:.0f} minutes"
