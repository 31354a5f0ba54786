"""`dovetail windows preview -f FILES --next 7d`: when each pool lets nodes go, for which reason, and what says so."""

from __future__ import annotations

import argparse
import re
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator
from typing import Final

from dovetail.api.disruption import worlds, zones
from dovetail.api.disruption.pools import REASONS
from dovetail.api.world import World
from dovetail.cli import disrupting, flags, output, planned
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.core import timestamps
from dovetail.core.disruption import timelines
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.zones import Zone
from dovetail.core.errors import BadInput
from dovetail.views import windows
from dovetail.views.windows import PoolWindows, Preview

#: Percentages of a pool nobody has seen nodes of are shown of so many.
ASSUMED_NODES: Final = 100
_DAYS: Final = re.compile(r"([0-9]{1,3})d(.*)", re.ASCII)
_DAY, _LONGEST_DAYS = 86400.0, 92
EXAMPLES: Final = (
    ("dovetail windows preview -f nodepools.yaml --next 3d --timezone Europe/Berlin", "three days, drawn"),
    (
        "dovetail windows preview --context production --nodepool general -o json",
        "one pool of a live cluster, for programs",
    ),
)


def configure(parser: ArgumentParser) -> None:
    planned.add_objects(parser)
    parser.add_argument("--next", dest="ahead", metavar="TIME", type=ahead, default="7d", help="how far (default 7d)")
    parser.add_argument("--nodepool", metavar="NAME", help="which NodePool of the files to look through")
    parser.add_argument("--timezone", metavar="NAME", type=zone, default="UTC", help="whose days to draw (default UTC)")
    disrupting.add_now(parser)
    flags.add_output(parser, ("table", "json", "yaml"))


def ahead(text: str) -> float:
    """A time ahead: a duration, which may begin with days."""
    days = _DAYS.fullmatch(text)
    rest = text if days is None else days[2]
    try:
        seconds = (0.0 if days is None else int(days[1]) * _DAY) + (timestamps.duration(rest) if rest else 0.0)
    except BadInput:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a time; write it as 7d, 36h or 1d12h") from None
    if not 0 < seconds <= _LONGEST_DAYS * _DAY:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not between a moment and {_LONGEST_DAYS} days")
    return seconds


def zone(text: str) -> Zone:
    try:
        return zones.named(text)
    except BadInput as bad:
        raise argparse.ArgumentTypeError(str(bad)) from None


def run(found: Namespace, console: Console) -> int:
    with console.doing("reading the world"):
        world = planned.read(found, found.file, console)
    since = time.time() if found.now is None else found.now
    drawn = Preview(since, since + found.ahead, found.timezone, tuple(_pools(world, found, console)))
    match found.output:
        case "table":
            console.show(windows.text(drawn, console.width, console.paint))
        case other:
            output.structured(windows.wire(drawn), other, console)
    return Exit.OK


def _pools(world: World, found: Namespace, console: Console) -> Iterator[PoolWindows]:
    policies, problems = worlds.policies_of(world, world.snapshot)
    console.problems(problems)
    if found.nodepool is not None and found.nodepool not in policies:
        known = ", ".join(sorted(policies)) or "none"
        raise BadInput(f"--nodepool: there is no NodePool {found.nodepool[:60]!r} here; there are {known}")
    if not policies:
        console.note("there is no NodePool here")
    owned = Counter(one.pool for one in world.snapshot.nodes if not one.leaving)
    since = time.time() if found.now is None else found.now
    for name in sorted(policies):
        if found.nodepool in (None, name):
            yield _pool(policies[name], owned[name], since, since + found.ahead)


def _pool(policy: PoolPolicy, owned: int, since: float, until: float) -> PoolWindows:
    counted = owned or ASSUMED_NODES
    drawn = {reason: timelines.stretches(policy, reason, counted, since, until) for reason in REASONS}
    return PoolWindows(policy.name, counted, not owned, drawn)
