"""A pass is a row of stages, one per method. Each takes what budgets and earlier stages left, and leaves commands and
refusals; the next sees the cluster with those commands carried out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from types import MappingProxyType
from typing import Final

from dovetail.core import labels
from dovetail.core.disruption.budgets import Ahead, InTurn, Ledger, Rules, Standing
from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.facts import Machine, World
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import Code, Refusal
from dovetail.core.disruption.scenes import Scene, Settled, carried_out, staged
from dovetail.core.nodeclaims import INSTANCE_TERMINATING
from dovetail.core.pods import PodState
from dovetail.core.scheduling.problem import Plan, Refused
from dovetail.core.scheduling.shelf import Shelf

#: One pod in so many that leaves by itself is nothing to wait for: somewhere there always is one.
SHRINKING: Final = 50


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a stage decided."""

    commands: tuple[Command, ...] = ()
    refusals: Mapping[str, Refusal] = field(default_factory=lambda: MappingProxyType({}))


class Stage:
    """What a method has to work with. The scenes are made when they are asked for: many passes need none."""

    def __init__(
        self, world: World, settled: Settled, candidates: Mapping[str, Candidate], ledger: Ledger, shelf: Shelf | None
    ) -> None:
        self.world = world
        self.settled = settled
        self.candidates = candidates
        self.ledger = ledger
        #: By static pool, replacements that were decided on in this pass.
        self.staged: dict[str, int] = {}
        self.shelf = shelf
        self._scenes: dict[tuple[bool, frozenset[str]], Scene] = {}

    def scene(self, saving: bool = False, closing: frozenset[str] = frozenset()) -> Scene:
        """The cluster for what-ifs; `saving` closes nodes that are inside their consolidateAfter, `closing` these."""
        key = (saving, closing)
        found = self._scenes.get(key)
        if found is None:
            found = self._scenes[key] = Scene(staged(self.world, self.settled, saving, closing), self.shelf)
        return found

    def after(self, commands: Iterable[Command]) -> Stage:
        """What is left for the next stage, with these commands carried out."""
        chosen = tuple(commands)
        if not chosen:
            return self
        gone = frozenset(name for one in chosen for name in one.names)
        plan = plan_of(self, chosen)
        problem = carried_out(self.settled.problem, plan, gone)
        # Who receives pods is left alone in this pass, or they would be evicted twice.
        busy = gone | {placed.node.name for placed in plan.placed}
        left = {name: one for name, one in self.candidates.items() if name not in busy}
        settled = replace(self.settled, problem=problem)
        found = Stage(self.world, settled, left, self.ledger, self.shelf)
        found.staged = self.staged
        return found

    def over_budget(self, one: Candidate, reason: Reason) -> Refusal | None:
        if self.ledger.remaining(one.pool, reason) > 0:
            return None
        return Refusal(Code.BUDGET, self.ledger.sentence(one.pool, reason))


def plan_of(stage: Stage, commands: Iterable[Command]) -> Plan:
    """Where everything goes that these commands move; what a method did not ask about is asked now."""
    chosen = tuple(commands)
    unasked = [name for one in chosen for name in one.names if one.evicted and not _was_asked(one)]
    asked = Plan(
        tuple(claim for one in chosen for claim in one.group.claims),
        tuple(placed for one in chosen for placed in one.group.placed),
        tuple(Refused(one.group.refused, "goes down with its node") for one in chosen if one.group.refused),
    )
    if not unasked:
        return asked
    more = stage.scene().what_if(unasked)
    return Plan((*asked.claims, *more.claims), (*asked.placed, *more.placed), (*asked.refused, *more.refused))


def _was_asked(command: Command) -> bool:
    group = command.group
    return bool(group.claims or group.placed or group.refused)


# ---- counting


def standings(world: World) -> Mapping[str, Standing]:
    """The nodes of every pool as budgets count them: ours, up (or rebooting), and not gone already."""
    counts: dict[str, list[int]] = {}
    for machine in world.machines.values():
        claim = machine.claim
        if claim is None or claim.is_true(INSTANCE_TERMINATING) or not (machine.is_initialized or machine.is_rebooting):
            continue
        found = counts.setdefault(claim.pool or "", [0, 0, 0])
        found[0] += 1
        if is_away(machine, world):
            found[1] += 1
        elif machine.node is None or not machine.node.is_ready:
            found[2] += 1
    return {pool: Standing(*found) for pool, found in counts.items()}


def is_away(machine: Machine, world: World) -> bool:
    """Leaving, being disrupted or rebooting."""
    if machine.marked or machine.name in world.away or machine.is_rebooting:
        return True
    if machine.claim is not None and machine.claim.is_deleting:
        return True
    return machine.node is not None and machine.node.is_deleting


def ledger(world: World) -> Ledger:
    """What may go now."""
    return Ledger(_rules(world), standings(world), world.now)


def ledger_ahead(world: World) -> Ledger:
    """What may be decided on now that saves money: several times what may go, where it may wait for its turn."""
    return _waiting_in(world, Ahead, world.waiting)


def ledger_in_turn(world: World, chosen: Iterable[Command]) -> Ledger:
    """The same while much is changing: no more than may go at once, what was chosen before among it."""
    return _waiting_in(world, InTurn, (*world.waiting, *chosen))


def is_shrinking(world: World) -> bool:
    """Whether so many pods are leaving nodes that stay that nobody knows yet which nodes will be worth keeping."""
    staying = {name for name, one in world.machines.items() if not is_away(one, world)}
    pods = world.problem.snapshot.pods
    going = sum(pod.state is PodState.GOING and pod.node in staying for pod in pods)
    return going * SHRINKING > len(pods)


def _waiting_in(world: World, kind: type[InTurn], commands: Iterable[Command]) -> Ledger:
    found = {pool: Standing(one.nodes) for pool, one in standings(world).items()}
    book = kind(_rules(world), found, world.now)
    for command in commands:
        for one in command.candidates:
            book.take(one.pool)
    return book


def _rules(world: World) -> Rules:
    return Rules(
        {name: policy.budgets for name, policy in world.pools.items()},
        {name: policy.windows for name, policy in world.pools.items()},
        world.cluster,
    )


@dataclass(frozen=True, slots=True)
class StaticCount:
    """The claims of a static pool: staying, chosen to go with a replacement under way, and going."""

    active: int = 0
    pending: int = 0
    deleting: int = 0


def static_counts(world: World, pool: str) -> StaticCount:
    active = pending = deleting = 0
    for machine in world.machines.values():
        if machine.claim is None or machine.claim.meta.labels.get(labels.NODEPOOL) != pool:
            continue
        if machine.claim.is_deleting or machine.marked:
            deleting += 1
        elif machine.name in world.taken:
            pending += 1
        else:
            active += 1
    return StaticCount(active, pending, deleting)


def share_of(percent: int, count: int) -> int:
    return ceil(percent * count / 100)
