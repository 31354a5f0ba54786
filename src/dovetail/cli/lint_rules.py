"""Lint rules over pools, pods and what can be bought."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from dovetail.api import documents
from dovetail.api.world import World
from dovetail.cli import lint_disruption, lint_machines
from dovetail.cli.lint_documents import DEPRECATED, QUANTITY, UNREADABLE
from dovetail.cli.markets import Markets
from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.nodepools import NodePool
from dovetail.core.pods import PodState
from dovetail.core.requirements import Requirements
from dovetail.core.resources import quantity_of
from dovetail.views.findings import Finding, Level, Rule

NO_TYPES: Final = Rule(
    "DV001",
    "no-matching-types",
    "A pool whose requirements no instance type meets",
    (Level.ERROR,),
    "a NodePool whose requirements no instance type meets; names the requirement without which some would",
)
MIN_VALUES: Final = Rule(
    "DV002",
    "min-values-unreachable",
    "minValues that the types left can never reach",
    (Level.ERROR,),
    "`minValues` above the number of values the types left have",
)
LIMITS: Final = Rule(
    "DV003",
    "limits-below-one-node",
    "Limits smaller than the smallest node",
    (Level.ERROR,),
    "`limits` smaller than the smallest node",
)
OVERLAP: Final = Rule(
    "DV004",
    "overlapping-pools",
    "Pools of equal weight that sell the same to the same pods",
    (Level.WARNING,),
    "two pools of equal weight that sell the same machines to the same pods",
)
SHADOWED: Final = Rule(
    "DV006",
    "shadowed-pool",
    "A pool that is never used, as a heavier one takes all its pods",
    (Level.WARNING,),
    "a pool a heavier one takes every pod from: no limits, no more taints, and everything the lighter sells",
)
PREFERENCE: Final = Rule(
    "DV007",
    "impossible-preference",
    "A preference that nothing can ever meet",
    (Level.WARNING,),
    "preferred node affinity that no pool and no node can meet",
)
NODE_CLASS: Final = Rule(
    "DV008",
    "missing-node-class",
    "A reference to a node class that is not there",
    (Level.ERROR, Level.NOTE),
    "a `nodeClassRef` to a class that is not in the files; a note where the files hold none of that kind",
)
RULES: Final = (
    NO_TYPES, MIN_VALUES, LIMITS, OVERLAP, lint_disruption.BUDGET, SHADOWED, PREFERENCE, NODE_CLASS, DEPRECATED,
    QUANTITY, UNREADABLE, *lint_disruption.MORE_RULES, *lint_machines.RULES,
)  # fmt: skip
_REQUIREMENTS: Final = "spec.template.spec.requirements"


@dataclass(frozen=True, slots=True)
class Offered:
    """A pool, and what of its cloud's catalogue it may buy."""

    pool: NodePool
    types: tuple[InstanceType, ...]
    all_types: tuple[InstanceType, ...]

    @property
    def rows(self) -> frozenset[tuple[str, str | None, str | None]]:
        """Each way to buy: type, zone, capacity type."""
        wanted = self.pool.template
        return frozenset(
            (one.name, row.zone, row.capacity_type)
            for one in self.types
            for row in one.offerings
            if row.requirements.intersects(wanted)
        )


@dataclass(frozen=True, slots=True)
class Lint:
    """What the rules look at."""

    world: World
    markets: Markets
    offered: tuple[Offered, ...]

    def finding(self, rule: Rule, level: Level, pool: NodePool, path: str, told: tuple[str, str]) -> Finding:
        source = self.world.sources.get(("NodePool", pool.name))
        file = source.place[0] if source is not None else ""
        name = documents.name_of(source.value) if source is not None else f"NodePool {pool.name}"
        return Finding(rule, level, name, path, told[0], told[1], file)

    def requirement_path(self, pool: NodePool, key: str) -> str:
        """The path to a pool's requirement on a key, as it is written."""
        source = self.world.sources.get(("NodePool", pool.name))
        try:
            listed = source.value["spec"]["template"]["spec"]["requirements"]  # type: ignore[index, union-attr]
            at = next(at for at, one in enumerate(listed) if labels.canonical(one["key"]) == key)
        except (KeyError, TypeError, StopIteration):
            return _REQUIREMENTS
        return f"{_REQUIREMENTS}[{at}]"


def lint(world: World, markets: Markets) -> Iterator[Finding]:
    """Every rule, one after another."""
    offered = []
    for pool in world.snapshot.pools:
        if pool.problem is None and pool.name in markets.catalogs:
            every = tuple(markets.catalogs[pool.name].types.values())
            offered.append(Offered(pool, tuple(one for one in every if _sells(one, pool.template)), every))
    about = Lint(world, markets, tuple(offered))
    for rule in _CHECKS:
        yield from rule(about)


def _sells(kind: InstanceType, wanted: Requirements) -> bool:
    return kind.requirements.intersects(wanted) and any(
        row.available and row.requirements.intersects(wanted) for row in kind.offerings
    )


def no_types(about: Lint) -> Iterator[Finding]:
    for one in about.offered:
        if one.types:
            continue
        guilty = [
            each.key
            for each in one.pool.requirements
            if any(_sells(kind, one.pool.template.without(each.key)) for kind in one.all_types)
        ]
        key = guilty[0] if guilty else None
        path = about.requirement_path(one.pool, key) if key else _REQUIREMENTS
        told = f"none of {len(one.all_types)} types meets the requirements of the pool"
        fix = f"without the requirement on {key} some would" if key else "several requirements contradict one another"
        yield about.finding(NO_TYPES, Level.ERROR, one.pool, path, (told, fix))


def min_values(about: Lint) -> Iterator[Finding]:
    for one in about.offered:
        for wanted in one.pool.requirements if one.types else ():
            if wanted.min_values is None:
                continue
            found: set[str] = set()
            for kind in one.types:
                has = kind.requirements.get(wanted.key)
                if has is not None and not has.complement:
                    found.update(value for value in has.values if wanted.admits(value))
            if len(found) < wanted.min_values:
                path = f"{about.requirement_path(one.pool, wanted.key)}.minValues"
                told = f"asks for {wanted.min_values} values of {wanted.key}; the types left have {len(found)}"
                fix = f"lower it to {len(found)}, or allow more types"
                yield about.finding(MIN_VALUES, Level.ERROR, one.pool, path, (told, fix))


def limits(about: Lint) -> Iterator[Finding]:
    for one in about.offered:
        for name, most in (one.pool.limits or {}).items():
            smallest = min((kind.capacity.of(name) for kind in one.types), default=0)
            least = 1 if name == "nodes" else smallest
            if least > most:
                has, wants = quantity_of(name, most), quantity_of(name, least)
                told = f"allows {has} {name}; the smallest node has {wants}, so nothing is ever bought"
                path = f"spec.limits.{name}"
                yield about.finding(LIMITS, Level.ERROR, one.pool, path, (told, f"raise it to {wants} or more"))


def overlapping(about: Lint) -> Iterator[Finding]:
    dynamic = [one for one in about.offered if one.pool.replicas is None]
    for one, other in combinations(sorted(dynamic, key=lambda each: each.pool.name), 2):
        if one.pool.weight != other.pool.weight or set(one.pool.taints) != set(other.pool.taints):
            continue
        if _own(one.pool) != _own(other.pool) or not one.rows & other.rows:
            continue
        told = f"sells the same machines to the same pods as NodePool {other.pool.name}, at the same weight"
        fix = "give one of them a larger weight, or tell them apart by requirements or taints"
        yield about.finding(OVERLAP, Level.WARNING, one.pool, "spec.weight", (told, fix))


def _own(pool: NodePool) -> Requirements:
    """What pods can tell a pool by, besides what every pool of its kind has."""
    shared = (labels.NODEPOOL, pool.node_class.label_key)
    return Requirements(one for one in pool.template if one.key not in labels.WELL_KNOWN and one.key not in shared)


def shadowed(about: Lint) -> Iterator[Finding]:
    dynamic = [one for one in about.offered if one.pool.replicas is None and one.types]
    for one in dynamic:
        for heavier in dynamic:
            if heavier.pool.weight > one.pool.weight and _covers(heavier, one):
                told = f"is never used: NodePool {heavier.pool.name} is heavier, and takes every pod this one would"
                fix = f"give {heavier.pool.name} limits, or tell the two apart by requirements or taints"
                yield about.finding(SHADOWED, Level.WARNING, one.pool, "spec.weight", (told, fix))
                break


def _covers(heavier: Offered, lighter: Offered) -> bool:
    if heavier.pool.limits is not None or heavier.pool.ready is False:
        return False
    if not set(heavier.pool.taints) <= set(lighter.pool.taints) or any(
        one.min_values for one in heavier.pool.requirements
    ):
        return False
    more = {one.key: one for one in _own(lighter.pool)}
    known = {one.key: one for one in _own(heavier.pool)}
    catalogued = {wanted.key for kind in lighter.types for wanted in kind.requirements}
    telling = {key for key in more if key not in catalogued and more[key] != known.get(key)}
    return not telling and lighter.rows <= heavier.rows


def preferences(about: Lint) -> Iterator[Finding]:
    seen: set[tuple[str, Requirements]] = set()
    well_known = about.markets.well_known
    for pod in about.world.snapshot.pods:
        if pod.state is not PodState.PENDING or not pod.shape.preferred:
            continue
        for at, wish in enumerate(pod.shape.preferred):
            term = wish.term
            if not isinstance(term, Requirements) or (pod.namespace, term) in seen:
                continue
            seen.add((pod.namespace, term))
            if not _can_hold(about, term, well_known):
                path = f"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[{at}]"
                told = f"prefers {term}, which no pool and no node here can offer"
                fix = "take the preference out, or let a pool offer it"
                yield Finding(PREFERENCE, Level.WARNING, f"Pod {pod.key}", path, told, fix)


def _can_hold(about: Lint, term: Requirements, well_known: frozenset[str]) -> bool:
    if any(all(one.admits(node.labels.get(one.key)) for one in term) for node in about.world.snapshot.nodes):
        return True
    return any(
        one.pool.template.compatible(term, well_known)
        and any(_sells(kind, one.pool.template & term) for kind in one.types)
        for one in about.offered
    )


def node_classes(about: Lint) -> Iterator[Finding]:
    known = about.world.node_classes
    kinds = {kind: sorted(one.name for one in known if one.kind == kind) for kind in {one.kind for one in known}}
    for pool in about.world.snapshot.pools:
        if pool.problem is not None or pool.node_class in known:
            continue
        there = kinds.get(pool.node_class.kind)
        level = Level.ERROR if there else Level.NOTE
        told = f"there is no {pool.node_class.kind} {pool.node_class.name!r} in the files"
        fix = f"name one of {', '.join(there)}" if there else "add it to the files, if it is not in the cluster"
        yield about.finding(NODE_CLASS, level, pool, "spec.template.spec.nodeClassRef.name", (told, fix))


_CHECKS: Final[tuple[Callable[[Lint], Iterator[Finding]], ...]] = (
    no_types,
    min_values,
    limits,
    overlapping,
    shadowed,
    preferences,
    node_classes,
)
