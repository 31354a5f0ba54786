"""What the cloud of AWS adds to its parts: who is told of a miss, what is counted, whose a machine is, what goes on."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from moto.sqs.models import sqs_backends
from tests.clouds.aws.classes import HOME
from tests.clouds.aws.office import Office, visited
from tests.clouds.aws.orders import CLASS, claim, order
from tests.clouds.aws.selling import region
from tests.contract.cloud.worlds import returned
from tools.aws_server import Account, AwsServer
from tools.aws_server.parameters import ACCOUNT
from tools.aws_server.reservations import reserve
from tools.aws_server.world import Refuse

from dovetail.clouds.aws import opening
from dovetail.clouds.aws.access import Access
from dovetail.clouds.aws.calls import Call
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.cloud import AwsCloud
from dovetail.clouds.aws.described import id_of
from dovetail.clouds.aws.options import Options
from dovetail.clouds.aws.region import of_any_account
from dovetail.clouds.port import Cloud, Misconfigured, NoCapacity, NotFound, Notice
from dovetail.core import labels
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.errors import BadInput
from dovetail.core.nodepools import NodePool

A = "us-east-1a"


def test_it_is_a_cloud(aws_server: AwsServer, aws_account: Account):
    async def scenario(office: Office) -> None:
        cloud: Cloud = office.cloud
        assert cloud.name == "aws"
        assert [one.name for one in cloud.node_class_kinds] == ["EC2NodeClass"]

    visited(aws_server, aws_account, scenario)


def test_every_pool_that_had_none_is_told_with_its_zone(aws_server: AwsServer, aws_account: Account):
    async def scenario(office: Office) -> None:
        aws_server.world.sell_out("on-demand", "m5.large", A)
        await office.cloud.launch(order())
        (missed,) = [one for one in office.heard.misses if one.zone == A]
        assert (missed.capacity_type, missed.reason) == (labels.ON_DEMAND, "InsufficientInstanceCapacity")
        assert "create_fleet" in office.heard.batches

    visited(aws_server, aws_account, scenario)


def test_a_subnet_without_addresses_closes_its_zone_in_the_market(aws_server: AwsServer, aws_account: Account):
    async def scenario(office: Office) -> None:
        pool = NodePool("general", CLASS)
        before = office.cloud.market.offerings_generation(pool)
        aws_server.world.sell_out("on-demand", "m5.large", A, code="InsufficientFreeAddressesInSubnet")
        with pytest.raises(NoCapacity):
            await office.cloud.launch(order(zones=(A,)))
        rows = office.cloud.market.offerings(pool)["m5.large"]
        assert not [row for row in rows if row.zone == A and row.available]
        assert [row for row in rows if row.zone != A and row.available]
        assert office.cloud.market.offerings_generation(pool) != before

    visited(aws_server, aws_account, scenario)


def test_what_is_reserved_is_counted_once_by_its_launch_and_its_end(aws_server: AwsServer, aws_account: Account):
    held = reserve("m5.large", A, 2)
    known = Reservation(held, "m5.large", A, 2, 2)

    async def scenario(office: Office) -> None:
        wanted = order(capacity=(labels.RESERVED,), reservations=(known,))
        bought = await office.cloud.launch(wanted)
        await office.cloud.launch(wanted)
        assert office.cloud.counts.left(held) == 1
        ended = replace(claim(), provider_id=bought.provider_id)
        await returned(office.cloud, ended)
        assert office.cloud.counts.left(held) == 2
        with pytest.raises(NotFound):
            await office.cloud.terminate(ended)
        assert office.cloud.counts.left(held) == 2

    visited(aws_server, aws_account, scenario, capacityReservationSelectorTerms=[{"id": held}])


def test_machines_of_one_fleet_are_each_said_to_be_somebodys(aws_server: AwsServer, aws_account: Account):
    """Their tags name all of its claims. Whoever collects what nobody claims must not take one that was just bought."""

    async def scenario(office: Office) -> None:
        names = ("general-a", "general-b", "general-c")
        await asyncio.gather(*(office.cloud.launch(order(bought_for=claim(name))) for name in names))
        assert aws_server.world.calls["CreateFleet"] == 1
        assert {one.claim for one in await office.cloud.instances()} == set(names)
        again = AwsCloud(office.aws, of_any_account(region()), Options(HOME, lambda: "1.35"))
        again.resume([claim(name) for name in names])
        assert all(one.claim in names for one in await again.instances())
        await again.close()

    visited(aws_server, aws_account, scenario)


def test_a_machine_that_is_being_bought_is_waited_for_before_its_claim_ends(
    aws_server: AwsServer, aws_account: Account
):
    async def scenario(office: Office) -> None:
        buying = asyncio.create_task(office.cloud.launch(order()))
        await asyncio.sleep(0)
        await returned(office.cloud, claim())
        bought = await buying
        with pytest.raises(NotFound):
            await office.cloud.get(bought.provider_id)

    visited(aws_server, aws_account, scenario)


def test_drift_is_judged_by_the_last_look_at_all_machines(aws_server: AwsServer, aws_account: Account):
    async def scenario(office: Office) -> None:
        bought = await office.cloud.launch(order())
        held = replace(claim(annotations=dict(bought.annotations)), provider_id=bought.provider_id)
        assert await office.cloud.drifted(held) == ""
        await office.cloud.instances()
        calls = aws_server.world.calls["DescribeInstances"]
        await office.look(securityGroupSelectorTerms=[{"id": aws_account.security_groups[0]}])
        assert await office.cloud.drifted(held) == "SecurityGroupDrift"
        assert aws_server.world.calls["DescribeInstances"] == calls

    visited(aws_server, aws_account, scenario)


def test_a_machine_whose_reservation_ended_since_the_last_look_has_not_drifted(
    aws_server: AwsServer, aws_account: Account
):
    """S3.11: it is on demand by now, and is not moved for that."""

    async def scenario(office: Office) -> None:
        bought = await office.cloud.launch(order())
        held = replace(claim(annotations=dict(bought.annotations)), provider_id=bought.provider_id)
        await office.cloud.instances()
        looked = office.cloud._looked
        office.cloud._looked = {name: replace(one, reservation_id="cr-ended") for name, one in looked.items()}
        assert await office.cloud.drifted(held) == ""

    visited(aws_server, aws_account, scenario)


def test_who_listens_hears_of_notices_and_machines_are_known_by_their_ids(aws_server: AwsServer, aws_account: Account):
    async def scenario(office: Office) -> None:
        heard: list[Notice] = []
        office.cloud.on_notice(heard.append)
        bought = await office.cloud.launch(order())
        office.cloud.tell(Notice(bought.provider_id))
        assert [one.provider_id for one in heard] == [bought.provider_id]
        assert office.cloud.provider_id(id_of(bought.provider_id)) == bought.provider_id
        assert office.cloud.provider_id("i-0123") is None

    visited(aws_server, aws_account, scenario)


def test_a_message_of_the_queue_is_a_notice_of_the_machine_it_names(aws_server: AwsServer, aws_account: Account):
    async def scenario(office: Office) -> None:
        heard = asyncio.get_running_loop().create_future()
        office.cloud.on_notice(heard.set_result)
        bought = await office.cloud.launch(order())
        queues = sqs_backends[ACCOUNT]["us-east-1"]
        queues.create_queue("events", {})
        detail = {"instance-id": id_of(bought.provider_id), "instance-action": "terminate"}
        kind = "EC2 Spot Instance Interruption Warning"
        told = {"version": "0", "id": "1", "detail-type": kind, "source": "aws.ec2", "region": "us-east-1"}
        about = {"account": ACCOUNT, "time": "2026-11-15T00:00:00Z", "resources": []}
        queues.send_message("events", json.dumps({**told, **about, "detail": detail}))
        listening = asyncio.create_task(office.cloud._listened())
        await asyncio.sleep(0.05)
        assert not heard.done(), "nobody knows yet whose machines there are"
        office.cloud.resume(())
        notice = await asyncio.wait_for(heard, 10)
        listening.cancel()
        assert notice.provider_id == bought.provider_id

    visited(aws_server, aws_account, scenario, queue="events")


def test_templates_that_cannot_be_swept_are_swept_later(aws_server: AwsServer, aws_account: Account):
    async def scenario(office: Office) -> None:
        await office.cloud.launch(order())
        aws_server.world.fail("DescribeLaunchTemplates", Refuse())
        sweeping = asyncio.create_task(office.cloud._swept())
        while aws_server.world.calls["DeleteLaunchTemplate"] < 1:
            aws_server.world.forward(400)
            await asyncio.sleep(0.01)
        sweeping.cancel()

    visited(aws_server, aws_account, scenario)


def test_it_opens_with_what_is_bundled_and_says_what_is_not_allowed(aws_server: AwsServer):
    async def scenario() -> None:
        async with Aws(Access("us-east-1", aws_server.url)) as aws:
            found = await opening.opened(aws)
            assert found.listing.hardware
            assert not [zone for zone in found.zones if zone.zone_id], "ids are another thing in every account"
        aws_server.world.fail_always("*", Refuse("UnauthorizedOperation", "You are not authorized", 403))
        async with Aws(Access("us-east-1", aws_server.url)) as aws:
            with pytest.raises(BadInput, match="DescribeInstanceTypes"):
                await opening.opened(aws)

    asyncio.run(scenario())


def test_a_machine_that_could_not_be_ended_is_told_with_its_zone(aws_server: AwsServer, aws_account: Account):
    async def scenario(office: Office) -> None:
        bought = await office.cloud.launch(order(zones=(A,)))
        held = replace(claim(), provider_id=bought.provider_id)
        aws_server.world.fail_always("TerminateInstances", Refuse("UnauthorizedOperation", "not you", 403))
        with pytest.raises(Misconfigured, match="TerminateInstances"):
            await office.cloud.terminate(held)
        assert office.heard.stayed == [A]
        aws_server.world.fail_always("TerminateInstances", None)
        await returned(office.cloud, held)
        assert office.heard.stayed == [A], "what is gone could be ended"

    visited(aws_server, aws_account, scenario)


def test_the_size_of_user_data_is_known_of_every_class_that_can_be_written(aws_server: AwsServer, aws_account: Account):
    async def scenario(office: Office) -> None:
        ((name, size),) = office.cloud.node_classes.resolver.user_data_sizes()
        assert name == "default"
        await office.look(userData="#!/bin/sh\n" + "x" * 1000)
        assert office.cloud.node_classes.resolver.user_data_sizes()[0][1] > size + 1000
        await office.look(userData="neither: this\nnor that")
        assert office.cloud.node_classes.resolver.user_data_sizes() == []

    visited(aws_server, aws_account, scenario)


def test_a_class_is_tried_with_a_type_the_market_says_it_can_launch(
    aws_server: AwsServer, aws_account: Account, monkeypatch: pytest.MonkeyPatch
):
    tried: list[str] = []
    may = Aws.may

    async def recorded(aws: Aws, call: Call, **request: Any) -> None:
        tried.append(request.get("InstanceType", ""))
        await may(aws, call, **request)

    async def scenario(office: Office) -> None:
        assert tried == ["", "c5.xlarge"]

    monkeypatch.setattr(Aws, "may", recorded)
    image = aws_account.images["al2023", "x86_64"]
    spec = {"amiFamily": "AL2023", "amiSelectorTerms": [{"id": image}], "enclaveOptions": {"enabled": True}}
    visited(aws_server, aws_account, scenario, probes=True, **spec)
