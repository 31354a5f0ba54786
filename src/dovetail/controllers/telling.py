"""Events and metrics: what people and dashboards hear of what is done."""

from __future__ import annotations

from typing import Final

from dovetail.api import kinds
from dovetail.controllers.metrics import Metrics
from dovetail.core.effects import Count, Observe, Say
from dovetail.kube.events import About, Event, Importance, Limit, Recorder

_KINDS: Final = {
    one.name: one for one in (kinds.NODE_CLAIMS, kinds.NODES, kinds.PODS, kinds.NODE_POOLS, kinds.NODE_OVERLAYS)
}
_LIMITS: Final = {"Nominated": Limit(5.0, 10), "InsufficientCapacityError": Limit(5.0, 10)}


class Telling:
    def __init__(self, recorder: Recorder, metrics: Metrics) -> None:
        self._recorder, self.metrics = recorder, metrics

    async def run(self) -> None:
        await self._recorder.run()

    def say(self, event: Say) -> None:
        about = event.about
        self._recorder.publish(
            Event(
                About(_KINDS[about.kind], about.name, about.namespace, about.uid),
                event.reason,
                event.message,
                Importance.WARNING if event.warning else Importance.NORMAL,
                event.dedupe or None,
                event.quiet_seconds,
                _LIMITS.get(event.reason) if about.kind == "Pod" else None,
            )
        )

    def count(self, one: Count) -> None:
        self.metrics.count(one.metric, one.labels, one.amount)

    def observe(self, one: Observe) -> None:
        self.metrics.observe(one.metric, one.labels, one.value)
