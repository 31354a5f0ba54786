"""Whatever a field of a Cluster API object holds, pricing and linting say so in a sentence or go on without it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.api.cluster_api import fleet
from dovetail.api.documents import Document
from dovetail.cli import lint_machines
from dovetail.core.machines import pricing
from dovetail.core.machines.pricing import Group, Rates, Standing

WORLD = Path(__file__).parents[2] / "scenarios/cluster_api/three-clouds.yaml"
OBJECTS = tuple(yaml.safe_load_all(WORLD.read_text()))
JUNK = st.sampled_from((None, 0, -1, 3.5, True, "", "x", "1e3", [], [1], [{}], {}, {"name": 3}, {"kind": []}, "[5-3]"))


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, one in inner for path in paths(one, (*at, key)))]


PLACES = [(at, path) for at, one in enumerate(OBJECTS) for path in paths(one) if path]


def spoiled(changes: list[tuple[tuple[int, tuple[Any, ...]], Any]]) -> list[Document]:
    held = copy.deepcopy(list(OBJECTS))
    for (at, path), junk in changes:
        inside: Any = held[at]
        for step in path[:-1]:
            inside = inside[step] if isinstance(inside, (dict, list)) and _has(inside, step) else None
        if isinstance(inside, (dict, list)) and _has(inside, path[-1]):
            inside[path[-1]] = junk
    return [Document((f"document {at}",), one) for at, one in enumerate(held)]


def _has(inside: Any, step: Any) -> bool:
    return step in inside if isinstance(inside, dict) else isinstance(step, int) and step < len(inside)


def priced(group: Group) -> tuple[str, Rates]:
    return group.region, pricing.UNKNOWN


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(PLACES), JUNK), min_size=1, max_size=3))
def test_a_spoiled_field_costs_no_more_than_its_object(changes: Any):
    found = spoiled(changes)
    seen = fleet.read(found)
    bills = [pricing.bill(one.group, pricing.UNKNOWN) for one in seen.groups]
    assert all(one.standing in (Standing.UNPRICED, Standing.FORBIDDEN, Standing.WAITING) for one in bills)
    assert pricing.totals(bills).now == 0
    assert all(one.message and one.fix for one in lint_machines.machines(found, priced))
