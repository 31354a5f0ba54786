"""Whatever a world holds, planning it ends: every pod is placed or refused with a reason, and the checker agrees."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.api.objects import container, expression, node, node_affinity, pod, pool, workload
from tests.api.test_api_fuzz import damaged
from tests.api.test_world_fuzz import OBJECTS, WITNESSES
from tests.cli.test_plan import TYPES, ZONE

from dovetail.api.world import World, read_world
from dovetail.clouds.kwok.types_file import parse_types_file
from dovetail.clouds.listed import ListedMarket
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.scheduling.check import check
from dovetail.core.scheduling.problem import Options, Problem
from dovetail.core.scheduling.solve import solve
from dovetail.views import plan

LISTING = parse_types_file(json.dumps(TYPES), "types.json")


def planned(world: World) -> None:
    cache = CatalogCache(ListedMarket(LISTING), region="")
    pools = [one for one in world.snapshot.pools if one.problem is None]
    catalogs = {one.name: cache.catalog(one, 0.0) for one in pools}
    problem = Problem(world.snapshot, catalogs, Options(well_known=LISTING.dialect.well_known))
    found = solve(problem)
    placed = sum(len(one.pods) for one in (*found.claims, *found.placed))
    waiting = sum(len(one.pods) for one in found.refused)
    assert placed + waiting >= len(world.snapshot.pending)
    assert all(one.reason for one in found.refused)
    assert not check(problem, found)
    told = plan.Planning(found, {})
    assert json.dumps(plan.wire(told))
    assert plan.text(told)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(OBJECTS).flatmap(damaged))
def test_a_world_with_a_damaged_object_is_planned(value):
    planned(read_world([("w", json.dumps([value, *OBJECTS[1:], *WITNESSES]))]))


apps = st.sampled_from(["a", "b", "c"])
keys = st.sampled_from([ZONE, "kubernetes.io/hostname", "karpenter.sh/capacity-type", "team"])


@st.composite
def pods(draw: st.DrawFn) -> dict:
    """A Deployment with some of everything that can be asked."""
    app, other = draw(apps), draw(apps)
    selector = {"labelSelector": {"matchLabels": {"app": other}}}
    template: dict = {"containers": [container({"cpu": draw(st.sampled_from(["100m", "1", "3", "15", "40"]))})]}
    affinity: dict = {}
    if draw(st.booleans()):
        affinity |= node_affinity(
            [expression(ZONE, draw(st.sampled_from(["In", "NotIn"])), draw(st.sampled_from(["za", "zb"])))]
        )
    for name in ("podAffinity", "podAntiAffinity"):
        if draw(st.integers(0, 3)) == 0:
            term = {"topologyKey": draw(keys), **selector}
            wished = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 3, "podAffinityTerm": term}]}
            affinity[name] = draw(st.sampled_from([{"requiredDuringSchedulingIgnoredDuringExecution": [term]}, wished]))
    if draw(st.integers(0, 2)) == 0:
        how = draw(st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]))
        skew = {"maxSkew": draw(st.integers(1, 2)), "topologyKey": draw(keys), "whenUnsatisfiable": how}
        template["topologySpreadConstraints"] = [{**skew, **selector}]
    wire = workload(
        "Deployment",
        f"d{draw(st.integers(0, 99))}",
        replicas=draw(st.integers(0, 6)),
        template={**template, "affinity": affinity},
    )
    wire["spec"]["template"]["metadata"]["labels"] = {"app": app}
    return wire


@settings(max_examples=150, deadline=None)
@given(st.lists(pods(), max_size=5), st.booleans())
def test_any_mix_of_constraints_is_planned_validly(deployments, limited):
    limits = {"limits": {"cpu": "40"}} if limited else {}
    there = node(labels={ZONE: "za", "team": "x"})
    planned(read_world([("w", json.dumps([pool(spec=limits), there, pod("old", nodeName="node-1"), *deployments]))]))
