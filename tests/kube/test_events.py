"""Events: told once, not too often, and never at anybody's cost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from tests.kube.scripted import Hours, at_length

from dovetail.api.kinds import CORE_EVENTS, NODE_POOLS, PODS, Kind
from dovetail.kube import events
from dovetail.kube.errors import Forbidden, KubeError, NotFound
from dovetail.kube.events import About, Dropped, Event, Importance, Limit, Recorder
from dovetail.kube.patches import MergePatch, Patch

Json = dict[str, Any]
POD = About(PODS, "web-1", "shop", "uid-1")


class Server:
    def __init__(self) -> None:
        self.created: list[Json] = []
        self.patched: list[tuple[str, Json]] = []
        self.problem: KubeError | None = None

    async def create(self, kind: Kind, obj: Json, namespace: str = "") -> Json:
        assert (kind, namespace) == (CORE_EVENTS, obj["metadata"]["namespace"])
        if self.problem is not None:
            raise self.problem
        self.created.append(obj)
        return obj

    async def patch(self, kind: Kind, name: str, patch: Patch, namespace: str = "") -> Json:
        if self.problem is not None:
            raise self.problem
        assert isinstance(patch, MergePatch)
        assert isinstance(patch.body, dict)
        self.patched.append((name, patch.body))
        return {}


def event(message: str = "no room", **more: Any) -> Event:
    return Event(POD, "FailedScheduling", message, Importance.WARNING, **more)


@asynccontextmanager
async def recording() -> AsyncIterator[tuple[Recorder, Server, Hours]]:
    server, hours = Server(), Hours()
    recorder = Recorder(server, "host_1", clock=hours.clock())
    task = asyncio.create_task(recorder.run())
    try:
        yield recorder, server, hours
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@at_length
async def test_an_event_says_what_happened_to_whom_and_who_says_so() -> None:
    async with recording() as (recorder, server, _):
        recorder.publish(event())
        await recorder.flush()
        (one,) = server.created
        assert one["involvedObject"] == {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "web-1",
            "namespace": "shop",
            "uid": "uid-1",
        }
        assert (one["type"], one["reason"], one["message"]) == ("Warning", "FailedScheduling", "no room")
        assert (one["source"], one["reportingInstance"]) == ({"component": "karpenter"}, "host_1")
        assert (one["count"], one["firstTimestamp"]) == (1, one["lastTimestamp"])
        assert one["metadata"]["name"].startswith("web-1.")
        assert recorder.written == 1


@at_length
async def test_an_object_without_a_namespace_has_its_events_in_the_default_one() -> None:
    async with recording() as (recorder, server, _):
        recorder.publish(Event(About(NODE_POOLS, "general"), "Ready", "ready"))
        await recorder.flush()
        assert server.created[0]["metadata"]["namespace"] == "default"
        assert "namespace" not in server.created[0]["involvedObject"]


@at_length
async def test_the_same_event_is_told_again_only_after_two_minutes() -> None:
    async with recording() as (recorder, server, hours):
        recorder.publish(event(), event())
        hours.time += 119
        recorder.publish(event())
        assert recorder.dropped == {Dropped.REPEATED: 2}
        hours.time += 2
        recorder.publish(event())
        await recorder.flush()
        assert len(server.created) == 1
        ((name, body),) = server.patched
        assert name == server.created[0]["metadata"]["name"]
        assert body["count"] == 2


@at_length
async def test_what_makes_two_events_the_same_is_the_reason_and_the_values_named() -> None:
    async with recording() as (recorder, server, _):
        recorder.publish(event("a", same=("uid-1",)), event("b", same=("uid-1",)), event("c", same=("uid-2",)))
        recorder.publish(replace(event("d", same=("uid-1",)), reason="FAILEDSCHEDULING"))
        await recorder.flush()
        assert [one["message"] for one in server.created] == ["a", "c"]


@at_length
async def test_an_event_may_ask_for_a_longer_silence() -> None:
    async with recording() as (recorder, _, hours):
        recorder.publish(event(quiet=300.0))
        hours.time += 299
        recorder.publish(event(quiet=300.0))
        assert recorder.dropped == {Dropped.REPEATED: 1}
        hours.time += 2
        recorder.publish(event(quiet=300.0))
        assert recorder.dropped == {Dropped.REPEATED: 1}


@at_length
async def test_a_limited_event_comes_in_bursts_and_then_at_its_rate() -> None:
    limit = Limit(per_second=5.0, burst=10)
    async with recording() as (recorder, _, hours):
        recorder.publish(*(event(str(number), limit=limit) for number in range(30)))
        assert recorder.dropped == {Dropped.LIMITED: 20}
        hours.time += 1
        recorder.publish(*(event(str(number), limit=limit) for number in range(10, 30)))
        assert recorder.dropped == {Dropped.LIMITED: 20 + 15}


@at_length
async def test_a_full_queue_drops_and_never_waits_or_raises() -> None:
    recorder = Recorder(Server(), clock=Hours().clock())
    recorder.publish(*(event(str(number)) for number in range(events.QUEUED + 7)))
    assert recorder.dropped == {Dropped.QUEUE_FULL: 7}


@at_length
async def test_an_event_dropped_for_lack_of_room_may_be_told_later() -> None:
    async with recording() as (recorder, server, _):
        recorder.publish(*(event(str(number)) for number in range(events.QUEUED + 1)))
        await recorder.flush()
        recorder.publish(event(str(events.QUEUED)))
        await recorder.flush()
        assert len(server.created) == events.QUEUED + 1


@at_length
async def test_a_server_that_refuses_events_costs_events_and_nothing_else() -> None:
    async with recording() as (recorder, server, _):
        server.problem = Forbidden("may not create events")
        recorder.publish(event("a"))
        await recorder.flush()
        assert recorder.dropped == {Dropped.FAILED: 1}
        server.problem = None
        recorder.publish(event("b"))
        await recorder.flush()
        assert [one["message"] for one in server.created] == ["b"]


@at_length
async def test_an_event_the_server_has_forgotten_is_written_anew() -> None:
    async with recording() as (recorder, server, hours):
        recorder.publish(event())
        await recorder.flush()
        hours.time += 200

        async def forgotten(*_: object, **__: object) -> Json:
            raise NotFound("gone")

        server.patch = forgotten  # type: ignore[method-assign,assignment]
        recorder.publish(event())
        await recorder.flush()
        assert [one["count"] for one in server.created] == [1, 1]
        assert len({one["metadata"]["name"] for one in server.created}) == 2


@at_length
async def test_long_messages_and_names_are_cut_to_what_the_server_takes() -> None:
    async with recording() as (recorder, server, _):
        recorder.publish(Event(About(PODS, "n" * 253, "shop"), "Long", "x" * 5000))
        await recorder.flush()
        assert len(server.created[0]["message"]) == 1024
        assert len(server.created[0]["metadata"]["name"]) <= 253
        assert server.created[0]["involvedObject"]["name"] == "n" * 253


@at_length
async def test_what_nobody_could_repeat_any_more_is_forgotten_and_of_too_much_the_oldest() -> None:
    """A controller tells of pods and nodes for months, and each has a name of its own."""
    async with recording() as (recorder, _, hours):
        for number in range(30):
            recorder.publish(event(str(number)))
            await recorder.flush()
            hours.time += 100
        assert len(recorder._quiet) == 2
        assert len(recorder._told) == 6
    held: events._Lately[int] = events._Lately()
    for number in range(events._REMEMBERED + 5):
        held.put((number,), number, 0.0, 60.0)
    assert len(held) == events._REMEMBERED
    assert (held.get((4,), 0.0), held.get((5,), 0.0), held.get((5,), 60.0)) == (None, 5, None)
