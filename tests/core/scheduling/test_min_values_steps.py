"""S4.4: keeping minValues costs a bounded look per step, however many types are on sale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.core.scheduling.small import asks, kind, planned, pool_of, shape, waiting, world

from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType, instance_type
from dovetail.core.requirements import Requirements, is_in
from dovetail.core.scheduling import flexibility
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.index import PoolIndex

FAMILY = "example.com/family"


def families(count: int) -> tuple[InstanceType, ...]:
    """As many types, each of a family of its own."""
    found = []
    for number in range(count):
        one = kind(f"t{number:03}", 8, 0.4 + number / 1000)
        pairs = Requirements((*one.spec.requirements, is_in(FAMILY, f"f{number}")))
        found.append(instance_type(replace(one.spec, requirements=pairs), one.offerings))
    return tuple(found)


@pytest.mark.parametrize("types", [40, 400])
def test_a_check_looks_at_no_more_families_than_are_wanted_S4_4(types: int, monkeypatch: pytest.MonkeyPatch):
    wanted = 15
    pool = pool_of("pool", is_in(FAMILY, *(f"f{number}" for number in range(types)), min_values=wanted))
    problem = world(waiting(1, shape(asks(1000))), types=families(types), pool=pool)
    index = Compiled(problem).indexes[0]
    looks = 0
    every = PoolIndex.label_groups

    def counted(self: PoolIndex, key: str) -> Iterator[Any]:
        nonlocal looks
        for one in every(self, key):
            looks += 1
            yield one

    state = Compiled(problem).states[0].start
    assert state is not None
    monkeypatch.setattr(PoolIndex, "label_groups", counted)
    assert flexibility.met(index, state, index.all_types, ((FAMILY, wanted),))
    assert looks == wanted


def test_types_that_say_nothing_of_a_label_are_in_no_group_of_it() -> None:
    types = (kind("plain", 8, 0.1), *families(3))
    index = Compiled(world(waiting(1, shape(asks(1000))), types=types)).indexes[0]
    groups = index.label_groups(FAMILY)
    assert sorted(str(one) for one, _ in groups) == sorted(str(is_in(FAMILY, f"f{number}")) for number in range(3))
    assert sum(mask for _, mask in groups) == index.all_types & ~1


def test_identical_pods_are_checked_by_the_node_and_not_one_by_one_S4_4(monkeypatch: pytest.MonkeyPatch):
    checks = 0
    met = flexibility.met

    def counted(*arguments: Any) -> bool:
        nonlocal checks
        checks += 1
        return met(*arguments)

    monkeypatch.setattr("dovetail.core.scheduling.accept.met", counted)
    pool = pool_of("pool", is_in(labels.INSTANCE_TYPE, "m4", "m8", min_values=2))
    plan = planned(world(waiting(400, shape(asks(1000))), pool=pool))
    assert len(plan.claims) == 100
    assert checks < 800
