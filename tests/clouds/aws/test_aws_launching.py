"""Orders bought on the test server: once each, whatever goes wrong."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.clouds.aws.orders import ANY, ZONES, claim, kinds, order, price, resolved
from tests.clouds.aws.shop import Shop, shop, visited
from tools.aws_server import Account, AwsServer
from tools.aws_server.world import Refuse, Without

from dovetail.clouds.aws import calls, tags
from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.resolved import Boot
from dovetail.clouds.aws.sales import UNSEEN_SECONDS
from dovetail.clouds.port import Misconfigured, NoCapacity, Throttled, Unavailable
from dovetail.core import labels
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.instances import Order
from dovetail.core.resources import Resources

A, B = ZONES
NAMES = ("m5.large", "c5.large", "r5.large")


@pytest.fixture(autouse=True)
def _prices(aws_server: AwsServer, aws_account: Account) -> None:
    price(aws_server.world, *NAMES)


def named(name: str, *types: str, capacity: tuple[str, ...] = (labels.ON_DEMAND,)) -> Order:
    return order(types or ("m5.large",), capacity, bought_for=claim(name))


async def machines(shop: Shop) -> list[str]:
    return [one.id for one in await shop.instances.ours()]


def test_a_machine_ec2_sold_without_saying_where_is_found_and_not_bought_again(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(shop: Shop) -> None:
        aws_server.world.fail("CreateFleet", Without("launchTemplateAndOverrides"))
        with pytest.raises(Unavailable, match="does not say where"):
            await shop.launcher.launch(named("one"), resolved(aws_account))
        bought = await shop.launcher.launch(named("one"), resolved(aws_account))
        assert await machines(shop) == [bought.provider_id.rpartition("/")[2]]

    visited(aws_server, scenario)


def test_pods_that_ask_for_an_enclave_get_a_machine_that_has_them(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(shop: Shop) -> None:
        wanted = named("one")
        asking = replace(claim("two"), requests=Resources({"eks.amazonaws.com/nitro-sandbox": 1}))
        made: list[Any] = []
        ensure = shop.templates.ensure

        async def noting(data: Any, *more: Any) -> str:
            made.append(data)
            return await ensure(data, *more)

        shop.templates.ensure = noting  # type: ignore[method-assign]
        await shop.launcher.launch(wanted, resolved(aws_account))
        await shop.launcher.launch(replace(wanted, claim=asking), resolved(aws_account))
        assert [one.get("EnclaveOptions") for one in made] == [None, {"Enabled": True}]

    visited(aws_server, scenario)


def test_the_cheapest_way_is_bought_and_told_in_full(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(shop: Shop) -> None:
        wanted = order(NAMES)
        bought = await shop.launcher.launch(wanted, resolved(aws_account))
        assert bought.provider_id.startswith(f"aws:///{A}/i-") or bought.provider_id.startswith(f"aws:///{B}/i-")
        kind = kinds()["c5.large"]
        told = bought.labels
        assert (told[labels.INSTANCE_TYPE], told[labels.CAPACITY_TYPE]) == ("c5.large", "on-demand")
        assert told[aws_labels.ZONE_ID].startswith("use1-az")
        assert told[labels.NODEPOOL] == "general"
        assert aws_labels.RESERVATION_ID not in told
        assert (bought.capacity, bought.allocatable) == (kind.capacity, kind.allocatable)
        assert (bought.claim, bought.pool) == (wanted.claim.name, "general")
        assert bought.image_id == aws_account.images["al2023", "x86_64"]
        assert bought.annotations["karpenter.k8s.aws/ec2nodeclass-hash"] == "12345"
        assert bought.annotations["karpenter.k8s.aws/instance-profile-name"] == aws_account.profile
        assert bought.missed == ()

    visited(aws_server, scenario)


def test_a_describe_says_what_the_launch_said(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(shop: Shop) -> None:
        bought = await shop.launcher.launch(named("one", capacity=(labels.SPOT,)), resolved(aws_account))
        (seen,) = await shop.instances.ours()
        assert seen.provider_id == bought.provider_id
        assert seen.claims == ("one",)
        assert seen.capacity_type == "spot"
        assert (seen.zone_id, seen.tenancy) == (bought.labels[aws_labels.ZONE_ID], bought.labels[aws_labels.TENANCY])
        assert set(seen.security_groups) == set(aws_account.security_groups)
        assert seen.profile == aws_account.profile
        assert seen.tags[tags.CLUSTER] == "test"

    visited(aws_server, scenario)


def test_claims_that_ask_for_the_same_are_one_call(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(shop: Shop) -> None:
        ready = resolved(aws_account)
        orders = [named(f"general-{number:05d}", *NAMES) for number in range(40)]
        bought = await asyncio.gather(*(shop.launcher.launch(one, ready) for one in orders))
        assert len({one.provider_id for one in bought}) == 40
        assert [one.claim for one in bought] == [one.claim.name for one in orders]
        assert shop.counts.calls == {"DescribeLaunchTemplates": 1, "CreateLaunchTemplate": 1, "CreateFleet": 1}
        seen = await shop.instances.ours()
        assert set(seen[0].claims) <= {one.claim.name for one in orders}

    visited(aws_server, scenario)


def test_a_fleet_that_is_half_answered_serves_half_and_the_rest_goes_on(
    aws_server: AwsServer, aws_account: Account
) -> None:
    aws_server.world.restock("spot", "*", "*", left=3)

    async def scenario(shop: Shop) -> None:
        orders = [named(f"general-{number}", "m5.large", capacity=ANY) for number in range(5)]
        bought = await asyncio.gather(*(shop.launcher.launch(one, resolved(aws_account)) for one in orders))
        kinds = [one.labels[labels.CAPACITY_TYPE] for one in bought]
        assert sorted(kinds) == ["on-demand"] * 2 + ["spot"] * 3
        fallen = next(one for one in bought if one.labels[labels.CAPACITY_TYPE] == "on-demand")
        assert Shortage("m5.large", A, "spot") in fallen.missed
        assert len(await machines(shop)) == 5

    visited(aws_server, scenario)


def test_what_is_sold_out_is_passed_over_and_named(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.sell_out("on-demand", "c5.large")

    async def scenario(shop: Shop) -> None:
        bought = await shop.launcher.launch(order(("c5.large", "m5.large")), resolved(aws_account))
        assert bought.labels[labels.INSTANCE_TYPE] == "m5.large"
        assert set(bought.missed) == {Shortage("c5.large", A, "on-demand"), Shortage("c5.large", B, "on-demand")}
        assert [miss.code for _, miss in shop.missed] == ["InsufficientInstanceCapacity"] * 2

    visited(aws_server, scenario)


def test_a_market_that_is_empty_is_told_in_full(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.sell_out("spot")
    aws_server.world.sell_out("on-demand", code="VcpuLimitExceeded")

    async def scenario(shop: Shop) -> None:
        with pytest.raises(NoCapacity, match=r"InsufficientInstanceCapacity, VcpuLimitExceeded") as caught:
            await shop.launcher.launch(order(("m5.large",), ANY), resolved(aws_account))
        wanted = {Shortage("m5.large", zone, kind) for zone in ZONES for kind in ("spot", "on-demand")}
        assert set(caught.value.shortages) == wanted
        assert await machines(shop) == []

    visited(aws_server, scenario)


def test_a_missing_spot_role_costs_all_of_spot_and_nothing_else(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.sell_out("spot", code="AuthFailure.ServiceLinkedRoleCreationNotPermitted")

    async def scenario(shop: Shop) -> None:
        bought = await shop.launcher.launch(order(("m5.large",), ANY), resolved(aws_account))
        assert bought.labels[labels.CAPACITY_TYPE] == "on-demand"
        assert bought.missed == (Shortage(capacity_type="spot"),)

    visited(aws_server, scenario)


def test_a_bad_request_is_for_a_person(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(shop: Shop) -> None:
        with pytest.raises(Misconfigured) as caught:
            await shop.launcher.launch(order(), resolved(aws_account, profile="nobody"))
        assert caught.value.reason == "InstanceProfileNameInvalid"

    visited(aws_server, scenario)


def test_a_shortage_is_believed_whatever_else_was_wrong(aws_server: AwsServer, aws_account: Account) -> None:
    """spec/aws §6: the first rung was sold out before the second was refused."""
    aws_server.world.sell_out("spot")
    aws_server.world.sell_out("on-demand", code="InvalidParameterValue")

    async def scenario(shop: Shop) -> None:
        with pytest.raises(Misconfigured) as caught:
            await shop.launcher.launch(order(("m5.large",), ANY), resolved(aws_account))
        assert {one.capacity_type for one in caught.value.shortages} == {"spot"}

    visited(aws_server, scenario)


def test_a_class_that_has_nothing_for_the_order_says_so(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(shop: Shop) -> None:
        with pytest.raises(NoCapacity, match="no subnet, or no image"):
            await shop.launcher.launch(order(), resolved(aws_account, images=()))

    visited(aws_server, scenario)


# ---- once, whatever goes wrong


def test_a_lost_answer_buys_no_second_machine(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.lose_answer("CreateFleet", times=2)

    async def scenario(shop: Shop) -> None:
        bought = await shop.launcher.launch(order(), resolved(aws_account))
        assert [bought.provider_id] == [one.provider_id for one in await shop.instances.ours()]

    visited(aws_server, scenario)


def test_the_same_order_again_or_at_once_is_the_same_machine(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(shop: Shop) -> None:
        ready = resolved(aws_account)
        first, *others = await asyncio.gather(*(shop.launcher.launch(order(), ready) for _ in range(5)))
        again = await shop.launcher.launch(order(), ready)
        assert {one.provider_id for one in (*others, again)} == {first.provider_id}
        assert len(await machines(shop)) == 1

    visited(aws_server, scenario)


def test_a_second_process_finds_what_the_first_bought(aws_server: AwsServer, aws_account: Account) -> None:
    """The first died before it wrote down what it had bought; prices have moved since, or everything is sold out."""

    async def whole() -> None:
        async with shop(aws_server) as first:
            bought = await first.launcher.launch(order(("m5.large", "c5.large")), resolved(aws_account))
        aws_server.world.sell_out()
        for types in (("m5.large", "c5.large"), ("c5.large",)):
            async with shop(aws_server) as second:
                again = await second.launcher.launch(order(types), resolved(aws_account))
                assert (again.provider_id, again.labels) == (bought.provider_id, bought.labels)

    asyncio.run(whole())


def test_after_a_fleet_for_many_the_next_process_deals_out_what_is_undealt(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def whole() -> None:
        names = [f"general-{number}" for number in range(4)]
        ready = resolved(aws_account)
        async with shop(aws_server) as first:
            bought = await asyncio.gather(*(first.launcher.launch(named(name), ready) for name in names))
        written = replace(claim(names[0]), provider_id=bought[0].provider_id)
        claims = [written, *(claim(name) for name in names[1:])]
        async with shop(aws_server, claims) as second:
            again = await asyncio.gather(*(second.launcher.launch(named(name), ready) for name in names[1:]))
            assert {one.provider_id for one in again} == {one.provider_id for one in bought[1:]}
            assert len(await machines(second)) == 4
            assert "CreateFleet" not in second.counts.calls

    asyncio.run(whole())


def test_a_machine_that_is_not_seen_yet_is_waited_for_and_not_bought_again(
    aws_server: AwsServer, aws_account: Account
) -> None:
    aws_server.world.waits.seen = 30.0

    async def whole() -> None:
        ready = resolved(aws_account)
        async with shop(aws_server) as first:
            bought = await first.launcher.launch(order(("m5.large", "c5.large")), ready)
        async with shop(aws_server) as second:
            with pytest.raises(Unavailable, match="does not show it yet"):
                await second.launcher.launch(order(("m5.large",)), ready)
            aws_server.world.forward(31)
            again = await second.launcher.launch(order(("m5.large",)), ready)
            assert again.provider_id == bought.provider_id

    asyncio.run(whole())


def test_a_token_that_was_used_for_a_machine_long_gone_is_given_up(aws_server: AwsServer, aws_account: Account) -> None:
    async def whole() -> None:
        ready = resolved(aws_account)
        async with shop(aws_server) as first:
            bought = await first.launcher.launch(order(("m5.large", "c5.large")), ready)
            await first.instances.terminate(bought.provider_id.rpartition("/")[2])
        async with shop(aws_server) as second:
            for _ in range(2):
                with pytest.raises(Unavailable):
                    await second.launcher.launch(order(("m5.large",)), ready)
                aws_server.world.forward(UNSEEN_SECONDS + 1)
            again = await second.launcher.launch(order(("m5.large",)), ready)
            assert again.provider_id != bought.provider_id

    asyncio.run(whole())


def test_a_failure_that_was_final_is_not_repeated_for_ever(aws_server: AwsServer, aws_account: Account) -> None:
    """EC2 would answer the same token with the same failure."""
    aws_server.world.sell_out("on-demand", code="InternalError")

    async def scenario(shop: Shop) -> None:
        with pytest.raises(Unavailable):
            await shop.launcher.launch(order(), resolved(aws_account))
        aws_server.world.stock.clear()
        assert await shop.launcher.launch(order(), resolved(aws_account))

    visited(aws_server, scenario)


def test_a_fleet_whose_answer_never_came_is_looked_for_before_it_is_bought_again(
    aws_server: AwsServer, aws_account: Account
) -> None:
    """Its claims may come again one by one, and another composition is another token."""
    aws_server.world.lose_answer("CreateFleet", times=5)

    async def scenario(shop: Shop) -> None:
        ready, names = resolved(aws_account), ("one", "two", "three")
        lost = await asyncio.gather(
            *(shop.launcher.launch(named(name), ready) for name in names), return_exceptions=True
        )
        assert all(isinstance(one, Unavailable) for one in lost)
        assert len(await machines(shop)) == 3
        first = await shop.launcher.launch(named("two"), ready)
        others = await asyncio.gather(*(shop.launcher.launch(named(name), ready) for name in ("one", "three")))
        assert len({one.provider_id for one in (first, *others)}) == 3
        assert len(await machines(shop)) == 3

    visited(aws_server, scenario)


def test_a_throttled_launch_may_be_made_again(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.fail_always("CreateFleet", Refuse())

    async def scenario(shop: Shop) -> None:
        with pytest.raises(Throttled):
            await shop.launcher.launch(order(), resolved(aws_account))
        aws_server.world.fail_always("CreateFleet", None)
        await shop.launcher.launch(order(), resolved(aws_account))
        assert len(await machines(shop)) == 1

    visited(aws_server, scenario)


def test_who_stops_waiting_loses_no_machine(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(shop: Shop) -> None:
        waiting = asyncio.create_task(shop.launcher.launch(order(), resolved(aws_account)))
        await asyncio.sleep(0)
        waiting.cancel()
        bought = await shop.launcher.launch(order(), resolved(aws_account))
        assert [bought.provider_id] == [one.provider_id for one in await shop.instances.ours()]

    visited(aws_server, scenario)


def test_a_template_deleted_by_somebody_is_made_again(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(shop: Shop) -> None:
        ready = resolved(aws_account)
        await shop.launcher.launch(named("one"), ready)
        for held in await shop.aws.all(calls.DESCRIBE_TEMPLATES):
            await shop.aws.ask(calls.DELETE_TEMPLATE, LaunchTemplateName=held["LaunchTemplateName"])
        await shop.launcher.launch(named("two"), ready)
        assert len(await machines(shop)) == 2

    visited(aws_server, scenario)


def test_a_machine_is_found_by_its_claims_name_until_the_claim_is_gone(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def whole() -> None:
        async with shop(aws_server) as first:
            bought = await first.launcher.launch(named("one"), resolved(aws_account))
        async with shop(aws_server, [claim("one")]) as second:
            found = await second.launcher.find("one")
            assert found is not None
            assert found.provider_id == bought.provider_id
            assert await second.launcher.find("two") is None
            await second.instances.terminate(found.id)
            second.launcher.ended("one")
            assert await second.launcher.find("one") is None

    asyncio.run(whole())


# ---- subnets and templates


def test_a_zone_with_a_full_subnet_is_served_by_its_other_one(aws_server: AwsServer, aws_account: Account) -> None:
    small = aws_account.add_subnet(A, "10.0.255.240/28")
    whole = resolved(aws_account, zones=(A,))
    crowded = replace(whole.subnets[0], id=small)
    ready = replace(whole, subnets=(crowded, replace(whole.subnets[0], free_addresses=1 << 20)))

    async def scenario(shop: Shop) -> None:
        orders = [named(f"general-{number}") for number in range(13)]
        bought = await asyncio.gather(*(shop.launcher.launch(one, ready) for one in orders))
        subnets = [one.subnet_id for one in await shop.instances.ours()]
        assert subnets.count(small) == 11
        assert len(bought) == 13

    visited(aws_server, scenario)


def test_a_class_without_addresses_is_out_of_capacity(aws_server: AwsServer, aws_account: Account) -> None:
    whole = resolved(aws_account)
    dry = replace(whole, subnets=tuple(replace(one, free_addresses=0) for one in whole.subnets))

    async def scenario(shop: Shop) -> None:
        with pytest.raises(NoCapacity, match="InsufficientFreeAddressesInSubnet"):
            await shop.launcher.launch(order(), dry)

    visited(aws_server, scenario)


def test_types_that_boot_alike_share_a_template_and_others_do_not(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(shop: Shop) -> None:
        await shop.launcher.launch(named("one", *NAMES), resolved(aws_account))
        assert len(shop.templates) == 1

        def by_pods(boot: Boot) -> str:
            return f"--max-pods={boot.kind.capacity.of('pods')}"

        names = ("m5.large", "m5.xlarge", "c5.large")
        await shop.launcher.launch(named("two", *names), resolved(aws_account, user_data=by_pods))
        assert len(shop.templates) == 3

    visited(aws_server, scenario)
