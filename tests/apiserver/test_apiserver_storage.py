"""What is stored, what is remembered of it, and who hears of changes."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.api.kinds import CONFIG_MAPS
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.storage import Bounds, Lagged, Storage


def thing(name: str, value: str = "") -> dict[str, object]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": {"a": value}}


def storage(changes: int = 1000) -> Storage:
    found = Storage(Bounds(changes))
    found.open(CONFIG_MAPS)
    return found


def test_every_write_takes_the_next_revision() -> None:
    kept = storage()
    first, second = kept.put(CONFIG_MAPS, thing("a")), kept.put(CONFIG_MAPS, thing("b"))
    assert second.revision == first.revision + 1
    assert second.object()["metadata"]["resourceVersion"] == str(second.revision)


def test_what_a_reader_does_to_an_object_nobody_else_sees() -> None:
    kept = storage()
    item = kept.put(CONFIG_MAPS, thing("a"))
    item.object()["data"]["a"] = "changed"
    assert item.object()["data"]["a"] == ""


def test_a_watch_replays_what_happened_since_and_then_waits() -> None:
    async def scenario() -> None:
        kept = storage()
        start = kept.put(CONFIG_MAPS, thing("a")).revision
        kept.put(CONFIG_MAPS, thing("b"))
        watch = kept.watch(CONFIG_MAPS, start)
        assert [change.item.name for change in await anext(watch)] == ["b"]
        waiting = asyncio.create_task(anext(watch))
        await asyncio.sleep(0)
        assert not waiting.done()
        kept.put(CONFIG_MAPS, thing("c"))
        kept.remove(CONFIG_MAPS, thing("a"))
        assert [(change.type, change.item.name) for change in await waiting] == [("ADDED", "c"), ("DELETED", "a")]

    asyncio.run(scenario())


def test_a_closed_watch_ends_whoever_waits_for_it() -> None:
    async def scenario() -> None:
        watch = storage().watch(CONFIG_MAPS)
        waiting = asyncio.create_task(anext(watch, None))
        await asyncio.sleep(0)
        watch.close()
        assert await waiting is None

    asyncio.run(scenario())


def test_a_watch_the_history_has_overtaken_is_cut_off() -> None:
    kept = storage(changes=4)
    watch = kept.watch(CONFIG_MAPS)
    for number in range(10):
        kept.put(CONFIG_MAPS, thing(f"m{number}"))
    with pytest.raises(Lagged):
        watch.ready()


def test_a_watch_from_a_forgotten_revision_has_expired() -> None:
    kept = storage()
    start = kept.put(CONFIG_MAPS, thing("a")).revision
    kept.forget_history()
    with pytest.raises(ApiError) as caught:
        kept.watch(CONFIG_MAPS, start)
    assert (caught.value.code, caught.value.reason) == (410, "Expired")
    kept.watch(CONFIG_MAPS, kept.revision)


def test_a_watch_that_kept_up_survives_the_history_being_forgotten() -> None:
    kept = storage()
    watch = kept.watch(CONFIG_MAPS)
    kept.forget_history()
    kept.put(CONFIG_MAPS, thing("a"))
    assert [change.item.name for change in watch.ready()] == ["a"]


def test_a_history_bounded_by_bytes_forgets_the_oldest_first() -> None:
    kept = Storage(Bounds(1000, size=4000))
    kept.open(CONFIG_MAPS)
    for number in range(20):
        kept.put(CONFIG_MAPS, thing(f"m{number}", "x" * 500))
    names = [change.item.name for change in kept.table(CONFIG_MAPS).history()]
    assert names[-1] == "m19"
    assert len(names) < 9


steps = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=40)


@given(steps)
def test_the_past_can_be_read_at_every_revision_still_remembered(taken: list[tuple[str, bool]]) -> None:
    kept = storage()
    table = kept.table(CONFIG_MAPS)
    past = {kept.revision: {}}
    for number, (name, removed) in enumerate(taken):
        if not removed:
            kept.put(CONFIG_MAPS, thing(name, str(number)))
        elif ("", name) in table.items:
            kept.remove(CONFIG_MAPS, thing(name))
        past[kept.revision] = dict(table.items)
    for revision, items in past.items():
        assert table.at(revision) == items
