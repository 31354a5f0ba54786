"""`dovetail lint` over Cluster API's machines: prices, control planes, health checks (R16, R23, R28, R36, R40)."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

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
    ({"checks": {"unhealthyNodeConditions": [UNKNOWN | {"status": "True"}]}}, "unhealthyNodeConditions"),
    ({"checks": {"nodeStartupTimeoutSeconds": 0}}, "checks"),
]


@pytest.mark.parametrize(("spec", "where"), IDLE, ids=[where for _, where in IDLE])
def test_a_check_that_never_or_always_replaces(lint: Any, spec: dict[str, Any], where: str):
    ((code, path),) = lint(check(**spec))
    assert code == "DV018"
    assert path.endswith(where)


def test_an_older_check_is_read_too(lint: Any):
    old = {"clusterName": "c", "selector": {"matchLabels": LABELS}, "maxUnhealthy": "0%", "nodeStartupTimeout": "10m"}
    assert lint(thing("MachineHealthCheck", "v1beta1", old)) == [("DV018", "spec.maxUnhealthy")]


@pytest.mark.parametrize("kind", ["MachineSet", "MachineDeployment"])
def test_R40_spot_machines_nobody_looks_after(lint: Any, kind: str):
    assert lint(template(spotMarketOptions={}), owner(kind)) == [("DV019", "spec.template.metadata.labels")]
    elsewhere = check(selector={"matchLabels": {"pool": "others"}})
    assert lint(template(spotMarketOptions={}), owner(kind), elsewhere) == [("DV019", "spec.template.metadata.labels")]
    assert lint(template(), owner(kind)) == []


def test_an_object_that_cannot_be_read_is_told_of_and_stops_nothing(lint: Any):
    broken = thing("AWSMachine", "v1beta2", {"instanceType": "m5.large", "spotMarketOptions": [1]}, name="b")
    odd = thing("MachineSet", "v1beta2", {"template": [1]}, name="b")
    found = lint(broken, odd, check(selector=3), aws(spotMarketOptions={"maxPrice": "x"}))
    for path in ("spec.spotMarketOptions", "spec.template", "spec.selector"):
        assert ("DV011", path) in found
    assert ("DV016", "spec.spotMarketOptions.maxPrice") in found
