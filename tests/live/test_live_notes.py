"""What is written on a claim behind everything else holds nobody up, however late it is written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.live import objects
from tests.live.live import Live, conditions, is_true
from tests.live.test_live_disruption import up
from tests.live.test_live_drift import drifting, of_team, relabel
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.clouds.port import Notice
from dovetail.clouds.sim import nodes
from dovetail.core.lifecycle import interruption


def put_off(live: Live) -> asyncio.Event:
    """No note is written until this happens."""
    patch, now = live.client.patch, asyncio.Event()

    async def late(kind: Kind, name: str, body: Any, *more: Any, note: bool = False, **how: Any) -> Any:
        if note:
            await now.wait()
        return await patch(kind, name, body, *more, note=note, **how)

    live.client.patch = late  # type: ignore[method-assign]
    return now


async def settled(live: Live) -> None:
    """One node is up, all is written down, and what there is to note from now on is put off."""
    live.pods(1)
    await up(live, 1)
    await live.settle(60)
    put_off(live)


def goes_by_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes are not called after their claims, as on most clouds."""
    body: Callable[..., Any] = nodes.body

    def renamed(*given: Any) -> Any:
        made = body(*given)
        made["metadata"]["name"] = f"ip-{made['metadata']['name']}"
        return made

    monkeypatch.setattr(nodes, "body", renamed)


def test_a_pod_may_be_bound_as_soon_as_its_node_says_so(monkeypatch: pytest.MonkeyPatch):
    goes_by_another_name(monkeypatch)

    async def scenario() -> None:
        async with Live() as live:
            now = put_off(live)
            opened: list[str] = []
            live.controller.claims.opened = opened.append
            live.pods(1)
            await live.until(lambda: len(live.running()) == 1)
            assert opened == [live.node()["metadata"]["name"]]
            assert "Initialized" not in conditions(live.claim())
            now.set()
            await live.until(lambda: "Initialized" in conditions(live.claim()))
            assert opened == [live.node()["metadata"]["name"]], "it is told once"

    run(scenario())


def test_a_pod_keeps_its_place_on_a_node_that_its_claim_does_not_speak_of_yet(monkeypatch: pytest.MonkeyPatch):
    goes_by_another_name(monkeypatch)

    async def scenario() -> None:
        async with Live() as live:
            put_off(live)
            live.put(kinds.PODS, objects.pod("large", cpu="1", schedulerName="nobody"))
            live.put(kinds.PODS, objects.pod("small", cpu="500m", schedulerName="nobody"))
            await live.until(lambda: live.nodes() and not live.node()["spec"].get("taints"))
            node = live.node()["metadata"]["name"]
            await live.settle(5)
            assert [pod["status"]["nominatedNodeName"] for pod in live.all(kinds.PODS)] == [node, node]
            assert [pod.node for pod in live.controller.snapshots.take().pods] == [node, node]

    run(scenario())


def test_a_replacement_is_there_when_its_node_says_so():
    async def scenario() -> None:
        async with Live(pool=drifting({"nodes": "100%"})) as live:
            live.pods(1)
            await up(live, 1)
            put_off(live)
            relabel(live, "blue")
            await live.until(lambda: len(of_team(live, "blue")) == len(live.nodes()) == len(live.running()) == 1)
            (new,) = (one for one in live.claims() if one["metadata"]["labels"].get("team") == "blue")
            assert not is_true(new, "Initialized")

    run(scenario())


def test_a_machine_that_was_never_written_down_is_found_again_however_long_nobody_looked():
    async def scenario() -> None:
        async with Live() as live:
            now = put_off(live)
            live.pods(1)
            await live.until(lambda: len(live.running()) == 1)
            before = live.claim()["metadata"]["uid"], live.running()[0]["metadata"]["uid"]
            await live.stop()
            await live.settle(310)
            now.set()
            await live.start()
            await live.until(lambda: is_true(live.claim(), "Initialized"))
            await live.settle(30)
            assert (live.claim()["metadata"]["uid"], live.running()[0]["metadata"]["uid"]) == before

    run(scenario())


def test_a_machine_that_could_not_be_written_down_for_long_is_not_given_up():
    async def scenario() -> None:
        async with Live() as live:
            now = put_off(live)
            live.pods(1)
            await live.until(lambda: len(live.running()) == 1)
            before = live.claim()["metadata"]["uid"]
            live.edit(
                kinds.NODE_CLAIMS, live.claim()["metadata"]["name"], {"metadata": {"annotations": {"by": "hand"}}}
            )
            await live.settle(310)
            now.set()  # and is refused: somebody wrote the claim meanwhile
            await live.until(lambda: is_true(live.claim(), "Initialized"))
            assert live.claim()["metadata"]["uid"] == before

    run(scenario())


def test_a_warning_from_the_cloud_does_not_wait_for_what_nobody_waits_for():
    async def scenario() -> None:
        async with Live() as live:
            await settled(live)
            old = live.claim()
            ends = live.controller.now() + 120
            live.controller.interruptions.heard(Notice(old["status"]["providerID"], interruption.SPOT, ends))
            await live.until(
                lambda: old["metadata"]["name"] not in [one["metadata"]["name"] for one in live.claims()], 60
            )

    run(scenario())


def test_a_node_deleted_by_hand_is_emptied_whatever_there_is_to_note():
    async def scenario() -> None:
        async with Live() as live:
            await settled(live)
            old = live.node()["metadata"]["name"]
            live.delete(kinds.NODES, old)
            await live.until(lambda: old not in [one["metadata"]["name"] for one in live.nodes()], 60)

    run(scenario())


@pytest.mark.parametrize("restarted", [False, True])
def test_a_claim_that_goes_before_it_says_that_its_node_joined_is_emptied_all_the_same(restarted: bool):
    async def scenario() -> None:
        async with Live() as live:
            now = put_off(live)
            live.pods(1)
            await live.until(lambda: len(live.running()) == 1)
            live.put(kinds.DISRUPTION_BUDGETS, objects.budget(maxUnavailable=0))
            claim, pod = live.claim()["metadata"]["name"], live.running()[0]["metadata"]["uid"]
            if restarted:
                await live.stop()
            live.delete(kinds.NODE_CLAIMS, claim)
            now.set()
            if restarted:
                await live.start()
            await live.settle(60)
            assert pod in [one["metadata"]["uid"] for one in live.running()], "its budget keeps it"
            live.delete(kinds.DISRUPTION_BUDGETS, "web")
            await live.until(lambda: claim not in live.names() and len(live.running()) == len(live.nodes()) == 1)

    run(scenario())
