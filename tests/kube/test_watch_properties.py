"""Whatever happens on the way, the store ends up as a fresh list would be, and its listeners know the same."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kube.scripted import CUT, GONE, HALF_A_LINE, KIND, Cluster, Day, Hours, Server, line

from dovetail.api.fields import Fields
from dovetail.core.errors import BadValue
from dovetail.kube.decoding import Plain, Stored
from dovetail.kube.errors import Expired, Unauthorized, Unavailable
from dovetail.kube.store import Key, Store
from dovetail.kube.watch import Options, Reflector

Change = Callable[[Cluster], None]

names = st.sampled_from("abcde")


def putting(name: str) -> Change:
    return lambda cluster: cluster.put(name)


def breaking(name: str) -> Change:
    return lambda cluster: cluster.put(name, broken=True)


def deleting(name: str) -> Change:
    return lambda cluster: cluster.delete(name)


def forgetting() -> Change:
    return lambda cluster: cluster.forget()


changes = st.lists(
    st.one_of(
        st.builds(putting, names),
        st.builds(putting, names),
        st.builds(deleting, names),
        st.builds(breaking, names),
        st.builds(forgetting),
    ),
    max_size=6,
)


def together(made: list[Change]) -> Change:
    def all_of_them(cluster: Cluster) -> None:
        for one in made:
            one(cluster)

    return all_of_them


ends = st.sampled_from(
    [None, CUT, HALF_A_LINE, Unavailable("down"), Unauthorized("expired"), Expired("old"), line("ERROR", GONE)]
)
watch_days = st.builds(
    Day,
    before=changes.map(together),
    most=st.one_of(st.none(), st.integers(0, 4)),
    times=st.integers(1, 2),
    replayed=st.lists(st.integers(1, 6), max_size=3).map(tuple),
    bookmark=st.booleans(),
    end=ends,
)
list_days = st.builds(
    Day, before=changes.map(together), end=st.sampled_from([None, Unavailable("down"), Expired("pages expired")])
)


def read(wire: Fields) -> str:
    if wire.has("broken"):
        raise BadValue("is broken")
    return wire.map("metadata").required("name")


class Mirror:
    """What somebody knows who only ever listened."""

    def __init__(self) -> None:
        self.known: dict[Key, tuple[str, int | str]] = {}
        self.newest: dict[str, int | str] = {}

    def heard(self, old: Stored[str] | None, new: Stored[str] | None) -> None:
        key = (new or old).key  # type: ignore[union-attr]
        assert self.known.get(key) == (None if old is None else (old.uid, old.version)), "told of a past that never was"
        if new is None:
            del self.known[key]
            return
        assert new.version > self.newest.get(new.uid, 0), "told twice, or of the past"  # type: ignore[operator]
        self.newest[new.uid] = new.version
        self.known[key] = (new.uid, new.version)


async def lived_through(first: list[Change], lists: list[Day], watches: list[Day]) -> tuple[Server, Store[Any], Mirror]:
    server = Server(lists=deque(lists), watches=deque(watches))
    together(first)(server.cluster)
    store: Store[Stored[str]] = Store()
    mirror = Mirror()
    store.listen(mirror.heard)
    reflector = Reflector(server, KIND, Plain(read), store, Options(clock=Hours().clock()))
    task = asyncio.create_task(reflector.run())
    async with asyncio.timeout(20):
        await server.idle.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    broken = {("default", name) for name, one in server.cluster.objects.items() if "broken" in one}
    assert reflector.refused.keys() == broken
    return server, store, mirror


@settings(max_examples=150, deadline=None)
@given(first=changes, lists=st.lists(list_days, max_size=3), watches=st.lists(watch_days, max_size=7))
def test_after_any_day_the_store_is_what_a_fresh_list_would_be(
    first: list[Change], lists: list[Day], watches: list[Day]
) -> None:
    server, store, mirror = asyncio.run(lived_through(first, lists, watches))
    held = {one.key: (one.uid, one.version) for one in store}
    assert held == server.cluster.content()
    assert mirror.known == held
