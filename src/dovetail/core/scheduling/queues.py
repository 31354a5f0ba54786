"""The pods that wait, by shape, in the order they are planned.

By priority, then the largest first; of equal size those that need a node without their like, then the oldest.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from dovetail.core.pods import Pod, Shape
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.families import Known
from dovetail.core.scheduling.tickets import Ticket

_age = attrgetter("created", "uid", "name")


class Queue:
    """The pods of one shape that still wait."""

    __slots__ = ("done", "known", "pods", "tickets")

    def __init__(self, known: Known, pods: list[Pod]) -> None:
        self.known = known
        self.pods = pods
        self.done = 0
        #: What its pods ask, rung by rung, once somebody has looked.
        self.tickets: tuple[Ticket, ...] = ()

    @property
    def shape(self) -> Shape:
        return self.known.shape

    @property
    def waiting(self) -> int:
        return len(self.pods) - self.done


def queues(compiled: Compiled, pods: Iterable[Pod]) -> list[Queue]:
    """Pods by shape, in the order they are planned."""
    by_identity: dict[int, list[Pod]] = {}
    for pod in pods:
        found = by_identity.get(id(pod.shape))
        if found is None:
            by_identity[id(pod.shape)] = [pod]
        else:
            found.append(pod)
    by_shape: dict[Known, Queue] = {}
    for found in by_identity.values():
        known = compiled.known(found[0].shape)
        queue = by_shape.get(known)
        if queue is None:
            by_shape[known] = Queue(known, found)
        else:
            queue.pods += found
    for queue in by_shape.values():
        if len(queue.pods) > 1:
            queue.pods.sort(key=_age)
    return sorted(by_shape.values(), key=_turn)


def _turn(queue: Queue) -> tuple[tuple[int, int, int, bool], float, str, str]:
    first = queue.pods[0]
    return (queue.known.turn, first.created, first.uid, first.key)
