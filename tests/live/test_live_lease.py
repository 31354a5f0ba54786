"""Only who holds the lease acts, whatever a process believes that was stopped for a minute."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from tests.live.live import Live
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.controllers.metrics import Metrics
from dovetail.controllers.operator import Actor, Replica
from dovetail.kube.clock import Clock
from dovetail.kube.lease import Elector, Terms

LEASE = Terms("kube-system", holder="mine")


def test_a_process_paused_past_its_lease_does_not_buy():
    async def scenario() -> None:
        async with Live() as live:
            paused = 0.0

            def now() -> float:
                return asyncio.get_running_loop().time() + paused

            elector = Elector(live.client, LEASE, clock=Clock(now=now, wall=live.world.now))
            election = asyncio.create_task(elector.run())
            await live.until(elector.holds)
            live.controller.hands.may_act = elector.holds
            live.pods(1)
            await live.until(lambda: live.all(kinds.PODS))
            # It wakes up after a minute; the election has had no turn yet, and still believes.
            paused = 60.0
            election.cancel()
            assert elector.leading.is_set()
            assert not elector.holds()
            with contextlib.suppress(asyncio.CancelledError):
                await election
            await live.settle(30)
            assert not live.claims()
            assert not live.market.ledger
            again = asyncio.create_task(elector.run())
            await live.until(live.ready, 30)
            again.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await again

    run(scenario())


def test_machines_are_not_ended_either():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(1)
            await live.until(live.ready)
            live.controller.hands.may_act = lambda: False
            live.delete(kinds.DEPLOYMENTS, "web")
            live.delete(kinds.NODE_CLAIMS, live.claim()["metadata"]["name"])
            await live.settle(30)
            assert live.nodes()
            assert live.market.ledger
            live.controller.hands.may_act = lambda: True
            await live.until(lambda: not live.claims() and not live.nodes(), 200)

    run(scenario())


def test_whoever_acts_is_given_the_lease_to_ask():
    async def scenario() -> None:
        async with Live() as live:
            await live.stop()
            asked: list[Callable[[], bool]] = []

            def make(may_act: Callable[[], bool]) -> Actor:
                asked.append(may_act)
                return asyncio.Event().wait, lambda: True  # type: ignore[return-value]

            replica = Replica(
                live.client, make, Metrics(), LEASE, metrics_port=0, health_port=0, clock=live.world.clock()
            )
            task = asyncio.create_task(replica.run())
            await live.until(lambda: asked)
            assert asked[0]()
            await live.server.faults.begin_outage()
            await live.settle(20)
            assert not asked[0]()
            await live.server.faults.end_outage()
            await live.until(lambda: len(asked) == 2 and asked[1]())
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    run(scenario())
