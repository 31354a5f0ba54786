"""`dovetail explain node NAME -f FILES`: what is on a node, what is left, what it costs, and why it is still here."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from dovetail.cli import disrupting, flags, output, planned
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.cli.planned import Planned
from dovetail.core import labels
from dovetail.core.disruption.passes import Decided
from dovetail.core.errors import BadInput
from dovetail.core.nodes import Node
from dovetail.core.resources import EPHEMERAL_STORAGE, NOTHING, quantity_of
from dovetail.core.scheduling.disks import GrownDisk
from dovetail.core.scheduling.problem import Claim
from dovetail.views import whereabouts
from dovetail.views.whereabouts import Fate, NodePage

EXAMPLES: Final = (
    ("dovetail explain node general-1 --context production", "of a live cluster, which is only read"),
    ("dovetail explain node general-1 -f world.json --now 2026-11-15T20:00:00Z", "of a dump, as if it were then"),
)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("node", metavar="NAME", help="a node of the files, or one `plan` would buy")
    planned.add_world(parser, several=False)
    planned.add_policies(parser)
    disrupting.add_flags(parser)
    flags.add_output(parser, ("table", "json", "yaml"))


def run(found: Namespace, console: Console) -> int:
    posed = planned.pose(found, found.file, console, disrupting=True)
    one = page(planned.answered(posed, console), found.node)
    if one.existing:
        one = replace(one, fate=_fate(disrupting.judged(posed, found, console).decided, one.name))
    match found.output:
        case "table":
            console.show(whereabouts.node_text(one, console.width, console.paint))
        case other:
            output.structured(whereabouts.node_wire(one), other, console)
    return Exit.OK


def page(done: Planned, wanted: str) -> NodePage:
    """The page of a node that is there, or of one that would be bought."""
    nodes = {one.name: one for one in done.world.snapshot.nodes}
    claims = {one.name: one for one in done.plan.claims}
    if wanted in nodes:
        return _existing(done, nodes[wanted])
    if wanted in claims:
        return _bought(claims[wanted])
    near = get_close_matches(wanted, [*nodes, *claims], 1, 0.6)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise BadInput(f"there is no node {wanted[:80]!r}, nor would one of that name be bought{hint}")


def _fate(decided: Decided, name: str) -> Fate:
    going = next((one for one in decided.commands if name in one.names), None)
    return Fate(decided.refusals.get(name), decided.method_refusals.get(name), going)


def _existing(done: Planned, node: Node) -> NodePage:
    running = [pod for pod in done.world.snapshot.pods if pod.node == node.name and pod.takes_room]
    coming = [pod for one in done.plan.placed if one.node.name == node.name for pod in one.pods]
    about = [("pool", node.pool or "none: it is not ours")]
    named = (
        ("type", labels.INSTANCE_TYPE),
        ("zone", labels.ZONE),
        ("capacity type", labels.CAPACITY_TYPE),
    )
    about += [(name, node.labels[key]) for name, key in named if key in node.labels]
    about += [("taint", str(taint)) for taint in node.effective_taints]
    about += [("state", "leaving: its pods are planned elsewhere")] if node.leaving else []
    about += [("state", "not up yet")] if not node.ready else []
    about += [(f"volumes of {driver}", f"at most {most}") for driver, most in node.volume_limits if most < 2**31 - 1]
    return NodePage(
        node.name,
        True,
        tuple(about),
        node.allocatable,
        sum((pod.shape.requests for pod in (*running, *coming)), NOTHING),
        running,
        coming,
        node.nanodollars,
    )


def _disk(disk: GrownDisk) -> str:
    return f"{quantity_of(EPHEMERAL_STORAGE, disk.size_bytes)}, as the default is too small for the pods on it"


def _bought(claim: Claim) -> NodePage:
    row = claim.choice.offering
    about = [
        ("pool", claim.pool.name),
        ("type", f"{claim.choice.instance_type.name}, the cheapest of {len(claim.types)} that will do"),
        ("zone", row.zone or "any"),
        ("capacity type", row.capacity_type or "any"),
        *(("reservation", one) for one in claim.reservation_ids),
        *((("disk", _disk(claim.disk)),) if claim.disk is not None else ()),
        *(("taint", str(taint)) for taint in claim.pool.taints),
    ]
    return NodePage(
        claim.name,
        False,
        tuple(about),
        claim.allocatable,
        claim.requests,
        (),
        claim.pods,
        None if row.price is None else row.price.nanodollars,
        claim,
    )
