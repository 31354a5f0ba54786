"""Everything an installation consists of, in the order it is applied.

There is no Namespace among it unless asked for: a server asked only to check (`kubectl apply --dry-run=server`) does
not keep the namespace it has just been shown, and would refuse everything in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dovetail.api.crds import every
from dovetail.api.crds.schema import Json
from dovetail.api.install import permissions
from dovetail.api.install.installation import NAME, Installation
from dovetail.api.install.permissions import NODE_LEASES, Permission
from dovetail.api.install.workload import Object, deployment, disruption_budget, head, service
from dovetail.api.kinds import (
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CRDS,
    DAEMON_SETS,
    DEPLOYMENTS,
    DISRUPTION_BUDGETS,
    NAMESPACES,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
    SERVICES,
    Kind,
)

_KINDS: Final = {
    (kind.api_version, kind.name): kind
    for kind in (
        CRDS,
        NAMESPACES,
        SERVICE_ACCOUNTS,
        CLUSTER_ROLES,
        CLUSTER_ROLE_BINDINGS,
        ROLES,
        ROLE_BINDINGS,
        SERVICES,
        DEPLOYMENTS,
        DAEMON_SETS,
        DISRUPTION_BUDGETS,
        ADMISSION_POLICIES,
        ADMISSION_POLICY_BINDINGS,
    )
}


def kind_of(one: Object) -> Kind:
    """The kind of an object made here."""
    return _KINDS[str(one["apiVersion"]), str(one["kind"])]


def name_of(one: Object) -> tuple[str, str]:
    """Name and namespace of an object made here."""
    metadata = one["metadata"]
    assert isinstance(metadata, dict)
    return str(metadata["name"]), str(metadata.get("namespace", ""))


def definitions(cloud: str) -> list[Object]:
    """The custom resources of one cloud's installation."""
    return [one.manifest() for one in every.of_cloud(cloud)]


def namespace(one: Installation) -> Object:
    return head(NAMESPACES, one.namespace)


def service_account(one: Installation) -> Object:
    """Who it is. Clouds tie their own identities to it by annotations."""
    account = head(SERVICE_ACCOUNTS, NAME, one.namespace)
    assert isinstance(account["metadata"], dict)
    account["metadata"]["annotations"] = one.account_annotations
    return account


def rights(one: Installation) -> list[Object]:
    """What every installation may do."""
    return [
        *_everywhere(NAME, permissions.EVERYWHERE, one),
        *_within(NAME, one.namespace, permissions.OWN_NAMESPACE, one),
    ]


def rights_of_cloud(one: Installation, cloud: str) -> list[Object]:
    """What a cloud adds."""
    name = f"{NAME}-{cloud}"
    return [
        *_everywhere(name, permissions.OF_CLOUD[cloud], one),
        *_within(name, NODE_LEASES, permissions.OF_CLOUD_IN_NODE_LEASES[cloud], one),
    ]


def objects(one: Installation) -> list[Object]:
    """All but the custom resources and the namespace."""
    return [
        service_account(one),
        *rights(one),
        *rights_of_cloud(one, one.cloud),
        service(one),
        deployment(one),
        disruption_budget(one),
    ]


def _everywhere(name: str, rules: Iterable[Permission], one: Installation) -> list[Object]:
    role = head(CLUSTER_ROLES, name) | _rules(rules)
    return [role, _bound(head(CLUSTER_ROLE_BINDINGS, name), CLUSTER_ROLES, name, one)]


def _within(name: str, place: str, rules: tuple[Permission, ...], one: Installation) -> list[Object]:
    if not rules:
        return []
    role = head(ROLES, name, place) | _rules(rules)
    return [role, _bound(head(ROLE_BINDINGS, name, place), ROLES, name, one)]


def _rules(rules: Iterable[Permission]) -> Object:
    listed: list[Json] = [rule.rule for rule in rules]
    return {"rules": listed}


def _bound(binding: Object, role: Kind, name: str, one: Installation) -> Object:
    subject: Object = {"kind": SERVICE_ACCOUNTS.name, "name": NAME, "namespace": one.namespace}
    reference: Object = {"apiGroup": role.group, "kind": role.name, "name": name}
    return binding | {"roleRef": reference, "subjects": [subject]}
