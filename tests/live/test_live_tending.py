"""What a cloud finds out about machines that run is written on their claims and Nodes."""

from __future__ import annotations

from collections.abc import Sequence

from tests.live.live import Live
from tests.live.test_live_disruption import up
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.clouds.port import Notice, Tended, Unavailable
from dovetail.core import labels
from dovetail.core.lifecycle import interruption
from dovetail.core.nodeclaims import NodeClaim

RESERVATION = "karpenter.k8s.aws/capacity-reservation-id"
LOST = {labels.CAPACITY_TYPE: "on-demand", RESERVATION: None}


class Says:
    """A keeper that says one thing of every machine."""

    def __init__(self, found: dict[str, str | None] | None = None, notice: str = "", ends: float | None = None) -> None:
        self._found, self._notice, self._ends = found, notice, ends

    async def tend(self, claims: Sequence[NodeClaim]) -> Tended:
        notices = tuple(Notice(one.provider_id, self._notice, self._ends) for one in claims if self._notice)
        told = {one.name: self._found for one in claims} if self._found else {}
        return Tended(told, notices, 42.0, (Unavailable("half of EC2 does not answer"),))


def test_a_lost_reservation_is_taken_off_the_claim_and_its_node() -> None:
    async def scenario() -> None:
        async with Live() as live:
            live.pods(1)
            await up(live, 1)
            (name,) = live.names()
            node = live.get(kinds.NODE_CLAIMS, name)["status"]["nodeName"]
            held = {"metadata": {"labels": {labels.CAPACITY_TYPE: "reserved", RESERVATION: "cr-1"}}}
            live.edit(kinds.NODE_CLAIMS, name, held)
            live.edit(kinds.NODES, node, held)
            await live.settle(1)
            assert await live.controller.tending.once(Says(LOST)) == 42.0
            for kind, one in ((kinds.NODE_CLAIMS, name), (kinds.NODES, node)):
                told = live.get(kind, one)["metadata"]["labels"]
                assert told[labels.CAPACITY_TYPE] == "on-demand"
                assert RESERVATION not in told
            version = live.get(kinds.NODES, node)["metadata"]["resourceVersion"]
            await live.controller.tending.once(Says(LOST))
            assert live.get(kinds.NODES, node)["metadata"]["resourceVersion"] == version

    run(scenario())


def test_a_machine_whose_checks_fail_goes_whatever_its_disruption_budget_says() -> None:
    async def scenario() -> None:
        async with Live() as live:
            live.pods(1)
            await up(live, 1)
            (old,) = live.names()
            live.put(
                kinds.DISRUPTION_BUDGETS,
                {
                    "metadata": {"name": "all", "namespace": "default"},
                    "spec": {"maxUnavailable": 0, "selector": {}},
                },
            )
            await live.settle(1)
            await live.controller.tending.once(Says(notice=interruption.SYSTEM_STATUS, ends=live.world.now()))
            await live.until(lambda: old not in live.names(), 120)
            await live.until(lambda: len(live.running()) == 1, 120)
            assert "InstanceUnhealthy" in live.reasons()

    run(scenario())
