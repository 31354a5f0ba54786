"""The pods workloads would have, less those that are there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.api.objects import container, named, pod, thing, workload, world_of

from dovetail.api import what_if
from dovetail.api.world import read_world

Json = dict[str, Any]


def names(*objects: dict) -> list[str]:
    found = world_of(*objects)
    assert not found.problems
    return [one.name for one in found.snapshot.pods]


def owned(kind: str, name: str, version: str = "apps/v1") -> dict:
    return {"ownerReferences": [{"apiVersion": version, "kind": kind, "name": name, "controller": True}]}


def mine(name: str, owner: dict, **more: object) -> dict:
    return pod(name, about={"labels": {"app": "web"}, **owner}, **more)


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"])
def test_replicas_become_pods(kind):
    assert names(workload(kind, replicas=3)) == ["web-0", "web-1", "web-2"]
    assert names(workload(kind)) == ["web-0"]
    assert names(workload(kind, replicas=0)) == []


def test_pods_of_a_workload_are_like_its_template():
    found = world_of(workload("Deployment", replicas=3, namespace="shop", template={"priority": 5}))
    assert {(one.key, one.shape.priority, one.shape.labels) for one in found.snapshot.pods} == {
        (f"shop/web-{at}", 5, (("app", "web"),)) for at in range(3)
    }


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        ({}, 1),
        ({"parallelism": 3}, 3),
        ({"parallelism": 3, "completions": 2}, 2),
        ({"completions": 5}, 1),
        ({"suspend": True}, 0),
    ],
)
def test_a_job_runs_so_many_at_once(spec, count):
    assert len(names(workload("Job", **spec))) == count


def test_a_job_that_is_over_has_no_pods():
    done = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert names({**workload("Job"), "status": done}) == []
    assert len(names({**workload("Job", parallelism=3, completions=4), "status": {"succeeded": 3}})) == 1


def test_a_cron_job_is_planned_as_one_of_its_runs():
    assert names(workload("CronJob", parallelism=2)) == ["web-0", "web-1"]


def test_a_cron_job_whose_run_is_there_is_not_planned_twice():
    running = workload("Job", "web-1", parallelism=2)
    running["metadata"] |= owned("CronJob", "web", "batch/v1")
    assert names(workload("CronJob", parallelism=2), running) == ["web-1-0", "web-1-1"]


def test_a_replica_set_of_a_listed_deployment_is_not_expanded_twice():
    made = workload("ReplicaSet", "web-abc", replicas=2)
    made["metadata"] |= owned("Deployment", "web")
    assert names(workload("Deployment", replicas=2), made) == ["web-0", "web-1"]
    assert names(made) == ["web-abc-0", "web-abc-1"]


def test_only_what_is_missing_is_made():
    made = workload("ReplicaSet", "web-abc", replicas=3)
    made["metadata"] |= owned("Deployment", "web")
    there = [mine(f"web-abc-{at}", owned("ReplicaSet", "web-abc"), nodeName="n") for at in "xy"]
    assert names(workload("Deployment", replicas=3), made, *there) == ["web-abc-x", "web-abc-y", "web-0"]
    assert names(workload("Deployment", replicas=3), *there) == ["web-abc-x", "web-abc-y", "web-0"]
    assert names(workload("Deployment", replicas=1), *there) == ["web-abc-x", "web-abc-y"]


def test_pods_that_are_over_are_made_again():
    over = mine("web-x", owned("ReplicaSet", "web"), nodeName="n", status={"phase": "Failed"})
    assert names(workload("ReplicaSet", replicas=1), over) == ["web-x", "web-0"]


def test_a_stray_pod_is_adopted():
    assert names(workload("Deployment", replicas=2), mine("stray", {})) == ["stray", "web-0"]


def test_a_stateful_set_lacks_those_whose_number_is_missing():
    there = mine("web-1", owned("StatefulSet", "web"), nodeName="n")
    assert names(workload("StatefulSet", replicas=3), there) == ["web-1", "web-0", "web-2"]
    assert names(workload("StatefulSet", replicas=2, ordinals={"start": 5})) == ["web-5", "web-6"]


def test_daemons_are_no_pods_to_plan():
    found = world_of(workload("DaemonSet", "agent", namespace="kube-system"))
    assert found.snapshot.pods == ()
    (daemon,) = found.snapshot.daemons
    assert (daemon.name, daemon.namespace, daemon.shape.requests.of("cpu")) == ("agent", "kube-system", 1000)


def daemon_cpus(*objects: Json, changes: tuple[what_if.Change, ...] = ()) -> int:
    (daemon,) = read_world([("w", json.dumps(list(objects)))], changes=changes).snapshot.daemons
    return daemon.shape.requests.of("cpu")


def test_a_daemon_asks_for_what_its_newest_pod_asks_for():
    """§3.6: the server filled something in, or an autoscaler changed it. Where it may go its template says."""
    pinned = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [{"key": "n"}]}]}
    }

    def there(name: str, cpu: str, created: str) -> Json:
        about = {**owned("DaemonSet", "agent"), "creationTimestamp": created}
        held = container({"cpu": cpu})
        return pod(name, held, about=about, nodeName="n", affinity={"nodeAffinity": pinned})

    old, new = there("z", "3", "2026-01-01T00:00:00Z"), there("a", "250m", "2026-02-01T00:00:00Z")
    template = workload("DaemonSet", "agent")
    assert daemon_cpus(template, new, old) == 250
    assert daemon_cpus(template, old) == 3000
    (daemon,) = world_of(template, new).snapshot.daemons
    assert (daemon.shape.terms, daemon.shape.problem) == ((), None)
    other = there("b", "7", "2026-03-01T00:00:00Z")
    other["metadata"] |= owned("DaemonSet", "other")
    assert daemon_cpus(template, new, other) == 250


def test_a_daemon_that_is_said_anew_asks_for_what_is_said():
    """A what-if on a dump: the pods that run are still those of before."""
    there = pod("agent-1", container({"cpu": "3"}), about=owned("DaemonSet", "agent"), nodeName="n")
    template = workload("DaemonSet", "agent")
    change = what_if.parse("daemonset/agent.spec.template.spec.containers[0].resources.requests.cpu=2")
    assert daemon_cpus(template, there, changes=(change,)) == 2000
    assert daemon_cpus(template, there, workload("DaemonSet", "agent")) == 1000


def test_a_daemon_that_wants_devices_is_not_planned_for():
    found = world_of(workload("DaemonSet", template={"resourceClaims": [{"name": "gpu"}]}))
    assert found.snapshot.daemons == ()


def test_a_daemon_with_an_unreadable_request_is_told_and_the_rest_goes_on():
    bad = {"containers": [container({"cpu": "x"})]}
    found = world_of(workload("DaemonSet", "agent", template=bad), pod())
    assert "DaemonSet default/agent: spec.containers[0]" in str(found.problems[0])
    assert len(found.snapshot.pods) == 1


def test_a_hundred_thousand_replicas_are_one_shape():
    found = world_of(workload("Deployment", replicas=100_000))
    assert (len(found.snapshot.pods), found.shapes) == (100_000, 1)
    assert len({id(one.shape) for one in found.snapshot.pods}) == 1


def test_more_replicas_than_anybody_means_are_refused():
    found = world_of(workload("Deployment", replicas=10**12), pod())
    assert "spec.replicas: 1000000000000 is not a whole number" in str(found.problems[0])
    assert [one.name for one in found.snapshot.pods] == ["web"]


def test_a_workload_in_another_namespace_owns_nothing_here():
    there = mine("web-x", owned("ReplicaSet", "web"), nodeName="n")
    assert names(workload("ReplicaSet", namespace="other"), there) == ["web-x", "web-0"]


def test_every_namespace_has_its_name_as_a_label():
    listed = thing("Namespace", "v1", named("shop", labels={"team": "a"}))
    found = world_of(listed, pod(), workload("Deployment", namespace="more")).snapshot.namespaces
    assert found["shop"] == {"team": "a", "kubernetes.io/metadata.name": "shop"}
    assert found["default"] == {"kubernetes.io/metadata.name": "default"}
    assert "more" in found
