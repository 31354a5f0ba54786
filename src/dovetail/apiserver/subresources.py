"""What can be done to an object beside reading and writing it: scale, bind, evict, ask for a token."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver import errors, jsonpath, selectors
from dovetail.apiserver.metadata import stamp
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.resources import Resource
from dovetail.apiserver.storage import Object
from dovetail.apiserver.writes import PLAIN, Deletion, Write

_VIOLATES: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_MANY_BUDGETS: Final = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
)
#: How long to wait for a budget nobody has reckoned yet.
_UNRECKONED_SECONDS: Final = 10
_TOKEN_SECONDS: Final = 3600


# --- scale ---------------------------------------------------------------------------------------------------------


def scale_of(resource: Resource, obj: Object) -> Object:
    """An object seen as a `Scale`."""
    paths = resource.definition.scale if resource.definition else None
    wanted = jsonpath.first(paths["specReplicasPath"] if paths else ".spec.replicas", obj) or 0
    actual = jsonpath.first(paths["statusReplicasPath"] if paths else ".status.replicas", obj) or 0
    metadata = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status = {"replicas": actual}
    selector = _scale_selector(paths, obj)
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {"replicas": wanted} if wanted else {},
        "status": status,
    }


def _scale_selector(paths: Mapping[str, str] | None, obj: Object) -> str:
    if paths is not None:
        return str(jsonpath.first(paths["labelSelectorPath"], obj) or "") if "labelSelectorPath" in paths else ""
    selector = (obj.get("spec") or {}).get("selector") or {}
    labels = selector.get("matchLabels", selector if "matchExpressions" not in selector else {})
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def scaled(resource: Resource, obj: Object, scale: Object) -> Object:
    """The object with the replicas a `Scale` asks for."""
    wanted = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(wanted, int) or wanted < 0:
        scale_kind = Kind("autoscaling", "v1", "Scale", "scales")
        cause = errors.bad_value("spec.replicas", wanted, "must be greater than or equal to 0")
        raise errors.invalid(scale_kind, obj["metadata"]["name"], [cause])
    paths = resource.definition.scale if resource.definition else None
    steps = (paths["specReplicasPath"] if paths else ".spec.replicas").strip(".").split(".")
    place = obj
    for step in steps[:-1]:
        place = place.setdefault(step, {})
    place[steps[-1]] = wanted
    sent = (scale.get("metadata") or {}).get("resourceVersion")
    if sent:
        obj["metadata"]["resourceVersion"] = sent
    return obj


# --- binding -------------------------------------------------------------------------------------------------------


def bind(objects: Objects, name: str, namespace: str, binding: Mapping[str, Any], write: Write = PLAIN) -> None:
    """Put a pod on a node, once."""
    pod = objects.get(kinds.PODS, name, namespace)
    node = (binding.get("target") or {}).get("name")
    uid = (binding.get("metadata") or {}).get("uid")
    if not node:
        raise errors.invalid(kinds.PODS, name, [errors.required("target.name")])
    if uid and uid != pod["metadata"]["uid"]:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {pod['metadata']['uid']}"
        raise errors.conflict(kinds.PODS, name, why)
    if "deletionTimestamp" in pod["metadata"]:
        raise errors.conflict(kinds.PODS, name, f"pod {name} is being deleted, cannot be assigned to a host")
    if pod["spec"].get("nodeName"):
        raise errors.conflict(kinds.PODS, name, f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"')
    if pod["spec"].get("schedulingGates"):
        raise errors.conflict(kinds.PODS, name, f"pod {name} has non-empty .spec.schedulingGates")
    pod["spec"]["nodeName"] = node
    conditions = [one for one in pod["status"].get("conditions") or () if one["type"] != "PodScheduled"]
    now = stamp(objects.now())
    pod["status"]["conditions"] = [
        *conditions,
        {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now},
    ]
    objects.store_as_is(kinds.PODS, pod, write)


# --- eviction ------------------------------------------------------------------------------------------------------


def evict(objects: Objects, name: str, namespace: str, how: Deletion) -> None:
    """Delete a pod if its disruption budget allows; 429 when it does not (yet)."""
    pod = objects.get(kinds.PODS, name, namespace)
    phase = (pod.get("status") or {}).get("phase")
    unhindered = phase in ("Pending", "Succeeded", "Failed") or "deletionTimestamp" in pod["metadata"]
    if not unhindered:
        _charge_budget(objects, pod, how)
    objects.delete(kinds.PODS, name, namespace, how)


def _charge_budget(objects: Objects, pod: Object, how: Deletion) -> None:
    labels = pod["metadata"].get("labels") or {}
    budgets = [
        one
        for one in objects.list(kinds.DISRUPTION_BUDGETS, pod["metadata"]["namespace"])
        if (terms := selectors.of_object(one["spec"].get("selector"))) is not None and selectors.matches(terms, labels)
    ]
    if len(budgets) > 1:
        raise errors.ApiError(500, "InternalError", _MANY_BUDGETS)
    if not budgets:
        return
    budget = budgets[0]
    if not _is_ready(pod) and _spares_unready(budget):
        return
    _refuse_if_spent(budget)
    if how.dry_run:
        return
    status = budget["status"]
    status["disruptionsAllowed"] -= 1
    disrupted = status.get("disruptedPods") or {}
    status["disruptedPods"] = {**disrupted, pod["metadata"]["name"]: stamp(objects.now())}
    objects.update(kinds.DISRUPTION_BUDGETS, budget, subresource="status", write=Write("kube-apiserver"))


def _is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def _spares_unready(budget: Object) -> bool:
    """Whether a pod that is not ready may go: always, or while enough others are healthy."""
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)


def _refuse_if_spent(budget: Object) -> None:
    name, status = budget["metadata"]["name"], budget.get("status") or {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        cause = {
            "reason": "DisruptionBudget",
            "message": f"The disruption budget {name} is still being processed by the server.",
        }
        raise errors.too_many(_VIOLATES, [cause], _UNRECKONED_SECONDS)
    if status.get("disruptionsAllowed", 0) <= 0:
        needs, has = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        message = f"The disruption budget {name} needs {needs} healthy pods and has {has} currently"
        raise errors.too_many(_VIOLATES, [{"reason": "DisruptionBudget", "message": message}])


# --- tokens --------------------------------------------------------------------------------------------------------


def token_for(objects: Objects, name: str, namespace: str, asked: Mapping[str, Any]) -> Object:
    """A token for a service account. It is as good as any other here: nothing limits what it may do."""
    account = objects.get(kinds.SERVICE_ACCOUNTS, name, namespace)
    seconds = (asked.get("spec") or {}).get("expirationSeconds") or _TOKEN_SECONDS
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": account["metadata"]["name"], "namespace": namespace},
        "spec": {"audiences": ["dovetail"], **(asked.get("spec") or {}), "expirationSeconds": seconds},
        "status": {
            "token": secrets.token_urlsafe(32),
            "expirationTimestamp": stamp(objects.now() + timedelta(seconds=seconds)),
        },
    }
