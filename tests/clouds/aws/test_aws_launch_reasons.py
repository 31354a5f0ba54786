"""What a claim is told when its order could not even be asked for: the word of its `Launched` condition."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.clouds.aws.classes import Desk, node_class, sat
from tests.clouds.aws.office import Office, visited
from tests.clouds.aws.orders import CLASS, claim, order
from tools.aws_server import Account, AwsServer
from tools.aws_server.world import Refuse

from dovetail.clouds.aws.region import Region
from dovetail.clouds.port import Unavailable
from dovetail.controllers.machines import Machines
from dovetail.core import labels
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.instances import ClassNotReady, Instance, LaunchProblem, NoCapacity, Outcome
from dovetail.core.nodepools import NodeClassRef
from dovetail.core.requirements import is_in


def without_types(region: Region) -> Region:
    return replace(region, listing=replace(region.listing, hardware={}, offerings={}), types={})


async def launched(office: Office, name: str = "general-a", **more: object) -> Outcome:
    """As the controller does it, from the claim alone."""
    machines = Machines(office.cloud, CatalogCache(office.cloud.market), dict)
    wanted = [is_in(labels.INSTANCE_TYPE, "m5.large"), is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)]
    return await machines.launch(replace(claim(name, wanted), **more))


def test_a_class_nobody_has_looked_at_yet_costs_a_claim_nothing_but_time(
    aws_server: AwsServer, aws_account: Account
) -> None:
    other = NodeClassRef(CLASS.group, CLASS.kind, "other")

    async def scenario(office: Office) -> None:
        office.cloud.set_node_class(other, node_class(aws_account, "other"))
        outcome = await launched(office, node_class=other)
        assert isinstance(outcome, LaunchProblem)
        assert outcome.reason == "NodeClassReadinessUnknown"
        assert "other is new, or was changed" in outcome.message
        assert isinstance(await launched(office), Instance)

    visited(aws_server, aws_account, scenario)


def test_a_class_that_was_never_ready_is_named_in_what_becomes_of_its_claim(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(office: Office) -> None:
        outcome = await launched(office)
        assert isinstance(outcome, ClassNotReady)
        assert "SubnetsReady" in outcome.message

    visited(aws_server, aws_account, scenario, subnetSelectorTerms=[{"tags": {"no": "such"}}])


def test_subnets_that_ec2_would_not_tell_are_the_reason(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.fail_always("DescribeSubnets", Refuse())

    async def scenario(office: Office) -> None:
        outcome = await launched(office)
        assert isinstance(outcome, LaunchProblem)
        assert outcome.reason == "SubnetResolutionFailed"
        assert "DescribeSubnets was refused (RequestLimitExceeded)" in outcome.message
        aws_server.world.fail_always("DescribeSubnets", None)
        await office.look()
        assert isinstance(await launched(office), Instance)

    visited(aws_server, aws_account, scenario)


@pytest.mark.parametrize(
    ("call", "reason"),
    [("DescribeSubnets", "SubnetResolutionFailed"), ("DescribeSecurityGroups", "NodeClassReadinessUnknown")],
)
def test_what_another_process_found_this_one_has_to_find_too(
    aws_server: AwsServer, aws_account: Account, call: str, reason: str
) -> None:
    stored: dict[str, dict[str, object]] = {}

    async def before(desk: Desk) -> None:
        await desk.look(node_class(aws_account))
        stored.update(desk.objects)

    async def after(desk: Desk) -> None:
        desk.objects.update(stored)
        aws_server.world.fail_always(call, Refuse())
        await desk.look()
        with pytest.raises(Unavailable) as none:
            desk.resolver.resolved(desk.ref())
        assert none.value.reason == reason

    sat(aws_server, before)
    sat(aws_server, after)


def test_a_region_without_types_is_asked_again_and_not_taken_for_sold_out(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(office: Office) -> None:
        market = office.cloud.market
        known = market.region
        market.set_region(without_types(known))
        outcome = await launched(office)
        assert isinstance(outcome, LaunchProblem)
        assert outcome.reason == "InstanceTypeResolutionFailed"
        assert "us-east-1" in outcome.message
        market.set_region(known)
        assert isinstance(await launched(office), Instance)

    visited(aws_server, aws_account, scenario)


def test_types_that_are_sold_out_are_a_shortage_as_ever(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(office: Office) -> None:
        office.cloud.market.set_shifted(one.zone_name for one in office.cloud.market.region.zones)
        outcome = await launched(office)
        assert outcome == NoCapacity("no instance type that can be bought now meets the claim's requirements")

    visited(aws_server, aws_account, scenario)


def test_a_machine_that_was_bought_is_found_again_though_nothing_is_for_sale_any_more(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(office: Office) -> None:
        bought = await office.cloud.launch(order(bought_for=claim("general-a")))
        office.cloud.market.set_shifted(one.zone_name for one in office.cloud.market.region.zones)
        outcome = await launched(office)
        assert isinstance(outcome, Instance)
        assert outcome.provider_id == bought.provider_id

    visited(aws_server, aws_account, scenario)
