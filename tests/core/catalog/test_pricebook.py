"""The price book makes list prices into what a contract makes of them (S2.6)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import nanos, row, rows

from dovetail.core.catalog.offerings import Offering
from dovetail.core.catalog.pricebook import (
    EMPTY_BOOK,
    Commitment,
    Discount,
    Extra,
    ListedPrice,
    PriceBook,
    Scope,
    Settled,
    Usage,
    next_price,
    settle,
)
from dovetail.core.catalog.prices import Source, SourceKind

IMPORTED = Source(SourceKind.IMPORTED, "contract.csv")


def listed(dollars: str, instance_type: str = "*", **scope: str) -> ListedPrice:
    return ListedPrice(Scope(instance_type, **scope), nanos(dollars), IMPORTED)


def off(percent: int, instance_type: str = "*", name: str = "EDP", **scope: str) -> Discount:
    return Discount(Scope(instance_type, **scope), Fraction(percent), name)


def extra(dollars: str, instance_type: str = "*", name: str = "agent", **scope: str) -> Extra:
    return Extra(Scope(instance_type, **scope), nanos(dollars), name)


def charged(book: PriceBook, one: Offering, instance_type: str = "m5.large") -> int | None:
    (found,) = book.applied(instance_type, "us-east-1", (one,))
    return None if found.price is None else found.price.nanodollars


def test_an_empty_book_hands_back_the_very_rows() -> None:
    given_ = rows()
    assert EMPTY_BOOK.applied("m5.large", "us-east-1", given_) is given_


def test_a_book_that_speaks_of_others_hands_back_the_very_rows() -> None:
    given_ = rows()
    assert (
        PriceBook((listed("1", "c5.*"),), (off(10, region="eu-west-1"),)).applied("m5.large", "us-east-1", given_)
        is given_
    )


def test_a_listed_price_replaces_the_cloud_s_and_says_where_it_comes_from_S2_6() -> None:
    (found,) = PriceBook((listed("0.07"),)).applied("m5.large", "us-east-1", (row(dollars="0.1"),))
    assert found.price is not None
    assert (found.price.nanodollars, found.price.source.kind) == (nanos("0.07"), SourceKind.IMPORTED)


def test_a_listed_price_gives_a_price_to_a_row_without_one() -> None:
    assert charged(PriceBook((listed("0.07"),)), row(dollars=None)) == nanos("0.07")


def test_a_row_without_a_price_has_nothing_to_discount() -> None:
    assert charged(PriceBook(discounts=(off(50),), extras=(extra("1"),)), row(dollars=None)) is None


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        (("*", "m5.*", "m5.large"), "m5.large"),
        (("m5.large", "*"), "m5.large"),
        (("*", "m5.*"), "m5.*"),
    ],
)
def test_the_entry_that_says_more_wins_a_named_type_above_all(entries: tuple[str, ...], found: str) -> None:
    costs = {"*": "1", "m5.*": "2", "m5.large": "3"}
    assert charged(PriceBook(tuple(listed(costs[one], one) for one in entries)), row()) == nanos(costs[found])


def test_among_patterns_the_one_with_more_places_wins() -> None:
    book = PriceBook(
        (listed("1"), listed("2", zone="a"), listed("3", zone="a", capacity_type="on-demand"), listed("4", zone="b"))
    )
    assert charged(book, row("a")) == nanos("3")


def test_discounts_apply_one_after_the_other_and_extras_come_last_S2_6() -> None:
    book = PriceBook((listed("1"),), (off(10), off(50)), (extra("0.1"), extra("0.2")))
    assert charged(book, row(dollars="7")) == nanos("0.75")


def test_a_discount_for_a_whole_family_touches_only_the_family_S2_6() -> None:
    book = PriceBook(discounts=(off(50, "m5.*", capacity_type="on-demand"),))
    assert charged(book, row(dollars="1")) == nanos("0.5")
    assert charged(book, row(capacity_type="spot", dollars="1")) == nanos("1")
    assert charged(book, row(dollars="1"), "c5.large") == nanos("1")


def test_a_changed_price_tells_what_was_done_to_it() -> None:
    (found,) = PriceBook((), (off(10),), (extra("0.2"),)).applied("m5.large", "us-east-1", (row(dollars="1"),))
    assert found.price is not None
    assert found.price.source.detail == "the price list; less 10% EDP; plus 0.2 agent"


def test_rows_stay_in_the_order_of_their_new_prices() -> None:
    book = PriceBook((listed("0.01", capacity_type="on-demand"),))
    found = book.applied("m5.large", "us-east-1", rows(on_demand="0.1", spot="0.03"))
    assert [one.capacity_type for one in found] == ["on-demand", "on-demand", "spot", "spot"]


def test_merging_books_lets_the_newer_price_a_scope_and_keeps_the_rest() -> None:
    old = PriceBook((listed("1"), listed("2", "m5.*")), (off(10),), (), (Commitment("plan", Scope(), Fraction(10)),))
    new = PriceBook((listed("3"),), (off(20, "m5.*"),), (), (Commitment("plan", Scope(), Fraction(30)),))
    merged = old.merged(new)
    assert merged.prices == (listed("2", "m5.*"), listed("3"))
    assert merged.discounts == (off(10), off(20, "m5.*"))
    assert merged.commitments == new.commitments


def test_importing_a_changed_discount_or_extra_again_replaces_it() -> None:
    book = PriceBook((), (off(10),), (extra("0.1"),))
    again = book.merged(PriceBook((), (off(12),), (extra("0.3"),)))
    assert (again.discounts, again.extras) == ((off(12),), (extra("0.3"),))
    assert book.merged(book) == book


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_patterns_the_longer_wins_whichever_came_first(order: int) -> None:
    book = PriceBook((listed("1", "m5.*"), listed("2", "m5.l*"))[::order])
    assert charged(book, row()) == nanos("2")


def test_of_equal_scopes_the_one_entered_later_wins_and_a_zone_beats_a_region() -> None:
    assert charged(PriceBook((listed("1"), listed("2"))), row("a")) == nanos("2")
    assert charged(PriceBook((listed("1", zone="a"), listed("2", region="us-east-1"))), row("a")) == nanos("1")


@pytest.mark.parametrize(
    ("pattern", "name", "covered"),
    [
        ("m5.*", "m5.large", True),
        ("m5.*", "m5a.large", False),
        ("*", "x", True),
        ("?5.large", "m5.large", True),
        ("M5.*", "m5.large", False),
    ],
)
def test_a_scope_covers_by_pattern_and_minds_the_case(pattern: str, name: str, covered: bool) -> None:
    assert Scope(pattern).covers(name, None, None, "") is covered


# ---- commitments


def plan(percent: int = 50, name: str = "plan", instance_type: str = "*", **size: int) -> Commitment:
    return Commitment(name, Scope(instance_type), Fraction(percent), **size)


def usage(dollars: str = "1", count: int = 1, name: str = "m5.large") -> Usage:
    return Usage(name, "on-demand", "a", nanos(dollars), count)


def settled(*fleet: Usage, commitments: tuple[Commitment, ...]) -> Settled:
    return settle(PriceBook(commitments=commitments), "us-east-1", fleet)


def test_a_commitment_of_machines_covers_so_many_and_no_more() -> None:
    found = settled(usage(count=3), commitments=(plan(instances=2),))
    assert found.total_nanodollars == nanos("2")
    assert found.saved_nanodollars == nanos("1")
    assert found.left == {"plan": 0}


def test_a_commitment_of_dollars_may_cover_part_of_a_machine() -> None:
    found = settled(usage(), commitments=(plan(nanodollars=nanos("0.25")),))
    assert found.total_nanodollars == nanos("0.75")


def test_commitments_are_spent_where_they_save_most() -> None:
    found = settled(usage("1"), usage("10"), commitments=(plan(instances=1), plan(80, "better", instances=1)))
    assert found.total_nanodollars == nanos("2") + nanos("0.5")


def test_one_more_machine_costs_what_the_commitments_have_left() -> None:
    book = PriceBook(commitments=(plan(instances=2),))
    one, two = (settle(book, "us-east-1", [usage(count=n)]) for n in (1, 2))
    assert next_price(book, "us-east-1", usage(), one) == nanos("0.5")
    assert next_price(book, "us-east-1", usage(), two) == nanos("1")


def test_a_commitment_elsewhere_is_not_spent() -> None:
    assert settled(usage(), commitments=(plan(instance_type="c5.*", instances=5),)).saved_nanodollars == 0


fleets = st.lists(
    st.builds(usage, st.sampled_from(["0.1", "1", "3"]), st.integers(1, 4), st.sampled_from(["m5.large", "c5.large"])),
    max_size=4,
)
plans = st.lists(
    st.builds(
        plan, st.integers(0, 100), st.sampled_from("xyz"), st.sampled_from(["*", "m5.*"]), instances=st.integers(0, 4)
    )
    | st.builds(
        plan,
        st.integers(0, 100),
        st.sampled_from("uvw"),
        st.sampled_from(["*", "m5.*"]),
        nanodollars=st.integers(0, 10**10),
    ),
    max_size=3,
    unique_by=lambda one: one.name,
)


@given(fleets, plans, st.builds(usage))
def test_commitments_never_cost_more_than_the_list_nor_run_below_nothing(
    fleet: list[Usage], commitments: list[Commitment], another: Usage
) -> None:
    book = PriceBook(commitments=tuple(commitments))
    found = settle(book, "us-east-1", fleet)
    assert 0 <= found.total_nanodollars <= found.list_nanodollars
    assert all(left >= 0 for left in found.left.values())
    assert 0 <= next_price(book, "us-east-1", another, found) <= another.nanodollars
