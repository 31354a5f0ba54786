"""Two replicas and one lease, in virtual time: never both at once, never long without one."""

from __future__ import annotations

import asyncio
import copy
import heapq
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kube.scripted import at_length

from dovetail.api.kinds import LEASES, Kind
from dovetail.kube.clock import Clock
from dovetail.kube.errors import AlreadyExists, Conflict, NotFound, Unavailable
from dovetail.kube.lease import Elector, Terms

Json = dict[str, Any]


class World:
    """Virtual time that several tasks sleep in: it goes on when all of them do."""

    def __init__(self) -> None:
        self.now = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._number = 0

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._number += 1
        heapq.heappush(self._sleepers, (self.now + seconds, self._number, woken))
        await woken

    async def until(self, when: float) -> None:
        while True:
            for _ in range(30):  # let everybody who can act do so first
                await asyncio.sleep(0)
            if not self._sleepers or self._sleepers[0][0] > when:
                self.now = max(self.now, when)
                return
            at, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                self.now = max(self.now, at)
                woken.set_result(None)

    def clock(self, ahead: float = 0.0, chance: float = 0.5) -> Clock:
        """A replica's own clocks, which began at another time than everybody else's and show another date."""
        return Clock(
            now=lambda: self.now + ahead, wall=lambda: 1.7e9 + self.now - ahead, sleep=self.sleep, chance=lambda: chance
        )


class LeaseServer:
    """One lease, written over its version only. `down(holder)` says who cannot reach it; `slow` delays answers."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.lease: Json | None = None
        self.version = 0
        self.down: set[str] = set()
        self.slow: dict[str, float] = {}

    def seen_by(self, holder: str) -> Way:
        return Way(self, holder)


class Way:
    """One replica's way to the server."""

    def __init__(self, server: LeaseServer, holder: str) -> None:
        self.server, self.holder = server, holder

    async def _arrive(self) -> None:
        await asyncio.sleep(0)
        if delay := self.server.slow.get(self.holder):
            await self.server.world.sleep(delay)
        if self.holder in self.server.down:
            raise Unavailable("no route")

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Json:
        assert (kind, name, namespace) == (LEASES, "karpenter-leader-election", "kube-system")
        await self._arrive()
        if self.server.lease is None:
            raise NotFound("no lease")
        return copy.deepcopy(self.server.lease)

    async def create(self, kind: Kind, obj: Json, namespace: str = "") -> Json:
        await self._arrive()
        if self.server.lease is not None:
            raise AlreadyExists("a lease")
        return self._keep(obj)

    async def replace(self, kind: Kind, obj: Json) -> Json:
        await self._arrive()
        held = self.server.lease
        if held is None:
            raise NotFound("no lease")
        if obj["metadata"]["resourceVersion"] != held["metadata"]["resourceVersion"]:
            raise Conflict("another version")
        return self._keep(obj)

    def _keep(self, obj: Json) -> Json:
        self.server.version += 1
        obj = copy.deepcopy(obj)
        obj["metadata"] |= {"resourceVersion": str(self.server.version), "uid": "u"}
        self.server.lease = obj
        return copy.deepcopy(obj)


class Replica:
    def __init__(self, server: LeaseServer, name: str, *, ahead: float = 0.0, chance: float = 0.5) -> None:
        self.lost: list[float] = []
        terms = Terms("kube-system", name)
        clock = server.world.clock(ahead, chance)
        self.elector = Elector(
            server.seen_by(name), terms, clock=clock, lost=lambda: self.lost.append(server.world.now)
        )
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.task = asyncio.create_task(self.elector.run())

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)

    @property
    def acts(self) -> bool:
        return self.elector.holds()


@asynccontextmanager
async def two(**more: Any) -> AsyncIterator[tuple[World, LeaseServer, Replica, Replica]]:
    world = World()
    server = LeaseServer(world)
    one, other = Replica(server, "one_1"), Replica(server, "other_2", **more)
    try:
        yield world, server, one, other
    finally:
        await one.stop()
        await other.stop()


@at_length
async def test_of_two_replicas_one_acts_and_goes_on_acting() -> None:
    async with two() as (world, server, one, other):
        one.start()
        await world.until(1)
        other.start()
        for moment in range(2, 120):
            await world.until(moment)
            assert (one.acts, other.acts) == (True, False)
        assert server.lease is not None
        spec = server.lease["spec"]
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("one_1", 15, 0)
        assert spec["renewTime"] > spec["acquireTime"]
        assert other.elector.holder == "one_1"


@at_length
async def test_a_holder_cut_off_stops_before_the_other_begins() -> None:
    async with two() as (world, server, one, other):
        one.start()
        await world.until(1)
        other.start()
        await world.until(30)
        server.down.add("one_1")
        began = None
        for tenth in range(300, 600):
            await world.until(tenth / 10)
            assert not (one.acts and other.acts)
            if other.acts and began is None:
                began = world.now
        assert began is not None
        assert one.lost[0] <= 40.1  # ten seconds after the last renewal that was heard
        assert began - one.lost[0] >= 4
        assert began <= 50  # nobody waits for longer than a lease and a try


@at_length
async def test_clocks_hours_apart_make_no_difference() -> None:
    for ahead in (-7200.0, 7200.0):
        async with two(ahead=ahead) as (world, server, one, other):
            one.start()
            await world.until(1)
            other.start()
            await world.until(60)
            assert (one.acts, other.acts) == (True, False)
            server.down.add("one_1")
            await world.until(100)
            assert (one.acts, other.acts) == (False, True)


@at_length
async def test_two_that_race_for_a_free_lease_are_one_winner_and_one_that_waits() -> None:
    async with two() as (world, _, one, other):
        one.start()
        other.start()
        await world.until(1)
        assert one.acts != other.acts
        await world.until(60)
        assert one.acts != other.acts
        assert (one.lost, other.lost) == ([], [])


@at_length
async def test_stopping_gives_the_lease_back_and_the_next_need_not_wait() -> None:
    async with two() as (world, server, one, other):
        one.start()
        await world.until(1)
        other.start()
        await world.until(10)
        await one.stop()
        assert one.lost
        assert server.lease is not None
        assert (server.lease["spec"]["holderIdentity"], server.lease["spec"]["leaseDurationSeconds"]) == ("", 1)
        await world.until(13)
        assert other.acts
        assert server.lease["spec"]["leaseTransitions"] == 1


@at_length
async def test_a_server_that_hangs_is_not_waited_for_past_the_deadline() -> None:
    async with two() as (world, server, one, _):
        one.start()
        await world.until(1)
        server.slow["one_1"] = 1000.0
        await world.until(12.1)
        assert not one.acts
        assert len(one.lost) == 1
        assert not one.elector.leading.is_set()


@at_length
async def test_a_lease_won_after_a_long_wait_is_not_acted_upon_as_if_it_were_fresh() -> None:
    async with two() as (world, server, one, _):
        server.slow["one_1"] = 6.0  # looking and writing take twelve seconds together
        one.start()
        await world.until(12.1)
        assert server.lease is not None
        assert server.lease["spec"]["holderIdentity"] == "one_1"
        assert not one.acts


@at_length
async def test_who_finds_another_name_in_the_lease_stops_at_once() -> None:
    async with two() as (world, server, one, _):
        one.start()
        await world.until(1)
        assert server.lease is not None
        server.lease["spec"]["holderIdentity"] = "somebody_else"
        server.lease["metadata"]["resourceVersion"] = "999"
        await world.until(6)
        assert not one.acts
        assert len(one.lost) == 1


@at_length
async def test_an_edit_by_a_person_does_not_end_the_lead() -> None:
    async with two() as (world, server, one, _):
        one.start()
        await world.until(1)
        assert server.lease is not None
        server.lease["metadata"] |= {"resourceVersion": "999", "labels": {"looked": "at"}}
        await world.until(20)
        assert one.acts
        assert one.lost == []
        assert server.lease["metadata"]["labels"] == {"looked": "at"}


@at_length
async def test_a_lease_that_is_deleted_is_made_again() -> None:
    async with two() as (world, server, one, _):
        one.start()
        await world.until(1)
        server.lease = None
        await world.until(20)
        assert one.acts
        assert server.lease is not None


@at_length
async def test_a_process_that_slept_for_a_minute_knows_at_once_that_it_may_not_act() -> None:
    async with two() as (world, _, one, _):
        one.start()
        await world.until(1)
        assert one.acts
        world.now += 60  # nobody was woken
        assert one.elector.leading.is_set()
        assert not one.acts


@at_length
async def test_others_are_told_to_wait_no_less_than_the_holder_acts() -> None:
    world = World()
    server = LeaseServer(world)
    terms = Terms("kube-system", "one_1", duration=10.4, deadline=10.2)
    task = asyncio.create_task(Elector(server.seen_by("one_1"), terms, clock=world.clock()).run())
    await world.until(1)
    assert server.lease is not None
    assert server.lease["spec"]["leaseDurationSeconds"] == 11
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_terms_under_which_two_could_act_are_refused() -> None:
    with pytest.raises(ValueError, match="retry < deadline < duration"):
        Terms("ns", duration=10.0, deadline=10.0)


steps = st.lists(
    st.tuples(st.sampled_from(["cut", "mend", "slow", "quick"]), st.integers(0, 1), st.integers(1, 25)),
    max_size=12,
)


async def _lived_through(bad_days: list[tuple[str, int, int]], ahead: float) -> None:
    async with two(ahead=ahead, chance=0.9) as (world, server, *replicas):
        for replica in replicas:
            replica.start()
        for what, which, lasts in bad_days:
            name = ("one_1", "other_2")[which]
            if what == "cut":
                server.down.add(name)
            elif what == "mend":
                server.down.discard(name)
            elif what == "slow":
                server.slow[name] = 4.0
            else:
                server.slow.pop(name, None)
            for _ in range(lasts * 2):
                await world.until(world.now + 0.5)
                assert not all(one.acts for one in replicas), "both act"
        server.down.clear()
        server.slow.clear()
        await world.until(world.now + 60)
        assert sum(one.acts for one in replicas) == 1


@settings(max_examples=25, deadline=None)
@given(steps, st.sampled_from([-1e6, 0.0, 1e6]))
def test_whatever_the_network_does_two_never_act_at_once_and_afterwards_one_does(
    bad_days: list[tuple[str, int, int]], ahead: float
) -> None:
    asyncio.run(_lived_through(bad_days, ahead))
