"""One Machine, one EC2 instance: made, found again, told of, removed (R7, R9–R13, R17, R18, R32)."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace

import pytest
from tests.clouds.aws.single import BOOT, ZONE, Process, backend, living, order, process, processed, sought, spec
from tools.aws_server import Account, AwsServer
from tools.aws_server.lives import end, stop

from dovetail.clouds.aws import calls, machines
from dovetail.clouds.aws.described import id_of
from dovetail.clouds.aws.instances import YOUNG_SECONDS
from dovetail.clouds.machines import Lost, Underway, UserData
from dovetail.clouds.port import Misconfigured, NotFound, Unavailable
from dovetail.core.errors import BadInput
from dovetail.core.machines import infra as lifecycle
from dovetail.core.machines.infra_objects import State, token_of


def test_R17_R18_a_spot_machine_is_a_one_time_request_that_terminates_and_says_it_is_spot(
    aws_server: AwsServer, aws_account: Account
) -> None:
    aws_server.world.spot["m5.large", ZONE] = 0.03

    async def scenario(one: Process) -> None:
        found = await one.machines.create(order(spec(aws_account), price="0.0310"), BOOT)
        assert found.interruptible
        assert found.provider_id.startswith(f"aws:///{ZONE}/i-")
        assert (found.name, found.zone) == ("m", ZONE)
        (asked,) = aws_server.world.runs
        assert asked["InstanceMarketOptions"] == {
            "MarketType": "spot",
            "SpotOptions": {
                "SpotInstanceType": "one-time",
                "InstanceInterruptionBehavior": "terminate",
                "MaxPrice": "0.0310",
            },
        }

    processed(aws_server, scenario)


def test_R13_R7_nothing_is_asked_about_capacity_before_it_is_bought(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(one: Process) -> None:
        await one.machines.create(order(spec(aws_account)), BOOT)
        assert set(one.counts.calls) == {"DescribeImages", "DescribeSecurityGroups", "RunInstances"}
        assert one.counts.calls["RunInstances"] == 1

    processed(aws_server, scenario)


def test_bootstrap_data_arrives_as_it_was(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(one: Process) -> None:
        await one.machines.create(order(spec(aws_account)), UserData(b"#cloud-config\n\xff\x00"))
        assert base64.b64decode(aws_server.world.runs[0]["UserData"]) == b"#cloud-config\n\xff\x00"

    processed(aws_server, scenario)


def test_addresses_are_told(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(one: Process) -> None:
        found = await one.machines.create(order(spec(aws_account, publicIP=True)), BOOT)
        told = {address.type: address.address for address in found.addresses}
        assert set(told) == {"InternalIP", "InternalDNS", "ExternalIP", "ExternalDNS"}
        assert told["InternalIP"].startswith("10.0.")
        assert (await one.machines.find(sought())).addresses == found.addresses

    processed(aws_server, scenario)


# ------------------------------------------------------------------------------------------------ what becomes of it


def test_R12_every_state_of_an_instance_is_told_in_the_words_of_no_cloud(
    aws_server: AwsServer, aws_account: Account
) -> None:
    world = aws_server.world
    world.waits.boot, world.waits.shutdown = 10.0, 10.0

    async def scenario(one: Process) -> None:
        seen = [await one.machines.create(order(spec(aws_account)), BOOT)]
        world.forward(10)
        seen.append(await one.machines.find(sought()))
        (made,) = living(aws_account)
        stop(made)
        seen.append(await one.machines.find(sought()))
        end(made)
        seen.append(await one.machines.find(sought()))
        world.forward(10)
        seen.append(await one.machines.find(sought()))
        assert [(found.state, found.said) for found in seen] == [
            (State.PENDING, "pending"),
            (State.RUNNING, "running"),
            (State.STOPPED, "stopped"),
            (State.GOING, "shutting-down"),
            (State.GONE, "terminated"),
        ]
        assert not {"StartInstances", "RebootInstances"} & set(one.counts.calls)

    processed(aws_server, scenario)


def test_R10_an_instance_nobody_remembers_is_not_found_and_the_same_order_does_not_make_another(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(one: Process) -> None:
        made = await one.machines.create(order(spec(aws_account)), BOOT)
        end(living(aws_account)[0])
        aws_server.world.forward(2 * 3600)
        with pytest.raises(NotFound):
            await one.machines.find(sought(provider_id=made.provider_id))
        with pytest.raises(Lost, match="was terminated; it is not made again"):
            await one.machines.create(order(spec(aws_account)), BOOT)
        assert living(aws_account) == []

    processed(aws_server, scenario)


def test_R10_the_same_order_for_an_instance_that_was_terminated_tells_of_that_one(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(one: Process) -> None:
        made = await one.machines.create(order(spec(aws_account)), BOOT)
        end(living(aws_account)[0])
        again = await one.machines.create(order(spec(aws_account)), BOOT)
        assert (again.provider_id, again.state) == (made.provider_id, State.GONE)

    processed(aws_server, scenario)


# ------------------------------------------------------------------------------------------------ lost answers


def test_R9_an_answer_that_was_lost_leaves_one_instance(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.lose_answer("RunInstances")

    async def scenario(one: Process) -> None:
        found = await one.machines.create(order(spec(aws_account)), BOOT)
        assert one.counts.calls["RunInstances"] == 2
        assert [made.id for made in living(aws_account)] == [id_of(found.provider_id)]

    processed(aws_server, scenario)


def test_R9_a_process_that_died_after_buying_leaves_an_instance_that_the_next_finds_by_its_tag(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario() -> None:
        async with process(aws_server, old=False) as first:
            made = await first.machines.create(order(spec(aws_account)), BOOT)
        async with process(aws_server, old=False) as second:
            assert await second.machines.find(sought()) == made
            assert second.counts.calls["RunInstances"] == 0

    asyncio.run(scenario())


@pytest.mark.parametrize("dies", [False, True])
def test_R9_an_instance_that_describes_miss_for_half_a_minute_is_not_made_twice_nor_taken_for_gone(
    aws_server: AwsServer, aws_account: Account, dies: bool
) -> None:
    aws_server.world.waits.seen = 30.0

    async def scenario() -> None:
        async with process(aws_server, old=False) as first:
            made = await first.machines.create(order(spec(aws_account)), BOOT)
            if not dies:
                assert await first.machines.find(sought()) == made
                assert await first.machines.find(sought(provider_id=made.provider_id)) == made
                assert await first.machines.instances("c") == (made,)
        async with process(aws_server, old=False) as second:
            with pytest.raises(Unavailable, match="it is asked again"):
                await second.machines.find(sought(provider_id=made.provider_id))
            with pytest.raises(NotFound):
                await second.machines.find(sought())
            assert (await second.machines.create(order(spec(aws_account)), BOOT)).provider_id == made.provider_id
            aws_server.world.forward(31)
            assert (await second.machines.find(sought(provider_id=made.provider_id))).name == "m"
        assert len(living(aws_account)) == 1

    asyncio.run(scenario())


def test_a_process_that_has_just_begun_does_not_take_an_instance_it_cannot_see_for_removed(
    aws_server: AwsServer, aws_account: Account
) -> None:
    """Else its object would go, and it would be paid for with nobody to know of it."""
    aws_server.world.waits.seen = 30.0

    async def scenario() -> None:
        async with process(aws_server, old=False) as first:
            await first.machines.create(order(spec(aws_account)), BOOT)
        async with process(aws_server, old=False) as second:
            with pytest.raises(Unavailable):
                await second.machines.delete(sought())
            aws_server.world.forward(31)
            await second.machines.delete(sought())
            with pytest.raises(NotFound):
                await second.machines.delete(sought())
        assert living(aws_account) == []

    asyncio.run(scenario())


def test_R9_an_order_is_on_record_as_young_for_as_long_as_describes_may_miss_what_it_made() -> None:
    assert YOUNG_SECONDS + calls.RUN_INSTANCES.seconds <= lifecycle.SHOWN_SECONDS


def test_one_that_never_was_is_let_go_of_once_that_is_certain(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(one: Process) -> None:
        with pytest.raises(Unavailable):
            await one.machines.delete(sought())
        aws_server.world.forward(121)
        with pytest.raises(NotFound):
            await one.machines.delete(sought())

    processed(aws_server, scenario, old=False)


def test_R9_renewed_bootstrap_data_does_not_make_a_second_instance(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(one: Process) -> None:
        made = await one.machines.create(order(spec(aws_account)), BOOT)
        again = await one.machines.create(order(spec(aws_account)), UserData(b"#cloud-config\nrenewed: true\n"))
        assert again == made
        assert len(living(aws_account)) == 1

    processed(aws_server, scenario)


def test_R9_renewed_bootstrap_data_waits_for_an_instance_that_cannot_be_seen_yet(
    aws_server: AwsServer, aws_account: Account
) -> None:
    aws_server.world.waits.seen = 30.0

    async def scenario(one: Process) -> None:
        await one.machines.create(order(spec(aws_account)), BOOT)
        with pytest.raises(Underway, match="does not show it yet"):
            await one.machines.create(order(spec(aws_account)), UserData(b"renewed"))
        aws_server.world.forward(31)
        await one.machines.create(order(spec(aws_account)), UserData(b"renewed"))
        assert len(living(aws_account)) == 1

    processed(aws_server, scenario)


# ------------------------------------------------------------------------------------------------ removing


def test_R29_everything_that_was_made_for_a_machine_goes_with_it_and_nothing_else(
    aws_server: AwsServer, aws_account: Account
) -> None:
    held = backend(aws_account)
    disks = [{"deviceName": "/dev/xvdb", "size": 40}]

    async def scenario(one: Process) -> None:
        await one.machines.create(order(spec(aws_account), "other"), BOOT)
        others = set(held.volumes), set(held.enis)
        made = await one.machines.create(order(spec(aws_account, nonRootVolumes=disks, publicIP=True)), BOOT)
        assert len(held.volumes) == len(others[0]) + 2
        await one.machines.delete(sought(provider_id=made.provider_id))
        with pytest.raises(NotFound):
            await one.machines.delete(sought(provider_id=made.provider_id))
        assert (set(held.volumes), set(held.enis)) == others
        assert [found.name for found in await one.machines.instances("c")] == ["other"]

    processed(aws_server, scenario)


def test_an_instance_that_is_going_is_not_told_again(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.waits.shutdown = 60.0

    async def scenario(one: Process) -> None:
        await one.machines.create(order(spec(aws_account)), BOOT)
        for _ in range(3):
            await one.machines.delete(sought())
        assert one.counts.calls["TerminateInstances"] == 1
        aws_server.world.forward(60)
        with pytest.raises(NotFound):
            await one.machines.delete(sought())

    processed(aws_server, scenario)


def test_an_id_that_somebody_wrote_does_not_end_an_instance_of_others(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(one: Process) -> None:
        mine = await one.machines.create(order(spec(aws_account)), BOOT)
        theirs = await one.machines.create(replace(order(spec(aws_account), "theirs"), cluster="d"), BOOT)
        with pytest.raises(NotFound, match="is no instance of cluster c"):
            await one.machines.find(sought(provider_id=theirs.provider_id))
        await one.machines.delete(sought(provider_id=theirs.provider_id))
        assert [made.id for made in living(aws_account)] == [id_of(theirs.provider_id)]
        assert (await one.machines.find(sought(provider_id=mine.provider_id))).state is State.GONE

    processed(aws_server, scenario)


def test_an_instance_without_any_mark_is_neither_gone_nor_ended_though_its_id_is_on_record(
    aws_server: AwsServer, aws_account: Account
) -> None:
    mark = "sigs.k8s.io/cluster-api-provider-aws/cluster/c"

    async def scenario(one: Process) -> None:
        await one.machines.create(order(spec(aws_account)), BOOT)
        theirs = await one.machines.create(order(spec(aws_account), "theirs"), BOOT)
        held, claimed = backend(aws_account).tags[id_of(theirs.provider_id)], sought(provider_id=theirs.provider_id)
        held.clear()
        for call in (one.machines.find, *[one.machines.delete] * 3):
            with pytest.raises(Misconfigured, match=f"carries no mark of cluster c; put the tag {mark}=owned on it"):
                await call(claimed)
        assert [made.id for made in living(aws_account)] == [id_of(theirs.provider_id)]
        held["kubernetes.io/cluster/d"] = "owned"
        for call in (one.machines.find, one.machines.delete):
            with pytest.raises(NotFound):
                await call(claimed)
        held[mark] = "owned"
        assert (await one.machines.find(claimed)).state is State.RUNNING

    processed(aws_server, scenario)


def test_R10_an_instance_that_ec2_has_terminated_and_taken_the_tags_off_is_gone(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(one: Process) -> None:
        made = await one.machines.create(order(spec(aws_account)), BOOT)
        await one.machines.delete(sought(provider_id=made.provider_id))
        backend(aws_account).tags[id_of(made.provider_id)].clear()
        for call in (one.machines.find, one.machines.delete):
            with pytest.raises(NotFound):
                await call(sought(provider_id=made.provider_id))

    processed(aws_server, scenario)


def test_an_id_that_is_none_does_not_hide_the_instance_that_must_go(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(one: Process) -> None:
        await one.machines.create(order(spec(aws_account)), BOOT)
        with pytest.raises(NotFound, match="not the provider id of an EC2 instance"):
            await one.machines.find(sought(provider_id="gce://p/z/n"))
        await one.machines.delete(sought(provider_id="gce://p/z/n"))
        assert living(aws_account) == []

    processed(aws_server, scenario)


def test_many_machines_are_looked_at_in_few_calls(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(one: Process) -> None:
        names = [f"m-{number}" for number in range(20)]
        made = await asyncio.gather(*(one.machines.create(order(spec(aws_account), name), BOOT) for name in names))
        one.counts.calls.clear()
        pairs = zip(names, made, strict=True)
        looks = [one.machines.find(sought(name, found.provider_id)) for name, found in pairs]
        assert [found.name for found in await asyncio.gather(*looks)] == names
        assert one.counts.calls["DescribeInstances"] == 1
        await asyncio.gather(*(one.machines.delete(sought(name)) for name in names))
        assert one.counts.calls["TerminateInstances"] == 1
        assert living(aws_account) == []

    processed(aws_server, scenario)


def test_a_lookup_is_made_once_for_many_machines(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(one: Process) -> None:
        orders = [order(spec(aws_account), f"m-{number}") for number in range(5)]
        await asyncio.gather(*(one.machines.create(each, BOOT) for each in orders))
        assert (one.counts.calls["DescribeImages"], one.counts.calls["DescribeSecurityGroups"]) == (1, 1)

    processed(aws_server, scenario)


# ------------------------------------------------------------------------------------------------ opening


def test_it_is_opened_with_a_region_and_tried(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario() -> None:
        async with machines.opened(region="us-east-1", endpoint=aws_server.url) as one:
            assert one.cloud == "aws"
            assert await one.instances("c") == ()

    asyncio.run(scenario())


def test_without_a_region_it_says_so(aws_server: AwsServer) -> None:
    async def scenario() -> None:
        async with machines.opened(endpoint=aws_server.url):
            raise AssertionError("it was opened")

    with pytest.raises(BadInput, match="no AWS region is known"):
        asyncio.run(scenario())


def test_an_unreadable_spec_costs_no_call(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(one: Process) -> None:
        with pytest.raises(Misconfigured, match=r"spec\.elasticIpPool: no address"):
            await one.machines.create(order(spec(aws_account, elasticIpPool={"publicIpv4Pool": "p"})), BOOT)
        assert not one.counts.calls

    processed(aws_server, scenario)


def test_a_token_is_of_one_object_and_fits_ec2() -> None:
    assert token_of("a") != token_of("b")
    assert len(token_of("a")) == 64
