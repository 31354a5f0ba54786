"""What `dovetail install --machines` consists of, and what it may do (R1, R5, R36)."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import yaml

from dovetail.api.install import machine_rights, machines, objects
from dovetail.api.install.machines import MachinesInstallation
from dovetail.cli import program
from dovetail.settings import machines as settings

Right = tuple[str, str]


def wanted(cloud: str = "aws", core: str = "own") -> MachinesInstallation:
    return MachinesInstallation(image="dovetail:1", cloud=cloud, core=core)


def granted(cloud: str, core: str) -> set[Right]:
    return {
        (resource, verb)
        for one in machines.rights(wanted(cloud, core))
        for rule in one.get("rules", ())
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def printed(*words: str) -> list[dict[str, Any]]:
    out = io.StringIO()
    assert program.run(["install", "--dry-run", *words], program.Streams(io.StringIO(), out, io.StringIO())) == 0
    return list(yaml.safe_load_all(out.getvalue()))


def names(found: list[dict[str, Any]], kind: str) -> set[str]:
    return {one["metadata"]["name"] for one in found if one["kind"] == kind}


@pytest.mark.parametrize("cloud", machine_rights.CLOUDS)
@pytest.mark.parametrize("core", machine_rights.CORES)
def test_nothing_is_granted_wholesale_and_secrets_are_never_listed(cloud: str, core: str):
    found = granted(cloud, core)
    assert not {one for one in found if "*" in one}
    assert {verb for resource, verb in found if resource == "secrets"} == {"get"}


def test_beside_cluster_api_it_writes_infrastructure_and_nothing_else():
    writes = {one for one in granted("aws", "upstream") if one[1] not in ("get", "list", "watch")}
    assert writes == {
        ("awsmachines", "patch"),
        ("awsmachines/status", "patch"),
        ("awsclusters/status", "patch"),
        ("events", "create"),
        ("events", "patch"),
        ("leases", "create"),
        ("leases", "update"),
    }


def test_R24_only_where_a_machines_end_is_known_may_machines_be_deleted_beside_cluster_api():
    assert ("machines", "delete") in granted("gcp", "upstream")
    assert ("machines", "delete") not in granted("aws", "upstream")
    assert ("machines", "delete") not in granted("azure", "upstream")


def test_one_clouds_rights_are_not_anothers():
    assert not {one for one in granted("gcp", "own") if "aws" in one[0] or "azure" in one[0]}


def test_only_a_simulated_machine_joins_by_our_hand():
    assert ("nodes", "create") in granted("sim", "upstream")
    assert ("nodes", "create") not in granted("aws", "own")


def test_the_lease_it_may_change_is_the_one_it_wants():
    (rule,) = (
        rule
        for one in machines.rights(wanted("gcp"))
        if one["kind"] == "Role"
        for rule in one["rules"]
        if "resourceNames" in rule
    )
    assert rule["resourceNames"] == [settings.lease_of("gcp")]


def test_it_runs_as_its_account_off_nodes_that_may_be_taken_away_and_can_write_nothing():
    pod = machines.deployment(wanted())["spec"]["template"]["spec"]
    (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "cluster.x-k8s.io/interruptible", "operator": "DoesNotExist"}]
    (container,) = pod["containers"]
    assert container["args"] == ["machines", "--cloud", "aws", "--core", "own"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod["serviceAccountName"] == machines.service_account(wanted())["metadata"]["name"]


def test_R36_the_policy_and_the_definitions_go_along_and_the_cores_only_without_cluster_api():
    own, upstream = printed("--machines", "aws"), printed("--machines", "aws", "--core", "upstream")
    assert "machines.cluster.x-k8s.io" in names(own, "CustomResourceDefinition")
    assert names(upstream, "CustomResourceDefinition") == {
        f"{one}.infrastructure.cluster.x-k8s.io" for one in ("awsmachines", "awsmachinetemplates", "awsclusters")
    }
    for found in (own, upstream):
        assert names(found, "ValidatingAdmissionPolicy") == names(found, "ValidatingAdmissionPolicyBinding") != set()


def test_two_clouds_stand_side_by_side():
    found = [*printed("--machines", "aws", "--skip-crds"), *printed("--machines", "gcp", "--skip-crds")]
    keys = [(objects.kind_of(one), *objects.name_of(one)) for one in found]
    assert len(keys) == len(set(keys))


def test_R37_the_reference_says_what_a_control_plane_on_spot_risks():
    page = (Path(__file__).parents[2] / "docs/reference/cluster-api.md").read_text(encoding="utf-8")
    (told,) = (part for part in page.split("\n\n") if part.startswith("Keep control planes on demand"))
    assert "etcd" in told
    assert "the cluster is lost" in told
