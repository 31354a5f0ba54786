"""Machines a cloud will take away: replaced first where there is time, drained at once where there is not.

    a rebalance recommendation   nobody says when, or whether: replaced like any node, and kept if that fails
    a notice with an end         replaced first if what comes is up before the drain has to begin, else both at once
    a notice without an end      both at once

What is bought is ordered in any case before the first pod is evicted, so pods that wait know where they go. No budget
is asked and no window: the cloud does not ask either. What was taken away should be marked as short before, or it is
bought again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dovetail.core import labels
from dovetail.core.disruption import consolidation, pricing
from dovetail.core.disruption.candidates import Candidate, candidate
from dovetail.core.disruption.commands import Command, Group, split
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.reasons import Decision, Reason
from dovetail.core.disruption.scenes import settle
from dovetail.core.disruption.stages import Stage, is_away, ledger
from dovetail.core.lifecycle.interruption import REBALANCE
from dovetail.core.scheduling.shelf import Shelf

#: How long a drain is taken to need: what pods get to stop unless they ask for another time.
DRAIN_SECONDS: Final = 30.0
#: And a little more, for whoever hears of it late.
_MARGIN_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Warned:
    """What a cloud said of a machine: one of `lifecycle.interruption.EVENTS`, and when it goes, None if not said."""

    kind: str
    ends: float | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Whether the replacement comes first, and when the drain begins at the latest (None: only when it is up)."""

    first: bool
    drain_by: float | None
    why: str


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A command for machines that go, to be started with `Running(command, now, drain_by=timing.drain_by)`."""

    command: Command
    timing: Timing


def timing(warned: Warned, now: float, start_seconds: float, drain_seconds: float = DRAIN_SECONDS) -> Timing:
    """When to drain. `start_seconds` is how long a new node takes until pods run on it."""
    if warned.kind == REBALANCE and warned.ends is None:
        return Timing(True, None, "it may be taken away soon: its replacement comes first")
    if warned.ends is None:
        return Timing(False, now, "nobody says how long it will stay: it is drained at once")
    latest = warned.ends - drain_seconds - _MARGIN_SECONDS
    if latest - now >= start_seconds:
        text = f"{warned.ends - now:.0f} s are left: its replacement comes first"
        return Timing(True, latest, text)
    text = f"{max(0.0, warned.ends - now):.0f} s are left, and a replacement takes {start_seconds:.0f}: it is drained "
    return Timing(False, now, f"{text}at once")


def interrupted(
    world: World, warned: Mapping[str, Warned], shelf: Shelf | None = None, drain_seconds: float = DRAIN_SECONDS
) -> tuple[Interrupted, ...]:
    """Commands for machines that will be taken away, by their names. Those nobody can plan for are left out: their
    claims end as they are."""
    settled = settle(world, shelf)
    going: dict[str, Candidate] = {}
    for name in sorted(warned):
        machine, node = world.machines.get(name), settled.node(name)
        if machine is None or machine.claim is None or node is None or is_away(machine, world):
            continue
        pool = machine.labels.get(labels.NODEPOOL, "")
        if pool in world.pools and pool in world.problem.catalogs:
            going[name] = candidate(machine, node, world, settled)
    if not going:
        return ()
    stage = Stage(world, settled, going, ledger(world), shelf)
    plan = stage.scene(closing=frozenset(going)).what_if(going)
    start = world.charges.start_seconds + world.charges.daemon_seconds
    found = []
    for group in split(plan, going):
        some = [going[name] for name in group.names]
        times = [timing(warned[name], world.now, start if group.claims else 0.0, drain_seconds) for name in group.names]
        urgent = min(times, key=lambda one: (one.drain_by is None, one.drain_by or 0.0))
        found.append(Interrupted(_command(group, some, world, urgent), urgent))
    return tuple(found)


def _command(group: Group, some: list[Candidate], world: World, urgent: Timing) -> Command:
    new = sum(pricing.price_of(claim) for claim in group.claims)
    return Command(
        Reason.INTERRUPTED,
        Decision.REPLACE if group.claims else Decision.DELETE,
        tuple(some),
        group,
        group.claims,
        saved=sum(one.nanodollars for one in some) - new,
        cost=consolidation.move_cost(some, new, world),
        why=urgent.why,
        at=world.now,
    )
