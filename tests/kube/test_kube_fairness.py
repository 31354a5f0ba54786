"""Who goes first, who takes turns, and who waits."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest
from tests.kube.loopback import Scripted, VirtualClock, refuses, says

from dovetail.api import kinds
from dovetail.kube.calls import level_of
from dovetail.kube.client import Client
from dovetail.kube.counts import Counts
from dovetail.kube.fairness import Fairness, Level, Limits
from dovetail.kube.patches import MergePatch
from dovetail.kube.retry import Patience
from dovetail.kube.transport import Options

ONE_SEAT = dict.fromkeys(Level, 1)


class Scene:
    """Requests that say when they began; each ends at once unless held."""

    def __init__(self, limits: Limits) -> None:
        self.time = VirtualClock()
        self.counts = Counts()
        self.fairness = Fairness(limits, self.time.clock, self.counts)
        self.order: list[str] = []
        self.at: list[float] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def _request(self, level: Level, flow: str, held: asyncio.Event | None) -> None:
        async with self.fairness.turn(level, flow):
            self.order.append(flow)
            self.at.append(round(self.time.time - 1000.0, 6))
            if held is not None:
                await held.wait()

    async def begin(self, level: Level, flow: str, held: asyncio.Event | None = None) -> asyncio.Task[None]:
        task = asyncio.create_task(self._request(level, flow, held))
        self._tasks.append(task)
        await asyncio.sleep(0)
        return task

    async def end(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.fairness.close()


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 5))


def test_a_freed_seat_goes_to_each_level_by_itself_and_flows_take_turns() -> None:
    async def scenario() -> None:
        scene, held = Scene(Limits(seats=ONE_SEAT)), asyncio.Event()
        await scene.begin(Level.WRITES, "first", held)
        for flow in ("pods", "pods", "pods", "nodes", "claims"):
            await scene.begin(Level.WRITES, flow)
        held.set()
        await scene.end()
        assert scene.order == ["first", "pods", "nodes", "claims", "pods", "pods"]

    run(scenario())


def test_a_level_without_seats_does_not_hold_up_another() -> None:
    async def scenario() -> None:
        scene, held = Scene(Limits(seats=ONE_SEAT)), asyncio.Event()
        await scene.begin(Level.WRITES, "write", held)
        await scene.begin(Level.WRITES, "second write")
        await scene.begin(Level.READS, "read")
        assert scene.order == ["write", "read"]
        held.set()
        await scene.end()

    run(scenario())


class Frozen(VirtualClock):
    """Nobody's sleep ends until `wake`."""

    def __init__(self) -> None:
        super().__init__()
        self.woken = asyncio.Event()

    async def _sleep(self, seconds: float) -> None:
        await self.woken.wait()
        await super()._sleep(seconds)


def waiting(limits: Limits) -> tuple[Scene, Frozen]:
    scene = Scene(limits)
    frozen = Frozen()
    scene.time = frozen
    scene.fairness = Fairness(limits, frozen.clock, scene.counts)
    return scene, frozen


def test_when_the_rate_is_used_up_writes_go_before_reads_and_leases_do_not_wait() -> None:
    async def scenario() -> None:
        scene, frozen = waiting(Limits(rate=10.0, burst=1))
        await scene.begin(Level.READS, "the burst")
        await scene.begin(Level.READS, "read")
        await scene.begin(Level.WRITES, "write")
        await scene.begin(Level.LEASES, "lease")
        assert scene.order == ["the burst", "lease"]
        frozen.woken.set()
        await scene.end()
        assert scene.order == ["the burst", "lease", "write", "read"]
        # The lease took a token in advance, so the write waits for two.
        assert scene.at == pytest.approx([0.0, 0.0, 0.2, 0.3])
        assert scene.counts.waits == {"writes": 1, "reads": 1}
        assert scene.counts.waited["writes"] == pytest.approx(0.2)

    run(scenario())


def test_a_burst_passes_at_once_and_then_the_rate_holds() -> None:
    async def scenario() -> None:
        scene = Scene(Limits(rate=2.0, burst=3))
        await asyncio.gather(*[await scene.begin(Level.READS, "pods") for _ in range(6)])
        assert scene.at == pytest.approx([0.0, 0.0, 0.0, 0.5, 1.0, 1.5])
        await scene.end()

    run(scenario())


def test_somebody_who_has_waited_too_long_goes_before_his_betters() -> None:
    async def scenario() -> None:
        scene, frozen = waiting(Limits(rate=10.0, burst=1, patience=5.0))
        await scene.begin(Level.READS, "the burst")
        await scene.begin(Level.READS, "read")
        frozen.time += 5.05
        scene.fairness._tokens, scene.fairness._refilled = 0.0, frozen.time
        await scene.begin(Level.WRITES, "write")
        frozen.woken.set()
        await scene.end()
        assert scene.order == ["the burst", "read", "write"]

    run(scenario())


def test_a_pause_holds_its_level_only_and_never_leases() -> None:
    async def scenario() -> None:
        scene, frozen = waiting(Limits())
        scene.fairness.pause(Level.READS, 30.0)
        scene.fairness.pause(Level.LEASES, 30.0)
        await scene.begin(Level.READS, "read")
        await scene.begin(Level.WRITES, "write")
        await scene.begin(Level.LEASES, "lease")
        assert scene.order == ["write", "lease"]
        frozen.woken.set()
        await scene.end()
        assert scene.at[-1] == 30.0

    run(scenario())


def test_a_long_pause_of_one_level_does_not_make_another_oversleep() -> None:
    async def scenario() -> None:
        scene, time = waiting(Limits(rate=10.0, burst=1))
        asleep: list[float] = []

        async def sleep(seconds: float) -> None:
            asleep.append(round(seconds, 6))
            await time.woken.wait()
            time.time += seconds

        scene.fairness = Fairness(Limits(rate=10.0, burst=1), replace(time.clock, sleep=sleep), scene.counts)
        await scene.begin(Level.WRITES, "the burst")
        scene.fairness.pause(Level.READS, 30.0)
        await scene.begin(Level.READS, "read")
        await asyncio.sleep(0)
        await scene.begin(Level.WRITES, "write")
        await asyncio.sleep(0)
        assert asleep == [30.0, 0.1]
        time.woken.set()
        await scene.end()
        assert scene.order == ["the burst", "write", "read"]

    run(scenario())


def test_one_who_gives_up_waiting_leaves_no_trace() -> None:
    async def scenario() -> None:
        scene, held = Scene(Limits(seats=ONE_SEAT)), asyncio.Event()
        await scene.begin(Level.READS, "first", held)
        second = await scene.begin(Level.READS, "second")
        third = await scene.begin(Level.READS, "third")
        second.cancel()
        held.set()
        await third
        assert scene.order == ["first", "third"]
        await asyncio.wait_for(scene.begin(Level.READS, "fourth"), 1)
        await scene.end()
        assert scene.order[-1] == "fourth"

    run(scenario())


def test_a_turn_that_comes_together_with_a_cancellation_is_given_back() -> None:
    async def scenario() -> None:
        scene = Scene(Limits(seats=ONE_SEAT))
        await scene.fairness.enter(Level.READS, "first")
        second = await scene.begin(Level.READS, "second")
        scene.fairness.leave(Level.READS)
        second.cancel()
        await scene.end()
        third = await scene.begin(Level.READS, "third")
        await asyncio.wait_for(third, 1)
        assert scene.order == ["third"]

    run(scenario())


def test_limits_under_which_nothing_could_be_asked_are_refused() -> None:
    with pytest.raises(ValueError, match="a rate above 0"):
        Limits(rate=0)
    with pytest.raises(ValueError, match="seats"):
        Limits(seats={Level.LEASES: 1})


def test_a_server_that_is_busy_with_reads_is_spared_further_reads() -> None:
    async def scenario() -> None:
        time = Frozen()
        options = Options(patience=Patience(budget=60.0), clock=time.clock)
        busy = Scripted.saying(refuses(429, wait=9), otherwise=says({}))
        async with busy as server, Client(server.config(), options) as client:
            first = asyncio.create_task(client.get(kinds.NODES, "n1"))
            while not client.counts.repeats:
                await asyncio.sleep(0)
            second = asyncio.create_task(client.get(kinds.NODES, "n2"))
            await client.create(kinds.NODES, {"metadata": {"name": "n3"}})
            assert [one.method for one in server.seen] == ["GET", "POST"]
            time.woken.set()
            await asyncio.gather(first, second)
            assert client.counts.waits["reads"] >= 1

    run(scenario())


def test_telling_people_never_goes_before_doing() -> None:
    async def scenario() -> None:
        scene, frozen = waiting(Limits(rate=10.0, burst=1))
        await scene.begin(Level.WRITES, "the burst")
        await scene.begin(Level.EVENTS, "event")
        await scene.begin(Level.NOTES, "note")
        await scene.begin(Level.READS, "read")
        await scene.begin(Level.WRITES, "write")
        frozen.woken.set()
        await scene.end()
        assert scene.order == ["the burst", "write", "read", "note", "event"]

    run(scenario())


def test_an_event_is_told_and_any_other_write_is_done() -> None:
    assert level_of("create", kinds.CORE_EVENTS) is Level.EVENTS
    assert level_of("list", kinds.CORE_EVENTS) is Level.READS
    assert level_of("patch", kinds.NODES) is Level.WRITES


def test_what_nobody_waits_for_holds_up_nobody() -> None:
    async def scenario() -> None:
        limits = Limits(seats=ONE_SEAT)
        async with (
            Scripted.saying(otherwise=says({})) as server,
            Client(server.config(), Options(limits=limits)) as client,
        ):
            async with client._transport._fairness.turn(Level.NOTES, "another"):
                note = asyncio.create_task(client.patch(kinds.NODES, "noted", MergePatch({}), note=True))
                await asyncio.sleep(0)
                await client.patch(kinds.NODES, "done", MergePatch({}))
                assert [one.path for one in server.seen] == [kinds.NODES.path("done")]
            await note
            assert [one.path for one in server.seen] == [kinds.NODES.path("done"), kinds.NODES.path("noted")]

    run(scenario())


def test_a_note_that_has_waited_twice_as_long_as_anybody_should_gets_a_seat_among_writes() -> None:
    async def scenario() -> None:
        scene, frozen = waiting(Limits(seats=ONE_SEAT, patience=5.0))
        held = asyncio.Event()
        await scene.begin(Level.NOTES, "first", held)
        await scene.begin(Level.NOTES, "second", held)
        await scene.begin(Level.NOTES, "third")
        frozen.time += 10.0
        await scene.begin(Level.READS, "somebody comes")
        await asyncio.sleep(0)
        assert scene.order == ["first", "somebody comes", "second"]
        held.set()
        await scene.end()
        assert scene.order[-1] == "third"
        assert not any(queue.under_way for queue in scene.fairness._queues.values())

    run(scenario())


def test_a_note_is_not_forgotten_while_nothing_else_happens() -> None:
    async def scenario() -> None:
        scene, held = Scene(Limits(seats=ONE_SEAT, patience=5.0)), asyncio.Event()
        await scene.begin(Level.NOTES, "first", held)
        second = await scene.begin(Level.NOTES, "second")
        await asyncio.wait_for(second, 1)
        assert scene.at == [0.0, 10.0]
        held.set()
        await scene.end()

    run(scenario())


def test_a_note_that_is_given_up_as_it_gets_a_seat_among_writes_leaves_that_seat() -> None:
    async def scenario() -> None:
        scene, frozen = waiting(Limits(seats=ONE_SEAT, patience=5.0))
        held = asyncio.Event()
        await scene.begin(Level.NOTES, "first", held)
        second = await scene.begin(Level.NOTES, "second")
        frozen.time += 10.0
        scene.fairness._dispatch()
        second.cancel()
        await asyncio.wait([second])
        write = await scene.begin(Level.WRITES, "write")
        await asyncio.wait_for(write, 1)
        held.set()
        await scene.end()
        assert scene.order == ["first", "write"]

    run(scenario())


def test_no_note_begins_while_a_write_waits() -> None:
    async def scenario() -> None:
        scene, frozen = waiting(Limits(seats=ONE_SEAT))
        held = asyncio.Event()
        await scene.begin(Level.WRITES, "first", held)
        await scene.begin(Level.WRITES, "second")
        await scene.begin(Level.NOTES, "note")
        assert scene.order == ["first"]
        assert scene.fairness._alarm_at == frozen.time + 10.0, (
            "it looks again when a write ends, or the note has waited long"
        )
        held.set()
        await scene.end()
        assert scene.order == ["first", "second", "note"]

    run(scenario())
