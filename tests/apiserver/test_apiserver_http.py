"""The server over its socket: who gets in, what goes through, and bad days."""

from __future__ import annotations

import asyncio
import io
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from tests.apiserver.clusters import Session, config_map, definition, pod, serving

from dovetail.api.kinds import CONFIG_MAPS, CRDS, PODS
from dovetail.apiserver.bodies import MAX_BYTES
from dovetail.apiserver.storage import Bounds
from dovetail.apiserver.writes import MergePatch

MAPS = CONFIG_MAPS.path(namespace="default")
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}


@asynccontextmanager
async def watching(session: Session, path: str, **query: str) -> AsyncIterator[Any]:
    """A watch's events, one at a time."""
    async with session.ask("GET", path, watch="true", **query) as answer:
        assert answer.status == 200

        async def following() -> dict[str, Any] | None:
            async with asyncio.timeout(5):
                line = await answer.content.readline()
            return json.loads(line) if line else None

        yield following


def test_without_the_token_only_health_is_told() -> None:
    async def scenario() -> None:
        async with serving() as (server, session):
            wrong = {"Authorization": "Bearer wrong"}
            async with session.ask("GET", "/api/v1/pods", headers=wrong) as answer:
                assert (answer.status, (await answer.json())["reason"]) == (401, "Unauthorized")
            async with session.ask("GET", "/readyz", headers=wrong) as answer:
                assert answer.status == 200
            server.tokens.revoke(server.token)
            assert (await session("GET", "/api/v1/pods"))[0] == 401

    asyncio.run(scenario())


def test_a_body_too_large_is_refused() -> None:
    async def scenario() -> None:
        async with serving(tls=False) as (server, _), aiohttp.ClientSession() as http:
            sent = io.BytesIO(json.dumps(config_map(a="x" * (MAX_BYTES + 1))).encode())
            headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
            async with http.post(server.url + MAPS, data=sent, headers=headers) as answer:
                assert (answer.status, (await answer.json())["reason"]) == (413, "RequestEntityTooLarge")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("media", "body", "status"),
    [
        ("application/json", b"{", 400),
        ("application/json", b"[]", 400),
        ("application/json", b'{"metadata":{"name":[1]}}', 400),
        ("application/json", b"[" * 100_000, 400),
        ("application/yaml", b"metadata: {name: a}\ndata: {a: b}", 201),
        ("application/yaml", b"a: [", 400),
        ("application/vnd.kubernetes.protobuf", b"nonsense", 400),
        (
            "application/vnd.kubernetes.protobuf",
            b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x05\x0a\x03\x0a\x01b",
            201,
        ),
    ],
)
def test_bodies_of_each_kind_are_read_or_refused(media: str, body: bytes, status: int) -> None:
    async def scenario() -> None:
        async with serving(tls=False) as (server, _), aiohttp.ClientSession() as http:
            headers = {"Authorization": f"Bearer {server.token}", "Content-Type": media}
            async with http.post(server.url + MAPS, data=body, headers=headers) as answer:
                assert answer.status == status, await answer.text()

    asyncio.run(scenario())


def test_pages_show_one_moment_even_when_things_change_between_them() -> None:
    async def scenario() -> None:
        async with serving(tls=False) as (server, session):
            for name in "abcd":
                server.store.create(CONFIG_MAPS, config_map(name), "default")
            _, first = await session("GET", MAPS, limit="2")
            assert first["metadata"]["remainingItemCount"] == 2
            server.store.delete(CONFIG_MAPS, "c", "default")
            server.store.create(CONFIG_MAPS, config_map("bb"), "default")
            _, second = await session("GET", MAPS, limit="2", **{"continue": first["metadata"]["continue"]})
            names = [one["metadata"]["name"] for one in first["items"] + second["items"]]
            assert names == ["a", "b", "c", "d"]
            assert "continue" not in second["metadata"]

    asyncio.run(scenario())


def test_an_expired_page_offers_to_go_on_with_what_is_there_now() -> None:
    async def scenario() -> None:
        async with serving(tls=False) as (server, session):
            for name in "abc":
                server.store.create(CONFIG_MAPS, config_map(name), "default")
            _, first = await session("GET", MAPS, limit="1")
            server.faults.expire_history()
            status, problem = await session("GET", MAPS, limit="1", **{"continue": first["metadata"]["continue"]})
            assert (status, problem["reason"]) == (410, "Expired")
            _, rest = await session("GET", MAPS, **{"continue": problem["metadata"]["continue"]})
            assert [one["metadata"]["name"] for one in rest["items"]] == ["b", "c"]

    asyncio.run(scenario())


def test_a_watch_with_a_selector_sees_objects_come_and_go() -> None:
    async def scenario() -> None:
        async with serving(tls=False) as (server, session):
            path = PODS.path(namespace="default")
            start = str(server.store.storage.revision)
            async with watching(session, path, labelSelector="app=web", resourceVersion=start) as following:
                server.store.create(PODS, pod(), "default")
                for labels in ({"app": "web"}, {"tier": "x"}, {"app": None}):
                    server.store.patch(PODS, "one", MergePatch({"metadata": {"labels": labels}}), "default")
                events = [await following() for _ in range(3)]
            assert [one["type"] for one in events] == ["ADDED", "MODIFIED", "DELETED"]
            assert events[2]["object"]["metadata"]["labels"] == {"app": "web", "tier": "x"}

    asyncio.run(scenario())


def test_initial_events_end_with_a_marked_bookmark() -> None:
    async def scenario() -> None:
        async with serving(tls=False) as (server, session):
            server.store.create(CONFIG_MAPS, config_map("a"), "default")
            query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
            async with watching(session, MAPS, **query) as following:
                assert (await following())["type"] == "ADDED"
                mark = await following()
            assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
            assert (await session("GET", MAPS, watch="true", sendInitialEvents="true"))[0] == 422

    asyncio.run(scenario())


def test_a_watch_that_asks_for_bookmarks_gets_them_when_nothing_happens() -> None:
    async def scenario() -> None:
        async with serving(tls=False, bookmark_seconds=0.01) as (server, session):
            start = str(server.store.storage.revision)
            async with watching(session, MAPS, allowWatchBookmarks="true", resourceVersion=start) as following:
                assert (await following())["type"] == "BOOKMARK"

    asyncio.run(scenario())


def test_a_watcher_that_falls_behind_is_cut_and_then_told_that_it_is_too_late() -> None:
    async def scenario() -> None:
        async with serving(tls=False, bounds=Bounds(changes=4)) as (server, session):
            start = str(server.store.storage.revision)
            async with watching(session, MAPS, resourceVersion=start) as following:
                for number in range(20):
                    server.store.create(CONFIG_MAPS, config_map(f"m{number}"), "default")
                assert await following() is None
            async with watching(session, MAPS, resourceVersion=start) as following:
                event = await following()
            assert (event["type"], event["object"]["code"]) == ("ERROR", 410)

    asyncio.run(scenario())


def test_a_table_names_its_columns_once_within_a_watch() -> None:
    async def scenario() -> None:
        async with serving(tls=False) as (server, session):
            server.store.create(PODS, pod("a"), "default")
            server.store.create(PODS, pod("b"), "default")
            async with session.ask("GET", PODS.path(), headers=TABLE) as answer:
                listed = await answer.json()
            assert [row["cells"][:3] for row in listed["rows"]] == [["a", "0/1", "Pending"], ["b", "0/1", "Pending"]]
            async with session.ask("GET", PODS.path(), headers=TABLE, watch="true") as answer:
                first, second = [json.loads(await answer.content.readline())["object"] for _ in range(2)]
            assert first["columnDefinitions"]
            assert second["columnDefinitions"] is None

    asyncio.run(scenario())


def test_a_new_kind_appears_in_discovery_and_in_openapi() -> None:
    async def scenario() -> None:
        async with serving(tls=False) as (server, session):
            assert (await session.ask("GET", "/apis/example.com")).status == 404
            server.store.create(CRDS, definition())
            _, listed = await session("GET", "/apis/example.com/v1")
            assert {one["name"] for one in listed["resources"]} == {"widgets", "widgets/status", "widgets/scale"}
            _, document = await session("GET", "/openapi/v3/apis/example.com/v1")
            assert "com.example.v1.Widget" in document["components"]["schemas"]

    asyncio.run(scenario())


# --- bad days ------------------------------------------------------------------------------------------------------


def test_scripted_answers_come_in_order_and_then_end() -> None:
    async def scenario() -> None:
        async with serving(tls=False) as (server, session):
            server.faults.answer(429, retry_after=7)
            server.faults.answer(500, times=2)
            async with session.ask("GET", MAPS) as answer:
                assert (answer.status, answer.headers["Retry-After"]) == (429, "7")
            assert [(await session("GET", MAPS))[0] for _ in range(3)] == [500, 500, 200]
            server.faults.reset(times=2)  # a client may try a second connection before it gives up
            with pytest.raises(aiohttp.ClientConnectionError):
                await session("GET", MAPS)

    asyncio.run(scenario())


def test_a_watch_can_be_broken_off_in_the_middle_of_an_object() -> None:
    async def scenario() -> None:
        async with serving(tls=False) as (server, session):
            start = str(server.store.storage.revision)
            async with session.ask("GET", MAPS, watch="true", resourceVersion=start) as answer:
                server.faults.cut_after = 100
                server.store.create(CONFIG_MAPS, config_map(), "default")
                with pytest.raises(aiohttp.ClientPayloadError):
                    await answer.content.readline()

    asyncio.run(scenario())


def test_open_watches_can_be_cut_and_old_events_said_again() -> None:
    async def scenario() -> None:
        async with serving(tls=False) as (server, session):
            start = str(server.store.storage.revision)
            async with watching(session, MAPS, resourceVersion=start) as following:
                server.store.create(CONFIG_MAPS, config_map(a="1"), "default")
                server.store.patch(CONFIG_MAPS, "one", MergePatch({"data": {"a": "2"}}), "default")
                assert [(await following())["type"] for _ in range(2)] == ["ADDED", "MODIFIED"]
                server.faults.replay(CONFIG_MAPS, "one", "default")
                assert (await following())["object"]["data"] == {"a": "1"}
                assert server.faults.open_watches == 1
                assert server.faults.cut_watches() == 1
                with pytest.raises(aiohttp.ClientPayloadError):
                    await following()

    asyncio.run(scenario())


def test_after_an_outage_everything_is_as_it_was() -> None:
    async def scenario() -> None:
        async with serving(tls=False) as (server, session):
            server.store.create(CONFIG_MAPS, config_map(), "default")
            await session("GET", MAPS)
            await server.faults.begin_outage()
            with pytest.raises(aiohttp.ClientConnectionError):
                await session("GET", MAPS)
            await server.faults.end_outage()
            assert len((await session("GET", MAPS))[1]["items"]) == 1

    asyncio.run(scenario())


async def _shown(port: int, authority: bytes) -> bytes:
    """The certificate the server shows to somebody who trusts an authority."""
    context = ssl.create_default_context(cadata=authority.decode())
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    try:
        found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        assert isinstance(found, bytes)
        return found
    finally:
        writer.close()
        await writer.wait_closed()


def test_a_certificate_can_change_under_the_same_authority_or_another() -> None:
    async def scenario() -> None:
        async with serving() as (server, _):
            trusted = server.authority
            first = await _shown(server.port, trusted)
            server.faults.reissue_certificate()
            assert await _shown(server.port, trusted) != first
            server.faults.reissue_certificate(new_authority=True)
            with pytest.raises(ssl.SSLCertVerificationError):
                await _shown(server.port, trusted)
            await _shown(server.port, server.authority)

    asyncio.run(scenario())
