"""The marks of nodes that are being given up: a taint on the Node, a condition on its claim.

Who is marked is decided here alone, by the commands that run; everybody else's marks are removed. So a mark that was
left behind, by a process that died or a command that failed, goes at the first look at its claim. Nodes that are being
deleted, and those that are being rebooted, are left to whoever does that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dovetail.core import conditions
from dovetail.core.conditions import Condition, Moment, Status
from dovetail.core.disruption.reasons import Reason
from dovetail.core.nodeclaims import DISRUPTED, DISRUPTION_REASON, REBOOTING, NodeClaim, NodeObject


class Marks:
    """Claims that running commands have chosen, by name."""

    def __init__(self) -> None:
        self._wanted: dict[str, Reason] = {}

    def want(self, claims: Iterable[str], reason: Reason) -> None:
        for name in claims:
            self._wanted[name] = reason

    def drop(self, claims: Iterable[str]) -> None:
        for name in claims:
            self._wanted.pop(name, None)

    def node(self, claim: NodeClaim, node: NodeObject) -> NodeObject:
        """The Node with the taint, or without it."""
        if node.is_deleting or _is_left_alone(claim):
            return node
        others = tuple(one for one in node.taints if one.key != DISRUPTED.key)
        if claim.name in self._wanted:
            return node if is_tainted(node) else replace(node, taints=(*others, DISRUPTED))
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


def _is_left_alone(claim: NodeClaim) -> bool:
    return claim.is_deleting or claim.is_true(REBOOTING)


def is_tainted(node: NodeObject) -> bool:
    return any(one.matches(DISRUPTED) for one in node.taints)


def is_marked(claim: NodeClaim, nodes: Iterable[NodeObject]) -> bool:
    """Whether everything that marks a claim has been written."""
    return claim.is_true(DISRUPTION_REASON) and all(is_tainted(one) or one.is_deleting for one in nodes)
