"""What a pod is given when it is made: the API's defaults, and what the usual admission plugins add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dovetail.api import kinds
from dovetail.apiserver import errors
from dovetail.apiserver.storage import Object

if TYPE_CHECKING:
    from dovetail.apiserver.objects import Objects

_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
#: How long a pod stays on a node that is gone, unless it says otherwise.
_GONE_SECONDS: Final = 300
_PROBE: Final = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


def pod(objects: Objects, new: Object, old: Object | None) -> None:
    spec = new.get("spec")
    if spec is None:
        spec = new["spec"] = {}
    pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        _request_what_is_limited(container["resources"])
    if old is None:
        new["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}


def admitted(objects: Objects, new: Object, old: Object | None) -> None:
    """What admission plugins add to a new pod."""
    if old is not None:
        return
    spec = new["spec"]
    if spec.setdefault("serviceAccountName", "default"):
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    _set_priority(objects, new["metadata"].get("name", ""), spec)
    _set_overhead(objects, new["metadata"].get("name", ""), spec)
    _tolerate(spec)


def _request_what_is_limited(resources: dict[str, Any]) -> None:
    for name, amount in (resources.get("limits") or {}).items():
        if resources.get("requests") is None:
            resources["requests"] = {}
        resources["requests"].setdefault(name, amount)


def pod_spec(spec: dict[str, Any]) -> None:
    """The defaults every pod and every template has."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("securityContext", {})
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        _container(container)
    for volume in spec.get("volumes") or ():
        _volume(volume)
    for spread in spec.get("topologySpreadConstraints") or ():
        spread.setdefault("maxSkew", 1)


def _container(container: dict[str, Any]) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = _pull_policy(container.get("image") or "")
    if container.get("resources") is None:
        container["resources"] = {}
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(probe):
            container[probe] = {**_PROBE, **container[probe]}
            if "httpGet" in container[probe]:
                container[probe]["httpGet"].setdefault("path", "/")
                container[probe]["httpGet"].setdefault("scheme", "HTTP")


def _pull_policy(image: str) -> str:
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") and "@" not in image else "IfNotPresent"


def _volume(volume: dict[str, Any]) -> None:
    for name in ("configMap", "secret", "projected", "downwardAPI"):
        if isinstance(volume.get(name), dict):
            volume[name].setdefault("defaultMode", 420)
    if set(volume) == {"name"}:
        volume["emptyDir"] = {}


def _set_priority(objects: Objects, name: str, spec: dict[str, Any]) -> None:
    wanted = spec.get("priorityClassName")
    found = objects.find(kinds.PRIORITY_CLASSES, wanted) if wanted else None
    if wanted and found is None:
        raise errors.forbidden(kinds.PODS, name, f"no PriorityClass with name {wanted} was found")
    if found is None:
        found = next((one for one in objects.list(kinds.PRIORITY_CLASSES) if one.get("globalDefault")), None)
        if found:
            spec["priorityClassName"] = found["metadata"]["name"]
    value = found["value"] if found else 0
    if spec.get("priority") is not None and spec["priority"] != value:
        raise errors.forbidden(
            kinds.PODS,
            name,
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; priority admission "
            f"controller computed {value} from the given PriorityClass name",
        )
    spec["priority"] = value
    spec.setdefault("preemptionPolicy", (found or {}).get("preemptionPolicy", "PreemptLowerPriority"))


def _set_overhead(objects: Objects, name: str, spec: dict[str, Any]) -> None:
    wanted = spec.get("runtimeClassName")
    if not wanted:
        return
    found = objects.find(kinds.RUNTIME_CLASSES, wanted)
    if found is None:
        raise errors.forbidden(kinds.PODS, name, f'pod rejected: RuntimeClass "{wanted}" not found')
    fixed = (found.get("overhead") or {}).get("podFixed")
    if fixed:
        spec["overhead"] = dict(fixed)
    scheduling = found.get("scheduling") or {}
    if scheduling.get("nodeSelector"):
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **scheduling["nodeSelector"]}
    if scheduling.get("tolerations"):
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *scheduling["tolerations"]]


def _tolerate(spec: dict[str, Any]) -> None:
    """A pod stays five minutes on a node that is not ready, unless it says how long itself."""
    found = list(spec.get("tolerations") or ())
    for key in (_NOT_READY, _UNREACHABLE):
        if not any(_covers(one, key) for one in found):
            found.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _GONE_SECONDS})
    spec["tolerations"] = found


def _covers(toleration: dict[str, Any], key: str) -> bool:
    return toleration.get("key") in (None, "", key) and toleration.get("effect") in (None, "", "NoExecute")


def qos_class(spec: dict[str, Any]) -> str:
    """Guaranteed: every container has limits for both, and requests as much. BestEffort: nobody asks for anything."""
    asked = False
    guaranteed = True
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for name in ("cpu", "memory"):
            asked = asked or name in requests or name in limits
            guaranteed = guaranteed and name in limits and requests.get(name, limits[name]) == limits[name]
    if not asked:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"
