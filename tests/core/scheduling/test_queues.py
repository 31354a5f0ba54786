"""Who waits in one queue, and in which order queues are served."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.core.scheduling.small import LARGE, SMALL, app, near, shape, waiting, world

from dovetail.core import labels
from dovetail.core.pods import Pod, Shape
from dovetail.core.scheduling.bitsets import bits, mask_of
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.queues import queues


def queued(*pods: Pod) -> list[list[str]]:
    compiled = Compiled(world(pods))
    return [[pod.name for pod in queue.pods] for queue in queues(compiled, compiled.pending(()))]


def numbered(number: int) -> Shape:
    return shape(labels=(("app", "db"), ("apps.kubernetes.io/pod-index", str(number))))


def test_labels_nobody_asks_about_do_not_tell_families_apart() -> None:
    compiled = Compiled(world(tuple(Pod(f"db-{number}", numbered(number)) for number in range(3))))
    assert len({compiled.known(numbered(number)).family for number in range(3)}) == 1


def test_labels_somebody_asks_about_tell_families_apart() -> None:
    together = shape(labels=(("app", "web"),), near=near(labels.ZONE, app("db")))
    plain = shape(labels=(("app", "db"),)), shape(labels=(("app", "web"),))
    compiled = Compiled(world((Pod("seeks", together),)))
    assert len({compiled.known(one).family for one in (together, *plain)}) == 3


def test_equal_shapes_wait_in_one_queue_though_they_are_different_objects() -> None:
    assert queued(*waiting(2, shape(), "a"), *waiting(2, shape(), "b")) == [["a-0", "a-1", "b-0", "b-1"]]


def test_priority_and_size_tell_pods_apart_and_decide_who_comes_first() -> None:
    urgent = Pod("urgent", shape(SMALL, priority=10), "c")
    assert queued(Pod("small", shape(SMALL), "a"), Pod("large", shape(LARGE), "b"), urgent) == [
        ["urgent"],
        ["large"],
        ["small"],
    ]


def test_of_equal_size_who_needs_a_node_without_its_like_comes_first() -> None:
    alone = shape(apart=near(labels.HOSTNAME))
    assert queued(Pod("any", shape(), "a"), Pod("alone", alone, "b")) == [["alone"], ["any"]]


@given(st.sets(st.integers(0, 3000)))
def test_a_set_of_any_length_is_read_back_in_order(numbers: set[int]) -> None:
    assert list(bits(mask_of(numbers, 3001))) == sorted(numbers)


@given(st.integers(0, 3000).flatmap(lambda size: st.tuples(st.just(size), st.sets(st.integers(0, size)))))
def test_sets_that_are_full_and_sets_that_are_not_are_made_alike(given_: tuple[int, set[int]]) -> None:
    size, numbers = given_
    for shuffled in (list(numbers), list(numbers) * 2, list(range(size + 1))):
        assert mask_of(shuffled, size + 1) == sum(1 << one for one in {*shuffled})
