"""Who goes where, for as long as that is only a plan.

A pod that was planned onto a claim or a node waits until the scheduler binds it. Meanwhile it must not be planned
again, and its room must not be given away; so the snapshot shows it as if it ran there already. That ends when it is
bound or gone, when what it was planned onto is gone, or when the scheduler had the time to bind it and did not.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from dovetail.kube.store import Key

#: How long a node that is ready has before its pods are planned anew.
LEAST_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Nomination:
    """A pod's place. `until` is None while the machine comes up: its own time-outs bound that. `fixed` is one whose
    place others could not do as well."""

    pod: Key
    uid: str
    target: str
    until: float | None = None
    fixed: bool = False


class Nominations:
    """By pod, and by what they were planned onto: a claim's name, or a Node's."""

    def __init__(self, window: float = LEAST_SECONDS) -> None:
        """`window` is what a ready node has: twice the longest batch, and never less than ten seconds."""
        self.window = max(window, LEAST_SECONDS)
        self._by_pod: dict[Key, Nomination] = {}
        self._by_target: dict[str, set[Key]] = {}
        self._coming = 0
        self._progress = 0.0

    @property
    def coming(self) -> bool:
        """Whether some pod's machine is not up yet."""
        return self._coming > 0

    def __len__(self) -> int:
        return len(self._by_pod)

    def __iter__(self) -> Iterator[Nomination]:
        return iter(self._by_pod.values())

    def get(self, pod: Key) -> Nomination | None:
        return self._by_pod.get(pod)

    def on(self, target: str) -> tuple[Nomination, ...]:
        return tuple(self._by_pod[key] for key in sorted(self._by_target.get(target, ())))

    def is_target(self, target: str) -> bool:
        return bool(self._by_target.get(target))

    def is_fixed(self, target: str) -> bool:
        """Whether a pod is to go just there, and not as well elsewhere."""
        return any(self._by_pod[key].fixed for key in self._by_target.get(target, ()))

    def is_expected(self, target: str, now: float) -> bool:
        """Whether a pod is on its way there whose time is not over."""
        held = (self._by_pod[key].until for key in self._by_target.get(target, ()))
        return any(until is None or until > now for until in held)

    def nominate(
        self,
        pods: Iterable[tuple[Key, str]],
        target: str,
        until: float | None,
        fixed: Container[str] = frozenset(),
    ) -> None:
        """`fixed` are uids."""
        for key, uid in pods:
            self.drop(key)
            self._put(Nomination(key, uid, target, until, uid in fixed))
            self._by_target.setdefault(target, set()).add(key)

    def _put(self, one: Nomination) -> None:
        self._by_pod[one.pod] = one
        self._coming += one.until is None

    def drop(self, pod: Key) -> bool:
        """Whether it was nominated."""
        known = self._by_pod.pop(pod, None)
        if known is not None:
            self._coming -= known.until is None
            held = self._by_target[known.target]
            held.discard(pod)
            if not held:
                del self._by_target[known.target]
        return known is not None

    def drop_target(self, target: str) -> tuple[Nomination, ...]:
        """The target is gone: its pods have to be planned anew."""
        lost = self.on(target)
        for one in lost:
            self.drop(one.pod)
        return lost

    def ready(self, target: str, now: float) -> bool:
        """The machine is up: from now on its pods have `window` seconds to be bound. Whether that was news to any."""
        waiting = [one for one in self.on(target) if one.until is None]
        for one in waiting:
            self._coming -= 1
            self._put(replace(one, until=now + self.window))
        return bool(waiting)

    def progressed(self, now: float) -> None:
        """The scheduler bound one of these pods: it is at it, and the others' turn may still come."""
        self._progress = now

    def lapsed(self, now: float) -> tuple[Nomination, ...]:
        """Drop and return what the scheduler had its time for: twice as long again while it binds others."""
        limit = now - 2 * self.window if 0 <= now - self._progress < LEAST_SECONDS else now
        over = tuple(one for one in self._by_pod.values() if one.until is not None and one.until <= limit)
        for one in over:
            self.drop(one.pod)
        return over
