"""`dovetail plan -f FILES`: the nodes it would buy for these pods, and what waits and why."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from dovetail.cli import flags, output, planned
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.cli.planned import Planned
from dovetail.collector import RESTING
from dovetail.core.resources import NOTHING, Resources
from dovetail.views import buffers, plan
from dovetail.views.plan import Planning

EXAMPLES: Final = (
    ("dovetail plan -f shop.yaml", "the nodes it would buy for these manifests, and what waits and why"),
    ("dovetail plan --context production", "the same for the pods that wait in a live cluster, which is only read"),
    ("dovetail plan -f shop.yaml --with 'deployment/web.replicas=90'", "what if there were ninety"),
    ("dovetail plan -f before --diff after", "what would change from one world to another"),
    ("dovetail plan -f shop.yaml -o json", "for programs"),
)


def configure(parser: ArgumentParser) -> None:
    planned.add_world(parser)
    planned.add_policies(parser)
    parser.add_argument(
        "--diff",
        metavar="PATH",
        action="extend",
        nargs="+",
        help="what would change from the world of -f to this one; --with then changes this one only",
    )
    parser.add_argument(
        "--cluster-api",
        action="store_true",
        help="instead of planning pods: what the machines of a Cluster API cluster cost, and what spot would save",
    )
    flags.add_output(parser, ("table", "json", "yaml"))


def run(found: Namespace, console: Console) -> int:
    with RESTING:
        return _run(found, console)


def _run(found: Namespace, console: Console) -> int:
    if found.cluster_api:
        from dovetail.cli import plan_machines  # who plans pods need not wait for it

        return plan_machines.run(found, console)
    if found.diff:
        unchanged = Namespace(**{**vars(found), "changes": None})
        before = planning(planned.plan(unchanged, found.file, console))
        return _difference(before, planning(planned.plan(found, found.diff, console)), found, console)
    before = planning(planned.plan(found, found.file, console))
    match found.output:
        case "table":
            console.show(plan.text(before, console.width, console.paint))
        case other:
            output.structured(plan.wire(before), other, console)
    return Exit.PENDING if before.waiting else Exit.OK


def planning(done: Planned) -> Planning:
    """The plan with what was on the nodes before."""
    used: dict[str, Resources] = {}
    taking = {one.node.name for one in done.plan.placed}
    for pod in done.world.snapshot.pods:
        if pod.takes_room and pod.node in taking:
            used[pod.node] = used.get(pod.node, NOTHING) + pod.shape.requests
    kept = done.world.buffers if done.with_buffers else ()
    provided = (buffers.provided(one.buffer.key, one.pods, done.plan, one.problem) for one in kept)
    return Planning(done.plan, used, tuple(provided))


def _difference(before: Planning, after: Planning, found: Namespace, console: Console) -> int:
    from dovetail.views import plan_difference

    changes = plan_difference.compare(before, after)
    match found.output:
        case "table":
            console.show(plan_difference.text(changes, console.width, console.paint))
        case other:
            output.structured(plan_difference.wire(changes), other, console)
    return Exit.PENDING if after.waiting else Exit.OK
