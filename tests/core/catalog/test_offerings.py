"""Offerings are rows of a price list, told apart by any label (S2.4, S2.5), and types join both halves (S0.1)."""

from __future__ import annotations

import gc
from itertools import permutations

import pytest
from tests.builders import a_type, requirements, row, rows, spec

from dovetail.core import labels
from dovetail.core.catalog.offerings import OfferingKey, instance_type, offering, sorted_offerings, unavailable
from dovetail.core.requirements import is_in


def test_a_row_knows_its_zone_and_capacity_type_whatever_the_key_is_called() -> None:
    found = offering({"topology.ebs.csi.aws.com/zone": "a", labels.CAPACITY_TYPE: "spot"}, None)
    assert (found.zone, found.capacity_type) == ("a", "spot")


def test_rows_of_one_kind_share_their_requirements_S0_2() -> None:
    assert row("a", "spot", "0.1").requirements is row("a", "spot", "0.2").requirements


def test_a_label_that_a_row_leaves_out_may_have_any_value_S2_4() -> None:
    open_row = row(zone=None)
    assert open_row.zone is None
    assert open_row.requirements.intersects(requirements((labels.ZONE, "In", "anywhere")))


def test_any_label_may_tell_prices_apart_S2_5() -> None:
    """The same type, zone and capacity type, with and without a license: two rows, two prices."""
    plain, licensed = row(dollars="0.1", os="linux"), row(dollars="0.5", os="windows")
    found = instance_type(spec(), sorted_offerings([licensed, plain]))
    wants_windows = requirements(("os", "In", "windows"))
    assert [one for one in found.offerings if one.requirements.intersects(wants_windows)] == [licensed]
    assert found.cheapest is plain


@pytest.mark.parametrize(
    ("count", "available", "launchable"),
    [(None, True, True), (1, True, True), (0, True, False), (1, False, False), (None, False, False)],
)
def test_a_row_can_be_bought_iff_the_market_has_it_and_a_reservation_has_room_S3_5(
    count: int | None, available: bool, launchable: bool
) -> None:
    assert offering({labels.ZONE: "a"}, None, available=available, count=count).launchable is launchable


def test_rows_have_one_order_whichever_way_they_came() -> None:
    some = [
        row("b", "spot", "0.1"),
        row("a", "spot", "0.1"),
        row("a", "on-demand", "0.1"),
        row("c", "spot", None),
        row("z", "spot", "0.01"),
    ]
    expected = [("z", "spot"), ("a", "on-demand"), ("a", "spot"), ("b", "spot"), ("c", "spot")]
    for shuffled in permutations(some):
        assert [(one.zone, one.capacity_type) for one in sorted_offerings(shuffled)] == expected


def test_the_cheapest_row_is_one_that_can_be_bought_and_has_a_price() -> None:
    gone, free, dear = row("a", "spot", "0.01", available=False), row("b", "spot", None), row("c", "on-demand", "0.5")
    assert a_type(offered=(gone, free, dear)).cheapest is dear
    assert a_type(offered=(gone, free)).cheapest is None


def test_a_type_spans_the_zones_and_capacity_types_of_its_rows() -> None:
    found = a_type(offered=rows(zones="ab"))
    assert found.requirements.get(labels.ZONE) == is_in(labels.ZONE, "a", "b")
    assert found.requirements.get(labels.CAPACITY_TYPE) == is_in(labels.CAPACITY_TYPE, "on-demand", "spot")
    assert found.requirements.value(labels.INSTANCE_TYPE) == found.name


def test_a_type_with_a_row_open_to_any_zone_is_open_too_S2_4() -> None:
    found = a_type(offered=(row("a"), row(None)))
    assert not found.requirements.mentions(labels.ZONE)
    assert found.requirements.mentions(labels.CAPACITY_TYPE)


def test_types_with_the_same_spans_share_them_S0_2() -> None:
    one, two = a_type("m5.large"), a_type("c5.large")
    assert one.requirements.get(labels.ZONE) is two.requirements.get(labels.ZONE)


def test_a_type_at_other_prices_shares_its_labels_and_one_with_other_zones_does_not_S0_2() -> None:
    bare = spec()
    before = instance_type(bare, (row("a", "spot", "0.1"), row("b", "spot", "0.2")))
    dearer = tuple(one.priced(row(dollars="0.9").price, False) for one in before.offerings)
    after = instance_type(bare, dearer, twin=before)
    assert after.requirements is before.requirements
    assert [(one.zone, str(one.price), one.available) for one in after.offerings] == [
        ("a", "0.9", False),
        ("b", "0.9", False),
    ]
    for fewer in ((row("a", "spot"),), (row("a", "spot"), row(None, "spot")), (row("a"), row("b"))):
        assert instance_type(bare, fewer, twin=before).requirements == instance_type(bare, fewer).requirements


def test_a_type_without_rows_is_just_its_spec() -> None:
    bare = spec()
    found = instance_type(bare, ())
    assert found.requirements is bare.requirements
    assert found.cheapest is None
    assert (found.capacity, found.allocatable) == (bare.capacity, bare.allocatable)


def test_marking_a_row_that_is_marked_makes_no_new_one() -> None:
    once = unavailable(row())
    assert not once.available
    assert unavailable(once) is once


def test_a_key_names_a_row_by_value() -> None:
    assert OfferingKey("m5.large", "a", "spot") == OfferingKey("m5.large", "a", "spot")
    assert len({OfferingKey("m5.large", "a", "spot"), OfferingKey("m5.large", "a", "spot")}) == 1


# ---- the rows a claim could use


def test_the_rows_for_a_claim_are_those_it_admits_and_the_market_has_cheapest_first() -> None:
    kept = [row("a", "on-demand", "0.2"), row("a", "spot", "0.1")]
    found = a_type(offered=(*kept, row("b", "spot", "0.05"), row("a", "spot", "0.01", available=False)))
    assert found.rows_for(requirements((labels.ZONE, "In", "a"), ("team", "In", "x"))) == (kept[1], kept[0])
    assert found.rows_for(requirements((labels.ZONE, "In", "c"))) == ()


def test_what_a_claim_asks_of_other_labels_changes_nothing_about_its_rows() -> None:
    """Not even an impossible wish, which is somebody else's to refuse: the answer is kept for the next claim."""
    found = a_type()
    impossible = requirements(("team", "In", "x"), ("team", "In", "y"))
    assert found.rows_for(impossible) == found.rows_for(requirements()) == found.offerings


def test_what_was_asked_of_a_type_is_kept_and_more_than_that_is_given_up() -> None:
    found = a_type()
    once = found.rows_for(requirements((labels.ZONE, "In", "a")))
    assert found.rows_for(requirements((labels.ZONE, "In", "a"))) is once
    for number in range(1000):
        found.rows_for(requirements((labels.ZONE, "In", f"a {number}")))
    assert found._answers is not None
    assert len(found._answers.by_asked) <= 256
    assert found.rows_for(requirements((labels.ZONE, "In", "a"))) == once


def test_a_type_that_is_not_for_sale_any_more_is_held_by_nobody_who_asked_for_its_rows() -> None:
    """Prices are polled for years; a table of all types would keep every one there ever was."""
    found = a_type()
    found.rows_for(requirements((labels.ZONE, "In", "a")))
    assert len(gc.get_referrers(found)) == len(gc.get_referrers(a_type("c5.large")))
    assert found == a_type()
    assert "_answers" not in repr(found)
