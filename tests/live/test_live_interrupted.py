"""A machine the cloud takes away: what its pods need is ordered before they are asked to leave."""

from __future__ import annotations

from tests.live.live import Live, is_true
from tests.live.test_live_disruption import tainted, up
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.clouds.port import Notice
from dovetail.core.lifecycle import interruption


def bought(live: Live, reason: str) -> float:
    labels = {"nodepool": "general", "min_values_relaxed": "false"}
    return live.value("nodeclaims_created_total", reason=reason, **labels)


def test_with_time_to_spare_the_replacement_comes_first():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(2)
            await up(live, 2)
            (old,) = live.names()
            live.cloud.interrupt(f"kwok://{old}", 300.0)
            await live.until(lambda: len(live.claims()) == 2, 10)
            new = next(one for one in live.names() if one != old)
            while old in live.names():
                deleting = live.get(kinds.NODE_CLAIMS, old)["metadata"].get("deletionTimestamp")
                assert not deleting or is_true(live.get(kinds.NODE_CLAIMS, new), "Initialized")
                await live.settle(0.05)
            await up(live, 2)
            assert live.names() == {new}
            assert bought(live, "interrupted") == 1
            assert "SpotInterrupted" in live.reasons()

    run(scenario())


def test_without_time_it_is_drained_at_once_and_nothing_is_bought_twice():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(2)
            await up(live, 2)
            (old,) = live.names()
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"spec": {"nodeRegistrationDelay": "20s"}})
            live.cloud.interrupt(f"kwok://{old}", 30.0)
            await live.until(lambda: live.get(kinds.NODE_CLAIMS, old)["metadata"].get("deletionTimestamp"), 5)
            await live.until(lambda: old not in live.names() and len(live.running()) == 2, 60)
            await up(live, 2)
            assert len(live.claims()) == len(live.market.ledger) == 1
            assert (bought(live, "provisioned"), bought(live, "interrupted")) == (1, 1)
            counted = {"nodepool": "general", "capacity_type": "spot", "consolidation_policy": ""}
            lost = live.value(
                "nodeclaims_disrupted_total", reason="spot_interrupted", termination_mode="graceful", **counted
            )
            assert lost == 1

    run(scenario())


def test_what_may_be_taken_away_some_day_is_replaced_and_kept_where_that_fails():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(1)
            await up(live, 1)
            (old,) = live.names()
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"spec": {"nodeRegistrationDelay": "2h"}})
            live.controller.interruptions.heard(Notice(f"kwok://{old}", interruption.REBALANCE))
            await live.until(lambda: len(live.claims()) == 2, 10)
            await live.until(lambda: live.names() == {old} and not tainted(live), 1500)
            assert len(live.running()) == 1
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"spec": {"nodeRegistrationDelay": "0s"}})
            live.controller.interruptions.heard(Notice(f"kwok://{old}", interruption.REBALANCE))
            await live.until(lambda: old not in live.names() and len(live.running()) == 1, 60)

    run(scenario())


def test_two_machines_that_go_together_are_planned_together():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(3)
            await up(live, 3)
            live.pods(3, "more")
            await up(live, 6, nodes=2)
            olds = live.names()
            for one in olds:
                live.cloud.interrupt(f"kwok://{one}", 300.0)
            await live.until(lambda: not olds & live.names() and len(live.running()) == 6, 60)
            assert len(live.claims()) <= 2
            assert all(is_true(one, "Ready") for one in live.claims())

    run(scenario())
