"""Events go an hour after they were last written, and nothing else does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.apiserver.clusters import Clock, cluster, config_map, refused

from dovetail.api.kinds import CONFIG_MAPS, CORE_EVENTS, EVENTS
from dovetail.apiserver.expiry import Expiry
from dovetail.apiserver.items import Change, Item
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.storage import Bounds
from dovetail.apiserver.writes import MergePatch

HOUR = 3600


def event(name: str, **fields: Any) -> dict[str, Any]:
    about = {"kind": "Pod", "name": "web", "namespace": "default"}
    return {"metadata": {"name": name}, "involvedObject": about, "reason": "Waiting", "type": "Normal", **fields}


def names(objects: Objects) -> list[str]:
    return [one["metadata"]["name"] for one in objects.list(CORE_EVENTS)]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def objects(clock: Clock) -> Objects:
    return cluster(clock)


def test_an_event_is_kept_for_an_hour_and_then_gone(objects: Objects, clock: Clock) -> None:
    objects.create(CORE_EVENTS, event("a"), "default")
    clock.advance(HOUR - 1)
    assert names(objects) == ["a"]
    clock.advance(1)
    assert names(objects) == []
    refused(lambda: objects.get(CORE_EVENTS, "a", "default"), 404)
    refused(lambda: objects.get(EVENTS, "a", "default"), 404)


def test_an_event_written_again_lives_an_hour_from_then(objects: Objects, clock: Clock) -> None:
    for name in ("a", "b"):
        objects.create(CORE_EVENTS, event(name), "default")
    clock.advance(HOUR / 2)
    objects.patch(CORE_EVENTS, "a", MergePatch({"count": 2}), "default")
    clock.advance(HOUR / 2)
    assert names(objects) == ["a"]
    clock.advance(HOUR / 2)
    assert names(objects) == []


def test_a_patch_of_an_event_that_has_expired_finds_nothing(objects: Objects, clock: Clock) -> None:
    objects.create(CORE_EVENTS, event("a"), "default")
    clock.advance(HOUR)
    refused(lambda: objects.patch(CORE_EVENTS, "a", MergePatch({"count": 2}), "default"), 404)


def test_the_name_of_an_expired_event_is_free_again(objects: Objects, clock: Clock) -> None:
    first = objects.create(CORE_EVENTS, event("a"), "default")
    clock.advance(HOUR)
    assert objects.create(CORE_EVENTS, event("a"), "default")["metadata"]["uid"] != first["metadata"]["uid"]


def test_whoever_watches_hears_that_an_event_expired(objects: Objects, clock: Clock) -> None:
    objects.create(CORE_EVENTS, event("a"), "default")
    watch = objects.watch(EVENTS)
    clock.advance(HOUR)
    objects.create(CORE_EVENTS, event("b"), "default")
    heard = [(change.type, change.item.name, change.revision) for change in watch.ready()]
    assert [one[:2] for one in heard] == [("DELETED", "a"), ("ADDED", "b")]
    assert heard[0][2] < heard[1][2], "one revision each, in order"


def test_an_event_deleted_by_hand_and_made_anew_lives_its_own_hour(objects: Objects, clock: Clock) -> None:
    objects.create(CORE_EVENTS, event("a"), "default")
    clock.advance(HOUR / 2)
    objects.delete(CORE_EVENTS, "a", "default")
    objects.create(CORE_EVENTS, event("a"), "default")
    clock.advance(HOUR / 2)
    assert names(objects) == ["a"]


def test_nothing_but_events_expires(objects: Objects, clock: Clock) -> None:
    objects.create(CONFIG_MAPS, config_map("a"), "default")
    clock.advance(1000 * HOUR)
    assert [one["metadata"]["name"] for one in objects.list(CONFIG_MAPS, "default")] == ["a"]


def test_deleting_many_events_does_not_mind_those_that_expire_meanwhile() -> None:
    clock = Clock()
    objects = cluster(clock)
    for name in ("a", "b", "c"):
        objects.create(CORE_EVENTS, event(name), "default")
    clock.advance(HOUR - 1)
    # Time passes with every deletion, as it does in life: the second one finds the others gone.
    objects.storage.listeners.append(lambda kind, change: clock.advance(1))
    objects.delete_collection(CORE_EVENTS, "default")
    assert names(objects) == []


def test_how_long_events_live_can_be_said() -> None:
    clock = Clock()
    objects = cluster(clock, Bounds(event_lifetime=timedelta(minutes=1)))
    objects.create(CORE_EVENTS, event("a"), "default")
    clock.advance(60)
    assert names(objects) == []


def test_a_stream_of_events_is_held_for_an_hour_s_worth_and_no_more(objects: Objects, clock: Clock) -> None:
    held = []
    for number in range(300):
        objects.create(CORE_EVENTS, event(f"e{number}"), "default")
        held.append(len(objects.storage.table(CORE_EVENTS).items))
        clock.advance(HOUR / 50)
    assert max(held) == 50


def written(name: str, deleted: bool) -> Change:
    item = Item({"metadata": {"name": name}}, b"{}", 1, ())
    return Change("DELETED" if deleted else "MODIFIED", item, None)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans(), st.integers(0, 20)), max_size=40))
def test_what_is_named_is_exactly_what_was_last_written_long_ago(steps: list[tuple[str, bool, int]]) -> None:
    clock = Clock()
    expiry, last = Expiry(timedelta(seconds=30), clock), dict[str, float]()
    seconds = 0.0
    for name, deleted, wait in steps:
        expiry.note(written(name, deleted))
        last.pop(name, None)
        if not deleted:
            last[name] = seconds
        clock.advance(wait)
        seconds += wait
        due = {one for one, when in last.items() if seconds - when >= 30}
        assert {key[1] for key in expiry.overdue()} == due
        last = {one: when for one, when in last.items() if one not in due}
