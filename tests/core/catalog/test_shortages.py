"""A shortage touches the rows it names, and lapses by itself (S0.3)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import hardware, reservation, reserved_row, row, rows

from dovetail.core import labels
from dovetail.core.catalog.hardware import Hardware
from dovetail.core.catalog.offerings import offering
from dovetail.core.catalog.reservations import pooled
from dovetail.core.catalog.shortages import BELIEVED_SECONDS, NO_SHORTAGES, Shortage, Shortages
from dovetail.core.requirements import Requirements, is_in

M5 = hardware("m5.large")
some_shortage = st.builds(
    Shortage,
    st.none() | st.sampled_from(["m5.large", "c5.large"]),
    st.none() | st.sampled_from("abc"),
    st.none() | st.sampled_from(["spot", "on-demand", "reserved"]),
    st.none() | st.sampled_from(["cr-1", "cr-2"]),
    st.none() | st.sampled_from(["m5", "c5"]),
    st.sampled_from([0, 2000, 4000]),
)


def marked(*shortages: Shortage, machine: Hardware = M5) -> list[tuple[str | None, str | None]]:
    """The zone and capacity type of the rows that can no longer be bought."""
    believed = Shortages(dict.fromkeys(shortages, 1.0))
    (pool,) = pooled([reservation("cr-1", available=1), reservation("cr-2", available=1)]).values()
    offered = (*rows(), reserved_row(pool), row(None, "spot", "0.2"))
    return [(one.zone, one.capacity_type) for one in believed.applied(machine, offered) if not one.launchable]


@pytest.mark.parametrize(
    ("shortage", "gone"),
    [
        (Shortage("m5.large", "a", "spot"), [("a", "spot")]),
        (Shortage("m5.large", "a"), [("a", "spot"), ("a", "on-demand"), ("a", "reserved")]),
        (Shortage(capacity_type="spot"), [("a", "spot"), ("b", "spot"), (None, "spot")]),
        (Shortage("c5.large", "a", "spot"), []),
        (Shortage(family="m5", zone="b"), [("b", "spot"), ("b", "on-demand")]),
        (Shortage(family="c5", zone="b"), []),
        (Shortage(family="m5", zone="b", min_cpu_millis=2000), [("b", "spot"), ("b", "on-demand")]),
        (Shortage(family="m5", zone="b", min_cpu_millis=2001), []),
        (Shortage(zone="z"), []),
        (Shortage(reservation_id="cr-9"), []),
    ],
)
def test_a_shortage_marks_exactly_the_rows_it_names_S0_3(shortage: Shortage, gone: list[tuple[str, str]]) -> None:
    assert marked(shortage) == gone


def test_a_shortage_within_something_touches_only_rows_that_are_in_it_S0_3() -> None:
    plain = row("a", "spot", "0.2")
    inside = replace(plain, requirements=plain.requirements & Requirements([is_in("x.io/group", "g-1")]))
    other = replace(plain, requirements=plain.requirements & Requirements([is_in("x.io/group", "g-2")]))
    believed = Shortages({Shortage("m5.large", "a", "spot", within=(("x.io/group", "g-1"),)): 1.0})
    assert [one.launchable for one in believed.applied(M5, (plain, inside, other))] == [True, False, True]


def test_a_row_open_to_any_zone_survives_the_shortage_of_one() -> None:
    assert (None, "spot") not in marked(Shortage(zone="a"))


def test_a_full_reservation_empties_its_row_by_as_much_as_it_had_S3_5() -> None:
    (pool,) = pooled([reservation("cr-1", available=2), reservation("cr-2", available=3)]).values()
    before = reserved_row(pool)
    one = Shortage(reservation_id="cr-1").applied(before)
    assert (one.count, one.available, one.launchable) == (3, True, True)
    both = Shortage(reservation_id="cr-2").applied(one)
    assert (both.count, both.available, both.launchable) == (0, True, False)
    assert Shortage(reservation_id="cr-1").applied(one) is one


@given(st.lists(some_shortage, max_size=4))
def test_rows_a_shortage_does_not_name_stay_the_same_objects_S0_3(shortages: list[Shortage]) -> None:
    offered = rows()
    after = Shortages(dict.fromkeys(shortages, 1.0)).applied(M5, offered)
    for old, new in zip(offered, after, strict=True):
        named = any(one.names_type(M5) and one.names_row(old) for one in shortages)
        assert (new is old) or named
        assert new.price is old.price
    if all(new is old for old, new in zip(offered, after, strict=True)):
        assert after is offered


@given(
    st.permutations(
        [
            Shortage("m5.large", "a"),
            Shortage(capacity_type="spot"),
            Shortage(reservation_id="cr-1"),
            Shortage(family="m5"),
        ]
    )
)
def test_the_order_bad_news_comes_in_does_not_matter(order: list[Shortage]) -> None:
    offered = rows()
    expected = Shortages(dict.fromkeys(sorted(order, key=str), 1.0)).applied(M5, offered)
    assert Shortages(dict.fromkeys(order, 1.0)).applied(M5, offered) == expected


def test_a_capacity_error_is_believed_for_three_minutes_S0_3() -> None:
    assert BELIEVED_SECONDS == 180


def test_hearing_of_it_again_extends_a_shortage_and_never_shortens_it() -> None:
    one = Shortage("m5.large")
    believed = NO_SHORTAGES.with_all([one], 10).with_all([one], 30).with_all([one], 20)
    assert believed.until == {one: 30}


def test_a_shortage_lapses_at_its_time_and_not_before_S0_3() -> None:
    believed = NO_SHORTAGES.with_all([Shortage("a")], 10).with_all([Shortage("b")], 20)
    assert believed.lapsed(9.9) == ()
    assert believed.lapsed(10) == (Shortage("a"),)
    assert believed.next_lapse == 10
    assert believed.without(believed.lapsed(20)) == NO_SHORTAGES
    assert NO_SHORTAGES.next_lapse is None


def test_a_row_open_to_any_zone_loses_the_zone_that_ran_out_and_keeps_the_others() -> None:
    anywhere = offering({labels.CAPACITY_TYPE: "on-demand"}, None)
    left = Shortage("m5.large", "a", "on-demand").applied(anywhere)
    wanted = left.requirements.get(labels.ZONE)
    assert wanted is not None
    assert (left.available, wanted.admits("a"), wanted.admits("b")) == (True, False, True)
    assert Shortage("m5.large", "a", "spot").applied(anywhere) is anywhere


def test_a_row_open_to_any_capacity_type_loses_the_one_that_ran_out() -> None:
    either = offering({labels.ZONE: "a"}, None)
    wanted = Shortage(zone="a", capacity_type="spot").applied(either).requirements.get(labels.CAPACITY_TYPE)
    assert wanted is not None
    assert (wanted.admits("spot"), wanted.admits("on-demand")) == (False, True)
