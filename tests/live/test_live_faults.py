"""Bad days: an API server that refuses, breaks off and comes back, hands that write in between, clocks that jump."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web
from tests.live import objects
from tests.live.live import SOON, Live, condition, is_true
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.clouds.port import Unavailable
from dovetail.controllers.controller import Choices
from dovetail.core.catalog.layers import Catalog
from dovetail.core.nodepools import NodePool
from dovetail.kube.lease import Elector, Terms


def writes(request: web.BaseRequest) -> bool:
    return request.method in ("POST", "PATCH", "DELETE")


def whole(live: Live, count: int) -> bool:
    """So many pods run, and claims, Nodes and machines are the same."""
    claims = {one.get("status", {}).get("providerID") for one in live.claims()}
    nodes = {one["spec"]["providerID"] for one in live.nodes()}
    sold = {f"kwok://{name}" for name in live.market.ledger}
    return len(live.running()) == count and claims == nodes == sold and len(live.ready()) == len(claims)


def test_an_outage_in_the_middle_of_a_batch_loses_nothing():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(3, cpu="30")
            await live.until(live.claims)
            await live.server.faults.begin_outage()
            await live.settle(45)
            await live.server.faults.end_outage()
            await live.until(lambda: whole(live, 3), 200)
            await live.settle(130)
            assert whole(live, 3)

    run(scenario())


def test_a_storm_of_429_is_waited_out():
    async def scenario() -> None:
        async with Live() as live:
            live.server.faults.answer(429, 40, retry_after=1, meant=writes)
            live.pods(3)
            await live.until(lambda: whole(live, 3), 300)
            assert len(live.claims()) == 1

    run(scenario())


def test_answers_that_get_lost_buy_nothing_twice():
    async def scenario() -> None:
        async with Live() as live:
            live.server.faults.answer(500, 3, meant=lambda request: request.method == "POST")
            live.server.faults.reset(3, meant=writes)
            live.pods(2)
            await live.until(lambda: whole(live, 2), 200)
            await live.settle(150)
            assert whole(live, 2)
            live.delete(kinds.DEPLOYMENTS, "web")
            for name in live.names():
                live.delete(kinds.NODE_CLAIMS, name)
            await live.until(lambda: not live.claims() and not live.nodes() and not live.market.ledger, 200)

    run(scenario())


def test_history_that_is_forgotten_is_read_anew():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(1)
            await live.until(lambda: len(live.running()) == 1)
            live.server.faults.expire_history()
            live.server.faults.cut_watches()
            live.pods(1, "more", cpu="100")
            await live.until(lambda: whole(live, 2), 200)

    run(scenario())


def test_whoever_writes_in_between_is_heard_and_the_work_goes_on():
    async def scenario() -> None:
        async with Live() as live:
            count = 0

            def meddle(kind: Any, change: Any) -> None:
                nonlocal count
                if kind == kinds.NODE_CLAIMS and change.type == "MODIFIED" and count < 30:
                    count += 1
                    loop.call_soon(touch, change.item.name, count)

            def touch(name: str, number: int) -> None:
                if live.store.find(kinds.NODE_CLAIMS, name) is not None:
                    note = {"metadata": {"annotations": {"somebody.else": str(number)}}}
                    live.edit(kinds.NODE_CLAIMS, name, note)

            loop = asyncio.get_running_loop()
            live.store.storage.listeners.append(meddle)
            live.pods(2)
            await live.until(lambda: whole(live, 2))
            for name in live.names():
                live.delete(kinds.NODE_CLAIMS, name)
            live.delete(kinds.DEPLOYMENTS, "web")
            await live.until(lambda: not live.claims() and not live.nodes())
            assert count > 5

    run(scenario())


def test_objects_edited_by_hand_are_taken_as_they_are():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(1)
            await live.until(lambda: whole(live, 1))
            name = live.claim()["metadata"]["name"]
            live.edit(kinds.NODE_CLAIMS, name, {"metadata": {"finalizers": None, "annotations": None}})
            await live.until(lambda: live.claim()["metadata"].get("finalizers") == ["karpenter.sh/termination"])
            live.edit(kinds.NODES, name, {"spec": {"unschedulable": True}})
            live.pods(1, "more")
            await live.until(lambda: len(live.running()) == 2)
            assert len(live.claims()) == 2, "a node that is cordoned takes no more pods"

    run(scenario())


def test_nonsense_that_is_stored_harms_nobody_else():
    async def scenario() -> None:
        async with Live() as live:
            live.put_raw(kinds.NODE_CLAIMS, {**objects.claim("bad"), "spec": {"requirements": [{"key": 7}]}})
            live.put_raw(kinds.NODES, {"metadata": {"name": "odd"}, "spec": {"taints": "none"}, "status": {}})
            live.put_raw(kinds.NODE_POOLS, {"metadata": {"name": "odd"}, "spec": {"template": 3}})
            live.put_raw(kinds.KWOK_NODE_CLASSES, {"metadata": {"name": "odd"}, "spec": {"nodeRegistrationDelay": 5}})
            live.put_raw(kinds.NODE_OVERLAYS, {"metadata": {"name": "odd"}, "spec": []})
            live.put_raw(kinds.LIMIT_RANGES, {"metadata": {"name": "odd", "namespace": "default"}, "spec": "no"})
            live.pods(1)
            await live.until(lambda: len(live.running()) == 1)
            told = condition(live.get(kinds.NODE_POOLS, "odd"), "ValidationSucceeded")
            assert told["reason"] == "NodePoolValidationFailed"
            live.excuse("NodeTaints")  # of the embedded server, which nonsense does harm

    run(scenario())


def test_a_clock_that_is_set_back_or_ahead_gives_nobody_up_too_soon_or_twice():
    async def scenario() -> None:
        async with Live() as live:
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"spec": {"nodeRegistrationDelay": "30s"}})
            live.pods(1)
            await live.until(lambda: live.claims() and is_true(live.claim(), "Launched"))
            live.world.jumped = -3600.0
            await live.until(lambda: whole(live, 1), 4000)
            live.world.jumped = 7200.0
            live.pods(1, "more", cpu="100")
            await live.until(lambda: len(live.running()) == 2, 4000)
            for name in live.names():
                live.delete(kinds.NODE_CLAIMS, name)
            for name in ("web", "more"):
                live.delete(kinds.DEPLOYMENTS, name)
            live.world.jumped = 0.0
            await live.until(lambda: not live.claims() and not live.nodes(), 8000)

    run(scenario())


def test_of_two_controllers_one_acts_and_the_other_takes_over():
    async def scenario() -> None:
        live = Live()
        async with live:
            await live.stop()
            clock = live.world.clock()
            electors = [Elector(live.client, Terms("kube-system", holder=name), clock=clock) for name in ("one", "two")]
            tasks = [asyncio.create_task(one.run()) for one in electors]
            await live.until(lambda: any(one.leading.is_set() for one in electors))
            await live.settle(60)
            assert sum(one.leading.is_set() for one in electors) == 1
            first = next(at for at, one in enumerate(electors) if one.leading.is_set())
            tasks[first].cancel()
            await asyncio.gather(tasks[first], return_exceptions=True)
            await live.until(lambda: electors[1 - first].leading.is_set(), 5)
            tasks[1 - first].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    run(scenario())


def test_two_controllers_that_both_act_still_buy_nothing_twice():
    """What a lease is there to prevent: a process that was stopped for a minute wakes up and does not know yet."""

    async def scenario() -> None:
        live = Live(Choices(window=SOON))
        async with live:
            live.pods(1)
            await live.until(live.claims)
            other = live.build()
            task = asyncio.create_task(other.run())
            await live.until(lambda: whole(live, 1))
            await live.settle(150)
            assert whole(live, 1)
            for name in live.names():
                live.delete(kinds.NODE_CLAIMS, name)
            live.delete(kinds.DEPLOYMENTS, "web")
            await live.until(lambda: not live.claims() and not live.nodes() and not live.market.ledger)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    run(scenario())


def test_a_pool_whose_cloud_does_not_say_what_it_sells_leaves_the_others_buying(monkeypatch: pytest.MonkeyPatch):
    async def scenario() -> None:
        async with Live() as live:
            live.put(kinds.NODE_POOLS, objects.pool("silent", weight=10))
            catalogs = live.controller.catalogs
            known = catalogs.catalog

            def silent(pool: NodePool, now: float) -> Catalog:
                if pool.name == "silent":
                    raise Unavailable("the price list is away")
                return known(pool, now)

            monkeypatch.setattr(catalogs, "catalog", silent)
            live.pods(3)
            await live.until(lambda: len(live.running()) == 3)
            assert {one["metadata"]["labels"]["karpenter.sh/nodepool"] for one in live.claims()} == {"general"}

    run(scenario())


def test_a_fault_of_our_own_in_one_plan_ends_nothing_and_the_next_one_is_made():
    async def scenario() -> None:
        async with Live() as live:
            provisioner = live.controller.provisioner
            solve, failures = provisioner.solve, [1]

            async def faulty(*args: Any, **named: Any) -> Any:
                if failures:
                    failures.pop()
                    raise ZeroDivisionError
                return await solve(*args, **named)

            provisioner.solve = faulty
            live.pods(3)
            await live.until(lambda: len(live.running()) == 3)
            assert not failures
            live.excuse("ZeroDivisionError")

    run(scenario())
