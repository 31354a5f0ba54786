"""What people hear of (§5.4): conditions that turn, objects that go, pods that ask to be left alone."""

from __future__ import annotations

from tests.live import objects
from tests.live.live import Live
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.core.effects import Ref, Say
from dovetail.kube.events import Dropped


def told(live: Live, kind: str, reason: str) -> list[str]:
    return [one["message"] for one in live.events(reason) if one["involvedObject"]["kind"] == kind]


def test_each_condition_that_turns_is_told_on_its_object():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(1)
            await live.until(live.ready)
            await live.until(lambda: told(live, "NodeClaim", "Ready"))
            for type_ in ("Launched", "Registered", "Initialized", "Ready"):
                (message,) = told(live, "NodeClaim", type_)
                turned = f"Status condition transitioned, Type: {type_}, Status: Unknown -> True, Reason: {type_}"
                assert message == turned
            assert told(live, "NodePool", "Ready")

    run(scenario())


def test_what_went_is_told_to_be_finalized():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(1)
            await live.until(live.ready)
            live.delete(kinds.DEPLOYMENTS, "web")
            live.delete(kinds.NODE_CLAIMS, live.claim()["metadata"]["name"])
            await live.until(lambda: not live.claims())
            await live.settle(2)
            for kind in ("Node", "NodeClaim"):
                assert told(live, kind, "Finalized") == ["Finalized karpenter.sh/termination"], kind

    run(scenario())


def test_a_thousand_nodes_at_once_are_not_a_flood_and_a_pool_is_still_heard():
    async def scenario() -> None:
        async with Live() as live:
            telling = live.controller.telling
            for number in range(1000):
                telling.say_turn(Say(Ref("NodeClaim", f"n-{number}", f"u-{number}"), "Registered", "turned"))
            telling.say_turn(Say(Ref("NodePool", "general"), "Registered", "turned"))
            await live.settle(5)
            assert len(told(live, "NodeClaim", "Registered")) == 10
            assert told(live, "NodePool", "Registered") == ["turned"]
            assert telling.dropped[Dropped.LIMITED] == 990

    run(scenario())


def test_a_pod_that_asks_for_time_is_told_when_it_begins_and_when_it_is_over():
    async def scenario() -> None:
        async with Live() as live:
            note = "karpenter.sh/do-not-disrupt"
            live.put(kinds.PODS, objects.pod("patient", notes={note: "10m"}))
            live.put(kinds.PODS, objects.pod("odd", notes={note: "soon"}))
            live.put(kinds.PODS, objects.pod("forever", notes={note: "true"}))
            await live.until(lambda: len(live.running()) == 3)
            await live.until(lambda: told(live, "Pod", "DoNotDisruptUntil"))
            assert not told(live, "Pod", "DoNotDisruptGracePeriodElapsed")
            await live.until(lambda: told(live, "Pod", "DoNotDisruptGracePeriodElapsed"), 700)
            (odd,) = told(live, "Pod", "InvalidDoNotDisruptAnnotation")
            assert "'soon' is neither true nor a duration above zero, ignoring annotation" in odd
            assert all("forever" not in one["involvedObject"]["name"] for one in live.events("DoNotDisruptUntil"))
            await live.restart()
            await live.settle(30)
            assert len(told(live, "Pod", "DoNotDisruptGracePeriodElapsed")) == 1

    run(scenario())
