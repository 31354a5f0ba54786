"""Levels: the coarse answer to "which bins still have this much room" never leaves out one that has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.scheduling.levels import Levels

#: Amounts of all magnitudes: devices, millicores, bytes.
most = st.one_of(st.integers(1, 64), st.integers(1, 10**6), st.integers(1, 2**45))


@st.composite
def fillings(draw: st.DrawFn) -> tuple[int, dict[int, int], list[tuple[int, int]], int]:
    """The most there is, what bins begin with, what is put later (bins only lose), and an amount to ask for."""
    largest = draw(most)
    amounts = st.integers(-3, largest)
    begun = dict(enumerate(draw(st.lists(amounts, max_size=8))))
    now, later = dict(begun), []
    for number, share in draw(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 16)), max_size=12)):
        room = now.get(number, largest)
        now[number] = room * share // 16 if room > 0 else room
        later.append((number, now[number]))
    named = [amount for amount in now.values() if amount > 0]
    return largest, begun, later, draw(st.one_of(st.integers(1, largest + 1), st.sampled_from([*named, 1])))


def filled(
    largest: int, begun: dict[int, int], later: list[tuple[int, int]], meanwhile: int | None = None
) -> tuple[Levels, dict[int, int]]:
    """Bins that were there from the beginning and what became of them; `meanwhile` somebody asks for so much."""
    levels, now = Levels.up_to(largest), dict(begun)
    levels.fill(list(begun.values()))
    for number, amount in later:
        if meanwhile is not None:
            levels.at_least(meanwhile)
        put(levels, number, now, amount)
    return levels, now


def put(levels: Levels, number: int, now: dict[int, int], amount: int) -> None:
    if number in now:
        levels.move(number, now[number], amount)
    else:
        levels.enter(1 << number, amount)
    now[number] = amount


def bins(mask: int) -> set[int]:
    return {number for number in range(mask.bit_length()) if mask >> number & 1}


@given(fillings())
def test_a_bin_that_would_fit_is_never_left_out(world: tuple[int, dict[int, int], list[tuple[int, int]], int]) -> None:
    largest, begun, later, asked = world
    levels, now = filled(largest, begun, later)
    assert bins(levels.at_least(asked)) >= {number for number, room in now.items() if room >= asked}


@pytest.mark.parametrize("asked", [1, 5, 10, 200, 300, 500])
def test_a_bin_that_lost_some_still_has_room_for_less(asked: int) -> None:
    levels = Levels.up_to(4000)
    levels.enter(1, 900)
    assert bins(levels.at_least(700)) == {0}
    levels.move(0, 900, 500)
    assert bins(levels.at_least(asked)) == {0}


@given(fillings())
def test_a_bin_let_through_has_hardly_too_little_unless_it_is_roomy(
    world: tuple[int, dict[int, int], list[tuple[int, int]], int],
) -> None:
    """Roomy is a quarter of the most there is, to a sixty-fourth; below a millionth of it, some is told from none."""
    largest, begun, later, asked = world
    levels, now = filled(largest, begun, later)
    for number in bins(levels.at_least(asked)):
        enough = min(asked, max(1, largest // 4))
        assert now[number] * 64 >= enough * 63 or asked <= largest >> 19


@given(fillings(), st.integers(0, 16))
def test_what_was_asked_before_does_not_change_the_answer(
    world: tuple[int, dict[int, int], list[tuple[int, int]], int], share: int
) -> None:
    """Neither the same question nor another; the kept answer may be the sharper one."""
    largest, begun, later, asked = world
    fresh, now = filled(largest, begun, later)
    everyone = sum(1 << number for number in now)
    for before in (asked, max(1, largest * share // 16)):
        found = bins(filled(largest, begun, later, before)[0].among(everyone, asked))
        assert {number for number, room in now.items() if room >= asked} <= found <= bins(fresh.among(everyone, asked))


@given(fillings())
def test_who_asks_for_no_more_than_the_least_need_not_ask(
    world: tuple[int, dict[int, int], list[tuple[int, int]], int],
) -> None:
    largest, begun, later, _ = world
    levels, now = filled(largest, begun, later)
    assert all(max(0, now[number]) >= levels.least for number in now.keys() - bins(levels.roomy))


@given(fillings())
def test_a_copy_goes_its_own_way(world: tuple[int, dict[int, int], list[tuple[int, int]], int]) -> None:
    largest, begun, later, asked = world
    levels, now = filled(largest, begun, [])
    before = levels.at_least(asked)
    twin = levels.copy()
    later_on = dict(now)
    for number, amount in later:
        put(twin, number, later_on, amount)
    assert levels.at_least(asked) == before
    assert bins(before) >= {number for number, room in now.items() if room >= asked}


@given(most, st.lists(st.integers(0, 16), max_size=20))
def test_filling_at_once_is_the_same_as_one_by_one(largest: int, shares: list[int]) -> None:
    amounts = {number: largest * share // 16 for number, share in enumerate(shares)}
    at_once, one_by_one = Levels.up_to(largest), Levels.up_to(largest)
    at_once.fill(list(amounts.values()))
    for number, amount in amounts.items():
        one_by_one.enter(1 << number, amount)
    for asked in {1, largest, *amounts.values()} - {0}:
        assert at_once.at_least(asked) == one_by_one.at_least(asked)


@given(most, st.integers(0, 16), st.sets(st.integers(0, 40)))
def test_bins_with_the_same_room_may_be_entered_together(largest: int, share: int, numbers: set[int]) -> None:
    together, one_by_one = Levels.up_to(largest), Levels.up_to(largest)
    amount = largest * share // 16
    together.enter(sum(1 << number for number in numbers), amount)
    for number in numbers:
        one_by_one.enter(1 << number, amount)
    for asked in {1, largest, max(1, amount)}:
        assert together.at_least(asked) == one_by_one.at_least(asked)
