"""Where the pods of nodes that are being given up will go.

From the moment a node is marked its pods are spoken for: some have a place on a node that is there, others on a machine
that is still to be ordered. Planning must neither order anything for them nor give their places away, so the snapshot
shows them where they are going. A move is over when its pod has left its node.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dovetail.api.pod_stream import PodRecord
from dovetail.core.pods import Pod
from dovetail.kube.store import Key


@dataclass(frozen=True, slots=True)
class Move:
    """One pod's way: from its node to another, or to a claim; "" while that is not written down yet."""

    uid: str
    origin: str
    target: str = ""


class Moves:
    """By pod, and how many by target."""

    def __init__(self) -> None:
        self._moves: dict[Key, Move] = {}
        self._targets: dict[str, int] = {}
        #: Claims that were ordered for a command, whether or not a pod goes there.
        self._ordered: set[str] = set()

    def __len__(self) -> int:
        return len(self._moves)

    def get(self, pod: Key) -> Move | None:
        return self._moves.get(pod)

    def is_target(self, name: str) -> bool:
        """Whether a node or claim is expected to take pods over."""
        return name in self._targets or name in self._ordered

    def plan(self, pods: Iterable[Pod], target: str = "") -> None:
        """These pods are to leave their nodes; where to, once that is known."""
        for pod in pods:
            if pod.node is not None:
                self._put((pod.namespace, pod.name), Move(pod.uid, pod.node, target))

    def order(self, claim: str) -> None:
        """A claim of ours was written down."""
        self._ordered.add(claim)

    def _put(self, key: Key, move: Move) -> None:
        self.drop(key)
        self._moves[key] = move
        if move.target:
            self._targets[move.target] = self._targets.get(move.target, 0) + 1

    def drop(self, key: Key) -> None:
        known = self._moves.pop(key, None)
        if known is None or not known.target:
            return
        left = self._targets[known.target] - 1
        if left:
            self._targets[known.target] = left
        else:
            del self._targets[known.target]

    def cancel(self, pods: Iterable[Pod]) -> None:
        """These pods stay where they are."""
        for pod in pods:
            self.drop((pod.namespace, pod.name))

    def forget(self, claim: str) -> None:
        """A claim is gone, or needs no more looking after: pods that were to go there have no place any more."""
        self._ordered.discard(claim)

    def changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        """A pod that is gone, told to go, or another of the same name has no move to make any more."""
        held = new or old
        if held is None:
            return
        known = self._moves.get(held.key)
        if known is None:
            return
        # One of a StatefulSet comes back under its name, and its place has to wait for that.
        going = new is not None and bool(new.rare.deletion) and new.owner.kind != "StatefulSet"
        if new is None or new.uid != known.uid or new.node != known.origin or going:
            self.drop(held.key)
