"""`dovetail install`: what it prints, and what it refuses, without a cluster."""

from __future__ import annotations

import json

import pytest
import yaml

from dovetail.api.install import permissions
from dovetail.cli import install
from dovetail.cli.exits import Exit


def printed(ran) -> list[dict]:
    assert (ran.code, ran.err) == (Exit.OK, "")
    return list(yaml.safe_load_all(ran.out))


def kinds(objects: list[dict]) -> list[str]:
    return [one["kind"] for one in objects]


def test_a_dry_run_needs_no_cluster_and_prints_everything(dovetail, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    found = kinds(printed(dovetail("install", "--dry-run")))
    assert found.count("CustomResourceDefinition") == 6
    assert {"ServiceAccount", "ClusterRole", "Role", "Service", "Deployment", "PodDisruptionBudget"} <= set(found)


def test_nothing_printed_is_of_a_kind_the_cluster_does_not_know_yet(dovetail):
    groups = {one["apiVersion"].rpartition("/")[0] for one in printed(dovetail("install", "--dry-run"))}
    assert not any("karpenter" in group for group in groups)


def test_definitions_come_first_and_what_runs_comes_after_its_rights(dovetail):
    found = kinds(printed(dovetail("install", "--dry-run")))
    last_definition = max(at for at, kind in enumerate(found) if kind == "CustomResourceDefinition")
    assert last_definition < found.index("ServiceAccount") < found.index("Deployment")
    assert max(at for at, kind in enumerate(found) if kind.endswith("RoleBinding")) < found.index("Deployment")


def test_a_namespace_is_printed_only_when_asked_for(dovetail):
    assert "Namespace" not in kinds(printed(dovetail("install", "--dry-run", "-n", "mine")))
    found = printed(dovetail("install", "--dry-run", "-n", "mine", "--create-namespace"))
    assert kinds(found).index("Namespace") < kinds(found).index("ServiceAccount")


def test_everything_goes_into_the_namespace_that_was_named(dovetail):
    found = printed(dovetail("install", "--dry-run", "-n", "mine"))
    places = {one["metadata"]["namespace"] for one in found if "namespace" in one["metadata"]}
    assert places == {"mine", permissions.NODE_LEASES}
    assert {who["namespace"] for one in found for who in one.get("subjects", ())} == {"mine"}


@pytest.mark.parametrize(("cloud", "kind"), [("kwok", "KWOKNodeClass"), ("aws", "EC2NodeClass")])
def test_a_cloud_brings_its_own_node_class_and_no_other(dovetail, cloud, kind):
    found = printed(dovetail("install", "--dry-run", "--cloud", cloud))
    defined = {one["spec"]["names"]["kind"] for one in found if one["kind"] == "CustomResourceDefinition"}
    assert {name for name in defined if name.endswith("NodeClass")} == {kind}
    (deployment,) = (one for one in found if one["kind"] == "Deployment")
    assert deployment["spec"]["template"]["spec"]["containers"][0]["args"] == ["run", "--cloud", cloud]


def test_definitions_can_be_left_alone(dovetail):
    assert "CustomResourceDefinition" not in kinds(printed(dovetail("install", "--dry-run", "--skip-crds")))


def test_the_image_is_the_one_that_was_named(dovetail):
    found = printed(dovetail("install", "--dry-run", "--image", "example/dovetail@sha256:abc"))
    (deployment,) = (one for one in found if one["kind"] == "Deployment")
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "example/dovetail@sha256:abc"


def test_json_is_one_list_of_the_same(dovetail):
    found = json.loads(dovetail("install", "--dry-run", "-o", "json").out)
    assert (found["kind"], found["apiVersion"]) == ("List", "v1")
    assert found["items"] == printed(dovetail("install", "--dry-run"))


@pytest.mark.parametrize(
    "words",
    [("-n", "Not_A_Name"), ("-n", ""), ("-n", "a" * 64), ("--image", ""), ("--image", "a b"), ("--cloud", "gcp")],
)
def test_a_flag_that_cannot_be_is_refused(dovetail, words):
    ran = dovetail("install", "--dry-run", *words)
    assert (ran.code, ran.out) == (Exit.BAD_INPUT, "")


def test_without_a_cluster_it_says_where_it_looked(dovetail, tmp_path):
    ran = dovetail("install", "--kubeconfig", str(tmp_path / "missing"))
    assert ran.code == Exit.BAD_INPUT
    assert "missing" in ran.err
    assert "Traceback" not in ran.err


def test_the_clouds_offered_are_those_there_are_rights_for():
    assert install.CLOUDS == permissions.CLOUDS
