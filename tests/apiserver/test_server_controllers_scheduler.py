"""The scheduler: where pods go, and what is said of those that go nowhere."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.controller_world import World, pod_spec

from dovetail.api import kinds
from dovetail.apiserver.controllers import Options
from dovetail.apiserver.writes import DELETE_NOW

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.fixture
def world() -> World:
    return World()


def two_zones(world: World) -> None:
    world.node("a1", labels={ZONE: "a"})
    world.node("b1", labels={ZONE: "b"})


def term(key: str, **labels: str) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}


def test_a_pod_goes_to_the_emptiest_node(world: World) -> None:
    world.node("n1")
    world.node("n2")
    world.pod("p1", cpu="2")
    world.pod("p2", cpu="2")
    assert {world.node_of("p1"), world.node_of("p2")} == {"n1", "n2"}
    scheduled = next(
        one for one in world.get(kinds.PODS, "p1")["status"]["conditions"] if one["type"] == "PodScheduled"
    )
    assert scheduled["status"] == "True"


def test_without_nodes_nothing_can_be_done(world: World) -> None:
    world.pod("p1")
    assert world.why("p1") == ("Unschedulable", "no nodes available to schedule pods")


def test_every_reason_is_counted_in_the_schedulers_own_words(world: World) -> None:
    world.node("full", cpu="1", labels={"pool": "x"})
    world.node("tainted", taints=[{"key": "x", "effect": "NoSchedule"}], labels={"pool": "x"})
    world.node("cordoned", unschedulable=True, labels={"pool": "x"})
    world.node("elsewhere")
    world.pod("p1", cpu="2", nodeSelector={"pool": "x"})
    assert world.why("p1") == (
        "Unschedulable",
        "0/4 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. no new claims to deallocate, preemption: "
        "0/4 nodes are available: 4 Preemption is not helpful for scheduling.",
    )
    (event,) = [one for one in world.objects.list(kinds.CORE_EVENTS, "default") if one["reason"] == "FailedScheduling"]
    assert (event["type"], event["message"]) == ("Warning", world.why("p1")[1])


def test_a_node_that_is_merely_full_could_be_emptied_but_nothing_is(world: World) -> None:
    world.node("n1", cpu="2")
    world.node("tainted", taints=[{"key": "x", "effect": "NoSchedule"}])
    world.pod("p1", cpu="2")
    world.pod("p2", cpu="2")
    assert world.why("p2")[1].endswith(
        "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


def test_pods_that_ask_for_nothing_are_dealt_out_evenly(world: World) -> None:
    world.node("n1")
    world.node("n2")
    for at in range(4):
        world.create(kinds.PODS, f"p{at}", {"containers": [{"name": "c", "image": "i"}]})
    assert sorted(world.node_of(f"p{at}") for at in range(4)) == ["n1", "n1", "n2", "n2"]


def test_a_node_holds_only_so_many_pods(world: World) -> None:
    world.node("n1", pods=1)
    world.pod("p1", cpu="1m")
    world.pod("p2", cpu="1m")
    assert "1 Too many pods" in world.why("p2")[1]


def test_a_pod_that_waits_comes_up_again_when_a_node_comes_or_a_pod_goes(world: World) -> None:
    world.node("n1", cpu="1")
    for name in ("p1", "p2", "p3"):
        world.pod(name)
    assert [world.node_of(name) for name in ("p1", "p2", "p3")] == ["n1", "", ""]
    world.delete(kinds.PODS, "p1")
    assert [world.node_of(name) for name in ("p2", "p3")] == ["n1", ""]
    world.node("n2", cpu="1")
    assert world.node_of("p3") == "n2"


def test_a_pod_that_waits_comes_up_again_when_a_taint_goes(world: World) -> None:
    world.node("n1", taints=[{"key": "x", "effect": "NoSchedule"}])
    world.pod("p1")
    assert world.node_of("p1") == ""
    world.patch(kinds.NODES, "n1", {"spec": {"taints": None}})
    assert world.node_of("p1") == "n1"


def test_the_more_important_pod_goes_first(world: World) -> None:
    world.objects.create(kinds.PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 1000})
    world.pod("low")
    world.pod("high", priorityClassName="high")
    world.node("n1", cpu="1")
    assert (world.node_of("low"), world.node_of("high")) == ("", "n1")


def test_a_toleration_lets_a_pod_onto_a_tainted_node(world: World) -> None:
    world.node("n1", taints=[{"key": "x", "value": "y", "effect": "NoSchedule"}])
    world.pod("p1", tolerations=[{"key": "x", "value": "y"}])
    assert world.node_of("p1") == "n1"


def test_wishes_about_labels_and_taints_are_granted_where_possible(world: World) -> None:
    world.node("n1", taints=[{"key": "x", "effect": "PreferNoSchedule"}])
    world.node("n2")
    world.node("n3", labels={"fast": "yes"})
    world.pod("p1")
    assert world.node_of("p1") != "n1"
    wish = {"weight": 1, "preference": {"matchExpressions": [{"key": "fast", "operator": "Exists"}]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
    world.pod("p2", affinity=affinity)
    assert world.node_of("p2") == "n3"


def test_required_node_affinity_takes_any_of_its_terms(world: World) -> None:
    two_zones(world)
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]} for zone in ("x", "b")]
    world.pod("p1", affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}})
    assert world.node_of("p1") == "b1"


def test_two_pods_cannot_have_the_same_port_of_a_node(world: World) -> None:
    world.node("n1")
    spec = pod_spec()
    spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    world.create(kinds.PODS, "p1", spec)
    world.create(kinds.PODS, "p2", spec)
    assert "node(s) didn't have free ports" in world.why("p2")[1]


def test_pods_that_must_be_apart_are_whoever_comes_first(world: World) -> None:
    world.node("n1")
    world.pod("p1", labels={"app": "a"}, affinity={"podAntiAffinity": {REQUIRED: [term(HOST, app="b")]}})
    world.pod("p2", labels={"app": "b"})
    assert "1 node(s) didn't satisfy existing pods anti-affinity rules" in world.why("p2")[1]
    world.pod("p3", affinity={"podAntiAffinity": {REQUIRED: [term(HOST, app="a")]}})
    assert "1 node(s) didn't match pod anti-affinity rules" in world.why("p3")[1]
    world.delete(kinds.PODS, "p1")
    assert world.node_of("p2") == world.node_of("p3") == "n1"


def test_pods_that_must_be_near_wait_for_each_other(world: World) -> None:
    two_zones(world)
    near = {"podAffinity": {REQUIRED: [term(ZONE, app="db")]}}
    world.pod("p1", affinity=near)
    assert "2 node(s) didn't match pod affinity rules" in world.why("p1")[1]
    world.pod("db", labels={"app": "db"}, nodeSelector={ZONE: "b"})
    assert world.node_of("p1") == "b1"


def test_the_first_of_a_group_that_wants_to_be_near_itself_goes_anywhere(world: World) -> None:
    two_zones(world)
    near = {"podAffinity": {REQUIRED: [term(ZONE, app="a")]}}
    for name in ("p1", "p2", "p3"):
        world.pod(name, labels={"app": "a"}, affinity=near)
    assert len({world.node_of(name) for name in ("p1", "p2", "p3")}) == 1


def spread(key: str, skew: int = 1, **more: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "a"}}
    return {
        "topologyKey": key,
        "maxSkew": skew,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
        **more,
    }


def test_pods_are_spread_over_zones(world: World) -> None:
    two_zones(world)
    world.node("a2", cpu="64", labels={ZONE: "a"})
    for at in range(4):
        world.pod(f"p{at}", labels={"app": "a"}, topologySpreadConstraints=[spread(ZONE)])
    zones = [world.get(kinds.NODES, world.node_of(f"p{at}"))["metadata"]["labels"][ZONE] for at in range(4)]
    assert sorted(zones) == ["a", "a", "b", "b"]


def test_a_pod_waits_rather_than_break_the_spread(world: World) -> None:
    world.node("a1", labels={ZONE: "a"})
    world.node("b1", cpu="1", labels={ZONE: "b"})
    world.node("c1")
    for at in range(4):
        world.pod(f"p{at}", labels={"app": "a"}, topologySpreadConstraints=[spread(ZONE)])
    waiting = next(f"p{at}" for at in range(4) if not world.node_of(f"p{at}"))
    assert "1 node(s) didn't match pod topology spread constraints, " in world.why(waiting)[1]
    assert "1 node(s) didn't match pod topology spread constraints (missing required label)" in world.why(waiting)[1]
    world.node("b2", labels={ZONE: "b"})
    assert world.node_of(waiting) == "b2"


def test_a_gated_pod_waits_until_its_gate_is_gone(world: World) -> None:
    world.node("n1")
    world.pod("p1", schedulingGates=[{"name": "example.com/x"}])
    assert world.why("p1") == ("SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates")
    world.patch(kinds.PODS, "p1", {"spec": {"schedulingGates": None}})
    assert world.node_of("p1") == "n1"


def test_a_pod_of_another_scheduler_is_left_alone(world: World) -> None:
    world.node("n1")
    world.pod("p1", schedulerName="other")
    assert world.node_of("p1") == ""
    assert not world.get(kinds.PODS, "p1")["status"].get("conditions")


def test_a_pod_that_runs_elsewhere_takes_its_room_before_the_node_is_known(world: World) -> None:
    world.pod("p1", cpu="3", nodeName="n1")
    world.node("n1")
    world.pod("p2", cpu="2")
    assert "Insufficient cpu" in world.why("p2")[1]


def claim(world: World, name: str, storage_class: str = "slow") -> None:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": storage_class,
    }
    world.create(kinds.PERSISTENT_VOLUME_CLAIMS, name, spec)


def mounts(name: str) -> list[dict[str, Any]]:
    return [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]


def test_a_claim_is_bound_where_its_first_pod_goes_and_keeps_later_pods_there(world: World) -> None:
    two_zones(world)
    made = {"metadata": {"name": "slow"}, "provisioner": "x", "volumeBindingMode": "WaitForFirstConsumer"}
    world.objects.create(kinds.STORAGE_CLASSES, made)
    claim(world, "c1")
    world.pod("p1", nodeSelector={ZONE: "b"}, volumes=mounts("c1"))
    assert world.node_of("p1") == "b1"
    bound = world.get(kinds.PERSISTENT_VOLUME_CLAIMS, "c1")
    assert bound["status"]["phase"] == "Bound"
    assert world.find(kinds.PERSISTENT_VOLUMES, bound["spec"]["volumeName"]) is not None
    world.delete(kinds.PODS, "p1", DELETE_NOW)
    world.pod("p2", nodeSelector={ZONE: "a"}, volumes=mounts("c1"))
    assert "1 node(s) didn't match PersistentVolume's node affinity" in world.why("p2")[1]
    world.pod("p3", volumes=mounts("c1"))
    assert world.node_of("p3") == "b1"


def test_a_pod_waits_for_a_claim_that_is_not_there(world: World) -> None:
    world.node("n1")
    world.pod("p1", volumes=mounts("c1"))
    assert world.why("p1")[1] == '0/1 nodes are available: persistentvolumeclaim "c1" not found. not found'
    claim(world, "c1")
    assert world.node_of("p1") == "n1"


def test_equal_pods_that_fit_nowhere_are_asked_about_once() -> None:
    world = World(Options(fake_kubelet=False))
    for at in range(3):
        world.node(f"n{at}", cpu="1")
    for at in range(50):
        world.objects.create(kinds.PODS, {"metadata": {"name": f"p{at}"}, "spec": pod_spec("2")}, "default")
    world.settle()
    assert {world.why(f"p{at}")[0] for at in range(50)} == {"Unschedulable"}
