"""Whatever the files hold, a world comes out: problems are told, and the other objects are there."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.api.objects import (
    bound_claim,
    claim,
    container,
    expression,
    mounting,
    node,
    node_affinity,
    pod,
    pool,
    storage_class,
    thing,
    volume,
    workload,
)
from tests.api.test_api_fuzz import damaged, wire

from dovetail.api.world import World, read_world

TERM = {
    "topologyKey": "zone",
    "labelSelector": {"matchLabels": {"a": "b"}},
    "namespaceSelector": {},
    "namespaces": ["x"],
}
RICH = pod(
    "rich",
    container({"cpu": "1"}, {"memory": "1Gi"}, ports=[{"containerPort": 1, "hostPort": 1}]),
    about={"labels": {"a": "b"}, "ownerReferences": [{"kind": "ReplicaSet", "name": "x", "controller": True}]},
    initContainers=[container({"cpu": "1"}, name="i", restartPolicy="Always")],
    nodeSelector={"a": "b"},
    affinity={
        **node_affinity([expression("a", "Gt", "1")]),
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]},
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": TERM}]
        },
    },
    tolerations=[{"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}],
    topologySpreadConstraints=[
        {
            "maxSkew": 1,
            "topologyKey": "a",
            "whenUnsatisfiable": "DoNotSchedule",
            "matchLabelKeys": ["a"],
            "labelSelector": {},
        }
    ],
    volumes=[
        *mounting("data"),
        {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}},
    ],
    resources={"requests": {"cpu": "1"}},
    overhead={"cpu": "1"},
    priorityClassName="p",
    runtimeClassName="r",
    hostNetwork=True,
    status={"phase": "Running", "containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "1"}}]},
)
OBJECTS = [
    RICH,
    node(taints=[{"key": "a", "effect": "NoSchedule"}], unschedulable=True),
    thing(
        "NodeClaim", "karpenter.sh/v1", {"name": "c"}, spec={"taints": []}, status={"conditions": [{"type": "Ready"}]}
    ),
    pool("p", spec={"limits": {"cpu": "1"}, "weight": 1}, taints=[{"key": "a", "effect": "NoSchedule"}]),
    workload("Deployment", "d", replicas=2),
    workload("StatefulSet", "s", volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {}}]),
    workload("DaemonSet", "a"),
    workload("CronJob", "j", parallelism=2),
    workload("ReplicationController", "r"),
    claim(storageClassName="fast"),
    bound_claim("other"),
    volume("vol", [expression("a", "In", "b")]),
    storage_class(allowedTopologies=[{"matchLabelExpressions": [{"key": "a", "values": ["b"]}]}]),
    thing(
        "CSINode", "storage.k8s.io/v1", {"name": "n"}, spec={"drivers": [{"name": "d", "allocatable": {"count": 1}}]}
    ),
    thing("PriorityClass", "scheduling.k8s.io/v1", {"name": "p"}, value=1, globalDefault=True),
    thing(
        "RuntimeClass",
        "node.k8s.io/v1",
        {"name": "r"},
        overhead={"podFixed": {"cpu": "1"}},
        scheduling={"nodeSelector": {}},
    ),
    thing("LimitRange", "v1", {"name": "l"}, spec={"limits": [{"type": "Container", "default": {"cpu": "1"}}]}),
    thing("Service", "v1", {"name": "s"}, spec={"selector": {"a": "b"}}),
    thing("Namespace", "v1", {"name": "n", "labels": {"a": "b"}}),
]
WITNESSES = [pod("witness"), node("witness"), pool("witness"), workload("ReplicaSet", "witness", replicas=2)]


def read(value: object) -> World:
    listed = {"kind": "List", "apiVersion": "v1", "items": [value, *WITNESSES]}
    text = json.dumps(listed)
    found = read_world([("w", text)])
    assert read_world([("w", text.encode())]).snapshot.pools is not None
    return found


def assert_witnesses(found: World) -> None:
    assert "witness" in {one.name for one in found.snapshot.nodes}
    assert "witness" in {one.name for one in found.snapshot.pools if one.problem is None}
    assert {"witness", "witness-0", "witness-1"} <= {one.name for one in found.snapshot.pods}
    assert all(str(one) for one in found.problems)


@given(wire)
def test_any_value_beside_a_world_leaves_the_world(value):
    assert_witnesses(read(value))


@settings(max_examples=600)
@given(st.sampled_from(OBJECTS).flatmap(damaged))
def test_a_damaged_object_costs_at_most_itself(value):
    assert_witnesses(read(value))


@settings(max_examples=100)
@given(damaged(OBJECTS))
def test_a_damaged_world_is_read(value):
    assert_witnesses(read_world([("w", json.dumps(value)), ("v", json.dumps(WITNESSES))]))
