"""Machines that were bought: looked at in batches, found, ended."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.clouds.aws.orders import claim, kinds, order, resolved
from tests.clouds.aws.shop import SOON, Shop, visited
from tools.aws_server import Account, AwsServer
from tools.aws_server.world import Refuse

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.described import EFA, Machine, id_of, instance_of, of_wire
from dovetail.clouds.aws.ends import Ends
from dovetail.clouds.aws.instances import YOUNG_SECONDS
from dovetail.clouds.port import CloudError, NotFound, Unavailable
from dovetail.core import labels
from dovetail.core.resources import Resources


async def bought(shop: Shop, account: Account, count: int = 3) -> list[str]:
    orders = [order(bought_for=claim(f"general-{number}")) for number in range(count)]
    found = await asyncio.gather(*(shop.launcher.launch(one, resolved(account)) for one in orders))
    return [id_of(one.provider_id) for one in found]


def test_many_looks_are_one_call(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(shop: Shop) -> None:
        ids = await bought(shop, aws_account, 10)
        found = await asyncio.gather(*(shop.instances.get(one) for one in ids))
        assert [one.id for one in found] == ids
        assert shop.counts.calls["DescribeInstances"] == 1

    visited(aws_server, scenario)


def test_an_unknown_machine_costs_only_itself(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(shop: Shop) -> None:
        (known,) = await bought(shop, aws_account, 1)
        found, missing = await asyncio.gather(
            shop.instances.get(known), shop.instances.get("i-0"), return_exceptions=True
        )
        assert isinstance(found, Machine)
        assert isinstance(missing, NotFound)

    visited(aws_server, scenario)


def test_many_ends_are_one_call_and_an_unknown_one_costs_only_itself(
    aws_server: AwsServer, aws_account: Account
) -> None:
    aws_server.world.waits.shutdown = 60.0

    async def scenario(shop: Shop) -> None:
        ids = await bought(shop, aws_account)
        assert set(await asyncio.gather(*(shop.instances.terminate(one) for one in ids[:2]))) == {"shutting-down"}
        assert shop.counts.calls["TerminateInstances"] == 1
        gone, ended = await asyncio.gather(
            shop.instances.terminate("i-0"), shop.instances.terminate(ids[2]), return_exceptions=True
        )
        assert isinstance(gone, NotFound)
        assert ended == "shutting-down"
        assert all(one.is_leaving for one in await shop.instances.ours())
        aws_server.world.forward(61)
        assert await shop.instances.ours() == ()
        with pytest.raises(NotFound):
            await shop.instances.get(ids[0])

    visited(aws_server, scenario)


def test_a_machine_that_may_not_be_ended_keeps_no_other_running(aws_server: AwsServer, aws_account: Account) -> None:
    """EC2 refuses a whole batch for one that is protected from being ended."""

    async def scenario(shop: Shop) -> None:
        ids = await bought(shop, aws_account)
        aws_server.world.fail(
            "TerminateInstances", Refuse("OperationNotPermitted", "i-1 may not be terminated", 400), 2
        )
        ends = await asyncio.gather(*(shop.instances.terminate(one) for one in ids), return_exceptions=True)
        assert [type(one).__name__ for one in ends].count("str") == 2
        assert next(str(one) for one in ends if isinstance(one, CloudError)).endswith("may not be terminated")

    visited(aws_server, scenario)


class Silent:
    """EC2 as it answers when it ends some of a batch and says nothing of the others."""

    def __init__(self, *answers: list[str]) -> None:
        self.asked: list[list[str]] = []
        self._answers = list(answers)

    async def ask(self, call: Any, **request: Any) -> dict[str, Any]:
        self.asked.append(request["InstanceIds"])
        state = {"CurrentState": {"Name": "shutting-down"}}
        return {"TerminatingInstances": [{"InstanceId": one, **state} for one in self._answers.pop(0)]}


def test_a_machine_an_answer_leaves_out_is_not_taken_for_gone() -> None:
    """It is asked for alone, and if EC2 says nothing of it then either, it may well be running."""

    async def scenario() -> list[Any]:
        aws = Silent(["i-1"], ["i-2"], [])
        ends = Ends(aws, SOON)  # type: ignore[arg-type]
        found = await asyncio.gather(*(ends.terminate(f"i-{one}") for one in (1, 2, 3)), return_exceptions=True)
        await ends.close()
        assert aws.asked == [["i-1", "i-2", "i-3"], ["i-2"], ["i-3"]]
        return list(found)

    first, second, third = asyncio.run(scenario())
    assert (first, second) == ("shutting-down", "shutting-down")
    assert isinstance(third, Unavailable)


def test_somebody_elses_machine_is_not_ours(aws_server: AwsServer, aws_account: Account) -> None:
    from moto.ec2.models import ec2_backends

    backend = ec2_backends["123456789012"]["us-east-1"]
    theirs = {"karpenter.sh/nodepool": "general", "eks:eks-cluster-name": "other"}
    image = aws_account.images["al2023", "x86_64"]
    made = backend.run_instances(image, 1, None, [], is_instance_type_default=True, tags={"instance": theirs})

    async def scenario(shop: Shop) -> None:
        assert await shop.instances.ours() == ()
        with pytest.raises(NotFound):
            await shop.instances.get(made.instances[0].id)

    visited(aws_server, scenario)


def test_a_machine_just_bought_is_there_though_describes_are_behind(
    aws_server: AwsServer, aws_account: Account
) -> None:
    aws_server.world.waits.seen = 3600.0

    async def scenario(shop: Shop) -> None:
        (known,) = await bought(shop, aws_account, 1)
        assert (await shop.instances.get(known)).id == known
        assert [one.id for one in await shop.instances.ours()] == [known]
        aws_server.world.forward(YOUNG_SECONDS + 1)
        assert await shop.instances.ours() == ()
        with pytest.raises(NotFound):
            await shop.instances.get(known)

    visited(aws_server, scenario)


def test_a_young_machine_that_ec2_says_is_terminated_is_gone(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(shop: Shop) -> None:
        (known,) = await bought(shop, aws_account, 1)
        from moto.ec2.models import ec2_backends
        from tools.aws_server.lives import end, everyone

        end(next(iter(everyone(ec2_backends["123456789012"]["us-east-1"]))))
        with pytest.raises(NotFound):
            await shop.instances.get(known)

    visited(aws_server, scenario)


def test_a_young_machine_that_cannot_be_ended_yet_is_tried_again(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(shop: Shop) -> None:
        (known,) = await bought(shop, aws_account, 1)
        aws_server.world.fail("TerminateInstances", Refuse("InvalidInstanceID.NotFound", "who?", 400))
        with pytest.raises(Unavailable, match="not heard yet"):
            await shop.instances.terminate(known)
        await shop.instances.terminate(known)

    visited(aws_server, scenario)


def test_machines_are_tagged_and_restarted(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(shop: Shop) -> None:
        ids = await bought(shop, aws_account, 2)
        await shop.instances.tag(ids[0], {"karpenter.sh/nodeclaim": "general-0", "Name": "ip-10-0-0-1"})
        assert (await shop.instances.get(ids[0])).claims == ("general-0",)
        assert [one.id for one in await shop.instances.of_claim("general-0")] == ids
        assert [one.id for one in await shop.instances.of_claim("general-1")] == ids[1:]
        await shop.instances.reboot(ids[1])
        assert aws_server.world.lives[ids[1]].boots == 1

    visited(aws_server, scenario)


# ---- read


def wire(**more: Any) -> dict[str, Any]:
    return {
        "InstanceId": "i-1",
        "InstanceType": "m5.large",
        "State": {"Name": "running"},
        "Placement": {"AvailabilityZone": "us-east-1a", "Tenancy": "default"},
        **more,
    }


def test_a_provider_id_is_a_zone_and_an_instance() -> None:
    assert of_wire(wire()).provider_id == "aws:///us-east-1a/i-1"
    assert id_of("aws:///us-east-1a/i-0abc") == "i-0abc"
    for bad in ("", "kwok://x", "aws:///us-east-1a/", "i-1"):
        with pytest.raises(NotFound):
            id_of(bad)


@pytest.mark.parametrize(
    ("more", "capacity_type", "reservation"),
    [
        ({}, "on-demand", ""),
        ({"SpotInstanceRequestId": "sir-1"}, "spot", ""),
        ({"CapacityReservationId": "cr-1"}, "on-demand", ""),
        (
            {
                "CapacityReservationId": "cr-1",
                "CapacityReservationSpecification": {"CapacityReservationPreference": "capacity-reservations-only"},
            },
            "reserved",
            "cr-1",
        ),
    ],
)
def test_a_machine_is_reserved_only_if_it_named_its_reservation(
    more: dict[str, Any], capacity_type: str, reservation: str
) -> None:
    found = of_wire(wire(**more))
    assert (found.capacity_type, found.reservation_id) == (capacity_type, reservation)


def test_a_type_nobody_knows_is_still_a_machine() -> None:
    found = instance_of(of_wire(wire(InstanceType="m99.large")), None)
    assert found.labels[labels.INSTANCE_TYPE] == "m99.large"
    assert not found.capacity


def test_only_a_machine_that_was_made_with_efa_offers_it() -> None:
    """A type that may have such interfaces has none unless a pod asked for them."""
    kind = kinds()["m5.large"]
    able = replace(kind, spec=replace(kind.spec, capacity=Resources({**kind.capacity, EFA: 4})))
    plain, with_it = (
        instance_of(of_wire(wire(NetworkInterfaces=[{"InterfaceType": one}])), able) for one in ("interface", "efa")
    )
    assert EFA not in plain.capacity
    assert EFA not in plain.allocatable
    assert with_it.capacity.of(EFA) == 4


def test_labels_come_from_the_type_and_the_machine() -> None:
    tags = [{"Key": "karpenter.sh/nodepool", "Value": "general"}, {"Key": "karpenter.sh/nodeclaim", "Value": "one"}]
    placed = {"AvailabilityZone": "us-east-1a", "GroupId": "pg-1", "PartitionNumber": 2, "Tenancy": "dedicated"}
    found = instance_of(of_wire(wire(Placement=placed, Tags=tags)), kinds()["m5.large"])
    told = found.labels
    assert (found.claim, found.pool) == ("one", "general")
    assert told[aws_labels.FAMILY] == "m5"
    assert told[labels.ARCH] == "amd64"
    assert told[aws_labels.TENANCY] == "dedicated"
    assert (told[aws_labels.PLACEMENT_GROUP_ID], told[aws_labels.PLACEMENT_GROUP_PARTITION]) == ("pg-1", "2")
    assert aws_labels.GPU_NAME not in told
