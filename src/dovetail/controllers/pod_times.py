"""How long pods take: from being made, and from being seen here, to a decision, a node, and running (§5.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from dovetail.api.pod_stream import PodRecord
from dovetail.controllers.metrics import Metrics, Sample
from dovetail.core.pods import PodState
from dovetail.kube.store import Key

_DYNAMIC: Final = "dynamic_resources"
#: Nobody here plans pods with dynamic resources.
_PLAIN: Final = {_DYNAMIC: "false"}


@dataclass(slots=True)
class _Seen:
    at: float
    created: float
    decided: bool = False
    bound: bool = False


@dataclass(slots=True)
class PodTimes:
    """Follows every pod that was pending when it was first seen, until it runs or is gone."""

    metrics: Metrics
    now: Callable[[], float]
    _seen: dict[Key, _Seen] = field(default_factory=dict)

    def declare(self) -> None:
        """The pods that still wait, each with its time."""
        gauge, each = self.metrics.gauge, ("name", "namespace")
        gauge("pods_unstarted_time_seconds", "Pods not running, since they were made.", self._unstarted, *each)
        gauge("pods_unbound_time_seconds", "Pods without a node, since they were made.", self._unbound, *each, _DYNAMIC)
        gauge(
            "pods_provisioning_unbound_time_seconds",
            "Pods without a node, since seen here.",
            self._acked_unbound,
            *each,
            _DYNAMIC,
        )
        gauge("pods_provisioning_unstarted_time_seconds", "Pods not running, since seen here.", self._acked, *each)
        undecided = "pods_provisioning_scheduling_undecided_time_seconds"
        gauge(undecided, "Pods nobody has decided about, since seen here.", self._undecided, *each)

    def changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        """A listener of the pods."""
        if new is None:
            if old is not None:
                self._seen.pop(old.key, None)
            return
        known = self._seen.get(new.key)
        if known is None:
            if new.state is PodState.PENDING:
                self._seen[new.key] = _Seen(self.now(), new.created)
            return
        if new.node is not None and not known.bound:
            known.bound = True
            self._observe("pods_bound_duration_seconds", known.created, _PLAIN)
            self._observe("pods_provisioning_bound_duration_seconds", known.at, _PLAIN)
        if new.phase == "Running" and new.ready:
            self._observe("pods_startup_duration_seconds", known.created)
            self._observe("pods_provisioning_startup_duration_seconds", known.at)
            del self._seen[new.key]

    def decided(self, pods: Iterable[Key]) -> None:
        """It is known where these go, or that nobody can take them."""
        for key in pods:
            known = self._seen.get(key)
            if known is not None and not known.decided:
                known.decided = True
                self._observe("pods_scheduling_decision_duration_seconds", known.at)

    def _observe(self, metric: str, since: float, labels: dict[str, str] | None = None) -> None:
        self.metrics.observe(metric, labels or {}, max(0.0, self.now() - since))

    # ---- who still waits

    def _waiting(self, keep: Callable[[_Seen], bool], since: Callable[[_Seen], float]) -> Iterator[Sample]:
        now = self.now()
        for key, one in tuple(self._seen.items()):
            if keep(one):
                yield {"name": key[1], "namespace": key[0]}, max(0.0, now - since(one))

    def _unstarted(self) -> Iterator[Sample]:
        return self._waiting(lambda one: True, lambda one: one.created)

    def _acked(self) -> Iterator[Sample]:
        return self._waiting(lambda one: True, lambda one: one.at)

    def _unbound(self) -> Iterator[Sample]:
        return self._plain(self._waiting(lambda one: not one.bound, lambda one: one.created))

    def _acked_unbound(self) -> Iterator[Sample]:
        return self._plain(self._waiting(lambda one: not one.bound, lambda one: one.at))

    def _undecided(self) -> Iterator[Sample]:
        return self._waiting(lambda one: not one.decided, lambda one: one.at)

    @staticmethod
    def _plain(samples: Iterator[Sample]) -> Iterator[Sample]:
        return (({**labels, **_PLAIN}, value) for labels, value in samples)
