"""Single machines when EC2 says no, or nothing: each refusal means one thing for the Machine (R13, R14, R38)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.clouds.aws.single import BOOT, ZONE, Process, backend, living, order, processed, sought, spec
from tools.aws_server import Account, AwsServer
from tools.aws_server.reservations import reserve
from tools.aws_server.world import Nonsense, Refuse

from dovetail.clouds import port
from dovetail.clouds.machines import refusal
from dovetail.core.machines.infra_objects import Kind, Purchase, Sent

DENIED = "You are not authorized to perform this operation."


def refused(server: AwsServer, purchase: Purchase, kind: type[port.CloudError]) -> port.CloudError:
    """What making it is refused with; nothing is made."""
    caught: list[port.CloudError] = []

    async def scenario(one: Process) -> None:
        with pytest.raises(port.CloudError) as told:
            await one.machines.create(purchase, BOOT)
        caught.append(told.value)

    processed(server, scenario)
    assert isinstance(caught[0], kind), caught[0]
    return caught[0]


@pytest.mark.parametrize(
    ("code", "error", "kind"),
    [
        ("InsufficientInstanceCapacity", port.NoCapacity, Kind.CAPACITY),
        ("SpotMaxPriceTooLow", port.NoCapacity, Kind.CAPACITY),
        ("UnfulfillableCapacity", port.NoCapacity, Kind.CAPACITY),
        ("InsufficientFreeAddressesInSubnet", port.NoCapacity, Kind.CAPACITY),
        ("MaxSpotInstanceCountExceeded", port.QuotaExceeded, Kind.CAPACITY),
        ("VcpuLimitExceeded", port.QuotaExceeded, Kind.CAPACITY),
        ("InstanceLimitExceeded", port.QuotaExceeded, Kind.CAPACITY),
        ("UnauthorizedOperation", port.Misconfigured, Kind.PERSISTENT),
        ("AuthFailure.ServiceLinkedRoleCreationNotPermitted", port.Misconfigured, Kind.PERSISTENT),
        ("OptInRequired", port.Misconfigured, Kind.PERSISTENT),
        ("ExpiredToken", port.Misconfigured, Kind.PERSISTENT),
        ("InvalidAMIID.NotFound", port.Misconfigured, Kind.PERSISTENT),
        ("InvalidParameterValue", port.Misconfigured, Kind.PERSISTENT),
        ("InvalidKeyPair.NotFound", port.Misconfigured, Kind.PERSISTENT),
        ("InvalidPlacementGroup.Unknown", port.Misconfigured, Kind.PERSISTENT),
        ("Unsupported", port.Misconfigured, Kind.PERSISTENT),
        ("RequestLimitExceeded", port.Throttled, Kind.TRANSIENT),
        ("InternalError", port.Unavailable, Kind.TRANSIENT),
        ("NobodyHasHeardOfThis", port.CloudError, Kind.TRANSIENT),
    ],
)
def test_R38_every_refusal_of_ec2_means_one_thing_for_the_machine(
    aws_server: AwsServer, aws_account: Account, code: str, error: type[port.CloudError], kind: Kind
) -> None:
    aws_server.world.fail_always("RunInstances", Refuse(code, DENIED, 400))
    told = refused(aws_server, order(spec(aws_account), price=""), error)
    assert refusal(told).kind is kind
    assert code in str(told)
    assert living(aws_account) == []


@pytest.mark.parametrize("code", ["RequestExpired", "UnauthorizedOperation", "InvalidPlacementGroup.Unknown"])
def test_R10_a_no_to_an_order_says_nothing_of_the_same_one_whose_answer_was_lost(
    aws_server: AwsServer, aws_account: Account, code: str
) -> None:
    """EC2 is asked twice for one order; the first time it made the instance."""
    aws_server.world.fail("RunInstances", Refuse(code, DENIED, 400))
    plain = refused(aws_server, order(spec(aws_account)), port.Misconfigured)
    assert refusal(plain, Sent.NO).sent is Sent.NO
    aws_server.world.lose_answer("RunInstances")
    aws_server.world.fail("RunInstances", Refuse(code, DENIED, 400))
    late = refused(aws_server, order(spec(aws_account)), port.Misconfigured)
    assert (refusal(late, Sent.NO).kind, refusal(late, Sent.NO).sent) == (Kind.PERSISTENT, None)
    assert len(living(aws_account)) == 1


def test_R38_a_bid_below_the_market_is_told_with_both_prices_and_is_met_when_the_market_falls(
    aws_server: AwsServer, aws_account: Account
) -> None:
    aws_server.world.spot["m5.large", ZONE] = 0.0383
    asked = order(spec(aws_account), price="0.01")
    told = refused(aws_server, asked, port.NoCapacity)
    assert "0.01" in str(told)
    assert "0.0383" in str(told)
    aws_server.world.spot["m5.large", ZONE] = 0.009

    async def scenario(one: Process) -> None:
        assert (await one.machines.create(asked, BOOT)).interruptible

    processed(aws_server, scenario)


def test_R4_R14_a_spot_pool_without_stock_is_no_reason_to_buy_on_demand(
    aws_server: AwsServer, aws_account: Account
) -> None:
    aws_server.world.sell_out("spot")
    told = refused(aws_server, order(spec(aws_account), price=""), port.NoCapacity)
    assert refusal(told).kind is Kind.CAPACITY
    assert living(aws_account) == []


def full_subnet(account: Account, cidr: str, **tags: str) -> str:
    """Sixteen addresses, of which EC2 keeps five."""
    made = account.add_subnet(ZONE, cidr, tags)
    held = backend(account).subnets[ZONE][made]
    for _ in range(11):
        backend(account).create_network_interface(held, held.get_available_subnet_ip(None))
    return made


def test_a_full_subnet_is_want_of_capacity(aws_server: AwsServer, aws_account: Account) -> None:
    full = full_subnet(aws_account, "10.0.255.0/28")
    told = refused(aws_server, order(spec(aws_account, subnet={"id": full})), port.NoCapacity)
    assert "not enough free addresses" in str(told)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"ami": {"id": "ami-00000000"}}, "ami-00000000"),
        ({"instanceType": "m5.tiny"}, "m5.tiny"),
        ({"subnet": {"id": "subnet-0"}}, "subnet-0"),
        ({"additionalSecurityGroups": [{"id": "sg-0"}]}, "sg-0"),
        ({"iamInstanceProfile": "nobody"}, "nobody"),
        ({"sshKeyName": "lost"}, "lost"),
        ({"placementGroupName": "none"}, "none"),
        ({"networkInterfaces": ["eni-0"], "subnet": None}, "eni-0"),
    ],
)
def test_R38_what_is_not_there_is_named_and_the_machine_fails(
    aws_server: AwsServer, aws_account: Account, more: dict[str, Any], told: str
) -> None:
    said = refused(aws_server, order(spec(aws_account, **more)), port.Misconfigured)
    assert told in str(said)
    assert refusal(said).kind is Kind.PERSISTENT


def test_a_type_that_the_zone_never_has_fails_the_machine_at_once(aws_server: AwsServer, aws_account: Account) -> None:
    """On a market of many pools it would be want of capacity; here nothing else would be chosen (R7)."""
    asked = spec(aws_account, instanceType="m5.large", subnet={"id": aws_account.subnets["us-east-1e"]})
    told = refused(aws_server, order({**asked, "instanceType": "c7g.large"}, zone="us-east-1e"), port.Misconfigured)
    assert refusal(told).kind is Kind.PERSISTENT


def test_throttles_are_waited_out(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.throttle("RunInstances", 3)

    async def scenario(one: Process) -> None:
        await one.machines.create(order(spec(aws_account)), BOOT)
        assert one.counts.calls["RunInstances"] == 4

    processed(aws_server, scenario)
    assert len(living(aws_account)) == 1


@pytest.mark.parametrize("action", ["DescribeInstances", "TerminateInstances"])
def test_an_ec2_that_talks_nonsense_is_asked_again_later_and_nothing_is_taken_for_gone(
    aws_server: AwsServer, aws_account: Account, action: str
) -> None:
    async def scenario(one: Process) -> None:
        made = await one.machines.create(order(spec(aws_account)), BOOT)
        aws_server.world.fail_always(action, Nonsense())
        with pytest.raises(port.Unavailable):
            await one.machines.delete(sought(provider_id=made.provider_id))
        assert len(living(aws_account)) == 1
        aws_server.world.fail_always(action, None)
        await one.machines.delete(sought(provider_id=made.provider_id))

    processed(aws_server, scenario)
    assert living(aws_account) == []


def test_a_lost_answer_to_a_termination_does_no_harm(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.lose_answer("TerminateInstances", 9)

    async def scenario(one: Process) -> None:
        await one.machines.create(order(spec(aws_account)), BOOT)
        with pytest.raises(port.Unavailable):
            await one.machines.delete(sought())
        with pytest.raises(port.NotFound):
            await one.machines.delete(sought())

    processed(aws_server, scenario)
    assert living(aws_account) == []


# ------------------------------------------------------------------------------------------------ reservations


def test_a_machine_comes_out_of_the_reservation_it_names_and_of_no_other(
    aws_server: AwsServer, aws_account: Account
) -> None:
    held = reserve("m5.large", ZONE, 1)
    asked = spec(aws_account, capacityReservationId=held)

    async def scenario(one: Process) -> None:
        await one.machines.create(order(asked), BOOT)
        with pytest.raises(port.NoCapacity, match="reservation"):
            await one.machines.create(order(asked, "second"), BOOT)

    processed(aws_server, scenario)
    assert [made.capacity_reservation_id for made in living(aws_account)] == [held]


# ------------------------------------------------------------------------------------------------ where it stands


def tagged(account: Account, zone: str, cidr: str, **tags: str) -> str:
    keys = {"kubernetes.io/cluster/c": "shared"} | {
        f"sigs.k8s.io/cluster-api-provider-aws/{key}": value for key, value in tags.items()
    }
    return account.add_subnet(zone, cidr, keys)


def stands_in(server: AwsServer, purchase: Purchase) -> str:
    async def scenario(one: Process) -> None:
        await one.machines.create(purchase, BOOT)

    processed(server, scenario)
    return str(server.world.runs[-1]["NetworkInterfaces"][0]["SubnetId"])


def test_without_a_subnet_one_of_the_clusters_own_in_the_zone_is_taken(
    aws_server: AwsServer, aws_account: Account
) -> None:
    tagged(aws_account, "us-east-1b", "10.0.250.0/24")
    private = tagged(aws_account, ZONE, "10.0.251.0/24", role="private")
    public = tagged(aws_account, ZONE, "10.0.252.0/24", role="public")
    asked = spec(aws_account, subnet=None)
    assert stands_in(aws_server, order(asked)) == private
    assert stands_in(aws_server, order({**asked, "publicIP": True}, "p")) == public


def test_a_subnet_is_found_by_filters_and_one_without_addresses_comes_last(
    aws_server: AwsServer, aws_account: Account
) -> None:
    full = [full_subnet(aws_account, f"10.0.255.{16 * number}/28", use="workers") for number in range(4)]
    free = aws_account.add_subnet(ZONE, "10.0.250.0/24", {"use": "workers"})
    asked = spec(aws_account, subnet={"filters": [{"name": "tag:use", "values": ["workers"]}]})
    assert stands_in(aws_server, order(asked)) == free
    # Ids are random: were it the first by its id, this would hold in one case of five.
    assert len({*full, free}) == 5


def test_R9_without_a_zone_it_is_the_same_zone_each_time_even_when_its_subnet_is_full(
    aws_server: AwsServer, aws_account: Account
) -> None:
    """EC2 knows a token in one zone only: in another it would sell a second instance for it."""
    full_subnet(aws_account, "10.0.255.0/28", use="workers")
    aws_account.add_subnet("us-east-1b", "10.0.250.0/24", {"use": "workers"})
    asked = spec(aws_account, subnet={"filters": [{"name": "tag:use", "values": ["workers"]}]})
    refused(aws_server, order(asked, zone=""), port.NoCapacity)


def test_no_subnet_in_the_zone_is_told_with_where_there_are_some(aws_server: AwsServer, aws_account: Account) -> None:
    tagged(aws_account, "us-east-1b", "10.0.250.0/24")
    told = refused(aws_server, order(spec(aws_account, subnet=None)), port.Misconfigured)
    assert str(told) == (
        "no subnet in us-east-1a carries the tag kubernetes.io/cluster/c, and spec.subnet names none; "
        "there are some in us-east-1b"
    )


def group(account: Account, name: str, **tags: str) -> str:
    keys = {f"sigs.k8s.io/cluster-api-provider-aws/{key}": value for key, value in tags.items()}
    made = backend(account).create_security_group(name, name, account.vpc, keys | {"for": name})
    return str(made.id)


def groups_of(server: AwsServer, purchase: Purchase) -> set[str]:
    async def scenario(one: Process) -> None:
        await one.machines.create(purchase, BOOT)

    processed(server, scenario)
    return set(server.world.runs[-1]["NetworkInterfaces"][0].get("Groups") or ())


def test_groups_are_the_clusters_own_by_role_and_the_objects(aws_server: AwsServer, aws_account: Account) -> None:
    owned = {"cluster/c": "owned"}
    node = group(aws_account, "node", role="node", **owned)
    balancer = group(aws_account, "lb", role="lb", **owned)
    master = group(aws_account, "cp", role="controlplane", **owned)
    group(aws_account, "bastion", role="bastion", **owned)
    group(aws_account, "other", role="node", **{"cluster/d": "owned"})
    mine = group(aws_account, "mine")
    found = group(aws_account, "found")
    further = [{"id": mine}, {"filters": [{"name": "tag:for", "values": ["found"]}]}]
    asked = spec(aws_account, additionalSecurityGroups=further)
    assert groups_of(aws_server, order(asked)) == {node, balancer, mine, found}
    plane = replace(order(asked, "cp"), control_plane=True)
    assert groups_of(aws_server, plane) == {node, balancer, master, mine, found}
    instead = {**asked, "securityGroupOverrides": {"node": mine}}
    assert groups_of(aws_server, order(instead, "o")) == {balancer, mine, found}


def test_a_group_that_no_filter_finds_is_named(aws_server: AwsServer, aws_account: Account) -> None:
    further = [{"filters": [{"name": "tag:for", "values": ["nobody"]}]}]
    told = refused(aws_server, order(spec(aws_account, additionalSecurityGroups=further)), port.Misconfigured)
    assert "spec.additionalSecurityGroups[0].filters" in str(told)
