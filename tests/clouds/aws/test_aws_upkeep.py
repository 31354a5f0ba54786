"""Machines that run, on the test server: tagged, relabelled when their reservation ends, drained before their block
does, and told of when EC2's own checks fail."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import pytest
from tests.clouds.aws import orders
from tests.clouds.aws.shop import CLUSTER, Shop, visited
from tools.aws_server import Account, AwsServer, reservations, statuses
from tools.aws_server.wire import instant
from tools.aws_server.world import Refuse

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws import tags, upkeep
from dovetail.clouds.aws.described import Machine, id_of
from dovetail.clouds.aws.resolved import CAPACITY_BLOCK, HeldReservation
from dovetail.clouds.aws.upkeep import TAGS_APART, Habits, Upkeep
from dovetail.clouds.port import Tended
from dovetail.core import labels
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.nodeclaims import NodeClaim

A = "us-east-1a"
LOST = {
    labels.CAPACITY_TYPE: "on-demand",
    aws_labels.RESERVATION_ID: None,
    aws_labels.RESERVATION_TYPE: None,
    aws_labels.RESERVATION_INTERRUPTIBLE: None,
}


@dataclass
class Yard:
    """A shop, and whoever sees to what it sold."""

    shop: Shop
    upkeep: Upkeep
    account: Account
    server: AwsServer
    slept: list[float]
    unwell: list[str]

    async def bought(self, name: str = "general-a1b2c", **more: Any) -> NodeClaim:
        """A claim with its machine, whose Node is known."""
        held = more.pop("held", {})
        wanted = orders.order(bought_for=orders.claim(name), **more)
        instance = await self.shop.launcher.launch(wanted, orders.resolved(self.account, reservations=held))
        told = MappingProxyType({**wanted.claim.meta.labels, **instance.labels})
        return replace(
            wanted.claim,
            meta=replace(wanted.claim.meta, labels=told),
            provider_id=instance.provider_id,
            node_name=f"ip-{name}.ec2.internal",
        )

    async def reserved(self, count: int = 1, **more: Any) -> tuple[NodeClaim, str]:
        """A claim in a reservation of its own, and the reservation's id."""
        name = reservations.reserve("m5.large", A, count, **more)
        kind = more.get("ReservationType", "default")
        held = {name: HeldReservation(name, "m5.large", A, kind)}
        rows = (Reservation(name, "m5.large", A, count, count, kind),)
        claim = await self.bought(capacity=(labels.RESERVED,), reservations=rows, held=held)
        assert claim.meta.labels[aws_labels.RESERVATION_ID] == name
        return claim, name

    async def tags(self, claim: NodeClaim) -> dict[str, str]:
        return dict((await self.shop.instances.get(id_of(claim.provider_id))).tags)


def tended(server: AwsServer, account: Account, scenario: Callable[[Yard], Awaitable[None]], **habits: Any) -> Yard:
    yards: list[Yard] = []

    async def whole(opened: Shop) -> None:
        slept: list[float] = []
        unwell: list[str] = []

        async def at_once(seconds: float) -> None:
            slept.append(seconds)
            await asyncio.sleep(0)

        told = Habits(unwell.append, now=lambda: server.world.now, sleep=at_once, **habits)
        yards.append(Yard(opened, Upkeep(opened.aws, opened.instances, CLUSTER, told), account, server, slept, unwell))
        await scenario(yards[0])

    orders.price(server.world, "m5.large")
    visited(server, whole)
    return yards[0]


# ---- tags


def test_a_machine_is_tagged_with_its_node_once_that_is_known(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(yard: Yard) -> None:
        claim = await yard.bought()
        await yard.upkeep.tend([replace(claim, node_name="")])
        assert tags.NAME not in await yard.tags(claim)
        await yard.upkeep.tend([claim])
        found = await yard.tags(claim)
        assert found[tags.NAME] == claim.node_name
        assert found[tags.NODE_CLAIM] == claim.name
        assert found[tags.CLUSTER] == CLUSTER

    tended(aws_server, aws_account, scenario)


def test_what_is_tagged_is_asked_about_no_more(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(yard: Yard) -> None:
        claim = await yard.bought()
        await yard.upkeep.tend([claim])
        before = yard.shop.counts.calls.copy()
        for _ in range(3):
            await yard.upkeep.tend([claim])
        assert yard.shop.counts.calls == before

    tended(aws_server, aws_account, scenario)


TAGGED = {"karpenter.k8s.aws/tagged": "true", "compatibility.karpenter.k8s.aws/cluster-name-tagged": "true"}


def test_that_a_machine_is_tagged_stands_on_its_claim_and_the_next_process_asks_nobody(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(yard: Yard) -> None:
        claim = await yard.bought()
        assert (await yard.upkeep.tend([claim])).notes == {claim.name: TAGGED}
        noted = replace(claim, meta=replace(claim.meta, annotations=MappingProxyType(TAGGED)))
        anew = Upkeep(yard.shop.aws, yard.shop.instances, CLUSTER, Habits(now=lambda: yard.server.world.now))
        before = yard.shop.counts.calls["DescribeInstances"]
        assert (await anew.tend([noted])).notes == {}
        assert yard.shop.counts.calls["DescribeInstances"] == before

    tended(aws_server, aws_account, scenario)


def test_the_part_of_a_placement_group_ec2_chose_becomes_a_label() -> None:
    """A claim that asks for none is told where its machine came to stand."""
    grouped = MappingProxyType({aws_labels.PLACEMENT_GROUP_ID: "pg-1"})
    claim = orders.claim("one")
    claim = replace(claim, meta=replace(claim.meta, labels=grouped), provider_id=f"aws:///{A}/i-1", node_name="n")

    class Seen:
        looks = 0

        async def get(self, instance_id: str) -> Machine:
            self.looks += 1
            return Machine(instance_id, "m5.large", A, "on-demand", placement_group_id="pg-1", partition=3)

    async def scenario() -> None:
        seen = Seen()
        keeper = Upkeep(None, seen, CLUSTER, Habits(read_only=True))  # type: ignore[arg-type]
        keeper._checks.refused = "nobody is asked"
        found = await keeper.tend([claim])
        assert found.labels == {"one": {aws_labels.PLACEMENT_GROUP_PARTITION: "3"}}
        assert (await keeper.tend([claim])).labels == {}
        assert seen.looks == 1

    asyncio.run(scenario())


def test_a_name_a_user_gave_is_kept(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(yard: Yard) -> None:
        claim = await yard.bought()
        await yard.shop.instances.tag(id_of(claim.provider_id), {tags.NAME: "mine"})
        await yard.upkeep.tend([claim])
        assert (await yard.tags(claim))[tags.NAME] == "mine"

    tended(aws_server, aws_account, scenario)


def test_tagging_many_goes_a_second_apart_and_leaves_time_for_the_rest(
    aws_server: AwsServer, aws_account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "TAGS_AT_ONCE", 3)

    async def scenario(yard: Yard) -> None:
        names = [f"general-{number:05d}" for number in range(5)]
        claims = await asyncio.gather(*(yard.bought(name) for name in names))
        first = await yard.upkeep.tend(claims)
        assert yard.shop.counts.calls["CreateTags"] == 3
        assert yard.slept == [TAGS_APART] * 2
        assert first.again == TAGS_APART
        await yard.upkeep.tend(claims)
        assert yard.shop.counts.calls["CreateTags"] == 5
        for claim in claims:
            assert (await yard.tags(claim))[tags.NODE_CLAIM] == claim.name

    tended(aws_server, aws_account, scenario)


def test_a_refused_tag_is_told_and_tried_again(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(yard: Yard) -> None:
        claim = await yard.bought()
        aws_server.world.fail("CreateTags", Refuse("UnauthorizedOperation", "You are not authorized", 403))
        report = await yard.upkeep.tend([claim])
        assert "CreateTags was refused" in str(report.problems[0])
        assert (await yard.upkeep.tend([claim])).problems == ()
        assert tags.NAME in await yard.tags(claim)

    tended(aws_server, aws_account, scenario)


def test_nothing_is_tagged_by_one_who_only_looks(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(yard: Yard) -> None:
        await yard.upkeep.tend([await yard.bought()])
        assert yard.shop.counts.calls["CreateTags"] == 0

    tended(aws_server, aws_account, scenario, read_only=True)


def test_machines_that_are_gone_or_nobodys_are_passed_over(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(yard: Yard) -> None:
        claim = await yard.bought()
        await yard.shop.instances.terminate(id_of(claim.provider_id))
        odd = replace(claim, meta=replace(claim.meta, name="odd"), provider_id="kwok://1")
        leaving = replace(claim, meta=replace(claim.meta, name="leaving", deleting=1.0))
        assert await yard.upkeep.tend([claim, odd, leaving]) == Tended({}, (), 60.0)

    tended(aws_server, aws_account, scenario)


# ---- reservations that end


def test_a_machine_whose_reservation_was_cancelled_is_on_demand_from_then_on(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(yard: Yard) -> None:
        claim, name = await yard.reserved()
        assert (await yard.upkeep.tend([claim])).labels == {}
        aws_server.world.reservations[name]["State"] = "cancelled"
        assert (await yard.upkeep.tend([claim])).labels == {claim.name: LOST}

    tended(aws_server, aws_account, scenario)


def test_a_machine_whose_reservation_expired_is_on_demand_from_then_on(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(yard: Yard) -> None:
        claim, _ = await yard.reserved(EndDate=instant(aws_server.world.now + 3600))
        assert (await yard.upkeep.tend([claim])).labels == {}
        aws_server.world.forward(3601)
        assert (await yard.upkeep.tend([claim])).labels == {claim.name: LOST}

    tended(aws_server, aws_account, scenario)


def test_a_claim_that_says_on_demand_already_is_not_told_again(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(yard: Yard) -> None:
        claim = await yard.bought()
        assert (await yard.upkeep.tend([claim])).labels == {}

    tended(aws_server, aws_account, scenario)


def test_while_ec2_does_not_answer_nobody_loses_a_label(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(yard: Yard) -> None:
        claim, name = await yard.reserved()
        aws_server.world.reservations[name]["State"] = "cancelled"
        aws_server.world.fail("DescribeInstances", Refuse("UnauthorizedOperation", "no", 403))
        report = await yard.upkeep.tend([claim])
        assert (report.labels, len(report.problems)) == ({}, 1)

    tended(aws_server, aws_account, scenario)


# ---- capacity blocks


def test_machines_of_a_block_are_told_to_go_ten_minutes_before_ec2_takes_them(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(yard: Yard) -> None:
        end = aws_server.world.now + 7200
        claim, _ = await yard.reserved(ReservationType=CAPACITY_BLOCK, EndDate=instant(end))
        report = await yard.upkeep.tend([claim])
        assert (report.notices, report.again) == ((), 60.0)
        aws_server.world.forward(7200 - 2400 - 20)
        report = await yard.upkeep.tend([claim])
        assert report.notices == ()
        assert 0 < report.again <= 20
        aws_server.world.forward(21)
        (notice,) = (await yard.upkeep.tend([claim])).notices
        assert (notice.provider_id, notice.kind) == (claim.provider_id, "capacity_reservation_expiring")
        assert notice.ends == pytest.approx(end - 1800, abs=1)
        assert notice.ends - aws_server.world.now == pytest.approx(600, abs=5)
        assert (await yard.upkeep.tend([claim])).notices == ()

    tended(aws_server, aws_account, scenario)


def test_a_block_that_was_extended_is_left_until_its_new_end(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(yard: Yard) -> None:
        world = aws_server.world
        claim, name = await yard.reserved(ReservationType=CAPACITY_BLOCK, EndDate=instant(world.now + 3600))
        await yard.upkeep.tend([claim])
        world.reservations[name]["EndDate"] = instant(world.now + 86_400)
        world.forward(1500)
        assert (await yard.upkeep.tend([claim])).notices == ()
        world.forward(86_400 - 1500 - 2300)
        assert len((await yard.upkeep.tend([claim])).notices) == 1

    tended(aws_server, aws_account, scenario)


def test_a_block_ec2_does_not_tell_of_ends_when_it_last_said_so(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(yard: Yard) -> None:
        world = aws_server.world
        claim, _ = await yard.reserved(ReservationType=CAPACITY_BLOCK, EndDate=instant(world.now + 3600))
        await yard.upkeep.tend([claim])
        world.fail_always("DescribeCapacityReservations", Refuse("UnauthorizedOperation", "no", 403))
        world.forward(1300)
        report = await yard.upkeep.tend([claim])
        assert (len(report.notices), len(report.problems)) == (1, 1)

    tended(aws_server, aws_account, scenario)


def test_a_block_nobody_knows_any_more_hides_no_other(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(yard: Yard) -> None:
        world = aws_server.world
        claim, _ = await yard.reserved(ReservationType=CAPACITY_BLOCK, EndDate=instant(world.now + 2000))
        gone = MappingProxyType({**claim.meta.labels, aws_labels.RESERVATION_ID: "cr-00000000000000bad"})
        lost = replace(
            claim, meta=replace(claim.meta, name="lost", labels=gone), provider_id="aws:///us-east-1a/i-0bad"
        )
        report = await yard.upkeep.tend([lost, claim])
        assert [one.provider_id for one in report.notices] == [claim.provider_id]
        assert report.problems == ()

    tended(aws_server, aws_account, scenario)


# ---- EC2's own checks


@pytest.mark.parametrize(
    ("check", "category"), [("InstanceStatus", "instance_status"), ("SystemStatus", "system_status")]
)
def test_a_check_that_fails_for_two_minutes_ends_the_machine_at_once(
    aws_server: AwsServer, aws_account: Account, check: str, category: str
) -> None:
    async def scenario(yard: Yard) -> None:
        claim, world = await yard.bought(), aws_server.world
        statuses.impair(id_of(claim.provider_id), check)
        assert (await yard.upkeep.tend([claim])).notices == ()
        world.forward(121)
        (notice,) = (await yard.upkeep.tend([claim])).notices
        assert (notice.provider_id, notice.kind) == (claim.provider_id, category)
        assert notice.ends == pytest.approx(world.now, abs=2)
        world.forward(61)
        assert (await yard.upkeep.tend([claim])).notices == ()
        assert yard.unwell == [category]

    tended(aws_server, aws_account, scenario)


def test_planned_maintenance_says_by_when_a_machine_has_to_be_empty(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(yard: Yard) -> None:
        claim, world = await yard.bought(), aws_server.world
        at = world.now + 86_400
        statuses.schedule(id_of(claim.provider_id), "instance-retirement", at)
        (notice,) = (await yard.upkeep.tend([claim])).notices
        assert notice.kind == "event_status"
        assert notice.ends == pytest.approx(at, abs=1)

    tended(aws_server, aws_account, scenario)


def test_disks_and_other_peoples_machines_are_not_our_business(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(yard: Yard) -> None:
        ours, other = await yard.bought(), await yard.bought("general-other")
        statuses.impair(id_of(ours.provider_id), "AttachedEbsStatus", since=0.0)
        statuses.impair(id_of(other.provider_id), "InstanceStatus", since=0.0)
        assert (await yard.upkeep.tend([ours])).notices == ()

    tended(aws_server, aws_account, scenario)


def test_who_may_not_ask_for_checks_is_told_once_and_not_asked_again(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(yard: Yard) -> None:
        claim, world = await yard.bought(), aws_server.world
        world.fail_always("DescribeInstanceStatus", Refuse("UnauthorizedOperation", "no", 403))
        (problem,) = (await yard.upkeep.tend([claim])).problems
        assert "DescribeInstanceStatus" in str(problem)
        calls = yard.shop.counts.calls["DescribeInstanceStatus"]
        world.forward(600)
        assert (await yard.upkeep.tend([claim])).problems == ()
        assert yard.shop.counts.calls["DescribeInstanceStatus"] == calls

    tended(aws_server, aws_account, scenario)


def test_a_token_that_had_expired_does_not_end_the_asking(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(yard: Yard) -> None:
        claim, world = await yard.bought(), aws_server.world
        world.fail("DescribeInstanceStatus", Refuse("RequestExpired", "Request has expired.", 400))
        assert (await yard.upkeep.tend([claim])).problems
        calls = yard.shop.counts.calls["DescribeInstanceStatus"]
        world.forward(600)
        assert (await yard.upkeep.tend([claim])).problems == ()
        assert yard.shop.counts.calls["DescribeInstanceStatus"] > calls

    tended(aws_server, aws_account, scenario)
