"""Who waits in one queue, and in which order queues are served."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.core.scheduling.small import LARGE, SMALL, app, near, shape, waiting, world

from dovetail.core import labels
from dovetail.core.pods import Pod, Shape
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.index import bits
from dovetail.core.scheduling.nodetable import mask_of
from dovetail.core.scheduling.queues import queues


def queued(*pods: Pod) -> list[list[str]]:
    compiled = Compiled(world(pods))
    return [[pod.name for pod in queue.pods] for queue in queues(compiled, compiled.pending(()))]


def numbered(number: int) -> Shape:
    return shape(labels=(("app", "db"), ("apps.kubernetes.io/pod-index", str(number))))


def test_labels_nobody_asks_about_do_not_tell_pods_apart() -> None:
    assert queued(*(Pod(f"db-{number}", numbered(number), f"uid-{number}") for number in range(3))) == [
        ["db-0", "db-1", "db-2"]
    ]


def test_labels_somebody_asks_about_tell_pods_apart() -> None:
    together = shape(labels=(("app", "web"),), near=near(labels.ZONE, app("db")))
    others = Pod("db", shape(labels=(("app", "db"),)), "uid-1"), Pod("web", shape(labels=(("app", "web"),)), "uid-2")
    assert queued(Pod("seeks", together, "uid-0"), *others) == [["seeks"], ["db"], ["web"]]


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
