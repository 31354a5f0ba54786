"""The cluster as the scheduler keeps it: nodes with the pods on them, and tallies of pods."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from dovetail.apiserver.controllers.controller import Seen
from dovetail.apiserver.controllers.index import PodRecord
from dovetail.apiserver.controllers.scheduling.nodes import NodeInfo, PodKey, node_info
from dovetail.apiserver.controllers.scheduling.shapes import PodShape, Reader
from dovetail.apiserver.controllers.scheduling.tallies import NamespaceLabels, Tallies

#: Answers kept at a time; each may list every node.
_MOST_ANSWERS: Final = 256


class Remembered:
    """Answers by question, forgotten all at once when there are too many."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] = {}

    def get(self, question: Hashable) -> Any:
        return self._known.get(question)

    def put(self, question: Hashable, answer: Any) -> None:
        if len(self._known) >= _MOST_ANSWERS:
            self._known.clear()
        self._known[question] = answer

    def clear(self) -> None:
        self._known.clear()


class Cluster:
    """Nodes by name. Pods on nodes nobody knows (yet) are kept aside."""

    def __init__(self, about: NamespaceLabels) -> None:
        self.reader = Reader()
        self.nodes: dict[str, NodeInfo] = {}
        self.tallies = Tallies(self.nodes, about)
        #: What depends on nodes' own labels and taints alone, by who asked; void when a node changes.
        self.remembered = Remembered()
        #: Where the search for a node begins next, so that nodes take turns.
        self.turn = 0
        self._placed: dict[PodKey, tuple[PodRecord, PodShape]] = {}
        self._stray: dict[str, set[PodKey]] = {}

    def node_changed(self, seen: Seen) -> bool:
        """Take a node's change in; says whether it could make room."""
        name = seen.item.name
        before = self.nodes.get(name)
        if seen.gone:
            self._drop(name)
            return False
        now = node_info(seen.obj)
        if before is None:
            self.remembered.clear()
            self.nodes[name] = now
            for key in self._stray.pop(name, ()):
                self._settle(now, key)
            return not now.going
        if before.offers() == now.offers():
            return False
        self.remembered.clear()
        before.labels, before.taints, before.allocatable = now.labels, now.taints, now.allocatable
        before.unschedulable, before.going = now.unschedulable, now.going
        return not now.going

    def _drop(self, name: str) -> None:
        node = self.nodes.get(name)
        if node is None:
            return
        self.remembered.clear()
        for key, pod in node.pods.items():
            self.tallies.take(name, key, pod)
            self._stray.setdefault(name, set()).add(key)
        del self.nodes[name]

    def put_pod(self, record: PodRecord, seen: Seen) -> bool:
        """A pod on a node; says whether it is new there, or looks different to others."""
        key = record.key
        known = self._placed.get(key)
        if known is not None and _looks(known[0]) == _looks(record):
            return False
        self.remove_pod(key)
        self._placed[key] = record, self.reader.read(seen.obj)
        node = self.nodes.get(record.node)
        if node is None:
            self._stray.setdefault(record.node, set()).add(key)
        else:
            self._settle(node, key)
        return True

    def _settle(self, node: NodeInfo, key: PodKey) -> None:
        record, shape = self._placed[key]
        node.put(key, shape)
        self.tallies.put(node.name, key, shape, record.going)

    def remove_pod(self, key: PodKey) -> bool:
        """A pod that is on no node; says whether it was on one."""
        found = self._placed.pop(key, None)
        if found is None:
            return False
        record, shape = found
        node = self.nodes.get(record.node)
        if node is None:
            self._stray.get(record.node, set()).discard(key)
            return False
        node.take(key)
        self.tallies.take(record.node, key, shape)
        return True


def _looks(record: PodRecord) -> tuple[object, ...]:
    """What of a placed pod matters to others: which one it is, its spec, its labels, and whether it goes."""
    return record.uid, record.node, record.generation, record.labels, record.going
