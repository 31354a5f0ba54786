"""Who leaves a node when, and with how much grace, so that everybody is gone before the machine is (R42, R44).

    began ──────────── force ──────────────── slice ─────── ends ── reserve ── deadline
      │ ordinary pods, asked politely │ … deleted │ critical pods      │ told to the API server │

Pods leave in waves: ordinary ones, those of a raised priority, critical ones. A wave begins when those before it are
gone, or when its share of the time has come. Where there is less than a minute the first two are one: waiting would
cost more than order is worth. Critical pods keep the last fifth. Nobody is given more grace than is left of the time
of its wave. After the force point disruption budgets are not asked any more: the machine goes anyway.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from dovetail.core.handler.policy import Policy
from dovetail.core.handler.standing import Task

#: Namespaces and classes of pods that others depend on until the end.
SYSTEM_NAMESPACES: Final = frozenset({"kube-system"})
CRITICAL_CLASSES: Final = frozenset({"system-cluster-critical", "system-node-critical"})
#: What critical pods keep of the time.
_CRITICAL_SHARE: Final = 0.2
#: When pods of a raised priority are asked at the latest, as a part of the time.
_RAISED_SHARE: Final = 0.3
#: With less time than this the first two waves are one.
_SHORT_SECONDS: Final = 60.0
#: So much later than it has to be a pod may go without being hurried: clocks differ.
_SLACK_SECONDS: Final = 1.0
DEFAULT_GRACE: Final = 30.0
_NOBODY: Final[Mapping[str, float]] = MappingProxyType({})


class Wave(IntEnum):
    ORDINARY = 0
    RAISED = 1
    CRITICAL = 2


@dataclass(frozen=True, slots=True)
class PodFacts:
    """A pod on the node. `deleting` is when it should be gone, None where nobody asked it to go."""

    name: str
    namespace: str = "default"
    uid: str = ""
    priority: int = 0
    priority_class: str = ""
    grace: float = DEFAULT_GRACE
    daemon: bool = False
    mirror: bool = False
    finished: bool = False
    deleting: float | None = None

    @property
    def wave(self) -> Wave:
        if self.namespace in SYSTEM_NAMESPACES or self.priority_class in CRITICAL_CLASSES:
            return Wave.CRITICAL
        return Wave.RAISED if self.priority > 0 else Wave.ORDINARY


@dataclass(frozen=True, slots=True)
class Ask:
    """A pod that is to go now. `grace` is None for its own; `force` goes past disruption budgets."""

    pod: PodFacts
    grace: int | None
    force: bool

    @property
    def seconds(self) -> float:
        """How long it may take to go."""
        return self.pod.grace if self.grace is None else float(self.grace)


@dataclass(frozen=True, slots=True)
class Window:
    """The time there is for a drain."""

    began: float
    ends: float

    @property
    def length(self) -> float:
        return max(0.0, self.ends - self.began)

    def at(self, share: float) -> float:
        return self.began + share * self.length


def window(task: Task, began: float, policy: Policy) -> Window:
    """From the first look to the deadline, less what is kept in reserve; never more than half of it is."""
    deadline = task.notice.deadline
    if deadline is None:
        return Window(began, began + policy.patience)
    return Window(began, deadline - min(policy.reserve, max(0.0, deadline - began) / 2))


def leaving(pods: Iterable[PodFacts]) -> tuple[PodFacts, ...]:
    """Those that have to go. Daemons would be put back at once, and what a kubelet runs of itself nobody can evict."""
    return tuple(one for one in pods if not (one.daemon or one.mirror or one.finished))


def asks(
    pods: Iterable[PodFacts], time: Window, policy: Policy, now: float, promised: Mapping[str, float] = _NOBODY
) -> tuple[Ask, ...]:
    """Whom to ask now. `promised` says by uid when those we asked before will be gone: the server's clock may differ
    from ours, and by its time a pod would be late again and again."""
    left = leaving(pods)
    force = now >= time.at(policy.force_after)
    found = []
    for pod in left:
        ends = _ends(pod, left, time)
        if pod.deleting is not None:
            if promised.get(pod.uid, pod.deleting) > ends + _SLACK_SECONDS:
                found.append(Ask(pod, _whole(ends - now), force=True))
        elif _is_open(pod.wave, left, time, now):
            found.append(Ask(pod, _fitted(pod, ends - now, policy), force))
    return tuple(found)


def _ends(pod: PodFacts, left: tuple[PodFacts, ...], time: Window) -> float:
    shared = pod.wave is not Wave.CRITICAL and any(one.wave is Wave.CRITICAL for one in left)
    return time.at(1.0 - _CRITICAL_SHARE) if shared else time.ends


def _is_open(wave: Wave, left: tuple[PodFacts, ...], time: Window, now: float) -> bool:
    if wave is Wave.ORDINARY or not any(one.wave < wave for one in left):
        return True
    if wave is Wave.RAISED:
        return time.length < _SHORT_SECONDS or now >= time.at(_RAISED_SHARE)
    return now >= time.at(1.0 - _CRITICAL_SHARE)


def _fitted(pod: PodFacts, remaining: float, policy: Policy) -> int | None:
    """What is left, or the pod's own grace where that is less."""
    wanted = pod.grace if policy.pod_grace is None else min(pod.grace, policy.pod_grace)
    fitted = min(wanted, max(1.0, remaining))
    return None if fitted >= pod.grace else _whole(fitted)


def _whole(seconds: float) -> int:
    """Never none at all: a pod without grace is forgotten before its kubelet hears of it."""
    return max(1, math.floor(seconds))
