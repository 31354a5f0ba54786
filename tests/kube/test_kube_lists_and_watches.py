"""Lists in pages and watches in batches, from a server that forgets, breaks off, or holds objects nobody can read."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest
from aiohttp import web
from tests.kube.loopback import Reply, Scripted, a_list, event, refuses, says, streams

from dovetail.api import kinds
from dovetail.kube.client import Client
from dovetail.kube.errors import BadAnswer, Expired, KubeError, StreamCut


def test_a_silent_server_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovetail.kube.client._WATCH_SLACK", 0.1)

    async def scenario() -> None:
        never = asyncio.Event()
        async with Scripted.saying(streams([b'{"a":'], until=never)) as server, Client(server.config()) as client:
            watch = client.watch_batches(kinds.NODES, resource_version="1", timeout=0)
            with pytest.raises(StreamCut, match=r"nothing came for 0\.1 s"):
                await anext(watch)
            never.set()

    asyncio.run(scenario())


async def watched(*replies: Reply) -> tuple[list[bytes], KubeError | None]:
    lines: list[bytes] = []
    async with Scripted.saying(*replies) as server, Client(server.config()) as client:
        try:
            async for batch in client.watch_batches(kinds.NODES, resource_version="5", labels="a=b"):
                lines.extend(batch)
        except KubeError as problem:
            return lines, problem
        finally:
            assert server.seen[0].query == {
                "watch": "true",
                "resourceVersion": "5",
                "labelSelector": "a=b",
                "timeoutSeconds": "300",
                "allowWatchBookmarks": "true",
            }
    return lines, None


def test_events_arrive_whole_however_the_stream_is_cut_up() -> None:
    events = [event("ADDED", f"n{n}", n) for n in range(20)]
    stream = b"".join(events)
    pieces = [stream[at : at + 7] for at in range(0, len(stream), 7)]
    lines, problem = asyncio.run(watched(streams(pieces)))
    assert problem is None
    assert lines == [one.rstrip() for one in events]


def test_a_stream_cut_mid_object_hands_on_what_was_whole_and_never_the_rest() -> None:
    whole, half = event("ADDED", "n1", 6), event("ADDED", "n2", 7)[:-9]
    lines, problem = asyncio.run(watched(streams([whole + half], cut=True)))
    assert lines == [whole.rstrip()]
    assert isinstance(problem, StreamCut)


def test_a_stream_that_ends_in_good_order_but_mid_object_is_cut_all_the_same() -> None:
    lines, problem = asyncio.run(watched(streams([event("ADDED", "n1", 6), b'{"type":"MODIFIED"'])))
    assert len(lines) == 1
    assert isinstance(problem, StreamCut)


def test_an_object_of_a_megabyte_and_a_half_is_one_line() -> None:
    large = event("MODIFIED", "n1", 6, data="x" * 1_500_000)
    lines, problem = asyncio.run(watched(streams([event("ADDED", "n0", 5), large])))
    assert problem is None
    assert lines[1] == large.rstrip()


def test_a_watch_from_a_forgotten_version_says_so() -> None:
    lines, problem = asyncio.run(watched(refuses(410, "Expired", "too old resource version: 5 (90)")))
    assert lines == []
    assert isinstance(problem, Expired)


def test_a_watch_that_breaks_is_not_repeated_behind_the_callers_back() -> None:
    async def scenario() -> None:
        async with Scripted.saying(streams([], cut=True)) as server, Client(server.config()) as client:
            with pytest.raises(StreamCut):
                await anext(client.watch_batches(kinds.NODES, resource_version="5"))
            assert len(server.seen) == 1

    asyncio.run(scenario())


def test_a_watch_holds_no_seat_once_it_has_begun() -> None:
    async def scenario() -> None:
        never = asyncio.Event()
        watches = [streams([event("ADDED", "n1", 6)], until=never) for _ in range(40)]
        async with Scripted.saying(*watches, says({"ok": 1})) as server, Client(server.config()) as client:
            held = [client.watch_batches(kinds.NODES, resource_version="5") for _ in range(40)]
            await asyncio.gather(*(anext(one) for one in held))
            assert await client.get(kinds.NODES, "n1") == {"ok": 1}
            never.set()
            for one in held:
                await one.aclose()

    asyncio.run(scenario())


def test_pages_follow_their_tokens() -> None:
    async def scenario() -> None:
        pages = [says(a_list("a", "b", token="t1")), says(a_list("c", token="t2")), says(a_list("d"))]
        async with Scripted.saying(*pages) as server, Client(server.config()) as client:
            listed = await client.list(kinds.PODS, "shop", limit=2, fields="x=y")
        assert [one["metadata"]["name"] for one in listed.items] == ["a", "b", "c", "d"]
        assert listed.resource_version == "7"
        assert [one.query.get("continue") for one in server.seen] == [None, "t1", "t2"]
        assert {one.query["limit"] for one in server.seen} == {"2"}

    asyncio.run(scenario())


def test_pages_that_expire_begin_anew_and_lose_nothing() -> None:
    async def scenario() -> None:
        gone = refuses(410, "Expired", "The provided continue parameter is too old")
        first = says(a_list("old", token="t1"))
        again = says(a_list("a", version="9", token="t2"))
        replies = (first, gone, again, gone, says(a_list("a", "b", version="11")))
        async with Scripted.saying(*replies) as server, Client(server.config()) as client:
            listed = await client.list(kinds.PODS)
        assert [one["metadata"]["name"] for one in listed.items] == ["a", "b"]
        assert listed.resource_version == "11"
        assert "limit" not in server.seen[-1].query

    asyncio.run(scenario())


def test_a_restarted_list_is_told_to_whoever_reads_page_by_page() -> None:
    async def scenario() -> None:
        replies = [says(a_list("old", token="t")), refuses(410), says(a_list("a", token="u")), says(a_list("b"))]
        async with Scripted.saying(*replies) as server, Client(server.config()) as client:
            flags = [(page.first, page.last) async for page in client.pages(kinds.PODS)]
        assert flags == [(True, False), (True, False), (False, True)]

    asyncio.run(scenario())


def test_a_list_that_never_began_does_not_begin_anew() -> None:
    async def scenario() -> None:
        async with Scripted.saying(refuses(410, "Expired")) as server, Client(server.config()) as client:
            with pytest.raises(Expired):
                await client.list(kinds.PODS)

    asyncio.run(scenario())


def test_the_next_page_is_on_its_way_while_this_one_is_read() -> None:
    async def scenario() -> None:
        asked = asyncio.Event()

        async def second(request: web.Request) -> web.StreamResponse:
            asked.set()
            return web.json_response(a_list("b"))

        replies = (says(a_list("a", token="t")), second)
        async with Scripted.saying(*replies) as server, Client(server.config()) as client:
            pages = client.pages(kinds.PODS)
            await anext(pages)
            await asyncio.wait_for(asked.wait(), 5)
            assert [page.items async for page in pages] == [[{"metadata": {"name": "b"}}]]

    asyncio.run(scenario())


def test_a_list_may_be_left_before_its_end() -> None:
    async def scenario() -> None:
        replies = (says(a_list("a", token="t")), refuses(403, "Forbidden"))
        async with Scripted.saying(*replies) as server, Client(server.config()) as client:
            pages = client.pages(kinds.PODS)
            assert len((await anext(pages)).items) == 1
            await pages.aclose()
            with pytest.raises(StopAsyncIteration):
                await anext(pages)

    asyncio.run(scenario())


class Pod(msgspec.Struct):
    metadata: dict[str, str]


def test_an_item_that_cannot_be_decoded_costs_only_itself() -> None:
    async def scenario() -> None:
        items = [{"metadata": {"name": "a", "namespace": "shop"}}, {"metadata": {"name": "b", "x": 1}}, {"metadata": 3}]
        body = {"metadata": {"resourceVersion": "7"}, "items": items}
        told: list[tuple[str, str]] = []
        async with Scripted.saying(says(body), says(body)) as server, Client(server.config()) as client:
            listed = await client.list(kinds.PODS, into=Pod, on_bad=lambda name, why: told.append((name, why)))
            assert [one.metadata["name"] for one in listed.items] == ["a"]
            assert [name for name, _ in told] == ["b", "(an object without a name)"]
            assert "metadata" in told[0][1]
            with pytest.raises(BadAnswer):
                await client.list(kinds.PODS, into=Pod)

    asyncio.run(scenario())


def test_items_can_be_had_as_they_came() -> None:
    async def scenario() -> None:
        async with Scripted.saying(says(a_list("a"))) as server, Client(server.config()) as client:
            listed = await client.list(kinds.PODS, into=msgspec.Raw)
        assert json.loads(bytes(listed.items[0])) == {"metadata": {"name": "a"}}

    asyncio.run(scenario())


def test_an_empty_list_written_as_null_is_empty() -> None:
    async def scenario() -> None:
        async with Scripted.saying(says({"metadata": {}, "items": None})) as server, Client(server.config()) as client:
            assert (await client.list(kinds.PODS)).items == []

    asyncio.run(scenario())
