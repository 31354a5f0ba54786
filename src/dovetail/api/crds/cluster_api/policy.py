"""What an API server refuses by itself: control planes on machines that may be taken away.

A definition's own rules see nothing of an object's labels, and it is a label that makes a machine part of a control
plane. So this is a ValidatingAdmissionPolicy, which needs no webhook to run. It judges infrastructure machines however
they come about: Cluster API's core puts the label on what it makes from templates. A label that arrives later is judged
then, as an update; what was there before the policy is found by the controller.
"""

from __future__ import annotations

from typing import Final

from dovetail.api.crds.schema import Json
from dovetail.api.kinds import (
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    AWS_MACHINES,
    AZURE_MACHINES,
    GCP_MACHINES,
    INFRA_MACHINES,
)

CONTROL_PLANE: Final = "cluster.x-k8s.io/control-plane"
NAME: Final = "no-control-plane-on-spot.dovetail.dev"
MESSAGE: Final = (
    "a control plane cannot run on machines that may be taken away: etcd loses its quorum with them; "
    "leave out spotMarketOptions, marketType Spot, preemptible, provisioningModel Spot and spotVMOptions"
)
_SPOT: Final = {
    AWS_MACHINES: (
        "has(object.spec.spotMarketOptions) || (has(object.spec.marketType) && object.spec.marketType == 'Spot')"
    ),
    GCP_MACHINES: (
        "(has(object.spec.preemptible) && object.spec.preemptible) || "
        "(has(object.spec.provisioningModel) && object.spec.provisioningModel == 'Spot')"
    ),
    AZURE_MACHINES: "has(object.spec.spotVMOptions)",
}


def expression() -> str:
    """Holds unless the machine is of a control plane and on spot. One expression serves three kinds."""
    parts = " || ".join(f"(object.kind == '{kind.name}' && ({_SPOT[kind]}))" for kind in INFRA_MACHINES)
    return f"!({parts})"


def policy() -> dict[str, Json]:
    """The policy. An object on its way out is let go, whatever it is."""
    versions: list[Json] = list(dict.fromkeys(kind.version for kind in INFRA_MACHINES))
    resources: list[Json] = [kind.plural for kind in INFRA_MACHINES]
    rule: dict[str, Json] = {
        "apiGroups": [AWS_MACHINES.group],
        "apiVersions": versions,
        "operations": ["CREATE", "UPDATE"],
        "resources": resources,
    }
    labelled = f"has(object.metadata.labels) && '{CONTROL_PLANE}' in object.metadata.labels"
    return {
        "apiVersion": ADMISSION_POLICIES.api_version,
        "kind": ADMISSION_POLICIES.name,
        "metadata": {"name": NAME},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": [
                {"name": "of-a-control-plane", "expression": labelled},
                {"name": "not-on-its-way-out", "expression": "!has(object.metadata.deletionTimestamp)"},
            ],
            "validations": [{"expression": expression(), "message": MESSAGE, "reason": "Forbidden"}],
        },
    }


def binding() -> dict[str, Json]:
    """Without it the policy would say nothing."""
    return {
        "apiVersion": ADMISSION_POLICY_BINDINGS.api_version,
        "kind": ADMISSION_POLICY_BINDINGS.name,
        "metadata": {"name": NAME},
        "spec": {"policyName": NAME, "validationActions": ["Deny"]},
    }
