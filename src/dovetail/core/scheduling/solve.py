"""Pods in, plan out.

Nothing here depends on the order in which objects arrived: shapes, pods, pools, types and domains are all visited by
stated keys.
"""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.packer import Packer
from dovetail.core.scheduling.problem import Plan, Problem
from dovetail.core.scheduling.shelf import Shelf


def solve(problem: Problem, shelf: Shelf | None = None) -> Plan:
    """Plan every pod that waits. Who plans again and again passes the same shelf each time."""
    return replan(Compiled(problem, shelf))


def replan(compiled: Compiled, without: Iterable[str] = ()) -> Plan:
    """Plan again on a compiled problem, as if some nodes were leaving.

    Largest first leaves nodes full of cpu and empty of memory where pods are of both kinds. Where nothing ties pods to
    each other a second plan is made with pods mixed so that nodes fill evenly (`mixing`), and the cheaper one is kept.
    """
    numbers = [compiled.table.numbers[name] for name in without]
    packer = Packer(compiled, numbers)
    plan = packer.plan()
    if packer.ties_pods or len(packer.queues) < 2 or not plan.claims:
        return plan
    other = Packer(compiled, numbers).plan(mixed=True)
    return other if _cost(other) < _cost(plan) else plan


def _cost(plan: Plan) -> tuple[int, int, int, int]:
    """What makes a plan worse: pods left waiting, nodes nobody knows the price of, dollars, nodes."""
    unpriced = sum(claim.choice.offering.price is None for claim in plan.claims)
    return (sum(len(one.pods) for one in plan.refused), unpriced, plan.nanodollars, len(plan.claims))
