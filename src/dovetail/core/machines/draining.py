"""Which pods leave a machine's Node before it goes, and in what order.

Unlike a node of a pool, a machine's Node is drained by Cluster API's rules: by label and by turns, and never past the
API server's own refusal. Of a Node whose kubelet is silent, as that of a spot machine that was taken away, pods are
asked to go at once and not waited for, since nobody is left to end them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from dovetail.core.effects import Ref

LABEL: Final = "cluster.x-k8s.io/drain"
#: Pods of a silent node that should have been gone this long ago are gone, as far as anybody can know.
SILENT_SECONDS: Final = 1.0


class Manner(StrEnum):
    """What a pod's label asks for."""

    DRAIN = "drain"
    SKIP = "skip"
    WAIT = "wait-completed"


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod on a node, as far as draining cares. `deleting` is when it was asked to go."""

    ref: Ref
    daemon: bool = False
    mirror: bool = False
    finished: bool = False
    deleting: float | None = None
    manner: Manner = Manner.DRAIN
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Draining:
    """Whom to ask now, and whom to wait for; done when there is nobody."""

    ask: tuple[Pod, ...] = ()
    wait: tuple[Pod, ...] = ()

    @property
    def is_done(self) -> bool:
        return not self.ask and not self.wait


def manner_of(label: str | None) -> Manner:
    """A label nobody knows is none."""
    return next((one for one in (Manner.SKIP, Manner.WAIT) if str(one) == (label or "").lower()), Manner.DRAIN)


def judged(pods: Iterable[Pod], silent: bool, now: float) -> Draining:
    """The lowest turn there is goes first; whoever is going is waited for."""
    left = [one for one in pods if _counts(one, silent, now)]
    asked = [one for one in left if one.manner is Manner.DRAIN and one.deleting is None]
    first = min((one.turn for one in left if one.manner is Manner.DRAIN), default=0)
    return Draining(
        tuple(one for one in asked if one.turn == first),
        tuple(one for one in left if one not in asked or one.turn != first),
    )


def _counts(pod: Pod, silent: bool, now: float) -> bool:
    if silent and pod.deleting is not None and now - pod.deleting > SILENT_SECONDS:
        return False
    if pod.manner is Manner.WAIT and pod.finished:
        return False
    return not stays(pod)


def stays(pod: Pod) -> bool:
    """Whether it is there as long as its Node is."""
    return pod.mirror or pod.manner is Manner.SKIP or (pod.daemon and not pod.finished)
