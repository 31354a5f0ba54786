"""What a pod asks, and what it would give up, in order.

A pod with preferences asks for all of them first. Where that cannot be had it gives up one thing at a time:

    another required term · preferred affinity, heaviest first · preferred anti-affinity, heaviest first ·
    preferred node affinity, heaviest first · a soft spread · the dislike of PreferNoSchedule taints

Required terms are alternatives, not preferences, so all of them are tried again each time something was given up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dovetail.core.pods import PodTerm, Preferred, Shape, Spread
from dovetail.core.requirements import EMPTY, Requirements
from dovetail.core.scheduling.problem import PreferencePolicy
from dovetail.core.taints import PREFER_NO_SCHEDULE_TOLERATED, Toleration


@dataclass(slots=True, eq=False)
class Ask:
    """One rung of the ladder: everything on it is a hard demand."""

    shape: Shape
    #: Narrows the node: selector, one required term, the heaviest preferred term still wanted.
    labels: Requirements
    tolerations: tuple[Toleration, ...]
    spread: tuple[Spread, ...]
    near: tuple[PodTerm, ...]
    apart: tuple[PodTerm, ...]


@dataclass(frozen=True, slots=True)
class _Wishes:
    """What is still insisted on."""

    near: tuple[Preferred, ...]
    apart: tuple[Preferred, ...]
    node: tuple[Preferred, ...]
    soft: tuple[Spread, ...]
    avoid_soft_taints: bool

    def without_one(self) -> _Wishes | None:
        """One thing less; None when there is nothing left to give up."""
        if self.near:
            return replace(self, near=self.near[1:])
        if self.apart:
            return replace(self, apart=self.apart[1:])
        if self.node:
            return replace(self, node=self.node[1:])
        if self.soft:
            return replace(self, soft=self.soft[1:])
        return replace(self, avoid_soft_taints=False) if self.avoid_soft_taints else None


def _heaviest_first(wishes: tuple[Preferred, ...]) -> tuple[Preferred, ...]:
    return tuple(sorted(wishes, key=lambda one: -one.weight))


def ladder(shape: Shape, policy: PreferencePolicy, soft_taints: bool) -> Iterator[Ask]:
    """Every rung, from all wishes to none. `soft_taints`: some pool has a PreferNoSchedule taint."""
    wishful = shape.preferred or shape.near.preferred or shape.apart.preferred or shape.spread
    if policy is PreferencePolicy.IGNORE or not wishful:
        wishes: _Wishes | None = _Wishes((), (), (), (), soft_taints)
    else:
        wishes = _Wishes(
            _heaviest_first(shape.near.preferred),
            _heaviest_first(shape.apart.preferred),
            _heaviest_first(shape.preferred),
            tuple(one for one in shape.spread if not one.hard),
            soft_taints,
        )
    while wishes is not None:
        for term in shape.terms or (EMPTY,):
            yield _ask(shape, term, wishes)
        wishes = wishes.without_one()


def _ask(shape: Shape, term: Requirements, wishes: _Wishes) -> Ask:
    labels = shape.selector & term if len(shape.selector) or len(term) else EMPTY
    if wishes.node:
        heaviest = wishes.node[0].term
        assert isinstance(heaviest, Requirements)
        labels = labels & heaviest
    tolerations = shape.tolerations
    if not wishes.avoid_soft_taints:
        tolerations = (*tolerations, PREFER_NO_SCHEDULE_TOLERATED)
    return Ask(
        shape,
        labels,
        tolerations,
        tuple([one for one in shape.spread if one.hard]) + wishes.soft if shape.spread else (),
        shape.near.required + _pod_terms(wishes.near) if wishes.near else shape.near.required,
        shape.apart.required + _pod_terms(wishes.apart) if wishes.apart else shape.apart.required,
    )


def _pod_terms(wishes: tuple[Preferred, ...]) -> tuple[PodTerm, ...]:
    return tuple(one.term for one in wishes if isinstance(one.term, PodTerm))
