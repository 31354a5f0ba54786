"""Deciding about the nodes of a world: what `consolidate --plan` and `explain node` have in common."""

from __future__ import annotations

import argparse
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dovetail.api.disruption import worlds
from dovetail.cli import planned
from dovetail.cli.console import Console
from dovetail.cli.planned import Posed
from dovetail.core import timestamps
from dovetail.core.disruption import budgets
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.facts import Gates, World
from dovetail.core.disruption.passes import Decided, decide
from dovetail.core.errors import BadInput
from dovetail.core.scheduling.shelf import Shelf


@dataclass(frozen=True, slots=True)
class Deciding:
    """A world as disruption sees it, and what a pass makes of it."""

    posed: Posed
    world: World
    decided: Decided
    shelf: Shelf

    def with_payback(self, seconds: float) -> Decided:
        """What would be decided if moves had to pay back within this; 0 is without the rule."""
        pools = {
            name: replace(one, thresholds=replace(one.thresholds, payback=seconds))
            for name, one in self.world.pools.items()
        }
        return decide(replace(self.world, pools=pools), self.shelf)


def add_flags(parser: ArgumentParser) -> None:
    """What a decision depends on besides the world."""
    add_now(parser)
    parser.add_argument(
        "--disruption-budget",
        metavar="BUDGETS",
        type=cluster_budgets,
        default=(),
        help="what all pools together may lose at once, as the controller is told: '10%%; Drifted: 5'",
    )


def add_now(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--now", metavar="TIME", type=moment, help="decide as if it were this time, such as 2026-11-15T12:00:00Z"
    )


def cluster_budgets(text: str) -> tuple[Budget, ...]:
    try:
        return budgets.of_cluster(text)
    except BadInput as bad:
        raise argparse.ArgumentTypeError(str(bad)) from None


def moment(text: str) -> float:
    try:
        return timestamps.seconds(text)
    except BadInput as bad:
        raise argparse.ArgumentTypeError(str(bad)) from None


def decided(found: Namespace, paths: Sequence[str] | None, console: Console) -> Deciding:
    """Read a world and decide; nothing is changed."""
    return judged(planned.pose(found, paths, console, disrupting=True), found, console)


def judged(posed: Posed, found: Namespace, console: Console) -> Deciding:
    now = time.time() if found.now is None else found.now
    told = worlds.world(posed.world, posed.problem, now, gates(console), found.disruption_budget)
    console.problems(told.problems)
    shelf = Shelf()
    with console.doing("deciding"):
        return Deciding(posed, told.world, decide(told.world, shelf), shelf)


def gates(console: Console) -> Gates:
    """The gates that bear on disruption. Repair is not decided here: how long nodes may be ill, their cloud says."""
    on = console.settings.gate
    return Gates(
        spot_to_spot=on("SpotToSpotConsolidation"),
        static_capacity=on("StaticCapacity"),
        terminate_first_drift=on("TerminateFirstDrift"),
        writes_deletion_cost=on("PodDeletionCostManagement"),
    )
