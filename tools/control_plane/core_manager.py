"""What Cluster API's own manager wants to find in the cluster: its definitions, its rights, and its webhooks.

Its definitions have two versions that differ in shape, and its admission webhooks set what objects leave out, so the
manager is run whole, with its webhook server and a certificate of the test's authority; only the address is another: a
URL on loopback instead of a Service, since no pods run here. Serving one version without conversion would be less work
and another Cluster API than people have.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Final

from . import manifests
from .access import Admin, Rules
from .manifests import Body
from .programs import NoControlPlane

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
SERVED: Final = "/apis/cluster.x-k8s.io/v1beta2/machines"
#: What its installer puts on everything of its own.
LABEL: Final = {"cluster.x-k8s.io/provider": "cluster-api"}
_WHOSE: Final = "Cluster API"
_ROLE: Final = "manager-role"
_WEBHOOKS: Final = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}
#: Where a path of the webhook server is, and who signed its certificate.
At = Callable[[str], Body]


def at(port: int, authority: bytes) -> At:
    bundle = base64.b64encode(authority).decode()
    return lambda path: {"url": f"https://127.0.0.1:{port}{path}", "caBundle": bundle}


def rules(files: Path) -> Rules:
    """What the manager may do: its own role, to the letter."""
    rights = manifests.in_directory(files / "rights", _WHOSE)
    found = [one for one in rights if one["metadata"]["name"] == _ROLE and "rules" in one]
    if not found:
        raise NoControlPlane(f"there is no ClusterRole {_ROLE} in {files / 'rights'}")
    return list(found[0]["rules"])


def install_definitions(admin: Admin, files: Path, where: At) -> None:
    for one in manifests.in_directory(files / "crds", _WHOSE):
        admin.apply(CRDS, definition(one, where))


def definition(one: Body, where: At) -> Body:
    """As its installer would apply it, with conversion at our address."""
    made = copy.deepcopy(one)
    made["metadata"]["labels"] = {**made["metadata"].get("labels", {}), **LABEL}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": where("/convert")}
    made["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return made


def served(admin: Admin) -> bool:
    return admin.healthy(SERVED)


def install_webhooks(admin: Admin, files: Path, where: At) -> None:
    for one in manifests.in_directory(files / "webhooks", _WHOSE):
        if one["kind"] in _WEBHOOKS:
            made = copy.deepcopy(one)
            made["metadata"] |= {"name": f"capi-{made['metadata']['name']}", "labels": dict(LABEL)}
            for webhook in made["webhooks"]:
                webhook["clientConfig"] = where(webhook["clientConfig"]["service"]["path"])
            admin.apply(f"{ADMISSION}/{_WEBHOOKS[one['kind']]}", made)
