"""What the handler says of itself: metrics for those who count, events on the Node for those who ask why."""

from __future__ import annotations

import logging
from typing import Final

from dovetail import __version__
from dovetail.api.kinds import NODES
from dovetail.controllers.metrics import Metrics
from dovetail.core.handler.marks import NodeFacts
from dovetail.core.handler.notices import Notice
from dovetail.kube.events import About, Event, Importance, Recorder

PREFIX: Final = "dovetail_"
COMPONENT: Final = "dovetail-handler"
#: Seconds; what clouds give runs from half a minute to a quarter of an hour.
_TIMES: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 60.0, 90.0, 120.0, 300.0, 900.0)
_log: Final = logging.getLogger(__name__)


class Telling:
    """Counts, events and log lines. `recorder` is None where events are not wanted."""

    def __init__(self, cloud: str = "", recorder: Recorder | None = None) -> None:
        self.cloud, self.recorder = cloud, recorder
        self.metrics = Metrics()
        _declare(self.metrics)

    def count(self, name: str, amount: float = 1.0, **labels: str) -> None:
        self.metrics.count(name, labels, amount)

    def metadata_failed(self, source: str) -> None:
        self.count("metadata_errors_total", cloud=self.cloud, source=source)

    def noticed(self, notice: Notice, now: float) -> None:
        self.count("termination_notices_total", cloud=self.cloud, kind=str(notice.kind))
        if notice.deadline is not None:
            self.metrics.observe("termination_notice_lead_seconds", {"cloud": self.cloud}, notice.deadline - now)

    def drained(self, seconds: float) -> None:
        self.metrics.observe("termination_drain_seconds", {"cloud": self.cloud}, seconds)

    def say(self, node: NodeFacts, reason: str, message: str, *, warning: bool = False) -> None:
        """One sentence, in the log and as an event."""
        _log.log(logging.WARNING if warning else logging.INFO, "%s", message)
        if self.recorder is not None:
            importance = Importance.WARNING if warning else Importance.NORMAL
            self.recorder.publish(Event(About(NODES, node.name, uid=node.uid), reason, message, importance))


def _declare(metrics: Metrics) -> None:
    def counter(name: str, help_: str, *labels: str) -> None:
        metrics.counter(name, help_, *labels, prefix=PREFIX)

    def histogram(name: str, help_: str, *labels: str) -> None:
        metrics.histogram(name, help_, *labels, buckets=_TIMES, prefix=PREFIX)

    counter("termination_notices_total", "Notices seen, by what they announce.", "cloud", "kind")
    counter("termination_actions_total", "What was done about them.", "action", "status")
    counter("termination_pods_evicted_total", "Pods that were asked to leave and did not refuse.")
    counter("termination_pods_deleted_total", "Pods that were deleted, past disruption budgets or with less grace.")
    counter("termination_pods_left_total", "Pods still there when the time was over.")
    counter("metadata_errors_total", "Questions the metadata server did not answer.", "cloud", "source")
    histogram("termination_drain_seconds", "From the first look at a notice until the node was empty.", "cloud")
    histogram("termination_notice_lead_seconds", "What was left of a notice when it was first seen.", "cloud")
    build = {"version": __version__}
    metrics.gauge("handler_build_info", "What runs here.", lambda: [(build, 1.0)], "version", prefix=PREFIX)
