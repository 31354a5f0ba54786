"""The pods of a cluster: a few hundred bytes each, and what planning makes of them when it asks.

What a pod's form means may depend on other objects: volumes, priority and runtime classes, limit ranges. These arrive
on streams of their own, in any order, so nothing is looked up when a pod arrives. `pods` looks it up, for the
surroundings it is given, and remembers the answers until it is given others.
"""

from __future__ import annotations

import gc
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping
from typing import Final

import msgspec
from msgspec import Raw

from dovetail.api import pod_stream
from dovetail.api.pod_forms import StreamedPod
from dovetail.api.pod_stream import PodReader, PodRecord, Untyped
from dovetail.api.pod_wire import Drafts, PodWire
from dovetail.api.pods import Shapes, Surroundings
from dovetail.core.pods import Pod
from dovetail.kube import decoding
from dovetail.kube.decoding import NO_OBJECT, Event, PeekedEvent, WireEvent
from dovetail.kube.store import Index, Key, Store

NODE: Final = "node"
NOMINATED: Final = "nominated"
#: So many drafts nobody uses any more are not worth reading the others anew.
_SPARE_DRAFTS: Final = 4096


class PodCodec:
    """Streamed pods as records; a pod that is not typed as pods are is read as one in a file would be."""

    def __init__(self, reader: PodReader) -> None:
        self._reader = reader
        self._item = msgspec.json.Decoder(StreamedPod).decode
        self._event = msgspec.json.Decoder(WireEvent[StreamedPod]).decode

    def item(self, raw: bytes | Raw) -> PodRecord:
        try:
            return self._reader.record(self._item(raw))
        except (msgspec.ValidationError, Untyped):
            return self._reader.untyped(pod_stream.whole(raw))

    def event(self, line: bytes) -> Event[PodRecord]:
        try:
            found = self._event(line)
            pod = found.object
            if found.type in NO_OBJECT:
                return found.type, pod.metadata.resource_version, None
            return found.type, pod.metadata.resource_version, self._reader.record(pod)
        except (msgspec.ValidationError, Untyped):
            return self._untyped(decoding.peek(line))

    def _untyped(self, found: PeekedEvent) -> Event[PodRecord]:
        if found.type in NO_OBJECT:
            return found.type, decoding.peek_object(found.object).metadata.resource_version, None
        version = decoding.peek_object(found.object).metadata.resource_version
        return found.type, version, self._reader.untyped(pod_stream.whole(found.object))


def by_node(pod: PodRecord) -> Iterable[Hashable]:
    return () if pod.node is None else (pod.node,)


def by_nominated(pod: PodRecord) -> Iterable[Hashable]:
    return () if not pod.rare.nominated else (pod.rare.nominated,)


def by_owner(pod: PodRecord) -> Iterable[Hashable]:
    return ((pod.form.namespace, pod.owner),) if pod.owner.kind else ()


class PodStore(Store[PodRecord]):
    """Pods by name, by node, by the node whose name they wait with, and by whatever else is asked for:
    `PodStore(indexes={"owner": by_owner})`."""

    def __init__(self, by_owner: bool = False, indexes: Mapping[str, Index[PodRecord]] | None = None) -> None:
        """`by_owner`: default spread constraints are in force, so who owns a pod matters for its place."""
        super().__init__({NODE: by_node, NOMINATED: by_nominated, **(indexes or {})})
        self.reader = PodReader(by_owner)
        self.codec = PodCodec(self.reader)
        self._by_owner = by_owner
        self._drafts = Drafts(by_owner)
        self._shapes: tuple[Surroundings, Shapes] | None = None
        self._made: dict[Key, Pod] = {}
        self._stale: set[Key] | None = None

    def on_node(self, node: str) -> list[PodRecord]:
        return self.by(NODE, node)

    def nominated(self, node: str) -> list[PodRecord]:
        return self.by(NOMINATED, node)

    def stranded(self, nodes: Container[str]) -> Iterator[PodRecord]:
        """The pods that wait with the name of a node that is none of these."""
        return (one for node in self.values(NOMINATED) if node not in nodes for one in self.nominated(str(node)))

    def wires(self) -> Iterator[PodWire]:
        """Every pod as one read from a file."""
        drafts = self._current_drafts()
        return (one.wire(drafts) for one in self)

    def made(self, around: Surroundings) -> Mapping[Key, Pod]:
        """Every pod as planning sees it; what is returned changes with the next look.

        `around` is taken to mean the same for as long as it is the same object. Only pods that changed since the last
        time are made anew.
        """
        drafts = self._current_drafts()
        if self._shapes is None or self._shapes[0] is not around:
            self._shapes = (around, Shapes(around))
            self._made.clear()
            self._stale = None
        self._make(self._shapes[1], drafts)
        return self._made

    def _make(self, shapes: Shapes, drafts: Drafts) -> None:
        if self._stale is None:
            self._made = {key: shapes.pod(one.wire(drafts)) for key, one in self._held.items()}
        else:
            for key in self._stale:
                one = self._held.get(key)
                if one is None:
                    self._made.pop(key, None)
                else:
                    self._made[key] = shapes.pod(one.wire(drafts))
        self._stale = set()

    def _current_drafts(self) -> Drafts:
        """Drafts are found by what they say and outlive their pods; when most have, all are forgotten."""
        if len(self._drafts) > 2 * len(self.reader.forms) + _SPARE_DRAFTS:
            self._drafts = Drafts(self._by_owner)
            self._shapes = None
            for form in list(self.reader.forms.values()):
                form.read = None
        return self._drafts

    def _change(self, key: Key, old: PodRecord | None, new: PodRecord | None) -> None:
        if self._stale is not None:
            self._stale.add(key)
        super()._change(key, old, new)


def freeze() -> None:
    """Take everything there is now out of the collector's sight: to be called once, when all stores are filled.

    What was read first stays for as long as the process, mostly; looking through it again and again is what makes the
    collector stop the program for long.
    """
    gc.collect()
    gc.freeze()
