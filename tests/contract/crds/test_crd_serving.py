"""What a server does with our definitions besides judging objects: columns, names, scale."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contract.crds.cases import CLUSTER_API, TABLES
from tests.contract.crds.pool_rows import POOLS
from tests.contract.crds.putting import define
from tests.contract.crds.rows import Table, changed
from tests.contract.kubernetes.raw_api import TABLE, Api, Server, asked
from tests.contract.kubernetes.things import fresh

from dovetail.api.crds import every
from dovetail.api.kinds import MACHINE_DEPLOYMENTS, MACHINE_SETS, NODE_POOLS

#: (name, shown by default) of every column a user of the peer expects, in order.
COLUMNS = {
    "NodePool": "Name NodeClass Nodes Ready Age Weight- CPU- Memory-",
    "NodeClaim": "Name Type Capacity Zone Node Ready Age ImageID- ID- NodePool- NodeClass- Drifted-",
    "NodeOverlay": "Name Ready Age Weight-",
    "InstanceType": "Name Ready Age Type- CPU- Memory- Pods-",
    "CapacityBuffer": "Name Strategy PodTemplate Replicas ConditionsType ConditionsStatus ConditionsReason Age",
    # Without columns of its own a kind shows its age.
    "KWOKNodeClass": "Name Age",
    "EC2NodeClass": "Name Ready Age Role-",
    **dict.fromkeys(
        ("AWSMachine", "GCPMachine", "AzureMachine"),
        "Name Cluster State Ready ProviderID Machine Age Size- Interruptible- Failure-",
    ),
    **dict.fromkeys(("AWSMachineTemplate", "GCPMachineTemplate", "AzureMachineTemplate"), "Name Age"),
    **dict.fromkeys(("AWSCluster", "GCPCluster", "AzureCluster"), "Name Cluster Ready Age"),
    "Cluster": "Name Phase Available Age",
    "Machine": "Name Cluster Node Ready Available Phase Age Version ProviderID-",
    **dict.fromkeys(
        ("MachineSet", "MachineDeployment"), "Name Cluster Desired Current Ready Available Up-to-date Age Version"
    ),
    "MachineHealthCheck": "Name Cluster Expected Healthy Allowed Age",
}
SHORT = {
    "NodeOverlay": ["overlays"],
    "InstanceType": ["it"],
    "CapacityBuffer": ["cb"],
    "KWOKNodeClass": ["kwoknc", "kwokncs"],
    "EC2NodeClass": ["ec2nc", "ec2ncs"],
    "AWSMachine": ["awsm"],
    "AWSMachineTemplate": ["awsmt"],
    "AWSCluster": ["awsc"],
    "Cluster": ["cl"],
    "Machine": ["ma"],
    "MachineSet": ["ms"],
    "MachineDeployment": ["md"],
    "MachineHealthCheck": ["mhc", "mhcs"],
}
CATEGORIES = {"CapacityBuffer": "autoscaling", **dict.fromkeys((one.kind.name for one in CLUSTER_API), "cluster-api")}
SCALED = (NODE_POOLS, MACHINE_SETS, MACHINE_DEPLOYMENTS)
of_each_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.kind.name)


@pytest.fixture(scope="module")
def defined() -> set[str]:
    """Names of the servers that have our definitions already."""
    return set()


@pytest.fixture
def ready(server: Server, defined: set[str]) -> Server:
    if server.name not in defined:
        asked(server, define)
        defined.add(server.name)
    return server


@of_each_table
def test_a_kind_is_shown_in_the_columns_people_expect(ready: Server, table: Table) -> None:
    shown = asked(ready, lambda api: api.get(table.kind.path(), accept=TABLE)).ok()
    columns = [one["name"] + ("-" if one["priority"] else "") for one in shown["columnDefinitions"]]
    assert " ".join(columns) == COLUMNS[table.kind.name]


@of_each_table
def test_a_kind_is_found_under_its_names(ready: Server, table: Table) -> None:
    found = asked(ready, lambda api: api.get(table.kind.root)).ok()["resources"]
    mine = {one["name"]: one for one in found if one["name"].partition("/")[0] == table.kind.plural}
    kind = mine[table.kind.plural]
    assert (kind["kind"], kind["namespaced"]) == (table.kind.name, table.kind.namespaced)
    assert kind.get("shortNames", []) == SHORT.get(table.kind.name, [])
    assert kind["categories"] == [CATEGORIES.get(table.kind.name, "karpenter")]
    assert f"{table.kind.plural}/status" in mine
    assert (f"{table.kind.plural}/scale" in mine) == (table.kind in SCALED)


def test_a_static_pool_is_scaled_like_a_deployment(ready: Server) -> None:
    name = fresh("scaled")
    wire = changed(POOLS.base, {"metadata.name": name, "spec.replicas": 2})

    async def scenario(api: Api) -> tuple[Any, Any]:
        (await api.post(NODE_POOLS.path(), wire)).ok()
        try:
            (await api.patch(NODE_POOLS.path(name, subresource="status"), {"status": {"nodes": 1}})).ok()
            before = (await api.get(NODE_POOLS.path(name, subresource="scale"))).ok()
            (await api.patch(NODE_POOLS.path(name, subresource="scale"), {"spec": {"replicas": 5}})).ok()
            return before, (await api.get(NODE_POOLS.path(name))).ok()
        finally:
            await api.delete(NODE_POOLS.path(name))

    before, after = asked(ready, scenario)
    assert (before["spec"]["replicas"], before["status"]["replicas"]) == (2, 1)
    assert after["spec"]["replicas"] == 5


def test_no_definition_was_found_wanting(ready: Server) -> None:
    """A schema that is not structural is accepted with a condition that says so, and then prunes nothing."""

    async def scenario(api: Api) -> list[Any]:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        return [
            (await api.get(f"{path}/{one.name}")).ok()["status"]["conditions"]
            for one in (*every.DEFINITIONS, *every.CLUSTER_API)
        ]

    for conditions in asked(ready, scenario):
        held = {one["type"]: one["status"] for one in conditions}
        assert held["Established"] == held["NamesAccepted"] == "True"
        assert "NonStructuralSchema" not in held
