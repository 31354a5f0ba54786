"""A class resolved is a class that can be launched with, and what it launched has not drifted."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest
from tests.clouds.aws.classes import HOME, Desk, is_ready, node_class, sat
from tests.clouds.aws.orders import claim, kinds, order, price
from tests.clouds.aws.shop import shop
from tools.aws_server import Account, AwsServer

from dovetail.clouds.aws.drift import drifted
from dovetail.clouds.aws.resolved import Boot
from dovetail.core import labels
from dovetail.core.instances import Instance
from dovetail.core.nodeclaims import NodeClaim

NAMES = ("m5.large", "c5.large", "m5.4xlarge", "m6g.large")


def launched(before: NodeClaim, machine: Instance) -> NodeClaim:
    """The claim as it is written after its launch."""
    told = MappingProxyType({**before.meta.annotations, **machine.annotations})
    return replace(before, meta=replace(before.meta, annotations=told), image_id=machine.image_id)


def test_what_a_resolved_class_launches_has_not_drifted_until_the_class_changes(
    aws_server: AwsServer, aws_account: Account
) -> None:
    price(aws_server.world, *NAMES)

    async def scenario(desk: Desk) -> None:
        assert is_ready(await desk.look(node_class(aws_account, tags={"team": "a"})))
        async with shop(aws_server) as opened:
            wanted = order(NAMES, bought_for=claim("one"))
            bought = await opened.launcher.launch(wanted, desk.resolver.resolved(desk.ref()))
            (machine,) = await opened.instances.ours()
        assert machine.tags["team"] == "a"
        assert machine.profile == desk.objects["default"]["status"]["instanceProfile"]
        held, kind = launched(wanted.claim, bought), kinds()[bought.labels[labels.INSTANCE_TYPE]]
        assert drifted(held, machine, desk.resolver.resolved(desk.ref()), kind) == ""
        await desk.look(node_class(aws_account, tags={"team": "b"}))
        assert drifted(held, machine, desk.resolver.resolved(desk.ref()), kind) == "NodeClassDrift"
        elsewhere = [{"id": aws_account.subnets["us-east-1f"]}]
        await desk.look(node_class(aws_account, tags={"team": "a"}, subnetSelectorTerms=elsewhere))
        assert drifted(held, machine, desk.resolver.resolved(desk.ref()), kind) == "SubnetDrift"

    sat(aws_server, scenario)


def test_types_of_every_size_are_launched_from_one_template_for_each_image(
    aws_server: AwsServer, aws_account: Account
) -> None:
    """S2.13."""
    price(aws_server.world, *NAMES)

    async def scenario(desk: Desk) -> None:
        await desk.look(node_class(aws_account))
        async with shop(aws_server) as opened:
            await opened.launcher.launch(order(NAMES), desk.resolver.resolved(desk.ref()))
            assert len(opened.templates) == 2, "one for each architecture"

    sat(aws_server, scenario)


@pytest.mark.parametrize(
    ("alias", "told"), [("al2023@latest", "clusterDNS"), ("bottlerocket@latest", "cluster-dns-ip")]
)
def test_nodes_are_told_where_the_name_server_is_as_soon_as_it_is_found(
    aws_server: AwsServer, aws_account: Account, alias: str, told: str
) -> None:
    """An address that is found later counts from then on."""
    address = ""

    def text(desk: Desk) -> str:
        found = desk.resolver.resolved(desk.ref())
        return found.user_data(Boot(found.images[0], kinds()["m5.large"], {}))

    async def scenario(desk: Desk) -> None:
        nonlocal address
        await desk.look(node_class(aws_account, amiSelectorTerms=[{"alias": alias}]))
        assert told not in text(desk)
        address = "10.100.0.10"
        await desk.later(600)
        assert told in text(desk)
        assert address in text(desk)

    home = replace(HOME, dns="")
    sat(aws_server, scenario, home, name_server=lambda: address)
