"""What disruption looks like in numbers, from the last pass, worked out when somebody asks (§5.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dovetail.controllers.disruption.telling import Teller
from dovetail.controllers.metrics import Metrics, Sample
from dovetail.core.disruption import rollouts
from dovetail.core.disruption.reasons import BUDGETED, Reason
from dovetail.core.disruption.rollouts import Rollout
from dovetail.core.disruption.stages import ledger, standings

#: What only dovetail has.
_OURS: Final = "dovetail_"
_NANO: Final = 1e9


@dataclass(frozen=True, slots=True)
class DisruptionGauges:
    teller: Teller

    def declare(self, metrics: Metrics) -> None:
        gauge = metrics.gauge
        eligible = "voluntary_disruption_eligible_nodes"
        gauge(eligible, "Nodes that a method would take.", self._eligible, "reason")
        by_pool = ("nodepool", "reason")
        gauge("nodepools_allowed_disruptions", "Nodes that may be away at once.", self._allowed, *by_pool)
        gauge("nodepools_nodes_consuming_budgets", "Nodes that are away.", self._consumed, *by_pool)
        blocked = "disruption_blocked_dollars_per_hour"
        gauge(blocked, "What could be saved, by what is in the way.", self._dollars, "cause", prefix=_OURS)
        nodes = "disruption_blocked_nodes"
        gauge(nodes, "Nodes that stay, by what is in the way.", self._nodes, "cause", prefix=_OURS)
        left = "rollout_nodes_left"
        gauge(left, "Nodes that have drifted and are not replaced yet.", self._left, "nodepool", prefix=_OURS)
        eta = "rollout_seconds_left"
        gauge(eta, "When a roll-out will be done, where that can be told.", self._eta, "nodepool", prefix=_OURS)

    def _eligible(self) -> Iterator[Sample]:
        decided = self.teller.decided
        found: Mapping[Reason, int] = {} if decided is None else decided.eligible
        for reason, count in found.items():
            yield {"reason": str(reason).lower()}, float(count)

    def _allowed(self) -> Iterator[Sample]:
        world = self.teller.world
        if world is None:
            return
        held = ledger(world)
        for pool in world.pools:
            for reason in BUDGETED:
                labels = {"nodepool": pool, "reason": str(reason).lower()}
                yield labels, float(held.allowance(pool, reason).count)

    def _consumed(self) -> Iterator[Sample]:
        world = self.teller.world
        if world is None:
            return
        found = standings(world)
        for pool in world.pools:
            for reason in BUDGETED:
                count = found[pool].consumed(reason) if pool in found else 0
                yield {"nodepool": pool, "reason": str(reason).lower()}, float(count)

    def _dollars(self) -> Iterator[Sample]:
        decided = self.teller.decided
        for cause in () if decided is None else decided.blocked:
            yield {"cause": str(cause.code)}, cause.nanodollars / _NANO

    def _nodes(self) -> Iterator[Sample]:
        decided = self.teller.decided
        for cause in () if decided is None else decided.blocked:
            yield {"cause": str(cause.code)}, float(cause.nodes)

    # ---- roll-outs

    def _rollouts(self) -> Mapping[str, Rollout]:
        world = self.teller.world
        return {} if world is None else rollouts.of_all(world)

    def _left(self) -> Iterator[Sample]:
        for pool, one in self._rollouts().items():
            yield {"nodepool": pool}, float(one.left + one.going)

    def _eta(self) -> Iterator[Sample]:
        for pool, one in self._rollouts().items():
            if one.eta_seconds is not None:
                yield {"nodepool": pool}, one.eta_seconds
