"""Capacity reservations in the whole loop: filled first, left when they end, returned to when they have room (S3)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.live.aws_time import run
from tests.live.live import SOON, condition
from tests.live.live_aws import LiveAws, pool
from tests.live.test_live_aws import served
from tools.aws_server import Account, AwsServer
from tools.aws_server.reservations import free, reserve
from tools.aws_server.wire import instant

from dovetail.api import kinds
from dovetail.clouds.aws.labels import DIALECT
from dovetail.controllers.controller import Choices
from dovetail.core import labels
from dovetail.core.scheduling.problem import Options

ID = "karpenter.k8s.aws/capacity-reservation-id"
TYPE = "karpenter.k8s.aws/capacity-reservation-type"
BOTH = (labels.RESERVED, labels.ON_DEMAND)
ALL = (*BOTH, labels.SPOT)
A = "us-east-1a"
#: As `dovetail run --cloud aws` has it: labels of reservations are AWS's own.
KNOWN = Choices(window=SOON, options=Options(well_known=labels.WELL_KNOWN | DIALECT.well_known))
Terms = list[dict[str, Any]]


def told(live: LiveAws) -> list[str]:
    """The capacity type of every claim."""
    return sorted(one["metadata"]["labels"].get(labels.CAPACITY_TYPE, "") for one in live.claims())


def shown(live: LiveAws) -> dict[str, Any]:
    """The reservations in the status of the class, by id."""
    status = live.get(kinds.EC2_NODE_CLASSES, "default").get("status") or {}
    return {one["id"]: one for one in status.get("capacityReservations") or ()}


async def selected(live: LiveAws, terms: Terms, *expected: str) -> None:
    live.edit(kinds.EC2_NODE_CLASSES, "default", {"spec": {"capacityReservationSelectorTerms": terms or None}})
    await live.until(lambda: set(shown(live)) == set(expected), 200)


def cancel(server: AwsServer, reservation: str) -> None:
    server.world.reservations[reservation]["State"] = "cancelled"


@pytest.mark.parametrize(
    ("capacity", "expected"),
    [
        ((labels.RESERVED,), ["reserved"]),
        (BOTH, ["on-demand", "reserved"]),
        (ALL, ["reserved", "spot"]),
    ],
)
def test_a_pool_takes_reserved_capacity_first_and_then_what_else_it_allows(
    aws_server: AwsServer, aws_account: Account, capacity: tuple[str, ...], expected: list[str]
) -> None:
    """S3.3, S3.7."""

    async def scenario() -> None:
        held = reserve("m5.large", A, 1)
        async with LiveAws(aws_server, aws_account, KNOWN, pool_=pool(capacity=capacity)) as live:
            await selected(live, [{"id": held}], held)
            live.pods(4)
            await live.until(lambda: told(live) == expected, 120)
            await live.settle(30)
            assert told(live) == expected

    run(scenario())


def test_a_reservation_that_ends_leaves_its_machine_on_demand_and_sells_no_more(
    aws_server: AwsServer, aws_account: Account
) -> None:
    """S3.2, S3.9, and S3.11: where the pool takes on-demand too, nothing moves."""

    async def scenario() -> None:
        held = reserve("m5.large", A, 2)
        async with LiveAws(aws_server, aws_account, KNOWN, pool_=pool(capacity=BOTH)) as live:
            await selected(live, [{"id": held}], held)
            assert shown(live)[held]["totalInstanceCount"] == 2
            live.pods(1)
            await served(live, 1)
            machines = live.machines()
            assert told(live) == ["reserved"]
            cancel(aws_server, held)
            await live.until(lambda: told(live) == ["on-demand"], 200)
            for one in (live.claim(), live.node()):
                assert not {ID, TYPE} & set(one["metadata"]["labels"])
                assert one["metadata"]["labels"][labels.CAPACITY_TYPE] == "on-demand"
            await live.until(lambda: not shown(live), 120)
            live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 4}})
            await live.until(lambda: len(live.running()) == 4, 300)
            assert machines <= live.machines()
            assert set(told(live)) == {"on-demand"}

    run(scenario())


def test_a_pool_that_demands_reserved_capacity_moves_on_when_its_reservation_ends(
    aws_server: AwsServer, aws_account: Account
) -> None:
    """S3.9, S3.11."""

    async def scenario() -> None:
        first, second = reserve("m5.large", A, 1), reserve("m5.large", "us-east-1b", 1)
        async with LiveAws(aws_server, aws_account, KNOWN, pool_=pool(capacity=(labels.RESERVED,))) as live:
            await selected(live, [{"id": first}], first)
            live.pods(1)
            await served(live, 1)
            old = live.machines()
            await selected(live, [{"id": first}, {"id": second}], first, second)
            cancel(aws_server, first)
            await live.until(lambda: not live.machines() & old and live.is_whole(), 900)
            assert live.claim()["metadata"]["labels"][ID] == second

    run(scenario())


def test_a_reservation_that_is_no_longer_selected_is_left(aws_server: AwsServer, aws_account: Account) -> None:
    """S3.11."""

    async def scenario() -> None:
        held = reserve("m5.large", A, 1)
        async with LiveAws(aws_server, aws_account, KNOWN, pool_=pool(capacity=BOTH)) as live:
            await selected(live, [{"id": held}], held)
            live.pods(1)
            await served(live, 1)
            await selected(live, [])
            await live.until(lambda: condition(live.claim(), "Drifted") is not None or told(live) == ["on-demand"], 900)
            await live.until(lambda: told(live) == ["on-demand"] and live.is_whole(), 900)

    run(scenario())


def test_machines_move_into_a_reservation_that_has_room(aws_server: AwsServer, aws_account: Account) -> None:
    """S3.10."""

    async def scenario() -> None:
        eager = pool(capacity=BOTH)
        eager["spec"]["disruption"] = {"consolidateAfter": "30s", "budgets": [{"nodes": "100%"}]}
        async with LiveAws(aws_server, aws_account, KNOWN, pool_=eager) as live:
            live.pods(1)
            await served(live, 1)
            assert told(live) == ["on-demand"]
            held = reserve("m5.large", A, 1)
            await selected(live, [{"id": held}], held)
            await live.until(lambda: told(live) == ["reserved"] and live.is_whole(), 300)
            assert live.claim()["metadata"]["labels"][ID] == held

    run(scenario())


def test_another_cluster_takes_the_last_one_and_the_pod_runs_all_the_same(
    aws_server: AwsServer, aws_account: Account
) -> None:
    """S3.12: planned again at once, and the next poll is not waited for."""

    async def scenario() -> None:
        held = reserve("m5.large", A, 1)
        async with LiveAws(aws_server, aws_account, KNOWN, pool_=pool(capacity=BOTH)) as live:
            await selected(live, [{"id": held}], held)
            aws_server.world.reservations[held]["TotalInstanceCount"] = 0
            live.pods(1)
            await served(live, 1)
            assert told(live) == ["on-demand"]
            assert live.cloud.counts.left(held) == 0

    run(scenario())


def test_open_reservations_of_others_stay_as_they_are(aws_server: AwsServer, aws_account: Account) -> None:
    """S3.8."""

    async def scenario() -> None:
        from moto.ec2.models import ec2_backends
        from tools.aws_server.parameters import ACCOUNT

        other = reserve("m5.large", A, 5, InstanceMatchCriteria="open")
        async with LiveAws(aws_server, aws_account, KNOWN, pool_=pool(capacity=BOTH)) as live:
            live.pods(2)
            await served(live, 2)
            assert told(live) == ["on-demand"]
            assert free(ec2_backends[ACCOUNT]["us-east-1"], other) == 5

    run(scenario())


def test_a_capacity_block_is_empty_before_ec2_takes_its_machines(aws_server: AwsServer, aws_account: Account) -> None:
    """S3.9: told ten minutes before, replaced first, and the block buys nothing more."""

    async def scenario() -> None:
        async with LiveAws(aws_server, aws_account, KNOWN, pool_=pool(capacity=BOTH)) as live:
            end = aws_server.world.now + 45 * 60
            held = reserve("m5.large", A, 2, ReservationType="capacity-block", EndDate=instant(end))
            await selected(live, [{"id": held}], held)
            live.pods(1)
            await served(live, 1)
            assert live.claim()["metadata"]["labels"][TYPE] == "capacity-block"
            old = live.machines()
            await live.until(lambda: not live.machines() & old and live.is_whole(), 3600)
            assert aws_server.world.now < end - 1800, "EC2 had to take it"
            assert aws_server.world.now >= end - 2400, "it went too early"
            assert told(live) == ["on-demand"]
            assert shown(live)[held]["state"] == "expiring"
            assert "CapacityReservationExpiring" in live.reasons()

    run(scenario())
