"""Cluster API's own kinds as we serve them where it is not installed, row by row (R5, R6, R14, R41)."""

from __future__ import annotations

from typing import Any, Final

from tests.contract.crds.machine_rows import SHORT, enumerated
from tests.contract.crds.rows import GONE, Table
from tests.contract.crds.shared_rows import (
    LEAST,
    MOST,
    PATTERN,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    UNSUPPORTED,
    conditions,
    taints,
)

from dovetail.api.kinds import CLUSTERS, HEALTH_CHECKS, MACHINE_DEPLOYMENTS, MACHINE_SETS, MACHINES

_REF: Final = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachine", "name": "a"}
_MACHINE: Final = {"clusterName": "c", "bootstrap": {"dataSecretName": "s"}, "infrastructureRef": _REF}
_OF_SET: Final = {
    "clusterName": "c",
    "selector": {"matchLabels": {"a": "b"}},
    "template": {"metadata": {"labels": {"a": "b"}}, "spec": _MACHINE},
}
CLUSTER: Final = Table(CLUSTERS, {})
MACHINE: Final = Table(MACHINES, _MACHINE)
SET: Final = Table(MACHINE_SETS, _OF_SET)
DEPLOYMENT: Final = Table(MACHINE_DEPLOYMENTS, _OF_SET)
CHECK: Final = Table(HEALTH_CHECKS, {"clusterName": "c", "selector": {"matchLabels": {"a": "b"}}})
TABLES: Final = (CLUSTER, MACHINE, SET, DEPLOYMENT, CHECK)
_WHEN: Final = "2026-01-01T00:00:00Z"


def _references(table: Table, path: str) -> None:
    longest = {"apiGroup": 253, "kind": 63, "name": 253}
    for name, most in longest.items():
        at = f"{path}.{name}"
        table.refuses(f"{path} without {name}", _without(path, name), at, REQUIRED)
        table.refuses(f"an empty {at}", {path: {**_REF, name: ""}}, at, SHORT)
        table.refuses(f"{at} too long", {path: {**_REF, name: "a" * (most + 1)}}, at, TOO_LONG)


def _without(path: str, name: str) -> dict[str, Any]:
    return {path: {key: value for key, value in _REF.items() if key != name}}


def _cluster_name(table: Table, path: str) -> None:
    table.refuses(f"no {path}", {path: GONE}, path, REQUIRED)
    table.refuses(f"an empty {path}", {path: ""}, path, SHORT)
    table.refuses(f"{path} too long", {path: "a" * 64}, path, TOO_LONG)


def _seconds(table: Table, *paths: str) -> None:
    for path in paths:
        table.accepts(f"{path} 0", {path: 0})
        table.refuses(f"{path} -1", {path: -1}, path, LEAST)


def _machine_specs(table: Table, at: str) -> None:
    def field(name: str) -> str:
        return f"{at}.{name}"

    _cluster_name(table, field("clusterName"))
    table.refuses("no bootstrap", {field("bootstrap"): GONE}, field("bootstrap"), REQUIRED)
    table.refuses(
        "an empty bootstrap", {field("bootstrap"): {}}, field("bootstrap"), "needs configRef or dataSecretName"
    )
    table.accepts("bootstrap made by somebody", {field("bootstrap"): {"configRef": _REF}})
    secret = field("bootstrap.dataSecretName")
    table.refuses("a name too long", {secret: "a" * 254}, secret, TOO_LONG)
    _references(table, field("bootstrap.configRef"))
    table.refuses("no infrastructure", {field("infrastructureRef"): GONE}, field("infrastructureRef"), REQUIRED)
    _references(table, field("infrastructureRef"))
    table.refuses("an empty version", {field("version"): ""}, field("version"), SHORT)
    for name, most in (("version", 256), ("providerID", 512), ("failureDomain", 256)):
        table.refuses(f"{name} too long", {field(name): "a" * (most + 1)}, field(name), TOO_LONG)
    deletion = [f"deletion.node{name}TimeoutSeconds" for name in ("Drain", "VolumeDetach", "Deletion")]
    _seconds(table, *(field(name) for name in ("minReadySeconds", *deletion)))
    enumerated(table, field("deletion.order"), ("Random", "Newest", "Oldest"))
    gates = field("readinessGates")
    table.accepts("a gate", {gates: [{"conditionType": "A", "polarity": "Negative"}]})
    table.refuses("33 gates", {gates: [{"conditionType": f"A{n}"} for n in range(33)]}, gates, TOO_MANY)
    table.refuses("a gate for nothing", {gates: [{}]}, f"{gates}[0].conditionType", REQUIRED)
    table.refuses("an empty gate", {gates: [{"conditionType": ""}]}, f"{gates}[0].conditionType", SHORT)
    wire = {gates: [{"conditionType": "a" * 317}]}
    table.refuses("a gate too long", wire, f"{gates}[0].conditionType", TOO_LONG)
    wire = {gates: [{"conditionType": "A", "polarity": "x"}]}
    table.refuses("an odd polarity", wire, f"{gates}[0].polarity", UNSUPPORTED)
    taints(table, field("taints"))


def _selectors(table: Table) -> None:
    table.refuses("no selector", {"spec.selector": GONE}, "spec.selector", REQUIRED)
    table.refuses("a selector of everything", {"spec.selector": {}}, "spec.selector", "must demand something")
    at = "spec.selector.matchExpressions"
    table.accepts("an expression", {"spec.selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}})
    for name in ("key", "operator"):
        wire = {key: "a" for key in ("key", "operator") if key != name}
        table.refuses(
            f"an expression without {name}",
            {"spec.selector": {"matchExpressions": [wire]}},
            f"{at}[0].{name}",
            REQUIRED,
        )


def _sets(table: Table) -> None:
    table.refuses("no spec", {"spec": GONE}, "spec", REQUIRED)
    _cluster_name(table, "spec.clusterName")
    changed = {"spec.clusterName": "d", "spec.template.spec.clusterName": "d"}
    table.refuses_change("clusterName changed", {}, changed, "spec.clusterName", "clusterName cannot be changed")
    where = "spec.template.spec.clusterName"
    table.refuses_change("clusterName changed inside", {}, changed, where, "clusterName cannot be changed")
    table.refuses("another cluster inside", {where: "d"}, "spec", "clusterName must be the same")
    _selectors(table)
    table.refuses("no template", {"spec.template": GONE}, "spec.template", REQUIRED)
    table.refuses("a template of nothing", {"spec.template.spec": GONE}, "spec.template.spec", REQUIRED)
    _machine_specs(table, "spec.template.spec")
    _seconds(table, "spec.replicas")
    enumerated(table, "spec.deletion.order", ("Random", "Newest", "Oldest"))
    naming = "spec.machineNaming.template"
    table.accepts("names of one's own", {naming: "a-{{ .random }}"})
    table.refuses("all called alike", {naming: "a"}, naming, "must contain .random")
    table.refuses("no name at all", {naming: ""}, naming, SHORT)
    table.refuses("names too long", {naming: ".random" * 40}, naming, TOO_LONG)
    counts = ("replicas", "readyReplicas", "availableReplicas", "upToDateReplicas")
    table.accepts_status("all counts", dict.fromkeys(counts, 3), dict.fromkeys((f"status.{one}" for one in counts), 3))
    conditions(table)


def _deployments() -> None:
    enumerated(DEPLOYMENT, "spec.rollout.strategy.type", ("RollingUpdate", "OnDelete"))
    DEPLOYMENT.refuses("no type", {"spec.rollout.strategy": {}}, "spec.rollout.strategy.type", REQUIRED)
    DEPLOYMENT.refuses("after what is no time", {"spec.rollout.after": "x"}, "spec.rollout.after", "date-time")
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "25%"}}
    DEPLOYMENT.accepts("a share", {"spec.rollout.strategy": rolling})
    for name in ("maxSurge", "maxUnavailable"):
        wire = {"type": "RollingUpdate", "rollingUpdate": {name: "-1"}}
        where = f"spec.rollout.strategy.rollingUpdate.{name}"
        DEPLOYMENT.refuses(f"an odd {name}", {"spec.rollout.strategy": wire}, where, PATTERN)
    limit = "spec.remediation.maxInFlight"
    DEPLOYMENT.accepts("R41: at most so many at once", {limit: "50%"})
    DEPLOYMENT.refuses("an odd share", {limit: "half"}, limit, PATTERN)


def _clusters() -> None:
    CLUSTER.accepts("no spec", {"spec": GONE})
    kept = {"pods": {"cidrBlocks": ["10.0.0.0/16"]}}
    CLUSTER.accepts("what is not looked into is kept", {"spec.clusterNetwork": kept}, {"spec.clusterNetwork": kept})
    CLUSTER.refuses("port -1", {"spec.controlPlaneEndpoint.port": -1}, "spec.controlPlaneEndpoint.port", LEAST)
    CLUSTER.refuses("port 65536", {"spec.controlPlaneEndpoint.port": 65536}, "spec.controlPlaneEndpoint.port", MOST)
    for name in ("controlPlaneRef", "infrastructureRef"):
        _references(CLUSTER, f"spec.{name}")
    told = {"initialization": {"infrastructureProvisioned": True, "controlPlaneInitialized": True}, "phase": "Pending"}
    CLUSTER.accepts_status("how far it has come", told, {"status.phase": "Pending"})
    CLUSTER.refuses_status("an unknown phase", {"phase": "x"}, "status.phase", UNSUPPORTED)
    zone = "status.failureDomains[0].name"
    CLUSTER.refuses_status("a zone without a name", {"failureDomains": [{}]}, zone, REQUIRED)
    CLUSTER.refuses_status("an empty zone", {"failureDomains": [{"name": ""}]}, zone, SHORT)
    CLUSTER.refuses_status("a zone too long", {"failureDomains": [{"name": "a" * 257}]}, zone, TOO_LONG)
    conditions(CLUSTER)


def _machines() -> None:
    MACHINE.refuses("no spec", {"spec": GONE}, "spec", REQUIRED)
    _machine_specs(MACHINE, "spec")
    MACHINE.refuses_change(
        "clusterName changed", {}, {"spec.clusterName": "d"}, "spec.clusterName", "clusterName cannot be changed"
    )
    MACHINE.accepts_change("its providerID is written", {}, {"spec.providerID": "x:///y"})
    for phase in ("Pending", "Provisioning", "Provisioned", "Running", "Deleting", "Failed"):
        MACHINE.accepts_status(f"R39: phase {phase}", {"phase": phase}, {"status.phase": phase})
    MACHINE.refuses_status("an unknown phase", {"phase": "x"}, "status.phase", UNSUPPORTED)
    node = "status.nodeRef.name"
    for wire, says in (({}, REQUIRED), ({"name": ""}, SHORT), ({"name": "a" * 254}, TOO_LONG)):
        MACHINE.refuses_status(f"a node {says}", {"nodeRef": wire}, node, says)
    at = "status.addresses[0]"
    for wire, name, says in (
        ({"type": "x", "address": "a"}, "type", UNSUPPORTED),
        ({"address": "a"}, "type", REQUIRED),
        ({"type": "Hostname"}, "address", REQUIRED),
        ({"type": "Hostname", "address": ""}, "address", SHORT),
        ({"type": "Hostname", "address": "a" * 257}, "address", TOO_LONG),
    ):
        MACHINE.refuses_status(f"an address {str(wire)[:60]}", {"addresses": [wire]}, f"{at}.{name}", says)
    MACHINE.refuses_status("a time that is none at all", {"lastUpdated": "x"}, "status.lastUpdated", "date-time")
    for name in ("nodeDrain", "waitForNodeVolumeDetach", "waitForPreDrainHook", "waitForPreTerminateHook"):
        path = f"{name}StartTime"
        MACHINE.accepts_status(path, {"deletion": {path: _WHEN}})
        MACHINE.refuses_status(f"an odd {path}", {"deletion": {path: "x"}}, f"status.deletion.{path}", "date-time")
    failed = {"failureReason": "CreateError", "failureMessage": "no capacity"}
    where = "status.deprecated.v1beta1.failureReason"
    MACHINE.accepts_status(
        "R39: a failure anybody can see", {"deprecated": {"v1beta1": failed}}, {where: "CreateError"}
    )
    wire = {"deprecated": {"v1beta1": {"failureReason": "x"}}}
    MACHINE.refuses_status("a reason nobody knows", wire, where, UNSUPPORTED)
    conditions(MACHINE)


def _checks() -> None:
    CHECK.refuses("no spec", {"spec": GONE}, "spec", REQUIRED)
    _cluster_name(CHECK, "spec.clusterName")
    CHECK.refuses_change(
        "clusterName changed", {}, {"spec.clusterName": "d"}, "spec.clusterName", "clusterName cannot be changed"
    )
    _selectors(CHECK)
    startup = "spec.checks.nodeStartupTimeoutSeconds"
    for good in (0, 30, 600):
        CHECK.accepts(f"R14: {good} seconds to start", {startup: good})
    CHECK.refuses("29 seconds to start", {startup: 29}, startup, "must be 30 or more, or 0")
    CHECK.refuses("-1 seconds to start", {startup: -1}, startup, LEAST)
    for name in ("unhealthyNodeConditions", "unhealthyMachineConditions"):
        at = f"spec.checks.{name}"
        good: dict[str, Any] = {"type": "NodeHealthy", "status": "Unknown", "timeoutSeconds": 300}
        CHECK.accepts(f"one of {name}", {at: [good]})
        CHECK.refuses(f"101 {name}", {at: [good] * 101}, at, TOO_MANY)
        for left_out in good:
            wire = {key: value for key, value in good.items() if key != left_out}
            CHECK.refuses(f"{name} without {left_out}", {at: [wire]}, f"{at}[0].{left_out}", REQUIRED)
        CHECK.refuses(f"{name}: an empty type", {at: [good | {"type": ""}]}, f"{at}[0].type", SHORT)
        CHECK.refuses(f"{name}: a type too long", {at: [good | {"type": "a" * 317}]}, f"{at}[0].type", TOO_LONG)
        CHECK.refuses(f"{name}: an odd status", {at: [good | {"status": "x"}]}, f"{at}[0].status", UNSUPPORTED)
        CHECK.refuses(f"{name}: -1 seconds", {at: [good | {"timeoutSeconds": -1}]}, f"{at}[0].timeoutSeconds", LEAST)
    for own in ("Ready", "Available", "HealthCheckSucceeded", "OwnerRemediated", "ExternallyRemediated"):
        wire = {"spec.checks.unhealthyMachineConditions": [{"type": own, "status": "False", "timeoutSeconds": 1}]}
        where = "spec.checks.unhealthyMachineConditions[0].type"
        CHECK.refuses(f"{own} is the check's own", wire, where, "health checks themselves write")
    limit = "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo"
    for good_limit in (3, "40%", "100%", "3"):
        CHECK.accepts(f"at most {good_limit!r}", {limit: good_limit})
    for bad in ("101%", "half", "-1"):
        CHECK.refuses(f"at most {bad}", {limit: bad}, limit, PATTERN)
    span = "spec.remediation.triggerIf.unhealthyInRange"
    CHECK.accepts("a range", {span: "[3-5]"})
    CHECK.refuses("a range without its ends", {span: "3-5"}, span, PATTERN)
    CHECK.refuses("a range too long", {span: f"[{'1' * 30}-5]"}, span, TOO_LONG)
    _references(CHECK, "spec.remediation.templateRef")
    for name, least in (("baseSeconds", 1), ("capSeconds", 1), ("minHealthySeconds", 0)):
        path = f"spec.remediation.backoff.{name}"
        CHECK.accepts(f"R41: {name} {least}", {path: least})
        CHECK.refuses(f"R41: {name} {least - 1}", {path: least - 1}, path, LEAST)
    CHECK.accepts_status("R41: how often it failed", {"backoff": {"failures": 2, "last": _WHEN}})
    CHECK.refuses_status("R41: a time that is none", {"backoff": {"last": "x"}}, "status.backoff.last", "date-time")
    told: dict[str, Any] = {"expectedMachines": 3, "currentHealthy": 2, "remediationsAllowed": 1, "targets": ["a"]}
    CHECK.accepts_status("how the machines are", told, {f"status.{name}": told[name] for name in told})
    conditions(CHECK)


_clusters()
_machines()
_sets(SET)
_sets(DEPLOYMENT)
_deployments()
_checks()
