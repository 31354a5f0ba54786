"""A fleet that shrinks: all that will go is chosen at once, says so to the scheduler, and goes as budgets allow."""

from __future__ import annotations

from tests.live.live import Live
from tests.live.test_live_disruption import eager, scale, tainted, up
from tests.live.virtual_time import run

from dovetail.api import kinds

SOON = "dovetail.dev/goes-soon"
DEPLOYMENTS = 4


def soon(live: Live) -> set[str]:
    """Nodes that would rather have no pods."""
    return {
        node["metadata"]["name"]
        for node in live.nodes()
        if {"key": SOON, "effect": "PreferNoSchedule"} in (node["spec"].get("taints") or ())
    }


async def shrunk(live: Live) -> None:
    """Four nodes, each with a third of what it was bought for."""
    for number in range(DEPLOYMENTS):
        live.pods(3, name=f"web-{number}")
        await up(live, 3 * (number + 1), nodes=number + 1)
    for number in range(DEPLOYMENTS):
        scale(live, 1, f"web-{number}")
    await live.until(lambda: len(live.running()) == DEPLOYMENTS)


def test_what_will_go_is_marked_at_once_and_goes_one_after_another():
    async def scenario() -> None:
        async with Live(pool=eager(budgets=[{"nodes": "1"}])) as live:
            await shrunk(live)
            marked: set[str] = set()
            away = 0
            for _ in range(800):
                await live.settle(0.25)
                marked |= soon(live)
                away = max(away, len(tainted(live)))
                if len(live.nodes()) < DEPLOYMENTS - 1 and not soon(live) and not tainted(live):
                    break
            assert len(marked) > 1
            assert away == 1
            await live.until(lambda: len(live.running()) == DEPLOYMENTS)
            assert not soon(live)
            assert not tainted(live)

    run(scenario())


def test_a_mark_is_taken_off_when_the_node_is_wanted_after_all():
    async def scenario() -> None:
        async with Live(pool=eager(budgets=[{"nodes": "1"}])) as live:
            await shrunk(live)
            await live.until(lambda: soon(live), 120)
            for number in range(DEPLOYMENTS):
                scale(live, 3, f"web-{number}")
            await live.until(lambda: len(live.running()) == 3 * DEPLOYMENTS, 120)
            await live.until(lambda: not soon(live) and not tainted(live), 120)

    run(scenario())


def test_a_mark_left_behind_by_a_process_that_died_goes_at_the_first_look():
    async def scenario() -> None:
        async with Live(pool=eager(budgets=[{"nodes": "1"}])) as live:
            live.pods(1)
            await up(live, 1)
            left = {"spec": {"taints": [{"key": SOON, "effect": "PreferNoSchedule"}]}}
            live.edit(kinds.NODES, live.node()["metadata"]["name"], left)
            await live.until(lambda: not soon(live), 30)

    run(scenario())
