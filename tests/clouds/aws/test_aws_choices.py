"""The ladder of an order."""

from __future__ import annotations

from dataclasses import replace

from tests.clouds.aws.orders import ANY, ZONES, claim, kinds, order, resolved

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.choices import DEEPEST, MOST_TYPES, Rung, ladder
from dovetail.clouds.aws.resolved import CAPACITY_BLOCK, HeldReservation
from dovetail.core import labels
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.nodeclaims import MIN_VALUES_RELAXED
from dovetail.core.requirements import does_not_exist, is_in

A, B = ZONES
GENERIC = tuple(
    name for name, kind in kinds().items() if kind.requirements.value(aws_labels.CATEGORY) in ("c", "m", "r")
)


def types(rung: Rung) -> list[str]:
    return list(dict.fromkeys(way.kind.name for way in rung.ways))


def test_reserved_goes_before_spot_before_on_demand() -> None:
    held = (Reservation("cr-1", "m5.large", A, 2, 2),)
    rungs = ladder(order(("m5.large", "c5.large"), ANY, reservations=held), resolved())
    assert [rung.capacity_type for rung in rungs] == ["reserved", "spot", "on-demand"]
    (way,) = rungs[0].ways
    assert (way.kind.name, way.zone, way.reservation.id if way.reservation else "") == ("m5.large", A, "cr-1")


def test_a_rung_is_cheapest_first() -> None:
    (rung,) = ladder(order(("r5.large", "m5.large", "c5.large")), resolved())
    assert types(rung) == ["c5.large", "m5.large", "r5.large"]


def test_zones_without_a_subnet_are_left_out() -> None:
    (rung,) = ladder(order(zones=(A, B, "us-east-1c")), resolved(zones=(B,)))
    assert {way.zone for way in rung.ways} == {B}


def test_types_without_an_image_are_left_out() -> None:
    whole = resolved()
    amd_only = replace(whole, images=whole.images[:1])
    (rung,) = ladder(order(("m5.large", "m6g.large")), amd_only)
    assert types(rung) == ["m5.large"]
    assert ladder(order(("m6g.large",)), amd_only) == ()


def test_a_row_without_a_zone_may_be_bought_wherever_there_is_a_subnet() -> None:
    whole = order()
    anywhere = replace(whole.options[0], offering=replace(whole.options[0].offering, zone=None))
    (rung,) = ladder(replace(whole, options=(anywhere,)), resolved())
    assert [way.zone for way in rung.ways] == [A, B]


def test_metal_and_accelerators_are_left_out_if_anything_else_will_do() -> None:
    (rung,) = ladder(order(("m5.metal", "g5.xlarge", "inf2.xlarge", "m5.large")), resolved())
    assert types(rung) == ["m5.large"]
    (rung,) = ladder(order(("m5.metal", "g5.xlarge")), resolved())
    assert types(rung) == ["g5.xlarge", "m5.metal"]


def test_a_claim_with_min_values_keeps_everything() -> None:
    flexible = claim(wanted=[is_in(labels.INSTANCE_TYPE, "m5.metal", "m5.large", min_values=2)])
    (rung,) = ladder(order(("m5.metal", "m5.large"), bought_for=flexible), resolved())
    assert types(rung) == ["m5.large", "m5.metal"]


def test_spot_that_is_dearer_than_on_demand_is_left_out() -> None:
    names = ("m5.large", "r5.24xlarge")
    spot, on_demand = ladder(order(names, ANY), resolved())
    assert types(spot) == ["m5.large"]
    assert types(on_demand) == ["m5.large", "r5.24xlarge"]
    (alone,) = ladder(order(names, (labels.SPOT,)), resolved())
    assert types(alone) == ["m5.large", "r5.24xlarge"]


def test_only_the_cheapest_types_are_asked_for() -> None:
    (rung,) = ladder(order(GENERIC), resolved())
    assert len(types(rung)) == MOST_TYPES
    dearest = max(way.nanodollars for way in rung.ways)
    left_out = [one for one in order(GENERIC).options if one.instance_type.name not in types(rung)]
    assert all(one.offering.price is None or one.offering.price.nanodollars >= dearest for one in left_out)


def test_the_cut_never_breaks_min_values() -> None:
    families = sorted({kinds()[name].requirements.value(aws_labels.FAMILY) or "" for name in GENERIC})
    wish = is_in(aws_labels.FAMILY, *families, min_values=45)
    flexible = claim(wanted=[wish])
    (rung,) = ladder(order(GENERIC, bought_for=flexible), resolved())
    assert len(types(rung)) == MOST_TYPES
    assert len({name.partition(".")[0] for name in types(rung)}) >= 45


def test_min_values_that_the_cut_cannot_keep_are_no_way_to_launch_unless_relaxed() -> None:
    wish = is_in(labels.INSTANCE_TYPE, *GENERIC, min_values=MOST_TYPES + 1)
    assert ladder(order(GENERIC, bought_for=claim(wanted=[wish])), resolved()) == ()
    relaxed = claim(wanted=[wish], annotations={MIN_VALUES_RELAXED: "true"})
    (rung,) = ladder(order(GENERIC, bought_for=relaxed), resolved())
    assert len(types(rung)) == MOST_TYPES


def test_reservations_of_one_type_and_zone_are_rungs_of_their_own_roomiest_first() -> None:
    held = tuple(Reservation(f"cr-{n}", "m5.large", A, n, 9) for n in (1, 5, 3, 2))
    rungs = ladder(order(("m5.large",), (labels.RESERVED,), reservations=held), resolved())
    ids = [way.reservation.id for rung in rungs for way in rung.ways if way.reservation]
    assert ids == ["cr-5", "cr-3", "cr-2"]
    assert len(rungs) == DEEPEST


def test_kinds_of_reservation_are_not_mixed_and_blocks_go_one_by_one() -> None:
    held = (
        Reservation("cr-plain", "m5.large", A, 1, 1),
        Reservation("cr-block", "m5.large", B, 1, 1),
        Reservation("cr-other-block", "c5.large", A, 1, 1),
        Reservation("cr-loan", "c5.large", B, 1, 1),
    )
    known = {
        "cr-block": HeldReservation("cr-block", "m5.large", B, CAPACITY_BLOCK),
        "cr-other-block": HeldReservation("cr-other-block", "c5.large", A, CAPACITY_BLOCK),
        "cr-loan": HeldReservation("cr-loan", "c5.large", B, interruptible=True),
    }
    wanted = order(("m5.large", "c5.large"), (labels.RESERVED,), reservations=held)
    rungs = ladder(wanted, resolved(reservations=known))
    found = [tuple(way.reservation.id for way in rung.ways if way.reservation) for rung in rungs]
    assert found == [("cr-other-block",), ("cr-block",), ("cr-loan",), ("cr-plain",)]


def test_on_equal_prices_plain_reservations_go_first() -> None:
    held = tuple(Reservation(f"cr-{name}", "m5.large", A, 1, 1) for name in ("block", "loan", "plain"))
    known = {
        "cr-block": HeldReservation("cr-block", "m5.large", A, CAPACITY_BLOCK),
        "cr-loan": HeldReservation("cr-loan", "m5.large", A, interruptible=True),
    }
    rungs = ladder(order(("m5.large",), (labels.RESERVED,), reservations=held), resolved(reservations=known))
    found = [way.reservation.id for rung in rungs for way in rung.ways if way.reservation]
    assert found == ["cr-plain", "cr-block", "cr-loan"]


def test_a_claim_takes_only_the_reservations_it_names_and_none_that_is_ending_or_full() -> None:
    held = tuple(Reservation(f"cr-{n}", "m5.large", A, n, 9) for n in range(4))
    known = {"cr-3": HeldReservation("cr-3", "m5.large", A, expiring=True)}
    named = claim(wanted=[is_in(aws_labels.RESERVATION_ID, "cr-0", "cr-2", "cr-3")])
    wanted = order(("m5.large",), (labels.RESERVED,), reservations=held, bought_for=named)
    rungs = ladder(wanted, resolved(reservations=known))
    assert [way.reservation.id for rung in rungs for way in rung.ways if way.reservation] == ["cr-2"]
    unwilling = claim(wanted=[does_not_exist(aws_labels.RESERVATION_ID)])
    assert ladder(replace(wanted, claim=unwilling), resolved()) == ()


def test_a_claim_that_was_launched_before_keeps_to_what_its_labels_say() -> None:
    before = claim()
    told = {**before.meta.labels, labels.INSTANCE_TYPE: "m5.large", labels.ZONE: B}
    again = replace(before, meta=replace(before.meta, labels=told))
    (rung,) = ladder(order(("m5.large", "c5.large"), bought_for=again), resolved())
    assert [(way.kind.name, way.zone) for way in rung.ways] == [("m5.large", B)]
