"""What planning sees of the objects that are watched."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.api.objects import container, pod, thing, workload

from dovetail.api import kinds, scheduler_config
from dovetail.api.kinds import Kind
from dovetail.controllers.cluster import Cluster, Scope
from dovetail.controllers.nominations import Nominations
from dovetail.controllers.snapshots import Snapshots
from dovetail.core.nodeclaims import NodeObject
from dovetail.core.pods import PodState

CONFIG = """
podTopologySpread:
  defaultConstraints:
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}
"""


ONE_POD = {"cpu": "4", "memory": "8Gi", "pods": "10"}


class Watched:
    """A cluster whose objects are handed in, instead of watched."""

    def __init__(self, config: str = CONFIG) -> None:
        spread = scheduler_config.read(config, "config")
        self.cluster = Cluster(Scope((), by_owner=bool(spread.constraints)))
        self.nominations = Nominations(20.0)
        self.snapshots = Snapshots(self.cluster, self.nominations, spread)
        self.version = 0

    def put(self, kind: Kind, wire: dict[str, Any]) -> None:
        self.version += 1
        wire["metadata"] |= {"namespace": "default", "resourceVersion": str(self.version)}
        for one in self.cluster._watched:
            if one.kind == kind:
                one.store.put(one.codec.item(json.dumps(wire).encode()))

    def spreads(self) -> dict[str, list[str]]:
        found = self.snapshots.take().pods
        return {one.name: [str(each.selector.wanted) for each in one.shape.spread] for one in found}


# ---- §4.9: default spread constraints, worked out from services and owners


def owned(kind: str, version: str = "apps/v1") -> dict[str, Any]:
    refs = [{"apiVersion": version, "kind": kind, "name": "web", "controller": True}]
    return pod("p", about={"labels": {"app": "web", "tier": "front"}, "ownerReferences": refs})


def replica_set(*, ready: int = 0, app: str = "web") -> dict[str, Any]:
    about = {"name": "web", "uid": "rs"}
    spec = {"selector": {"matchLabels": {"app": app}}, "template": {}}
    return thing("ReplicaSet", "apps/v1", about, spec=spec, status={"readyReplicas": ready})


def test_pods_spread_with_those_of_their_owner():
    live = Watched()
    live.put(kinds.PODS, owned("ReplicaSet"))
    assert live.spreads() == {"p": []}
    live.put(kinds.REPLICA_SETS, replica_set())
    assert live.spreads() == {"p": ["app In [web]"]}


def test_pods_spread_with_those_of_their_services_and_replication_controller():
    live = Watched()
    live.put(kinds.PODS, owned("ReplicationController", "v1"))
    live.put(kinds.SERVICES, thing("Service", "v1", {"name": "s"}, spec={"selector": {"app": "web"}}))
    live.put(kinds.SERVICES, thing("Service", "v1", {"name": "other"}, spec={"selector": {"app": "other"}}))
    assert live.spreads() == {"p": ["app In [web]"]}
    live.put(
        kinds.REPLICATION_CONTROLLERS,
        thing("ReplicationController", "v1", {"name": "web"}, spec={"selector": {"tier": "front"}}),
    )
    assert live.spreads() == {"p": ["app In [web], tier In [front]"]}


def test_what_an_owner_says_of_itself_makes_no_pod_anew():
    """A ReplicaSet's status changes with every pod; whom it selects does not."""
    live = Watched()
    live.put(kinds.REPLICA_SETS, replica_set())
    before = live.snapshots.surroundings()
    live.put(kinds.REPLICA_SETS, replica_set(ready=1))
    assert live.snapshots.surroundings() is before
    live.put(kinds.REPLICA_SETS, replica_set(app="other"))
    assert live.snapshots.surroundings() is not before


def test_without_default_constraints_nobody_looks_at_services_or_owners():
    watched = {one.kind for one in Watched("{}").cluster._watched}
    assert not watched & {kinds.SERVICES, kinds.REPLICA_SETS, kinds.STATEFUL_SETS, kinds.REPLICATION_CONTROLLERS}


# ---- §3.6: daemons ask for what their newest pod asks for


def agent(name: str, cpu: str, day: int) -> dict[str, Any]:
    refs = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "controller": True}]
    about = {"uid": name, "ownerReferences": refs, "creationTimestamp": f"2026-01-{day:02}T00:00:00Z"}
    return pod(name, container({"cpu": cpu}), about=about, nodeName=name)


def test_a_daemon_asks_for_what_its_newest_pod_asks_for():
    live = Watched("{}")
    live.put(kinds.DAEMON_SETS, workload("DaemonSet", "agent"))

    def cpus() -> int:
        (daemon,) = live.snapshots.take().daemons
        return daemon.shape.requests.of("cpu")

    assert cpus() == 1000
    live.put(kinds.PODS, agent("b", "2", 2))
    assert cpus() == 2000
    live.put(kinds.PODS, agent("a", "3", 1))
    assert cpus() == 2000
    live.put(kinds.PODS, agent("c", "4", 3))
    assert cpus() == 4000
    live.put(kinds.PODS, agent("c", "5", 3))  # resized where it is
    assert cpus() == 5000
    live.cluster.pods.remove(("default", "c"))
    assert cpus() == 2000
    for name in "ab":
        live.cluster.pods.remove(("default", name))
    assert cpus() == 1000


def test_another_pod_of_a_daemon_that_asks_for_the_same_changes_nothing():
    live = Watched("{}")
    live.put(kinds.DAEMON_SETS, workload("DaemonSet", "agent"))
    live.put(kinds.PODS, agent("a", "2", 1))
    before = live.snapshots.daemons()
    live.put(kinds.PODS, agent("b", "2", 2))
    assert live.snapshots.daemons() is before


# ---- §2.3: pods of nodes that leave


@pytest.mark.parametrize(
    ("note", "state"),
    [
        (None, PodState.BOUND),
        ("true", PodState.WAITING),
        ("1h", PodState.BOUND),  # it is over long since
        ("100000h", PodState.WAITING),
        ("soon", PodState.BOUND),
    ],
)
def test_a_pod_goes_down_with_its_node_for_as_long_as_it_may_not_be_disrupted(note: str | None, state: PodState):
    live = Watched("{}")
    gone = {"name": "n", "deletionTimestamp": "2026-01-02T00:00:00Z"}
    live.put(kinds.NODES, thing("Node", "v1", gone, spec={}, status={}))
    notes = {} if note is None else {"annotations": {"karpenter.sh/do-not-disrupt": note}}
    status = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}
    live.put(kinds.PODS, pod("p", about={"uid": "p", **notes}, status=status, nodeName="n"))
    (found,) = live.snapshots.take().pods
    assert found.state is state


# ---- pods that were planned


def test_a_planned_pod_is_the_same_object_from_look_to_look_until_its_place_is_another():
    live = Watched("{}")
    live.put(kinds.PODS, pod("p", about={"uid": "p"}))
    live.nominations.nominate([(("default", "p"), "p")], "claim-1", None)
    (planned,) = live.snapshots.take().pods
    assert (planned.node, planned.state) == ("claim-1", PodState.BOUND)
    assert live.snapshots.take().pods[0] is planned
    live.nominations.nominate([(("default", "p"), "p")], "claim-2", None)
    assert live.snapshots.take().pods[0].node == "claim-2"
    live.nominations.drop(("default", "p"))
    (waiting,) = live.snapshots.take().pods
    assert (waiting.node, waiting.state) == (None, PodState.PENDING)


@pytest.mark.parametrize(
    ("fixed", "coming", "state"),
    [
        pytest.param(True, True, PodState.PENDING, id="one that was to go just there"),
        pytest.param(False, True, PodState.BOUND, id="one that may find the place of another"),
        pytest.param(False, False, PodState.PENDING, id="one that may not, all machines being up"),
    ],
)
def test_whose_room_was_taken_is_planned_anew(fixed: bool, coming: bool, state: PodState):
    live = Watched("{}")
    crowded(live)
    live.nominations.nominate([(("default", "late"), "late")], "n", 100.0, {"late"} if fixed else ())
    if coming:
        live.put(kinds.PODS, pod("other", about={"uid": "other"}))
        live.nominations.nominate([(("default", "other"), "other")], "claim", None)
    found = {one.name: one.state for one in live.snapshots.take().pods}
    assert found["late"] is state


def crowded(live: Watched) -> NodeObject:
    """A node for one pod, and on it one that was not to go there; another waits."""
    live.put(kinds.NODES, thing("Node", "v1", {"name": "n", "uid": "n"}, spec={}, status={"allocatable": ONE_POD}))
    live.put(kinds.PODS, pod("early", container(requests={"cpu": "3"}), about={"uid": "early"}, nodeName="n"))
    live.put(kinds.PODS, pod("late", container(requests={"cpu": "3"}), about={"uid": "late"}))
    node = live.cluster.node("n")
    assert node is not None
    return node


def test_a_node_is_overfull_when_those_on_it_leave_too_little_for_those_planned_onto_it():
    live = Watched("{}")
    node = crowded(live)
    assert not live.snapshots.is_overfull(node, ("n", "claim"))
    live.nominations.nominate([(("default", "late"), "late")], "claim", None)
    assert not live.snapshots.is_overfull(node, ("n", "claim")), "it is not up: nobody knows what it will have"
    live.nominations.ready("claim", 10.0)
    assert not live.snapshots.is_overfull(node, ("n",))
    assert live.snapshots.is_overfull(node, ("n", "claim"))


def test_a_pod_that_has_finished_takes_nobodys_room():
    live = Watched("{}")
    node = crowded(live)
    done = pod("early", container(requests={"cpu": "3"}), about={"uid": "early"}, nodeName="n")
    live.put(kinds.PODS, done | {"status": {"phase": "Succeeded"}})
    live.nominations.nominate([(("default", "late"), "late")], "n", 100.0)
    assert not live.snapshots.is_overfull(node, ("n",))


# ---- from look to look


def test_a_node_is_the_same_object_from_look_to_look_until_something_of_it_changes():
    live = Watched("{}")

    def node(name: str, **status: Any) -> None:
        live.put(kinds.NODES, thing("Node", "v1", {"name": name, "uid": name}, spec={}, status=status))

    node("a", allocatable={"cpu": "4"})
    node("b", allocatable={"cpu": "4"})
    before = {one.name: one for one in live.snapshots.take().nodes}
    again = {one.name: one for one in live.snapshots.take().nodes}
    assert again["a"] is before["a"]
    node("a", allocatable={"cpu": "8"})
    after = {one.name: one for one in live.snapshots.take().nodes}
    assert after["a"].allocatable.of("cpu") == 8000
    assert after["b"] is before["b"]
    live.cluster.nodes.remove(("", "b"))
    assert [one.name for one in live.snapshots.take().nodes] == ["a"]


def test_a_node_has_room_for_volumes_as_soon_as_its_drivers_say_so():
    live = Watched("{}")
    live.put(kinds.NODES, thing("Node", "v1", {"name": "a", "uid": "a"}, spec={}, status={}))
    assert live.snapshots.take().nodes[0].volume_limits == ()
    drivers = [{"name": "ebs", "nodeID": "a", "allocatable": {"count": 25}}]
    live.put(
        kinds.CSI_NODES, thing("CSINode", "storage.k8s.io/v1", {"name": "a", "uid": "c"}, spec={"drivers": drivers})
    )
    assert live.snapshots.take().nodes[0].volume_limits == (("ebs", 25),)
