"""What goes wrong while nodes are given up, on the real control plane: nothing leaks, no mark stays, others go on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.live import objects
from tests.live.live import condition
from tests.live.real import Real, at_work
from tools.control_plane.start import ControlPlane

from dovetail.api import kinds

POOL = "adverse"
DISRUPTED = "karpenter.sh/disrupted"


@pytest.fixture(scope="module")
def running(shared_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """Started once; after all of it the role that is shipped was enough, and nothing failed of its own."""
    with at_work(shared_control_plane, tmp_path_factory.mktemp("adverse"), POOL) as real:
        real.edit(kinds.NODE_POOLS, POOL, {"spec": {"disruption": eager()}})
        yield real
        lines = real.log.read_text().splitlines()
        assert lines
        assert not [one for one in lines if "forbidden" in one.lower() or "stacktrace" in one]


@pytest.fixture
def real(running: Real, control_plane: ControlPlane) -> Iterator[Real]:
    yield running
    for one in running.all(kinds.DISRUPTION_BUDGETS):
        running.delete(kinds.DISRUPTION_BUDGETS, one["metadata"]["name"], "default")
    for one in running.all(kinds.DEPLOYMENTS):
        if one["metadata"]["namespace"] == "default":
            running.edit(kinds.DEPLOYMENTS, one["metadata"]["name"], {"spec": {"replicas": 0}}, "default")
    for one in running.claims():
        running.delete(kinds.NODE_CLAIMS, one["metadata"]["name"])
    running.until(lambda: not running.nodes() and not running.claims())


def eager(*more: objects.Object) -> objects.Object:
    return {"consolidateAfter": "1s", "budgets": [{"nodes": "100%"}, *more]}


def apart(name: str) -> objects.Object:
    """No two on one node."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": name}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def relabel(real: Real, team: str) -> None:
    real.edit(kinds.NODE_POOLS, POOL, {"spec": {"template": {"metadata": {"labels": {"team": team}}}}})


def up(real: Real, name: str, count: int = 1) -> None:
    real.until(lambda: len(real.running(name)) == count)


def of_team(real: Real, team: str) -> list[objects.Object]:
    return [one for one in real.nodes() if one["metadata"]["labels"].get("team") == team]


def marked(real: Real) -> list[objects.Object]:
    return [one for one in real.nodes() if any(t["key"] == DISRUPTED for t in one["spec"].get("taints") or ())]


def said(real: Real, text: str) -> bool:
    return any(text in one.get("message", "") for one in real.all(kinds.CORE_EVENTS))


def is_whole(real: Real, team: str, nodes: int) -> bool:
    """Every node is of this team, unmarked, and belongs to the one claim it was bought for."""
    provided = {one.get("status", {}).get("providerID") for one in real.claims()}
    found = real.nodes()
    return (
        len(found) == len(of_team(real, team)) == nodes
        and not marked(real)
        and provided == {one["spec"]["providerID"] for one in found}
    )


def test_a_budget_nobody_can_read_is_named_by_the_pool_and_stops_no_other_reason(real: Real):
    broken = {"nodes": "50%", "schedule": "0 25 * * *", "duration": "1h", "reasons": ["Drifted"]}
    real.edit(kinds.NODE_POOLS, POOL, {"spec": {"disruption": eager(broken)}})
    try:
        real.pods("unread", 1)
        up(real, "unread")
        real.until(lambda: condition(real.get(kinds.NODE_POOLS, POOL), "DisruptionSettingsValid"))
        told = condition(real.get(kinds.NODE_POOLS, POOL), "DisruptionSettingsValid")
        assert told is not None
        assert told["status"] == "False"
        assert "budgets" in told["message"]
        assert "25" in told["message"]
        # Emptiness is none of its reasons.
        real.edit(kinds.DEPLOYMENTS, "unread", {"spec": {"replicas": 0}}, "default")
        real.until(lambda: not real.nodes())
    finally:
        real.edit(kinds.NODE_POOLS, POOL, {"spec": {"disruption": eager()}})


def test_pods_whose_budgets_never_let_them_go_keep_their_node_and_are_named(real: Real):
    real.put(kinds.DISRUPTION_BUDGETS, objects.budget("kept", maxUnavailable=0), "default")
    real.pods("kept", 1)
    up(real, "kept")
    relabel(real, "never")
    real.until(lambda: said(real, "is held by PodDisruptionBudget kept, which never lets one go"))
    real.put(kinds.DISRUPTION_BUDGETS, {**objects.budget("kept", maxUnavailable=1), **named("second")}, "default")
    real.until(lambda: said(real, "is covered by several PodDisruptionBudgets"))
    assert not of_team(real, "never")
    for name in ("kept", "second"):
        real.delete(kinds.DISRUPTION_BUDGETS, name, "default")
    real.until(lambda: is_whole(real, "never", 1))
    up(real, "kept")


def named(name: str) -> objects.Object:
    return {"metadata": {"name": name, "namespace": "default"}}


def test_a_finalizer_that_never_goes_keeps_its_own_node_only(real: Real):
    real.pods("stuck", 2, affinity=apart("stuck"))
    up(real, "stuck", 2)
    first = real.running("stuck")[0]
    name, node = first["metadata"]["name"], first["spec"]["nodeName"]
    real.edit(kinds.PODS, name, {"metadata": {"finalizers": ["example.com/never"]}}, "default")
    relabel(real, "finalized")
    real.until(lambda: len(of_team(real, "finalized")) == 2)
    up(real, "stuck", 2)
    real.until(lambda: {one["metadata"]["name"] for one in real.nodes()} - names_of(real, "finalized") == {node})
    real.edit(kinds.PODS, name, {"metadata": {"finalizers": None}}, "default")
    real.until(lambda: is_whole(real, "finalized", 2))


def names_of(real: Real, team: str) -> set[str]:
    return {one["metadata"]["name"] for one in of_team(real, team)}


def test_a_node_deleted_by_hand_in_the_middle_of_a_command_is_made_up_for(real: Real):
    real.pods("handed", 1)
    up(real, "handed")
    (old,) = (one["metadata"]["name"] for one in real.nodes())
    relabel(real, "handed")
    real.until(lambda: marked(real) or len(real.claims()) > 1)
    real.delete(kinds.NODES, old)
    real.until(lambda: is_whole(real, "handed", 1))
    up(real, "handed")


def test_a_replacement_taken_away_before_it_joined_leaves_the_pod_where_it_is(real: Real):
    real.pods("replaced", 1)
    up(real, "replaced")
    (old,) = (one["metadata"]["name"] for one in real.claims())
    real.plane.stop_kwok()  # so that nothing that is bought from now on becomes ready
    try:
        relabel(real, "replaced")
        real.until(lambda: len(real.claims()) == 2)
        (new,) = (one["metadata"]["name"] for one in real.claims() if one["metadata"]["name"] != old)
        real.delete(kinds.NODE_CLAIMS, new)
        real.until(lambda: new not in {one["metadata"]["name"] for one in real.claims()})
        real.until(lambda: said(real, f"replacement {new} is gone before it came up") and not marked(real))
        assert len(real.running("replaced")) == 1
    finally:
        real.plane.start_kwok()
