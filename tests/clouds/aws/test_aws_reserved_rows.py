"""Reserved offerings: one row for a type and zone, with a count that follows every launch, until it ends."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.clouds.aws.selling import CLASS, MIDNIGHT, OTHER, OTHERS, POOL, A, B, Clock, region, rows, terms

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws import region as regions
from dovetail.clouds.aws.market import AwsMarket, Defaults
from dovetail.clouds.aws.reservation_counts import Counts
from dovetail.clouds.aws.reserved_rows import BLOCK_LEAD_SECONDS
from dovetail.clouds.aws.resolved import CAPACITY_BLOCK, HeldReservation
from dovetail.core import labels
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.offerings import Offering
from dovetail.core.catalog.shortages import Shortage

FIRST = HeldReservation("cr-1", "m5.large", A)
SECOND = HeldReservation("cr-2", "m5.large", A)
BLOCK = HeldReservation("cr-3", "p5.48xlarge", A, kind=CAPACITY_BLOCK, ends_at=MIDNIGHT + 7200)


def selling(*held: HeldReservation, left: int = 2, clock: Clock | None = None) -> tuple[AwsMarket, Counts]:
    counts = Counts()
    counts.saw(((one.id, left) for one in held), MIDNIGHT)
    made = AwsMarket(region(), counts, Defaults(now=clock or Clock()))
    made.set_class(CLASS, terms(), held)
    return made, counts


def reserved(made: AwsMarket, name: str = "m5.large") -> list[Offering]:
    return rows(made, name, labels.RESERVED)


def test_reservations_of_one_type_and_zone_are_one_row_with_one_count() -> None:
    """S3.4, S3.5."""
    made, _ = selling(FIRST, SECOND, left=3)
    (row,) = reserved(made)
    assert (row.zone, row.count, row.launchable) == (A, 6, True)
    assert {one.id for one in row.reservations} == {"cr-1", "cr-2"}


def test_a_reserved_row_has_its_zones_id_once_the_account_has_told_it() -> None:
    """A process begins without: which zone has which id is another thing in every account."""
    counts = Counts()
    counts.saw(((FIRST.id, 1),), MIDNIGHT)
    made = AwsMarket(regions.of_any_account(region()), counts, Defaults(now=Clock()))
    made.set_class(CLASS, terms(), (FIRST,))
    cache = CatalogCache(made, region="us-east-1")
    cache.catalog(POOL, 0.0)
    assert made.set_region(region())
    (row,) = reserved(made)
    (sold,) = [one for one in rows(made, "m5.large") if one.zone == A]
    wanted = sold.requirements.value(aws_labels.ZONE_ID)
    assert wanted
    assert row.requirements.value(aws_labels.ZONE_ID) == wanted
    listed = cache.catalog(POOL, 0.0).types["m5.large"].offerings
    assert {one.requirements.value(aws_labels.ZONE_ID) for one in listed if one.reservations} == {wanted}


def test_a_reserved_row_costs_a_thousandth_of_on_demand() -> None:
    """S3.6."""
    made, _ = selling(FIRST)
    (row,) = reserved(made)
    beside = next(one for one in rows(made, "m5.large") if one.zone == A)
    assert row.price is not None
    assert beside.price is not None
    assert row.price.nanodollars == beside.price.nanodollars // 1000
    assert made.offerings(POOL)["m5.large"][0] is row


def test_its_labels_tell_the_kinds_of_reservation_apart() -> None:
    lent = replace(SECOND, interruptible=True)
    made, _ = selling(FIRST, lent)
    kinds = {row.requirements.value(aws_labels.RESERVATION_INTERRUPTIBLE): row for row in reserved(made)}
    assert {key: row.requirements.value(aws_labels.RESERVATION_ID) for key, row in kinds.items()} == {
        "false": "cr-1",
        "true": "cr-2",
    }
    assert kinds["true"].requirements.value(aws_labels.RESERVATION_TYPE) == "default"


def test_a_launch_is_counted_at_once_and_moves_the_generation_of_that_class() -> None:
    """S3.5, S0.5."""
    made, counts = selling(FIRST)
    made.set_class(OTHER, terms(B))
    before, other = made.offerings_generation(POOL), made.offerings_generation(OTHERS)
    counts.launched("cr-1", MIDNIGHT + 1)
    assert made.offerings_generation(POOL) > before
    assert made.offerings_generation(OTHERS) == other
    assert [row.count for row in reserved(made)] == [1]


def test_a_count_that_moves_rebuilds_the_row_of_its_type_alone() -> None:
    made, counts = selling(FIRST, HeldReservation("cr-9", "c5.large", B))
    cache = CatalogCache(made)
    before = cache.catalog(POOL, 0.0)
    counts.launched("cr-1", MIDNIGHT + 1)
    after = cache.catalog(POOL, 0.0)
    assert [name for name in after.types if after.types[name] is not before.types[name]] == ["m5.large"]


def test_a_full_reservation_stays_listed_and_is_not_bought() -> None:
    made, counts = selling(FIRST)
    counts.exhausted("cr-1", MIDNIGHT + 1)
    (row,) = reserved(made)
    assert (row.available, row.count, row.launchable) == (True, 0, False)


def test_a_refused_reservation_is_empty_in_the_catalog_while_its_neighbour_is_not() -> None:
    """S3.12."""
    made, _ = selling(FIRST, SECOND)
    cache = CatalogCache(made)
    cache.catalog(POOL, 0.0)
    cache.mark(Shortage("m5.large", A, labels.RESERVED, "cr-1"), 0.0)
    found = [row for row in cache.catalog(POOL, 0.0).types["m5.large"].offerings if row.reservations]
    assert [row.count for row in found] == [2]


def test_a_reservation_that_ends_is_sold_until_then_and_no_longer() -> None:
    """S3.9."""
    clock = Clock()
    made, _ = selling(replace(FIRST, ends_at=MIDNIGHT + 60), clock=clock)
    before = made.offerings_generation(POOL)
    clock.now += 59
    assert made.offerings_generation(POOL) == before
    assert reserved(made)
    clock.now += 1
    assert made.offerings_generation(POOL) > before
    assert not reserved(made)


def test_a_block_is_not_sold_in_its_last_forty_minutes() -> None:
    clock = Clock()
    made, _ = selling(BLOCK, clock=clock)
    before = made.offerings_generation(POOL)
    assert reserved(made, "p5.48xlarge")
    clock.now = MIDNIGHT + 7200 - BLOCK_LEAD_SECONDS
    assert made.offerings_generation(POOL) > before
    assert not reserved(made, "p5.48xlarge")


def test_one_that_the_class_says_is_expiring_is_not_sold() -> None:
    made, _ = selling(replace(BLOCK, expiring=True))
    assert not reserved(made, "p5.48xlarge")


@pytest.mark.parametrize(
    "held",
    [
        HeldReservation("cr-7", "m5.large", "us-east-1f"),
        HeldReservation("cr-8", "a1.large", A),
        HeldReservation("cr-9", "x999.large", A),
    ],
    ids=["in a zone without a subnet", "of a type the class cannot launch", "of a type nobody knows"],
)
def test_a_reservation_the_class_cannot_launch_into_is_not_for_sale(held: HeldReservation) -> None:
    made, _ = selling(held)
    assert not any(row.launchable for row in reserved(made, held.instance_type))


def test_a_selection_that_changes_changes_the_rows() -> None:
    made, counts = selling(FIRST)
    before = made.offerings_generation(POOL)
    counts.saw([("cr-2", 5)], MIDNIGHT)
    assert made.set_class(CLASS, terms(), [SECOND])
    assert made.offerings_generation(POOL) > before
    assert [row.count for row in reserved(made)] == [5]
    assert made.set_class(CLASS, terms(), ())
    assert not reserved(made)


def test_the_same_selection_again_moves_nothing() -> None:
    made, _ = selling(FIRST, SECOND)
    before = made.offerings_generation(POOL)
    assert not made.set_class(CLASS, terms(), [SECOND, FIRST])
    assert made.offerings_generation(POOL) == before
