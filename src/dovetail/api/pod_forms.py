"""Forms: what planning can see of a pod, lifted out of its JSON as it stands.

The fields planning looks at are not decoded when a pod arrives: their bytes are joined into one JSON array, by which
equal pods are found to be equal. It is read once, when somebody asks what it means, by the functions that read a pod
from a file. What a server makes different in every pod of a ReplicaSet (the token volume's name, addresses, ids) is not
in it; what the server writes in one order always, keys included, makes equal forms equal bytes. Where it does not, two
forms mean the same, which costs a little memory and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from dovetail.api import containers, pod_wire
from dovetail.api.fields import Fields
from dovetail.api.pod_wire import NO_OWNER, Draft, Drafts, Owner

_NULL: Final = Raw(b"null")


# ---- on the wire; what is not named here is skipped without being decoded


class WireOwnerRef(Struct, frozen=True, gc=False, rename="camel"):
    kind: str = ""
    name: str = ""
    api_version: str = ""
    controller: bool | None = None


class WireNotes(Struct, frozen=True, gc=False):
    do_not_disrupt: str = msgspec.field(default="", name=pod_wire.DO_NOT_DISRUPT)
    deletion_cost: str = msgspec.field(default="", name=pod_wire.DELETION_COST)
    disruption_cost: str = msgspec.field(default="", name=pod_wire.DISRUPTION_COST)


class WireMetadata(Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: Raw = _NULL
    annotations: WireNotes | None = None
    owner_references: tuple[WireOwnerRef, ...] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None


class WireContainer(Struct, frozen=True, gc=False, rename="camel"):
    name: Raw = _NULL
    resources: Raw = _NULL
    restart_policy: Raw = _NULL
    ports: Raw = _NULL


class WireVolume(Struct, frozen=True, gc=False, rename="camel"):
    name: Raw = _NULL
    persistent_volume_claim: Raw | UnsetType = UNSET
    ephemeral: Raw | UnsetType = UNSET


class WireSpec(Struct, frozen=True, gc=False, rename="camel"):
    containers: tuple[WireContainer, ...] | None = None
    init_containers: tuple[WireContainer, ...] | None = None
    volumes: tuple[WireVolume, ...] | None = None
    node_name: str | None = None
    scheduling_gates: tuple[Raw, ...] | None = None
    termination_grace_period_seconds: int | None = None
    node_selector: Raw = _NULL
    affinity: Raw = _NULL
    tolerations: Raw = _NULL
    topology_spread_constraints: Raw = _NULL
    overhead: Raw = _NULL
    resources: Raw = _NULL
    priority: Raw = _NULL
    priority_class_name: Raw = _NULL
    runtime_class_name: Raw = _NULL
    resource_claims: Raw = _NULL
    host_network: Raw = _NULL


class WireCondition(Struct, frozen=True, gc=False, rename="camel"):
    type: str = ""
    status: str = ""
    reason: str | None = None
    last_transition_time: str | None = None


class WireContainerStatus(Struct, frozen=True, gc=False, rename="camel"):
    name: Raw = _NULL
    allocated_resources: Raw | UnsetType = UNSET


class WireStatus(Struct, frozen=True, gc=False, rename="camel"):
    phase: str = ""
    nominated_node_name: str | None = None
    start_time: str | None = None
    conditions: tuple[WireCondition, ...] | None = None
    container_statuses: tuple[WireContainerStatus, ...] | None = None
    init_container_statuses: tuple[WireContainerStatus, ...] | None = None


class StreamedPod(Struct, frozen=True, gc=False):
    """A pod on the wire, as far as anything here looks at it."""

    metadata: WireMetadata
    spec: WireSpec | UnsetType = UNSET
    status: WireStatus = WireStatus()


@dataclass(slots=True, weakref_slot=True, eq=False)
class Form:
    """What planning can see of equal pods, as the JSON it came in; `draft` reads it."""

    namespace: str
    json: bytes
    read: Draft | None = None

    def draft(self, drafts: Drafts) -> Draft:
        if self.read is None:
            self.read = _draft_of(self, drafts)
        return self.read


# ---- forms: joined, and read


def joined(pod: StreamedPod, spec: WireSpec, owner: Owner) -> bytes:
    """One JSON array: labels, the fields that are there by name, containers, volumes, allocations, about.

    Written out rather than looped over, since it runs for every event: most fields of most pods are absent.
    """
    found: list[Any] = [b"[", pod.metadata.labels, b",{"]
    if spec.node_selector is not _NULL:
        found += (b'"nodeSelector":', spec.node_selector, b",")
    if spec.affinity is not _NULL:
        found += (b'"affinity":', spec.affinity, b",")
    if spec.tolerations is not _NULL:
        found += (b'"tolerations":', spec.tolerations, b",")
    if spec.topology_spread_constraints is not _NULL:
        found += (b'"topologySpreadConstraints":', spec.topology_spread_constraints, b",")
    if spec.priority_class_name is not _NULL:
        found += (b'"priorityClassName":', spec.priority_class_name, b",")
    if not (spec.overhead is spec.resources is spec.runtime_class_name is spec.resource_claims is spec.host_network):
        found += _uncommon(spec)
    found += (b'"priority":', spec.priority, b"}")
    _add_containers(found, spec.containers)
    _add_containers(found, spec.init_containers)
    named_after_pod = _add_volumes(found, spec.volumes or ())
    _add_allocated(found, pod.status)
    if owner is not NO_OWNER or named_after_pod:
        about = [owner.kind, owner.name, owner.group, pod.metadata.name if named_after_pod else ""]
        found += (b",", msgspec.json.encode(about))
    found.append(b"]")
    return b"".join(found)


def _uncommon(spec: WireSpec) -> Iterator[bytes | Raw]:
    for name, value in (
        (b"overhead", spec.overhead),
        (b"resources", spec.resources),
        (b"runtimeClassName", spec.runtime_class_name),
        (b"resourceClaims", spec.resource_claims),
        (b"hostNetwork", spec.host_network),
    ):
        if value is not _NULL:
            yield b'"%s":' % name
            yield value
            yield b","


def _add_containers(found: list[Any], listed: tuple[WireContainer, ...] | None) -> None:
    if listed is None:
        found.append(b",null")
        return
    before = b",["
    for one in listed:
        found += (before, b"[", one.name, b",", one.resources, b",", one.restart_policy, b",", one.ports, b"]")
        before = b","
    found.append(b"]" if listed else b",[]")


def _add_volumes(found: list[Any], listed: tuple[WireVolume, ...]) -> bool:
    """The volumes that are claims; whether one of the claims is named after the pod."""
    before, ephemeral = b",[", False
    for one in listed:
        claim, own = one.persistent_volume_claim, one.ephemeral
        if claim is UNSET and own is UNSET:
            continue
        ephemeral = ephemeral or own is not UNSET
        claimed = _NULL if claim is UNSET else claim
        found += (before, b"[", one.name, b",", claimed, b",", _NULL if own is UNSET else own, b"]")
        before = b","
    found.append(b"]" if before == b"," else b",[]")
    return ephemeral


def _add_allocated(found: list[Any], status: WireStatus) -> None:
    before = b",["
    for listed in (status.container_statuses, status.init_container_statuses):
        for one in listed or ():
            if one.allocated_resources is not UNSET:
                found += (before, b"[", one.name, b",", one.allocated_resources, b"]")
                before = b","
    found.append(b"]" if before == b"," else b",[]")


def _draft_of(form: Form, drafts: Drafts) -> Draft:
    labels, spec, listed, initial, claims, allocated, *rest = msgspec.json.decode(form.json)
    spec = {name: value for name, value in spec.items() if value is not None}
    for name, entries in (("containers", listed), ("initContainers", initial)):
        if entries is not None:
            spec[name] = [_named(("name", "resources", "restartPolicy", "ports"), one) for one in entries]
    if claims:
        spec["volumes"] = [_named(("name", "persistentVolumeClaim", "ephemeral"), one) for one in claims]
    kind, name, group, pod = rest[0] if rest else ("", "", "", "")
    statuses = [_named(("name", "allocatedResources"), one) for one in allocated]
    found, wrong = pod_wire.labels_of(Fields({"labels": labels}))
    held_back = containers.allocated_in({"containerStatuses": statuses})
    about = Draft(form.namespace, {}, {}, held_back, Owner(kind, name, group) if kind else NO_OWNER, pod, wrong)
    return drafts.draft(form.namespace, found, spec, about)


def _named(names: tuple[str, ...], values: list[Any]) -> dict[str, Any]:
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}
