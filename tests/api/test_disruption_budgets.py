"""PodDisruptionBudgets: which pods of a node that leaves stay until it is gone (scheduling §2.3)."""

from __future__ import annotations

import pytest
from tests.api.objects import Json, node, pod, thing, world_of

from dovetail.core.pods import PodState

LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
UNREADY = {"conditions": [{"type": "Ready", "status": "False"}]}


def budget(name: str = "keep", namespace: str = "default", version: str = "policy/v1", **spec: object) -> Json:
    spec = {"selector": {"matchLabels": {"app": "web"}}, **spec}
    return thing("PodDisruptionBudget", version, {"name": name, "namespace": namespace}, spec=spec)


def state(*budgets: Json, status: Json | None = None, leaving: bool = True, **more: object) -> PodState:
    about = {"labels": {"app": "web"}, **more}
    found = world_of(
        node("node-1", about=LEAVING if leaving else None), pod(about=about, status=status, nodeName="node-1"), *budgets
    )
    assert not found.problems
    return found.snapshot.pods[0].state


@pytest.mark.parametrize(
    ("spec", "held"),
    [
        ({"maxUnavailable": 0}, True),
        ({"maxUnavailable": "0%"}, True),
        ({"maxUnavailable": "00%"}, True),
        ({"minAvailable": "100%"}, True),
        ({"maxUnavailable": 1}, False),
        ({"maxUnavailable": "1%"}, False),
        ({"minAvailable": 100}, False),
        ({"minAvailable": "99%"}, False),
        ({}, False),
    ],
)
def test_a_pod_that_a_budget_never_lets_go_stays_until_its_node_is_gone(spec: Json, held: bool) -> None:
    assert state(budget(**spec)) is (PodState.WAITING if held else PodState.BOUND)


def test_a_pod_that_two_budgets_cover_is_never_evicted() -> None:
    assert state(budget("a", maxUnavailable=1), budget("b", maxUnavailable=1)) is PodState.WAITING


def test_a_budget_holds_only_what_it_selects_in_its_namespace() -> None:
    others = {"matchLabels": {"app": "db"}}
    assert state(budget(maxUnavailable=0, selector=others)) is PodState.BOUND
    assert state(budget(maxUnavailable=0, namespace="other")) is PodState.BOUND
    assert state(budget(maxUnavailable=0, selector=None)) is PodState.BOUND
    assert state(budget(maxUnavailable=0, selector={})) is PodState.WAITING
    assert state(budget(maxUnavailable=0, selector={}, version="policy/v1beta1")) is PodState.BOUND


def test_a_budget_may_let_go_of_pods_that_are_not_ready() -> None:
    free = budget(maxUnavailable=0, unhealthyPodEvictionPolicy="AlwaysAllow")
    assert state(free, status=UNREADY) is PodState.BOUND
    assert state(free) is PodState.WAITING
    assert state(budget(maxUnavailable=0), status=UNREADY) is PodState.WAITING


def test_a_budget_is_no_concern_of_a_node_that_stays() -> None:
    assert state(budget(maxUnavailable=0), leaving=False) is PodState.BOUND


@pytest.mark.parametrize(("value", "told"), [("half", "neither a number nor a percentage"), (-1, "whole number")])
def test_a_budget_that_cannot_be_read_costs_itself(value: object, told: str) -> None:
    found = world_of(budget(maxUnavailable=value), pod())
    assert [told in str(one) for one in found.problems] == [True]
    assert len(found.snapshot.pods) == 1
