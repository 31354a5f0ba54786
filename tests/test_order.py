"""The order of tests is another for every seed and the same for the same seed; stories keep theirs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from tests import order_plugin


@dataclass(frozen=True)
class Item:
    """As much of a test as its order needs."""

    path: Path
    nodeid: str
    story: bool = False
    group: bool = False

    def get_closest_marker(self, name: str) -> object:
        return name if (self.story and name == "story") or (self.group and name == "xdist_group") else None


def items(file: str, count: int, story: bool = False) -> list[Item]:
    return [Item(Path(file), f"{file}::test_{number:02}", story) for number in range(count)]


def order(found: list[Item], seed: int) -> list[str]:
    return [one.nodeid for one in order_plugin.shuffled(cast("list[pytest.Item]", found), seed)]


ITEMS = [*items("a.py", 20), *items("b.py", 20), *items("c.py", 20)]


def test_a_seed_brings_its_order_back_however_the_tests_were_found() -> None:
    assert order(ITEMS, 7) == order(ITEMS[::-1], 7)
    assert order(ITEMS, 7) != order(ITEMS, 8)


def test_nothing_is_lost_and_nothing_runs_twice() -> None:
    assert sorted(order(ITEMS, 7)) == sorted(one.nodeid for one in ITEMS)


def test_tests_of_one_file_stay_together_in_an_order_of_their_own() -> None:
    found = order(ITEMS, 7)
    files = [found[start].partition("::")[0] for start in (0, 20, 40)]
    assert sorted(files) == ["a.py", "b.py", "c.py"]
    assert all(one.startswith(files[place // 20]) for place, one in enumerate(found))
    assert found[:20] != sorted(found[:20])


def test_files_change_places() -> None:
    assert len({tuple(one[:1] for one in order(ITEMS, seed)) for seed in range(20)}) > 3


def test_a_story_is_told_in_its_order() -> None:
    chapters = items("story.py", 20, story=True)
    found = [one for one in order([*ITEMS, *chapters], 7) if one.startswith("story.py")]
    assert found == [one.nodeid for one in chapters]


def test_groups_come_first_then_rooms_that_take_long_and_the_rest_keeps_its_order() -> None:
    def item(path: str, group: bool = False) -> pytest.Item:
        return cast("pytest.Item", Item(order_plugin.TESTS / path, f"{path}::test", group=group))

    found = [item("api/a.py"), item("core/a.py"), item("live/a.py"), item("live/b.py"), item("views/a.py", group=True)]
    expected = ["views/a.py::test", "live/a.py::test", "live/b.py::test", "api/a.py::test", "core/a.py::test"]
    assert [one.nodeid for one in order_plugin.long_first(found)] == expected


def test_rooms_that_take_long_exist() -> None:
    assert [room for room in order_plugin.LONG if not (order_plugin.TESTS / room).is_dir()] == []


def test_a_worker_is_given_a_group_or_a_file() -> None:
    scope = order_plugin.ByFile._split_scope
    scheduling = object.__new__(order_plugin.ByFile)
    assert scope(scheduling, "tests/live/test_a.py::test_one[x::y]") == "tests/live/test_a.py"
    assert scope(scheduling, "tests/live/test_a.py::test_one[x@y]@control-plane") == "control-plane"


def test_what_the_fast_run_leaves_out_exists_and_says_why() -> None:
    assert [room for room in order_plugin.SLOW if not (order_plugin.TESTS / room).exists()] == []
    assert all(order_plugin.SLOW.values())
