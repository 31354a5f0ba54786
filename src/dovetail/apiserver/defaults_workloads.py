"""What kinds that make pods are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.apiserver.defaults_pods import pod_spec
from dovetail.apiserver.storage import Object

if TYPE_CHECKING:
    from dovetail.apiserver.objects import Objects


def _spec(new: Object) -> dict[str, Any]:
    found: dict[str, Any] | None = new.get("spec")
    if found is None:
        found = new["spec"] = {}
    return found


def _template(spec: dict[str, Any]) -> None:
    template = spec.get("template")
    if template:
        if template.get("metadata") is None:
            template["metadata"] = {}
        if template.get("spec"):
            pod_spec(template["spec"])


def deployment(objects: Objects, new: Object, old: Object | None) -> None:
    spec = _spec(new)
    _template(spec)
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = spec.get("strategy") or {}
    spec["strategy"] = strategy
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.get("rollingUpdate") or {}
        strategy["rollingUpdate"] = {"maxUnavailable": "25%", "maxSurge": "25%", **rolling}
    _no_status(new, old)


def replica_set(objects: Objects, new: Object, old: Object | None) -> None:
    spec = _spec(new)
    _template(spec)
    spec.setdefault("replicas", 1)
    _no_status(new, old, {"replicas": 0})


def stateful_set(objects: Objects, new: Object, old: Object | None) -> None:
    spec = _spec(new)
    _template(spec)
    spec.setdefault("replicas", 1)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("persistentVolumeClaimRetentionPolicy", {"whenDeleted": "Retain", "whenScaled": "Retain"})
    strategy = spec.get("updateStrategy") or {}
    spec["updateStrategy"] = strategy
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        strategy["rollingUpdate"] = {"partition": 0, **(strategy.get("rollingUpdate") or {})}
    for claim in spec.get("volumeClaimTemplates") or ():
        claim |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}}
        if claim.get("spec"):
            claim["spec"].setdefault("volumeMode", "Filesystem")
    _no_status(new, old, {"replicas": 0, "availableReplicas": 0})


def daemon_set(objects: Objects, new: Object, old: Object | None) -> None:
    spec = _spec(new)
    _template(spec)
    spec.setdefault("revisionHistoryLimit", 10)
    strategy = spec.get("updateStrategy") or {}
    spec["updateStrategy"] = strategy
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        strategy["rollingUpdate"] = {"maxSurge": 0, "maxUnavailable": 1, **(strategy.get("rollingUpdate") or {})}
    counts = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
    _no_status(new, old, dict.fromkeys(counts, 0))


def job(objects: Objects, new: Object, old: Object | None) -> None:
    spec = _spec(new)
    _template(spec)
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "TerminatingOrFailed")
    _no_status(new, old)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels and not new["metadata"].get("labels"):
        new["metadata"]["labels"] = dict(labels)


def admitted_job(objects: Objects, new: Object, old: Object | None) -> None:
    spec = _spec(new)
    if old is None and not spec.get("manualSelector"):
        _select_own_pods(new, spec)


def _select_own_pods(new: Object, spec: dict[str, Any]) -> None:
    """A job's pods carry its identity, and the job selects by it."""
    uid, name = new["metadata"]["uid"], new["metadata"].get("name", "")
    spec.setdefault("manualSelector", False)
    template = spec.get("template") or {}
    spec["template"] = template
    if template.get("metadata") is None:
        template["metadata"] = {}
    own = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    template["metadata"]["labels"] = {**(template["metadata"].get("labels") or {}), **own}
    if not spec.get("selector"):
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}


def cron_job(objects: Objects, new: Object, old: Object | None) -> None:
    spec = _spec(new)
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    _template((spec.get("jobTemplate") or {}).get("spec") or {})
    _no_status(new, old)


def _no_status(new: Object, old: Object | None, status: dict[str, Any] | None = None) -> None:
    if old is None:
        new["status"] = status or {}
