"""`dovetail lint` over Cluster API's machines: prices, control planes, health checks (R16, R23, R28, R36, R40)."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from dovetail.api.crds.cluster_api.gcp import NO_BIDS

LABELS = {"pool": "workers"}


def thing(kind: str, version: str, spec: Any, labels: dict[str, str] | None = None, name: str = "a") -> dict[str, Any]:
    group = "infrastructure.cluster.x-k8s.io" if kind.startswith(("AWS", "GCP", "Azure")) else "cluster.x-k8s.io"
    about = {"name": name, "namespace": "default", "labels": labels or {}}
    return {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": about, "spec": spec}


def aws(labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return thing("AWSMachine", "v1beta2", {"instanceType": "m5.large", **spec}, labels)


def template(**spec: Any) -> dict[str, Any]:
    return thing("AWSMachineTemplate", "v1beta2", {"template": {"spec": {"instanceType": "m5.large", **spec}}})


def owner(kind: str = "MachineSet") -> dict[str, Any]:
    ref = {"kind": "AWSMachineTemplate", "name": "a", "apiGroup": "infrastructure.cluster.x-k8s.io"}
    inner = {"clusterName": "c", "bootstrap": {"dataSecretName": "s"}, "infrastructureRef": ref}
    wanted = {"selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}, "spec": inner}}
    return thing(kind, "v1beta2", {"clusterName": "c", **wanted})


UNKNOWN = {"type": "Ready", "status": "Unknown", "timeoutSeconds": 300}


def check(**spec: Any) -> dict[str, Any]:
    wanted: dict[str, Any] = {"clusterName": "c", "selector": {"matchLabels": LABELS}}
    return thing("MachineHealthCheck", "v1beta2", wanted | {"checks": {"unhealthyNodeConditions": [UNKNOWN]}} | spec)


@pytest.fixture
def lint(dovetail: Any, tmp_path: Any) -> Any:
    def run(*objects: dict[str, Any]) -> list[tuple[str, str]]:
        (tmp_path / "w.yaml").write_text(yaml.safe_dump_all(objects))
        ran = dovetail("lint", "-f", "w.yaml", "-o", "json")
        found = json.loads(ran.out)
        assert all(one["fix"] and one["message"] for one in found), found
        return [(one["code"], one["path"]) for one in found]

    return run


def test_sound_machines_have_nothing_to_complain_about(lint: Any):
    assert (
        lint(template(spotMarketOptions={"maxPrice": "0.05"}), owner(), check(), aws(), owner("MachineDeployment"))
        == []
    )


@pytest.mark.parametrize("price", ["0", "cheap", "-1", "1e3"])
def test_R16_a_price_that_buys_nothing_on_aws(lint: Any, price: str):
    assert lint(aws(spotMarketOptions={"maxPrice": price})) == [("DV016", "spec.spotMarketOptions.maxPrice")]
    found = lint(template(spotMarketOptions={"maxPrice": price}))
    assert found == [("DV016", "spec.template.spec.spotMarketOptions.maxPrice")]


@pytest.mark.parametrize(("price", "told"), [("0", True), (-2, True), ("-1", False), ("0.04", False)])
def test_R28_a_price_that_buys_nothing_on_azure(lint: Any, price: Any, told: bool):
    spec = {"vmSize": "D4", "osDisk": {"osType": "Linux"}, "spotVMOptions": {"maxPrice": price}}
    found = lint(thing("AzureMachine", "v1beta1", spec))
    assert found == ([("DV016", "spec.spotVMOptions.maxPrice")] if told else [])


def test_R23_any_price_on_gcp(lint: Any):
    spec = {"instanceType": "n2-standard-4", "preemptible": True, "maxPrice": "0.05"}
    assert lint(thing("GCPMachine", "v1beta1", spec)) == [("DV016", "spec.maxPrice")]


@pytest.mark.parametrize("options", [{}, {"maxPrice": "0.05"}])
def test_R23_awss_way_to_bid_on_gcp(lint: Any, options: dict[str, Any]):
    spec = {"instanceType": "n2-standard-4", "provisioningModel": "Spot", "spotMarketOptions": options}
    assert lint(thing("GCPMachine", "v1beta1", spec)) == [("DV016", "spec.spotMarketOptions")]
    found = lint(thing("GCPMachineTemplate", "v1beta1", {"template": {"spec": spec}}))
    assert found == [("DV016", "spec.template.spec.spotMarketOptions")]


GCP_BIDS: tuple[tuple[str, Any], ...] = (
    ("maxPrice", ""),
    ("maxPrice", 0.05),
    ("spotMarketOptions", {}),
    ("marketType", "Spot"),
    ("spotVMOptions", {"maxPrice": "1"}),
)


def test_R23_lint_and_the_api_server_say_the_same_of_a_price_on_gcp(dovetail: Any, tmp_path: Any):
    for name, written in GCP_BIDS:
        spec = {"instanceType": "n2-standard-4", name: written}
        (tmp_path / "w.yaml").write_text(yaml.safe_dump(thing("GCPMachine", "v1beta1", spec)))
        found = json.loads(dovetail("lint", "-f", "w.yaml", "-o", "json").out)
        assert [f"{one['message']}; {one['fix']}" for one in found] == [NO_BIDS[name]]


CONTROL_PLANE = {"cluster.x-k8s.io/control-plane": ""}


@pytest.mark.parametrize("spot", [{"spotMarketOptions": {}}, {"marketType": "Spot"}])
def test_R36_a_control_plane_on_spot(lint: Any, spot: dict[str, Any]):
    assert lint(aws(CONTROL_PLANE, **spot)) == [("DV017", "spec")]
    assert lint(aws(CONTROL_PLANE)) == []


def test_R36_a_control_plane_whose_machine_or_template_is_on_spot(lint: Any):
    ref = {"kind": "AWSMachine", "name": "a"}
    machine = thing("Machine", "v1beta2", {"clusterName": "c", "infrastructureRef": ref}, CONTROL_PLANE)
    assert lint(aws(spotMarketOptions={}), machine) == [("DV017", "spec.infrastructureRef")]
    plane = {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1",
        "kind": "KubeadmControlPlane",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"machineTemplate": {"infrastructureRef": {"kind": "AWSMachineTemplate", "name": "a"}}},
    }
    assert lint(template(spotMarketOptions={}), plane) == [("DV017", "spec.machineTemplate.infrastructureRef")]


IDLE = [
    ({"remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": 0}}}, "unhealthyLessThanOrEqualTo"),
    ({"remediation": {"triggerIf": {"unhealthyInRange": "[5-3]"}}}, "unhealthyInRange"),
    ({"remediation": {"triggerIf": {"unhealthyInRange": "[0-0]"}}}, "unhealthyInRange"),
    ({"remediation": {"templateRef": {"apiGroup": "g", "kind": "Reboot", "name": "r"}}}, "templateRef.kind"),
    ({"checks": {"nodeStartupTimeoutSeconds": 0}}, "checks"),
    ({"checks": {"unhealthyNodeConditions": [UNKNOWN | {"status": "True"}]}}, "unhealthyNodeConditions[0].status"),
    (
        {"checks": {"unhealthyNodeConditions": [UNKNOWN, UNKNOWN | {"type": "DiskPressure", "status": "False"}]}},
        "unhealthyNodeConditions[1].status",
    ),
    (
        {"checks": {"unhealthyMachineConditions": [UNKNOWN | {"type": "InfrastructureReady", "status": "True"}]}},
        "unhealthyMachineConditions[0].status",
    ),
    (
        {"checks": {"unhealthyNodeConditions": [UNKNOWN | {"timeoutSeconds": 0}]}},
        "unhealthyNodeConditions[0].timeoutSeconds",
    ),
]


@pytest.mark.parametrize(("spec", "where"), IDLE, ids=[where for _, where in IDLE])
def test_a_check_that_never_or_always_replaces(lint: Any, spec: dict[str, Any], where: str):
    ((code, path),) = lint(check(**spec))
    assert code == "DV018"
    assert path.endswith(where)


COUNTED = [
    ({"remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": "30%"}}}, 3, "unhealthyLessThanOrEqualTo"),
    ({"remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": "34%"}}}, 3, ""),
    ({"remediation": {"triggerIf": {"unhealthyInRange": "[4-9]"}}}, 3, "unhealthyInRange"),
    ({"remediation": {"triggerIf": {"unhealthyInRange": "[2-9]"}}}, 3, ""),
    ({"selector": {"matchLabels": {"pool": "others"}}}, 3, "selector"),
    ({"selector": {"matchLabels": {"cluster.x-k8s.io/set-name": "a"}}}, 3, ""),
    ({"selector": {"matchLabels": {"cluster.x-k8s.io/cluster-name": "c"}}}, 3, ""),
]


@pytest.mark.parametrize(("spec", "replicas", "where"), COUNTED)
def test_a_check_that_can_never_fire_for_as_many_machines_as_there_are(
    lint: Any, spec: dict[str, Any], replicas: int, where: str
):
    machines = owner()
    machines["spec"]["replicas"] = replicas
    found = lint(template(), machines, check(**spec))
    assert [path.rpartition(".")[2] for _, path in found] == ([where] if where else [])
    assert {code for code, _ in found} <= {"DV018"}


def test_how_many_a_check_selects_is_not_judged_where_its_cluster_is_not_in_the_files(lint: Any):
    assert lint(check(clusterName="elsewhere"), template(), owner()) == []


def test_a_check_of_control_planes_selects_them_by_the_label_they_are_given(lint: Any):
    plane = {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
        "kind": "KubeadmControlPlane",
        "metadata": {"name": "a", "namespace": "default", "labels": {"cluster.x-k8s.io/cluster-name": "c"}},
        "spec": {"machineTemplate": {"spec": {"infrastructureRef": {"kind": "AWSMachineTemplate", "name": "a"}}}},
    }
    assert lint(template(), plane, check(selector={"matchLabels": CONTROL_PLANE})) == []
    assert lint(template(), plane, check(selector={"matchLabels": {"pool": "x"}})) == [("DV018", "spec.selector")]


def test_R14_a_check_that_waits_for_ever_for_spot_machines(lint: Any):
    patient = {"checks": {"unhealthyNodeConditions": [UNKNOWN], "nodeStartupTimeoutSeconds": 0}}
    found = lint(template(spotMarketOptions={}), owner(), check(**patient))
    assert found == [("DV018", "spec.checks.nodeStartupTimeoutSeconds")]
    assert lint(template(), owner(), check(**patient)) == []


def test_R40_a_check_of_another_cluster_or_namespace_looks_after_nobody(lint: Any):
    unchecked = ("DV019", "spec.template.metadata.labels")
    assert unchecked in lint(template(spotMarketOptions={}), owner(), check(clusterName="d"))
    away = check()
    away["metadata"]["namespace"] = "away"
    assert unchecked in lint(template(spotMarketOptions={}), owner(), away)


def cluster(region: str) -> list[dict[str, Any]]:
    ref = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSCluster", "name": "c"}
    return [
        thing("Cluster", "v1beta2", {"infrastructureRef": ref}, name="c"),
        thing("AWSCluster", "v1beta2", {"region": region}, name="c"),
    ]


@pytest.mark.parametrize(
    ("price", "region", "told"),
    [
        ("0.097", "us-east-1", True),
        ("0.096", "us-east-1", False),
        ("0.097", "eu-west-1", False),
        ("9", "eu-west-1", True),
    ],
)
def test_R16_a_price_above_on_demand_where_the_machines_stand(lint: Any, price: str, region: str, told: bool):
    found = lint(template(spotMarketOptions={"maxPrice": price}), owner(), check(), *cluster(region))
    assert found == ([("DV016", "spec.template.spec.spotMarketOptions.maxPrice")] if told else [])


def test_R28_a_price_above_on_demand_on_azure(lint: Any):
    spec = {"vmSize": "Standard_D4s_v5", "osDisk": {"osType": "Linux"}, "spotVMOptions": {"maxPrice": "9"}}
    assert lint(thing("AzureMachine", "v1beta1", spec)) == [("DV016", "spec.spotVMOptions.maxPrice")]


def test_a_price_of_a_type_nobody_knows_is_not_judged(lint: Any):
    assert lint(aws(instanceType="m99.huge", spotMarketOptions={"maxPrice": "9"})) == []


def test_a_catalogue_of_another_cloud_does_not_stop_the_rules(dovetail: Any, tmp_path: Any):
    (tmp_path / "w.yaml").write_text(yaml.safe_dump(aws(spotMarketOptions={"maxPrice": "9"})))
    (tmp_path / "types.json").write_text("[]")
    ran = dovetail("lint", "-f", "w.yaml", "--catalog", "types.json", "-o", "json")
    assert [one["code"] for one in json.loads(ran.out)] == ["DV016"]


def test_R36_a_set_of_control_planes_on_spot(lint: Any):
    machines = owner()
    machines["spec"]["template"]["metadata"] = {"labels": LABELS | CONTROL_PLANE}
    found = lint(template(marketType="Spot"), machines, check())
    assert found == [("DV017", "spec.template.spec.infrastructureRef")]


def test_an_older_check_is_read_too(lint: Any):
    old = {"clusterName": "c", "selector": {"matchLabels": LABELS}, "maxUnhealthy": "0%", "nodeStartupTimeout": "10m"}
    assert lint(thing("MachineHealthCheck", "v1beta1", old)) == [("DV018", "spec.maxUnhealthy")]


@pytest.mark.parametrize("kind", ["MachineSet", "MachineDeployment"])
def test_R40_spot_machines_nobody_looks_after(lint: Any, kind: str):
    assert lint(template(spotMarketOptions={}), owner(kind)) == [("DV019", "spec.template.metadata.labels")]
    elsewhere = check(selector={"matchLabels": {"pool": "others"}})
    found = lint(template(spotMarketOptions={}), owner(kind), elsewhere)
    assert found == [("DV018", "spec.selector"), ("DV019", "spec.template.metadata.labels")]
    assert lint(template(), owner(kind)) == []


def test_an_object_that_cannot_be_read_is_told_of_and_stops_nothing(lint: Any):
    broken = thing("AWSMachine", "v1beta2", {"instanceType": "m5.large", "spotMarketOptions": [1]}, name="b")
    odd = thing("MachineSet", "v1beta2", {"template": [1]}, name="b")
    found = lint(broken, odd, check(selector=3), aws(spotMarketOptions={"maxPrice": "x"}))
    for path in ("spec.spotMarketOptions", "spec.template", "spec.selector"):
        assert ("DV011", path) in found
    assert ("DV016", "spec.spotMarketOptions.maxPrice") in found
