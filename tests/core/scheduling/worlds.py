"""Random worlds, made to break a scheduler: few labels and few values, so that everything meets and clashes often.

One generator throws dice. `random_world(seed)` gives it dice of a seeded `Random`, for runs of thousands; `worlds()`
gives it Hypothesis' dice, which shrink: the lowest throw is always the plainest choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from types import MappingProxyType
from typing import Protocol, TypeVar

from hypothesis import strategies as st
from tests.builders import hardware, node_class, price

from dovetail.core import labels
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.offerings import InstanceType, Offering, instance_type, offering, sorted_offerings
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.catalog.specs import Spec
from dovetail.core.nodepools import MinValuesPolicy, NodePool
from dovetail.core.nodes import EPHEMERAL, Node
from dovetail.core.pods import (
    Affinity,
    DaemonSet,
    HostPort,
    Pod,
    PodState,
    PodTerm,
    Policy,
    Preferred,
    Shape,
    Spread,
    Volumes,
)
from dovetail.core.requirements import (
    EMPTY,
    Operator,
    Requirement,
    Requirements,
    does_not_exist,
    exists,
    is_in,
    is_not_in,
    requirement,
)
from dovetail.core.resources import GIB, MIB, Resources
from dovetail.core.scheduling.problem import Options, PreferencePolicy, Problem
from dovetail.core.selectors import EVERYTHING, NOTHING_SELECTED, Selector
from dovetail.core.snapshot import Snapshot
from dovetail.core.taints import Effect, Taint, Toleration, TolerationOperator

T = TypeVar("T")

FAMILY, SIZE = "example.com/family", "example.com/cpu"  # on types; well known in our worlds
TEAM = "example.com/team"  # custom: pools define it, or nobody does
NOBODYS = "example.com/nobodys"
RESERVATION = "example.com/reservation-id"
DRIVER = "disk.csi.example.com"
ZONES = ("z1", "z2", "z3", "z4")
TEAMS = ("red", "blue")
APPS = ("web", "db", "cron")
NAMESPACES: Mapping[str, Mapping[str, str]] = {"default": {"env": "prod"}, "other": {"env": "test"}}
WELL_KNOWN = labels.WELL_KNOWN | {FAMILY, SIZE, RESERVATION}


class Dice(Protocol):
    def integer(self, low: int, high: int) -> int: ...


class SeededDice:
    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


class DrawnDice:
    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high)) if low < high else low


@dataclass(frozen=True, slots=True)
class Scale:
    """How large a world may get, and which of its features are in it."""

    types: tuple[int, int] = (3, 12)
    zones: tuple[int, int] = (2, 4)
    pools: tuple[int, int] = (1, 3)
    nodes: tuple[int, int] = (0, 6)
    daemons: tuple[int, int] = (0, 2)
    shapes: tuple[int, int] = (1, 8)
    replicas: tuple[int, int] = (1, 12)
    bound: tuple[int, int] = (0, 4)
    #: In percent of what the features below have by themselves; 0 takes a family of features out.
    preferences: int = 100
    reservations: int = 100
    min_values: int = 100
    spread: int = 100
    affinity: int = 100
    limits: int = 100
    open_labels: int = 100


LARGE = Scale()
SMALL = Scale(types=(1, 5), zones=(1, 3), pools=(1, 2), nodes=(0, 3), shapes=(1, 4), replicas=(1, 4), bound=(0, 2))


#: For the oracle: it knows nothing of minValues, and preferences do not decide whether a pod can be placed.
TINY = Scale(
    types=(1, 3),
    zones=(1, 3),
    pools=(1, 1),
    nodes=(0, 2),
    daemons=(0, 1),
    shapes=(1, 3),
    replicas=(1, 2),
    bound=(0, 2),
    preferences=0,
    min_values=0,
)


@dataclass(frozen=True, slots=True)
class Throw:
    """The questions one asks of dice."""

    dice: Dice
    scale: Scale

    def number(self, bounds: tuple[int, int]) -> int:
        return self.dice.integer(*bounds)

    def chance(self, percent: int) -> bool:
        """The lowest throw is always "no"."""
        return percent > 0 and self.dice.integer(0, 99) >= 100 - percent

    def pick(self, options: Sequence[T]) -> T:
        return options[self.dice.integer(0, len(options) - 1)]

    def some(self, options: Sequence[T], at_least: int = 1) -> tuple[T, ...]:
        found = tuple(one for one in options if not self.chance(50))
        return found if len(found) >= at_least else tuple(options[:at_least])


# ---- what can be bought


def _types(throw: Throw) -> dict[str, InstanceType]:
    zones = ZONES[: throw.number(throw.scale.zones)]
    found = {}
    for number in range(throw.number(throw.scale.types)):
        cpus = throw.pick((2, 4, 8, 1, 16))
        family = throw.pick(("m", "c", "r"))
        name = f"{family}{cpus}.{number}"
        spec = _spec(throw, name, family, cpus)
        found[name] = instance_type(spec, _rows(throw, name, zones, cpus))
    return {name: found[name] for name in sorted(found)}


def _spec(throw: Throw, name: str, family: str, cpus: int) -> Spec:
    arch = throw.pick(("amd64", "amd64", "amd64", "arm64"))
    gib = cpus * {"c": 2, "m": 4, "r": 8}[family]
    pods = throw.pick((110, 110, 8, 4))
    machine = replace(
        hardware(name, cpu=cpus, gib=gib, family=family, pods=pods),
        volume_limits=((DRIVER, throw.pick((2, 3))),) if throw.chance(30) else (),
    )
    pairs = {labels.INSTANCE_TYPE: name, labels.ARCH: arch, labels.OS: "linux", FAMILY: family, SIZE: str(cpus)}
    capacity = {"cpu": cpus * 1000, "memory": gib * GIB, "pods": pods, "ephemeral-storage": 20 * GIB}
    if throw.chance(10):
        capacity["example.com/gpu"] = 1
    allocatable = Resources(capacity) - Resources({"cpu": 100, "memory": 100 * MIB})
    return Spec(name, Requirements.of_labels(pairs), Resources(capacity), allocatable, machine)


def _rows(throw: Throw, name: str, zones: Sequence[str], cpus: int) -> tuple[Offering, ...]:
    base = cpus * throw.pick((10, 11, 9))
    found = []
    for zone in throw.some(zones):
        for kind, percent in ((labels.ON_DEMAND, 100), (labels.SPOT, throw.pick((30, 60, 100)))):
            if kind == labels.SPOT and throw.chance(30):
                continue
            amount = None if throw.chance(5) else price(base * percent / 10000)
            pairs = {labels.ZONE: zone, labels.CAPACITY_TYPE: kind}
            found.append(offering(pairs, amount, available=not throw.chance(12)))
        if throw.chance(12 * throw.scale.reservations // 100):
            found.append(_reserved(throw, name, zone, base))
    return sorted_offerings(found)


def _reserved(throw: Throw, name: str, zone: str, base: int) -> Offering:
    behind = tuple(
        Reservation(f"cr-{name}-{zone}-{number}", name, zone, throw.pick((1, 2, 0, 3)), 3)
        for number in range(throw.pick((1, 1, 2)))
    )
    required = [is_in(labels.CAPACITY_TYPE, labels.RESERVED), is_in(labels.ZONE, zone)]
    required.append(is_in(RESERVATION, *(one.id for one in behind)))
    count = sum(one.available for one in behind)
    row = Offering(Requirements(required), zone, labels.RESERVED, price(base / 100000), True, count, behind)
    return replace(row, available=not throw.chance(10))


# ---- who may buy


def _pool(throw: Throw, number: int, types: Mapping[str, InstanceType]) -> NodePool:
    limits = None
    if throw.chance(25 * throw.scale.limits // 100):
        limits = Resources({throw.pick(("cpu", "nodes", "memory")): 0})
        limits = Resources(
            {
                name: throw.pick({"cpu": (32000, 8000, 0), "nodes": (2, 1, 5, 0), "memory": (64 * GIB,)}[name])
                for name in limits
            }
        )
    return NodePool(
        f"pool-{number}",
        node_class(),
        requirements=Requirements(_pool_requirements(throw, types)),
        labels=((TEAM, throw.pick(TEAMS)),) if throw.chance(20) else (),
        taints=(_taint(throw),) if throw.chance(25) else (),
        startup_taints=(Taint("example.com/starting", Effect.NO_SCHEDULE),) if throw.chance(15) else (),
        limits=limits,
        weight=throw.pick((0, 0, 10, 50)),
        replicas=1 if throw.chance(3) else None,
        ready=not throw.chance(3),
        min_values_policy=throw.pick(tuple(MinValuesPolicy)) if throw.chance(20) else None,
        problem="its requirements cannot be read" if throw.chance(3) else None,
    )


def _pool_requirements(throw: Throw, types: Mapping[str, InstanceType]) -> Iterable[Requirement]:
    if throw.chance(25):
        yield is_in(labels.ZONE, *throw.some(ZONES[:3]))
    if throw.chance(40):
        yield is_in(labels.CAPACITY_TYPE, *throw.some((labels.ON_DEMAND, labels.SPOT, labels.RESERVED)))
    if throw.chance(20):
        yield is_in(labels.ARCH, "amd64")
    if throw.chance(30):
        wanted = throw.pick((2, 3, 1)) if throw.chance(40 * throw.scale.min_values // 100) else None
        yield is_in(FAMILY, *throw.some(("m", "c", "r"), wanted or 1), min_values=wanted)
    if throw.chance(15 * throw.scale.min_values // 100):
        yield requirement(labels.INSTANCE_TYPE, Operator.EXISTS, min_values=throw.pick((2, 3)))
    if throw.chance(6 * throw.scale.min_values // 100):
        yield requirement(throw.pick((labels.ZONE, labels.CAPACITY_TYPE)), Operator.EXISTS, min_values=2)
    if throw.chance(15):
        yield requirement(SIZE, throw.pick((Operator.GT, Operator.LT)), [throw.pick(("1", "8"))])
    if throw.chance(40 * throw.scale.open_labels // 100):
        yield throw.pick((is_in(TEAM, *TEAMS), exists(TEAM), is_not_in(TEAM, "blue"), does_not_exist(TEAM)))


def _taint(throw: Throw) -> Taint:
    effect = throw.pick((Effect.NO_SCHEDULE, Effect.PREFER_NO_SCHEDULE, Effect.NO_EXECUTE))
    return Taint(throw.pick(("example.com/dedicated", "example.com/level")), effect, throw.pick(("5", "9")))


def _toleration(throw: Throw) -> Toleration:
    key = throw.pick(("example.com/dedicated", "example.com/level"))
    operator = throw.pick(tuple(TolerationOperator))
    effect = None if throw.chance(60) else throw.pick(tuple(Effect))
    return Toleration("" if throw.chance(20) else key, operator, throw.pick(("5", "9", "7")), effect)


# ---- who waits


def _expression(throw: Throw, types: Mapping[str, InstanceType]) -> Requirement:
    """What a pod may ask of a node."""
    match throw.dice.integer(0, 9):
        case 0 | 1 | 2:
            return throw.pick((is_in, is_not_in))(labels.ZONE, *throw.some(ZONES))
        case 3:
            return is_in(labels.ARCH, throw.pick(("amd64", "arm64")))
        case 4:
            return is_in(labels.CAPACITY_TYPE, *throw.some((labels.ON_DEMAND, labels.SPOT, labels.RESERVED)))
        case 5 | 6:
            return throw.pick((is_in(TEAM, "red"), is_not_in(TEAM, "red"), exists(TEAM), does_not_exist(TEAM)))
        case 7:
            return requirement(SIZE, throw.pick((Operator.GT, Operator.LT)), [throw.pick(("2", "5"))])
        case 8:
            return throw.pick((is_in, is_not_in))(labels.INSTANCE_TYPE, throw.pick(sorted(types)))
        case _:
            return throw.pick(
                (is_not_in(NOBODYS, "x"), is_in(FAMILY, "c", "r"), does_not_exist(NOBODYS), exists(NOBODYS))
            )


def _selector(throw: Throw, app: str) -> Selector:
    """Mostly the pod's own app."""
    match throw.dice.integer(0, 11):
        case 8:
            return Selector(Requirements([is_in("app", throw.pick(APPS))]))
        case 9:
            return EVERYTHING
        case 10:
            return NOTHING_SELECTED
        case 11:
            return Selector(Requirements([is_not_in("app", throw.pick(APPS))]))
        case _:
            return Selector(Requirements([is_in("app", app)]))


_KEYS = (labels.ZONE, labels.HOSTNAME, labels.HOSTNAME, labels.CAPACITY_TYPE, TEAM, labels.ZONE)


def _spread(throw: Throw, app: str) -> Spread:
    return Spread(
        throw.pick(_KEYS),
        throw.pick((1, 1, 2, 3)),
        _selector(throw, app),
        hard=not throw.chance(30 * throw.scale.preferences // 100),
        min_domains=throw.pick((2, 3, 4)) if throw.chance(15) else None,
        node_affinity=Policy.IGNORE if throw.chance(15) else Policy.HONOR,
        node_taints=Policy.HONOR if throw.chance(20) else Policy.IGNORE,
    )


def _term(throw: Throw, app: str) -> PodTerm:
    names = frozenset[str]()
    chosen: Selector | None = None
    if throw.chance(15):
        names = frozenset(throw.some(tuple(NAMESPACES)))
    if throw.chance(15):
        chosen = throw.pick((EVERYTHING, Selector(Requirements([is_in("env", "prod")]))))
    return PodTerm(throw.pick(_KEYS), _selector(throw, app), names, chosen)


def _affinity(throw: Throw, app: str, percent: int) -> Affinity:
    share = throw.scale.affinity
    required = (_term(throw, app),) if throw.chance(percent * share // 100) else ()
    if required and throw.chance(10):
        required = (*required, _term(throw, app))
    wish = throw.chance(10 * share * throw.scale.preferences // 10000)
    preferred = (Preferred(throw.pick((1, 50, 100)), _term(throw, app)),) if wish else ()
    return Affinity(required, preferred)


def _volumes(throw: Throw, app: str) -> Volumes:
    places: tuple[Requirements, ...] = ()
    if throw.chance(12):
        places = tuple(Requirements([is_in(labels.ZONE, zone)]) for zone in throw.some(ZONES[:3]))
    attached: tuple[tuple[str, str], ...] = ()
    if throw.chance(12):
        attached = tuple((DRIVER, f"default/{app}-{number}") for number in range(throw.pick((1, 2))))
    return Volumes(places, attached)


def _requests(throw: Throw) -> Resources:
    amounts = {"cpu": throw.pick((500, 100, 900, 1500, 3000, 7000)), "memory": throw.pick((512, 256, 3000, 9000)) * MIB}
    if throw.chance(8):
        amounts["ephemeral-storage"] = throw.pick((1, 15)) * GIB
    if throw.chance(4):
        amounts["example.com/gpu"] = 1
    return Resources({**amounts, "pods": 1})


def _shape(throw: Throw, types: Mapping[str, InstanceType]) -> Shape:
    app = throw.pick(APPS)
    terms = tuple(
        Requirements(_expression(throw, types) for _ in range(throw.pick((1, 1, 2))))
        for _ in range(throw.pick((0, 0, 0, 1, 2, 3)))
    )
    spreads = throw.pick((0, 0, 0, 1, 1, 2)) if throw.chance(throw.scale.spread) else 0
    wishes = throw.pick((0, 1, 2)) if throw.chance(15 * throw.scale.preferences // 100) else 0
    return Shape(
        namespace="other" if throw.chance(15) else "default",
        labels=(("app", app),),
        requests=_requests(throw),
        selector=Requirements([_expression(throw, types)]) if throw.chance(20) else EMPTY,
        terms=terms,
        preferred=tuple(
            Preferred(throw.pick((1, 50, 100)), Requirements([_expression(throw, types)])) for _ in range(wishes)
        ),
        tolerations=tuple(_toleration(throw) for _ in range(throw.pick((0, 0, 1, 2)))),
        spread=tuple(_spread(throw, app) for _ in range(spreads)),
        near=_affinity(throw, app, 12),
        apart=_affinity(throw, app, 15),
        ports=(HostPort(throw.pick((80, 443)), ip=throw.pick(("0.0.0.0", "10.0.0.1"))),) if throw.chance(10) else (),
        volumes=_volumes(throw, app),
        priority=throw.pick((0, 0, 100)),
        problem="its selector cannot be read" if throw.chance(2) else None,
    )


# ---- what is there


def _node(throw: Throw, number: int, types: Mapping[str, InstanceType], pools: Sequence[NodePool]) -> Node:
    kind = types[throw.pick(sorted(types))]
    row = throw.pick(kind.offerings)
    pool = None if throw.chance(20) else throw.pick(pools)
    pairs = {one.key: next(iter(one.values)) for one in kind.spec.requirements}
    pairs |= {one.key: min(one.values) for one in row.requirements}
    pairs[labels.HOSTNAME] = f"host-{number}" if throw.chance(20) else f"node-{number}"
    ready = pool is None or not throw.chance(25)
    taints = (_taint(throw),) if throw.chance(15) else ()
    if pool is not None:
        pairs |= {labels.NODEPOOL: pool.name, pool.node_class.label_key: pool.node_class.name, **dict(pool.labels)}
        taints += pool.taints
        taints += () if ready else (*pool.startup_taints, throw.pick(EPHEMERAL))
    elif throw.chance(40):
        del pairs[labels.CAPACITY_TYPE]
    if TEAM not in pairs and throw.chance(40):
        pairs[TEAM] = throw.pick(TEAMS)
    return Node(
        f"node-{number}",
        MappingProxyType(pairs),
        taints=taints,
        startup_taints=() if pool is None else pool.startup_taints,
        capacity=kind.capacity,
        allocatable=kind.allocatable,
        pool=None if pool is None else pool.name,
        ready=ready,
        leaving=throw.chance(15),
        volume_limits=((DRIVER, throw.pick((2, 3))),) if throw.chance(30) else (),
    )


def _bound(throw: Throw, node: Node, shapes: Sequence[Shape]) -> Iterable[Pod]:
    for number in range(throw.number(throw.scale.bound)):
        shape = replace(throw.pick(shapes), problem=None)
        if throw.chance(80):
            shape = replace(shape, requests=Resources({"cpu": 100, "memory": 64 * MIB, "pods": 1}))
        owner = throw.pick(("", "", "", "StatefulSet", "DaemonSet"))
        state = throw.pick((*(PodState.BOUND,) * 17, PodState.GOING, PodState.GOING, PodState.DONE))
        yield Pod(f"bound-{node.name}-{number}", shape, f"b-{node.name}-{number}", 0.0, node.name, state, owner)


def _daemon(throw: Throw, number: int, types: Mapping[str, InstanceType]) -> DaemonSet:
    return DaemonSet(
        f"daemon-{number}",
        Shape(
            namespace="kube-system",
            labels=(("app", "daemon"),),
            requests=Resources({"cpu": throw.pick((100, 300)), "memory": 64 * MIB, "pods": 1}),
            terms=tuple(Requirements([_expression(throw, types)]) for _ in range(throw.pick((0, 0, 1, 2)))),
            tolerations=() if throw.chance(30) else (Toleration(operator=TolerationOperator.EXISTS),),
            ports=(HostPort(throw.pick((80, 9100))),) if throw.chance(25) else (),
        ),
    )


# ---- worlds


def made(dice: Dice, scale: Scale = LARGE) -> Problem:
    """A world, as the dice fall."""
    throw = Throw(dice, scale)
    types = _types(throw)
    pools = tuple(_pool(throw, number, types) for number in range(throw.number(scale.pools)))
    shapes = tuple(_shape(throw, types) for _ in range(throw.number(scale.shapes)))
    pods = [
        Pod(f"pod-{place}-{number}", shape, f"u-{place}-{number}", float(throw.pick((0, 1, 2))))
        for place, shape in enumerate(shapes)
        for number in range(throw.number(scale.replicas))
    ]
    nodes = tuple(_node(throw, number, types, pools) for number in range(throw.number(scale.nodes)))
    for node in nodes:
        pods.extend(_bound(throw, node, shapes))
    daemons = tuple(_daemon(throw, number, types) for number in range(throw.number(scale.daemons)))
    catalogs = {}
    for pool in pools:
        sold = {name: types[name] for name in throw.some(sorted(types))} if throw.chance(20) else types
        catalogs[pool.name] = Catalog(MappingProxyType(sold))
    options = Options(
        preferences=PreferencePolicy.IGNORE if throw.chance(20) else PreferencePolicy.RESPECT,
        min_values=MinValuesPolicy.BEST_EFFORT if throw.chance(20) else MinValuesPolicy.STRICT,
        reserved_capacity=not throw.chance(10),
        max_types=throw.pick((600, 600, 600, 3)),
        well_known=WELL_KNOWN,
    )
    return Problem(Snapshot(nodes, tuple(pods), pools, daemons, NAMESPACES), catalogs, options)


def random_world(seed: int, scale: Scale = LARGE) -> Problem:
    """The world of a seed, the same each time."""
    return made(SeededDice(seed), scale)


@st.composite
def worlds(draw: st.DrawFn, scale: Scale = LARGE) -> Problem:
    return made(DrawnDice(draw), scale)
