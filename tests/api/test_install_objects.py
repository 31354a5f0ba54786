"""What an installation consists of: how it runs, and what it may do."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import settings
from dovetail.api.install import installation, objects, permissions
from dovetail.api.install.installation import Installation

#: What existing charts and test rigs set.
SETTINGS = {
    "FEATURE_GATES",
    "SCHEDULER_CONFIG",
    "METRICS_PORT",
    "HEALTH_PROBE_PORT",
    "LEADER_ELECTION_NAMESPACE",
    "SYSTEM_NAMESPACE",
    "LOG_LEVEL",
    "BATCH_IDLE_DURATION",
    "BATCH_MAX_DURATION",
    "PREFERENCE_POLICY",
    "MIN_VALUES_POLICY",
    "INSTANCE_TYPES_FILE_PATH",
}


def plain(cloud: str) -> list[dict[str, Any]]:
    return objects.objects(Installation(image="dovetail:1", cloud=cloud))


def pod() -> dict[str, Any]:
    return next(one for one in plain("kwok") if one["kind"] == "Deployment")["spec"]["template"]["spec"]


def test_it_runs_under_the_names_existing_charts_set():
    names = [one["name"] for one in pod()["containers"][0]["env"]]
    assert set(names) >= SETTINGS
    assert len(names) == len(set(names))


def test_its_gates_are_those_the_program_knows_with_the_same_defaults():
    assert installation.GATES == settings.GATES


def test_it_can_write_nothing_and_become_nobody():
    (container,) = pod()["containers"]
    assert pod()["securityContext"]["runAsNonRoot"] is True
    assert pod()["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_it_never_runs_on_a_node_it_could_take_away():
    (term,) = pod()["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"}]


# ------------------------------------------------------------------------------------------------ what it may do


def granted(cloud: str) -> set[tuple[str, str, str, str]]:
    """(place, group, resource, verb) of everything it may do."""
    return {
        (one["metadata"].get("namespace", "*"), group, resource, verb)
        for one in plain(cloud)
        for rule in one.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("cloud", permissions.CLOUDS)
def test_no_right_is_a_wildcard_nor_touches_secrets_or_roles(cloud):
    for _, group, resource, verb in granted(cloud):
        assert "*" not in (group, resource, verb)
        assert group != "rbac.authorization.k8s.io"
        assert resource not in ("secrets", "serviceaccounts", "serviceaccounts/token", "pods/exec", "nodes/proxy")


@pytest.mark.parametrize(
    ("resource", "verbs"),
    [
        ("pods", {"get", "list", "watch", "delete", "patch"}),
        ("pods/eviction", {"create"}),
        ("pods/status", {"patch"}),
        ("nodes", {"get", "list", "watch", "patch", "delete"}),
        ("nodeclaims", {"get", "list", "watch", "create", "patch", "delete"}),
        ("nodepools", {"get", "list", "watch", "patch"}),
        ("nodepools/status", {"patch"}),
        ("nodepools/finalizers", {"update"}),
        ("nodeclaims/finalizers", {"update"}),
        ("instancetypes", {"get", "list", "watch"}),
        ("events", {"create", "patch"}),
        ("services", {"get", "list", "watch"}),
        ("customresourcedefinitions", set()),
    ],
)
def test_a_resource_may_be_used_so_and_not_otherwise(resource, verbs):
    assert {verb for place, _, name, verb in granted("aws") if place == "*" and name == resource} == verbs


def test_only_a_simulated_cloud_makes_nodes():
    assert ("*", "", "nodes", "create") in granted("kwok")
    assert ("*", "", "nodes", "create") not in granted("aws")


def test_leases_are_its_own_and_those_of_nodes_and_no_others():
    places = {place for place, _, resource, _ in granted("kwok") if resource == "leases"}
    assert places == {"kube-system", "kube-node-lease"}
    assert {place for place, _, resource, _ in granted("aws") if resource == "leases"} == {"kube-system"}
    own = [rule for one in plain("aws") if one["kind"] == "Role" for rule in one["rules"] if "update" in rule["verbs"]]
    assert [rule["resourceNames"] for rule in own] == [["karpenter-leader-election"]]


@pytest.mark.parametrize("cloud", permissions.CLOUDS)
def test_every_role_is_bound_to_the_account_it_runs_under(cloud):
    found = plain(cloud)
    roles = {(one["kind"], *objects.name_of(one)) for one in found if one["kind"].endswith("Role")}
    bound = {
        (one["roleRef"]["kind"], one["roleRef"]["name"], objects.name_of(one)[1]) for one in found if "roleRef" in one
    }
    assert roles == bound
    subjects = [one["subjects"] for one in found if "subjects" in one]
    assert all(who == [{"kind": "ServiceAccount", "name": "dovetail", "namespace": "kube-system"}] for who in subjects)
