"""What goes wrong around a decision: prices nobody knows, a fault of our own, a window that closes, pods that left."""

from __future__ import annotations

import pytest
from tests.live import objects
from tests.live.live import Live, is_true
from tests.live.test_live_disruption import eager, oversized, scale, tainted, told, up
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.clouds.port import CloudError
from dovetail.controllers.disruption import said
from dovetail.controllers.disruption.resting import LONGEST_SECONDS, Resting
from dovetail.core.disruption import interrupting, passes


def test_a_cloud_that_cannot_say_its_prices_for_a_while_ends_nothing(monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> None:
        raise CloudError("nobody knows the prices")

    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            live.pods(1)
            await up(live, 1)
            await live.settle(60)
            with monkeypatch.context() as patched:
                patched.setattr(live.controller.provisioner.catalogs, "catalog", broken)
                await live.settle(30)
            scale(live, 0)
            await live.until(lambda: not live.claims(), 90)

    run(scenario())


def test_a_fault_in_a_pass_is_told_and_tried_again_more_and_more_seldom(monkeypatch: pytest.MonkeyPatch):
    tried: list[object] = []

    def broken(*args: object) -> None:
        tried.append(args)
        raise ZeroDivisionError

    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            live.pods(1)
            await up(live, 1)
            with monkeypatch.context() as patched:
                patched.setattr(passes, "decide", broken)
                scale(live, 0)
                await live.settle(600)
                live.pods(1, "other")
                await up(live, 1)
            assert 3 <= len(tried) <= 8
            live.excuse("ZeroDivisionError")
            scale(live, 0, "other")
            await live.until(lambda: not live.claims(), 700)

    run(scenario())


def test_machines_that_are_taken_away_go_though_planning_for_them_fails(monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(interrupting, "interrupted", broken)

    async def scenario() -> None:
        async with Live() as live:
            live.pods(1)
            await up(live, 1)
            (old,) = live.names()
            live.cloud.interrupt(f"kwok://{old}", 120.0)
            await live.until(lambda: old not in live.names() and len(live.running()) == 1, 60)
            live.excuse("ZeroDivisionError")

    run(scenario())


def test_a_window_that_closes_before_the_second_look_keeps_the_node():
    closing = [{"nodes": "100%"}, {"nodes": "0", "schedule": "1 8 * * *", "duration": "1h"}]

    async def scenario() -> None:
        async with Live(pool=eager("50s", budgets=closing)) as live:  # it is eight o'clock
            live.pods(1)
            await up(live, 1)
            scale(live, 0)
            await live.until(lambda: is_true(live.claim(), "Consolidatable"), 58)
            await live.until(lambda: live.controller.disrupting.loop.kept, 5)
            await live.settle(120)
            assert live.claim()["metadata"].get("deletionTimestamp") is None
            assert any("lets no more nodes go now" in one for one in told(live, "ConsolidationRejected"))

    run(scenario())


def test_a_disruption_budget_that_is_relaxed_lets_the_node_go():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            live.put(kinds.DISRUPTION_BUDGETS, objects.budget(maxUnavailable=0))
            old = await oversized(live)
            await live.until(lambda: live.events("DisruptionBlocked"), 90)
            live.edit(kinds.DISRUPTION_BUDGETS, "web", {"spec": {"maxUnavailable": 1}})
            await live.until(lambda: old not in live.names(), 60)

    run(scenario())


def test_what_pods_said_at_one_look_is_not_changed_by_the_next():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            live.pods(1)
            await up(live, 1)
            said_of = live.controller.disrupting.said
            before = said_of.facts()
            assert said_of.facts() is before, "nothing changed"
            copied = dict(before)
            live.put(kinds.DISRUPTION_BUDGETS, objects.budget(maxUnavailable=0))
            await live.settle(2)
            assert said_of.facts() != before
            assert dict(before) == copied

    run(scenario())


def test_a_pod_that_may_not_be_disturbed_any_more_keeps_its_node_though_the_replacement_is_on_its_way():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            old = await oversized(live)
            await live.until(lambda: len(live.claims()) == 2, 90)
            (pod,) = live.all(kinds.PODS)
            notes = {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}}
            live.edit(kinds.PODS, pod["metadata"]["name"], notes)
            await live.until(lambda: live.names() == {old} and not tainted(live), 90)
            assert any("has do-not-disrupt now; 1 replacements are given back" in one for one in blocked(live))
            await live.settle(60)
            assert live.names() == {old}
            assert len(live.nodes()) == len(live.market.ledger) == 1

    run(scenario())


def blocked(live: Live) -> set[str]:
    return told(live, "DisruptionBlocked")


def test_a_pod_that_was_bound_just_before_the_mark_keeps_its_empty_node():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            live.pods(1)
            await up(live, 1)
            scale(live, 0)
            await live.until(lambda: live.controller.disrupting.loop.kept, 60)
            name = live.node()["metadata"]["name"]

            def bind(_: object) -> None:
                live.put(kinds.PODS, objects.pod("late", nodeName=name))

            live.controller.disrupting.loop.started = bind
            await live.until(lambda: any("late came to" in one for one in blocked(live)), 60)
            await live.until(lambda: not tainted(live), 30)
            assert live.claim()["metadata"].get("deletionTimestamp") is None
            assert len(live.running()) == 1

    run(scenario())


def test_a_place_is_not_kept_for_a_pod_that_left_before_its_replacement_was_ordered():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            await oversized(live)
            await live.until(lambda: live.controller.disrupting.carrier.commands, 90)
            live.delete(kinds.DEPLOYMENTS, "web")
            for pod in live.all(kinds.PODS):
                live.delete(kinds.PODS, pod["metadata"]["name"], grace=0)
            await live.until(lambda: not live.claims(), 300)
            assert not len(live.controller.moves)

    run(scenario())


def test_a_replacement_nobody_waits_for_any_more_has_not_failed():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            old = await oversized(live)
            await live.until(lambda: len(live.claims()) == 2, 90)
            live.delete(kinds.NODES, old)
            await live.until(lambda: old not in live.names() and len(live.running()) == 1, 120)
            attempts = live.controller.disrupting.loop.memory.attempts.get("general", ())
            assert all(one.ok for one in attempts)
            assert not tainted(live)

    run(scenario())


def test_what_pods_long_gone_have_said_is_forgotten(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(said, "SPARE", 4)

    async def scenario() -> None:
        async with Live(pool=eager("300s")) as live:
            live.pods(1)
            await up(live, 1)
            reader = live.controller.disrupting.said
            for number in range(12):
                live.pods(1, f"job-{number}")
                await live.until(lambda: len(live.running()) == 2)
                live.delete(kinds.DEPLOYMENTS, f"job-{number}")
                await live.until(lambda: len(live.all(kinds.PODS)) == 1)
                reader.facts()
            assert reader._read is not None
            assert len(reader._read[2]) <= 4 + 2 * 2

    run(scenario())


def test_a_node_that_failed_long_ago_is_forgotten():
    resting = Resting()
    resting.failed(["gone"], 0.0)
    resting.failed(["other"], 3 * LONGEST_SECONDS)
    assert list(resting._until) == ["other"]
