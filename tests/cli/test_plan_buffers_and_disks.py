"""`plan` and `explain` with CapacityBuffers, disks that grow, and pods that are going or may not go."""

from __future__ import annotations

import json

import pytest
from tests.api.objects import container, node, pod, pool, thing, workload

ON = ("--feature-gates", "CapacityBuffer=true")
LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
EC2 = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}


def buffer(**spec: object) -> dict:
    ref = {"scalableRef": {"kind": "Deployment", "name": "web"}}
    about = {"name": "spare", "namespace": "default"}
    return thing("CapacityBuffer", "autoscaling.x-k8s.io/v1beta1", about, spec={**ref, **spec})


@pytest.fixture
def shop(world):
    """A node with room for three more pods, of which the workload takes one."""
    running = pod("old", container({"cpu": "1"}), nodeName="node-1")
    return world(pool(), node(), running, workload("Deployment", "web", replicas=1), buffer(replicas=3))


def test_pods_of_a_buffer_are_planned_after_real_ones_and_told_as_such(dovetail, shop):
    found = json.loads(dovetail("plan", "-f", shop, "-o", "json", *ON).out)
    by_node = {one["name"]: one["pods"] for one in found["nodes"]}
    spare = [f"default/capacity-buffer-spare-{number}" for number in (1, 2, 3)]
    assert by_node == {"node-1": ["default/web-0", *spare[:2]], "general-1": spare[2:]}
    assert found["buffers"] == [
        {
            "buffer": "default/spare",
            "pods": 3,
            "onExistingNodes": 2,
            "onNewNodes": 1,
            "pending": 0,
            "status": "RequiresNewCapacity",
            "reason": "1/3 virtual pods required new capacity, 0 failed",
        }
    ]
    ran = dovetail("plan", "-f", shop, *ON)
    for word in ("1 buffer of spare capacity", "default/spare", "RequiresNewCapacity"):
        assert word in ran.out


def test_buffers_are_left_alone_where_the_gate_is_off_and_that_is_said(dovetail, shop):
    ran = dovetail("plan", "-f", shop, "-o", "json")
    found = json.loads(ran.out)
    assert (ran.code, found["totals"]["pods"], found["buffers"]) == (0, 1, [])
    assert "the gate CapacityBuffer is off, so these are not planned: 1" in ran.err


@pytest.mark.parametrize(
    ("spec", "status", "told"),
    [
        ({"replicas": 1}, "FitsExistingCapacity", "0/1"),
        ({"replicas": 0}, "BufferEmpty", "it comes to no pods"),
        (
            {"replicas": 1, "scalableRef": {"kind": "Deployment", "name": "x"}},
            "NotReadyForProvisioning",
            "no Deployment",
        ),
    ],
)
def test_a_buffer_s_status_is_the_one_its_condition_would_have(dovetail, world, spec, status, told):
    file = world(pool(), node(), workload("Deployment", "web"), buffer(**spec))
    (one,) = json.loads(dovetail("plan", "-f", file, "-o", "json", *ON).out)["buffers"]
    assert (one["status"], told in one["reason"]) == (status, True)


def storing(size: str) -> dict:
    return pod("store", container({"cpu": "1", "ephemeral-storage": size}))


def test_a_pod_that_needs_a_larger_disk_gets_one_on_a_cloud_that_sells_it(dovetail, world):
    """S2.12: the size is in the plan, and `explain node` tells it."""
    file = world(pool(nodeClassRef=EC2), storing("200Gi"))
    (one,) = json.loads(dovetail("plan", "-f", file, "-o", "json").out)["nodes"]
    assert one["diskSize"] == "224Gi"
    told = dovetail("explain", "node", "general-1", "-f", file).out
    assert "224Gi, as the default is too small for the pods on it" in told
    assert "ephemeral-storage" in told


def test_a_node_class_that_says_how_large_its_disks_are_is_taken_at_its_word(dovetail, world):
    own = thing("EC2NodeClass", EC2["group"] + "/v1", {"name": "default"}, spec={"blockDeviceMappings": [{}]})
    ran = dovetail("plan", "-f", world(pool(nodeClassRef=EC2), own, storing("200Gi")), "-o", "json")
    (one,) = json.loads(ran.out)["pending"]
    assert (ran.code, one["pools"][0]["code"]) == (3, "resources")


def test_a_simulated_node_has_the_disk_it_says(dovetail, world):
    ran = dovetail("plan", "-f", world(pool(), storing("200Gi")))
    assert ran.code == 3


def test_pods_that_are_going_or_may_not_go_say_so(dovetail, world):
    budget = thing("PodDisruptionBudget", "policy/v1", {"name": "b"}, spec={"selector": {}, "maxUnavailable": 0})
    file = world(
        pool(),
        node(about=LEAVING),
        budget,
        pod("kept", nodeName="node-1"),
        pod("off", about=LEAVING, nodeName="node-1"),
    )
    ran = dovetail("plan", "-f", file)
    assert (ran.code, "1 pods of nodes that leave are not planned elsewhere" in ran.err) == (0, True)
    kept, off = (dovetail("explain", "pod", name, "-f", file) for name in ("kept", "off"))
    assert "stays on node-1 until that is gone: it may not be disrupted" in kept.out
    assert "is going from node-1" in off.out
    assert json.loads(dovetail("explain", "pod", "off", "-f", file, "-o", "json").out)["state"] == "going"
    assert "default/off" in dovetail("explain", "node", "node-1", "-f", file).out


def test_a_driver_a_node_does_not_list_yet_is_limited_as_its_type_is(dovetail, world):
    """newest §7: a CSINode's count wins, a driver without a count has no limit, one not listed has its type's."""
    driver, kind = "ebs.csi.aws.com", "m5.large"
    types = {"node.kubernetes.io/instance-type": kind, "karpenter.sh/nodepool": "general"}
    pools = pool(nodeClassRef=EC2)

    def limits(*drivers: dict) -> dict:
        csi = thing("CSINode", "storage.k8s.io/v1", {"name": "node-1"}, spec={"drivers": list(drivers)})
        ran = dovetail("explain", "node", "node-1", "-f", world(pools, node(labels=types), csi), "-o", "json")
        return json.loads(ran.out)["about"]

    of_type = json.loads(dovetail("catalog", "show", kind, "-o", "json").out)["volumeLimits"][driver]
    told = f"volumes of {driver}"
    assert limits({"name": "other"})[told] == f"at most {of_type}"
    assert limits({"name": driver, "allocatable": {"count": 3}})[told] == "at most 3"
    assert told not in limits({"name": driver})
