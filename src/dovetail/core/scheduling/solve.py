"""Pods in, plan out.

Nothing here depends on the order in which objects arrived: shapes, pods, pools, types and domains are all visited by
stated keys.
"""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.economy import economical
from dovetail.core.scheduling.packer import Packer
from dovetail.core.scheduling.problem import Plan, Problem
from dovetail.core.scheduling.shelf import Shelf


def solve(problem: Problem, shelf: Shelf | None = None) -> Plan:
    """Plan every pod that waits. Who plans again and again passes the same shelf each time."""
    return replan(Compiled(problem, shelf))


def replan(compiled: Compiled, without: Iterable[str] = ()) -> Plan:
    """Plan again on a compiled problem, as if some nodes were leaving.

    A plan that is dear for what its pods ask for is made again with cheaper types only (`economy`).
    """
    numbers = [compiled.table.numbers[name] for name in without]
    plan = _packed(compiled, numbers)
    others = (_packed(compiled.limited(types), numbers) for types in economical(compiled, plan))
    return min((plan, *others), key=_cost)


def _packed(compiled: Compiled, without: list[int]) -> Plan:
    """Largest first leaves nodes full of cpu and empty of memory where pods are of both kinds. Where nothing ties pods
    to each other a second plan is made with pods mixed so that nodes fill evenly (`mixing`), and the cheaper is kept.
    """
    packer = Packer(compiled, without)
    plan = packer.plan()
    if packer.ties_pods or len(packer.queues) < 2 or not plan.claims:
        return plan
    other = Packer(compiled, without).plan(mixed=True)
    return other if _cost(other) < _cost(plan) else plan


def _cost(plan: Plan) -> tuple[int, int, int, int]:
    """What makes a plan worse: pods left waiting, nodes nobody knows the price of, dollars, nodes."""
    unpriced = sum(claim.choice.offering.price is None for claim in plan.claims)
    return (sum(len(one.pods) for one in plan.refused), unpriced, plan.nanodollars, len(plan.claims))
