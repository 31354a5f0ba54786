"""Thousands of random worlds, outside the default suite: `python -m tests.core.scheduling.storm 0 5000 [small]`.

Each world is planned, checked, planned again in another order of arrival and compared. What goes wrong is counted by
its code, made small by leaving things out while it still goes wrong, and printed.
"""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import MappingProxyType

from tests.core.scheduling.plans import dumped, shuffled
from tests.core.scheduling.worlds import LARGE, SMALL, WELL_KNOWN, random_world

from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.offerings import Offering
from dovetail.core.nodepools import NodePool
from dovetail.core.pods import NO_AFFINITY, NO_VOLUMES, Pod, Shape
from dovetail.core.requirements import EMPTY
from dovetail.core.scheduling.check import check
from dovetail.core.scheduling.problem import Options, Plan, Problem
from dovetail.core.scheduling.solve import solve

Fault = Callable[[Problem], str | None]


def fault_of(problem: Problem) -> str | None:
    """What is wrong with the plan of a world, as a code; None if nothing is."""
    try:
        plan = solve(problem)
    except Exception as crash:  # noqa: BLE001  (whatever it is, it is what we look for)
        frame = traceback.extract_tb(crash.__traceback__)[-1]
        return f"crash {type(crash).__name__} in {frame.filename.rsplit('/', 1)[-1]}:{frame.name}"
    codes = sorted({one.code for one in check(problem, plan)})
    if codes:
        return codes[0]
    other = solve(shuffled(problem, 7))
    return None if dumped(plan) == dumped(other) else "order of arrival"


def smaller(problem: Problem) -> Iterator[Problem]:
    """Worlds with one thing left out or made plain."""
    world = problem.snapshot
    for field in ("pods", "nodes", "daemons", "pools"):
        things = getattr(world, field)
        size = len(things) // 2
        while size:
            for start in range(0, len(things), size):
                left = things[:start] + things[start + size :]
                yield replace(problem, snapshot=replace(world, **{field: left}))
            size //= 2
    names = sorted({name for catalog in problem.catalogs.values() for name in catalog.types})
    for name in names:
        yield replace(
            problem,
            catalogs={
                pool: Catalog(MappingProxyType({n: t for n, t in catalog.types.items() if n != name}))
                for pool, catalog in problem.catalogs.items()
            },
        )
        kind = next(catalog.types[name] for catalog in problem.catalogs.values() if name in catalog.types)
        for row in kind.offerings:
            slimmer = replace(kind, offerings=tuple(one for one in kind.offerings if one is not row))
            yield replace(
                problem,
                catalogs={
                    pool: Catalog(MappingProxyType({n: slimmer if n == name else t for n, t in catalog.types.items()}))
                    for pool, catalog in problem.catalogs.items()
                },
            )
    for pool in world.pools:
        for plainer in _plainer_pools(pool):
            pools = tuple(plainer if one is pool else one for one in world.pools)
            yield replace(problem, snapshot=replace(world, pools=pools))
    for shape in {pod.shape for pod in world.pods}:
        for plain in _plainer_shapes(shape):
            pods = tuple(replace(pod, shape=plain) if pod.shape == shape else pod for pod in world.pods)
            yield replace(problem, snapshot=replace(world, pods=pods))
    if problem.options != Options(well_known=WELL_KNOWN):
        yield replace(problem, options=Options(well_known=WELL_KNOWN))


def _plainer_pools(pool: NodePool) -> Iterator[NodePool]:
    plain = NodePool(pool.name, pool.node_class)
    for field in ("labels", "taints", "startup_taints", "limits", "weight", "replicas", "min_values_policy"):
        if getattr(pool, field) != getattr(plain, field):
            yield replace(pool, **{field: getattr(plain, field)})
    for one in pool.requirements:
        yield replace(pool, requirements=pool.requirements.without(one.key))


def _plainer_shapes(shape: Shape) -> Iterator[Shape]:
    plain = {"selector": EMPTY, "near": NO_AFFINITY, "apart": NO_AFFINITY, "volumes": NO_VOLUMES, "priority": 0}
    plain |= {"namespace": "default", "ports": (), "terms": (), "preferred": (), "tolerations": (), "spread": ()}
    for field, value in plain.items():
        if getattr(shape, field) != value:
            yield replace(shape, **{field: value})
    for field in ("terms", "spread", "tolerations"):
        things = getattr(shape, field)
        for place in range(len(things)):
            yield replace(shape, **{field: things[:place] + things[place + 1 :]})
    for field in ("near", "apart"):
        affinity = getattr(shape, field)
        for part in ("required", "preferred"):
            if getattr(affinity, part):
                yield replace(shape, **{field: replace(affinity, **{part: getattr(affinity, part)[:-1]})})


def minimised(problem: Problem, code: str, fault: Fault = fault_of) -> Problem:
    """The same fault in as small a world as leaving out one thing at a time finds."""
    shrinking = True
    while shrinking:
        shrinking = False
        for candidate in smaller(problem):
            try:
                same = fault(candidate) == code
            except Exception:  # noqa: BLE001  (a world that is no world any more)
                same = False
            if same:
                problem, shrinking = candidate, True
                break
    return problem


def _shape_lines(pods: tuple[Pod, ...]) -> Iterator[str]:
    plain = Shape()
    for pod in pods:
        said = {
            name: getattr(pod.shape, name)
            for name in Shape.__dataclass_fields__
            if getattr(pod.shape, name) != getattr(plain, name)
        }
        yield f"  pod {pod.name} on {pod.node} ({pod.state}, owner {pod.owner!r}): {said}"


def _told_row(row: Offering) -> str:
    left = [(one.id, one.available) for one in row.reservations]
    return f"{row.zone}/{row.capacity_type}/{row.price and row.price.nanodollars} {row.available} {left or ''}"


def told(problem: Problem) -> str:
    """A world, as text for people."""
    lines = [f"  options {problem.options.preferences} {problem.options.min_values} max {problem.options.max_types}"]
    for pool in problem.snapshot.pools:
        lines.append(
            f"  pool {pool.name} weight {pool.weight} {pool.requirements} labels {pool.labels} taints {pool.taints}"
            f" limits {pool.limits} replicas {pool.replicas} {pool.min_values_policy} {pool.ready} {pool.problem}"
        )
        for kind in problem.catalogs[pool.name].types.values():
            rows = ", ".join(_told_row(row) for row in kind.offerings)
            lines.append(f"    {kind.name} {kind.allocatable} [{rows}] {kind.spec.requirements}")
    lines.extend(
        f"  node {node.name} {dict(node.labels)} taints {node.taints} {node.allocatable} pool {node.pool}"
        f" ready {node.ready} leaving {node.leaving} {node.volume_limits}"
        for node in problem.snapshot.nodes
    )
    lines.extend(f"  daemon {daemon}" for daemon in problem.snapshot.daemons)
    lines.extend(_shape_lines(problem.snapshot.pods))
    return "\n".join(lines)


def told_plan(plan: Plan) -> str:
    lines = [
        f"  claim {claim.name} of {claim.pool.name}: {[pod.name for pod in claim.pods]} types"
        f" {[kind.name for kind in claim.types]} ids {claim.reservation_ids} {claim.requirements}"
        for claim in plan.claims
    ]
    lines.extend(f"  placed on {placed.node.name}: {[pod.name for pod in placed.pods]}" for placed in plan.placed)
    lines.extend(f"  refused {[pod.name for pod in one.pods]}: {one.reason} {one.pools}" for one in plan.refused)
    return "\n".join(lines)


def main(first: int, last: int, size: str = "large", shown: int = 1) -> None:
    scale = SMALL if size == "small" else LARGE
    found: Counter[str] = Counter()
    for seed in range(first, last):
        problem = random_world(seed, scale)
        code = fault_of(problem)
        if code is None:
            continue
        found[code] += 1
        if found[code] <= shown:
            small = minimised(problem, code)
            print(f"\n== {code} (seed {seed}, {size})\n{told(small)}")
            if not code.startswith("crash"):
                plan = solve(small)
                print(told_plan(plan))
                print("\n".join(f"  ! {one}" for one in check(small, plan)))
    print(f"\n{last - first} worlds, {sum(found.values())} faults: {dict(found.most_common())}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:4], *(int(one) for one in sys.argv[4:5]))
