"""Mixing: pods that lean to cpu and pods that lean to memory share nodes, and the plan is never dearer for it."""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st
from tests.builders import nanos
from tests.core.scheduling.small import TYPES, asks, node, planned, pool_of, shape, spread, waiting, where, world

from dovetail.core import labels
from dovetail.core.catalog.layers import Catalog
from dovetail.core.pods import Shape
from dovetail.core.resources import NOTHING, Resources
from dovetail.core.scheduling.index import PoolIndex
from dovetail.core.scheduling.mixing import Mixer
from dovetail.core.scheduling.problem import Options, Plan

BUSY, WIDE = asks(1000, 1), asks(100, 4)
CATALOG = Catalog(MappingProxyType({one.name: one for one in TYPES}))
INDEX = PoolIndex(pool_of(), CATALOG, (), Options())

requests = st.builds(asks, st.integers(1, 40).map(lambda tenths: tenths * 100), st.integers(1, 16))
orders = st.lists(st.tuples(requests, st.integers(0, 25)), min_size=1, max_size=5)


def plan_of(*parts: tuple[Resources, int], tied: bool = False, on: int = 0) -> Plan:
    """The plan of so many pods of each size. Tied to each other, if ever so loosely, pods are not mixed."""
    loosely = spread(labels.HOSTNAME, 1000) if tied else ()
    shapes: list[tuple[Shape, int]] = [(shape(size, spread=loosely), count) for size, count in parts]
    pods = tuple(pod for number, (one, count) in enumerate(shapes) for pod in waiting(count, one, f"shape-{number}"))
    return planned(world(pods, tuple(node(f"n{number}") for number in range(on))))


def bundles(*parts: tuple[Resources, int]) -> list[dict[int, int]]:
    """By bundle, how many of each size."""
    mixer = Mixer(INDEX, INDEX.all_types, [size for size, _ in parts], [count for _, count in parts])
    found = []
    while bundle := mixer.bundle():
        found.append({part.shape: part.count for part in bundle})
    return found


def test_nodes_are_filled_evenly() -> None:
    """Neither kind is left over for a node of its own."""
    for claim in plan_of((BUSY, 14), (WIDE, 10)).claims:
        assert {pod.name.rpartition("-")[0] for pod in claim.pods} == {"shape-0", "shape-1"}


def test_an_even_filling_is_cheaper_than_largest_first() -> None:
    assert plan_of((BUSY, 14), (WIDE, 10), tied=True).nanodollars == nanos("1.0")
    assert plan_of((BUSY, 14), (WIDE, 10)).nanodollars == nanos("0.8")


@given(orders)
def test_mixing_never_makes_a_plan_more_expensive(parts: list[tuple[Resources, int]]) -> None:
    assert plan_of(*parts).nanodollars <= plan_of(*parts, tied=True).nanodollars


def test_existing_nodes_are_filled_first() -> None:
    plan = plan_of((BUSY, 14), (WIDE, 10), on=2)
    assert [one.node.name for one in plan.placed] == ["n0", "n1"]
    used = [sum((pod.shape.requests for pod in one.pods), NOTHING) for one in plan.placed]
    assert all(4000 - one.of("cpu") < 100 or 16 - one.memory_bytes / 2**30 < 4 for one in used)
    assert len(where(plan)) == 24


@given(orders)
def test_bundles_add_up_and_each_fits_a_node(parts: list[tuple[Resources, int]]) -> None:
    taken: Counter[int] = Counter()
    for bundle in bundles(*parts):
        taken.update(bundle)
        total = sum((parts[number][0] for number, count in bundle.items() for _ in range(count)), NOTHING)
        assert total.fits_in(TYPES[1].allocatable)
    assert {number: count for number, (_, count) in enumerate(parts) if count} == taken


def test_what_fits_no_node_is_in_no_bundle() -> None:
    assert bundles((asks(9000), 3), (BUSY, 2)) == [{1: 2}]
    assert bundles((asks(9000), 3)) == []


def test_while_there_is_enough_for_another_of_the_same_the_next_is_the_same() -> None:
    found = bundles((BUSY, 700), (WIDE, 500))
    assert found[0] == found[1]
