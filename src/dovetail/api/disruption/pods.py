"""What pods say about being moved.

A cluster has tens of thousands of pods and a few hundred things said about them: pods of one owner under one budget
say the same, and share one `PodFacts`; a pod that says nothing has `NO_FACTS`. What equal pods have in common (which
budgets cover them, whether they tolerate the taint nodes are drained with) is looked up once for each draft.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dovetail.api.disruption_budgets import Budget, Budgets
from dovetail.api.pod_wire import Draft, Notes, PodWire, Times
from dovetail.core.disruption.facts import NO_FACTS, PodBudget, PodFacts
from dovetail.core.lifecycle import protection
from dovetail.core.nodeclaims import DISRUPTED
from dovetail.core.pods import PodState, Shape

#: A placeholder of a CapacityBuffer.
PLACEHOLDER: Final = PodFacts(virtual=True)
#: A pod that became ready later than this after it got its place was ready before and lost it: nothing was measured.
LONGEST_READY_SECONDS: Final = 900.0
#: Times to become ready are told apart no finer than this, so that pods of one owner say the same.
_STEP_SECONDS: Final = 5.0
_Common = tuple[Draft, tuple[PodBudget, ...], bool]
#: Draft, owner, annotations, until when held, time to readiness, whether unready.
_Said = tuple[int, str, str, Notes, float | None, float | None, bool]


class PodReader:
    """Reads facts; it holds what is known of budgets, and is made anew when one of them or a RuntimeClass changes."""

    def __init__(self, covering: Iterable[Budget] = (), counted: Iterable[PodWire] = ()) -> None:
        """`counted` are the pods of a world whose budgets may have no status: what they let go is then counted."""
        listed = tuple(covering)
        self._budgets = Budgets(listed)
        self._left = _counted(listed, self._budgets, counted) if any(one.left is None for one in listed) else {}
        self._common: dict[int, _Common] = {}
        self._said: dict[_Said, PodFacts] = {}
        self._known: dict[PodFacts, PodFacts] = {NO_FACTS: NO_FACTS}

    def __len__(self) -> int:
        """How many different things were said so far, by pods that are there and by those long gone."""
        return len(self._said)

    def facts(self, pod: PodWire, shape: Shape) -> PodFacts:
        """What one pod says; `shape` is what planning sees of it."""
        draft, notes, owner = pod.draft, pod.notes, pod.owner
        ends = protection.until(notes.do_not_disrupt, pod.times.started) if notes.do_not_disrupt else None
        held = ends if isinstance(ends, float) else None
        took = ready_seconds(pod.times)
        said = (id(draft), owner.kind, owner.name, notes, held, took, pod.unready)
        found = self._said.get(said)
        if found is None:
            _, covering, tolerates = self._of_draft(draft, shape)
            made = PodFacts(
                disruption_cost=notes.disruption_cost,
                deletion_cost=notes.deletion_cost,
                held_until=held,
                budgets=covering,
                ready=not pod.unready,
                tolerates=tolerates,
                owner=f"{owner.kind}/{owner.name}" if owner.kind else "",
                ready_seconds=took,
            )
            found = self._said[said] = self._known.setdefault(made, made)
        return found

    def _of_draft(self, draft: Draft, shape: Shape) -> _Common:
        found = self._common.get(id(draft))
        if found is None:
            covering = tuple(self._pod_budget(one) for one in self._budgets.covering(draft))
            tolerates = any(one.tolerates(DISRUPTED) for one in shape.tolerations)
            # The draft is kept beside, so that nobody else can come to have its identity.
            found = self._common[id(draft)] = (draft, covering, tolerates)
        return found

    def _pod_budget(self, one: Budget) -> PodBudget:
        left = one.left if one.left is not None else self._left.get(id(one), 0)
        return PodBudget(one.name, left, one.never, one.frees_unready)


def ready_seconds(times: Times) -> float | None:
    """How long a pod took from its place to readiness; None where that cannot be told."""
    if not times.ready or not times.scheduled:
        return None
    took = times.ready - times.scheduled
    if not 0.0 <= took <= LONGEST_READY_SECONDS:
        return None
    return -(-took // _STEP_SECONDS) * _STEP_SECONDS


# ---- budgets nobody has counted for


def _counted(listed: tuple[Budget, ...], lookup: Budgets, pods: Iterable[PodWire]) -> dict[int, int]:
    """How many each budget would let go, from the pods that are there, as the disruption controller counts."""
    expected: dict[int, int] = {}
    healthy: dict[int, int] = {}
    for pod in pods:
        if pod.state not in (PodState.BOUND, PodState.PENDING):
            continue
        for one in lookup.covering(pod.draft):
            expected[id(one)] = expected.get(id(one), 0) + 1
            healthy[id(one)] = healthy.get(id(one), 0) + (pod.state is PodState.BOUND and not pod.unready)
    return {id(one): allowed(one, expected.get(id(one), 0), healthy.get(id(one), 0)) for one in listed}


def allowed(budget: Budget, expected: int, healthy: int) -> int:
    """How many of so many pods a budget lets go; one that states nothing lets one go at a time."""
    if budget.least is not None:
        desired = _amount(budget.least, expected)
    else:
        desired = expected - _amount(1 if budget.most_away is None else budget.most_away, expected)
    return max(0, healthy - max(0, desired))


def _amount(said: int | str, expected: int) -> int:
    """A number, or a percentage of the pods there should be, rounded up."""
    return said if isinstance(said, int) else -(-int(said.removesuffix("%")) * expected // 100)
