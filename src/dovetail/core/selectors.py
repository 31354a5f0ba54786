"""Label selectors over other objects' labels: pods and namespaces, as affinity and spread use them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from dovetail.core.requirements import EMPTY, Requirements


@dataclass(frozen=True, slots=True)
class Selector:
    """Which labels will do. A missing selector (`NOTHING_SELECTED`) matches nothing, an empty one everything."""

    wanted: Requirements = EMPTY
    nothing: bool = False

    def matches(self, labels: Mapping[str, str]) -> bool:
        return not self.nothing and all(one.admits(labels.get(one.key)) for one in self.wanted)

    @property
    def pairs(self) -> tuple[tuple[str, str] | None, ...]:
        """Labels of which a pod must have one to be selected; (None,) where no such list can be given.

        Whoever looks for the selectors of a pod need only look at those listed under its labels.
        """
        if self.nothing:
            return ()
        listed = [one for one in self.wanted if not one.complement and not one.absent]
        if not listed:
            return (None,)
        narrowest = min(listed, key=lambda one: (len(one.values), one.key))
        return tuple((narrowest.key, value) for value in sorted(narrowest.values))

    def narrowed(self, more: Requirements) -> Selector:
        """The same selector with further demands; what matched nothing still does."""
        return self if self.nothing else Selector(self.wanted & more)


NOTHING_SELECTED: Final = Selector(nothing=True)
EVERYTHING: Final = Selector()


@lru_cache(maxsize=8192)
def selector_of(wanted: Requirements) -> Selector:
    """The selector for these demands; equal ones are one object, so that comparing them later costs nothing."""
    return Selector(wanted)
