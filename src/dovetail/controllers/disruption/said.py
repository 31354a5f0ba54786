"""What pods say about being moved, kept from one look to the next: only pods that changed are read again.

What all of them say depends on PodDisruptionBudgets, and on what a pod's form means; when one of those changes, all
are read anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dovetail.api.disruption.pods import PLACEHOLDER, PodReader
from dovetail.api.pod_stream import PodRecord
from dovetail.api.pods import Surroundings
from dovetail.controllers.buffers import Buffers
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.snapshots import Snapshots
from dovetail.core.disruption.facts import NO_FACTS, PodFacts
from dovetail.kube.store import Key


class Said:
    """Facts by pod, under the key that planning has for it."""

    def __init__(self, cluster: Cluster, snapshots: Snapshots, buffers: Buffers) -> None:
        self._cluster, self._snapshots, self._buffers = cluster, snapshots, buffers
        self._facts: dict[str, PodFacts] = {}
        self._changed: set[Key] = set()
        self._read: tuple[int, Surroundings, PodReader] | None = None

    def changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        held = new or old
        if held is not None:
            self._changed.add(held.key)

    def facts(self) -> Mapping[str, PodFacts]:
        """All that is said now. The map is ours and changes with the next call."""
        store = self._cluster.pods
        around, budgets = self._snapshots.surroundings(), self._cluster.budgets
        if self._read is None or self._read[0] != budgets.generation or self._read[1] is not around:
            self._read = (budgets.generation, around, PodReader(one.value for one in budgets))
            self._facts.clear()
            self._changed = {one.key for one in store}
        reader = self._read[2]
        for key in self._changed:
            self._look(reader, key, store.get(key[1], key[0]))
        self._changed.clear()
        virtual = {pod.key: PLACEHOLDER for pod in self._buffers.pods()}
        return {**self._facts, **virtual} if virtual else MappingProxyType(self._facts)

    def _look(self, reader: PodReader, key: Key, pod: PodRecord | None) -> None:
        name = f"{key[0]}/{key[1]}"
        found = NO_FACTS
        if pod is not None:
            found = reader.facts(pod.wire(self._cluster.drafts), self._snapshots.shape_of(pod))
        if found is NO_FACTS:
            self._facts.pop(name, None)
        else:
            self._facts[name] = found
