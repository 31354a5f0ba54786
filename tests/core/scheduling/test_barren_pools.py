"""§5.4: pools whose requirements leave nothing to buy are told of."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from tests.builders import pool
from tests.core.disruption.clusters import kind

from dovetail.core import labels
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.offerings import InstanceType, unavailable
from dovetail.core.requirements import Requirements, is_in
from dovetail.core.scheduling.problem import Problem, barren
from dovetail.core.snapshot import Snapshot

M4 = kind("m4", 4, 0.2)


def is_barren(key: str, *values: str, types: tuple[InstanceType, ...] = (M4,), replicas: int | None = None) -> bool:
    asks = replace(pool(), requirements=Requirements([is_in(key, *values)]), replicas=replicas)
    catalog = Catalog(MappingProxyType({one.name: one for one in types}))
    return bool(barren(Problem(Snapshot(pools=(asks,)), {asks.name: catalog})))


def test_a_pool_is_barren_when_no_type_or_none_for_sale_meets_its_requirements():
    assert not is_barren(labels.INSTANCE_TYPE, "m4", "m8")
    assert is_barren(labels.INSTANCE_TYPE, "m8")
    assert is_barren(labels.CAPACITY_TYPE, labels.SPOT)
    sold_out = replace(M4, offerings=tuple(unavailable(row) for row in M4.offerings))
    assert is_barren(labels.INSTANCE_TYPE, "m4", types=(sold_out,))


def test_of_a_pool_whose_cloud_says_nothing_and_of_a_static_one_nothing_is_said():
    assert not is_barren(labels.INSTANCE_TYPE, "m8", types=())
    assert not is_barren(labels.INSTANCE_TYPE, "m8", replicas=2)
