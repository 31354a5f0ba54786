"""`dovetail explain pod NAME -f FILES`: why a pod waits, or where it goes and why there."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from dovetail.cli import flags, output, planned
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.cli.planned import Planned
from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.errors import BadInput
from dovetail.core.pods import Pod
from dovetail.core.requirements import Requirements
from dovetail.core.scheduling.problem import Claim
from dovetail.views import whereabouts
from dovetail.views.whereabouts import PodPage, Removed

EXAMPLES: Final = (
    ("dovetail explain pod web-0 -f shop.yaml", "of manifests"),
    ("dovetail explain pod shop/web-0 --context production", "of a live cluster, which is only read"),
)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("pod", metavar="NAME", help="a pod of the files, by name or namespace/name")
    planned.add_world(parser, several=False)
    planned.add_policies(parser)
    flags.add_output(parser, ("table", "json", "yaml"))


def run(found: Namespace, console: Console) -> int:
    done = planned.plan(found, found.file, console)
    one = page(done, found.pod)
    match found.output:
        case "table":
            console.show(whereabouts.pod_text(one, console.paint))
        case other:
            output.structured(whereabouts.pod_wire(one), other, console)
    return Exit.PENDING if one.refused is not None else Exit.OK


def page(done: Planned, wanted: str) -> PodPage:
    """What became of one pod."""
    pod = _found(done.world.snapshot.pods, wanted)
    for refused in done.plan.refused:
        if pod in refused.pods:
            return PodPage(pod, refused=refused)
    for claim in done.plan.claims:
        if pod in claim.pods:
            return PodPage(pod, claim=claim, removed=_removed(done, claim))
    for placed in done.plan.placed:
        if pod in placed.pods:
            return PodPage(pod, node=placed.node.name)
    return PodPage(pod, node=pod.node)


def _found(pods: Iterable[Pod], wanted: str) -> Pod:
    by_key = {pod.key: pod for pod in pods}
    key = planned.named(by_key, wanted)
    if key is not None:
        return by_key[key]
    several = [one for one in by_key if one.partition("/")[2] == wanted]
    if several:
        raise BadInput(f"several pods are called {wanted[:80]!r}: name one of {', '.join(sorted(several)[:5])}")
    near = get_close_matches(wanted, [*by_key, *(one.partition("/")[2] for one in by_key)][:20_000], 1, 0.6)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise BadInput(f"there is no pod {wanted[:80]!r} in the files{hint}")


def _removed(done: Planned, claim: Claim) -> Removed:
    """What took types out, step by step: each counts those the steps before it left."""
    types = list(done.markets.catalogs[claim.pool.name].types.values())
    of_pool = [one for one in types if one.requirements.intersects(claim.pool.template)]
    # The instance types a claim names are the outcome, and not what led to it.
    wanted = claim.requirements.without(labels.INSTANCE_TYPE)
    asked = [one for one in of_pool if one.requirements.intersects(wanted)]
    sold = [one for one in asked if _is_sold(one, wanted)]
    return Removed(
        len(types),
        len(types) - len(of_pool),
        len(of_pool) - len(asked),
        len(asked) - len(sold),
        len(sold) - len(claim.types),
        len(claim.types),
    )


def _is_sold(kind: InstanceType, wanted: Requirements) -> bool:
    return any(row.launchable and row.requirements.intersects(wanted) for row in kind.offerings)
