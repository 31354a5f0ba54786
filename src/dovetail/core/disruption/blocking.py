"""What it would take: for a node that stays, the pods that keep it and what they cost.

The set is minimal in this sense: were these pods not there (or free to go), the node would be given up, and every one
of them stands in the way. Pods that may not be evicted come first, as each alone is enough to hold a node; then pods
nobody else has room for; then pods for which another machine would have to be bought that is no cheaper.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dovetail.core.disruption import pricing
from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.commands import Command, Group
from dovetail.core.disruption.refusals import Code, Refusal, counted, listed, money


def explained(one: Candidate, group: Group, found: Command | Refusal) -> Refusal:
    """The refusal of a node with the pods it is about and the dollars it stands for.

    `group` and `found` are what a what-if says of the node as if all its pods could move.
    """
    if one.held:
        return _held(one, group, found)
    assert isinstance(found, Refusal)
    pods = found.pods or tuple(sorted(pod.key for claim in group.claims for pod in claim.pods))
    without = worth_without(one, group)
    worth = found.nanodollars or without
    text = found.text
    if found.code in (Code.NO_PLACE, Code.NOT_CHEAPER, Code.TOO_MANY) and pods and worth > 0:
        text += f"; without {_named(pods)} this node is worth {money(worth)}/h"
    return Refusal(found.code, text, pods, max(0, worth), found.said)


def _held(one: Candidate, group: Group, found: Command | Refusal) -> Refusal:
    reasons = listed(refusal.text for refusal in one.held)
    pods = tuple(key for refusal in one.held for key in refusal.pods)
    if isinstance(found, Command):
        worth = found.saved
        without = "it" if len(pods) == 1 else "them"
        text = f"{counted(len(pods), 'pod')}: {reasons}; without {without} this node is worth {money(worth)}/h"
        return Refusal(one.held[0].code, text, pods, worth, one.held[0].said)
    # Were they free to go, something else would still be in the way: then nothing is lost by them alone.
    more = tuple(key for key in _in_the_way(group) if key not in pods)
    text = f"{counted(len(pods), 'pod')}: {reasons}; besides, {found.text[:1].lower()}{found.text[1:]}"
    text += f" ({_named(more)})" if more else ""
    return Refusal(one.held[0].code, text, pods + more, said=one.held[0].said)


def _in_the_way(group: Group) -> tuple[str, ...]:
    claims = (pod.key for claim in group.claims for pod in claim.pods)
    return tuple(sorted({*(pod.key for pod in group.refused), *claims}))


def worth_without(one: Candidate, group: Group) -> int:
    """What a node would save if the pods that need something new were not there."""
    if group.refused:
        return one.nanodollars - sum(pricing.price_of(claim) for claim in group.claims)
    return one.nanodollars


def _named(keys: tuple[str, ...]) -> str:
    return f"{counted(len(keys), 'pod')} ({listed(keys)})"


@dataclass(frozen=True, slots=True)
class Cause:
    """What one cause costs over all nodes it holds."""

    code: Code
    nodes: int
    nanodollars: int

    def __str__(self) -> str:
        return f"{self.code}: {counted(self.nodes, 'node')}, {money(self.nanodollars)}/h"


def summed(refusals: Iterable[Refusal]) -> tuple[Cause, ...]:
    """Dollars blocked by cause, the dearest first."""
    nodes: dict[Code, int] = {}
    money: dict[Code, int] = {}
    for one in refusals:
        nodes[one.code] = nodes.get(one.code, 0) + 1
        money[one.code] = money.get(one.code, 0) + one.nanodollars
    found = (Cause(code, nodes[code], money[code]) for code in nodes)
    return tuple(sorted(found, key=lambda one: (-one.nanodollars, -one.nodes, one.code)))
