"""Who goes where, for as long as that is only a plan.

A pod that was planned onto a claim or a node waits until the scheduler binds it. Meanwhile it must not be planned
again, and its room must not be given away; so the snapshot shows it as if it ran there already. That ends when it is
bound or gone, when what it was planned onto is gone, or when the scheduler had the time to bind it and did not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from dovetail.kube.store import Key

#: How long a node that is ready has before its pods are planned anew.
LEAST_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Nomination:
    """A pod's place. `until` is None while the machine comes up: its own time-outs bound that."""

    pod: Key
    uid: str
    target: str
    until: float | None = None


class Nominations:
    """By pod, and by what they were planned onto: a claim's name, or a Node's."""

    def __init__(self, window: float = LEAST_SECONDS) -> None:
        """`window` is what a ready node has: twice the longest batch, and never less than ten seconds."""
        self.window = max(window, LEAST_SECONDS)
        self._by_pod: dict[Key, Nomination] = {}
        self._by_target: dict[str, set[Key]] = {}

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

    def nominate(self, pods: Iterable[tuple[Key, str]], target: str, until: float | None) -> None:
        for key, uid in pods:
            self.drop(key)
            self._by_pod[key] = Nomination(key, uid, target, until)
            self._by_target.setdefault(target, set()).add(key)

    def drop(self, pod: Key) -> None:
        known = self._by_pod.pop(pod, None)
        if known is not None:
            held = self._by_target[known.target]
            held.discard(pod)
            if not held:
                del self._by_target[known.target]

    def drop_target(self, target: str) -> tuple[Nomination, ...]:
        """The target is gone: its pods have to be planned anew."""
        lost = self.on(target)
        for one in lost:
            self.drop(one.pod)
        return lost

    def ready(self, target: str, now: float) -> None:
        """The machine is up: from now on its pods have `window` seconds to be bound."""
        for one in self.on(target):
            if one.until is None:
                self._by_pod[one.pod] = Nomination(one.pod, one.uid, one.target, now + self.window)

    def lapsed(self, now: float) -> tuple[Nomination, ...]:
        """Drop and return what the scheduler had its time for."""
        over = tuple(one for one in self._by_pod.values() if one.until is not None and one.until <= now)
        for one in over:
            self.drop(one.pod)
        return over
