"""Whatever is wrong with an object of a dump, a decision comes out, and every node is answered for."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.api.objects import node, pod, pool
from tests.api.test_api_fuzz import damaged
from tests.cli.schemas import conforms

from dovetail.api import documents
from dovetail.api.disruption import worlds
from dovetail.api.world import World, read_world
from dovetail.clouds.kwok.types_file import parse_types_file
from dovetail.clouds.listed import ListedMarket
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.disruption.passes import decide
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.timelines import stretches
from dovetail.core.disruption.zones import UTC
from dovetail.core.scheduling.problem import Options, Problem
from dovetail.views import consolidation, consolidation_text, windows
from dovetail.views.windows import PoolWindows, Preview

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/reference/consolidate.schema.json").read_text())
OBJECTS = [one.value for one in documents.read((ROOT / "scenarios/worlds/half-empty.yaml").read_text(), "w")]
NOON = 1_794_830_400.0
HOUR = 3600.0


def size(name: str, cpu: int, price: float) -> dict:
    row = [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["test-zone-a"]},
    ]
    return {
        "name": name,
        "offerings": [{"Price": price, "Available": True, "Requirements": row}],
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": str(cpu), "memory": f"{cpu * 8}Gi", "pods": "110"},
    }


SIZES = {"m-2x-amd64-linux": 2, "m-4x-amd64-linux": 4, "m-8x-amd64-linux": 8, "m-16x-amd64-linux": 16}
TYPES = [size(name, cpus, cpus / 30) for name, cpus in SIZES.items()]
LISTING = parse_types_file(json.dumps(TYPES), "types.json")


def decided(read: World) -> None:
    cache = CatalogCache(ListedMarket(LISTING), region="")
    pools = [one for one in read.snapshot.pools if one.problem is None]
    catalogs = {one.name: cache.catalog(one, 0.0) for one in pools}
    problem = Problem(read.snapshot, catalogs, Options(well_known=LISTING.dialect.well_known))
    told = worlds.world(read, problem, NOON)
    found = decide(told.world)
    going = {name for one in found.commands for name in one.names}
    assert going | found.refusals.keys() == told.world.machines.keys()
    assert not going & found.refusals.keys()
    page = consolidation.Page(NOON, found, {one.name: one for one in read.snapshot.nodes})
    conforms(json.loads(json.dumps(consolidation.wire(page))), SCHEMA)
    assert "in all" in consolidation_text.text(page, 80)
    drawn = tuple(
        PoolWindows(one.name, 9, False, {Reason.EMPTY: stretches(one, Reason.EMPTY, 9, NOON, NOON + 24 * HOUR)})
        for one in told.world.pools.values()
    )
    preview = Preview(NOON, NOON + 24 * HOUR, UTC, drawn)
    assert json.dumps(windows.wire(preview))
    assert windows.text(preview) or not drawn


def test_the_half_empty_cluster_is_decided_without_a_problem():
    read = read_world([("w", json.dumps(OBJECTS))], with_disruption=True)
    assert not read.problems
    decided(read)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(OBJECTS) - 1).flatmap(lambda at: damaged(OBJECTS[at]).map(lambda bad: (at, bad))))
def test_a_dump_with_a_damaged_object_is_decided(drawn):
    at, bad = drawn
    objects = [*OBJECTS[:at], bad, *OBJECTS[at + 1 :]]
    decided(read_world([("w", json.dumps(objects))], with_disruption=True))


texts = st.sampled_from(
    ["", "0", "-1", "1", "101%", "10%", "1e9", "@daily", "* * * * *", "0 0 31 2 *", "8h", "Never", "∞"]
)
values = st.one_of(texts, st.none(), st.integers(-1, 3), st.lists(texts, max_size=2))
budgets = st.lists(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("nodes", "reasons", "schedule", "duration"), values))
)
notes = st.dictionaries(
    st.sampled_from(
        [f"dovetail.dev/{name}" for name in ("payback", "min-savings", "eviction-charge", "allow-windows")]
    ),
    st.one_of(texts, st.text(max_size=20)),
)


@settings(max_examples=60, deadline=None)
@given(budgets, values, notes)
def test_a_pool_with_any_settings_is_decided(listed, after, said):
    wanted = pool(spec={"disruption": {"budgets": listed, "consolidateAfter": after}})
    wanted["metadata"]["annotations"] = said
    labels = {"karpenter.sh/nodepool": "general", "node.kubernetes.io/instance-type": "m-4x-amd64-linux"}
    objects = [wanted, node("a", labels), node("b", labels), pod("web", nodeName="b")]
    decided(read_world([("w", json.dumps(objects))], with_disruption=True))
