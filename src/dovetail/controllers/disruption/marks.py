"""The marks of nodes that are being given up: a taint on the Node, a condition on its claim.

Who is marked is decided here alone, by the commands that run; everybody else's marks are removed. So a mark that was
left behind, by a process that died or a command that failed, goes at the first look at its claim. Nodes that are being
deleted, and those that are being rebooted, are left to whoever does that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from dovetail.core import conditions
from dovetail.core.conditions import Condition, Moment, Status
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.recalling import FAILED, FAILURES, failed_again
from dovetail.core.nodeclaims import DISRUPTED, DISRUPTION_REASON, REBOOTING, NodeClaim, NodeObject
from dovetail.core.nodes import GOES_SOON
from dovetail.core.taints import Taint


class Marks:
    """Claims that running commands have chosen, by name."""

    def __init__(self) -> None:
        self._wanted: dict[str, Reason] = {}
        #: Claims that will be given up soon.
        self._expected: frozenset[str] = frozenset()
        #: What a claim has to say of its replacements that failed: pool and time, of the last few.
        self._failures: dict[str, tuple[tuple[str, float], ...]] = {}

    def want(self, claims: Iterable[str], reason: Reason) -> None:
        for name in claims:
            self._wanted[name] = reason

    def drop(self, claims: Iterable[str]) -> None:
        for name in claims:
            self._wanted.pop(name, None)

    def expect(self, claims: frozenset[str]) -> frozenset[str]:
        """These will be given up soon, and nobody else; returns whose marks are others now."""
        before, self._expected = self._expected, claims
        return before ^ claims

    def note_failure(self, claim: str, pool: str, at: float) -> None:
        """A replacement of this claim did not come up; it says so from its next write on."""
        self._failures[claim] = (*self._failures.get(claim, ()), (pool, at))[-FAILURES:]

    def forget(self, claim: str) -> None:
        """It is gone."""
        self.drop((claim,))
        self._failures.pop(claim, None)

    def noted(self, claim: NodeClaim) -> NodeClaim:
        """The claim with what it has to say of failures; the very same where it says it already."""
        before = text = claim.meta.annotations.get(FAILED, "")
        for pool, at in self._failures.get(claim.name, ()):
            text = failed_again(text, pool, at)
        if text == before:
            return claim
        notes = MappingProxyType({**claim.meta.annotations, FAILED: text})
        return replace(claim, meta=replace(claim.meta, annotations=notes))

    def node(self, claim: NodeClaim, node: NodeObject) -> NodeObject:
        """The Node with the taint, or without it."""
        if node.is_deleting or _is_left_alone(claim):
            return node
        if claim.name in self._wanted:
            return node if is_tainted(node) else replace(node, taints=(*_unmarked(node), DISRUPTED))
        if claim.name in self._expected:
            marked = GOES_SOON in node.taints and not is_tainted(node)
            return node if marked else replace(node, taints=(*_unmarked(node), GOES_SOON))
        others = _unmarked(node)
        return replace(node, taints=others) if len(others) != len(node.taints) else node

    def claim(self, claim: NodeClaim, now: float) -> NodeClaim:
        """The claim with the condition, or without it."""
        if _is_left_alone(claim):
            return claim
        reason = self._wanted.get(claim.name)
        if reason is None:
            return replace(claim, conditions=conditions.without(claim.conditions, DISRUPTION_REASON))
        said = Condition(DISRUPTION_REASON, Status.TRUE, str(reason), str(reason))
        held = conditions.put(claim.conditions, said, Moment(now, claim.meta.generation))
        return replace(claim, conditions=held)


def _unmarked(node: NodeObject) -> tuple[Taint, ...]:
    return tuple(one for one in node.taints if one.key not in (DISRUPTED.key, GOES_SOON.key))


def _is_left_alone(claim: NodeClaim) -> bool:
    return claim.is_deleting or claim.is_true(REBOOTING)


def is_tainted(node: NodeObject) -> bool:
    return any(one.matches(DISRUPTED) for one in node.taints)


def is_marked(claim: NodeClaim, nodes: Iterable[NodeObject]) -> bool:
    """Whether everything that marks a claim has been written."""
    return claim.is_true(DISRUPTION_REASON) and all(is_tainted(one) or one.is_deleting for one in nodes)
