"""Many nodes renewed in one pass, each by itself: its pods go to machines that are bought for them and for nobody else.

Planned together, the pods of a thousand nodes mix in the machines to be bought, and everything hangs together: one
machine that does not come up holds everybody. Planned one by one, on a cluster where nobody has room, each node becomes
a command of its own, and they are carried out side by side. Nobody's place depends on another's, save through rules
that tie pods together and through what is finite; where such are in play the whole of it is checked, and as much is
taken as holds. Consolidation is there for what could be packed better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.commands import Command, Group, split
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import Refusal
from dovetail.core.disruption.stages import Stage, plan_of
from dovetail.core.pods import Shape
from dovetail.core.scheduling.check import check

Judge = Callable[[Group, Sequence[Candidate]], Command | Refusal]


def one_by_one(stage: Stage, names: Iterable[str], reason: Reason, judge: Judge) -> list[Command]:
    """A command for each of these nodes, from the first, as far as budgets allow and all of them go together.

    Nothing is taken from the budgets yet.
    """
    scene = stage.scene(closing=frozenset(stage.settled.nodes))
    book = stage.ledger.copy()
    found: list[Command] = []
    for name in names:
        one = stage.candidates.get(name)
        if one is None or not one.pods or book.remaining(one.pool, reason) <= 0:
            continue
        (group,) = split(scene.what_if((name,)), (name,))
        command = judge(group, (one,))
        if isinstance(command, Command) and command.replacements:
            book.take(one.pool)
            found.append(command)
    while found and not _go_together(stage, found):
        found = found[: len(found) // 2]
    return found


def _go_together(stage: Stage, commands: Sequence[Command]) -> bool:
    if all(_is_plain(one) for one in commands):
        return True
    gone = [name for one in commands for name in one.names]
    problem = stage.settled.problem
    left = replace(problem, snapshot=problem.snapshot.without(*gone))
    plan = plan_of(stage, commands)
    claims = tuple(replace(claim, name=f"renewed/{number}") for number, claim in enumerate(plan.claims))
    return not check(left, replace(plan, claims=claims))


def _is_plain(command: Command) -> bool:
    """Whether nothing ties it to others: no rule between pods, no limit of a pool, no reservation."""
    if any(claim.reservation_ids or claim.pool.limits is not None for claim in command.replacements):
        return False
    shapes = {id(pod.shape): pod.shape for pod in command.evicted}
    return not any(_is_tied(shape) for shape in shapes.values())


def _is_tied(shape: Shape) -> bool:
    return bool(shape.near.required or shape.apart.required) or any(one.hard for one in shape.spread)


def free_alone(stage: Stage, names: Iterable[str], closing: frozenset[str]) -> list[str]:
    """Those of these nodes that could each go without anything being bought."""
    scene = stage.scene(closing=closing)
    found = []
    for name in names:
        plan = scene.what_if((name,))
        if not plan.claims and not plan.refused:
            found.append(name)
    return found
