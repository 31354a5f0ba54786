"""Conditions as they turn: how often, and how long each status lasted (§5.3)."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from dovetail.controllers.cluster import Cluster
from dovetail.controllers.metrics import Metrics
from dovetail.core import conditions
from dovetail.core.conditions import Conditions

#: Half a second to more than two hours, doubling.
BUCKETS: Final = tuple(0.5 * 2**power for power in range(15))
KINDS: Final = ("nodeclaim", "nodepool", "node", "capacitybuffer")


def declare(metrics: Metrics) -> None:
    for kind in KINDS:
        name = f"operator_{kind}_status_condition"
        metrics.counter(f"{name}_transitions_total", f"Conditions of {kind}s that turned.", *_TURNED, prefix="")
        about = f"How long a condition of a {kind} had the status before."
        metrics.histogram(f"{name}_transition_seconds", about, "type", "status", buckets=BUCKETS, prefix="")
        gone = f"operator_{kind}_termination_duration_seconds"
        metrics.histogram(gone, f"From deletion until a {kind} is gone.", buckets=BUCKETS, prefix="")


_TURNED: Final = ("type", "status", "reason")


class Transitions:
    """Listens to every kind whose conditions are counted."""

    def __init__(self, cluster: Cluster, metrics: Metrics) -> None:
        self._cluster, self._metrics = cluster, metrics

    def listen(self) -> None:
        one = self._cluster
        one.claims.listen(partial(self._changed, "nodeclaim"))
        one.pools.listen(partial(self._changed, "nodepool"))
        one.nodes.listen(partial(self._changed, "node"))
        if one.buffers is not None:
            one.buffers.listen(partial(self._changed, "capacitybuffer"))

    def _changed(self, kind: str, old: Any, new: Any) -> None:
        if new is None:
            if old is not None and old.value.meta.deleting is not None:
                lasted = max(0.0, self._cluster.time.now() - old.value.meta.deleting)
                self._metrics.observe(f"operator_{kind}_termination_duration_seconds", {}, lasted)
            return
        before, after = _held(old), _held(new)
        if before is not after and before != after:
            self._turned(kind, before, after)

    def _turned(self, kind: str, before: Conditions, after: Conditions) -> None:
        for one in after:
            was = conditions.found(before, one.type)
            if was is not None and was.status is one.status:
                continue
            told = {"type": one.type, "status": str(one.status)}
            name = f"operator_{kind}_status_condition"
            self._metrics.count(f"{name}_transitions_total", {**told, "reason": one.reason})
            if was is not None:
                self._metrics.observe(f"{name}_transition_seconds", told, max(0.0, one.since - was.since))


def _held(stored: Any) -> Conditions:
    if stored is None:
        return ()
    found = stored.value.told.conditions if hasattr(stored.value, "told") else stored.value.conditions
    return tuple(found)
