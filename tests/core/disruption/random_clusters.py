"""Random clusters in the middle of their lives, from seeded dice."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from random import Random

from tests.core.disruption.clusters import ALL, HOUR, NOW, UP, Member, kind, member, pods, policy, reserved, world

from dovetail.core import labels
from dovetail.core.conditions import Condition, Status
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.facts import Gates, PodBudget, PodFacts, World
from dovetail.core.disruption.policies import PoolPolicy, Thresholds
from dovetail.core.disruption.reasons import ConsolidationPolicy, Reason
from dovetail.core.disruption.repair_policies import Action, RepairPolicy, checked
from dovetail.core.pods import Affinity, Pod, PodTerm, Shape, Spread
from dovetail.core.requirements import Requirements, is_in
from dovetail.core.resources import GIB, Resources
from dovetail.core.selectors import Selector

TYPES = (
    kind("c2", 2, 0.09, spot=0.04),
    reserved(kind("m4", 4, 0.2, spot=0.07), 2),
    kind("m8", 8, 0.4, spot=0.13),
    kind("r8", 8, 0.5),
    kind("m16", 16, 0.8, spot=0.3),
)
CPUS = {"c2": 2, "m4": 4, "m8": 8, "r8": 8, "m16": 16}
REPAIRS = checked(
    [
        RepairPolicy("Ready", Status.FALSE, 600.0, grace=0.0),
        RepairPolicy("Broken", Status.TRUE, 60.0, reason=".*", grace=60.0, action=Action.REBOOT),
    ]
)


def cluster(seed: int, nodes: int = 9, repair: bool = True) -> World:
    """A cluster of up to so many nodes; everything else is drawn too. No pod waits."""
    dice = Random(seed)
    pools = [_policy(dice, name) for name in ("blue", "red")[: dice.randint(1, 2)]]
    shapes = [_shape(dice, number) for number in range(dice.randint(2, 6))]
    members = [_member(dice, f"n{number}", dice.choice(pools), shapes) for number in range(dice.randint(2, nodes))]
    gates = Gates(
        node_repair=repair,
        spot_to_spot=dice.random() < 0.5,
        terminate_first_drift=False,
        staggered_expiry=dice.random() < 0.3,
    )
    return world(*members, pools=pools, types=TYPES, gates=gates, repairs=REPAIRS)


def _policy(dice: Random, name: str) -> PoolPolicy:
    budgets = dice.choice(
        (
            ALL,
            (Budget("1"),),
            (Budget("50%"),),
            (Budget("30%"), Budget("0", frozenset({Reason.DRIFTED}))),
            (Budget("2", frozenset({Reason.UNDERUTILIZED})), Budget("3")),
            (Budget("x%", frozenset({Reason.EMPTY})),),
        )
    )
    limits = Resources({"cpu": 40_000}) if dice.random() < 0.2 else None
    return policy(
        name,
        budgets=budgets,
        policy=dice.choice(tuple(ConsolidationPolicy)),
        consolidate_after=dice.choice((0.0, 0.0, 600.0, None)),
        thresholds=Thresholds(payback=dice.choice((0.0, 1800.0))),
        pool={"limits": limits},
    )


def _shape(dice: Random, number: int) -> Shape:
    app = f"app{number}"
    mine = Selector(Requirements([is_in("app", app)]))
    requests = {"cpu": dice.choice((200, 500, 900, 1500)), "memory": dice.choice((1, 2, 5)) * GIB // 2, "pods": 1}
    shape = Shape(labels=(("app", app),), requests=Resources(requests))
    draw = dice.random()
    if draw < 0.2:
        return replace(shape, spread=(Spread(labels.ZONE, 1, mine),))
    if draw < 0.3:
        return replace(shape, apart=Affinity((PodTerm(labels.HOSTNAME, mine),)))
    return shape


def _member(dice: Random, name: str, of: PoolPolicy, shapes: list[Shape]) -> Member:
    type_ = dice.choice(tuple(CPUS))
    found = _pods(dice, name, shapes, CPUS[type_])
    facts = {pod.key: one for pod in found if (one := _facts(dice)) is not None}
    conditions = ()
    if dice.random() < 0.25:
        conditions = (Condition("Drifted", Status.TRUE, "AMIDrift", "AMIDrift", NOW - dice.randint(1, 9) * HOUR),)
    ill = (Condition("Broken", Status.TRUE, "Panic", since=NOW - 300),) if dice.random() < 0.08 else ()
    spot = any(row.capacity_type == labels.SPOT for one in TYPES if one.name == type_ for row in one.offerings)
    return member(
        name,
        type_,
        pods=found,
        facts=facts,
        pool=of.name,
        types=TYPES,
        zone=dice.choice(("z1", "z2")),
        capacity_type=labels.SPOT if spot and dice.random() < 0.4 else labels.ON_DEMAND,
        true=UP if dice.random() < 0.9 else UP[:2],
        ready=dice.random() < 0.93,
        conditions=conditions,
        node_conditions=ill,
        last_pod_event=NOW - dice.choice((60, 3600)),
        expire_after=dice.choice((None, None, 23 * HOUR)),
        nominated=dice.random() < 0.05,
    )


def _pods(dice: Random, node: str, shapes: list[Shape], cpus: int) -> list[Pod]:
    """Pods that fit on a node, with nobody twice who keeps apart."""
    room = int(cpus * 1000 * dice.random())
    memory = cpus * 4 * GIB
    found: list[Pod] = []
    for number in range(dice.randint(0, 12)):
        shape = dice.choice(shapes)
        room -= shape.requests.of("cpu")
        memory -= shape.requests.of("memory")
        if room < 0 or memory < 0:
            break
        if shape.apart.required and any(pod.shape is shape for pod in found):
            continue
        found += [Pod(f"{node}-{number}", shape, f"{node}-{number}-uid", owner="ReplicaSet")]
    if dice.random() < 0.2:
        found += pods(f"daemon-{node}", cpu=1, gib=0, owner="DaemonSet")
    return found


def _facts(dice: Random) -> PodFacts | None:
    draw = dice.random()
    if draw < 0.03:
        return PodFacts(held_until=inf)
    if draw < 0.1:
        return PodFacts(budgets=(PodBudget("pdb", dice.choice((0, 1, 5))),))
    if draw < 0.2:
        return PodFacts(disruption_cost=str(dice.randint(0, 2**30)))
    return None
