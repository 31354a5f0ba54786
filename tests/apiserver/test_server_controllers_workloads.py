"""Deployments, ReplicaSets, StatefulSets, Jobs and DaemonSets on fake nodes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.controller_world import World, pod_spec, workload

from dovetail.api import kinds
from dovetail.apiserver.controllers import Options


@pytest.fixture
def world() -> World:
    made = World()
    made.node("n1")
    return made


def status(world: World, kind: kinds.Kind, name: str) -> dict[str, Any]:
    found = world.get(kind, name)["status"]
    return {key: value for key, value in found.items() if key != "conditions"}


def test_a_replica_set_makes_what_is_missing_and_takes_what_is_too_much(world: World) -> None:
    world.create(kinds.REPLICA_SETS, "a", workload(3))
    assert len(world.pods()) == 3
    assert status(world, kinds.REPLICA_SETS, "a") == {
        "replicas": 3,
        "fullyLabeledReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "observedGeneration": 1,
        "terminatingReplicas": 0,
    }
    world.delete(kinds.PODS, world.pods()[0]["metadata"]["name"])
    assert len(world.pods()) == 3
    world.patch(kinds.REPLICA_SETS, "a", {"spec": {"replicas": 1}})
    assert len(world.pods()) == 1


def test_scaling_down_takes_pods_without_a_node_first() -> None:
    world = World()
    world.node("n1", cpu="1")
    world.create(kinds.REPLICA_SETS, "a", workload(3, cpu="500m"))
    bound = {one["metadata"]["name"] for one in world.pods() if one["spec"].get("nodeName")}
    assert len(bound) == 2
    world.patch(kinds.REPLICA_SETS, "a", {"spec": {"replicas": 2}})
    assert set(world.names(kinds.PODS)) == bound


def test_pods_count_as_available_after_having_been_ready_for_a_while(world: World) -> None:
    world.create(kinds.REPLICA_SETS, "a", workload(2, minReadySeconds=30))
    assert "availableReplicas" not in status(world, kinds.REPLICA_SETS, "a")
    world.wait(31)
    assert status(world, kinds.REPLICA_SETS, "a")["availableReplicas"] == 2


def test_a_deployment_makes_a_replica_set_and_says_when_it_is_done(world: World) -> None:
    world.create(kinds.DEPLOYMENTS, "a", workload(3))
    (made,) = world.objects.list(kinds.REPLICA_SETS, "default")
    assert made["metadata"]["name"] == "a-" + made["metadata"]["labels"]["pod-template-hash"]
    assert made["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"
    assert status(world, kinds.DEPLOYMENTS, "a") == {
        "observedGeneration": 1,
        "replicas": 3,
        "updatedReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "terminatingReplicas": 0,
    }
    said = {
        one["type"]: (one["status"], one["reason"]) for one in world.get(kinds.DEPLOYMENTS, "a")["status"]["conditions"]
    }
    assert said == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }


def test_a_new_template_replaces_all_pods_and_an_old_one_is_taken_up_again(world: World) -> None:
    world.create(kinds.DEPLOYMENTS, "a", workload(4))
    first = {one["metadata"]["name"] for one in world.pods()}
    template = {"spec": {"containers": [{"name": "c", "image": "new"}]}}
    world.patch(kinds.DEPLOYMENTS, "a", {"spec": {"template": template}})
    assert not first & {one["metadata"]["name"] for one in world.pods()}
    assert {one["spec"]["containers"][0]["image"] for one in world.pods()} == {"new"}
    assert len(world.pods()) == 4
    sets = world.objects.list(kinds.REPLICA_SETS, "default")
    assert sorted(one["spec"]["replicas"] for one in sets) == [0, 4]
    world.patch(kinds.DEPLOYMENTS, "a", {"spec": {"template": workload(4)["template"]}})
    assert len(world.objects.list(kinds.REPLICA_SETS, "default")) == 2
    assert world.get(kinds.DEPLOYMENTS, "a")["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"


def test_a_rolling_update_that_cannot_go_on_keeps_what_must_be_available() -> None:
    world = World()
    world.node("n1", cpu="4")
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    world.create(kinds.DEPLOYMENTS, "a", workload(4, strategy=rolling))
    impossible = {"nodeSelector": {"no": "such"}}
    world.patch(kinds.DEPLOYMENTS, "a", {"spec": {"template": {"spec": impossible}}})
    running = [one for one in world.pods() if one["status"]["phase"] == "Running"]
    assert (len(running), len(world.pods())) == (4, 5)
    found = status(world, kinds.DEPLOYMENTS, "a")
    assert (found["updatedReplicas"], found["availableReplicas"]) == (1, 4)


def test_recreate_lets_the_old_pods_go_first() -> None:
    world = World(Options(fake_kubelet=False))
    world.create(kinds.DEPLOYMENTS, "a", workload(2, strategy={"type": "Recreate"}))
    assert len(world.pods()) == 2
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    keeper = world.pods()[0]["metadata"]["name"]
    world.patch(kinds.PODS, keeper, held)
    world.patch(kinds.DEPLOYMENTS, "a", {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})
    assert world.names(kinds.PODS) == [keeper], "one is held; nothing new while it is"
    world.patch(kinds.PODS, keeper, {"metadata": {"finalizers": None}})
    assert [one["metadata"]["labels"]["v"] for one in world.pods()] == ["2", "2"]


def test_a_stateful_set_goes_in_order_and_makes_claims(world: World) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    world.create(kinds.STATEFUL_SETS, "a", workload(2, serviceName="s", volumeClaimTemplates=[claim]))
    assert world.names(kinds.PODS) == ["a-0", "a-1"]
    assert world.names(kinds.PERSISTENT_VOLUME_CLAIMS) == ["data-a-0", "data-a-1"]
    assert world.get(kinds.PERSISTENT_VOLUME_CLAIMS, "data-a-0")["status"]["phase"] == "Bound"
    assert world.get(kinds.PODS, "a-1")["spec"]["hostname"] == "a-1"
    world.patch(kinds.STATEFUL_SETS, "a", {"spec": {"replicas": 1}})
    assert world.names(kinds.PODS) == ["a-0"]
    assert status(world, kinds.STATEFUL_SETS, "a")["readyReplicas"] == 1


def test_a_stateful_set_waits_for_each_pod_unless_it_is_parallel() -> None:
    world = World(Options(fake_kubelet=False))
    world.create(kinds.STATEFUL_SETS, "a", workload(3, serviceName="s"))
    assert world.names(kinds.PODS) == ["a-0"]
    world.create(kinds.STATEFUL_SETS, "b", workload(3, serviceName="s", podManagementPolicy="Parallel"))
    assert world.names(kinds.PODS) == ["a-0", "b-0", "b-1", "b-2"]


def test_a_stateful_set_replaces_pods_of_an_old_template(world: World) -> None:
    world.create(kinds.STATEFUL_SETS, "a", workload(2, serviceName="s"))
    before = [one["metadata"]["uid"] for one in world.pods()]
    world.patch(kinds.STATEFUL_SETS, "a", {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})
    assert [one["metadata"]["labels"]["v"] for one in world.pods()] == ["2", "2"]
    assert not set(before) & {one["metadata"]["uid"] for one in world.pods()}


def job(**more: Any) -> dict[str, Any]:
    return {"template": {"spec": pod_spec("100m", restartPolicy="Never")}, **more}


def test_a_job_runs_until_enough_pods_have_succeeded(world: World) -> None:
    world.create(kinds.JOBS, "a", job(completions=5, parallelism=2))
    found = world.get(kinds.JOBS, "a")["status"]
    assert (found["succeeded"], found.get("active", 0)) == (5, 0)
    assert [one["type"] for one in found["conditions"]] == ["SuccessCriteriaMet", "Complete"]


def test_a_job_gives_up_when_too_many_pods_have_failed() -> None:
    world = World(Options(fake_kubelet=False))
    world.create(kinds.JOBS, "a", job(backoffLimit=1))
    for _ in range(2):
        name = next(one["metadata"]["name"] for one in world.pods() if one["status"]["phase"] == "Pending")
        world.patch(kinds.PODS, name, {"status": {"phase": "Failed"}}, "status")
    found = world.get(kinds.JOBS, "a")["status"]
    assert [(one["type"], one["reason"]) for one in found["conditions"]][-1] == ("Failed", "BackoffLimitExceeded")
    assert len(world.pods()) == 2


def test_a_job_past_its_deadline_fails_and_is_cleaned_up_later() -> None:
    world = World(Options(fake_kubelet=False))
    world.create(kinds.JOBS, "a", job(activeDeadlineSeconds=60, ttlSecondsAfterFinished=100))
    world.wait(61)
    assert world.get(kinds.JOBS, "a")["status"]["conditions"][-1]["reason"] == "DeadlineExceeded"
    assert world.pods() == []
    world.wait(101)
    assert world.find(kinds.JOBS, "a") is None


def test_an_indexed_job_numbers_its_pods(world: World) -> None:
    world.create(kinds.JOBS, "a", job(completions=3, parallelism=3, completionMode="Indexed"))
    labels = [one["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] for one in world.pods()]
    assert sorted(labels) == ["0", "1", "2"]


def daemon(**more: Any) -> dict[str, Any]:
    return {key: value for key, value in workload(0, **more).items() if key != "replicas"}


def test_a_daemon_goes_to_each_node_it_suits() -> None:
    world = World()
    world.node("n1")
    world.node("n2", taints=[{"key": "x", "effect": "NoSchedule"}])
    world.create(kinds.DAEMON_SETS, "a", daemon())
    assert [one["spec"]["nodeName"] for one in world.pods()] == ["n1"]
    world.node("n3", unschedulable=True)
    assert sorted(one["spec"]["nodeName"] for one in world.pods()) == ["n1", "n3"], "daemons do not mind a cordon"
    world.patch(kinds.NODES, "n2", {"spec": {"taints": None}})
    assert len(world.pods()) == 3
    found = status(world, kinds.DAEMON_SETS, "a")
    assert (found["desiredNumberScheduled"], found["numberReady"], found["numberAvailable"]) == (3, 3, 3)


def test_a_daemon_leaves_a_node_that_no_longer_suits() -> None:
    world = World()
    world.node("n1", labels={"pool": "a"})
    spec = daemon()
    spec["template"]["spec"]["nodeSelector"] = {"pool": "a"}
    world.create(kinds.DAEMON_SETS, "a", spec)
    assert len(world.pods()) == 1
    world.patch(kinds.NODES, "n1", {"metadata": {"labels": {"pool": "b"}}})
    assert world.pods() == []


def test_daemons_of_an_old_template_are_replaced() -> None:
    world = World()
    for name in ("n1", "n2", "n3"):
        world.node(name)
    world.create(kinds.DAEMON_SETS, "a", daemon())
    world.patch(kinds.DAEMON_SETS, "a", {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})
    assert [one["metadata"]["labels"].get("v") for one in world.pods()] == ["2", "2", "2"]
