"""An independent judge of plans: everything that must hold of the cluster as it would be afterwards.

The checker shares no code and no thinking with the solver. It takes the plan as a whole, forgets in which order it
was made, and asks of the final state only what any valid order implies; where a claim may still be launched in
several ways, a rule has to hold in each of them.

    check_spots      the cluster after the plan: nodes, claims in all their launches, what a pod demands of either
    check_claims     a claim's pool, types, choice, requirements, minValues; limits; reservations
    check_topology   spread, affinity, anti-affinity
    check            pods accounted for once; room, taints, labels, ports and volumes on every spot

What it does not judge: preferences, the order of pools, and whether a refused pod could have been placed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from dovetail.core import labels
from dovetail.core.catalog.hardware import Disk
from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.nodes import Node
from dovetail.core.pods import Pod
from dovetail.core.resources import EPHEMERAL_STORAGE, NOTHING, Resources
from dovetail.core.scheduling.check_claims import claim_violations, limit_violations, reservation_violations
from dovetail.core.scheduling.check_spots import (
    Spot,
    Violation,
    daemons_on,
    demands,
    hard,
    met_in_any,
    spots_after,
    to_be_planned,
)
from dovetail.core.scheduling.check_topology import topology_violations
from dovetail.core.scheduling.problem import Claim, Placed, Plan, Problem, Refused
from dovetail.core.taints import untolerated

__all__ = ["Violation", "check"]


def check(problem: Problem, plan: Plan) -> tuple[Violation, ...]:
    """Every rule the plan breaks; none means that it is valid."""
    spots = spots_after(problem, plan)
    return (
        *_accounts(problem, plan),
        *(one for spot in spots for one in _spot(problem, spot)),
        *limit_violations(problem, plan),
        *reservation_violations(problem, plan, spots),
        *topology_violations(problem, spots),
    )


def _accounts(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """Every pod that waits or has to move is answered exactly once, and nobody else is."""
    wanted = Counter((pod.key, pod.uid) for pod in to_be_planned(problem))
    groups: tuple[Claim | Placed | Refused, ...] = (*plan.claims, *plan.placed, *plan.refused)
    answered = Counter((pod.key, pod.uid) for group in groups for pod in group.pods)
    for (key, _), often in (wanted - answered).items():
        yield Violation("forgotten", f"{key} is not in the plan ({often} missing)")
    for (key, _), often in (answered - wanted).items():
        yield Violation("uninvited", f"{key} is in the plan {often} times too often")
    known = frozenset(problem.snapshot.nodes)
    for placed in plan.placed:
        if placed.node not in known:
            yield Violation("unknown-node", f"{placed.node.name} is not there")
        elif placed.node.leaving:
            yield Violation("leaving-node", f"{placed.node.name} is leaving")
    names = Counter([placed.node.name for placed in plan.placed] + [claim.name for claim in plan.claims])
    for name, often in names.items():
        if often > 1:
            yield Violation("named-twice", f"{name} is in the plan {often} times")
    planned: tuple[Claim | Placed, ...] = (*plan.claims, *plan.placed)
    for group in planned:
        for pod in group.pods:
            if pod.shape.problem is not None:
                yield Violation("problem", f"{pod.key} cannot be planned, yet it is: {pod.shape.problem}")


def _spot(problem: Problem, spot: Spot) -> Iterator[Violation]:
    if spot.claim is not None:
        yield from claim_violations(problem, spot, spot.claim)
    if not spot.coming:
        return
    yield from _taints(spot)
    yield from _labels(spot)
    if spot.claim is None:
        yield from _room_on_node(problem, spot)
        yield from _port_clashes(spot.name, spot.coming, spot.staying + spot.going)
    else:
        yield from _room_on_claim(problem, spot)
    yield from _attachments(problem, spot)


def _taints(spot: Spot) -> Iterator[Violation]:
    for pod in spot.coming:
        kept_out = untolerated(hard(spot.taints), pod.shape.tolerations)
        if kept_out:
            yield Violation("taints", f"{pod.key} does not tolerate {kept_out[0]} of {spot.name}")


def _labels(spot: Spot) -> Iterator[Violation]:
    """In every way the spot may come to be, one of the pod's alternatives holds, and one of its volumes' places."""
    for pod in spot.coming:
        wanted, places = demands(pod.shape), pod.shape.volumes.places
        if not all(met_in_any(wanted, defined) for defined in spot.ways):
            yield Violation("labels", f"{spot.name} is not, or need not be, what {pod.key} selects")
        if places and not all(met_in_any(places, defined) for defined in spot.ways):
            yield Violation("volume-place", f"{spot.name} is not, or need not be, where volumes of {pod.key} are")


def _total(pods: tuple[Pod, ...]) -> Resources:
    return sum((pod.shape.requests for pod in pods), NOTHING)


def _room_on_node(problem: Problem, spot: Spot) -> Iterator[Violation]:
    """Allocatable, less what runs there, less what daemons will still take."""
    assert spot.node is not None
    expected = NOTHING
    for daemon in daemons_on(problem.snapshot.daemons, spot.taints, spot.ways[0], frozenset()):
        expected += daemon.shape.requests
    there = spot.staying + spot.going
    arrived = _total(tuple(pod for pod in there if pod.owner == "DaemonSet"))
    missing = Resources({name: max(0, amount - arrived.of(name)) for name, amount in expected.items()})
    room = spot.node.allocatable - _total(there) - missing
    if not _total(spot.coming).fits_in(room):
        yield Violation("room", f"{spot.name} has room for {room}; {_total(spot.coming)} come")


def _room_on_claim(problem: Problem, spot: Spot) -> Iterator[Violation]:
    """On every type, by every row: pods and daemons fit together, and their ports do not clash."""
    asked = _total(spot.coming)
    short: set[str] = set()
    clashes: set[Violation] = set()
    for launch in spot.launches:
        daemons = tuple(
            daemons_on(problem.snapshot.daemons, spot.taints, launch.defined, problem.options.well_known),
        )
        total = sum((daemon.shape.requests for daemon in daemons), asked)
        if not total.fits_in(_allocatable(problem, spot.claim, launch.instance_type)):
            short.add(launch.instance_type.name)
        beside = tuple(Pod(daemon.name, daemon.shape) for daemon in daemons)
        clashes |= set(_port_clashes(spot.name, spot.coming, beside))
    if short:
        yield Violation("room", f"{spot.name} may be launched as {sorted(short)}, too small for {asked} and daemons")
    yield from sorted(clashes, key=str)


def _allocatable(problem: Problem, claim: Claim | None, kind: InstanceType) -> Resources:
    """What pods may have of a type, with the disk the claim would be launched with."""
    plain = kind.allocatable
    if claim is None or claim.disk is None or kind.spec.hardware.disk.local_disks:
        return plain
    rules = problem.options.growing[claim.pool.name].rules
    size = max(kind.spec.hardware.disk.size_bytes, claim.disk.size_bytes)
    grown = rules.ledger_of(replace(kind.spec.hardware, disk=Disk(size))).allocatable
    return plain.merged({EPHEMERAL_STORAGE: grown.of(EPHEMERAL_STORAGE)})


def _port_clashes(name: str, coming: tuple[Pod, ...], beside: tuple[Pod, ...]) -> Iterator[Violation]:
    pairs = [*combinations(coming, 2), *((one, other) for one in coming for other in beside)]
    for one, other in pairs:
        if any(mine.clashes(theirs) for mine in one.shape.ports for theirs in other.shape.ports):
            yield Violation("ports", f"{one.key} and {other.key} want the same port of {name}")


def _attachments(problem: Problem, spot: Spot) -> Iterator[Violation]:
    """Claims of volumes by driver, each counted once, against the node's limit or every type's.

    A node speaks for the drivers it lists, and its type for the others.
    """
    limits = (
        [tuple((_limits_of_type(problem, spot.node) | dict(spot.node.volume_limits)).items())]
        if spot.node is not None
        else [launch.instance_type.spec.hardware.volume_limits for launch in spot.launches]
    )
    attached = {one for pod in spot.pods + spot.going for one in pod.shape.volumes.attached}
    new = {driver for pod in spot.coming for driver, _ in pod.shape.volumes.attached}
    for driver, limit in sorted({pair for pairs in limits for pair in pairs}):
        count = sum(1 for one, _ in attached if one == driver)
        if driver in new and count > limit:
            yield Violation("attachments", f"{spot.name} would hold {count} volumes of {driver}, {limit} may be")


def _limits_of_type(problem: Problem, node: Node) -> dict[str, int]:
    for name, catalog in problem.catalogs.items():
        for kind in catalog.types.values():
            if name == node.pool and kind.name == node.labels.get(labels.INSTANCE_TYPE):
                return dict(kind.spec.hardware.volume_limits)
    return {}
