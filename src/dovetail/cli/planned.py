"""Reading a world and planning it: what `plan`, `explain` and `lint` have in common."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from dovetail.api import scheduler_config, what_if
from dovetail.api.world import World, read_world
from dovetail.cli import files, flags, live, markets
from dovetail.cli.console import Console
from dovetail.cli.markets import Markets
from dovetail.collector import RESTING
from dovetail.core.errors import BadInput
from dovetail.core.nodepools import MinValuesPolicy
from dovetail.core.pods import PodState
from dovetail.core.scheduling.problem import Options, Plan, PreferencePolicy, Problem
from dovetail.core.scheduling.solve import solve

_KINDS_SHOWN = 8
_BUFFERS = "CapacityBuffer"


@dataclass(frozen=True, slots=True)
class Planned:
    """A world, what its pools can buy, and the plan for it."""

    world: World
    markets: Markets
    problem: Problem
    plan: Plan
    #: Whether CapacityBuffers are planned for.
    with_buffers: bool = False


def add_world(parser: ArgumentParser, *, several: bool = True) -> None:
    """Which world to look at, what to change in it first, and whose catalogue it buys from."""
    add_objects(parser, several=several)
    flags.add_place(parser)


def add_objects(parser: ArgumentParser, *, several: bool = True) -> None:
    group = parser.add_argument_group("which world")
    told = "manifests or a dump: files, directories or - (repeatable; a later file may say an object anew)"
    if several:
        group.add_argument("-f", "--file", metavar="PATH", action="extend", nargs="+", help=told)
    else:
        group.add_argument("-f", "--file", metavar="PATH", action="append", help=told)
    group.add_argument(
        "--with",
        dest="changes",
        metavar="CHANGE",
        action="append",
        help="change an object before it is read: 'nodepool/spot.spec.weight=10' (repeatable)",
    )
    live.add_flags(parser)


def add_policies(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("how to plan")
    group.add_argument(
        "--preference-policy",
        choices=tuple(PreferencePolicy),
        default=PreferencePolicy.RESPECT,
        help="whether preferences are kept as long as possible (default Respect)",
    )
    group.add_argument(
        "--min-values-policy",
        choices=tuple(MinValuesPolicy),
        default=MinValuesPolicy.STRICT,
        help="what to do where minValues cannot be met (default Strict)",
    )
    group.add_argument(
        "--scheduler-config", metavar="FILE", help="default topology spread constraints for pods that have none"
    )


def read(found: Namespace, paths: Sequence[str] | None, console: Console, *, disrupting: bool = False) -> World:
    """The world of some files; what is wrong with it is remembered by the console."""
    if not paths and not live.is_wanted(found):
        raise BadInput("name at least one file or directory with -f, - for stdin, or a live cluster with --context")
    config = getattr(found, "scheduler_config", None)
    spread = scheduler_config.read(files.read_text(config, console), config) if config else scheduler_config.NO_DEFAULTS
    changes = [what_if.parse(one) for one in found.changes or ()]
    planned = console.settings.gate(_BUFFERS)
    seen = live.read(found, console) if live.is_wanted(found) else []
    # Files come after the cluster: what they say anew is a what-if on it.
    given = chain(seen, files.world(paths or (), console))
    formulas = console.settings.formulas
    world = read_world(given, spread, changes, with_buffers=planned, with_disruption=disrupting, formulas=formulas)
    console.problems(world.problems)
    _note_skipped(world, console)
    if world.buffers and not planned:
        console.note(f"the gate {_BUFFERS} is off, so these are not planned: {len(world.buffers)}")
    return world


def _note_skipped(world: World, console: Console) -> None:
    if world.skipped:
        kinds = sorted(world.skipped)
        more = f" and {len(kinds) - _KINDS_SHOWN} more kinds" if len(kinds) > _KINDS_SHOWN else ""
        total = sum(world.skipped.values())
        console.note(f"skipped {total} objects planning has no use for: {', '.join(kinds[:_KINDS_SHOWN])}{more}")


@dataclass(frozen=True, slots=True)
class Posed:
    """A world, what its pools can buy, and the question that makes, not yet answered."""

    world: World
    markets: Markets
    problem: Problem


def pose(found: Namespace, paths: Sequence[str] | None, console: Console, *, disrupting: bool = False) -> Posed:
    """Read. `disrupting`: what only disruption looks at is kept, too."""
    with console.doing("reading the world"):
        held = read(found, paths, console, disrupting=disrupting)
        world, shelves = markets.open_markets(held, found, console)
    options = Options(
        preferences=PreferencePolicy(found.preference_policy),
        min_values=MinValuesPolicy(found.min_values_policy),
        reserved_capacity=console.settings.gate("ReservedCapacity"),
        well_known=shelves.well_known,
        growing=shelves.growing,
    )
    return Posed(world, shelves, Problem(world.snapshot, shelves.catalogs, options))


def plan(found: Namespace, paths: Sequence[str] | None, console: Console) -> Planned:
    """Read and plan."""
    with RESTING:
        return answered(pose(found, paths, console), console)


def answered(posed: Posed, console: Console) -> Planned:
    _note_waiting(posed.world, console)
    with console.doing("planning"):
        found = solve(posed.problem)
    return Planned(posed.world, posed.markets, posed.problem, found, console.settings.gate(_BUFFERS))


def _note_waiting(world: World, console: Console) -> None:
    waiting = [pod.node for pod in world.snapshot.pods if pod.state is PodState.WAITING]
    staying = sum(node is not None for node in waiting)
    if len(waiting) > staying:
        others = "they are gated, await a preemption, or are a daemon's or a node's own"
        console.note(f"{len(waiting) - staying} pods are not planned: {others}")
    if staying:
        console.note(f"{staying} pods of nodes that leave are not planned elsewhere: they may not be disrupted")


def named(words: Iterable[str], wanted: str) -> str | None:
    """The one of these a person means: by its whole name, or by what follows the namespace if that is unique."""
    known = list(words)
    if wanted in known:
        return wanted
    ends = [one for one in known if one.partition("/")[2] == wanted]
    return ends[0] if len(ends) == 1 else None
