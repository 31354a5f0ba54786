"""Reservations: one row per type and zone, as many machines as are left, at next to nothing (S3.4–S3.6, S3.14)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import a_type, nanos, reservation, reserved_row, row

from dovetail.core.catalog.offerings import offering, sorted_offerings
from dovetail.core.catalog.reservations import Reservation, emptied, pooled, reserved_price

found = st.builds(
    reservation,
    st.integers(0, 9).map("cr-{}".format),
    st.sampled_from(["m5.large", "c5.large"]),
    st.sampled_from("ab"),
    st.integers(0, 5),
)


@given(st.lists(found, unique_by=lambda one: one.id))
def test_reservations_of_one_type_and_zone_are_one_offering_with_their_counts_added_S3_4(
    some: list[Reservation],
) -> None:
    pools = pooled(some)
    assert set(pools) == {(one.instance_type, one.zone) for one in some}
    for (name, zone), pool in pools.items():
        members = [one for one in some if (one.instance_type, one.zone) == (name, zone)]
        assert set(pool.reservations) == set(members)
        assert pool.available == reserved_row(pool).count == sum(one.available for one in members)


@given(st.lists(found, unique_by=lambda one: one.id))
def test_the_roomiest_reservation_comes_first_however_they_were_listed(some: list[Reservation]) -> None:
    assert pooled(some) == pooled(reversed(some))
    for pool in pooled(some).values():
        keys = [(-one.available, one.id) for one in pool.reservations]
        assert keys == sorted(keys)


def test_a_reservation_that_two_terms_select_counts_once_and_by_the_smaller_number_S3_5() -> None:
    (pool,) = pooled([reservation(available=3), reservation(available=2), reservation(available=5)]).values()
    assert pool.available == 2


def test_a_reserved_row_stands_beside_the_others_and_is_taken_first_S3_4() -> None:
    (pool,) = pooled([reservation(available=1), reservation("cr-2", available=2)]).values()
    kept = reserved_row(pool)
    one = a_type(offered=sorted_offerings([row(dollars="0.1"), row(capacity_type="spot", dollars="0.03"), kept]))
    assert len(one.offerings) == 3
    assert one.cheapest is kept
    assert kept.count == 3


def test_a_full_reservation_is_healthy_but_cannot_be_bought_S3_5() -> None:
    (pool,) = pooled([reservation(available=0, total=4)]).values()
    full = reserved_row(pool)
    assert full.available
    assert not full.launchable
    assert a_type(offered=(full, row())).cheapest == row()


@given(st.integers(0, 10**13), st.integers(0, 10**13))
def test_reserved_prices_keep_the_order_of_on_demand_and_are_near_nothing_S3_6(a: int, b: int) -> None:
    low, high = sorted((a, b))
    assert reserved_price(low) <= reserved_price(high) <= high // 1000
    if high - low >= 1000:
        assert reserved_price(low) < reserved_price(high)


def test_a_reserved_price_is_a_thousandth_S3_6() -> None:
    assert reserved_price(nanos("0.096")) == nanos("0.000096")


def test_one_reservation_found_full_leaves_the_others() -> None:
    (pool,) = pooled([reservation("cr-1", available=2), reservation("cr-2", available=3)]).values()
    left = emptied(pool.reservations, "cr-1")
    assert [(one.id, one.available) for one in left] == [("cr-2", 3), ("cr-1", 0)]
    assert left[0] is pool.reservations[0]


@pytest.mark.parametrize("gone", ["cr-9", "cr-2"])
def test_nothing_changes_where_nothing_was_left(gone: str) -> None:
    (pool,) = pooled([reservation("cr-1", available=2), reservation("cr-2", available=0)]).values()
    assert emptied(pool.reservations, gone) is pool.reservations


@pytest.mark.parametrize(("ends", "now", "open_"), [(None, 1e12, True), (10.0, 9.9, True), (10.0, 10.0, False)])
def test_a_reservation_is_open_until_it_ends(ends: float | None, now: float, open_: bool) -> None:
    assert Reservation("cr", "m5.large", "a", 1, 1, ends_at=ends).open_at(now) is open_


class Unread(tuple[Reservation, ...]):
    """Reservations nobody may look through."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Reservation]:
        raise AssertionError("a decision looked through all reservations")


def test_ten_thousand_reservations_are_one_row_and_are_never_looked_through_to_schedule_S3_14() -> None:
    many = [reservation(f"cr-{n}", available=n % 3) for n in range(10_000)]
    ((place, pool),) = pooled(many).items()
    assert place == ("m5.large", "a")
    kept = reserved_row(pool)
    unread = offering(
        {"topology.kubernetes.io/zone": "a"}, kept.price, count=kept.count, reservations=Unread(pool.reservations)
    )
    one = a_type(offered=sorted_offerings([row(), unread]))
    assert one.cheapest is unread
    assert unread.launchable
    assert unread.count == 9999


def test_thousands_of_reservations_over_many_types_make_a_row_per_type_and_zone_S3_14() -> None:
    many = [reservation(f"cr-{n}", f"m{n % 50}.large", "abc"[n % 3]) for n in range(9000)]
    assert len(pooled(many)) == 150
