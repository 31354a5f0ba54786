"""Orders for machines that are reserved: in the reservation that was planned, and never in somebody else's."""

from __future__ import annotations

from typing import Any

import pytest
from tests.clouds.aws.orders import ANY, ZONES, order, price, resolved
from tests.clouds.aws.shop import Shop, visited
from tools.aws_server import Account, AwsServer
from tools.aws_server.reservations import reserve

from dovetail.clouds.aws import calls
from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.resolved import CAPACITY_BLOCK, HeldReservation
from dovetail.clouds.port import NoCapacity
from dovetail.core import labels
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.catalog.shortages import Shortage

A, B = ZONES


@pytest.fixture(autouse=True)
def _prices(aws_server: AwsServer, aws_account: Account) -> None:
    price(aws_server.world, "m5.large", "c5.large", "r5.large")


def held(name: str, zone: str = A, count: int = 1, kind: str = "m5.large") -> Reservation:
    return Reservation(name, kind, zone, count, count)


def test_a_reserved_machine_runs_in_the_reservation_it_was_planned_for(
    aws_server: AwsServer, aws_account: Account
) -> None:
    name = reserve("m5.large", A, 1)

    async def scenario(shop: Shop) -> None:
        wanted = order(("m5.large",), ANY, reservations=(held(name),))
        bought = await shop.launcher.launch(wanted, resolved(aws_account))
        assert bought.labels[labels.CAPACITY_TYPE] == "reserved"
        assert bought.labels[aws_labels.RESERVATION_ID] == name
        assert bought.labels[aws_labels.RESERVATION_TYPE] == "default"
        assert bought.labels[aws_labels.RESERVATION_INTERRUPTIBLE] == "false"
        (seen,) = await shop.instances.ours()
        assert (seen.capacity_type, seen.reservation_id) == ("reserved", name)

    visited(aws_server, scenario)


def test_a_race_for_the_last_reserved_machine_falls_back_and_says_so(
    aws_server: AwsServer, aws_account: Account
) -> None:
    """S3.12: others took it since the last poll; the plan need not be made again."""
    name = reserve("m5.large", A, 0)

    async def scenario(shop: Shop) -> None:
        wanted = order(("m5.large",), ANY, reservations=(held(name),))
        bought = await shop.launcher.launch(wanted, resolved(aws_account))
        assert bought.labels[labels.CAPACITY_TYPE] == "spot"
        assert Shortage("m5.large", A, "reserved", name) in bought.missed

    visited(aws_server, scenario)


def test_a_claim_that_will_have_nothing_but_reserved_is_refused_when_it_is_gone(
    aws_server: AwsServer, aws_account: Account
) -> None:
    name = reserve("m5.large", A, 0)

    async def scenario(shop: Shop) -> None:
        wanted = order(("m5.large",), (labels.RESERVED,), reservations=(held(name),))
        with pytest.raises(NoCapacity, match="ReservationCapacityExceeded") as caught:
            await shop.launcher.launch(wanted, resolved(aws_account))
        assert caught.value.shortages == (Shortage("m5.large", A, "reserved", name),)

    visited(aws_server, scenario)


def test_open_reservations_outside_the_selection_are_never_drained(aws_server: AwsServer, aws_account: Account) -> None:
    """S3.8."""
    others = reserve("m5.large", A, 5, InstanceMatchCriteria="open")

    async def scenario(shop: Shop) -> None:
        bought = await shop.launcher.launch(order(zones=(A,)), resolved(aws_account))
        assert bought.labels[labels.CAPACITY_TYPE] == "on-demand"
        (found,) = await shop.aws.all(calls.DESCRIBE_RESERVATIONS, CapacityReservationIds=[others])
        assert found["AvailableInstanceCount"] == 5

    visited(aws_server, scenario)


@pytest.mark.parametrize(
    ("more", "kind", "interruptible"),
    [({"ReservationType": "capacity-block"}, CAPACITY_BLOCK, "false"), ({"Interruptible": True}, "default", "true")],
)
def test_blocks_and_loans_are_bought_as_such(
    aws_server: AwsServer, aws_account: Account, more: dict[str, Any], kind: str, interruptible: str
) -> None:
    name = reserve("m5.large", A, 1, **more)
    known = HeldReservation(name, "m5.large", A, kind, interruptible == "true")

    async def scenario(shop: Shop) -> None:
        wanted = order(("m5.large",), (labels.RESERVED,), reservations=(held(name),))
        bought = await shop.launcher.launch(wanted, resolved(aws_account, reservations={name: known}))
        (seen,) = await shop.instances.ours()
        assert bought.labels[aws_labels.RESERVATION_TYPE] == seen.reservation_kind == kind
        assert bought.labels[aws_labels.RESERVATION_INTERRUPTIBLE] == interruptible
        assert seen.interruptible == (interruptible == "true")

    visited(aws_server, scenario)
