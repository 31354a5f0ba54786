"""Draining: which pods must leave a node, in what order, and when asking politely is over (§2.11).

Pods leave in four waves: ordinary ones, then ordinary daemons, then critical ones, then critical daemons, each wave
when the one before is wholly gone. Where a saving leaves them only gaps, the largest of a wave go first, whichever node
they are on: a small pod in the only gap for a large one costs a machine. A deadline changes that: a pod whose own grace
would no longer fit before it is deleted at once, whatever its wave, and disruption budgets are not asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from dovetail.core.effects import Ref
from dovetail.core.resources import Resources

#: A pod that should have been gone this long ago is not waited for any more.
STUCK_SECONDS: Final = 60.0
#: A pod half as large is asked so many seconds later, and none later than the last.
_HALF_AS_LARGE: Final = 0.5
LAST_TURN: Final = 2.0
_MEASURES: Final = ("cpu", "memory")
CRITICAL: Final = frozenset({"system-cluster-critical", "system-node-critical"})


@dataclass(frozen=True, slots=True)
class DrainPod:
    """A pod on a node, as far as draining cares. `deleting` is when it should be gone, None if it is not going."""

    ref: Ref
    daemon: bool = False
    mirror: bool = False
    critical: bool = False
    tolerates: bool = False
    finished: bool = False
    deleting: float | None = None
    grace: float | None = None
    #: It carries do-not-disrupt, and the time it asks for is not over.
    protected: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """A pod to be evicted, and by when at the latest."""

    pod: DrainPod
    deadline: float | None = None


def is_drainable(pod: DrainPod, now: float) -> bool:
    stuck = pod.deleting is not None and now - pod.deleting > STUCK_SECONDS
    return not (pod.tolerates or stuck or pod.mirror)


def waiting(pods: Iterable[DrainPod], now: float) -> tuple[DrainPod, ...]:
    """The pods a node is kept for."""
    return tuple(one for one in pods if not one.finished and is_drainable(one, now))


def must_force(pod: DrainPod, deadline: float | None, now: float) -> bool:
    """Whether asking politely is over for this pod."""
    if deadline is None:
        return False
    if pod.deleting is not None:
        return pod.deleting > deadline
    return pod.grace is not None and now > deadline - pod.grace


def force_grace(deadline: float, now: float) -> int:
    """What is left of a pod's time, in whole seconds that do not reach past the deadline (a pod that would go later is
    forced anew); never none at all, so that its kubelet hears of it."""
    return max(math.floor(deadline - now), 1)


def requests(pods: Iterable[DrainPod], deadline: float | None, now: float) -> tuple[Request, ...]:
    """Whom to ask now: the first wave that is left, and from all waves those whose time is up."""
    left = waiting(pods, now)
    forced = [one for one in left if must_force(one, deadline, now)]
    polite = [one for one in left if one.deleting is None and not must_force(one, deadline, now)]
    first = min((_wave(one) for one in left if one not in forced), default=None)
    return tuple(Request(one, deadline) for one in (*forced, *(one for one in polite if _wave(one) == first)))


def turns(sizes: Sequence[Resources]) -> tuple[float, ...]:
    """In how many seconds it is the turn of each of these pods that leave together: of the largest at once."""
    most = {name: max(one.of(name) for one in sizes) for name in _MEASURES}
    shares = [max((one.of(name) / of for name, of in most.items() if of > 0), default=1.0) for one in sizes]
    return tuple(min(_HALF_AS_LARGE * -math.log2(share), LAST_TURN) if share > 0 else LAST_TURN for share in shares)


def _wave(pod: DrainPod) -> tuple[bool, bool]:
    return (pod.critical, pod.daemon)


def is_evictable(pod: DrainPod) -> bool:
    """Active, and nothing forbids it."""
    active = not pod.finished and pod.deleting is None
    return active and not (pod.tolerates or pod.mirror or pod.protected)
