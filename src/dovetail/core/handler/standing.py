"""What every source last said, and the one notice that follows from all of it.

An answer without a notice that was there before takes it back, but only after as many such answers in a row as the
source has `doubts`: a metadata server that stumbles must not make a node look safe. A source that does not answer says
nothing at all, neither that there is a notice nor that there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from dovetail.core.handler.notices import Kind, Notice
from dovetail.core.handler.policy import Policy, Response

_NONE: Final[Mapping[str, int]] = MappingProxyType({})
_NEVER: Final = float("inf")


@dataclass(frozen=True, slots=True)
class Told:
    """One source: its notices, and how often in a row it left each of them out."""

    source: str
    doubts: int = 1
    notices: tuple[Notice, ...] = ()
    absent: Mapping[str, int] = field(default_factory=lambda: _NONE)
    answers: int = 0

    def heard(self, said: tuple[Notice, ...]) -> Told:
        known = {one.id: one for one in self.notices}
        new = {one.id: _kept(known.get(one.id), one) for one in said}
        absent = {name: self.absent.get(name, 0) + 1 for name in known if name not in new}
        doubted = tuple(known[name] for name, times in absent.items() if times < self.doubts)
        return replace(
            self,
            notices=(*new.values(), *doubted),
            absent=MappingProxyType({one.id: absent[one.id] for one in doubted}),
            answers=self.answers + 1,
        )


def _kept(before: Notice | None, now: Notice) -> Notice:
    """The newest word, with the first guess where the deadline is one."""
    if before is None or before.deadline is None or not now.guessed:
        return now
    deadline = before.deadline if now.deadline is None else min(before.deadline, now.deadline)
    return replace(now, deadline=deadline, guessed=before.guessed)


@dataclass(frozen=True, slots=True)
class Standing:
    """All sources of one machine."""

    told: tuple[Told, ...] = ()

    def heard(self, source: str, said: tuple[Notice, ...]) -> Standing:
        return Standing(tuple(one.heard(said) if one.source == source else one for one in self.told))

    @property
    def notices(self) -> tuple[Notice, ...]:
        return tuple(notice for one in self.told for notice in one.notices)

    @property
    def settled(self) -> bool:
        """Whether every source has answered often enough to be believed when it says that there is nothing."""
        return all(one.answers >= one.doubts for one in self.told)

    def reminded(self, name: str, deadline: float) -> Standing:
        """The same, where an earlier process saw the notice first: its guess was earlier, and is the better one."""
        return Standing(tuple(replace(one, notices=_reminded(one.notices, name, deadline)) for one in self.told))


def _reminded(notices: Iterable[Notice], name: str, deadline: float) -> tuple[Notice, ...]:
    return tuple(
        replace(one, deadline=deadline)
        if one.id == name and one.guessed and one.deadline is not None and deadline < one.deadline
        else one
        for one in notices
    )


@dataclass(frozen=True, slots=True)
class Task:
    """A notice to act upon, and how."""

    notice: Notice
    response: Response

    @property
    def replaces(self) -> bool:
        """Whether the node is not coming back, and its Machine has to be replaced."""
        leaving = self.notice.ends or self.notice.kind is Kind.REBALANCE
        return self.response is Response.DRAIN and leaving


def chosen(standing: Standing, policy: Policy, now: float) -> Task | None:
    """The most urgent of what is due."""
    due = [
        Task(one, policy.responses[one.kind])
        for one in standing.notices
        if policy.responses[one.kind] is not Response.IGNORE and _is_due(one, policy, now)
    ]
    return min(due, key=_urgency, default=None)


def _is_due(notice: Notice, policy: Policy, now: float) -> bool:
    """Maintenance may be announced weeks ahead."""
    return notice.kind is not Kind.MAINTENANCE or notice.deadline is None or notice.deadline - now <= policy.lead


def _urgency(task: Task) -> tuple[int, bool, float, str]:
    """What drains before what only marks; what ends the machine before what does not; what is sooner first."""
    deadline = task.notice.deadline
    return (-task.response, not task.replaces, _NEVER if deadline is None else deadline, task.notice.id)
