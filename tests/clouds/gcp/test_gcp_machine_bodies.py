"""A GCPMachine as an order: every field is in it, or is refused by its name (R2, R7, R8, R11, R22, R23)."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from tests.clouds.gcp.gcp_orders import BOOT, IMAGE, ZONE, order

from dovetail.api.crds.cluster_api.gcp import NO_BIDS, GcpMachineSpec
from dovetail.clouds.gcp.machines import bodies, ownership
from dovetail.clouds.gcp.machines.homes import Home, home
from dovetail.clouds.machines import UserData
from dovetail.core.errors import BadInput

HOME = Home("p")
HERE = f"projects/p/zones/{ZONE}"


def body(**spec: Any) -> dict[str, Any]:
    return bodies.instance(order(**spec), BOOT, HOME)


def refused(**spec: Any) -> str:
    with pytest.raises(BadInput) as told:
        body(**spec)
    return str(told.value)


def test_every_field_of_the_definition_is_known_here():
    fields = {one.encode_name for one in msgspec.structs.fields(GcpMachineSpec)}
    assert fields - NO_BIDS.keys() == bodies.KNOWN


# ------------------------------------------------------------------------------------------------ the market


def test_R8_a_machine_that_asks_for_nothing_special_is_left_to_compute_engines_defaults():
    assert body()["scheduling"] == {}
    assert body(provisioningModel="Standard")["scheduling"] == {}
    assert body(onHostMaintenance="Migrate")["scheduling"] == {"onHostMaintenance": "MIGRATE"}


def test_R22_a_preemptible_machine_is_neither_restarted_nor_moved():
    assert body(preemptible=True)["scheduling"] == {
        "preemptible": True,
        "automaticRestart": False,
        "onHostMaintenance": "TERMINATE",
    }


def test_R11_R22_a_spot_machine_is_neither_restarted_nor_moved_and_its_end_can_be_chosen():
    asked = {"provisioningModel": "SPOT", "automaticRestart": False, "onHostMaintenance": "TERMINATE"}
    stopped = asked | {"instanceTerminationAction": "STOP"}
    assert body(provisioningModel="Spot")["scheduling"] == stopped
    assert body(provisioningModel="Spot", preemptible=True)["scheduling"] == stopped
    deleted = body(provisioningModel="Spot", instanceTerminationAction="DELETE")["scheduling"]
    assert deleted == asked | {"instanceTerminationAction": "DELETE"}


def test_the_longest_run_is_said_in_seconds_with_what_becomes_of_the_machine_then():
    limited = body(provisioningModel="Spot", maxRunDuration="6h")["scheduling"]
    assert (limited["maxRunDuration"], limited["instanceTerminationAction"]) == ({"seconds": "21600"}, "STOP")
    assert body(maxRunDuration="1h30m")["scheduling"] == {
        "maxRunDuration": {"seconds": "5400"},
        "instanceTerminationAction": "STOP",
    }


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"preemptible": True, "onHostMaintenance": "Migrate"}, "onHostMaintenance"),
        ({"onHostMaintenance": "Reboot"}, "onHostMaintenance"),
        ({"preemptible": True, "instanceTerminationAction": "DELETE"}, "instanceTerminationAction"),
        ({"preemptible": True, "maxRunDuration": "1h"}, "maxRunDuration"),
        ({"instanceTerminationAction": "DELETE"}, "instanceTerminationAction"),
        ({"provisioningModel": "Spot", "instanceTerminationAction": "HIBERNATE"}, "instanceTerminationAction"),
        ({"maxRunDuration": "5s"}, "maxRunDuration"),
        ({"maxPrice": "0.05"}, "maxPrice"),
        ({"image": None}, "image"),
        ({"rootDeviceType": "local-ssd"}, "rootDeviceType"),
        ({"rootDeviceSize": "big"}, "rootDeviceSize"),
        ({"additionalDisks": [{"deviceType": "local-ssd", "size": 100}]}, "size"),
        ({"additionalDisks": [{"deviceType": "local-ssd", "encryptionKey": {"keyType": "Managed"}}]}, "encryptionKey"),
        ({"additionalDisks": [{"iops": 3000}]}, "iops"),
        ({"rootDiskEncryptionKey": {"keyType": "Managed"}}, "kmsKeyName"),
        ({"rootDiskEncryptionKey": {"keyType": "Other"}}, "keyType"),
        ({"rootDiskEncryptionKey": {"keyType": "Supplied", "suppliedKey": {}}}, "rawKey"),
        ({"resourceManagerTags": [{"parentID": "1", "key": "a", "value": "b"}]}, "resourceManagerTags"),
        ({"additionalLabels": {ownership.TOKEN: "mine"}}, ownership.TOKEN),
        ({"additionalMetadata": [{"key": "user-data", "value": "mine"}]}, "user-data"),
        ({"additionalMetadata": [{"key": "a"}, {"key": "a"}]}, "additionalMetadata"),
        ({"additionalNetworkTags": "a"}, "additionalNetworkTags"),
        ({"serviceAccounts": {"scopes": "a"}}, "scopes"),
        ({"ipForwarding": "Perhaps"}, "ipForwarding"),
        ({"shieldedInstanceConfig": {"secureBoot": "yes"}}, "secureBoot"),
        ({"shieldedInstanceConfig": {"other": "Enabled"}}, "other"),
        ({"confidentialCompute": "Very"}, "confidentialCompute"),
        ({"guestAccelerators": [{"count": 1}]}, "type"),
        ({"aliasIPRanges": [{"subnetworkRangeName": "pods"}]}, "ipCidrRange"),
        ({"nodePool": "x"}, "nodePool"),
    ],
)
def test_what_cannot_be_honoured_is_refused_with_its_name(spec: dict[str, Any], named: str):
    assert named in refused(**spec)


# ------------------------------------------------------------------------------------------------ what it is


def test_the_least_machine():
    made = body()
    assert made["name"] == "m"
    assert made["machineType"] == f"zones/{ZONE}/machineTypes/n2-standard-4"
    assert made["networkInterfaces"] == [{"network": "projects/p/global/networks/default"}]
    assert made["canIpForward"] is True
    (account,) = made["serviceAccounts"]
    assert account == {"email": "default", "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}
    (disk,) = made["disks"]
    assert disk["boot"]
    assert disk["autoDelete"]
    assert disk["initializeParams"]["sourceImage"] == IMAGE


def test_an_image_goes_before_its_family_and_a_bare_name_is_of_the_project():
    def image(**spec: Any) -> str:
        found: str = body(**spec)["disks"][0]["initializeParams"]["sourceImage"]
        return found

    assert image(imageFamily="nodes") == IMAGE
    assert image(image="node-1") == "projects/p/global/images/node-1"
    assert image(image=None, imageFamily="nodes") == "projects/p/global/images/family/nodes"
    assert image(image=None, imageFamily="projects/x/global/images/family/y") == "projects/x/global/images/family/y"


def test_disks_go_with_the_machine_and_are_found_by_its_labels():
    disks = body(
        rootDeviceSize=50,
        rootDeviceType="pd-ssd",
        additionalDisks=[{}, {"deviceType": "pd-balanced", "size": 100}, {"deviceType": "local-ssd"}],
    )["disks"]
    root, standard, balanced, local = disks
    assert all(one["autoDelete"] for one in disks)
    assert root["initializeParams"]["diskSizeGb"] == "50"
    assert root["initializeParams"]["diskType"] == f"zones/{ZONE}/diskTypes/pd-ssd"
    assert standard["initializeParams"]["diskSizeGb"] == "30"
    assert balanced["initializeParams"]["diskType"] == f"zones/{ZONE}/diskTypes/pd-balanced"
    assert (local["type"], local["interface"]) == ("SCRATCH", "NVME")
    assert all(ownership.TOKEN in one["initializeParams"]["labels"] for one in (root, standard, balanced))


def test_disks_may_be_encrypted_with_a_key_of_ones_own():
    managed = {"keyType": "Managed", "managedKey": {"kmsKeyName": "k"}, "kmsKeyServiceAccount": "a"}
    root = body(rootDiskEncryptionKey=managed)["disks"][0]
    assert root["diskEncryptionKey"] == {"kmsKeyName": "k", "kmsKeyServiceAccount": "a"}
    raw = base64.b64encode(b"S0VZ").decode()
    supplied = {"keyType": "Supplied", "suppliedKey": {"rawKey": raw}}
    (_, disk) = body(additionalDisks=[{"encryptionKey": supplied}])["disks"]
    assert disk["diskEncryptionKey"] == {"rawKey": "S0VZ"}


@pytest.mark.parametrize("key", ["s3cret!", "s3cret\x80"])
def test_a_key_that_cannot_be_read_is_not_repeated(key: str):
    told = refused(rootDiskEncryptionKey={"keyType": "Supplied", "suppliedKey": {"rawKey": key}})
    assert "rawKey" in told
    assert "s3cret" not in told


def test_the_subnet_is_of_the_zones_region_or_wherever_it_says():
    def interface(**spec: Any) -> dict[str, Any]:
        (found,) = body(**spec)["networkInterfaces"]
        return dict(found)

    assert interface(subnet="nodes") == {"subnetwork": "projects/p/regions/europe-west1/subnetworks/nodes"}
    shared = "projects/host/regions/europe-west1/subnetworks/nodes"
    assert interface(subnet=shared) == {"subnetwork": shared}
    assert interface(publicIP=True)["accessConfigs"] == [{"type": "ONE_TO_ONE_NAT", "name": "External NAT"}]
    assert "accessConfigs" not in interface(publicIP=False)
    ranges = [{"ipCidrRange": "/24", "subnetworkRangeName": "pods"}]
    assert interface(aliasIPRanges=ranges)["aliasIpRanges"] == ranges


def test_labels_tags_and_metadata_of_ones_own_stand_beside_ours():
    made = body(
        additionalLabels={"team": "a"},
        additionalNetworkTags=["web", "c"],
        additionalMetadata=[{"key": "serial-port-enable", "value": "1"}, {"key": "flag"}],
    )
    assert made["labels"] == {
        "team": "a",
        "capg-cluster-c": "owned",
        "capg-role": "node",
        "dovetail-machine": order().token[:63],
        "dovetail-namespace": "default",
    }
    assert made["tags"] == {"items": ["web", "c", "c-node"]}
    assert made["metadata"]["items"] == [
        {"key": "user-data", "value": "#cloud-config\n"},
        {"key": "serial-port-enable", "value": "1"},
        {"key": "flag", "value": ""},
    ]


def test_a_control_plane_says_so():
    made = bodies.instance(replace(order(), control_plane=True), BOOT, HOME)
    assert made["labels"]["capg-role"] == "control-plane"
    assert "c-control-plane" in made["tags"]["items"]


def test_guards_and_accelerators_are_asked_for_and_tie_the_machine_to_its_host():
    shielded = {"secureBoot": "Enabled", "integrityMonitoring": "Disabled"}
    made = body(shieldedInstanceConfig=shielded, confidentialCompute="AMDEncrytedVirtualizationNestedPaging")
    assert made["shieldedInstanceConfig"] == {"enableSecureBoot": True, "enableIntegrityMonitoring": False}
    assert made["confidentialInstanceConfig"]["confidentialInstanceType"] == "SEV_SNP"
    assert made["scheduling"] == {"onHostMaintenance": "TERMINATE"}
    plain = body(confidentialCompute="Enabled", shieldedInstanceConfig={})
    assert plain["confidentialInstanceConfig"] == {"enableConfidentialCompute": True}
    assert "shieldedInstanceConfig" not in plain
    assert "confidentialInstanceConfig" not in body(confidentialCompute="Disabled")
    made = body(guestAccelerators=[{"type": "nvidia-tesla-t4", "count": 2}])
    assert made["guestAccelerators"] == [
        {"acceleratorType": f"{HERE}/acceleratorTypes/nvidia-tesla-t4", "acceleratorCount": 2}
    ]
    assert made["scheduling"] == {"onHostMaintenance": "TERMINATE"}


def test_an_account_and_forwarding_can_be_chosen():
    made = body(serviceAccounts={"email": "a@b", "scopes": ["x"]}, ipForwarding="Disabled")
    assert made["serviceAccounts"] == [{"email": "a@b", "scopes": ["x"]}]
    assert made["canIpForward"] is False


# ------------------------------------------------------------------------------------------------ bad orders


@pytest.mark.parametrize("name", ["a.b", "1st", "Worker", "m" * 64, "m-"])
def test_a_name_no_instance_can_have_is_refused_before_any_call(name: str):
    with pytest.raises(BadInput, match=r"metadata\.name"):
        bodies.instance(order(name), BOOT, HOME)


def test_a_cluster_whose_name_cannot_be_a_label_is_refused():
    with pytest.raises(BadInput, match=r"Cluster a\.b"):
        bodies.instance(order(cluster="a.b"), BOOT, HOME)


def test_bootstrap_data_must_be_text_that_fits_and_are_never_shown():
    for data in (b"\xff\xfesecret", b"secret" * 50_000):
        with pytest.raises(BadInput, match="bootstrap data") as told:
            bodies.instance(order(), UserData(data), HOME)
        assert "secret" not in str(told.value)


# ------------------------------------------------------------------------------------------------ the cluster's part


def test_the_network_and_labels_of_its_cluster_are_a_machines_own():
    cluster = {
        "project": "p",
        "region": "europe-west1",
        "network": {"name": "blue", "hostProject": "host"},
        "additionalLabels": {"team": "a", "env": "prod"},
        "failureDomains": ["europe-west1-c", "europe-west1-b"],
        "loadBalancer": {"loadBalancerType": "External"},
    }
    found = home("p", cluster)
    assert found.zones == ("europe-west1-b", "europe-west1-c")
    made = bodies.instance(order(additionalLabels={"team": "b"}), BOOT, found)
    assert made["networkInterfaces"] == [{"network": "projects/host/global/networks/blue"}]
    assert (made["labels"]["team"], made["labels"]["env"]) == ("b", "prod")
    made = bodies.instance(order(subnet="nodes"), BOOT, found)
    assert made["networkInterfaces"] == [{"subnetwork": "projects/host/regions/europe-west1/subnetworks/nodes"}]
    assert home("p", None) == Home("p")


@pytest.mark.parametrize(
    ("cluster", "named"),
    [
        ({"project": "q"}, "project"),
        ({"credentialsRef": {"name": "secret"}}, "credentialsRef"),
        ({"resourceManagerTags": [{"key": "a"}]}, "resourceManagerTags"),
        ({"failureDomains": "europe-west1-b"}, "failureDomains"),
        ({"network": "blue"}, "network"),
    ],
)
def test_what_a_cluster_asks_for_and_cannot_have_is_refused_with_its_name(cluster: dict[str, Any], named: str):
    with pytest.raises(BadInput, match=named):
        home("p", cluster)


def test_the_template_of_the_how_to_can_be_bought():
    page = (Path(__file__).parents[3] / "docs/howto/spot-workers-gcp.md").read_text(encoding="utf-8")
    (template,) = [
        one
        for block in page.split("```yaml\n")[1:]
        for one in yaml.safe_load_all(block.partition("```")[0])
        if one["kind"] == "GCPMachineTemplate"
    ]
    made = bodies.instance(order(**(template["spec"]["template"]["spec"] | {"image": None})), BOOT, HOME)
    assert made["scheduling"]["provisioningModel"] == "SPOT"
