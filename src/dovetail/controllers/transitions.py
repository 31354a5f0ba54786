"""Conditions as they turn: told, counted, and how long each status lasted (§5.3, §5.4).

For each kind there are series of its own, and one more set for all of them together, which older dashboards read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from typing import Any, Final, Protocol

from dovetail.api import kinds
from dovetail.api.fields import Fields
from dovetail.api.live import classes
from dovetail.api.live.classes import ClassRecord
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.metrics import Metrics
from dovetail.core import conditions
from dovetail.core.conditions import Condition, Conditions, Status
from dovetail.core.effects import Ref, Say
from dovetail.core.nodeclaims import INITIALIZED, LAUNCHED, REGISTERED
from dovetail.kube.decoding import Stored

#: Half a second to more than two hours, doubling.
BUCKETS: Final = tuple(0.5 * 2**power for power in range(15))
KINDS: Final = {
    "nodeclaim": kinds.NODE_CLAIMS,
    "nodepool": kinds.NODE_POOLS,
    "node": kinds.NODES,
    "capacitybuffer": kinds.CAPACITY_BUFFERS,
    "ec2nodeclass": kinds.EC2_NODE_CLASSES,
}
FINALIZED: Final = "Finalized"
_MILESTONES: Final = (LAUNCHED, REGISTERED, INITIALIZED)
_log: Final = logging.getLogger(__name__)
_TURNED: Final = ("type", "status", "reason")
_OF: Final = ("group", "kind")
_ALL: Final = "operator_status_condition"
_ALL_GONE: Final = "operator_termination_duration_seconds"


def declare(metrics: Metrics) -> None:
    for kind in KINDS:
        name = f"operator_{kind}_status_condition"
        metrics.counter(f"{name}_transitions_total", f"Conditions of {kind}s that turned.", *_TURNED, prefix="")
        about = f"How long a condition of a {kind} had the status before."
        metrics.histogram(f"{name}_transition_seconds", about, "type", "status", buckets=BUCKETS, prefix="")
        gone = f"operator_{kind}_termination_duration_seconds"
        metrics.histogram(gone, f"From deletion until a {kind} is gone.", buckets=BUCKETS, prefix="")
    metrics.counter(f"{_ALL}_transitions_total", "Conditions that turned.", *_OF, *_TURNED, prefix="")
    lasted = "How long a condition had the status before."
    metrics.histogram(f"{_ALL}_transition_seconds", lasted, *_OF, "type", "status", buckets=BUCKETS, prefix="")
    metrics.histogram(_ALL_GONE, "From deletion until an object is gone.", *_OF, buckets=BUCKETS, prefix="")


class Ears(Protocol):
    metrics: Metrics

    def say_turn(self, event: Say) -> None: ...


class Transitions:
    """Listens to every kind whose conditions are counted. A dry run tells nobody of what others do."""

    def __init__(self, cluster: Cluster, ears: Ears, quiet: bool = False) -> None:
        self._cluster, self._ears, self._quiet = cluster, ears, quiet

    def listen(self) -> None:
        one = self._cluster
        one.claims.listen(partial(self._changed, "nodeclaim"))
        one.pools.listen(partial(self._changed, "nodepool"))
        one.nodes.listen(partial(self._changed, "node"))
        if one.buffers is not None:
            one.buffers.listen(partial(self._changed, "capacitybuffer"))
        for kind, store in one.classes.items():
            name = next((name for name, known in KINDS.items() if known is kind), None)
            if name is not None:
                store.listen(partial(self._class_changed, name))

    def _class_changed(self, kind: str, old: Stored[Fields] | None, new: Stored[Fields] | None) -> None:
        self._changed(kind, _record(old), _record(new))

    def _changed(self, kind: str, old: Any, new: Any) -> None:
        if old is not None and old.value.meta.deleting is not None:
            self._finalized(kind, old, new)
        if new is None:
            return
        before, after = _held(old), _held(new)
        if before is not after and before != after:
            for was, one in _turned(before, after):
                if kind == "nodeclaim" and one.type in _MILESTONES and one.status is Status.TRUE:
                    _log.info("NodeClaim %s: %s", new.key[1], one.type)
                self._count(kind, was, one)
                self._tell(kind, new, was, one)

    def _count(self, kind: str, was: Condition | None, one: Condition) -> None:
        metrics, of = self._ears.metrics, _of(kind)
        told = {"type": one.type, "status": str(one.status)}
        name = f"operator_{kind}_status_condition"
        metrics.count(f"{name}_transitions_total", {**told, "reason": one.reason})
        metrics.count(f"{_ALL}_transitions_total", {**of, **told, "reason": one.reason})
        if was is not None:
            lasted = max(0.0, one.since - was.since)
            metrics.observe(f"{name}_transition_seconds", told, lasted)
            metrics.observe(f"{_ALL}_transition_seconds", {**of, **told}, lasted)

    def _tell(self, kind: str, held: Any, was: Condition | None, one: Condition) -> None:
        """A condition of ours begins as Unknown, written down or not. A Node's others are its kubelet's: what they
        begin with is no news."""
        before = Status.UNKNOWN if was is None and kind != "node" else was.status if was is not None else one.status
        if self._quiet or before is one.status:
            return
        why = f", Message: {one.message}" if one.message else ""
        said = f"Status condition transitioned, Type: {one.type}, Status: {before} -> {one.status}"
        self._ears.say_turn(Say(_ref(kind, held), one.type, f"{said}, Reason: {one.reason}{why}"))

    def _finalized(self, kind: str, old: Any, new: Any) -> None:
        """An object that goes lost finalizers, the last of them with itself."""
        left = new.value.meta.finalizers if new is not None else ()
        for one in old.value.meta.finalizers:
            if one not in left and not self._quiet:
                self._ears.say_turn(Say(_ref(kind, old), FINALIZED, f"Finalized {one}"))
        if new is None:
            _log.info("%s %s is gone", KINDS[kind].name, old.key[1])
            lasted = max(0.0, self._cluster.time.now() - old.value.meta.deleting)
            self._ears.metrics.observe(f"operator_{kind}_termination_duration_seconds", {}, lasted)
            self._ears.metrics.observe(_ALL_GONE, _of(kind), lasted)


def _record(stored: Stored[Fields] | None) -> Stored[ClassRecord] | None:
    if stored is None:
        return None
    return Stored(stored.key, stored.uid, stored.version, classes.read(stored.value.wire))


def _turned(before: Conditions, after: Conditions) -> Iterator[tuple[Condition | None, Condition]]:
    for one in after:
        was = conditions.found(before, one.type)
        if was is None or was.status is not one.status:
            yield was, one


def _of(kind: str) -> dict[str, str]:
    return {"group": KINDS[kind].group, "kind": KINDS[kind].name}


def _ref(kind: str, held: Any) -> Ref:
    return Ref(KINDS[kind].name, held.key[1], held.uid, held.key[0])


def _held(stored: Any) -> Conditions:
    if stored is None:
        return ()
    found = stored.value.told.conditions if hasattr(stored.value, "told") else stored.value.conditions
    return tuple(found)
