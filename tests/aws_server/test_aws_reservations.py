"""Capacity reservations of the test server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.aws_server.asking import client, code, described, fleet, ids, pools, template
from tools.aws_server.reservations import reserve

ZONE = "us-east-1a"


@pytest.fixture
def ec2(aws_server: Any, aws_account: Any) -> Any:
    return client("ec2", aws_server.url)


def free(ec2: Any, name: str) -> int:
    (found,) = ec2.describe_capacity_reservations(CapacityReservationIds=[name])["CapacityReservations"]
    return int(found["AvailableInstanceCount"])


def aimed(ec2: Any, account: Any, reservation: str, **more: Any) -> str:
    """A template that names a reservation."""
    target = {"CapacityReservationId": reservation}
    wish = {"CapacityReservationPreference": "capacity-reservations-only", "CapacityReservationTarget": target}
    return template(ec2, account, reservation, CapacityReservationSpecification=wish, **more)


def test_a_machine_that_names_a_reservation_takes_one_of_it(ec2: Any, aws_account: Any) -> None:
    held = reserve("m5.large", ZONE, 2)
    aimed(ec2, aws_account, held)
    found = ids(fleet(ec2, {held: pools(aws_account, "m5.large")}))
    (machine,) = described(ec2, InstanceIds=found)
    assert machine["CapacityReservationId"] == held
    assert free(ec2, held) == 1
    ec2.terminate_instances(InstanceIds=found)
    assert free(ec2, held) == 2


def test_a_full_reservation_does_not_fall_back(ec2: Any, aws_account: Any) -> None:
    held = reserve("m5.large", ZONE, 1)
    aimed(ec2, aws_account, held)
    answer = fleet(ec2, {held: pools(aws_account, "m5.large")}, count=2)
    assert len(ids(answer)) == 1
    assert [one["ErrorCode"] for one in answer["Errors"]] == ["ReservationCapacityExceeded"]


def test_an_open_reservation_takes_whoever_does_not_opt_out(ec2: Any, aws_account: Any) -> None:
    held = reserve("m5.large", ZONE, 5, InstanceMatchCriteria="open")
    template(ec2, aws_account, "wishless")
    template(ec2, aws_account, "out", CapacityReservationSpecification={"CapacityReservationPreference": "none"})
    fleet(ec2, {"out": pools(aws_account, "m5.large")})
    assert free(ec2, held) == 5
    fleet(ec2, {"wishless": pools(aws_account, "m5.large")})
    assert free(ec2, held) == 4


def test_machines_of_a_reservation_that_ended_go_on_without_it(ec2: Any, aws_server: Any, aws_account: Any) -> None:
    held = reserve("m5.large", ZONE, 1, EndDate=datetime.now(UTC) + timedelta(hours=1))
    aimed(ec2, aws_account, held)
    fleet(ec2, {held: pools(aws_account, "m5.large")})
    aws_server.world.forward(3601)
    (machine,) = described(ec2)
    assert machine["State"]["Name"] == "running"
    assert "CapacityReservationId" not in machine
    (found,) = ec2.describe_capacity_reservations()["CapacityReservations"]
    assert found["State"] == "expired"


def test_a_block_is_bought_as_one_and_taken_back_half_an_hour_early(
    ec2: Any, aws_server: Any, aws_account: Any
) -> None:
    ends = datetime.now(UTC) + timedelta(hours=1)
    held = reserve("p5.48xlarge", ZONE, 1, ReservationType="capacity-block", EndDate=ends)
    ways = pools(aws_account, "p5.48xlarge")
    aimed(ec2, aws_account, held, InstanceMarketOptions={"MarketType": "capacity-block"})
    assert ids(fleet(ec2, {held: ways}, kind="on-demand")) == []
    found = ids(fleet(ec2, {held: ways}, kind="capacity-block"))
    (machine,) = described(ec2, InstanceIds=found)
    assert machine["InstanceLifecycle"] == "capacity-block"
    aws_server.world.forward(1801)
    (machine,) = described(ec2, InstanceIds=found)
    assert machine["State"]["Name"] == "terminated"


def test_an_interruptible_reservation_is_bought_as_one(ec2: Any, aws_account: Any) -> None:
    held = reserve("m5.large", ZONE, 1, Interruptible=True)
    market = "interruptible-capacity-reservation"
    aimed(ec2, aws_account, held, InstanceMarketOptions={"MarketType": market})
    options = {"ReservedCapacityOptions": {"ReservationTypes": [market]}}
    fleet(ec2, {held: pools(aws_account, "m5.large")}, kind="reserved-capacity", **options)
    (machine,) = described(ec2)
    assert machine["InstanceLifecycle"] == market


def test_reservations_are_found_by_what_they_are(ec2: Any) -> None:
    tags = [{"Key": "team", "Value": "a"}]
    mine, other = reserve("m5.large", ZONE, 1, Tags=tags), reserve("c5.large", ZONE, 1, OwnerId="210987654321")

    def found(name: str, *values: str) -> list[str]:
        answer = ec2.describe_capacity_reservations(Filters=[{"Name": name, "Values": list(values)}])
        return [one["CapacityReservationId"] for one in answer["CapacityReservations"]]

    assert found("tag:team", "a") == found("tag-key", "team") == [mine]
    assert found("owner-id", "210987654321") == found("instance-type", "c5.large") == [other]
    assert found("instance-match-criteria", "open") == []
    assert found("state", "active") == sorted([mine, other])


def test_pages_hold_every_reservation_once(ec2: Any) -> None:
    made = {reserve("m5.large", ZONE, 1) for _ in range(25)}
    pages = list(ec2.get_paginator("describe_capacity_reservations").paginate(PaginationConfig={"PageSize": 10}))
    assert len(pages) == 3
    assert {one["CapacityReservationId"] for page in pages for one in page["CapacityReservations"]} == made


def test_a_reservation_can_be_made_changed_and_cancelled_over_the_api(ec2: Any) -> None:
    made = ec2.create_capacity_reservation(
        InstanceType="m5.large", InstancePlatform="Linux/UNIX", AvailabilityZone=ZONE, InstanceCount=3
    )["CapacityReservation"]
    name = made["CapacityReservationId"]
    ec2.modify_capacity_reservation(CapacityReservationId=name, InstanceCount=7)
    assert free(ec2, name) == 7
    ec2.cancel_capacity_reservation(CapacityReservationId=name)
    assert free(ec2, name) == 0
    with pytest.raises(ClientError) as caught:
        free(ec2, "cr-0")
    assert code(caught) == "InvalidCapacityReservationId.NotFound"
