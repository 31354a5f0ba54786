"""Plans as plain values, to be compared; and worlds in another order of arrival."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from types import MappingProxyType

from dovetail.core.catalog.layers import Catalog
from dovetail.core.requirements import Requirements
from dovetail.core.scheduling.problem import Plan, Problem


def dumped(plan: Plan) -> object:
    """Everything a plan says, in the order it says it."""
    return (
        [
            (
                claim.name,
                claim.pool.name,
                [pod.key for pod in claim.pods],
                _requirements(claim.requirements),
                [kind.name for kind in claim.types],
                (claim.choice.instance_type.name, claim.choice.offering),
                sorted(claim.requests.items()),
                claim.reservation_ids,
                claim.min_values_relaxed,
                claim.disk,
            )
            for claim in plan.claims
        ],
        [(placed.node.name, [pod.key for pod in placed.pods]) for placed in plan.placed],
        [([pod.key for pod in one.pods], one.reason, one.pools, one.nearest_miss) for one in plan.refused],
    )


def _requirements(of: Requirements) -> list[str]:
    return sorted(f"{one} {one.absent}" for one in of)


def shuffled(problem: Problem, seed: int) -> Problem:
    """The same world, its objects in another order."""
    random, world = Random(seed), problem.snapshot
    fields = {
        name: tuple(random.sample(things, len(things)))
        for name in ("pods", "nodes", "pools", "daemons")
        if (things := getattr(world, name))
    }
    names = random.sample(sorted(world.namespaces), len(world.namespaces))
    fields["namespaces"] = {name: world.namespaces[name] for name in names}
    catalogs = {}
    for pool in random.sample(sorted(problem.catalogs), len(problem.catalogs)):
        types = problem.catalogs[pool].types
        catalogs[pool] = Catalog(
            MappingProxyType({name: types[name] for name in random.sample(sorted(types), len(types))})
        )
    return replace(problem, snapshot=replace(world, **fields), catalogs=catalogs)
