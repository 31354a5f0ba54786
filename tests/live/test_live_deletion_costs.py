"""With PodDeletionCostManagement, pods say which of them goes first when their owner scales down."""

from __future__ import annotations

from tests.live.live import SOON, Live
from tests.live.test_live_disruption import eager, scale, up
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.controllers.controller import Choices
from dovetail.core.disruption.facts import Gates

COST = "controller.kubernetes.io/pod-deletion-cost"
WRITING = Choices(window=SOON, gates=Gates(writes_deletion_cost=True))
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}


def costs(live: Live) -> list[str]:
    return sorted(one["metadata"].get("annotations", {}).get(COST, "") for one in live.all(kinds.PODS))


def test_pods_of_nodes_that_may_go_are_ranked_and_only_what_changes_is_written():
    async def scenario() -> None:
        async with Live(WRITING, pool=eager("1h")) as live:
            live.pods(2, affinity=APART)
            await up(live, 2, nodes=2)
            await live.until(lambda: costs(live) == ["-1", "-2"], 150)
            written = live.value("pod_deletion_cost_pod_annotation_writes_total", result="updated")
            assert written == 2
            await live.settle(300)
            assert live.value("pod_deletion_cost_pod_annotation_writes_total", result="updated") == written

    run(scenario())


def test_nothing_is_written_unless_asked_for():
    async def scenario() -> None:
        async with Live(pool=eager("1h")) as live:
            live.pods(1)
            await up(live, 1)
            await live.settle(150)
            assert costs(live) == [""]

    run(scenario())


def test_a_pod_that_is_gone_when_it_is_its_turn_is_no_trouble():
    async def scenario() -> None:
        async with Live(WRITING, pool=eager("1h")) as live:
            live.pods(1)
            await up(live, 1)
            work = live.controller.disrupting.costs
            assert work is not None
            scale(live, 0)
            await live.until(lambda: not live.all(kinds.PODS))
            await work.once()
            assert live.value("pod_deletion_cost_pod_annotation_writes_total", result="error") == 0

    run(scenario())
