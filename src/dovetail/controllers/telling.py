"""Events and metrics: what people and dashboards hear of what is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dovetail.api import kinds
from dovetail.controllers.metrics import Metrics
from dovetail.core.effects import Count, Observe, Say
from dovetail.kube.events import About, Dropped, Event, Importance, Limit, Recorder

_KINDS: Final = {
    one.name: one
    for one in (
        *(kinds.NODE_CLAIMS, kinds.NODES, kinds.PODS, kinds.NODE_POOLS, kinds.NODE_OVERLAYS),
        *(kinds.CAPACITY_BUFFERS, kinds.EC2_NODE_CLASSES, kinds.KWOK_NODE_CLASSES),
        *(kinds.MACHINES, kinds.MACHINE_SETS, kinds.HEALTH_CHECKS, *kinds.INFRA_MACHINES),
    )
}
#: Of a thousand pods or nodes at once a few are told of; the others would tell nobody anything new.
_OF_PODS: Final = {"Nominated": Limit(5.0, 10), "InsufficientCapacityError": Limit(5.0, 10)}
_OF_NODES: Final = {"DisruptionBlocked": Limit(0.5, 10), "Unconsolidatable": Limit(0.5, 10)}
_LIMITS: Final = {"Pod": _OF_PODS, "Node": _OF_NODES, "NodeClaim": _OF_NODES}
_TURNS: Final = Limit(1.0, 10)
_MANY: Final = ("Node", "NodeClaim")
_NO_LIMITS: Final[dict[str, Limit]] = {}


class Telling:
    def __init__(self, recorder: Recorder, metrics: Metrics) -> None:
        self._recorder, self.metrics = recorder, metrics

    @property
    def dropped(self) -> Mapping[Dropped, int]:
        """Events nobody heard, by why."""
        return self._recorder.dropped

    async def run(self) -> None:
        await self._recorder.run()

    def say(self, event: Say) -> None:
        self._publish(event, _LIMITS.get(event.about.kind, _NO_LIMITS).get(event.reason))

    def say_turn(self, event: Say) -> None:
        """Something everybody goes through: so many a second of each reason, where there may be thousands."""
        self._publish(event, _TURNS if event.about.kind in _MANY else None)

    def _publish(self, event: Say, limit: Limit | None) -> None:
        about = event.about
        self._recorder.publish(
            Event(
                About(_KINDS[about.kind], about.name, about.namespace, about.uid),
                event.reason,
                event.message,
                Importance.WARNING if event.warning else Importance.NORMAL,
                event.dedupe or None,
                event.quiet_seconds,
                limit,
            )
        )

    def count(self, one: Count) -> None:
        self.metrics.count(one.metric, one.labels, one.amount)

    def observe(self, one: Observe) -> None:
        self.metrics.observe(one.metric, one.labels, one.value)
