"""Watches: every change once, in order, from the version asked for; selections; bookmarks; forgotten history."""

from __future__ import annotations

import asyncio
import itertools

from tests.contract.kubernetes.custom import forgetful
from tests.contract.kubernetes.raw_api import Api
from tests.contract.kubernetes.things import config_map, pod

from dovetail.api.kinds import CONFIG_MAPS, PODS

MINE = {"watched": "yes"}
SELECTED = {"labelSelector": "watched=yes"}


async def version_of(api: Api, path: str) -> str:
    return str((await api.get(path)).ok()["metadata"]["resourceVersion"])


async def test_a_watch_tells_of_changes_since_a_version(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    (await api.post(path, config_map("before", labels=MINE))).ok()
    since = await version_of(api, path)
    async with api.watch(path, resourceVersion=since, **SELECTED) as watch:
        assert watch.status == 200
        made = (await api.post(path, config_map("one", labels=MINE))).ok()
        changed = (await api.patch(f"{path}/one", {"data": {"a": "1"}})).ok()
        (await api.delete(f"{path}/one")).ok()
        assert await watch.event() == ("ADDED", made)
        assert await watch.event() == ("MODIFIED", changed)
        kind, last = await watch.event()
        assert (kind, last["data"]) == ("DELETED", {"a": "1"})
        assert int(last["metadata"]["resourceVersion"]) > int(changed["metadata"]["resourceVersion"])


async def test_a_watch_from_an_older_version_replays_what_happened_since(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    since = (await api.post(path, config_map("one", labels=MINE))).ok()["metadata"]["resourceVersion"]
    (await api.patch(f"{path}/one", {"data": {"a": "1"}})).ok()
    (await api.delete(f"{path}/one")).ok()
    (await api.post(path, config_map("two", labels=MINE))).ok()
    async with api.watch(path, resourceVersion=since, **SELECTED) as watch:
        assert [await watch.brief() for _ in range(3)] == [("MODIFIED", "one"), ("DELETED", "one"), ("ADDED", "two")]


async def test_a_watch_from_zero_or_no_version_begins_with_what_there_is(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    for name in ("one", "two"):
        (await api.post(path, config_map(name, labels=MINE))).ok()
    for query in ({}, {"resourceVersion": "0"}):
        async with api.watch(path, **SELECTED, **query) as watch:
            assert {await watch.brief() for _ in range(2)} == {("ADDED", "one"), ("ADDED", "two")}
            (await api.patch(f"{path}/two", {"data": {"n": str(query)}})).ok()
            assert await watch.brief() == ("MODIFIED", "two")


async def test_an_object_entering_the_selection_is_added_and_leaving_it_is_deleted(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    (await api.post(path, config_map("one"))).ok()
    since = await version_of(api, path)
    async with api.watch(path, resourceVersion=since, **SELECTED) as watch:
        (await api.patch(f"{path}/one", {"metadata": {"labels": MINE}})).ok()
        (await api.patch(f"{path}/one", {"data": {"a": "1"}})).ok()
        left = (await api.patch(f"{path}/one", {"metadata": {"labels": {"watched": "no"}}})).ok()
        (await api.patch(f"{path}/one", {"data": {"a": "2"}})).ok()
        (await api.patch(f"{path}/one", {"metadata": {"labels": MINE}})).ok()
        assert await watch.brief() == ("ADDED", "one")
        assert await watch.brief() == ("MODIFIED", "one")
        kind, last = await watch.event()
        assert kind == "DELETED"
        assert last["metadata"]["labels"] == MINE  # as it was when it still belonged
        assert last["metadata"]["resourceVersion"] == left["metadata"]["resourceVersion"]
        assert await watch.brief() == ("ADDED", "one")


async def test_a_pod_bound_to_the_watched_node_enters_the_watch(api: Api, namespace: str) -> None:
    path = PODS.path(namespace=namespace)
    (await api.post(path, pod("one"))).ok()
    since = await version_of(api, path)
    async with api.watch(path, resourceVersion=since, fieldSelector="spec.nodeName=some-node") as watch:
        target = {"apiVersion": "v1", "kind": "Node", "name": "some-node"}
        (await api.post(f"{path}/one/binding", {"metadata": {"name": "one"}, "target": target})).ok()
        kind, bound = await watch.event()
        assert (kind, bound["spec"]["nodeName"]) == ("ADDED", "some-node")


async def test_one_object_is_watched_by_its_name(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    since = await version_of(api, path)
    async with api.watch(path, resourceVersion=since, fieldSelector="metadata.name=two") as watch:
        for name in ("one", "two"):
            (await api.post(path, config_map(name))).ok()
        assert await watch.brief() == ("ADDED", "two")


async def test_a_watch_of_all_namespaces_sees_those_of_one(api: Api, namespace: str) -> None:
    since = await version_of(api, CONFIG_MAPS.path())
    async with api.watch(CONFIG_MAPS.path(), resourceVersion=since, labelSelector=f"in={namespace}") as watch:
        made = config_map("one", labels={"in": namespace})
        (await api.post(CONFIG_MAPS.path(namespace=namespace), made)).ok()
        assert await watch.brief() == ("ADDED", "one")


async def test_events_of_two_watchers_are_the_same(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    since = await version_of(api, path)
    async with (
        api.watch(path, resourceVersion=since, **SELECTED) as first,
        api.watch(path, resourceVersion=since, **SELECTED) as second,
    ):
        for number in range(20):
            (await api.post(path, config_map(f"m{number}", labels=MINE))).ok()
        seen = [[await watch.event() for _ in range(20)] for watch in (first, second)]
    assert seen[0] == seen[1]
    versions = [int(thing["metadata"]["resourceVersion"]) for _, thing in seen[0]]
    assert versions == sorted(set(versions))


async def test_initial_events_end_with_a_bookmark_when_asked_for(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    (await api.post(path, config_map("one", labels=MINE))).ok()
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    async with api.watch(path, **query, **SELECTED) as watch:
        assert await watch.brief() == ("ADDED", "one")
        kind, bookmark = await watch.event()
        assert kind == "BOOKMARK"
        assert bookmark["kind"] == "ConfigMap"
        assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert int(bookmark["metadata"]["resourceVersion"]) > 0
        (await api.post(path, config_map("two", labels=MINE))).ok()
        assert await watch.brief() == ("ADDED", "two")


async def test_a_watch_gets_a_bookmark_of_changes_it_was_not_shown(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    since = await version_of(api, path)

    async def churn() -> None:
        for number in itertools.count():
            (await api.post(path, config_map(f"unselected-{number}"))).ok()
            await asyncio.sleep(0.1)

    # The real server sends one two seconds before the end, the embedded one may be quicker.
    query = {"resourceVersion": since, "allowWatchBookmarks": "true", "timeoutSeconds": "3"}
    async with api.watch(path, **query, **SELECTED) as watch:
        changes = asyncio.create_task(churn())
        kind, bookmark = await watch.event()
        changes.cancel()
        await asyncio.gather(changes, return_exceptions=True)
    assert kind == "BOOKMARK"
    assert (bookmark["kind"], bookmark["apiVersion"]) == ("ConfigMap", "v1")
    assert "name" not in bookmark["metadata"]
    assert int(bookmark["metadata"]["resourceVersion"]) > int(since)


async def test_a_watch_ends_after_the_time_asked_for(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    since = await version_of(api, path)
    async with api.watch(path, resourceVersion=since, timeoutSeconds="1", **SELECTED) as watch:
        assert await watch.event() == ("CLOSED", None)


async def test_a_watch_from_a_forgotten_version_is_told_so(api: Api, namespace: str) -> None:
    path = await forgetful(api, namespace)
    api.server.expire()
    async with api.watch(path, resourceVersion="1") as watch:
        assert watch.status == 200
        kind, status = await watch.event()
        assert (kind, status["kind"], status["code"], status["reason"]) == ("ERROR", "Status", 410, "Expired")
        assert status["message"].startswith("too old resource version: 1 (")
        assert await watch.event() == ("CLOSED", None)


async def test_a_watch_started_before_the_change_needs_no_second_request(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    since = await version_of(api, path)
    async with api.watch(path, resourceVersion=since, **SELECTED) as watch:
        waiting = asyncio.create_task(watch.brief())
        await asyncio.sleep(0)
        assert not waiting.done()
        (await api.post(path, config_map("one", labels=MINE))).ok()
        assert await waiting == ("ADDED", "one")


async def test_a_large_object_arrives_whole(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    since = await version_of(api, path)
    big = "x" * 900_000
    async with api.watch(path, resourceVersion=since, **SELECTED) as watch:
        (await api.post(path, config_map("one", {"big": big}, labels=MINE))).ok()
        _, thing = await watch.event()
        assert thing["data"]["big"] == big


async def test_an_object_too_large_is_refused(api: Api, namespace: str) -> None:
    answer = await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one", {"big": "x" * 1_100_000}))
    assert answer.status == 422
    answer = await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one", {"big": "x" * 3_200_000}))
    assert answer.status == 413
