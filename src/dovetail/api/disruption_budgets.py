"""PodDisruptionBudgets, as far as planning is concerned: which pods no eviction will ever move (§2.3).

A budget that allows none to be missing allows no eviction, today or later; nor can a pod be evicted that two budgets
cover, as the API server will not choose between them. Such a pod goes down with its node, and nobody looks for another
place for it. How many a budget allows just now is not asked: that changes with every pod that comes back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dovetail.api import affinities
from dovetail.api.fields import Fields, shown
from dovetail.api.pod_wire import Draft, PodWire, named
from dovetail.core.selectors import NOTHING_SELECTED, Selector

KIND: Final = "PodDisruptionBudget"
GROUP: Final = "policy"
_ALWAYS: Final = "AlwaysAllow"
_MANY: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Budget:
    """Whom a budget covers, and whether it can ever let one of them go."""

    namespace: str
    selector: Selector
    never: bool
    #: Whether a pod that is not ready may go all the same.
    frees_unready: bool = False
    name: str = ""
    #: How many it lets go just now, as its status says; None where nobody has counted yet.
    left: int | None = None
    #: `maxUnavailable` and `minAvailable`: a number, or a percentage.
    most_away: int | str | None = None
    least: int | str | None = None

    def covers(self, draft: Draft) -> bool:
        return draft.namespace == self.namespace and self.selector.matches(draft.labels)


def read(wire: Fields) -> Budget:
    about, spec = wire.map("metadata"), wire.map("spec")
    selector = affinities.read_selector(spec, "selector")
    if wire.required("apiVersion").endswith("/v1beta1") and not len(selector.wanted):
        selector = NOTHING_SELECTED  # an empty selector meant nobody before it meant everybody
    most_away, least = _amount(spec, "maxUnavailable"), _amount(spec, "minAvailable")
    return Budget(
        about.text("namespace") or "default",
        selector,
        most_away in (0, "0%") or least == "100%",
        spec.text("unhealthyPodEvictionPolicy") == _ALWAYS,
        named(about),
        wire.map("status").whole("disruptionsAllowed", 0, _MANY),
        most_away,
        least,
    )


def _amount(spec: Fields, name: str) -> int | str | None:
    """A number, or a percentage without leading zeros; None where nothing is said."""
    value = spec.wire.get(name)
    if not isinstance(value, str):
        return spec.whole(name, 0, _MANY)
    digits = value.removesuffix("%")
    if not value.endswith("%") or not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        raise spec.bad(name, f"{shown(value)} is neither a number nor a percentage")
    return f"{int(digits)}%"


class Budgets:
    """All budgets of a world. Equal pods are covered alike, so each draft is looked up once."""

    def __init__(self, budgets: Iterable[Budget]) -> None:
        self._budgets = tuple(budgets)
        self._covering: dict[int, tuple[Budget, ...]] = {}

    def covering(self, draft: Draft) -> tuple[Budget, ...]:
        """The budgets that speak of pods like this."""
        if not self._budgets:
            return ()
        found = self._covering.get(id(draft))
        if found is None:
            covering = tuple(one for one in self._budgets if one.covers(draft))
            found = self._covering[id(draft)] = covering
        return found

    def hold(self, pod: PodWire) -> bool:
        """Whether a pod can never be evicted."""
        found = self.covering(pod.draft)
        if len(found) > 1:
            return True
        return any(one.never and not (one.frees_unready and pod.unready) for one in found)
