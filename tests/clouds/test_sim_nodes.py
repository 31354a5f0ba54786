"""What a simulated machine's Node looks like, and with which node classes there is one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contract.cloud.sim_worlds import CLASS, NAME, READY, SimWorld
from tests.contract.cloud.virtual_time import run
from tests.contract.cloud.worlds import order

from dovetail.clouds.kwok.types_file import parse_types_file
from dovetail.clouds.port import CloudError, Misconfigured, NoCapacity
from dovetail.clouds.sim.market import SimMarket
from dovetail.core import labels

# ---- what a Node looks like


def test_a_node_looks_as_the_kwok_provider_makes_it() -> None:
    """§6."""

    async def scenario() -> None:
        world = SimWorld()
        wanted = order(world, wanted={labels.INSTANCE_TYPE: "m-4x-amd64-linux", labels.CAPACITY_TYPE: "on-demand"})
        await world.cloud.launch(wanted)
        (node,) = world.api.bodies.values()
        assert node["metadata"]["name"] == NAME
        assert node["metadata"]["labels"] == {
            # A kubelet's, which the controller manager gives to whoever comes without.
            "beta.kubernetes.io/arch": "amd64",
            "beta.kubernetes.io/os": "linux",
            "karpenter.kwok.sh/instance-cpu": "4",
            "karpenter.kwok.sh/instance-family": "m",
            "karpenter.kwok.sh/instance-memory": "32Gi",
            "karpenter.kwok.sh/instance-size": "4",
            "karpenter.kwok.sh/kwoknodeclass": "default",
            "karpenter.sh/capacity-type": "on-demand",
            "karpenter.sh/nodepool": "general",
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": NAME,
            "kubernetes.io/os": "linux",
            "kwok-partition": "a",
            "kwok.x-k8s.io/node": "fake",
            "node.kubernetes.io/instance-type": "m-4x-amd64-linux",
            "topology.kubernetes.io/zone": "test-zone-a",
            "eks-node-viewer/instance-price": "0.134360",
        }
        assert node["metadata"]["annotations"]["kwok.x-k8s.io/node"] == "fake"
        assert node["spec"] == {
            "providerID": f"kwok://{NAME}",
            "taints": [{"key": "karpenter.sh/unregistered", "effect": "NoExecute"}],
        }
        assert node["status"] == {
            "phase": "Pending",
            "capacity": {"cpu": "4", "ephemeral-storage": "20Gi", "memory": "32Gi", "pods": "64"},
            "allocatable": {"cpu": "3900m", "ephemeral-storage": "20Gi", "memory": "32758Mi", "pods": "64"},
        }

    run(scenario)


def test_a_type_of_several_systems_becomes_a_node_of_the_one_that_is_wanted() -> None:
    text = """[{"name": "a.large", "architecture": "amd64", "operatingSystems": ["linux", "windows"],
      "resources": {"cpu": "1", "memory": "1Gi"}, "offerings": [{"Price": 0.1, "Requirements": [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["z"]}]}]}]"""

    async def scenario() -> None:
        world = SimWorld(SimMarket(parse_types_file(text, "types.json")))
        instance = await world.cloud.launch(order(world, wanted={labels.OS: "windows"}))
        assert instance.labels[labels.OS] == "windows"
        assert instance.labels["karpenter.kwok.sh/instance-size"] == "large"

    run(scenario)


def test_what_a_types_file_calls_unavailable_is_not_for_sale() -> None:
    rows = ",".join(
        f"""{{"Price": {price}, "Available": {available}, "Requirements": [
        {{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}},
        {{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["{zone}"]}}]}}"""
        for price, available, zone in ((0.1, "false", "y"), (0.2, "true", "z"))
    )
    text = f"""[{{"name": "a", "architecture": "amd64", "operatingSystems": ["linux"],
      "resources": {{"cpu": "1", "memory": "1Gi"}}, "offerings": [{rows}]}}]"""

    async def scenario() -> None:
        world = SimWorld(SimMarket(parse_types_file(text, "types.json")))
        assert (await world.cloud.launch(order(world))).labels[labels.ZONE] == "z"
        with pytest.raises(NoCapacity):
            await world.cloud.launch(order(world, "other", {labels.ZONE: "y"}))

    run(scenario)


# ---- node classes


@pytest.mark.parametrize(
    ("wire", "error"),
    [
        (None, NoCapacity),
        ({"metadata": {"name": "default", "deletionTimestamp": "2026-01-01T00:00:00Z"}}, NoCapacity),
        ({**READY, "spec": {"nodeRegistrationDelay": "soon"}}, Misconfigured),
        ({**READY, "spec": {"nodeRegistrationDelay": 5}}, Misconfigured),
        ({**READY, "spec": "nothing"}, Misconfigured),
        ({"metadata": {}, "status": {"conditions": [{"type": "Ready", "status": "False"}]}}, Misconfigured),
    ],
)
def test_a_class_that_cannot_be_launched_with_says_why(wire: Any, error: type[CloudError]) -> None:
    async def scenario() -> None:
        world = SimWorld()
        world.cloud.set_node_class(CLASS, wire)
        with pytest.raises(error, match="KWOKNodeClass default"):
            await world.cloud.launch(order(world))
        assert not world.api.held

    run(scenario)


def test_a_class_without_status_is_ready() -> None:
    async def scenario() -> None:
        world = SimWorld()
        world.cloud.set_node_class(CLASS, {"metadata": {"name": "default"}})
        await world.cloud.launch(order(world))

    run(scenario)
