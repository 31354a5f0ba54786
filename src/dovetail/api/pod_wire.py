"""A Pod on the wire, cut down to what planning can see.

A dump holds thousands of pods that differ in names, tokens, images and events. What is left here of equal pods is
equal, is kept once (a `Draft`), and is read once, when everything it refers to is known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec

from dovetail.api import containers
from dovetail.api.fields import Fields, Wire, kind_of, shown
from dovetail.core.pods import PodState

DAEMONSET: Final = "DaemonSet"
STATEFULSET: Final = "StatefulSet"
#: Owned by the node itself: a static pod's mirror.
MIRROR: Final = "Node"
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
DISRUPTION_COST: Final = "karpenter.sh/disruption-cost"
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_FOR_A_TIME: Final = re.compile(r"(?=.*[1-9])([0-9]+(\.[0-9]+)?(h|m|s))+")
_KEPT: Final = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "overhead",
    "resources",
    "priority",
    "priorityClassName",
    "runtimeClassName",
    "resourceClaims",
    "hostNetwork",
)
_OF_A_CONTAINER: Final = ("name", "resources", "restartPolicy")
SCHEDULED: Final = "PodScheduled"
UNSCHEDULABLE: Final = "Unschedulable"
_OVER: Final = ("Succeeded", "Failed")
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller a pod or workload belongs to."""

    kind: str = ""
    name: str = ""
    group: str = ""


NO_OWNER: Final = Owner()


@dataclass(slots=True, eq=False)
class Draft:
    """What equal pods have in common, not yet read."""

    namespace: str
    labels: Mapping[str, str]
    spec: Wire
    allocated: Mapping[str, object] = field(default_factory=dict)
    owner: Owner = NO_OWNER
    #: Set where claims are named after the pod, so that no two pods share this.
    pod: str = ""
    #: What was wrong with it before its spec was looked at.
    problems: tuple[str, ...] = ()


class Notes(NamedTuple):
    """What a pod's annotations say to whoever disrupts, as it is written; None, and "" of the first, is nothing."""

    do_not_disrupt: str = ""
    disruption_cost: str | None = None
    deletion_cost: str | None = None


NO_NOTES: Final = Notes()


class Times(NamedTuple):
    """When a pod was given a place, was started there, and became ready; 0 for what has not happened."""

    scheduled: float = 0.0
    started: float = 0.0
    ready: float = 0.0


NO_TIMES: Final = Times()


@dataclass(slots=True, eq=False)
class PodWire:
    """One pod: who and where it is, and its draft."""

    name: str
    draft: Draft
    uid: str = ""
    created: float = 0.0
    node: str | None = None
    state: PodState = PodState.PENDING
    owner: Owner = NO_OWNER
    #: Not to be moved, even off a node that leaves.
    protected: bool = False
    #: Whether its status says that it is not ready.
    unready: bool = False
    notes: Notes = NO_NOTES
    times: Times = NO_TIMES


class Drafts:
    """Drafts by what they say."""

    def __init__(self, by_owner: bool = False) -> None:
        """`by_owner`: who owns a pod matters, since default constraints are worked out from it."""
        self._known: dict[bytes, Draft] = {}
        self._by_owner = by_owner

    def __len__(self) -> int:
        return len(self._known)

    def draft(self, namespace: str, labels: Mapping[str, str], spec: Wire, about: Draft) -> Draft:
        """The draft that says this; `about` has what is rarely there."""
        reduced = _reduced(spec)
        owner = about.owner if self._by_owner else NO_OWNER
        pod = about.pod if _is_named_after_pod(reduced) else ""
        said = (namespace, labels, reduced, about.allocated, (owner.kind, owner.name, owner.group), pod, about.problems)
        key = _written(said)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Draft(namespace, labels, reduced, about.allocated, owner, pod, about.problems)
        return found


def _written(value: object) -> bytes:
    try:
        return _ENCODER.encode(value)
    except (OverflowError, ValueError, TypeError):  # a number beyond 64 bits, text that is not Unicode
        return repr(value).encode("utf-8", "surrogatepass")


def _reduced(spec: Wire) -> dict[str, Any]:
    found: dict[str, Any] = {key: spec[key] for key in _KEPT if spec.get(key) is not None}
    on_host = spec.get("hostNetwork") is True
    for key in ("containers", "initContainers"):
        listed = spec.get(key)
        if listed is not None:
            found[key] = [_container(one, on_host) for one in listed] if isinstance(listed, list) else listed
    volumes = spec.get("volumes")
    if isinstance(volumes, list):
        claimed = [
            one for one in volumes if not isinstance(one, dict) or "persistentVolumeClaim" in one or "ephemeral" in one
        ]
        if claimed:
            found["volumes"] = claimed
    elif volumes is not None:
        found["volumes"] = volumes
    return found


def _container(one: object, on_host: bool) -> object:
    if not isinstance(one, dict):
        return one
    found = {key: one[key] for key in _OF_A_CONTAINER if key in one}
    ports = one.get("ports")
    if isinstance(ports, list):
        taken = [port for port in ports if on_host or not isinstance(port, dict) or port.get("hostPort")]
        if taken:
            found["ports"] = taken
    elif ports is not None:
        found["ports"] = ports
    return found


def _is_named_after_pod(spec: Wire) -> bool:
    volumes = spec.get("volumes")
    return isinstance(volumes, list) and any(isinstance(one, dict) and "ephemeral" in one for one in volumes)


# ---- one pod


def read(wire: Fields, drafts: Drafts) -> PodWire:
    """A pod. Only a pod that cannot be named is an error; whatever else is wrong becomes its refusal."""
    about = wire.map("metadata")
    name = named(about)
    spec, status = wire.wire.get("spec"), wire.wire.get("status")
    problems = () if isinstance(spec, Mapping) else (f"spec: expected a map, got {kind_of(spec)}",)
    spec = spec if isinstance(spec, Mapping) else {}
    status = status if isinstance(status, Mapping) else {}
    owner = owner_of(about)
    node = spec.get("nodeName")
    node = node if isinstance(node, str) and node else None
    state = _state(spec, status, node, owner)
    if about.has("deletionTimestamp"):
        state = leaving(state, node)
    uid = about.wire.get("uid")
    labels, wrong = labels_of(about)
    notes = _notes(about)
    namespace = about.wire.get("namespace") or "default"
    if not isinstance(namespace, str) or not namespace.isprintable():
        namespace, problems = "default", (*problems, "metadata.namespace: is not a name")
    extra = Draft(namespace, {}, {}, containers.allocated_in(status), owner, name, problems + wrong)
    return PodWire(
        name,
        drafts.draft(namespace, labels, spec, extra),
        uid if isinstance(uid, str) else "",
        moment(about.wire.get("creationTimestamp")),
        node,
        state,
        owner,
        protects(notes.do_not_disrupt),
        _is_unready(status),
        notes,
        _times(status) if node is not None else NO_TIMES,
    )


def _notes(about: Fields) -> Notes:
    said = about.wire.get("annotations")
    if not isinstance(said, Mapping):
        return NO_NOTES
    held, cost, deletion = (said.get(key) for key in (DO_NOT_DISRUPT, DISRUPTION_COST, DELETION_COST))
    if held is None and cost is None and deletion is None:
        return NO_NOTES
    return Notes(held if isinstance(held, str) else "", _text(cost), _text(deletion))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _times(status: Wire) -> Times:
    since = {"Ready": 0.0, SCHEDULED: 0.0}
    conditions = status.get("conditions")
    for one in conditions if isinstance(conditions, list) else ():
        if isinstance(one, Mapping) and one.get("status") == "True" and one.get("type") in tuple(since):
            since[str(one["type"])] = moment(one.get("lastTransitionTime"))
    return Times(since[SCHEDULED], moment(status.get("startTime")), since["Ready"])


def protects(said: str) -> bool:
    """Whether this value of the do-not-disrupt annotation means anything."""
    return said == "true" or _FOR_A_TIME.fullmatch(said) is not None


def _is_unready(status: Wire) -> bool:
    conditions = status.get("conditions")
    said = (one for one in conditions if isinstance(one, Mapping)) if isinstance(conditions, list) else ()
    return any(one.get("type") == "Ready" and one.get("status") == "False" for one in said)


def named(about: Fields) -> str:
    name = about.text("name") or about.text("generateName")
    if not name:
        raise about.bad("name", "is missing")
    if not name.isprintable():
        raise about.bad("name", f"{shown(name)} is not a name")
    return name


def labels_of(about: Fields) -> tuple[dict[str, str], tuple[str, ...]]:
    """Labels, and those that are none: YAML reads `version: 1` as a number, and the server would refuse it."""
    wire = about.wire.get("labels")
    if wire is None:
        return {}, ()
    if not isinstance(wire, Mapping):
        return {}, (f"metadata.labels: expected a map, got {kind_of(wire)}",)
    found = {key: value for key, value in wire.items() if isinstance(value, str)}
    if len(found) == len(wire):
        return found, ()
    wrong = (key for key in wire if key not in found)
    said = "expected text, got {}; put it in quotes"
    return found, tuple(f"metadata.labels.{key}: {said.format(kind_of(wire[key]))}" for key in wrong)


def owner_of(about: Fields) -> Owner:
    """The controller, or the only owner there is."""
    listed = about.wire.get("ownerReferences")
    refs = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    chosen = next((one for one in refs if one.get("controller") is True), refs[0] if len(refs) == 1 else None)
    if chosen is None:
        return NO_OWNER
    kind, name, version = chosen.get("kind"), chosen.get("name"), chosen.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(name, str):
        return NO_OWNER
    return Owner(kind, name, version.partition("/")[0] if isinstance(version, str) and "/" in version else "")


def _state(spec: Wire, status: Wire, node: str | None, owner: Owner) -> PodState:
    held_back = bool(status.get("nominatedNodeName") or spec.get("schedulingGates"))
    conditions = status.get("conditions")
    verdict = None
    for one in conditions if isinstance(conditions, list) else ():
        if isinstance(one, Mapping) and one.get("type") == SCHEDULED:
            verdict = one.get("reason") or ""
            break
    return state_of(status.get("phase"), node, owner, held_back, verdict)


def state_of(phase: object, node: str | None, owner: Owner, held_back: bool, verdict: object) -> PodState:
    """Where a pod stands: without a status it waits, with a node it runs (§2.1).

    `held_back` is a pod with gates, or one the scheduler makes room for; `verdict` is the reason the scheduler gave
    in the pod's condition, None where it has not looked yet.
    """
    if phase in _OVER:
        return PodState.DONE
    if node is not None:
        return PodState.BOUND
    if owner.kind in (DAEMONSET, MIRROR) or held_back:
        return PodState.WAITING
    return PodState.PENDING if verdict is None or verdict == UNSCHEDULABLE else PodState.WAITING


def leaving(state: PodState, node: str | None) -> PodState:
    """The state of a pod that is being deleted: one that never ran is as good as gone."""
    if state is PodState.DONE or node is None:
        return PodState.DONE
    return PodState.GOING


def moment(text: object) -> float:
    """A timestamp in seconds; 0 where there is none that can be read."""
    if not isinstance(text, str):
        return 0.0
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return 0.0
