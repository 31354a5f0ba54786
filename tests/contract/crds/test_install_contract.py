"""`dovetail install` against servers: what it prints is accepted whole, and what it applies gives the rights meant."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from tests.contract.kubernetes.raw_api import Api, Server, asked
from tests.contract.kubernetes.things import fresh
from tools.control_plane.start import ControlPlane

from dovetail.api.install import permissions
from dovetail.api.kinds import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, DEPLOYMENTS, NAMESPACES, ROLE_BINDINGS, ROLES
from dovetail.cli import program


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def dovetail(*words: str) -> Ran:
    """The command, in this process: starting Python anew for each call is most of what these tests would do."""
    out, err = io.StringIO(), io.StringIO()
    code = program.run(words, program.Streams(io.StringIO(), out, err))
    return Ran(int(code), out.getvalue(), err.getvalue())


def install(server: Server, *flags: str) -> Ran:
    return dovetail("install", "--kubeconfig", str(server.kubeconfig), *flags)


@pytest.mark.parametrize("cloud", permissions.CLOUDS)
def test_what_is_printed_is_accepted_by_a_server_that_only_checks(
    control_plane: ControlPlane, real_server: Server, cloud: str
) -> None:
    printed = dovetail("install", "--dry-run", "--cloud", cloud)
    apply = [str(real_server.kubectl), "--kubeconfig", str(real_server.kubeconfig), "apply", "--dry-run=server"]
    ran = subprocess.run([*apply, "-f", "-"], input=printed.out, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.splitlines()) == printed.out.count("\nkind:")


def remove(server: Server, namespace: str) -> None:
    """Take away what an installation left, inside its namespace and elsewhere."""

    async def scenario(api: Api) -> None:
        for role in ("dovetail", "dovetail-kwok"):
            await api.delete(CLUSTER_ROLES.path(role))
            await api.delete(CLUSTER_ROLE_BINDINGS.path(role))
        await api.delete(ROLES.path("dovetail-kwok", permissions.NODE_LEASES))
        await api.delete(ROLE_BINDINGS.path("dovetail-kwok", permissions.NODE_LEASES))
        await api.delete(DEPLOYMENTS.path("dovetail", namespace))
        await api.delete(NAMESPACES.path(namespace))

    asked(server, scenario)


@pytest.fixture
def installed(server: Server) -> Iterator[str]:
    """The name of a namespace that is the test's own."""
    name = fresh("installed")
    yield name
    remove(server, name)


def test_it_is_applied_whole_and_a_second_time_changes_nothing(server: Server, installed: str) -> None:
    async def version(api: Api) -> Any:
        return (await api.get(DEPLOYMENTS.path("dovetail", installed))).ok()["metadata"]["generation"]

    first = install(server, "-n", installed, "--create-namespace")
    assert (first.code, first.err) == (0, "")
    before = asked(server, version)
    again = install(server, "-n", installed, "--create-namespace")
    assert (again.code, again.out) == (0, first.out)
    assert asked(server, version) == before


def test_a_namespace_that_is_not_there_is_named_with_the_way_out(server: Server) -> None:
    ran = install(server, "-n", fresh("nowhere"), "--skip-crds")
    assert ran.code == 2
    assert "--create-namespace" in ran.err


def test_fields_somebody_else_manages_are_left_alone_unless_forced(server: Server, installed: str) -> None:
    assert install(server, "-n", installed, "--create-namespace").code == 0

    async def take_over(api: Api) -> None:
        path = DEPLOYMENTS.path("dovetail", installed)
        (await api.patch(path, {"spec": {"replicas": 5}}, fieldManager="chart")).ok()

    asked(server, take_over)
    refused = install(server, "-n", installed, "--skip-crds")
    assert refused.code == 2
    assert "--force-conflicts" in refused.err
    assert "services/dovetail applied" in refused.out
    assert install(server, "-n", installed, "--skip-crds", "--force-conflicts").code == 0


def review(account: str, place: str, group: str, resource: str, verb: str, name: str = "") -> dict[str, Any]:
    kind, _, part = resource.partition("/")
    wanted = {"group": group, "resource": kind, "subresource": part, "verb": verb, "namespace": place, "name": name}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": account, "resourceAttributes": wanted},
    }


def test_the_account_may_do_what_was_meant_and_nothing_beside_it(
    control_plane: ControlPlane, real_server: Server
) -> None:
    """Asked of the real server, which alone decides: every right given, and rights nobody gave."""
    place = fresh("rights")
    given = [(place, "", "pods", "delete"), (place, "", "pods/eviction", "create"), ("", "", "nodes", "create")]
    given += [("", "karpenter.sh", "nodepools", "patch"), ("", "karpenter.sh", "instancetypes/status", "patch")]
    given += [(permissions.NODE_LEASES, "coordination.k8s.io", "leases", "create")]
    given += [("", "karpenter.sh", "nodepools/finalizers", "update")]
    denied = [(place, "", "secrets", "get"), (place, "", "pods", "create"), (place, "", "pods/exec", "create")]
    denied += [(permissions.NODE_LEASES, "coordination.k8s.io", "leases", "delete")]
    denied += [("", "karpenter.sh", "nodepools", "delete"), ("", "karpenter.sh", "instancetypes", "patch")]
    denied += [
        ("", "rbac.authorization.k8s.io", "clusterroles", "patch"),
        (place, "apps", "deployments/scale", "update"),
    ]
    denied += [
        (place, "coordination.k8s.io", "leases", "list"),
        ("kube-system", "coordination.k8s.io", "leases", "get"),
    ]

    async def scenario(api: Api) -> dict[Any, Any]:
        account, path = f"system:serviceaccount:{place}:dovetail", "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        found: dict[Any, Any] = {}
        for right in (*given, *denied):
            found[right] = (await api.post(path, review(account, *right))).ok()["status"]["allowed"]
        for lease in (permissions.LEADER_LEASE, "other"):
            body = review(account, place, "coordination.k8s.io", "leases", "update", lease)
            found[lease] = (await api.post(path, body)).ok()["status"]["allowed"]
        return found

    try:
        assert install(real_server, "-n", place, "--create-namespace").code == 0
        found = asked(real_server, scenario)
    finally:
        remove(real_server, place)
    assert {right: found[right] for right in given} == dict.fromkeys(given, True)
    assert {right: found[right] for right in denied} == dict.fromkeys(denied, False)
    assert (found[permissions.LEADER_LEASE], found["other"]) == (True, False)
