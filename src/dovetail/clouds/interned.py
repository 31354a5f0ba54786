"""One object for each label value, however many types carry it.

A region lists thousands of types that draw on a few hundred label values. Sharing the requirements saves most of
the memory and the time, and lets the scheduler see by identity that two types agree.
"""

from __future__ import annotations

from collections.abc import Mapping

from dovetail.core.requirements import Requirement, Requirements, does_not_exist, is_in

#: A value, several, or None where nodes of the type never carry the label.
LabelValue = str | tuple[str, ...] | None


class Interned:
    """The requirements made so far, while one listing is read."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[str, LabelValue], Requirement] = {}

    def requirement(self, key: str, value: LabelValue) -> Requirement:
        known = self._known.get((key, value))
        if known is None:
            if value is None:
                known = does_not_exist(key)
            else:
                known = is_in(key, *((value,) if isinstance(value, str) else value))
            self._known[key, value] = known
        return known

    def requirements(self, labels: Mapping[str, LabelValue]) -> Requirements:
        known, make = self._known, self.requirement
        return Requirements([known.get(pair) or make(*pair) for pair in labels.items()])


def yes_or_no(value: bool) -> str:
    """A boolean as a label value."""
    return "true" if value else "false"
