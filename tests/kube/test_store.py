"""Stores: what they believe, what they tell, and how things are found in them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dovetail.kube.decoding import Stored
from dovetail.kube.store import Store

Item = Stored[tuple[str, ...]]


def item(name: str = "a", version: int | str = 1, *labels: str, uid: str = "") -> Item:
    return Stored(("ns", name), uid or f"uid-{name}", version, labels)


class Heard:
    def __init__(self, store: Store[Item]) -> None:
        self.changes: list[tuple[Item | None, Item | None]] = []
        self.stop = store.listen(lambda old, new: self.changes.append((old, new)))


def test_a_newer_version_is_believed_and_an_older_or_equal_one_is_not() -> None:
    store: Store[Item] = Store()
    heard = Heard(store)
    assert store.put(item(version=9))
    assert store.put(item(version=10))
    assert not store.put(item(version=10))
    assert not store.put(item(version=9))
    assert [new and new.version for _, new in heard.changes] == [9, 10]


def test_versions_that_are_no_numbers_are_only_told_apart() -> None:
    store: Store[Item] = Store()
    assert store.put(item(version="b"))
    assert not store.put(item(version="b"))
    assert store.put(item(version="a"))


def test_another_object_of_the_same_name_is_believed_whatever_its_version() -> None:
    store: Store[Item] = Store()
    store.put(item(version=9, uid="first"))
    assert store.put(item(version=3, uid="second"))
    assert not store.remove(("ns", "a"), "first")
    assert store.remove(("ns", "a"), "second")


def test_removing_what_is_not_there_is_no_news() -> None:
    store: Store[Item] = Store()
    heard = Heard(store)
    assert not store.remove(("ns", "a"))
    assert heard.changes == []
    assert store.generation == 0


def test_a_list_is_told_as_differences() -> None:
    store: Store[Item] = Store()
    same, old, gone = item("same"), item("old", 1), item("gone")
    store.replace([same, old, gone])
    heard = Heard(store)
    new, came = item("old", 2), item("came")
    store.replace([item("same"), new, came])
    assert heard.changes == [(gone, None), (old, new), (None, came)]
    assert store.get("same", "ns") is same


def test_a_list_from_before_is_believed_since_the_cluster_may_have_been_set_back() -> None:
    store: Store[Item] = Store()
    store.put(item(version=9))
    store.replace([item(version=4)])
    assert [one.version for one in store] == [4]


def test_an_answer_to_our_own_write_renews_what_is_held_and_brings_nothing_back() -> None:
    store: Store[Item] = Store()
    store.put(item(version=1))
    assert store.learn(item(version=2))
    assert not store.put(item(version=2))  # the watch says it again
    store.remove(("ns", "a"))
    assert not store.learn(item(version=3))
    assert len(store) == 0


def test_the_last_answer_about_an_object_is_believed_though_it_bears_the_version_before() -> None:
    store: Store[Item] = Store()
    heard = Heard(store)
    store.put(item(version=4))
    assert not store.learn(item(version=4))
    assert store.learn(item(version=4), last=True)
    assert not store.learn(item(version=3), last=True)
    assert len(heard.changes) == 2


def test_a_listener_hears_nothing_after_it_stopped() -> None:
    store: Store[Item] = Store()
    heard = Heard(store)
    store.put(item())
    heard.stop()
    store.put(item(version=2))
    assert len(heard.changes) == 1


def test_a_snapshot_stays_as_it_was() -> None:
    store: Store[Item] = Store()
    store.put(item("a"))
    taken = store.snapshot()
    store.put(item("b"))
    store.remove(("ns", "a"))
    assert list(taken) == [("ns", "a")]


operations = st.lists(
    st.tuples(
        st.sampled_from(["put", "remove", "replace"]),
        st.sampled_from("abc"),
        st.sets(st.sampled_from("xyz")).map(sorted),
    ),
    max_size=30,
)


@given(operations)
def test_an_index_finds_exactly_what_has_the_value(steps: list[tuple[str, str, list[str]]]) -> None:
    store: Store[Any] = Store({"label": lambda one: one.value})
    for at, (what, name, labels) in enumerate(steps):
        if what == "put":
            store.put(item(name, at, *labels))
        elif what == "remove":
            store.remove(("ns", name))
        else:
            store.replace([item(name, at, *labels)])
    for label in "xyz":
        assert store.by("label", label) == sorted((one for one in store if label in one.value), key=lambda one: one.key)
    assert set(store.values("label")) == {label for one in store for label in one.value}
