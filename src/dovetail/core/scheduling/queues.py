"""The pods that wait, by shape, in the order they are planned.

By priority, then the largest first; of equal size those that need a node without their like, then the oldest.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from dovetail.core.pods import Pod
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.families import Known
from dovetail.core.scheduling.tickets import Ticket

_age = attrgetter("created", "uid", "name")
_turn = attrgetter("known.turn")


class Queue:
    """The pods of one shape that still wait."""

    __slots__ = ("done", "known", "pods", "shape", "tickets")

    def __init__(self, known: Known, pods: list[Pod]) -> None:
        self.known = known
        self.shape = known.shape
        self.pods = pods
        self.done = 0
        #: What its pods ask, rung by rung, once somebody has looked.
        self.tickets: tuple[Ticket, ...] = ()

    @property
    def waiting(self) -> int:
        return len(self.pods) - self.done


def queues(compiled: Compiled, alike: Iterable[list[Pod]]) -> list[Queue]:
    """Pods by shape, in the order they are planned; `alike` are lists of pods that have the same one."""
    by_shape: dict[Known, Queue] = {}
    for pods in alike:
        known = compiled.known(pods[0].shape)
        queue = by_shape.get(known)
        if queue is None:
            by_shape[known] = Queue(known, pods)
        else:
            queue.pods = queue.pods + pods
    for queue in by_shape.values():
        if len(queue.pods) > 1:
            queue.pods = sorted(queue.pods, key=_age)
    # By age first, which they mostly are in already: sorting keeps the order of those whose turn is the same.
    return sorted(sorted(by_shape.values(), key=_oldest), key=_turn)


def _oldest(queue: Queue) -> tuple[float, str, str]:
    first = queue.pods[0]
    return (first.created, first.uid, first.key)
