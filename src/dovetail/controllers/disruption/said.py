"""What pods say about being moved, kept from one look to the next: only pods that changed are read again.

What all of them say depends on PodDisruptionBudgets, and on what a pod's form means; when one of those changes, all
are read anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dovetail.api.disruption.pods import PLACEHOLDER, PodReader
from dovetail.api.pod_stream import PodRecord
from dovetail.api.pods import Surroundings
from dovetail.controllers.buffers import Buffers
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.snapshots import Snapshots
from dovetail.core.disruption.facts import NO_FACTS, PodFacts
from dovetail.kube.store import Key

#: What pods have said that are gone may be kept of so many, and of twice as many as there are.
SPARE: Final = 10_000


class Said:
    """Facts by pod, under the key that planning has for it."""

    def __init__(self, cluster: Cluster, snapshots: Snapshots, buffers: Buffers) -> None:
        self._cluster, self._snapshots, self._buffers = cluster, snapshots, buffers
        self._changed: set[Key] = set()
        #: The last map that was handed out, and the placeholders in it.
        self._handed: Mapping[str, PodFacts] = MappingProxyType({})
        self._virtual: frozenset[str] = frozenset()
        self._read: tuple[int, Surroundings, PodReader] | None = None

    def changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        held = new or old
        if held is not None:
            self._changed.add(held.key)

    def facts(self) -> Mapping[str, PodFacts]:
        """All that is said now. What was handed out stays as it is: passes are compared with one another, and read it
        beside the event loop; while nothing changes it is the same map."""
        store = self._cluster.pods
        around, budgets = self._snapshots.surroundings(), self._cluster.budgets
        reader = self._reader(budgets.generation, around)
        virtual = frozenset(pod.key for pod in self._buffers.pods())
        if reader is not None and not self._changed and virtual == self._virtual:
            return self._handed
        if reader is None:
            reader = PodReader(one.value for one in budgets)
            self._read = (budgets.generation, around, reader)
            self._changed = {one.key for one in store}
            facts: dict[str, PodFacts] = {}
        else:
            facts = dict(self._handed)
            self._changed.update(_key(name) for name in self._virtual - virtual)
        for key in self._changed:
            self._look(facts, reader, key, store.get(key[1], key[0]))
        self._changed.clear()
        facts.update(dict.fromkeys(virtual, PLACEHOLDER))
        self._virtual, self._handed = virtual, MappingProxyType(facts)
        return self._handed

    def _reader(self, generation: int, around: Surroundings) -> PodReader | None:
        """Who read before, if that still counts. Jobs come and go and each says something of its own: a reader that
        holds more of what pods long gone have said than there are pods is given up, too."""
        if self._read is None or self._read[0] != generation or self._read[1] is not around:
            return None
        reader = self._read[2]
        return reader if len(reader) <= SPARE + 2 * len(self._cluster.pods) else None

    def _look(self, facts: dict[str, PodFacts], reader: PodReader, key: Key, pod: PodRecord | None) -> None:
        name = f"{key[0]}/{key[1]}"
        found = NO_FACTS
        if pod is not None:
            found = reader.facts(pod.wire(self._cluster.drafts), self._snapshots.shape_of(pod))
        if found is NO_FACTS:
            facts.pop(name, None)
        else:
            facts[name] = found


def _key(name: str) -> Key:
    namespace, _, pod = name.partition("/")
    return namespace, pod
