"""Pods as they stream from an API server: decoded in one pass, and kept in a few hundred bytes each.

A pod on the wire is five kilobytes, of which planning looks at one, the same in every pod of a ReplicaSet: its *form*
(`pod_forms`). A record is what is left: who the pod is, where it stands, when what happened to it, and its form. A pod
whose fields do not have the types they should is read as a file's is, whole. So a cluster and its dump plan alike.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Final
from weakref import WeakValueDictionary

import msgspec
from msgspec import Raw, Struct, UnsetType

from dovetail.api import pod_wire
from dovetail.api.fields import Fields, fields
from dovetail.api.pod_forms import (
    Form,
    StreamedPod,
    WireCondition,
    WireMetadata,
    WireNotes,
    WireOwnerRef,
    WireSpec,
    joined,
)
from dovetail.api.pod_wire import NO_NOTES, NO_OWNER, Drafts, Notes, Owner, PodWire, Times
from dovetail.core.pods import PodState

#: A second has many pods in it: its text is read once.
_moment: Final = lru_cache(maxsize=16_384)(pod_wire.moment)
_same: Final = sys.intern
_NOTES: Final = WireNotes.__struct_fields__


class Rare(Struct, frozen=True, gc=False):
    """What few pods have: a place the scheduler clears for it, a deletion under way, notes for whoever disrupts.

    `nominated` is the node whose name alone keeps a pod from being planned; a pod that is gated besides has none.
    """

    nominated: str = ""
    deletion: float = 0.0
    deletion_grace: int | None = None
    do_not_disrupt: str = ""
    deletion_cost: str = ""
    disruption_cost: str = ""

    @property
    def notes(self) -> Notes:
        if not (self.do_not_disrupt or self.deletion_cost or self.disruption_cost):
            return NO_NOTES
        return Notes(self.do_not_disrupt, self.disruption_cost or None, self.deletion_cost or None)


NOTHING_RARE: Final = Rare()


class PodRecord(Struct, frozen=True, gc=False):
    """One pod of a cluster. Times are seconds, 0 where there is none; `version` is a number where it can be."""

    name: str
    form: Form
    uid: str
    version: int | str
    node: str | None
    state: PodState
    owner: Owner
    phase: str
    created: float
    started: float
    #: Since when the scheduler has had a place for it, and since when it has been ready.
    scheduled: float
    ready: float
    protected: bool
    unready: bool
    grace: int | None
    rare: Rare

    @property
    def namespace(self) -> str:
        return self.form.namespace

    @property
    def key(self) -> tuple[str, str]:
        return (self.form.namespace, self.name)

    def wire(self, drafts: Drafts) -> PodWire:
        """The pod as one read from a file would be."""
        return PodWire(
            self.name,
            self.form.draft(drafts),
            uid=self.uid,
            created=self.created,
            node=self.node,
            state=self.state,
            owner=self.owner,
            protected=self.protected,
            unready=self.unready,
            notes=NO_NOTES if self.rare is NOTHING_RARE else self.rare.notes,
            times=Times(self.scheduled, self.started, self.ready),
        )


def version_of(text: str) -> int | str:
    """A resource version: a number, which later ones exceed, or a text that can only be the same or another."""
    return int(text) if text.isdecimal() and text.isascii() else text


class PodReader:
    """Makes records of streamed pods; equal forms, names of nodes and owners are one object."""

    def __init__(self, by_owner: bool = False) -> None:
        """`by_owner`: who owns a pod is a part of its form, since default constraints are worked out from it."""
        self.forms: WeakValueDictionary[tuple[str, bytes], Form] = WeakValueDictionary()
        self._by_owner = by_owner
        self._owner = lru_cache(maxsize=65_536)(_owner)

    def record(self, pod: StreamedPod) -> PodRecord:
        """Raises `Untyped` for a pod that has to be read whole."""
        about, spec, status = pod.metadata, pod.spec, pod.status
        if isinstance(spec, UnsetType) or not about.name or not (about.name + about.namespace).isprintable():
            raise Untyped
        refs = about.owner_references
        owner = self._owner(_chosen(refs)) if refs else NO_OWNER
        node = _same(spec.node_name) if spec.node_name else None
        told = _told(status.conditions) if status.conditions else _NOTHING_TOLD
        state = pod_wire.state_of(status.phase, node, owner, bool(spec.scheduling_gates), told[0])
        nominated = status.nominated_node_name if status.nominated_node_name and state is PodState.PENDING else ""
        if nominated:
            state = PodState.WAITING
        notes = about.annotations
        return PodRecord(
            about.name,
            self._form(pod, spec, owner),
            about.uid,
            version_of(about.resource_version),
            node,
            state if about.deletion_timestamp is None else pod_wire.leaving(state, node),
            owner,
            _same(status.phase),
            _moment(about.creation_timestamp),
            _moment(status.start_time),
            told[1],
            told[2],
            notes is not None and notes.do_not_disrupt != "" and pod_wire.protects(notes.do_not_disrupt),
            told[3],
            spec.termination_grace_period_seconds,
            _rare(about, notes, nominated),
        )

    def untyped(self, wire: Fields) -> PodRecord:
        """A pod as a file's is read, for one that is not typed as pods are. Raises BadInput where it has no name."""
        read = pod_wire.read(wire, Drafts(self._by_owner))
        about, status = wire.map("metadata"), wire.wire.get("status")
        phase = status.get("phase") if isinstance(status, Mapping) else ""
        return PodRecord(
            read.name,
            Form(read.draft.namespace, b"", read.draft),
            read.uid,
            version_of(str(about.wire.get("resourceVersion") or "")),
            read.node,
            read.state,
            read.owner,
            phase if isinstance(phase, str) else "",
            read.created,
            read.times.started,
            read.times.scheduled,
            read.times.ready,
            read.protected,
            read.unready,
            None,
            _noted(read.notes),
        )

    def _form(self, pod: StreamedPod, spec: WireSpec, owner: Owner) -> Form:
        namespace = _same(pod.metadata.namespace or "default")
        json = joined(pod, spec, owner if self._by_owner else NO_OWNER)
        found = self.forms.get((namespace, json))
        if found is None:
            found = self.forms[namespace, json] = Form(namespace, json)
        return found


class Untyped(Exception):
    """The pod cannot be read by the fast way."""


def _owner(ref: WireOwnerRef | None) -> Owner:
    if ref is None:
        return NO_OWNER
    return Owner(ref.kind, ref.name, ref.api_version.partition("/")[0] if "/" in ref.api_version else "")


def _chosen(refs: tuple[WireOwnerRef, ...]) -> WireOwnerRef | None:
    return next((one for one in refs if one.controller), refs[0] if len(refs) == 1 else None)


#: What the conditions say: the scheduler's verdict, since when scheduled, since when ready, whether not ready.
_Told = tuple[str | None, float, float, bool]
_NOTHING_TOLD: Final[_Told] = (None, 0.0, 0.0, False)


def _told(conditions: tuple[WireCondition, ...]) -> _Told:
    verdict: str | None = None
    scheduled, ready, unready = 0.0, 0.0, False
    for one in conditions:
        if one.type == "Ready":
            if one.status == "True":
                ready = _moment(one.last_transition_time)
            unready = unready or one.status == "False"
        elif one.type == pod_wire.SCHEDULED and verdict is None:
            verdict = one.reason or ""
            if one.status == "True":
                scheduled = _moment(one.last_transition_time)
    return verdict, scheduled, ready, unready


def _rare(about: WireMetadata, notes: WireNotes | None, nominated: str) -> Rare:
    if notes is None:
        if not nominated and about.deletion_timestamp is None:
            return NOTHING_RARE
        notes = WireNotes()
    elif not (nominated or about.deletion_timestamp or any(getattr(notes, name) for name in _NOTES)):
        return NOTHING_RARE
    return Rare(
        nominated,
        _moment(about.deletion_timestamp),
        about.deletion_grace_period_seconds,
        notes.do_not_disrupt,
        notes.deletion_cost,
        notes.disruption_cost,
    )


def _noted(notes: Notes) -> Rare:
    if notes is NO_NOTES:
        return NOTHING_RARE
    deletion, disruption = notes.deletion_cost or "", notes.disruption_cost or ""
    return Rare(do_not_disrupt=notes.do_not_disrupt, deletion_cost=deletion, disruption_cost=disruption)


def whole(raw: bytes | Raw) -> Fields:
    """A pod as plain maps, for `PodReader.untyped`."""
    return fields(msgspec.json.decode(raw))
