"""Node, NodeClaim and CSINode as one machine (scheduling §§3.3, 3.7)."""

from __future__ import annotations

from tests.api.objects import node, pool, thing, world_of

from dovetail.core.nodes import Node

POOL = {"karpenter.sh/nodepool": "general"}
UP = {**POOL, "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
STARTING = {"key": "cni", "effect": "NoSchedule"}


def node_claim(name: str = "claim-1", labels: dict | None = None, status: dict | None = None, **spec: object) -> dict:
    metadata = {"name": name, "labels": labels or POOL}
    return thing("NodeClaim", "karpenter.sh/v1", metadata, spec=spec, status=status or {})


def only(*objects: dict) -> Node:
    found = world_of(*objects)
    assert not found.problems
    (one,) = found.snapshot.nodes
    return one


def test_a_node_nobody_provisioned_is_ready_and_no_pools():
    one = only(node())
    assert (one.pool, one.ready, one.allocatable.of("cpu")) == (None, True, 4000)


def test_a_node_with_the_pools_label_is_its_though_the_claim_is_missing():
    one = only(node(labels=UP))
    assert (one.pool, one.ready) == ("general", True)
    assert not only(node(labels=POOL)).ready


def test_node_and_claim_are_one_machine():
    one = only(node(labels=UP), node_claim(status={"nodeName": "node-1"}))
    assert (one.name, one.pool) == ("node-1", "general")
    assert only(node(labels=UP, providerID="aws:///i-1"), node_claim(status={"providerID": "aws:///i-1"})) == one


def test_until_it_is_initialized_the_claim_fills_in_what_is_missing():
    promised = {"nodeName": "node-1", "allocatable": {"nvidia.com/gpu": "8", "cpu": "9"}, "capacity": {}}
    starting = only(node(labels=POOL), node_claim(status=promised))
    assert (starting.allocatable.of("nvidia.com/gpu"), starting.allocatable.of("cpu")) == (8, 4000)
    assert only(node(labels=UP), node_claim(status=promised)).allocatable.of("nvidia.com/gpu") == 0


def test_taints_that_will_go_are_looked_through_until_it_is_up():
    claim = node_claim(startupTaints=[STARTING], status={"nodeName": "node-1"})
    registered = {**POOL, "karpenter.sh/registered": "true"}
    assert only(node(labels=registered, taints=[NOT_READY, STARTING]), claim).effective_taints == ()
    assert len(only(node(labels=UP, taints=[NOT_READY, STARTING]), claim).effective_taints) == 2


def test_startup_taints_come_from_the_pool_where_the_claim_is_missing():
    one = world_of(pool(startupTaints=[STARTING]), node(labels=POOL, taints=[STARTING])).snapshot.nodes[0]
    assert one.effective_taints == ()


def test_an_unregistered_node_has_its_claims_taints():
    own = {"key": "team", "effect": "NoSchedule", "value": "a"}
    one = only(node(labels=POOL), node_claim(taints=[own], status={"nodeName": "node-1"}))
    assert [str(taint) for taint in one.taints] == ["team=a:NoSchedule"]


def test_a_claim_without_a_node_is_a_machine_on_its_way():
    one = only(node_claim(status={"allocatable": {"cpu": "2"}, "capacity": {"cpu": "3"}}))
    assert (one.name, one.pool, one.ready) == ("claim-1", "general", False)
    assert (one.allocatable.of("cpu"), one.capacity.of("cpu")) == (2000, 3000)


def test_nodes_that_leave():
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert only(node(about=gone)).leaving
    assert only(node(labels=UP, taints=[{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}])).leaving
    ending = {"nodeName": "node-1", "conditions": [{"type": "InstanceTerminating", "status": "True"}]}
    assert only(node(labels=UP), node_claim(status=ending)).leaving
    assert not only(node(labels=UP)).leaving


def test_a_cordoned_node_is_tainted():
    (taint,) = only(node(unschedulable=True)).taints
    assert str(taint) == "node.kubernetes.io/unschedulable:NoSchedule"


def test_volume_limits_come_from_the_csi_node():
    drivers = [{"name": "a", "nodeID": "x", "allocatable": {"count": 25}}, {"name": "b", "nodeID": "x"}]
    one = only(node(), thing("CSINode", "storage.k8s.io/v1", {"name": "node-1"}, spec={"drivers": drivers}))
    assert dict(one.volume_limits)["a"] == 25
    assert dict(one.volume_limits)["b"] > 10**6


def test_a_node_that_does_not_say_what_is_allocatable_has_its_capacity():
    wire = node()
    del wire["status"]["allocatable"]
    assert only(wire).allocatable.of("cpu") == 4000


def test_a_bad_node_costs_itself():
    found = world_of(node("bad", cpu="x"), node("good"))
    assert [one.name for one in found.snapshot.nodes] == ["good"]
    assert "Node bad: status.capacity.cpu: 'x' is not a quantity" in str(found.problems[0])
