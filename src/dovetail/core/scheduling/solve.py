"""Pods in, plan out.

Nothing here depends on the order in which objects arrived: shapes, pods, pools, types and domains are all visited by
stated keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.economy import economical
from dovetail.core.scheduling.packer import Packer
from dovetail.core.scheduling.problem import Plan, Problem
from dovetail.core.scheduling.shelf import Shelf


def solve(problem: Problem, shelf: Shelf | None = None) -> Plan:
    """Plan every pod that waits. Who plans again and again passes the same shelf each time."""
    return replan(Compiled(problem, shelf))


@dataclass(frozen=True, slots=True)
class Packing:
    """One plan that was made, kept or not. `straight`: no shape that failed had better luck when it was tried again."""

    plan: Plan
    straight: bool


def replan(compiled: Compiled, without: Iterable[str] = (), made: list[Packing] | None = None) -> Plan:
    """Plan again on a compiled problem, as if some nodes were leaving.

    A plan that is dear for what its pods ask for is made again with cheaper types only (`economy`). To `made` every
    plan is added that was compared, for who wants to know what the answer rests on.
    """
    numbers = [compiled.table.numbers[name] for name in without]
    made = [] if made is None else made
    plan = _packed(compiled, numbers, made)
    others = [_packed(compiled.limited(types), numbers, made) for types in economical(compiled, plan)]
    return min((plan, *others), key=_cost) if others else plan


def _packed(compiled: Compiled, without: list[int], made: list[Packing]) -> Plan:
    """Largest first leaves nodes full of cpu and empty of memory where pods are of both kinds. Where nothing ties pods
    to each other a second plan is made with pods mixed so that nodes fill evenly (`mixing`), and the cheaper is kept.
    """
    packer = Packer(compiled, without)
    plan = packer.plan()
    made.append(Packing(plan, packer.straight))
    if packer.ties_pods or len(packer.queues) < 2 or not plan.claims:
        return plan
    mixing = Packer(compiled, without)
    other = mixing.plan(mixed=True)
    made.append(Packing(other, mixing.straight))
    return other if _cost(other) < _cost(plan) else plan


def _cost(plan: Plan) -> tuple[int, int, int, int]:
    """What makes a plan worse: pods left waiting, nodes nobody knows the price of, dollars, nodes."""
    unpriced = sum(claim.choice.offering.price is None for claim in plan.claims)
    return (sum(len(one.pods) for one in plan.refused), unpriced, plan.nanodollars, len(plan.claims))
