"""What controllers ask again and again, kept up to date by each change: who belongs to whom, which pods are where.

Kept of a pod is a short record, decoded from its JSON without the rest; ten thousand pods are a few megabytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver.storage import Change, Item

PodKey = tuple[str, str]
ENDED: Final = frozenset({"Succeeded", "Failed"})


class _OwnerReference(msgspec.Struct, gc=False):
    uid: str = ""
    kind: str = ""
    name: str = ""
    controller: bool | None = None


class _Metadata(msgspec.Struct, gc=False):
    creationTimestamp: str = ""  # noqa: N815 - names on the wire
    deletionTimestamp: str = ""  # noqa: N815
    generation: int = 0
    ownerReferences: list[_OwnerReference] | None = None  # noqa: N815


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""
    lastTransitionTime: str | None = None  # noqa: N815


class _Spec(msgspec.Struct, gc=False):
    nodeName: str = ""  # noqa: N815


class _Status(msgspec.Struct, gc=False):
    phase: str = ""
    conditions: list[_Condition] | None = None


class _Owned(msgspec.Struct, gc=False):
    metadata: _Metadata


class _Pod(_Owned, gc=False):
    spec: _Spec
    status: _Status | None = None


_decode_owned: Final = msgspec.json.Decoder(_Owned).decode
_decode_pod: Final = msgspec.json.Decoder(_Pod).decode


@dataclass(frozen=True, slots=True)
class PodRecord:
    """What most controllers want to know of a pod."""

    namespace: str
    name: str
    uid: str
    labels: Mapping[str, str]
    node: str
    phase: str
    ready_since: str
    created: str
    going: bool
    generation: int
    owner_kind: str
    owner_name: str
    owner_uid: str

    @property
    def key(self) -> PodKey:
        return self.namespace, self.name

    @property
    def ended(self) -> bool:
        return self.phase in ENDED

    @property
    def active(self) -> bool:
        """Whether it counts as one of its controller's replicas."""
        return not self.ended and not self.going

    @property
    def ready(self) -> bool:
        return bool(self.ready_since) and not self.going


@dataclass(frozen=True, slots=True)
class Dependent:
    """Somebody who names an owner."""

    kind: Kind
    namespace: str
    name: str


class Index:
    """Dependents by owner; pods by owner, by node and by namespace."""

    def __init__(self) -> None:
        self.pods: dict[PodKey, PodRecord] = {}
        self._dependents: dict[str, dict[Dependent, None]] = {}
        self._owners: dict[Dependent, tuple[str, ...]] = {}
        self._by: dict[tuple[str, str], dict[PodKey, PodRecord]] = {}
        self._groups: dict[PodKey, tuple[tuple[str, str], ...]] = {}

    def apply(self, kind: Kind, change: Change) -> None:
        """Take one change in."""
        if kind == kinds.CORE_EVENTS:
            return
        item, gone = change.item, change.type == "DELETED"
        if kind == kinds.PODS:
            self._apply_pod(item, gone)
        owners = () if gone or b'"ownerReferences"' not in item.data else _owner_uids(item)
        dependent = Dependent(kind, item.namespace, item.name)
        before = self._owners.get(dependent, ())
        if owners == before:
            return
        for uid in before:
            self._dependents[uid].pop(dependent, None)
            if not self._dependents[uid]:
                del self._dependents[uid]
        for uid in owners:
            self._dependents.setdefault(uid, {})[dependent] = None
        if owners:
            self._owners[dependent] = owners
        else:
            self._owners.pop(dependent, None)

    def _apply_pod(self, item: Item, gone: bool) -> None:
        key = item.key
        for group in self._groups.pop(key, ()):
            self._by[group].pop(key, None)
            if not self._by[group]:
                del self._by[group]
        if gone:
            self.pods.pop(key, None)
            return
        record = self.pods[key] = pod_record(item)
        groups = [("namespace", record.namespace)]
        if record.node:
            groups.append(("node", record.node))
        if record.owner_uid:
            groups.append(("owner", record.owner_uid))
        self._groups[key] = tuple(groups)
        for group in groups:
            self._by.setdefault(group, {})[key] = record

    def dependents(self, uid: str) -> list[Dependent]:
        """Everybody who names an owner, in order of appearance."""
        return list(self._dependents.get(uid, ()))

    def owned_by(self, owner_uid: str) -> Collection[PodRecord]:
        """The pods a controller owns, as they came."""
        return self._by.get(("owner", owner_uid), {}).values()

    def pods_of(self, owner_uid: str) -> list[PodRecord]:
        """The pods a controller owns, oldest first, then by name."""
        return _sorted(self.owned_by(owner_uid))

    def pods_on(self, node: str) -> list[PodRecord]:
        return _sorted(self._by.get(("node", node), {}).values())

    def pods_in(self, namespace: str) -> Collection[PodRecord]:
        return self._by.get(("namespace", namespace), {}).values()


def _owner_uids(item: Item) -> tuple[str, ...]:
    return tuple(one.uid for one in _decode_owned(item.data).metadata.ownerReferences or ())


def controller_of(item: Item) -> tuple[str, str]:
    """Kind and name of the controller an object belongs to, if any, without decoding the rest of it."""
    if b'"ownerReferences"' in item.data:
        for one in _decode_owned(item.data).metadata.ownerReferences or ():
            if one.controller:
                return one.kind, one.name
    return "", ""


def _sorted(records: Iterable[PodRecord]) -> list[PodRecord]:
    return sorted(records, key=lambda one: (one.created, one.namespace, one.name))


def pod_record(item: Item) -> PodRecord:
    pod = _decode_pod(item.data)
    status = pod.status or _Status()
    ready = next((one for one in status.conditions or () if one.type == "Ready" and one.status == "True"), None)
    owner = next((one for one in pod.metadata.ownerReferences or () if one.controller), _OwnerReference())
    return PodRecord(
        namespace=item.namespace,
        name=item.name,
        uid=item.uid,
        labels=item.labels,
        node=pod.spec.nodeName,
        phase=status.phase,
        ready_since=(ready.lastTransitionTime or "always") if ready else "",
        created=pod.metadata.creationTimestamp,
        going=bool(pod.metadata.deletionTimestamp),
        generation=pod.metadata.generation,
        owner_kind=owner.kind,
        owner_name=owner.name,
        owner_uid=owner.uid,
    )
