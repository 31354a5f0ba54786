"""CapacityBuffers: how many pods they stand for, and what those look like (scheduling §6.2, newest §8)."""

from __future__ import annotations

import json

import pytest
from tests.api.objects import Json, container, mounting, pod, thing, workload

from dovetail.api.world import World, read_world

GROUP = "autoscaling.x-k8s.io/v1beta1"


def buffer(name: str = "spare", namespace: str = "default", **spec: object) -> Json:
    return thing("CapacityBuffer", GROUP, {"name": name, "namespace": namespace, "uid": "u"}, spec=spec)


def template(name: str = "unit", requests: Json | None = None, **spec: object) -> Json:
    held = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [container(requests or {"cpu": "1"})], **spec},
    }
    return thing("PodTemplate", "v1", {"name": name}, template=held)


def read(*objects: Json, on: bool = True) -> World:
    return read_world([("w.json", json.dumps(list(objects)))], with_buffers=on)


def count(*objects: Json) -> int:
    found = read(*objects)
    assert not found.problems
    return sum(one.owner == "CapacityBuffer" for one in found.snapshot.pods)


OF_TEMPLATE = {"podTemplateRef": {"name": "unit"}}
OF_WEB = {"scalableRef": {"apiGroup": "apps", "kind": "Deployment", "name": "web"}}


@pytest.mark.parametrize(
    ("size", "pods"),
    [
        ({"replicas": 3}, 3),
        ({"replicas": 0}, 0),
        ({"replicas": 3, "limits": {"cpu": "2500m"}}, 2),
        ({"replicas": 3, "limits": {"memory": "1Gi"}}, 3),
        ({"replicas": 9, "limits": {"cpu": "8", "example.com/gpu": "4"}}, 4),
        ({"limits": {"cpu": "5"}}, 5),
        ({"limits": {"memory": "5Gi"}}, 0),
    ],
)
def test_limits_cap_the_size_of_a_buffer_by_what_its_pods_ask_for(size: Json, pods: int) -> None:
    """One that says no size is as large as its limits; a limit on what its pods do not ask for caps nothing."""
    unit = template(requests={"cpu": "1", "example.com/gpu": "1"})
    assert count(unit, buffer(**OF_TEMPLATE, **size)) == pods


@pytest.mark.parametrize(
    ("replicas", "size", "pods"),
    [
        (10, {"percentage": 25}, 3),
        (10, {"percentage": 0}, 0),
        (1, {"percentage": 1}, 1),
        (0, {"percentage": 50}, 0),
        (None, {"percentage": 200}, 2),
        (10, {"percentage": 20, "replicas": 1}, 2),
        (10, {"percentage": 20, "replicas": 5}, 5),
        (10, {"percentage": 100, "limits": {"cpu": "4"}}, 4),
    ],
)
def test_a_share_of_a_workload_is_rounded_up_and_the_larger_of_share_and_number_counts(
    replicas: int | None, size: Json, pods: int
) -> None:
    scaled = {} if replicas is None else {"replicas": replicas}
    assert count(workload("Deployment", "web", **scaled), buffer(**OF_WEB, **size)) == pods


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet"])
def test_a_buffer_may_refer_to_any_workload_that_scales(kind: str) -> None:
    ref = {"scalableRef": {"kind": kind, "name": "web"}}
    assert count(workload(kind, "web", replicas=4), buffer(**ref, percentage=50)) == 2


def test_pods_of_a_buffer_are_like_its_template_with_the_lowest_priority_and_no_claims() -> None:
    unit = template(volumes=mounting("data"), priority=7, tolerations=[{"operator": "Exists"}])
    found = read(unit, buffer(**OF_TEMPLATE, replicas=2)).snapshot.pods
    assert [(one.key, one.uid) for one in found] == [
        ("default/capacity-buffer-spare-1", "u-1"),
        ("default/capacity-buffer-spare-2", "u-2"),
    ]
    (shape,) = {one.shape for one in found}
    assert (shape.priority, shape.problem, shape.labels) == (-(2**31), None, (("app", "unit"),))
    assert shape.requests.of("cpu") == 1000
    assert shape.tolerations
    assert not shape.volumes.attached


def test_claims_a_stateful_set_makes_are_not_made_for_its_buffer() -> None:
    claims = [{"metadata": {"name": "data"}, "spec": {"storageClassName": "none"}}]
    db = workload("StatefulSet", "db", replicas=1, volumeClaimTemplates=claims)
    ref = {"scalableRef": {"kind": "StatefulSet", "name": "db"}}
    problems = {one.name: one.shape.problem is None for one in read(db, buffer(**ref, replicas=1)).snapshot.pods}
    assert problems == {"db-0": False, "capacity-buffer-spare-1": True}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({**OF_TEMPLATE, "replicas": 1}, "there is no PodTemplate 'unit' in its namespace"),
        ({**OF_WEB, "replicas": 1}, "there is no Deployment 'web' in its namespace"),
        ({"replicas": 1}, "refers neither to a pod template nor to a workload"),
    ],
)
def test_a_buffer_whose_reference_is_missing_is_not_ready(spec: Json, told: str) -> None:
    elsewhere = workload("Deployment", "web", namespace="other", replicas=0)
    (one,) = read(buffer(**spec), elsewhere).buffers
    assert (one.pods, one.problem) == ((), told)


def test_a_buffer_of_another_strategy_or_of_too_many_pods_is_not_ready() -> None:
    standby = buffer("a", **OF_TEMPLATE, replicas=1, provisioningStrategy="example.com/standby")
    vast = buffer("b", **OF_TEMPLATE, limits={"cpu": "1e12"})
    told = [one.problem or "" for one in read(template(), standby, vast).buffers]
    assert "'example.com/standby' is not buffer.x-k8s.io/active-capacity" in told[0]
    assert "comes to 1,000,000,000,000 pods" in told[1]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({**OF_TEMPLATE}, "spec.replicas: a buffer of a pod template needs replicas or limits"),
        ({**OF_TEMPLATE, **OF_WEB, "replicas": 1}, "spec.scalableRef: there is a podTemplateRef too"),
        ({**OF_TEMPLATE, "replicas": -1}, "spec.replicas: -1 is not a whole number"),
        ({"scalableRef": {"kind": "Job", "name": "web"}}, "spec.scalableRef.kind: 'Job' of 'apps' is none of"),
        ({"scalableRef": {"apiGroup": "batch", "kind": "Deployment", "name": "web"}}, "of 'batch' is none of"),
    ],
)
def test_a_buffer_the_server_would_refuse_is_told_and_costs_itself(spec: Json, told: str) -> None:
    found = read(buffer(**spec), pod())
    assert [told in str(one) for one in found.problems] == [True]
    assert len(found.snapshot.pods) == 1


def test_buffers_are_known_but_not_planned_where_the_gate_is_off() -> None:
    found = read(template(), buffer(**OF_TEMPLATE, replicas=2), on=False)
    assert (len(found.snapshot.pods), len(found.buffers)) == (0, 1)
    assert not found.skipped


def test_a_buffer_of_a_million_pods_is_one_shape() -> None:
    found = read(template(), buffer(**OF_TEMPLATE, replicas=100_000))
    assert len({id(one.shape) for one in found.snapshot.pods}) == 1
