"""Reflectors on good and bad days. The server is in the test; the clock is nobody's."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from tests.kube.scripted import CUT, GONE, HALF_A_LINE, KIND, Cluster, Day, Hours, Server, at_length, line

from dovetail.api.fields import Fields
from dovetail.core.errors import BadValue
from dovetail.kube.decoding import Plain, Stored, Typed
from dovetail.kube.errors import Expired, Forbidden, TooManyRequests, Unauthorized, Unavailable, UnknownKind
from dovetail.kube.retry import Patience
from dovetail.kube.store import Key, Store
from dovetail.kube.watch import Options, Reflector


def read(wire: Fields) -> dict[str, Any]:
    if wire.has("broken"):
        raise BadValue("is broken")
    return dict(wire.wire)


def content(store: Store[Stored[Any]]) -> dict[Key, tuple[str, int | str]]:
    return {one.key: (one.uid, one.version) for one in store}


class Kept:
    """A reflector at work, and everything anybody was told."""

    def __init__(self, server: Server, hours: Hours | None = None, chance: float = 0.5) -> None:
        self.server, self.hours = server, hours or Hours()
        self.store: Store[Stored[Any]] = Store()
        self.told: list[tuple[str, str]] = []
        self.refusals: list[tuple[Key, str | None]] = []
        self.store.listen(self._heard)
        options = Options(
            clock=self.hours.clock(chance),
            patience=Patience(first=1.0, longest=16.0),
            on_refused=lambda key, problem: self.refusals.append((key, problem)),
        )
        self.reflector = Reflector(server, KIND, Plain(read), self.store, options)

    def _heard(self, old: Stored[Any] | None, new: Stored[Any] | None) -> None:
        found = new or old
        assert found is not None
        self.told.append(("remove" if new is None else "add" if old is None else "change", found.key[1]))

    async def settle(self) -> None:
        self.server.idle.clear()
        await self.server.idle.wait()

    def check(self) -> None:
        assert content(self.store) == self.server.cluster.content()


@asynccontextmanager
async def kept(server: Server, **more: Any) -> AsyncIterator[Kept]:
    one = Kept(server, **more)
    task = asyncio.create_task(one.reflector.run())
    try:
        await server.idle.wait()
        yield one
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def cluster(*names: str) -> Cluster:
    found = Cluster()
    for name in names:
        found.put(name)
    return found


@at_length
async def test_a_list_in_pages_fills_the_store_and_then_changes_arrive() -> None:
    def later(one: Cluster) -> None:
        one.put("d")
        one.put("a")
        one.delete("b")

    server = Server(cluster("a", "b", "c"), watches=deque([Day(later)]))
    async with kept(server) as one:
        assert one.reflector.synced.is_set()
        one.check()
        assert one.told == [("add", "a"), ("add", "b"), ("add", "c"), ("add", "d"), ("change", "a"), ("remove", "b")]
        assert server.asked.count("list") == 1


@at_length
async def test_an_empty_cluster_is_in_sync_too() -> None:
    async with kept(Server()) as one:
        assert one.reflector.synced.is_set()
        assert len(one.store) == 0


@at_length
async def test_a_stream_cut_mid_object_goes_on_from_the_last_version_seen() -> None:
    def more(one: Cluster) -> None:
        for name in "bcd":
            one.put(name)

    server = Server(cluster("a"), watches=deque([Day(more, most=2, end=CUT)]))
    async with kept(server) as one:
        one.check()
        assert server.asked == ["list", "watch 11", "watch 13"]
        assert one.told == [("add", name) for name in "abcd"]


@at_length
async def test_half_a_line_is_a_cut_and_not_an_object() -> None:
    server = Server(cluster("a"), watches=deque([Day(lambda one: one.put("b"), end=HALF_A_LINE)]))
    async with kept(server) as one:
        one.check()
        assert server.asked == ["list", "watch 11", "watch 12"]
        assert not one.reflector.refused


@at_length
async def test_a_stream_that_never_gets_past_a_line_makes_it_list_anew() -> None:
    server = Server(cluster("a"), watches=deque([Day(most=0, end=HALF_A_LINE)] * 3))
    async with kept(server) as one:
        one.check()
        assert server.asked == ["list", *["watch 11"] * 3, "list", "watch 11"]


@at_length
async def test_forgotten_history_is_listed_anew_and_only_differences_are_told() -> None:
    def meanwhile(one: Cluster) -> None:
        one.put("b")
        one.delete("c")
        one.put("d")
        one.forget()

    server = Server(cluster("a", "b", "c"), watches=deque([Day(meanwhile)]))
    async with kept(server) as one:
        one.check()
        assert one.told[3:] == [("remove", "c"), ("change", "b"), ("add", "d")]
        assert one.hours.slept == []


@at_length
async def test_history_that_is_always_forgotten_is_not_listed_in_a_tight_loop() -> None:
    server = Server(cluster("a"), watches=deque([Day(most=0, end=Expired("too old"))] * 4))
    async with kept(server) as one:
        one.check()
        assert one.hours.slept == [0.5, 1.0, 2.0]  # half of 1, 2, 4: the first time costs nothing


@at_length
async def test_pages_that_expire_halfway_leave_the_store_as_it_was_until_a_whole_list_is_there() -> None:
    server = Server(cluster("a", "b", "c"), lists=deque([Day(end=Expired("page expired"))]))
    async with kept(server) as one:
        one.check()
        assert [name for _, name in one.told] == ["a", "b", "c"]


@at_length
async def test_replayed_and_doubled_events_are_not_told_twice() -> None:
    def changes(one: Cluster) -> None:
        one.put("a")
        one.delete("b")
        one.put("c")

    days = [
        Day(changes, times=2),
        Day(lambda one: one.put("d"), replayed=(3, 2, 1)),
    ]
    server = Server(cluster("a", "b"), watches=deque(days))
    async with kept(server) as one:
        one.check()
        assert one.told[2:] == [("change", "a"), ("remove", "b"), ("add", "c"), ("add", "d")]
        assert one.reflector.counts.stale == 3 + 3


@at_length
async def test_an_object_made_again_under_its_name_is_another_object() -> None:
    def again(one: Cluster) -> None:
        one.delete("a")
        one.put("a")

    server = Server(cluster("a"), watches=deque([Day(again)]))
    async with kept(server) as one:
        one.check()
        assert one.told == [("add", "a"), ("remove", "a"), ("add", "a")]


@at_length
async def test_a_bookmark_moves_the_position_without_an_event() -> None:
    def elsewhere(one: Cluster) -> None:
        one.version += 50  # other kinds changed

    server = Server(cluster("a"), watches=deque([Day(elsewhere, bookmark=True, end=CUT)]))
    async with kept(server) as one:
        assert server.asked == ["list", "watch 11", "watch 61"]
        assert len(one.told) == 1


@at_length
async def test_a_five_minute_outage_is_waited_out_with_growing_waits_that_end_with_it() -> None:
    outage = [Day(most=0, end=Unavailable("refused"))] * 24
    server = Server(cluster("a"), watches=deque([*outage, Day(lambda one: one.put("b"), end=CUT)]))
    async with kept(server) as one:
        one.check()
        assert sum(one.hours.slept) > 150
        assert max(one.hours.slept) == 8.0  # half of the longest
        assert one.hours.slept[-1] == 0.5  # the cut came after progress, so the count began anew
        assert server.asked.count("list") == 1


@at_length
async def test_a_list_that_fails_is_asked_again_and_the_trouble_is_told_while_it_lasts() -> None:
    server = Server(cluster("a"), lists=deque([Day(end=Forbidden("may not list configmaps"))] * 2))
    hours = Hours()
    seen: list[str] = []
    one = Kept(server, hours)
    hours.on_sleep = lambda: seen.append(one.reflector.trouble)
    task = asyncio.create_task(one.reflector.run())
    await server.idle.wait()
    task.cancel()
    assert seen == ["may not list configmaps"] * 2
    assert one.reflector.trouble == ""
    one.check()


@at_length
async def test_a_busy_server_is_left_alone_for_as_long_as_it_asks() -> None:
    server = Server(cluster("a"), watches=deque([Day(most=0, end=TooManyRequests("busy", wait=30.0))]))
    async with kept(server) as one:
        assert one.hours.slept == [30.5]


@at_length
async def test_a_token_that_expires_mid_watch_costs_no_list() -> None:
    server = Server(cluster("a"), watches=deque([Day(lambda c: c.put("b"), end=Unauthorized("expired"))]))
    async with kept(server) as one:
        one.check()
        assert server.asked == ["list", "watch 11", "watch 12"]


@at_length
async def test_a_server_that_hangs_up_at_once_is_not_called_in_a_tight_loop() -> None:
    server = Server(cluster("a"), watches=deque([Day(most=0)] * 3))
    async with kept(server) as one:
        assert one.hours.slept == [0.5, 1.0, 2.0]


@at_length
async def test_an_error_in_the_stream_is_waited_for_and_the_watch_goes_on() -> None:
    busy = line("ERROR", {"kind": "Status", "status": "Failure", "code": 500, "message": "etcd is slow"})
    server = Server(cluster("a"), watches=deque([Day(lambda c: c.put("b"), end=busy)]))
    async with kept(server) as one:
        one.check()
        assert server.asked == ["list", "watch 11", "watch 12"]


@at_length
async def test_a_cluster_set_back_to_an_earlier_state_is_listed_anew() -> None:
    def restored(one: Cluster) -> None:
        del one.objects["b"], one.objects["c"]
        one.history = one.history[:1]
        one.version = 11

    future = Unavailable("Too large resource version: 13, current: 11", status=504)
    server = Server(cluster("a", "b", "c"), watches=deque([Day(restored, most=0, end=future)]))
    async with kept(server) as one:
        one.check()
        assert list(content(one.store)) == [("default", "a")]
        assert server.asked[-1] == "watch 11"


class Metadata(msgspec.Struct, rename="camel"):
    name: str
    uid: str
    resource_version: str


class Strict(msgspec.Struct):
    metadata: Metadata


def strictly(one: Strict) -> Stored[str]:
    about = one.metadata
    return Stored(("default", about.name), about.uid, int(about.resource_version), about.name)


@at_length
async def test_bookmarks_and_errors_are_known_for_what_they_are_where_every_object_must_have_a_name() -> None:
    days = [Day(lambda one: one.put("b"), bookmark=True, end=line("ERROR", GONE)), Day(bookmark=True, end=CUT)]
    server = Server(cluster("a"), watches=deque(days))
    store: Store[Stored[str]] = Store()
    reflector = Reflector(server, KIND, Typed(Strict, strictly), store, Options(clock=Hours().clock()))
    task = asyncio.create_task(reflector.run())
    await server.idle.wait()
    task.cancel()
    assert content(store) == server.cluster.content()
    assert (reflector.refused, reflector.counts.refused) == ({}, 0)
    assert server.asked == ["list", "watch 11", "list", "watch 12", "watch 12"]


# ---- objects that cannot be decoded


@at_length
async def test_an_object_that_cannot_be_decoded_is_left_out_and_the_rest_goes_on() -> None:
    found = cluster("a", "c")
    found.put("b", broken=True)
    server = Server(found, watches=deque([Day(lambda one: one.put("d"))]))
    async with kept(server) as one:
        one.check()
        assert one.reflector.refused == {("default", "b"): "is broken"}
        assert one.refusals == [(("default", "b"), "is broken")]


@at_length
async def test_an_object_that_becomes_decodable_enters_and_one_that_stops_being_so_leaves() -> None:
    found = cluster("a")
    found.put("b", broken=True)

    def swapped(one: Cluster) -> None:
        one.put("b")
        one.put("a", broken=True)
        one.put("a", broken=True)

    server = Server(found, watches=deque([Day(swapped)]))
    async with kept(server) as one:
        one.check()
        assert one.told == [("add", "a"), ("add", "b"), ("remove", "a")]
        assert one.refusals == [
            (("default", "b"), "is broken"),
            (("default", "b"), None),
            (("default", "a"), "is broken"),
        ]
        assert one.reflector.counts.refused == 3


@at_length
async def test_a_broken_object_that_is_deleted_is_forgotten() -> None:
    found = cluster("a")
    found.put("b", broken=True)
    server = Server(found, watches=deque([Day(lambda one: one.delete("b"))]))
    async with kept(server) as one:
        one.check()
        assert one.reflector.refused == {}


def test_a_broken_object_is_named_once_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        found = cluster("a")
        found.put("b", broken=True)
        server = Server(found, watches=deque([Day(lambda one: one.put("b", broken=True))]))
        async with kept(server):
            pass

    with caplog.at_level(logging.WARNING):
        asyncio.run(scenario())
    assert [one.getMessage() for one in caplog.records] == ["configmaps default/b is left out: is broken"]


# ---- kinds that are not served


@at_length
async def test_a_kind_that_is_not_served_counts_as_empty_and_is_found_when_it_comes() -> None:
    server = Server(cluster("a"), lists=deque([Day(end=UnknownKind("no such kind"))] * 3))
    one = Kept(server)
    task = asyncio.create_task(one.reflector.run())
    await one.reflector.synced.wait()
    assert (one.reflector.served, len(one.store)) == (False, 0)
    assert "not served" in one.reflector.trouble
    await server.idle.wait()
    task.cancel()
    one.check()
    assert (one.reflector.served, one.reflector.trouble) == (True, "")
    assert one.hours.slept == [10.0] * 3


@at_length
async def test_a_starting_server_that_does_not_know_its_kinds_yet_empties_no_store() -> None:
    server = Server(cluster("a"), watches=deque([Day(most=0, end=UnknownKind("not yet"))]))
    server.lists.extend([Day(), Day(end=UnknownKind("not yet"))])
    async with kept(server) as one:
        assert one.told == [("add", "a")]


@at_length
async def test_a_kind_that_stays_away_is_given_up() -> None:
    server = Server(cluster("a"), watches=deque([Day(most=0, end=UnknownKind("gone"))]))
    server.lists.extend([Day(), *[Day(end=UnknownKind("gone"))] * 4])
    async with kept(server) as one:
        assert one.told == [("add", "a"), ("remove", "a"), ("add", "a")]
