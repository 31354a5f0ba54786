"""Launch templates on the test server: one for each content, made once, gone when unused."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clouds.aws.orders import resolved
from tests.clouds.aws.shop import Shop, visited
from tools.aws_server import AwsServer
from tools.aws_server.world import Refuse

from dovetail.clouds.aws import calls, tags
from dovetail.clouds.aws.contents import Content, data_of
from dovetail.clouds.aws.resolved import (
    CAPACITY_BLOCK,
    ConnectionTracking,
    Disk,
    HeldReservation,
    Interface,
    MetadataService,
    Network,
    PlacementGroup,
)
from dovetail.clouds.aws.templates import PREFIX, UNUSED_SECONDS, name_of
from dovetail.clouds.port import CloudError

PLAIN = Content("ami-1", "#!/bin/sh", "on-demand")
TOLD = {"team": "a"}


async def there(shop: Shop) -> list[str]:
    return [one["LaunchTemplateName"] for one in await shop.aws.all(calls.DESCRIBE_TEMPLATES)]


def test_equal_contents_are_one_template_however_many_ask_at_once(aws_server: AwsServer) -> None:
    async def scenario(shop: Shop) -> None:
        data = data_of(PLAIN, resolved(), TOLD)
        names = await asyncio.gather(*(shop.templates.ensure(dict(data), "default") for _ in range(20)))
        assert await there(shop) == [*set(names)]
        assert shop.counts.calls["CreateLaunchTemplate"] == 1

    visited(aws_server, scenario)


def test_a_template_has_the_tags_of_its_user(aws_server: AwsServer) -> None:
    """Many an organization forbids to make what lacks them."""

    async def scenario(shop: Shop) -> None:
        await shop.templates.ensure(data_of(PLAIN, resolved(), TOLD), "default", TOLD)
        (made,) = await shop.aws.all(calls.DESCRIBE_TEMPLATES)
        held = tags.read(made["Tags"])
        assert held["team"] == "a"
        assert held[tags.NODE_CLASS] == "default"

    visited(aws_server, scenario)


def test_a_template_another_process_made_is_used(aws_server: AwsServer) -> None:
    data = data_of(PLAIN, resolved(), TOLD)

    async def first(shop: Shop) -> None:
        await shop.templates.ensure(data, "default")

    async def second(shop: Shop) -> None:
        await shop.templates.ensure(data, "default")
        assert "CreateLaunchTemplate" not in shop.counts.calls

    visited(aws_server, first)
    visited(aws_server, second)


def test_a_template_nobody_uses_is_deleted_and_one_in_use_is_not(aws_server: AwsServer) -> None:
    async def scenario(shop: Shop) -> None:
        used, unused = (data_of(Content(f"ami-{n}", "", "spot"), resolved(), TOLD) for n in (1, 2))
        name = await shop.templates.ensure(used, "default")
        await shop.templates.ensure(unused, "default")
        aws_server.world.forward(UNUSED_SECONDS - 10)
        await shop.templates.ensure(used, "default")
        aws_server.world.forward(20)
        assert await shop.templates.sweep() == 1
        assert await there(shop) == [name]

    visited(aws_server, scenario)


def test_a_template_that_could_not_be_deleted_is_tried_again_and_the_others_go(aws_server: AwsServer) -> None:
    async def scenario(shop: Shop) -> None:
        for number in (1, 2):
            await shop.templates.ensure(data_of(Content(f"ami-{number}", "", "spot"), resolved(), TOLD), "default")
        aws_server.world.forward(UNUSED_SECONDS + 1)
        aws_server.world.fail("DeleteLaunchTemplate", Refuse("UnauthorizedOperation", "not now", 403))
        with pytest.raises(CloudError):
            await shop.templates.sweep()
        assert len(await there(shop)) == 1
        assert await shop.templates.sweep() == 1
        assert await there(shop) == []

    visited(aws_server, scenario)


def test_templates_of_earlier_processes_are_adopted_and_swept(aws_server: AwsServer) -> None:
    async def first(shop: Shop) -> None:
        await shop.templates.ensure(data_of(PLAIN, resolved(), TOLD), "default")
        stranger = {"LaunchTemplateName": "theirs", "LaunchTemplateData": {"ImageId": "ami-1"}}
        await shop.aws.ask(calls.CREATE_TEMPLATE, **stranger)

    async def second(shop: Shop) -> None:
        assert await shop.templates.adopt() == 1
        aws_server.world.forward(UNUSED_SECONDS + 1)
        assert await shop.templates.sweep() == 1
        assert await there(shop) == ["theirs"]

    visited(aws_server, first)
    visited(aws_server, second)


def test_a_class_that_goes_takes_its_templates_along_and_no_others(aws_server: AwsServer) -> None:
    async def scenario(shop: Shop) -> None:
        await shop.templates.ensure(data_of(PLAIN, resolved(), TOLD), "going")
        kept = await shop.templates.ensure(data_of(Content("ami-2", "", "spot"), resolved(), TOLD), "staying")
        assert await shop.templates.remove_class("going") == 1
        assert await there(shop) == [kept]

    visited(aws_server, scenario)


def test_a_template_somebody_deleted_is_made_again_once_forgotten(aws_server: AwsServer) -> None:
    async def scenario(shop: Shop) -> None:
        data = data_of(PLAIN, resolved(), TOLD)
        name = await shop.templates.ensure(data, "default")
        await shop.aws.ask(calls.DELETE_TEMPLATE, LaunchTemplateName=name)
        shop.templates.forget(name)
        await shop.templates.ensure(data, "default")
        assert await there(shop) == [name]

    visited(aws_server, scenario)


def test_an_answer_lost_while_making_one_does_no_harm(aws_server: AwsServer) -> None:
    aws_server.world.lose_answer("CreateLaunchTemplate")

    async def scenario(shop: Shop) -> None:
        name = await shop.templates.ensure(data_of(PLAIN, resolved(), TOLD), "default")
        assert await there(shop) == [name]

    visited(aws_server, scenario)


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=5))
def test_a_name_depends_on_the_content_and_not_on_its_order(data: dict[str, str]) -> None:
    backwards = dict(reversed(list(data.items())))
    assert name_of(data) == name_of(backwards)
    assert name_of({**data, "more": "x"}) != name_of(data)
    assert name_of(data).startswith(PREFIX)
    assert len(name_of(data)) <= 128


# ---- what stands in one


def test_a_machine_opts_out_of_reservations_unless_it_names_one() -> None:
    wish = data_of(PLAIN, resolved(), TOLD)["CapacityReservationSpecification"]
    assert wish == {"CapacityReservationPreference": "none"}
    assert "CapacityReservationSpecification" not in data_of(PLAIN, replace(resolved(), opts_out=False), TOLD)
    named = Content("ami-1", "", "reserved", HeldReservation("cr-1", "m5.large", "us-east-1a"))
    data = data_of(named, resolved(), TOLD)
    assert data["CapacityReservationSpecification"] == {
        "CapacityReservationPreference": "capacity-reservations-only",
        "CapacityReservationTarget": {"CapacityReservationId": "cr-1"},
    }
    assert "InstanceMarketOptions" not in data


def test_blocks_and_loans_are_bought_on_markets_of_their_own() -> None:
    block = Content("ami-1", "", "reserved", HeldReservation("cr-1", "p5.48xlarge", "a", CAPACITY_BLOCK))
    loan = Content("ami-1", "", "reserved", HeldReservation("cr-1", "m5.large", "a", interruptible=True))
    assert data_of(block, resolved(), TOLD)["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
    wanted = {"MarketType": "interruptible-capacity-reservation"}
    assert data_of(loan, resolved(), TOLD)["InstanceMarketOptions"] == wanted


def test_everything_a_class_says_stands_in_the_template(aws_server: AwsServer) -> None:
    """EC2's model checks the names: the SDK refuses to send a field it does not know."""
    whole = resolved(
        disks=(Disk("/dev/xvda", 20, "gp3", 3000, 125, 200, "snap-1", "key", True, True),),
        metadata=MetadataService("enabled", "enabled", 2, "optional"),
        network=Network(public_address=False, ipv6=True, prefixes=2, tracking=ConnectionTracking(60, 60, 30)),
        placement_group=PlacementGroup("pg-1", strategy="partition", partitions=7),
        detailed_monitoring=True,
        nested_virtualization="enabled",
        enclaves=True,
    )
    content = Content("ami-1", "hello", "spot", tenancy="dedicated", partition=3)
    data = data_of(content, whole, TOLD)

    async def scenario(shop: Shop) -> None:
        await shop.templates.ensure(data, "default")

    visited(aws_server, scenario)
    assert base64.b64decode(data["UserData"]) == b"hello"
    assert data["Placement"] == {"Tenancy": "dedicated", "GroupId": "pg-1", "PartitionNumber": 3}
    assert data["MetadataOptions"]["InstanceMetadataTags"] == "disabled"
    assert [one["ResourceType"] for one in data["TagSpecifications"]] == ["network-interface", "spot-instances-request"]
    (nic,) = data["NetworkInterfaces"]
    assert nic["Groups"] == ["sg-1"]
    assert (nic["PrimaryIpv6"], nic["Ipv6AddressCount"], nic["Ipv6PrefixCount"]) == (True, 1, 2)
    assert nic["AssociatePublicIpAddress"] is False
    assert nic["ConnectionTrackingSpecification"]["UdpTimeout"] == 30


def test_efas_are_as_many_as_the_type_has_each_on_its_own_card() -> None:
    nics = data_of(Content("ami-1", "", "on-demand", efas=3), resolved(), TOLD)["NetworkInterfaces"]
    found = [(one["NetworkCardIndex"], one["DeviceIndex"], one["InterfaceType"]) for one in nics]
    assert found == [(0, 0, "efa"), (1, 1, "efa"), (2, 1, "efa")]


def test_interfaces_that_a_class_names_are_taken_as_they_are() -> None:
    tracked = Network((Interface(0, 0), Interface(1, 1, True)), tracking=ConnectionTracking(tcp_established=60))
    plain, efa = data_of(PLAIN, resolved(network=tracked), TOLD)["NetworkInterfaces"]
    assert plain["InterfaceType"] == "interface"
    assert "ConnectionTrackingSpecification" in plain
    assert (efa["InterfaceType"], efa["NetworkCardIndex"], efa["DeviceIndex"]) == ("efa-only", 1, 1)
    assert "ConnectionTrackingSpecification" not in efa


def test_nothing_of_one_claim_stands_in_a_template() -> None:
    """S2.13: claims that differ in name only share it."""
    data: dict[str, Any] = data_of(PLAIN, resolved(), TOLD)
    assert "nodeclaim" not in str(data)
